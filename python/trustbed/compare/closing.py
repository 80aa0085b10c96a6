"""Which change closes the gap between a candidate and the reference: pure arithmetic.

A gap is a metric in which reference and candidate certainly differ: in these runs, or in the
comparison that is to be explained, if these runs show the same sign. A change closes the share
(m_changed − m_candidate) / (m_reference − m_candidate) of it. It is named if the changed testbed
certainly differs from the candidate (Welch, Holm over all changes and gaps), moves towards the
reference, and closes at least half of the gap; of several the one that closes the gaps best. A
change that makes the candidate the reference closes them by definition: another one that closes
nearly as much says more, and is named before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trustbed.compare.model import Ablation, SettingResult
from trustbed.compare.statistics import (
    ALPHA,
    RESOLUTION,
    Sample,
    Welch,
    difference_p,
    holm,
    sample,
    welch,
)
from trustbed.report.words import listed

HALF = 0.5
_NEARLY = 0.8
"""Of what the reference's own scenario closes, from which on another change is named instead."""
Measured = Mapping[str, Sequence[float]]
"""Values of repetitions by metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The candidate with one setting changed, and what it gave."""

    name: str
    change: str
    values: Measured
    is_reference: bool = False


@dataclass(frozen=True, slots=True)
class _Share:
    setting: int
    metric: str
    closed: float
    low: float
    high: float
    p: float


def closing(
    candidate: str,
    reference: Measured,
    unchanged: Measured,
    changed: Sequence[Changed],
    *,
    titles: Mapping[str, str],
    known: Mapping[str, float] | None = None,
    resolution: float = RESOLUTION,
    skipped: Sequence[str] = (),
    rounds: int = 0,
    seconds: float = 0.0,
) -> Ablation:
    """The answer.

    ``titles`` are the metrics in words, ``known`` those that were certainly different before, with
    the difference of the candidate's mean from the reference's.
    """
    gaps = _gaps(reference, unchanged, resolution, known or {})
    shares = [
        share
        for index, one in enumerate(changed)
        for metric in gaps
        if (share := _share(index, metric, reference, unchanged, one, resolution)) is not None
    ]
    adjusted = holm([share.p for share in shares])
    results: list[tuple[float, SettingResult]] = []
    best: dict[bool, tuple[float, str]] = {}
    for index, one in enumerate(changed):
        own = [
            (share, p) for share, p in zip(shares, adjusted, strict=True) if share.setting == index
        ]
        certain = [(share, p) for share, p in own if p <= ALPHA and share.closed > 0]
        top = max(certain, key=lambda pair: _closeness(pair[0].closed), default=None)
        mean = sum(max(0.0, _closeness(share.closed)) for share, _ in certain) / max(1, len(gaps))
        results.append((mean, _result(one, top, titles)))
        enough = top is not None and _closeness(top[0].closed) >= HALF
        if enough and (one.is_reference not in best or mean > best[one.is_reference][0]):
            best[one.is_reference] = (mean, one.name)
    results.sort(key=lambda pair: -pair[0])
    named = _named(best.get(False), best.get(True))
    settings = tuple(result for _, result in results)
    return Ablation(
        candidate=candidate,
        named=named,
        sentence=_sentence(candidate, named, gaps, settings, titles),
        gaps=tuple(titles.get(one, one) for one in gaps),
        settings=settings,
        skipped=tuple(skipped),
        rounds=rounds,
        seconds=seconds,
    )


def _named(other: tuple[float, str] | None, reference: tuple[float, str] | None) -> str | None:
    """The best change, or that to the reference's scenario where no other does nearly as well."""
    if other is not None and (reference is None or other[0] >= _NEARLY * reference[0]):
        return other[1]
    return None if reference is None else reference[1]


def _closeness(closed: float) -> float:
    """How well a gap is closed: 1 exactly, less if it falls short or overshoots."""
    return closed if closed <= 1 else 2 - closed


def _gaps(
    reference: Measured, unchanged: Measured, resolution: float, before: Mapping[str, float]
) -> list[str]:
    keys = [key for key in reference if key in unchanged]
    tested = [(key, _test(reference[key], unchanged[key])) for key in keys]
    known = [(key, test) for key, test in tested if test is not None]
    sizes = {key: abs(_mean(reference[key])) for key, _ in known}
    adjusted = holm([difference_p(test, resolution * sizes[key]) for key, test in known])
    return [
        key
        for (key, test), p in zip(known, adjusted, strict=True)
        if p <= ALPHA
        or (
            (test.difference * before.get(key, 0.0) > 0)
            and abs(test.difference) > resolution * sizes[key]
        )
    ]


def _share(
    index: int,
    metric: str,
    reference: Measured,
    unchanged: Measured,
    one: Changed,
    resolution: float,
) -> _Share | None:
    if metric not in one.values:
        return None
    test = _test(unchanged[metric], one.values[metric])
    if test is None:
        return None
    before = _mean(unchanged[metric])
    gap = _mean(reference[metric]) - before
    ends = sorted(end / gap for end in test.interval())
    return _Share(
        setting=index,
        metric=metric,
        closed=test.difference / gap,
        low=ends[0],
        high=ends[1],
        p=difference_p(test, resolution * abs(before)),
    )


def _test(first: Sequence[float], second: Sequence[float]) -> Welch | None:
    samples: tuple[Sample | None, Sample | None] = (sample(first), sample(second))
    if samples[0] is None or samples[1] is None:
        return None
    return welch(samples[0], samples[1])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _result(
    one: Changed, top: tuple[_Share, float] | None, titles: Mapping[str, str]
) -> SettingResult:
    count = max((len(values) for values in one.values.values()), default=0)
    if top is None:
        return SettingResult(setting=one.name, change=one.change, repetitions=count)
    share, p = top
    return SettingResult(
        setting=one.name,
        change=one.change,
        metric=titles.get(share.metric, share.metric),
        closed=share.closed,
        low=share.low,
        high=share.high,
        p_holm=p,
        repetitions=count,
    )


def _sentence(
    candidate: str,
    named: str | None,
    gaps: Sequence[str],
    settings: Sequence[SettingResult],
    titles: Mapping[str, str],
) -> str:
    if not gaps:
        return (
            f"In these runs {candidate} and the reference differ in nothing for certain, so there "
            "is no gap to close."
        )
    words = listed([titles.get(one, one) for one in gaps[:3]])
    more = f" and {len(gaps) - 3} more" if len(gaps) > 3 else ""
    if named is None:
        return f"Nothing that was changed closes half of the gap in {words}{more} for certain."
    own = next(one for one in settings if one.setting == named)
    closed = 0.0 if own.closed is None else own.closed
    return (
        f"What closes it: {named} ({100 * closed:.0f} % of the gap in {own.metric}). Gaps were "
        f"there in {words}{more}."
    )
