"""A run as text for a terminal: at most 100 columns, readable without colour.

Order: the run in one sentence and how far it is; the results; which repetitions must not be used,
and why; what to do next. The same run gives the same text at the same width.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.run import playouts
from trustbed.report.run import words as run_words
from trustbed.report.run.factors import groups, shared, short
from trustbed.report.run.records import CellResults, RunModel, WorkloadResult
from trustbed.report.run.words import Found, factor_span, span, times
from trustbed.report.text import PLAIN, fitted, joined, table, wrapped
from trustbed.report.text import WIDEST as WIDEST

CELLS = 30
"""The number of cells shown per group."""
UNUSABLE = 10
"""The number of unusable repetitions shown."""
_TITLES = {
    "response_time": "median",
    "mean_response_time": "mean time",
    "estimation_error": "error",
}
_INDENT = 12
_NAME = 34


def render(model: RunModel, path: str, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """The summary, with a final newline; ``path`` is the run directory as the user gave it."""
    width = fitted(columns)
    blocks = [
        list(_head(model, width, paint)),
        *(list(block) for block in _results(model, width, paint)),
        list(_backgrounds(model, width, paint)),
        list(_users(model, width, paint)),
        list(_unusable(model, width, paint)),
        list(_found(model, width, paint)),
        list(_next(path, paint)),
    ]
    return joined(*blocks)


def _head(model: RunModel, width: int, paint: Paint) -> Iterator[str]:
    about = model.run
    facts = [
        about.name or about.directory,
        words.counted(len(model.cells), "cell"),
        words.counted(about.rounds or 0, "round"),
    ]
    late = run_words.departure_error(model)
    if late is not None:
        facts.append(f"emulator late by at most {words.duration(late)} (p99)")
    yield from wrapped(" · ".join(facts), width)
    for line in wrapped(run_words.headline(model), width):
        yield paint("strong", line)
    message = (run_words.assurance(model), run_words.standing(model))
    yield from wrapped(" ".join(part for part in message if part), width)


def _results(model: RunModel, width: int, paint: Paint) -> Iterator[Iterator[str]]:
    every = groups(model.cells)
    for group in every:
        for name in dict.fromkeys(
            one.name for cell in group for one in cell.workloads if one.measure
        ):
            yield _group(name, group, shared(group) if len(every) > 1 else "", width, paint)


def _group(
    name: str, group: Sequence[CellResults], where: str, width: int, paint: Paint
) -> Iterator[str]:
    pairs = [
        (cell, one) for cell in group for one in cell.workloads if one.name == name and one.measure
    ]
    compared = any(one.slowdown for _, one in pairs)
    value = _TITLES.get(pairs[0][1].measure or "") or run_words.measure(pairs[0][1])
    head = [
        "CELL",
        "USED",
        value.upper(),
        "95 % INTERVAL",
        *((_compared_title(pairs[0][1]), "95 % INTERVAL") if compared else ()),
    ]
    rows = [[_name(cell, group), *_cells(cell, one, compared)] for cell, one in pairs[:CELLS]]
    if any(one.bandwidth is not None for _, one in pairs):
        head += ["SD", "AVAILABLE", "LOW–HIGH"]
        rows = [[*row, *_bandwidth(one)] for row, (_, one) in zip(rows, pairs, strict=False)]
    if any(one.rtt_mean_seconds is not None for _, one in pairs):
        head.append("RTT")
        rtts = [words.duration(one.rtt_mean_seconds) for _, one in pairs]
        rows = [[*row, rtt] for row, rtt in zip(rows, rtts, strict=False)]
    if any(one.transfers for _, one in pairs):
        head.append("TRANSFERS MOSTLY")
        rows = [[*row, _limited(one)] for row, (_, one) in zip(rows, pairs, strict=False)]
    yield paint("strong", name + (f", {where}" if where else ""))
    yield from table(head, rows, paint, width=width)
    if len(pairs) > CELLS:
        yield f"… and {words.counted(len(pairs) - CELLS, 'cell')} more (--json and --out show them)"
    yield from _playouts(pairs[:CELLS], group, width, paint)
    for note in run_words.notes(group, name):
        yield from wrapped(f"! {note}", width, rest="  ")


def _compared_title(one: WorkloadResult) -> str:
    return "INCREASE" if one.measure == "jitter" else "SLOWDOWN"


def _playouts(
    pairs: Sequence[Found], group: Sequence[CellResults], width: int, paint: Paint
) -> Iterator[str]:
    """What the player showed, a line per cell."""
    every = [one.playout for _, one in pairs if one.playout is not None]
    if not every:
        return
    titles = playouts.columns(every)
    head = ["PLAYOUT", *(title.upper() for title in titles)]
    rows = [
        [_name(cell, group), *(text for text, _ in playouts.texts(one.playout, titles))]
        for cell, one in pairs
        if one.playout is not None
    ]
    yield from table(head, rows, paint, width=width)


def _name(cell: CellResults, group: Sequence[CellResults]) -> str:
    text = short(cell, group) + (" (baseline)" if cell.is_baseline and len(group) > 1 else "")
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


def _cells(cell: CellResults, one: WorkloadResult, compared: bool) -> list[str]:
    used = (
        str(cell.counted) if cell.counted == cell.planned else f"{cell.counted} of {cell.planned}"
    )
    shape, middle = run_words.shape_of(one), one.middle
    found = [used, shape(middle.value), _short(middle.low, middle.high, shape)]
    if compared:
        point = run_words.central(one)
        found += (
            ["", ""]
            if point is None
            else [times(point.ratio), factor_span(point.low, point.high).replace(" to ", "–")]
        )
    return found


def _bandwidth(one: WorkloadResult) -> list[str]:
    """The deviation of the error, the mean available bandwidth, the means of both bounds."""
    if one.bandwidth is None:
        return [""] * 3
    found = one.bandwidth
    deviation = "" if found.error.sd is None else run_words.percent_points(found.error.sd)
    there = "" if found.available.mean is None else words.bits(found.available.mean)
    return [deviation, there, _bounds(found.low.mean, found.high.mean)]


def _bounds(low: float | None, high: float | None) -> str:
    """Two rates: ``12.5–14.3 Mbit/s``; ``?`` for one that is not known."""
    if low is None and high is None:
        return ""
    first, second = words.bits(low), words.bits(high)
    number, _, unit = first.partition(" ")
    return f"{number if second.endswith(unit) else first}–{second}"


def _short(low: float | None, high: float | None, shape: Callable[[float | None], str]) -> str:
    return span(low, high, shape).replace(" to ", "–")


def _limited(one: WorkloadResult) -> str:
    limited = run_words.limits(one.transfers)
    return limited[0][0] if limited else ""


def _backgrounds(model: RunModel, width: int, paint: Paint) -> Iterator[str]:
    rows = [
        [
            f"{cell.label}: {one.name}",
            words.bits(one.offered_bits_per_second),
            words.percent(one.loss_share),
            words.duration(one.late_p99_seconds),
        ]
        for cell in model.cells
        for one in cell.backgrounds
        if one.offered_packets
    ]
    if not rows:
        return
    yield paint("strong", "Background")
    yield from table(
        ["CELL AND SOURCE", "OFFERED", "LOST", "LATE (P99)"], rows[:CELLS], paint, width=width
    )
    if len(rows) > CELLS:
        yield f"… and {len(rows) - CELLS} more (--json and --out show them)"


def _users(model: RunModel, width: int, paint: Paint) -> Iterator[str]:
    rows = [
        [
            f"{cell.label}: {one.name}",
            words.count(users.sessions),
            words.count(users.connections),
            words.count(users.failed),
            words.bits(users.server_bits_per_second),
            words.bits(users.client_bits_per_second),
            words.duration(one.late_p99_seconds),
        ]
        for cell in model.cells
        for one in cell.backgrounds
        if (users := one.users) is not None
    ]
    if not rows:
        return
    yield paint("strong", "Users of traffic models")
    head = ["CELL AND SOURCE", "SESSIONS", "CONNECTIONS", "FAILED", "FROM SERVERS", "FROM CLIENTS"]
    yield from table([*head, "LATE (P99)"], rows[:CELLS], paint, width=width)
    if len(rows) > CELLS:
        yield f"… and {len(rows) - CELLS} more (--json and --out show them)"


def _unusable(model: RunModel, width: int, paint: Paint) -> Iterator[str]:
    found = [one for one in run_words.unusable(model) if one.use != "missing"]
    if not found:
        return
    yield paint("strong", "Repetitions to discard or inspect")
    margin = " " * _INDENT
    for one in found[:UNUSABLE]:
        use = run_words.USE_WORDS[one.use]
        lines = wrapped(
            f"{one.directory} ({one.label}): {run_words.why(one) or 'no reason was given'}",
            width,
            first=margin,
            rest=margin,
        )
        yield paint(one.use, f"{use:<{_INDENT}}") + lines[0][_INDENT:]
        yield from lines[1:]
    if len(found) > UNUSABLE:
        yield f"{margin}… and {len(found) - UNUSABLE} more (--json and --out show them)"


def _found(model: RunModel, width: int, paint: Paint) -> Iterator[str]:
    rows = run_words.gathered(model.repetitions)
    if rows:
        yield paint("strong", "Found in several repetitions, or worth knowing")
    margin = " " * _INDENT
    for row in rows:
        lines = wrapped(f"in {row['found_in']}: {row['message']}", width, first=margin, rest=margin)
        yield paint(row["severity"], f"{row['severity']:<{_INDENT}}") + lines[0][_INDENT:]
        yield from lines[1:]


def _next(path: str, paint: Paint) -> Iterator[str]:
    yield paint("faint", "Next: ") + f"trustbed report {shlex.quote(path)} --out report.html"
