"""A run as text for a terminal: at most 100 columns, readable without colour.

Order: the run in one sentence and how far it is; the results; which repetitions must not be used, and why; what to do next. The same run
gives the same text at the same width.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from trustbed.report import run_words, words
from trustbed.report.paint import Paint
from trustbed.report.run_factors import groups, shared, short
from trustbed.report.run_words import bits, factor, span, times

Model = Mapping[str, Any]
Row = Mapping[str, Any]

WIDEST = 100
NARROWEST = 60
CELLS = 30
"""At most so many cells of a group get a line."""
UNUSABLE = 10
"""At most so many repetitions that must not be used are named."""
_PLAIN = Paint()
_INDENT = 12
_NAME = 34


def render(model: Model, path: str, *, columns: int = WIDEST, paint: Paint = _PLAIN) -> str:
    """The whole summary, with a newline at its end; ``path`` is how the run directory was named."""
    width = max(NARROWEST, min(columns, WIDEST))
    blocks = [
        list(_head(model, width, paint)),
        *(list(block) for block in _results(model, width, paint)),
        list(_backgrounds(model, width, paint)),
        list(_unusable(model, width, paint)),
        list(_found(model, width, paint)),
        list(_next(path, paint)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def _head(model: Model, width: int, paint: Paint) -> Iterator[str]:
    about = model["run"]
    facts = [
        about["name"] or about["folder"],
        words.counted(len(model["cells"]), "cell"),
        words.counted(about["rounds"] or 0, "round"),
    ]
    late = run_words.lateness(model)
    if late is not None:
        facts.append(f"emulator late by at most {words.duration(late)} (p99)")
    yield from _wrapped(" · ".join(facts), width)
    for line in _wrapped(run_words.headline(model), width):
        yield paint("strong", line)
    said = (run_words.assurance(model), run_words.standing(model))
    yield from _wrapped(" ".join(part for part in said if part), width)


def _results(model: Model, width: int, paint: Paint) -> Iterator[Iterator[str]]:
    every = groups(model["cells"])
    for group in every:
        for name in dict.fromkeys(
            one["name"] for cell in group for one in cell["workloads"] if one["measure"]
        ):
            yield _group(name, group, shared(group) if len(every) > 1 else "", width, paint)


def _group(name: str, group: Sequence[Row], where: str, width: int, paint: Paint) -> Iterator[str]:
    pairs = [
        (cell, one)
        for cell in group
        for one in cell["workloads"]
        if one["name"] == name and one["measure"]
    ]
    rate = pairs[0][1]["measure"] == "throughput"
    compared = any(one["slowdown"] for _, one in pairs)
    value = (
        "throughput"
        if rate
        else "median"
        if pairs[0][1]["measure"] == "response_time"
        else "mean time"
    )
    head = [
        "CELL",
        "USED",
        value.upper(),
        "95 % INTERVAL",
        *(("SLOWDOWN", "95 % INTERVAL") if compared else ()),
    ]
    rows = [[_name(cell, group), *_cells(cell, one, compared)] for cell, one in pairs[:CELLS]]
    if any(one.get("transfers") for _, one in pairs):
        head.append("TRANSFERS MOSTLY")
        rows = [[*row, _limited(one)] for row, (_, one) in zip(rows, pairs, strict=False)]
    yield paint("strong", name + (f", {where}" if where else ""))
    yield from _table(head, rows, width, paint)
    if len(pairs) > CELLS:
        yield f"… and {words.counted(len(pairs) - CELLS, 'cell')} more (--json and --out show them)"
    for note in run_words.notes(group, name):
        yield from _wrapped(f"! {note}", width, rest="  ")


def _name(cell: Row, group: Sequence[Row]) -> str:
    text = short(cell, group) + (
        " (baseline)" if cell["number"] == cell["baseline"] and len(group) > 1 else ""
    )
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


def _cells(cell: Row, one: Row, compared: bool) -> list[str]:
    used = (
        str(cell["counted"])
        if cell["counted"] == cell["planned"]
        else f"{cell['counted']} of {cell['planned']}"
    )
    shape: Callable[[float | None], str] = (
        bits if one["measure"] == "throughput" else words.duration
    )
    key = {"throughput": "mean{}_bits_per_second", "response_time": "median{}_seconds"}.get(
        one["measure"], "mean{}_seconds"
    )
    found = [
        used,
        shape(one.get(key.format(""))),
        _short(one.get(key.format("_low")), one.get(key.format("_high")), shape),
    ]
    if compared:
        place = run_words.central(one)
        found += (
            ["", ""]
            if place is None
            else [times(place["ratio"]), _short(place["low"], place["high"], factor)]
        )
    return found


def _short(low: float | None, high: float | None, shape: Callable[[float | None], str]) -> str:
    return span(low, high, shape).replace(" to ", "–")


def _limited(one: Row) -> str:
    limited = run_words.limits(one.get("transfers") or ())
    return limited[0][0] if limited else ""


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int, paint: Paint
) -> Iterator[str]:
    """Columns as wide as they must be; the last ones are left out where the terminal is too narrow."""
    sizes = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    while len(sizes) > 2 and sum(sizes) + 2 * (len(sizes) - 1) > width:
        sizes.pop()

    def line(cells: Sequence[str]) -> str:
        first, *others = cells[: len(sizes)]
        return "  ".join(
            [
                f"{first:<{sizes[0]}}",
                *(f"{cell:>{size}}" for cell, size in zip(others, sizes[1:], strict=True)),
            ]
        ).rstrip()

    yield paint("faint", line(head))
    for row in rows:
        yield line(row)


def _backgrounds(model: Model, width: int, paint: Paint) -> Iterator[str]:
    rows = [
        [
            f"{cell['label']}: {one['name']}",
            bits(one["offered_bits_per_second"]),
            words.percent(one["loss_share"]),
            words.duration(one["late_p99_seconds"]),
        ]
        for cell in model["cells"]
        for one in cell["backgrounds"]
        if one["offered_packets"]
    ]
    if not rows:
        return
    yield paint("strong", "Background")
    yield from _table(
        ["CELL AND SOURCE", "OFFERED", "LOST", "LATE (P99)"], rows[:CELLS], width, paint
    )
    if len(rows) > CELLS:
        yield f"… and {len(rows) - CELLS} more (--json and --out show them)"


def _unusable(model: Model, width: int, paint: Paint) -> Iterator[str]:
    found = [one for one in run_words.unusable(model) if one["use"] != "missing"]
    if not found:
        return
    yield paint("strong", "Not to be used, or not before a look")
    margin = " " * _INDENT
    for one in found[:UNUSABLE]:
        use = run_words.USE_WORDS[one["use"]]
        lines = _wrapped(
            f"{one['folder']} ({one['label']}): {run_words.why(one) or 'no reason was given'}",
            width,
            first=margin,
            rest=margin,
        )
        yield paint(one["use"], f"{use:<{_INDENT}}") + lines[0][_INDENT:]
        yield from lines[1:]
    if len(found) > UNUSABLE:
        yield f"{margin}… and {len(found) - UNUSABLE} more (--json and --out show them)"


def _found(model: Model, width: int, paint: Paint) -> Iterator[str]:
    rows = run_words.gathered(model["repetitions"])
    if rows:
        yield paint("strong", "Found in several repetitions, or worth knowing")
    margin = " " * _INDENT
    for row in rows:
        lines = _wrapped(
            f"in {row['found_in']}: {row['message']}", width, first=margin, rest=margin
        )
        yield paint(row["severity"], f"{row['severity']:<{_INDENT}}") + lines[0][_INDENT:]
        yield from lines[1:]


def _next(path: str, paint: Paint) -> Iterator[str]:
    yield paint("faint", "Next: ") + f"trustbed report {shlex.quote(path)} --out report.html"
