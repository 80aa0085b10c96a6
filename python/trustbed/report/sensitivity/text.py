"""A sensitivity study as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.text import PLAIN, fitted, joined, table, wrapped
from trustbed.report.text import WIDEST as WIDEST
from trustbed.sensitivity.model import Ratio, Said, Sensitivity
from trustbed.sensitivity.words import number, span

QUESTIONS = (
    ("matters", "Does background matter here?"),
    ("kind", "The mean load, or burstiness?"),
    ("scales", "At which time scales?"),
    ("direction", "With the data, or against them?"),
    ("way", "By the queue, or by losses?"),
)
"""The questions that a study answers, by the names of their answers."""


def said(found: Sensitivity) -> list[tuple[str, Said]]:
    """Every question with its answer."""
    return [(question, getattr(found, name)) for name, question in QUESTIONS]


def render(found: Sensitivity, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """The answers, the slowdown beside every background, and what to do."""
    width = fitted(columns)
    return joined(
        list(_head(found, width, paint)),
        list(_answers(found, width, paint)),
        list(_treatments(found, width, paint)),
        list(_bands(found, width, paint)),
        list(_advice(found, width, paint)),
        list(_caveats(found, width, paint)),
    )


def measured(value: float | None, unit: str) -> str:
    """The application's measure with its unit."""
    if value is None:
        return "–"
    return words.bits(value) if unit == "bit/s" else words.duration(value)


def ratio(found: Ratio | None) -> str:
    """``1.24 × (1.10–1.40)``; ``(open)`` where it takes more rounds; a dash where there is none."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{number(found.value)} ×"
    if words.is_open(found.low, found.high):
        return f"{number(found.value)} × (open)"
    return f"{number(found.value)} × ({number(found.low)}–{number(found.high)})"


def effort(found: Sensitivity) -> str:
    """What the study took."""
    again = (
        f" and {words.counted(found.surrogate_rounds, 'round')} of surrogates"
        if found.surrogate_rounds
        else ""
    )
    return (
        f"{words.counted(found.rounds, 'round')} of {words.counted(len(found.treatments), 'cell')}"
        f"{again}, {words.duration(found.seconds)} of a budget of "
        f"{words.duration(found.budget_seconds)}"
    )


def _head(found: Sensitivity, width: int, paint: Paint) -> Iterator[str]:
    first, *rest = wrapped(f"{found.name} · {found.workload} · {effort(found)}", width)
    yield paint("strong", first)
    yield from rest
    yield from wrapped(
        f"{found.measure} without background: {measured(found.quiet, found.unit)}; the background "
        f"competes on {found.link}, {words.bits(found.capacity_bits_per_second)}",
        width,
    )


def _answers(found: Sensitivity, width: int, paint: Paint) -> Iterator[str]:
    for question, one in said(found):
        yield f"{paint('strong', question)} {one.answer}"
        yield from wrapped(one.sentence, width, "  ", "  ")


def _treatments(found: Sensitivity, width: int, paint: Paint) -> Iterator[str]:
    yield paint("strong", "Beside each background")
    rows = [
        [
            one.label,
            words.bits(one.carried_bits_per_second) if one.carried_bits_per_second else "–",
            measured(one.median, found.unit),
            measured(one.p95, found.unit),
            ratio(one.slowdown) if one.load else "1",
            ratio(one.beyond),
            words.duration(one.queue_seconds) if one.queue_seconds is not None else "–",
            words.percent(one.lost) if one.lost is not None else "–",
        ]
        for one in found.treatments
    ]
    head = [
        "BACKGROUND",
        "ALONE",
        "MEDIAN",
        "P95",
        "OVER QUIET",
        "OVER STEADY",
        "QUEUE",
        "LOST",
    ]
    yield from table(head, rows, paint, width=width)


def _bands(found: Sensitivity, width: int, paint: Paint) -> Iterator[str]:
    if not found.bands:
        return
    yield paint("strong", f"Time scales of {found.base}, amplified instead of flattened")
    rows = [
        [
            span(one.shortest_seconds, one.longest_seconds),
            ratio(one.effect),
            "matters" if one.matters else "",
        ]
        for one in found.bands
    ]
    yield from table(["TIME SCALE", "AMPLIFIED OVER FLATTENED", ""], rows, paint, width=width)


def _advice(found: Sensitivity, width: int, paint: Paint) -> Iterator[str]:
    yield paint("strong", "What to do")
    for one in found.advice:
        yield from wrapped(one, width, "- ", "  ")
    if found.paste:
        yield ""
        yield from found.paste.splitlines()


def _caveats(found: Sensitivity, width: int, paint: Paint) -> Iterator[str]:
    if found.caveats:
        yield paint("strong", "Keep in mind")
    for one in found.caveats:
        yield from wrapped(one, width, "- ", "  ")
