"""A comparison on a page: a table per level, each difference beside what counts as similar."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict

from trustbed.compare import words
from trustbed.compare.metrics import LEVEL_TITLES
from trustbed.compare.model import (
    CandidateResult,
    CaseResult,
    ChainResult,
    Comparison,
    LevelResult,
    MetricResult,
    Verdict,
)
from trustbed.report import definitions
from trustbed.report.compare import verdicts
from trustbed.report.compare.bars import WIDTH, Bar, bar_of
from trustbed.report.compare.chain_words import chain_sentences
from trustbed.report.html.elements import Provenance
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file
from trustbed.report.records import Row

TONES: dict[Verdict, str] = {
    "different": "review",
    "equivalent": "trust",
    "open": "not_judged",
    "not_compared": "not_judged",
}
"""The page's colours and signs of verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """A line of a level's table."""

    title: str
    reference: tuple[str, str]
    candidate: tuple[str, str]
    difference: str
    interval: str
    bar: Bar | None
    similar: str
    overlap: str
    equivalent: str
    outcome: str
    tone: str
    counts: str
    needed: str
    note: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSection:
    """A level: its verdict, and its table if it has metrics."""

    title: str
    verdict: str
    tone: str
    sentence: str
    lines: list[MetricLine]
    calls: list[str]
    causes: list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSection:
    """A candidate in a case."""

    anchor: str
    title: str
    reference: str
    candidate: str
    levels: list[LevelSection]
    chains: ChainResult | None
    chain_words: list[str]
    graph: str


def write(found: Comparison, path: Path, about: Row) -> None:
    """The page as a file, complete or not at all."""
    page = render(found, about)
    with whole_file(path) as stream:
        stream.write(page)


def render(found: Comparison, about: Row) -> str:
    """The page as a string; ``about`` is what :func:`trustbed.cli.analyze.describe` returns."""
    sections = [
        _section(number, case, candidate)
        for number, (case, candidate) in enumerate(
            ((case, candidate) for case in found.cases for candidate in case.candidates), start=1
        )
    ]
    return fill(
        "compare_page.html.j2",
        Payload(),
        title=found.title,
        summary=verdicts.summary(found),
        basis=f"{verdicts.basis(found)} {verdicts.PLUS_MINUS}",
        testbeds=found.testbeds,
        reference=found.reference,
        by="" if found.by == "run" else found.by,
        sections=sections,
        level_titles=list(LEVEL_TITLES.values()),
        explanation=found.explanation,
        left_out=list(verdicts.left_out(found)),
        not_compared=found.not_compared,
        caveats=found.caveats,
        bar_width=WIDTH,
        definitions=definitions.of("compare"),
        provenance=Provenance.of(about, ()),
    )


def _section(number: int, case: CaseResult, candidate: CandidateResult) -> CandidateSection:
    chains = candidate.chains
    return CandidateSection(
        anchor=f"candidate-{number}",
        title=verdicts.heading(case, candidate),
        reference=case.reference,
        candidate=candidate.testbed,
        levels=[_level(candidate, level) for level in candidate.levels],
        chains=chains,
        chain_words=[] if chains is None else list(chain_sentences(chains)),
        graph="" if chains is None else _graph(chains, case.reference, candidate.testbed),
    )


def _graph(chains: ChainResult, reference: str, candidate: str) -> str:
    """The chains of both as SVG; empty without transitions."""
    if not chains.edges:
        return ""
    from trustbed.calls.edges import Edge
    from trustbed.report.charts import call_graph

    edges = [Edge(**asdict(one)) for one in chains.edges]
    return call_graph.draw(edges, reference=reference, candidate=candidate)


def _level(candidate: CandidateResult, level: LevelResult) -> LevelSection:
    metrics = verdicts.of_level(candidate, level)
    return LevelSection(
        title=LEVEL_TITLES[level.level],
        verdict=words.VERDICTS[level.verdict],
        tone=TONES[level.verdict],
        sentence=level.sentence,
        lines=[_line(one) for one in metrics],
        calls=list(verdicts.changed_calls(candidate)) if level.level == "system_calls" else [],
        causes=list(verdicts.meanings(metrics)),
    )


def _line(one: MetricResult) -> MetricLine:
    interval = words.interval(one)
    difference = words.percent(one.difference_percent)
    label = f"difference {difference}" + (f", 95 % interval {interval}" if interval else "")
    return MetricLine(
        title=words.titled(one),
        reference=verdicts.mean(one, "reference"),
        candidate=verdicts.mean(one, "candidate"),
        difference=difference,
        interval=interval,
        bar=bar_of(one, label),
        similar=words.yes(one.similar),
        overlap=words.yes(one.overlap),
        equivalent=words.yes(one.equivalent),
        outcome=words.outcome(one),
        tone=TONES[one.verdict],
        counts=verdicts.counts(one),
        needed=words.needed(one),
        note=one.note,
        value=one.difference_percent,
    )
