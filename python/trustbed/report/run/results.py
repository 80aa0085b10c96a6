"""From the repetitions of a cell to its results.

Medians, means, slowdown, distributions, each with a confidence interval.

Requests of one repetition share its conditions, so an interval takes one value of every repetition
and Student's t: its width is that of the mean of these values, and it lies around the estimate from
all requests together (independent replications; A. M. Law, *Simulation Modeling and Analysis*,
9.4). Of a single repetition there is only the spread of its own requests (order statistics,
bootstrap), which says nothing about what a second one would give: the ``basis`` of every interval
says which of the two it is.

A cell is compared with its baseline round by round, because repetitions of one round stand next to
each other in time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trustbed.report.records import Json
from trustbed.report.run.reading import Measured, Repetition
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
"""A distribution has about so many steps."""

ROUNDS = 2_000
"""Rounds of the bootstrap, fifty of which lie beyond each end of an interval."""

Found = tuple[Repetition, Measured]


def result(
    workload: str,
    kind: str,
    repetitions: Sequence[Repetition],
    baseline: Sequence[Repetition] | None,
    *,
    seed: int,
) -> Json:
    """What a workload measured in a cell.

    ``baseline`` holds the repetitions without background, ``None`` if the matrix has none.

    Keys: ``measure`` (``response_time``, ``mean_response_time``, ``throughput``, or ``None`` if
    nothing was measured), the numbers that it has, ``per_repetition``, ``slowdown`` and ``flags``.
    """
    taken = _measured(workload, repetitions)
    quiet = _measured(workload, baseline or ())
    found: Json = {
        "name": workload,
        "kind": kind,
        "measure": None,
        "repetitions": len(taken),
        "flags": [],
    }
    if not taken:
        return found
    if all(one.responses is not None for _, one in taken):
        found |= _responses(taken, [pair for pair in quiet if pair[1].responses is not None], seed)
    elif all(one.percentiles for _, one in taken):
        found |= _percentiles(taken, [pair for pair in quiet if pair[1].percentiles])
    elif all(one.rate is not None for _, one in taken):
        found |= _scalar(
            "throughput", taken, quiet, lambda one: one.rate, slower=lambda own, base: base / own
        )
    else:
        found |= _scalar("mean_response_time", taken, quiet, lambda one: one.mean, slower=_times)
    return found


def _measured(workload: str, repetitions: Sequence[Repetition]) -> list[Found]:
    return [
        (one, measured) for one in repetitions if (measured := one.measured(workload)) is not None
    ]


# Response times, request by request.


def _responses(taken: Sequence[Found], quiet: Sequence[Found], seed: int) -> Json:
    each = [(one, measured.responses) for one, measured in taken if measured.responses is not None]
    base = [(one, measured.responses) for one, measured in quiet if measured.responses is not None]
    seconds = _pooled([responses for _, responses in each])
    found: Json = {
        "measure": "response_time",
        "requests": len(seconds),
        "failed": sum(measured.failed for _, measured in taken),
        "dropped_at_start": sum(responses.warm_up for _, responses in each),
        **{
            f"p{round(100 * share)}_seconds": quantile(seconds, share)
            for share in SLOWDOWN_SHARES
            if share != 0.5
        },
        "per_repetition": [_of_one(one, responses) for one, responses in each],
        "cdf": [[step.value, step.share] for step in cumulative(seconds, most=STEPS)],
        "slowdown": [],
    }
    found |= _estimate(
        "median", seconds, [quantile(one.seconds, 0.5) for _, one in each], quantile_interval
    )
    found |= _estimate("mean", seconds, [mean(one.seconds) for _, one in each], mean_interval)
    if base and seconds:
        found |= _against(each, base, seconds, seed)
    return found


def _pooled(each: Sequence[Responses]) -> list[float]:
    return [took for responses in each for took in responses.seconds]


def _of_one(one: Repetition, responses: Responses) -> Json:
    return {
        "directory": one.directory,
        "requests": len(responses.seconds),
        "failed": responses.failed,
        "median_seconds": quantile(responses.seconds, 0.5),
        "mean_seconds": mean(responses.seconds),
    }


_CENTRES: Mapping[str, Callable[[Sequence[float]], float | None]] = {
    "median": lambda values: quantile(values, 0.5),
    "mean": mean,
}


def _estimate(
    name: str,
    pooled: Sequence[float],
    each: Sequence[float | None],
    within: Callable[[Sequence[float]], Interval | None],
) -> Json:
    value = _CENTRES[name](pooled)
    interval, basis = _interval(value, each, lambda: within(pooled))
    return {
        f"{name}_seconds": value,
        **_ends(f"{name}_", interval, "_seconds"),
        f"{name}_basis": basis,
    }


def _interval(
    value: float | None, each: Sequence[float | None], within: Callable[[], Interval | None]
) -> tuple[Interval | None, str | None]:
    """Around ``value``, from one value of each repetition.

    Of a single repetition from its own requests.
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


def _ends(prefix: str, interval: Interval | None, suffix: str = "") -> dict[str, float | None]:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {f"{prefix}low{suffix}": low, f"{prefix}high{suffix}": high}


