"""What players showed in a cell: means over its repetitions, and their words.

A measure that no repetition has is ``None``; one that only some have is the mean of those.
"""

from __future__ import annotations

from collections.abc import Sequence

from trustbed.report import words
from trustbed.report.records import Row
from trustbed.report.run.records import PlayoutResult
from trustbed.workload import mean

_SECOND = 1e9


def of_repetitions(playouts: Sequence[Row]) -> PlayoutResult | None:
    """The means over repetitions, each with its row of the table ``playout``."""
    if not playouts:
        return None

    def average(values: Sequence[float | None]) -> float | None:
        return mean([value for value in values if value is not None])

    return PlayoutResult(
        start_up_seconds=average([_over(row, "start_up_ns", _SECOND) for row in playouts]),
        stalls=average([row.get("stalls") for row in playouts]),
        stall_seconds=average([_over(row, "stall_ns", _SECOND) for row in playouts]),
        rebuffer_ratio=average([row.get("rebuffer_ratio") for row in playouts]),
        lost_frames_share=average([_share(row, "lost_frames", "frames") for row in playouts]),
        late_parts_share=average([_share(row, "late_parts", "parts") for row in playouts]),
        adequate_share=average([row.get("adequate_share") for row in playouts]),
        switches=average([row.get("switches") for row in playouts]),
        missing_chunks=average([row.get("missing_chunks") for row in playouts]),
    )


def _over(row: Row, name: str, unit: float) -> float | None:
    value = row.get(name)
    return None if value is None else value / unit


def _share(row: Row, name: str, of: str) -> float | None:
    whole = row.get(of)
    return _over(row, name, whole) if whole else None


def columns(playouts: Sequence[PlayoutResult]) -> list[str]:
    """The titles of :func:`texts`: what at least one of the playouts has."""
    rows = [_texts(one) for one in playouts]
    titles = list(rows[0]) if rows else []
    return [title for title in titles if any(row[title][1] is not None for row in rows)]


def texts(one: PlayoutResult, titles: Sequence[str]) -> list[tuple[str, float | None]]:
    """A playout in words, with the number behind each, by the titles of :func:`columns`."""
    found = _texts(one)
    return [found[title] for title in titles]


def _texts(one: PlayoutResult) -> dict[str, tuple[str, float | None]]:
    return {
        "Start-up": (words.duration(one.start_up_seconds), one.start_up_seconds),
        "Stalls": (_number(one.stalls), one.stalls),
        "Stalled": (words.duration(one.stall_seconds), one.stall_seconds),
        "Rebuffer ratio": (words.percent(one.rebuffer_ratio), one.rebuffer_ratio),
        "Lost frames": (words.percent(one.lost_frames_share), one.lost_frames_share),
        "Late parts": (words.percent(one.late_parts_share), one.late_parts_share),
        "Rate kept": (words.percent(one.adequate_share), one.adequate_share),
        "Switches": (_number(one.switches), one.switches),
        "Chunks missing": (_number(one.missing_chunks), one.missing_chunks),
    }


def _number(value: float | None) -> str:
    """A mean of counts: whole where it is, else with one decimal."""
    if value is None:
        return words.UNKNOWN
    return words.count(round(value)) if value == round(value) else f"{value:.1f}"
