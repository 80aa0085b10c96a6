"""Both ends as text for a terminal: how the clocks differ, then for each transfer what was lost on the way and where its time went.

The transfers with the most data first. The same captures give the same text at the same width.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from trustbed.report import words
from trustbed.report.paint import Paint

Model = Mapping[str, Any]
Row = Mapping[str, Any]

WIDEST = 100
NARROWEST = 60
LISTED = 20
FEWEST = 10
"""Directions with fewer data frames are counted and not told one by one."""
_PLAIN = Paint()
_INDENT = 9


def section(model: Model, *, columns: int = WIDEST, paint: Paint = _PLAIN) -> str:
    """The section "both ends", with a newline at its end."""
    width = max(NARROWEST, min(columns, WIDEST))
    blocks = [
        list(_clocks(model, width, paint)),
        list(_findings(model, width, paint)),
        list(_crossings(model, width, paint)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _clocks(model: Model, width: int, paint: Paint) -> Iterator[str]:
    clocks = model["clocks"]
    yield paint("strong", "Both ends")
    first, second = (words.count(number) for number in model["frames"])
    yield from _wrapped(f"{first} frames beside the sender, {second} beside the receiver", width)
    yield from _wrapped(_ahead(clocks), width)


def _ahead(clocks: Row) -> str:
    ahead, error, skew = clocks["ahead_seconds"], clocks["ahead_error_seconds"], clocks["skew"]
    if clocks["stated"]:
        return "one clock stamped both, as stated"
    which = "ahead" if ahead >= 0 else "behind"
    drift = (
        ""
        if skew is None
        else f", and runs {abs(skew) * 1e6:.3g} ppm {'fast' if skew >= 0 else 'slow'}"
    )
    source = "half of the shortest round trip"
    if clocks["steered_seconds"] is not None:
        drift = f" in the beginning, and was steered by {words.duration(clocks['steered_seconds'])}"
        source = "at the worst moment"
    doubt = f"± {words.duration(error)}: {source}"
    return f"the receiver's clock is {words.duration(abs(ahead))} {which} ({doubt}){drift}"


def _findings(model: Model, width: int, paint: Paint) -> Iterator[str]:
    for finding in model["findings"]:
        if finding["severity"] == "info":
            continue
        head, *rest = _wrapped(
            finding["message"], width, f"{finding['severity']:<{_INDENT}}", " " * _INDENT
        )
        yield paint(finding["severity"], head[:_INDENT]) + head[_INDENT:]
        yield from rest
        yield from _wrapped(finding["meaning"], width, " " * _INDENT, " " * _INDENT)


def _crossings(model: Model, width: int, paint: Paint) -> Iterator[str]:
    carrying = sorted(
        (row for row in model["crossings"] if row["data_sent"] >= FEWEST),
        key=lambda row: -row["data_sent"],
    )
    for place, row in enumerate(carrying[:LISTED]):
        if place:
            yield ""
        ends = f"{words.endpoint(row['sender'], row['sender_port'])} → {words.endpoint(row['receiver'], row['receiver_port'])}"
        yield paint("strong", ends)
        has_passed = row["delay_floor_seconds"] is not None
        for line in (
            (_lost(row), _delay(row, model["clocks"]), _round_trip(row))
            if has_passed
            else (_lost(row),)
        ):
            yield from _wrapped(line, width, "  · ", "    ")
    short = len(model["crossings"]) - len(carrying)
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
    lost, fates = row["data_lost"], row["data_lost"] + row["data_passed"]
    losses = "none lost" if fates else "nothing is known of them"
    if lost:
        losses = f"{words.count(lost)} lost ({words.percent(lost / fates)}) in {words.counted(row['loss_events'], 'event')}"
    parts = [
        f"{words.counted(row['data_sent'], 'data frame')} sent, {losses} between the two captures"
    ]
    if fates and row["data_undecided"]:
        parts.append(f"what became of {words.counted(row['data_undecided'], 'frame')} is not known")
    if row["needless_frames"]:
        parts.append(f"{words.counted(row['needless_frames'], 'frame')} sent again for nothing")
    if row["reordered_frames"]:
        parts.append(f"{words.counted(row['reordered_frames'], 'frame')} overtaken")
    if row["data_unseen"]:
        parts.append(f"{words.counted(row['data_unseen'], 'frame')} not seen where they came from")
    return ", ".join(parts)


def _delay(row: Row, clocks: Row) -> str:
    doubt = "" if clocks["stated"] else f" (± {words.duration(clocks['ahead_error_seconds'])})"
    median, tail = (
        words.duration(row[f"delay_above_floor_{name}_seconds"]) for name in ("p50", "p99")
    )
    return f"one way took {words.duration(row['delay_floor_seconds'])}{doubt} at least, and {median} more (p50), {tail} more (p99)"


def _round_trip(row: Row) -> str:
    if not row["round_trips"]:
        return "no round trip could be taken apart"
    whole, path, host = (
        words.duration(row[f"{name}_p50_seconds"]) for name in ("round_trip", "path", "turnaround")
    )
    return (
        f"a round trip took {whole} (p50): {path} on the way, {host} in the receiver; "
        f"{words.percent(row['path_share'])} of all their time on the way"
    )
