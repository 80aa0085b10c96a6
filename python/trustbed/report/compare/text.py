"""A comparison as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.compare import words
from trustbed.compare.metrics import LEVEL_TITLES
from trustbed.compare.model import (
    Ablation,
    CandidateResult,
    CaseResult,
    ChainResult,
    Comparison,
    MetricResult,
    Verdict,
)
from trustbed.report.compare import verdicts
from trustbed.report.compare.chain_words import chain_sentences
from trustbed.report.paint import Paint
from trustbed.report.text import PLAIN, cut, fitted, joined, table, wrapped
from trustbed.report.text import WIDEST as WIDEST
from trustbed.report.words import counted

COLOURS: dict[Verdict, str] = {
    "different": "review",
    "equivalent": "trust",
    "open": "info",
    "not_compared": "faint",
}
_INDENT = 16
HEAD = ("CHANGE", "VERDICT", "SIM.", "OVER.", "EQUIV.", "N")
"""Similar, overlapping, equivalent; the last columns give way on a narrow terminal."""


def render(found: Comparison, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """The verdict of every level, then every metric, then what limits the comparison."""
    width = fitted(columns)
    blocks = [list(_head(found, width, paint))]
    for case in found.cases:
        for candidate in case.candidates:
            blocks.append(list(_levels(case, candidate, width, paint)))
            blocks.append(list(_metrics(case, candidate, width, paint)))
            if candidate.chains is not None:
                blocks.append(list(_chains(candidate.chains, width, paint)))
    every = [metric for _, _, metric in found.metrics()]
    blocks += [
        list(_needed(found, width, paint)),
        list(_meanings(every, width, paint)),
        *(list(_ablation(one, width, paint)) for one in found.explanation),
        list(_listed("Left out", verdicts.left_out(found), width, paint)),
        list(_listed("Not compared", iter(found.not_compared), width, paint)),
        list(_listed("Keep in mind", iter(found.caveats), width, paint)),
    ]
    return joined(*blocks)


def _head(found: Comparison, width: int, paint: Paint) -> Iterator[str]:
    said = ", ".join(
        f"{one.name} ({one.used} of {counted(one.planned, 'repetition')})" for one in found.testbeds
    )
    first, *rest = wrapped(f"{verdicts.summary(found)}", width)
    yield paint("strong", first)
    yield from rest
    yield from wrapped(said, width)
    yield from wrapped(verdicts.basis(found), width)


def _levels(
    case: CaseResult, candidate: CandidateResult, width: int, paint: Paint
) -> Iterator[str]:
    yield paint("strong", verdicts.heading(case, candidate))
    for level in candidate.levels:
        title = f"{LEVEL_TITLES[level.level]:<{_INDENT}}"
        first, *rest = wrapped(level.sentence, width, title, " " * _INDENT)
        yield paint(COLOURS[level.verdict], first[:_INDENT]) + first[_INDENT:]
        yield from rest
        if level.level == "system_calls":
            for line in verdicts.changed_calls(candidate):
                yield from wrapped(line, width, " " * _INDENT, " " * _INDENT)


def _metrics(
    case: CaseResult, candidate: CandidateResult, width: int, paint: Paint
) -> Iterator[str]:
    shown = [one for one in candidate.metrics if one.similar is not None]
    if shown:
        head = ["METRIC", cut(case.reference, 9), cut(candidate.testbed, 9), *HEAD]
        yield from table(head, [_row(one) for one in shown], paint, width=width)
    by_note: dict[str, list[str]] = {}
    for one in candidate.metrics:
        if one.similar is None or one.verdict == "not_compared":
            by_note.setdefault(one.note, []).append(words.titled(one))
    told = {level.sentence for level in candidate.levels}
    for note, titles in by_note.items():
        if f"Not compared: {note}." in told:
            continue  # the line of its level has said so
        yield from wrapped(f"Not compared: {', '.join(titles)}: {note}", width)


def _row(one: MetricResult) -> list[str]:
    return [
        words.titled(one),
        words.value(None if one.reference is None else one.reference.mean, one.unit),
        words.value(None if one.candidate is None else one.candidate.mean, one.unit),
        words.percent(one.difference_percent),
        words.VERDICTS[one.verdict],
        words.yes(one.similar),
        words.yes(one.overlap),
        words.yes(one.equivalent),
        verdicts.counts(one),
    ]


def _needed(found: Comparison, width: int, paint: Paint) -> Iterator[str]:
    """What more repetitions would settle, if the observed spread and difference are true."""
    several = len(found.cases) > 1 or len(found.testbeds) > 2
    rows = [
        (f"{verdicts.heading(case, candidate)}: " if several else "")
        + words.titled(one)
        + f": {words.needed(one)}"
        for case, candidate, one in found.metrics()
        if one.verdict == "open"
    ]
    if rows:
        yield paint("strong", "Repetitions of each testbed that would settle what is open")
    for row in rows:
        yield from wrapped(row, width, "- ", "  ")


def _meanings(metrics: list[MetricResult], width: int, paint: Paint) -> Iterator[str]:
    rows = list(verdicts.meanings(metrics))
    if rows:
        yield paint("strong", "What usually causes such differences")
    for title, causes in rows:
        yield from wrapped(f"{title}: {causes}", width, "- ", "  ")


def _chains(found: ChainResult, width: int, paint: Paint) -> Iterator[str]:
    yield paint("strong", f"Chains of system calls, order {found.order}")
    for line in chain_sentences(found):
        yield from wrapped(line, width, "  ", "  ")
    rows = [
        [
            f"{one.before} → {one.after}",
            f"{100 * one.reference_share:.1f} %",
            f"{100 * one.candidate_share:.1f} %",
            f"{one.bits_per_call:+.4f}",
        ]
        for one in found.changed
    ]
    if rows:
        head = ["TRANSITION", "REFERENCE", "CANDIDATE", "BITS PER CALL"]
        yield from table(head, rows, paint, width=width)


def _ablation(found: Ablation, width: int, paint: Paint) -> Iterator[str]:
    yield paint("strong", f"What closes the gap of {found.candidate}")
    yield from wrapped(found.sentence, width)
    rows = [
        [
            one.setting,
            "–" if one.closed is None else f"{100 * one.closed:.0f} %",
            one.metric or "",
        ]
        for one in found.settings
    ]
    if rows:
        yield from table(["CHANGED", "CLOSES", "OF"], rows, paint, width=width)
    for line in found.skipped:
        yield from wrapped(line, width, "- ", "  ")


def _listed(title: str, lines: Iterator[str], width: int, paint: Paint) -> Iterator[str]:
    for number, line in enumerate(lines):
        if not number:
            yield paint("strong", title)
        yield from wrapped(line, width, "- ", "  ")
