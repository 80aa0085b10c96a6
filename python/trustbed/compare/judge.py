"""Values of repetitions into verdicts: pure arithmetic over cases, testbeds and metrics.

Holm's procedure takes all metrics of all candidates in all cases together: a report calls equal
testbeds different in at most 5 % of reports, however many metrics it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from msgspec.structs import replace

from trustbed.compare.metrics import METRICS, base
from trustbed.compare.model import (
    LEVELS,
    CandidateResult,
    CaseResult,
    ChangedCall,
    Level,
    LevelResult,
    MetricResult,
    Side,
    Verdict,
)
from trustbed.compare.needed import repetitions_needed
from trustbed.compare.statistics import (
    ALPHA,
    LEAST,
    RESOLUTION,
    TOLERANCE,
    Sample,
    Welch,
    difference_p,
    equivalence_p,
    holm,
    overlap,
    sample,
    similar,
    welch,
)
from trustbed.compare.words import level_sentence

_Counts = Sequence[Mapping[str, float]]
_CALL_SHARE = 0.01
"""A call is named where it differs by more than this share of all calls of the reference."""
_MOST_CALLS = 8
_ALL_CALLS = "system_calls"
"""The key of the metric that counts every call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What one testbed gave in one case.

    Attributes:
        testbed: Its name.
        metrics: Values of the repetitions that count, by the key of the metric.
        per: What counted metrics are counted for: ``request``, ``MB`` or ``trace``, by key.
        absent: Why a metric or a whole level has no values, by its key or level.
        calls: How often each system call was made in every repetition, by workload.
        causes: Cause and verdict of every judged transfer.
    """

    testbed: str
    metrics: Mapping[str, Sequence[float]]
    per: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, _Counts] = field(default_factory=dict)
    causes: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseValues:
    """A case: the reference's values, and those of every candidate."""

    label: str
    reference: Values
    candidates: Sequence[Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What counts as similar and as different.

    Attributes:
        tolerance: Share of the reference's mean that is similar.
        of_metric: The same for single metrics, by key with or without the workload's name.
        resolution: The smallest difference that counts.
        seed: Of the simulation of further repetitions.
        forecast: Whether that simulation is made.
    """

    tolerance: float = TOLERANCE
    of_metric: Mapping[str, float] = field(default_factory=dict)
    resolution: float = RESOLUTION
    seed: int = 1
    forecast: bool = True

    def of(self, key: str) -> float:
        """The tolerance of a metric."""
        return self.of_metric.get(key, self.of_metric.get(base(key), self.tolerance))


@dataclass(frozen=True, slots=True)
class _Tested:
    result: MetricResult
    samples: tuple[Sample, Sample]
    test: Welch | None


def judge(cases: Sequence[CaseValues], rules: Rules) -> tuple[tuple[CaseResult, ...], int]:
    """The verdicts of every case, and how many tests Holm's procedure took together."""
    tested = [
        [
            [_tested(key, case.reference, one, rules) for key in _keys(case)]
            for one in case.candidates
        ]
        for case in cases
    ]
    flat = [one for case in tested for candidate in case for one in candidate]
    adjusted = _adjusted(one.result for one in flat)
    family = len(adjusted)
    found = []
    for case, candidates in zip(cases, tested, strict=True):
        results = []
        for values, metrics in zip(case.candidates, candidates, strict=True):
            finished = tuple(_finished(one, adjusted, rules, case.label) for one in metrics)
            results.append(
                CandidateResult(
                    testbed=values.testbed,
                    levels=tuple(_levels(finished, case.reference, values)),
                    metrics=finished,
                    calls=_calls(case.reference, values),
                )
            )
        found.append(
            CaseResult(
                label=case.label, reference=case.reference.testbed, candidates=tuple(results)
            )
        )
    return tuple(found), family


def _calls(reference: Values, candidate: Values) -> dict[str, tuple[ChangedCall, ...]]:
    """The calls whose means differ most, what differs by most first, by workload."""
    common = (
        name
        for name in reference.calls
        if name in candidate.calls and _counted_by(reference, name) == _counted_by(candidate, name)
    )
    found = {name: _changed(reference.calls[name], candidate.calls[name]) for name in common}
    return {name: calls for name, calls in found.items() if calls}


def _counted_by(one: Values, workload: str) -> str | None:
    return one.per.get(f"{workload}.{_ALL_CALLS}" if workload else _ALL_CALLS)


def _changed(reference: _Counts, candidate: _Counts) -> tuple[ChangedCall, ...]:
    names = sorted({name for one in (*reference, *candidate) for name in one})
    every = [
        ChangedCall(
            name=name,
            reference=fmean(one.get(name, 0.0) for one in reference),
            candidate=fmean(one.get(name, 0.0) for one in candidate),
        )
        for name in names
    ]
    least = _CALL_SHARE * sum(one.reference for one in every)
    found = [one for one in every if abs(one.candidate - one.reference) > least]
    return tuple(sorted(found, key=lambda one: -abs(one.candidate - one.reference))[:_MOST_CALLS])


_Test = tuple[tuple[float, ...], tuple[float, ...]]
"""What a test rests on: the values of both sides."""


def _test_of(one: MetricResult) -> _Test:
    return (
        () if one.reference is None else one.reference.values,
        () if one.candidate is None else one.candidate.values,
    )


def _adjusted(results: Iterable[MetricResult]) -> dict[_Test, float]:
    """Corrected p values. Metrics with the same values (no offload to undo) are one test."""
    p_values = {_test_of(one): one.p for one in results if one.p is not None}
    return dict(zip(p_values, holm(list(p_values.values())), strict=True))


def _keys(case: CaseValues) -> list[str]:
    """The metrics that any testbed of the case has: by workload, in the order of a report."""
    every = [case.reference, *case.candidates]
    known = {key for one in every for key in one.metrics}
    order = list(METRICS)
    return sorted(known, key=lambda key: (key.rpartition(".")[0], order.index(base(key))))


def _tested(key: str, reference: Values, candidate: Values, rules: Rules) -> _Tested:
    metric, tolerance = METRICS[base(key)], rules.of(key)
    per = reference.per.get(key) or candidate.per.get(key, "") if metric.counted else ""
    first, second = sample(reference.metrics.get(key, ())), sample(candidate.metrics.get(key, ()))
    empty = MetricResult(
        key=key,
        level=metric.level,
        title=metric.title.format(per=f"/{per}" if per else ""),
        unit=metric.unit,
        per=per,
        tolerance=tolerance,
        verdict="not_compared",
        reference=_side(first, reference.metrics.get(key, ())),
        candidate=_side(second, candidate.metrics.get(key, ())),
    )
    if first is None or second is None:
        lacking = reference if first is None else candidate
        why = lacking.absent.get(key) or lacking.absent.get(metric.level) or "no value"
        note = f"{lacking.testbed}: {why}"
        nothing = Sample(0.0, None, 0)
        return _Tested(replace(empty, note=note), (first or nothing, second or nothing), None)
    if metric.counted and reference.per.get(key) != candidate.per.get(key):
        note = " and ".join(
            f"{one.testbed} per {one.per.get(key)}" for one in (reference, candidate)
        )
        return _Tested(replace(empty, note=note), (first, second), None)
    difference = second.mean - first.mean
    found = replace(
        empty,
        difference=difference,
        difference_percent=100 * difference / abs(first.mean) if first.mean else None,
        similar=similar(first.mean, second.mean, tolerance),
        overlap=overlap(first.mean, first.half_width, second.mean, second.half_width),
    )
    test = welch(first, second)
    if test is None or min(first.count, second.count) < LEAST:
        counts = f"{first.count} and {second.count} repetitions"
        note = f"too few repetitions to judge: {counts}, {LEAST} are the least and 10 better"
        return _Tested(replace(found, note=note), (first, second), None)
    size = abs(first.mean)
    # No metric is below 0, so none can be less than all of the reference's below it.
    ends = [max(-100.0, 100 * end / size) for end in test.interval()] if size else [None, None]
    found = replace(
        found,
        low_percent=ends[0],
        high_percent=ends[1],
        p=difference_p(test, rules.resolution * size),
        p_equivalence=equivalence_p(test, tolerance * size),
    )
    return _Tested(found, (first, second), test)


def _side(found: Sample | None, values: Sequence[float]) -> Side | None:
    if found is None:
        return None
    return Side(
        mean=found.mean,
        sd=found.sd,
        count=found.count,
        half_width=found.half_width,
        half_width_normal=found.half_width_normal,
        values=tuple(values),
    )


def _finished(
    one: _Tested, adjusted: Mapping[_Test, float], rules: Rules, case: str
) -> MetricResult:
    """The result with its corrected p value, verdict and forecast."""
    found, test = one.result, one.test
    if test is None or found.p_equivalence is None:
        return found
    p_holm = adjusted[_test_of(found)]
    different, equivalent = p_holm <= ALPHA, found.p_equivalence <= ALPHA
    bound = found.tolerance * abs(one.samples[0].mean)
    low, high = test.interval()
    verdict: Verdict = "different" if different else "equivalent" if equivalent else "open"
    needed = None
    if verdict == "open" and rules.forecast:
        needed = repetitions_needed(
            *one.samples,
            tolerance=found.tolerance,
            resolution=rules.resolution,
            family=len(adjusted),
            seed=f"{rules.seed} {case} {found.key}",
        )
    return replace(
        found,
        verdict=verdict,
        different=different,
        equivalent=equivalent,
        beyond=different and (low > bound or high < -bound),
        p_holm=p_holm,
        repetitions_needed=needed,
    )


def _levels(
    metrics: Sequence[MetricResult], reference: Values, candidate: Values
) -> Iterator[LevelResult]:
    for level in LEVELS:
        own = [one for one in metrics if one.level == level]
        verdict = level_verdict(own)
        why = _why_not(level, own, reference, candidate)
        compared = sum(one.similar is not None for one in own)
        yield LevelResult(
            level=level,
            verdict=verdict,
            similar=sum(one.similar is True for one in own),
            compared=compared,
            sentence=level_sentence(verdict, own, why),
        )


def level_verdict(metrics: Sequence[MetricResult]) -> Verdict:
    """Different if one metric is; equivalent if all are that were compared; else open."""
    judged = [one.verdict for one in metrics if one.verdict != "not_compared"]
    if not judged:
        return "not_compared"
    if "different" in judged:
        return "different"
    return "equivalent" if all(one == "equivalent" for one in judged) else "open"


def _why_not(
    level: Level, metrics: Sequence[MetricResult], reference: Values, candidate: Values
) -> str:
    """Why a level has nothing to compare."""
    for values in (reference, candidate):
        if level in values.absent:
            return f"{values.testbed}: {values.absent[level]}"
    return next((one.note for one in metrics if one.note), "neither testbed has a value")
