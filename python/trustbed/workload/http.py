"""The effect of background traffic on response times.

A response time is the time from the request that was sent to the last byte of the body. The first 5
s of a run are dropped, failed requests are counted and not timed. The baseline is the same set-up
without background traffic; its distribution is narrow, so its median serves for every quantile of
the slowdown. Definitions after K. V. Vishwanath and A. Vahdat, *Evaluating Distributed Systems:
Does Background Traffic Matter?*, USENIX ATC 2008.

Bias: closed-loop clients send fewer requests while the network is slow, so slow periods are
underrepresented in the distribution (coordinated omission). The slowdown can under-, never
overestimate what a user who clicks at random moments would see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from trustbed.workload.distribution import deviation, mean, quantile
from trustbed.workload.intervals import Interval, quantile_interval, ratio_interval

WARM_UP_SECONDS = 5.0
"""The start of a run that is dropped."""
SLOWDOWN_SHARES = (0.05, 0.5, 0.9, 0.95)
"""Quantiles at which the slowdown is taken."""
NOISY_SHARE = 0.05
"""A baseline whose standard deviation is more than this share of its mean is noisy."""
BASELINE_REQUESTS = 100
"""A baseline of fewer requests is short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """The response times of a run after its warm-up.

    Attributes:
        seconds: Response times of the requests that succeeded, in the order in which they began.
        failed: Requests that failed.
        warm_up: Requests that began in the first seconds, failed ones among them; neither timed nor
            counted as failed.
    """

    seconds: tuple[float, ...]
    failed: int
    warm_up: int


def steady(
    starts: Sequence[float], seconds: Sequence[float | None], *, warm_up: float = WARM_UP_SECONDS
) -> Responses:
    """The response times of the requests that began at least ``warm_up`` seconds after the first.

    Args:
        starts: When each request began, in seconds since any moment.
        seconds: How long it took; None if it failed.
        warm_up: The start of the run that is dropped, in seconds.

    >>> steady([10.0, 14.9, 15.0, 16.0], [0.5, 0.1, 0.1, None])
    Responses(seconds=(0.1,), failed=1, warm_up=2)
    """
    if len(starts) != len(seconds):
        raise ValueError(
            f"{len(starts)} starts and {len(seconds)} response times do not make requests"
        )
    rows = sorted(zip(starts, seconds, strict=True), key=lambda row: row[0])
    late = [took for start, took in rows if start - rows[0][0] >= warm_up]
    timed = tuple(took for took in late if took is not None)
    return Responses(seconds=timed, failed=len(late) - len(timed), warm_up=len(rows) - len(late))


def steady_rows(requests: pa.Table, *, warm_up: float = WARM_UP_SECONDS) -> Responses:
    """As :func:`steady`, of a table of requests (:data:`~trustbed.workload.tables.REQUESTS`).

    Raises:
        ValueError: The program did not report when requests began, so the warm-up is unknown.
            ``warm_up=0`` drops nothing.
    """
    starts = requests["started"].cast(pa.int64()).to_pylist()
    took = [
        None if nanoseconds is None else nanoseconds / 1e9
        for nanoseconds in requests["response_ns"].to_pylist()
    ]
    if warm_up <= 0:
        return steady([0.0] * len(took), took, warm_up=0)
    if None in starts:
        raise ValueError(
            f"{starts.count(None)} requests have no start: the first {warm_up:g} s cannot "
            f"be distinguished"
        )
    first = min(starts, default=0)
    return steady([(start - first) / 1e9 for start in starts], took, warm_up=warm_up)


def increases(seconds: Sequence[float], baseline: Sequence[float]) -> list[float]:
    """By how many percent each response time exceeds the baseline's mean."""
    middle = mean(baseline)
    return [100 * (took / middle - 1) for took in seconds] if middle else []


def slowdown(seconds: Sequence[float], baseline: Sequence[float], share: float) -> float | None:
    """A quantile of the response times over the baseline's median.

    1 is as fast as without background traffic, more is slower.
    """
    above, below = quantile(seconds, share), quantile(baseline, 0.5)
    return above / below if above is not None and below else None


def noisy(baseline: Sequence[float]) -> bool:
    """Whether the baseline varies too much: its standard deviation exceeds 5 % of its mean."""
    middle, spread = mean(baseline), deviation(baseline)
    return middle is not None and spread is not None and spread > NOISY_SHARE * middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """The slowdown at one quantile.

    Attributes:
        share: The quantile, 0 to 1.
        ratio: Response time over the baseline's median.
        interval: Its confidence interval.
    """

    share: float
    ratio: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Response times against their baseline.

    Attributes:
        requests: How many were timed.
        failed: How many failed.
        median_seconds: Their median.
        median_interval: Its confidence interval.
        baseline_requests: How many requests the baseline timed.
        baseline_median_seconds: The baseline's median.
        increase_mean_percent: Mean excess of the response times over the baseline's mean.
        increase_sd_percent: Standard deviation of the same.
        slowdowns: At 5, 50, 90 and 95 %.
        flags: ``noisy_baseline``, ``short_baseline``, where they hold.
    """

    requests: int
    failed: int
    median_seconds: float | None
    median_interval: Interval | None
    baseline_requests: int
    baseline_median_seconds: float | None
    increase_mean_percent: float | None
    increase_sd_percent: float | None
    slowdowns: tuple[Slowdown, ...]
    flags: tuple[str, ...]


def compare(responses: Responses, baseline: Responses, *, seed: int) -> Comparison:
    """Compares response times with and without background traffic; ``seed`` is the bootstrap's."""
    taken, quiet = responses.seconds, baseline.seconds
    grown = increases(taken, quiet)
    holds = {"noisy_baseline": noisy(quiet), "short_baseline": len(quiet) < BASELINE_REQUESTS}
    return Comparison(
        requests=len(taken),
        failed=responses.failed,
        median_seconds=quantile(taken, 0.5),
        median_interval=quantile_interval(taken),
        baseline_requests=len(quiet),
        baseline_median_seconds=quantile(quiet, 0.5),
        increase_mean_percent=mean(grown),
        increase_sd_percent=deviation(grown),
        slowdowns=tuple(
            Slowdown(
                share=share,
                ratio=slowdown(taken, quiet, share),
                interval=ratio_interval(taken, share, quiet, seed=seed),
            )
            for share in SLOWDOWN_SHARES
        ),
        flags=tuple(flag for flag, held in holds.items() if held),
    )
