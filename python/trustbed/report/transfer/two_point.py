"""A two-point capture as text for a terminal.

How the clocks differ, then for each transfer what the path lost and where its time went.

The transfers with the most data first. The same captures give the same text at the same width.
"""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.records import Row
from trustbed.report.text import PLAIN, finding_lines, fitted, indented, joined, wrapped
from trustbed.report.text import WIDEST as WIDEST

Model = Row

LISTED = 20
FEWEST = 10
"""Directions with fewer data frames are counted, not listed."""


def section(model: Model, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """The section "Two-point capture", with a newline at its end."""
    width = fitted(columns)
    blocks = [
        list(_clocks(model, width, paint)),
        list(_findings(model, width, paint)),
        list(_two_point(model, width, paint)),
    ]
    return joined(*blocks)


def _clocks(model: Model, width: int, paint: Paint) -> Iterator[str]:
    clocks = model["clocks"]
    yield paint("strong", "Two-point capture")
    first, second = (words.count(number) for number in model["frames"])
    yield from wrapped(f"{first} frames beside the sender, {second} beside the receiver", width)
    yield from wrapped(_ahead(clocks), width)


def _ahead(clocks: Row) -> str:
    ahead, error, skew = clocks["ahead_seconds"], clocks["ahead_error_seconds"], clocks["skew"]
    if clocks["stated"]:
        return "one clock timestamped both captures, as stated"
    which = "ahead" if ahead >= 0 else "behind"
    drift = (
        ""
        if skew is None
        else f", and runs {abs(skew) * 1e6:.3g} ppm {'fast' if skew >= 0 else 'slow'}"
    )
    source = "half of the shortest round trip"
    if clocks["clock_slew_seconds"] is not None:
        drift = (
            f" in the beginning, and was slewed by {words.duration(clocks['clock_slew_seconds'])}"
        )
        source = "at the worst moment"
    doubt = f"± {words.duration(error)}: {source}"
    return f"the receiver's clock is {words.duration(abs(ahead))} {which} ({doubt}){drift}"


def _findings(model: Model, width: int, paint: Paint) -> Iterator[str]:
    for finding in model["findings"]:
        if finding["severity"] == "info":
            continue
        yield from finding_lines(finding, width, paint)
        yield from indented(finding["meaning"], width)


def _two_point(model: Model, width: int, paint: Paint) -> Iterator[str]:
    carrying = sorted(
        (row for row in model["two_point"] if row["data_frames_sent"] >= FEWEST),
        key=lambda row: -row["data_frames_sent"],
    )
    for index, row in enumerate(carrying[:LISTED]):
        if index:
            yield ""
        yield paint("strong", words.endpoints(row))
        has_passed = row["owd_min_seconds"] is not None
        for line in (
            (_lost(row), _delay(row, model["clocks"]), _round_trip(row))
            if has_passed
            else (_lost(row),)
        ):
            yield from wrapped(line, width, "  · ", "    ")
    short = len(model["two_point"]) - len(carrying)
    left = [f"{len(carrying) - LISTED} more"] if len(carrying) > LISTED else []
    left += (
        [f"{words.counted(short, 'direction')} with fewer than {FEWEST} data frames"]
        if short
        else []
    )
    if left:
        yield ""
        yield f"… and {' and '.join(left)} (--json has them all)"


def _lost(row: Row) -> str:
    lost, fates = row["data_frames_lost"], row["data_frames_lost"] + row["data_frames_delivered"]
    losses = "none lost" if fates else "their fate unknown"
    if lost:
        losses = (
            f"{words.count(lost)} lost ({words.percent(lost / fates)}) in "
            f"{words.counted(row['loss_events'], 'event')}"
        )
    parts = [
        f"{words.counted(row['data_frames_sent'], 'data frame')} sent, {losses} between the two "
        "captures"
    ]
    if fates and row["data_frames_indeterminate"]:
        parts.append(
            f"the fate of {words.counted(row['data_frames_indeterminate'], 'frame')} is unknown"
        )
    if row["spurious_frames"]:
        parts.append(f"{words.counted(row['spurious_frames'], 'frame')} retransmitted spuriously")
    if row["reordered_frames"]:
        parts.append(f"{words.counted(row['reordered_frames'], 'frame')} reordered")
    if row["data_frames_missed"]:
        parts.append(
            f"{words.counted(row['data_frames_missed'], 'frame')} missed by the capture beside the "
            "sender"
        )
    return ", ".join(parts)


def _delay(row: Row, clocks: Row) -> str:
    doubt = "" if clocks["stated"] else f" (± {words.duration(clocks['ahead_error_seconds'])})"
    median, tail = (words.duration(row[f"owd_increase_{name}_seconds"]) for name in ("p50", "p99"))
    return (
        f"one-way delay at least {words.duration(row['owd_min_seconds'])}{doubt}; above that "
        f"{median} (p50), {tail} (p99)"
    )


def _round_trip(row: Row) -> str:
    if not row["round_trips"]:
        return "no round trip could be split into path and receiver"
    whole, path, host = (
        words.duration(row[f"{name}_p50_seconds"]) for name in ("round_trip", "path", "turnaround")
    )
    return (
        f"round trip {whole} (p50): {path} on the path, {host} in the receiver; the path took "
        f"{words.percent(row['path_share'])} of all round-trip time"
    )
