"""A comparison as Markdown, for the description or a comment of a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from trustbed.compare import words
from trustbed.compare.metrics import LEVEL_TITLES
from trustbed.compare.model import CandidateResult, CaseResult, Comparison, MetricResult, Verdict
from trustbed.report.compare import verdicts
from trustbed.report.compare.chain_words import chain_sentences
from trustbed.report.printable import printable

SIGNS: dict[Verdict, str] = {
    "different": "❌",
    "equivalent": "✅",
    "open": "❔",
    "not_compared": "–",
}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def render(found: Comparison) -> str:
    """Levels first, the metrics of each candidate folded below."""
    lines = [f"### {_plain(found.title)}", "", _plain(verdicts.summary(found)), ""]
    lines += _levels(found)
    for case in found.cases:
        for candidate in case.candidates:
            lines += _metrics(case, candidate)
    for ablation in found.explanation:
        lines += [
            "",
            f"**What closes the gap of {_plain(ablation.candidate)}:** {_plain(ablation.sentence)}",
        ]
    notes = [*verdicts.left_out(found), *found.not_compared, *found.caveats]
    if notes:
        lines += ["", "<details><summary>Left out, and to keep in mind</summary>", ""]
        lines += [f"- {_plain(note)}" for note in notes]
        lines += ["", "</details>"]
    lines += ["", f"<sub>{_plain(verdicts.basis(found))} {verdicts.PLUS_MINUS}</sub>"]
    return "\n".join(lines) + "\n"


def _levels(found: Comparison) -> Iterator[str]:
    yield from _row(["Level", *(_title(case, one) for case, one in _columns(found))])
    yield "|---" * (1 + len(_columns(found))) + "|"
    for index, title in enumerate(LEVEL_TITLES.values()):
        cells = [
            f"{SIGNS[one.levels[index].verdict]} {words.VERDICTS[one.levels[index].verdict]}"
            for _, one in _columns(found)
        ]
        yield from _row([title, *cells])


def _columns(found: Comparison) -> Sequence[tuple[CaseResult, CandidateResult]]:
    return [(case, candidate) for case in found.cases for candidate in case.candidates]


def _title(case: CaseResult, candidate: CandidateResult) -> str:
    return _plain(f"{candidate.testbed}, {case.label}" if case.label else candidate.testbed)


def _metrics(case: CaseResult, candidate: CandidateResult) -> Iterator[str]:
    # A block of HTML, in which Markdown and its escapes have no effect.
    heading = escape(printable(verdicts.heading(case, candidate)).replace("\n", " "))
    yield from ("", f"<details><summary>{heading}: every metric</summary>", "")
    head = ["Metric", _plain(case.reference), _plain(candidate.testbed), "Difference", "95 %"]
    yield from _row([*head, "Similar", "Overlap", "Equivalent", "Verdict", "n"])
    yield "|---|---:|---:|---:|---|---|---|---|---|---:|"
    for one in candidate.metrics:
        yield from _row(_cells(one))
    needed = [
        f"{words.titled(one)}: {words.needed(one)}"
        for one in candidate.metrics
        if one.verdict == "open"
    ]
    notes = [
        *verdicts.changed_calls(candidate),
        *([f"Repetitions that would settle what is open: {', '.join(needed)}."] if needed else []),
        *(f"{titles}: {causes}" for titles, causes in verdicts.meanings(candidate.metrics)),
        *(chain_sentences(candidate.chains) if candidate.chains is not None else ()),
    ]
    for line in notes:
        yield from ("", _plain(line))
    yield from ("", "</details>")


def _cells(one: MetricResult) -> list[str]:
    return [
        _plain(words.titled(one)),
        verdicts.both(one, "reference"),
        verdicts.both(one, "candidate"),
        words.percent(one.difference_percent),
        words.interval(one),
        words.yes(one.similar),
        words.yes(one.overlap),
        words.yes(one.equivalent),
        f"{SIGNS[one.verdict]} {words.outcome(one)}"
        + (f" ({_plain(one.note)})" if one.note else ""),
        verdicts.counts(one),
    ]


def _row(cells: Sequence[str]) -> Iterator[str]:
    yield "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    """Text without any effect as Markdown or HTML, on one line."""
    return _SPECIAL.sub(r"\\\1", printable(text).replace("\n", " "))
