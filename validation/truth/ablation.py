"""What each threshold and each rule is worth.

One is taken out at a time, and the development families are judged again.

A threshold is taken out by moving it out of reach, once in either direction: its condition then
holds always or never. What matters is the smaller loss of the two, for that is what deleting the
condition costs. A rule is taken out by letting its cases fall through to those behind it.

The loss is in answers that are right in cause and verdict, over all views, and in mean macro F1;
more trusted transfers that are doomed, and more false alarms, are shown beside it. What costs
nothing here may still be needed by what these families do not hold: captures of bad quality,
published cases, recordings. The tests hold those.

Bias: rules that stand in for one another each look worthless alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

from trustbed.diagnose import rules
from trustbed.diagnose.diagnosis import decide
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.quality import CaptureQuality, Quality
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from validation.truth.fit import HALF
from validation.truth.judged import evidence_of
from validation.truth.result import VIEWS, Judged, Result, View
from validation.truth.score import Case, macro_f1

OUT_OF_REACH: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of every view together; ``macro_f1`` is the mean over the views."""

    right: int
    macro_f1: float
    doomed_trusted: int
    false_alarms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """What the figures become without one threshold or rule."""

    name: str
    figures: Figures
    differs: int
    """Answers that are not the same."""


@dataclass(frozen=True, slots=True)
class _Sample:
    view: View
    judged: Judged
    evidence: Evidence
    quality: Quality
    flags: tuple[str, ...]


class Ablation:
    """The cases of the development families, ready to be judged again and again."""

    def __init__(self, result: Result) -> None:
        self._samples = list(_samples(result))
        self.before = self._answers(THRESHOLDS)
        self.figures = self._figures(self.before)

    @cached_property
    def thresholds(self) -> list[Without]:
        """Each threshold out of reach, in the direction that costs less."""
        return [
            min(
                (
                    self._without(field.name, replace(THRESHOLDS, **{field.name: value}))
                    for value in (-OUT_OF_REACH, OUT_OF_REACH)
                ),
                key=lambda one: (-one.figures.right, one.differs),
            )
            for field in fields(Thresholds)
        ]

    @cached_property
    def rules(self) -> list[Without]:
        """Each rule left out, but for the last of a stage, behind which there is nothing."""
        found = []
        for rule in rules.RULES:
            if rule.conditions:
                with _left_out(rule.name):
                    found.append(self._without(rule.name, THRESHOLDS))
        return found

    def _without(self, name: str, thresholds: Thresholds) -> Without:
        answers = self._answers(thresholds)
        differs = sum(
            (one.causes, one.verdict) != (other.causes, other.verdict)
            for mine, theirs in zip(answers.values(), self.before.values(), strict=True)
            for one, other in zip(mine, theirs, strict=True)
        )
        return Without(name=name, figures=self._figures(answers), differs=differs)

    def _answers(self, thresholds: Thresholds) -> dict[str, list[Case]]:
        found: dict[str, list[Case]] = {view.name: [] for view in VIEWS}
        for sample in self._samples:
            found[sample.view.name].append(_case(sample, thresholds))
        return found

    def _figures(self, answers: Mapping[str, list[Case]]) -> Figures:
        every = [case for cases in answers.values() for case in cases]
        scores = [score for cases in answers.values() if (score := macro_f1(cases)) is not None]
        return Figures(
            right=sum(case.is_all_right for case in every),
            macro_f1=sum(scores) / len(scores),
            doomed_trusted=sum(case.is_doomed and case.verdict == "trust" for case in every),
            false_alarms=sum(case.is_alarm for case in every),
        )


def table(ablation: Ablation) -> str:
    """Both tables as text, what costs least first."""
    return "\n".join(
        (
            *_rows("threshold", ablation.figures, ablation.thresholds),
            "",
            *_rows("rule", ablation.figures, ablation.rules),
            "",
        )
    )


def _rows(kind: str, whole: Figures, found: Iterable[Without]) -> Iterator[str]:
    yield f"{'without the ' + kind:46} differs  right  macro-F1  doomed trusted  false alarms"
    yield (
        f"{'(nothing left out)':46} {0:7}  {whole.right:5}  {whole.macro_f1:8.3f}  "
        f"{whole.doomed_trusted:14}  {whole.false_alarms:12}"
    )
    for one in sorted(found, key=lambda one: (-one.figures.right, one.differs, one.name)):
        now = one.figures
        yield (
            f"{one.name:46} {one.differs:7}  {now.right - whole.right:+5}  "
            f"{now.macro_f1 - whole.macro_f1:+8.3f}  "
            f"{now.doomed_trusted - whole.doomed_trusted:+14}  "
            f"{now.false_alarms - whole.false_alarms:+12}"
        )


def _samples(result: Result) -> Iterator[_Sample]:
    for one in result.chosen(HALF):
        for view in VIEWS:
            case = one.case(view)
            if case is None or not case.counts:
                continue
            capture: Mapping[str, Any] = one.stored["captures"][view.point]
            quality = Quality.of(capture["row"], CaptureQuality.of(capture["facts"]))
            evidence, flags = evidence_of(one.stored, capture["row"], known=view.known)
            yield _Sample(view, one, evidence, quality, flags)


def _case(sample: _Sample, thresholds: Thresholds) -> Case:
    decision = decide(
        sample.evidence, quality=sample.quality, flags=sample.flags, thresholds=thresholds
    )
    others = decision.alternatives if decision.verdict == "review" else ()
    wanted = sample.judged.label.wanted[sample.view.knowledge]
    return Case(
        name=sample.judged.stored["name"],
        kind=sample.judged.stored["kind"],
        network=sample.judged.network.name,
        standing=sample.judged.label.standing,
        made=sample.judged.label.made,
        accepted=wanted.causes,
        verdicts=wanted.allowed(decision.cause),
        causes=(decision.cause, *(other.cause for other in others if other.indeterminate)),
        verdict=decision.verdict,
        confidence=decision.confidence / 100,
    )


@contextmanager
def _left_out(name: str) -> Iterator[None]:
    """The procedure without one rule."""
    kept = rules.STAGES, rules._TESTS
    rules.STAGES = tuple(
        replace(stage, rules=tuple(rule for rule in stage.rules if rule.name != name))
        for stage in rules.STAGES
    )
    rules._TESTS = rules.compiled(rules.STAGES)
    try:
        yield
    finally:
        rules.STAGES, rules._TESTS = kept