def _against(
    each: Sequence[tuple[Repetition, Responses]],
    base: Sequence[tuple[Repetition, Responses]],
    seconds: Sequence[float],
    seed: int,
) -> Json:
    quiet = _pooled([responses for _, responses in base])
    medians, whole = (
        {one.round: quantile(responses.seconds, 0.5) for one, responses in base},
        quantile(quiet, 0.5),
    )
    rows = []
    for share in SLOWDOWN_SHARES:
        ratios = [
            _ratio(quantile(responses.seconds, share), medians.get(one.round) or whole)
            for one, responses in each
        ]
        ratio = slowdown(seconds, quiet, share)
        interval, basis = _interval(ratio, ratios, _within(seconds, share, quiet, seed))
        rows.append({"share": share, "ratio": ratio, **_ends("", interval), "basis": basis})
    grown = increases(seconds, quiet)
    flags = {"noisy_baseline": noisy(quiet), "short_baseline": len(quiet) < BASELINE_REQUESTS}
    return {
        "slowdown": rows,
        "increase_mean_percent": mean(grown),
        "increase_sd_percent": deviation(grown),
        "baseline_median_seconds": whole,
        "baseline_requests": len(quiet),
        "flags": [flag for flag, holds in flags.items() if holds],
    }


def _within(
    seconds: Sequence[float], share: float, quiet: Sequence[float], seed: int
) -> Callable[[], Interval | None]:
    return lambda: ratio_interval(seconds, share, quiet, seed=seed, rounds=ROUNDS)


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


# What some programs print instead: percentiles, a mean, a rate.


def _percentiles(taken: Sequence[Found], quiet: Sequence[Found]) -> Json:
    """Percentiles of repetitions cannot be put together.

    Each result is the mean of the repetitions' values.
    """
    shares = sorted(set.intersection(*(set(one.percentiles) for _, one in taken)))

    def at(share: float, of: Sequence[Found]) -> list[float]:
        return [one.percentiles[share] for _, one in of if share in one.percentiles]

    found: Json = {
        "measure": "response_time",
        "requests": sum(one.requests or 0 for _, one in taken),
        "failed": sum(one.failed for _, one in taken),
        "per_repetition": [
            {
                "directory": point.directory,
                "requests": one.requests,
                "failed": one.failed,
                "median_seconds": one.percentiles.get(0.5),
            }
            for point, one in taken
        ],
        "cdf": [[mean(at(share, taken)), share] for share in shares],
        "slowdown": [],
    }
    for share in (share for share in SLOWDOWN_SHARES if share in shares):
        values, name = at(share, taken), "median" if share == 0.5 else f"p{round(100 * share)}"
        found[f"{name}_seconds"] = mean(values)
        if share == 0.5:
            found |= {
                **_ends("median_", mean_interval(values), "_seconds"),
                "median_basis": "repetitions" if len(values) > 1 else None,
            }
    base = at(0.5, quiet)
    if base:
        rounds = {point.round: one.percentiles.get(0.5) for point, one in quiet}
        found["slowdown"] = [
            _slower(
                share,
                [(point.round, one.percentiles[share]) for point, one in taken],
                rounds,
                mean(base),
                _times,
            )
            for share in SLOWDOWN_SHARES
            if share in shares
        ]
    return found


def _scalar(
    measure: str,
    taken: Sequence[Found],
    quiet: Sequence[Found],
    value_of: Callable[[Measured], float | None],
    *,
    slower: Callable[[float, float], float],
) -> Json:
    unit = "bits_per_second" if measure == "throughput" else "seconds"
    known = [(point, value) for point, one in taken if (value := value_of(one)) is not None]
    base = [(point, value) for point, one in quiet if (value := value_of(one)) is not None]
    values = [value for _, value in known]
    found: Json = {
        "measure": measure,
        "failed": sum(one.failed for _, one in taken),
        "per_repetition": [
            {"directory": point.directory, f"mean_{unit}": value} for point, value in known
        ],
        f"mean_{unit}": mean(values),
        **_ends("mean_", mean_interval(values), f"_{unit}"),
        "mean_basis": "repetitions" if len(values) > 1 else None,
        "slowdown": [],
    }
    if base and values:
        rounds = {point.round: value for point, value in base}
        whole = mean([value for _, value in base])
        found["slowdown"] = [
            _slower(None, [(point.round, value) for point, value in known], rounds, whole, slower)
        ]
    return found


def _times(own: float, base: float) -> float:
    return own / base


def _slower(
    share: float | None,
    own: Sequence[tuple[int, float]],
    rounds: Mapping[int, float | None],
    whole: float | None,
    slower: Callable[[float, float], float],
) -> Json:
    """How many times slower than the baseline of the same round.

    Where that is missing, than the baseline's mean.
    """
    middle = mean([value for _, value in own])
    ratios = [
        slower(value, base)
        for number, value in own
        if value and (base := rounds.get(number) or whole)
    ]
    ratio = slower(middle, whole) if middle and whole else None
    interval, basis = _interval(ratio, ratios, lambda: None)
    return {"share": share, "ratio": ratio, **_ends("", interval), "basis": basis}
