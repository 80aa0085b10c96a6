"""The results of a cell from its repetitions: medians, means, slowdown, distributions, intervals.

Requests of one repetition share its conditions, so an interval takes one value of every repetition
and Student's t: its width is that of the mean of these values, and it lies around the estimate from
all requests together (independent replications; A. M. Law, *Simulation Modeling and Analysis*,
9.4). Of a time or a rate it is cut at 0. That of a ratio is found on logarithms: half and double
are equally far from 1, and none ends below 0. For a single repetition the interval is from its own
requests (order statistics, bootstrap), which does not cover the variation between repetitions: the
``basis`` of every interval states which of the two it is.

A cell is compared with its baseline round by round, because the repetitions of a round
are adjacent in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from trustbed.report.run import playouts
from trustbed.report.run.reading import Measured, Repetition
from trustbed.report.run.records import (
    Bandwidth,
    Estimate,
    Increase,
    MeanAndDeviation,
    RepetitionResult,
    Slowdown,
    WorkloadResult,
)
from trustbed.workload import (
    Interval,
    Responses,
    cumulative,
    deviation,
    increases,
    mean,
    mean_interval,
    noisy,
    quantile,
    quantile_interval,
    ratio_interval,
    slowdown,
)
from trustbed.workload.http import BASELINE_REQUESTS, SLOWDOWN_SHARES

STEPS = 300
"""The largest number of steps of a distribution."""

ROUNDS = 2_000
"""Rounds of the bootstrap, fifty of which lie beyond each end of an interval."""

_LARGEST = 700.0
"""The largest logarithm whose power is a number."""

Found = tuple[Repetition, Measured]


def result(
    workload: str,
    kind: str,
    repetitions: Sequence[Repetition],
    baseline: Sequence[Repetition] | None,
    *,
    seed: int,
) -> WorkloadResult:
    """The results of a workload in a cell.

    ``baseline`` holds the repetitions without background, ``None`` if the matrix has none.
    """
    taken = _measured(workload, repetitions)
    quiet = _measured(workload, baseline or ())
    empty = WorkloadResult(name=workload, kind=kind, repetitions=len(taken))
    if not taken:
        return empty
    if all(one.responses is not None for _, one in taken):
        base = [pair for pair in quiet if pair[1].responses is not None]
        return _responses(empty, taken, base, seed)
    if all(one.percentiles for _, one in taken):
        return _percentiles(empty, taken, [pair for pair in quiet if pair[1].percentiles])
    if all(one.rate is not None for _, one in taken):
        empty = replace(empty, measure="throughput")
        return _scalar(
            empty, taken, quiet, lambda one: one.rate, slower=lambda own, base: base / own
        )
    if any(one.bandwidth for _, one in taken):
        return _estimates(empty, taken)
    shown = playouts.of_repetitions([one.playout for _, one in taken if one.playout is not None])
    if all(one.jitter is not None for _, one in taken):
        gaps = [gap for _, one in taken for gap in one.gaps]
        steps = [[step.value, step.share] for step in cumulative(gaps, most=STEPS)]
        empty = replace(empty, measure="jitter", playout=shown, cdf=steps)
        return _scalar(empty, taken, quiet, lambda one: one.jitter, slower=_times)
    if all(one.video_rate is not None for _, one in taken):
        empty = replace(empty, measure="video_rate", playout=shown)
        return _scalar(
            empty, taken, quiet, lambda one: one.video_rate, slower=lambda own, base: base / own
        )
    empty = replace(empty, measure="mean_response_time")
    return _scalar(empty, taken, quiet, lambda one: one.mean, slower=_times)


def _measured(workload: str, repetitions: Sequence[Repetition]) -> list[Found]:
    return [
        (one, measured) for one in repetitions if (measured := one.measured(workload)) is not None
    ]


# Response times, request by request.


def _responses(
    empty: WorkloadResult, taken: Sequence[Found], quiet: Sequence[Found], seed: int
) -> WorkloadResult:
    each = [(one, measured.responses) for one, measured in taken if measured.responses is not None]
    base = [(one, measured.responses) for one, measured in quiet if measured.responses is not None]
    seconds = _pooled([responses for _, responses in each])
    found = replace(
        empty,
        measure="response_time",
        from_requests=True,
        requests=len(seconds),
        failed=sum(measured.failed for _, measured in taken),
        dropped_at_start=sum(responses.warm_up for _, responses in each),
        quantiles={share: quantile(seconds, share) for share in SLOWDOWN_SHARES if share != 0.5},
        per_repetition=[_of_one(one, responses) for one, responses in each],
        cdf=[[step.value, step.share] for step in cumulative(seconds, most=STEPS)],
        median=_estimate(
            "median", seconds, [quantile(one.seconds, 0.5) for _, one in each], quantile_interval
        ),
        mean=_estimate("mean", seconds, [mean(one.seconds) for _, one in each], mean_interval),
    )
    return _against(found, each, base, seconds, seed) if base and seconds else found


def _pooled(each: Sequence[Responses]) -> list[float]:
    return [took for responses in each for took in responses.seconds]


def _of_one(one: Repetition, responses: Responses) -> RepetitionResult:
    return RepetitionResult(
        directory=one.directory,
        requests=len(responses.seconds),
        failed=responses.failed,
        median=quantile(responses.seconds, 0.5),
        mean=mean(responses.seconds),
    )


_CENTRES: Mapping[str, Callable[[Sequence[float]], float | None]] = {
    "median": lambda values: quantile(values, 0.5),
    "mean": mean,
}


def _estimate(
    name: str,
    pooled: Sequence[float],
    each: Sequence[float | None],
    within: Callable[[Sequence[float]], Interval | None],
) -> Estimate:
    value = _CENTRES[name](pooled)
    interval, basis = _interval(value, each, lambda: within(pooled))
    return _estimated(value, interval, basis)


def _estimated(value: float | None, interval: Interval | None, basis: str | None) -> Estimate:
    """Of a time or a rate: its interval does not end below 0."""
    low, high = _ends(interval)
    low = None if low is None else max(0.0, low)
    return Estimate(value=value, low=low, high=high, basis=basis)


def _interval(
    value: float | None, each: Sequence[float | None], within: Callable[[], Interval | None]
) -> tuple[Interval | None, str | None]:
    """The interval around ``value`` and its basis.

    It is from one value per repetition, or from the requests of a single repetition.
    """
    known = [one for one in each if one is not None]
    if value is None or not known:
        return None, None
    if len(known) == 1:
        inside = within()
        return inside, None if inside is None else "requests"
    over = mean_interval(known)
    if over is None:
        return None, None
    reach = (over.high - over.low) / 2
    return Interval(value - reach, value + reach, over.method), "repetitions"


def _ratio_interval(
    ratio: float | None, each: Sequence[float | None], within: Callable[[], Interval | None]
) -> tuple[Interval | None, str | None]:
    """The same around a ratio, on logarithms: a factor as far up as down."""
    logs = [math.log(one) for one in each if one]
    if not ratio or len(logs) < 2:
        return _interval(ratio, each, within)
    interval, basis = _interval(math.log(ratio), logs, within)
    if interval is None:
        return None, None
    low, high = (math.exp(min(end, _LARGEST)) for end in (interval.low, interval.high))
    return Interval(low, high, interval.method), basis


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


def _slowdown(
    share: float | None, ratio: float | None, interval: Interval | None, basis: str | None
) -> Slowdown:
    low, high = _ends(interval)
    return Slowdown(share=share, ratio=ratio, low=low, high=high, basis=basis)


def _against(
    found: WorkloadResult,
    each: Sequence[tuple[Repetition, Responses]],
    base: Sequence[tuple[Repetition, Responses]],
    seconds: Sequence[float],
    seed: int,
) -> WorkloadResult:
    quiet = _pooled([responses for _, responses in base])
    medians, overall = (
        {one.round: quantile(responses.seconds, 0.5) for one, responses in base},
        quantile(quiet, 0.5),
    )
    rows = []
    for share in SLOWDOWN_SHARES:
        ratios = [
            _ratio(quantile(responses.seconds, share), medians.get(one.round) or overall)
            for one, responses in each
        ]
        ratio = slowdown(seconds, quiet, share)
        interval, basis = _ratio_interval(ratio, ratios, _within(seconds, share, quiet, seed))
        rows.append(_slowdown(share, ratio, interval, basis))
    grown = increases(seconds, quiet)
    flags = {"noisy_baseline": noisy(quiet), "short_baseline": len(quiet) < BASELINE_REQUESTS}
    return replace(
        found,
        slowdown=rows,
        increase=Increase(
            increase_mean_percent=mean(grown),
            increase_sd_percent=deviation(grown),
            baseline_median_seconds=overall,
            baseline_requests=len(quiet),
        ),
        flags=[flag for flag, holds in flags.items() if holds],
    )


def _within(
    seconds: Sequence[float], share: float, quiet: Sequence[float], seed: int
) -> Callable[[], Interval | None]:
    return lambda: ratio_interval(seconds, share, quiet, seed=seed, rounds=ROUNDS)


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


# Results of programs that print percentiles, a mean or a rate instead.


def _percentiles(
    empty: WorkloadResult, taken: Sequence[Found], quiet: Sequence[Found]
) -> WorkloadResult:
    """The mean of each percentile over the repetitions: percentiles cannot be pooled."""
    shares = sorted(set.intersection(*(set(one.percentiles) for _, one in taken)))

    def at(share: float, of: Sequence[Found]) -> list[float]:
        return [one.percentiles[share] for _, one in of if share in one.percentiles]

    known = [share for share in SLOWDOWN_SHARES if share in shares]
    base = at(0.5, quiet)
    rounds = {point.round: one.percentiles.get(0.5) for point, one in quiet}
    return replace(
        empty,
        measure="response_time",
        requests=sum(one.requests or 0 for _, one in taken),
        failed=sum(one.failed for _, one in taken),
        per_repetition=[
            RepetitionResult(
                directory=point.directory,
                requests=one.requests,
                failed=one.failed,
                median=one.percentiles.get(0.5),
            )
            for point, one in taken
        ],
        cdf=[[_mean(at(share, taken)), share] for share in shares],
        quantiles={share: mean(at(share, taken)) for share in known if share != 0.5},
        median=_of_repetitions(at(0.5, taken)) if 0.5 in known else None,
        slowdown=[
            _slower(
                share,
                [(point.round, one.percentiles[share]) for point, one in taken],
                rounds,
                mean(base),
                _times,
            )
            for share in known
            if base
        ],
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _of_repetitions(values: Sequence[float]) -> Estimate:
    basis = "repetitions" if len(values) > 1 else None
    return _estimated(mean(values), mean_interval(values), basis)


def _scalar(
    empty: WorkloadResult,
    taken: Sequence[Found],
    quiet: Sequence[Found],
    value_of: Callable[[Measured], float | None],
    *,
    slower: Callable[[float, float], float],
) -> WorkloadResult:
    known = [(point, value) for point, one in taken if (value := value_of(one)) is not None]
    base = [(point, value) for point, one in quiet if (value := value_of(one)) is not None]
    values = [value for _, value in known]
    found = replace(
        empty,
        failed=sum(one.failed for _, one in taken),
        per_repetition=[
            RepetitionResult(directory=point.directory, mean=value) for point, value in known
        ],
        mean=_of_repetitions(values),
    )
    if not base or not values:
        return found
    rounds = {point.round: value for point, value in base}
    overall = mean([value for _, value in base])
    own = [(point.round, value) for point, value in known]
    return replace(found, slowdown=[_slower(None, own, rounds, overall, slower)])


def _estimates(empty: WorkloadResult, taken: Sequence[Found]) -> WorkloadResult:
    """The error of an estimator over the repetitions, and what it and the ledger found.

    It is not compared with the baseline: the available bandwidth differs.
    """
    found = replace(empty, measure="estimation_error", bandwidth=_bandwidth(taken))
    return _scalar(found, taken, (), lambda one: one.error, slower=_times)


def _bandwidth(taken: Sequence[Found]) -> Bandwidth:
    def over(values: Sequence[float]) -> MeanAndDeviation:
        return MeanAndDeviation(mean=mean(values), sd=deviation(values), count=len(values))

    each = {
        name: over([one.bandwidth[name] for _, one in taken if name in one.bandwidth])
        for name in ("low", "high", "estimate", "available")
    }
    return Bandwidth(error=over([one.error for _, one in taken if one.error is not None]), **each)


def _times(own: float, base: float) -> float:
    return own / base


def _slower(
    share: float | None,
    own: Sequence[tuple[int, float]],
    rounds: Mapping[int, float | None],
    overall: float | None,
    slower: Callable[[float, float], float],
) -> Slowdown:
    """The slowdown against the baseline of the same round; without one, against its mean."""
    middle = mean([value for _, value in own])
    ratios = [
        slower(value, base)
        for number, value in own
        if value and (base := rounds.get(number) or overall)
    ]
    ratio = slower(middle, overall) if middle and overall else None
    interval, basis = _ratio_interval(ratio, ratios, lambda: None)
    return _slowdown(share, ratio, interval, basis)
