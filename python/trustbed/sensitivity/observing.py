"""What one repetition of a study shows: the application's number, and what its background sent."""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.report.records import Row
from trustbed.report.run.reading import Measured, Repetition
from trustbed.workload.distribution import mean, quantile

_UNFINISHED = ("failed", "time_limit")
_BEGINNING = 1
_UNHEARD = 1e-4
"""Seconds of jitter that no playout buffer notices; also, a steady stream has a logarithm then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The number by which an application is compared: larger is worse.

    Attributes:
        cost: Seconds, or the inverse of a rate.
        median: In the unit that is shown.
        p95: The same, of single response times.
        measure: What it is, in words.
        unit: ``s`` or ``bit/s``, of ``median``.
        word: What a larger cost makes the application.
    """

    cost: float
    median: float
    p95: float | None
    measure: str
    unit: str
    word: str = "as slow"


def is_broken(repetition: Repetition, workload: str) -> bool:
    """Whether the application gave no result, or did not come to its end.

    Not where something else of the experiment failed: that says nothing about the application.
    """
    if repetition.record.get("failures"):
        return False
    record = repetition.workload(workload)
    return record.get("outcome") in _UNFINISHED or value_of(repetition, workload) is None


def value_of(repetition: Repetition, workload: str) -> Value | None:
    """The number of an application in a repetition; ``None`` if it gave none."""
    record = repetition.workload(workload)
    if record.get("kind") == "command":
        seconds = record.get("seconds") if record.get("outcome") == "complete" else None
        return _seconds(seconds, seconds, None, "run time")
    measured = repetition.measured(workload)
    return None if measured is None else _of(measured)


def _of(measured: Measured) -> Value | None:
    if measured.responses is not None and measured.responses.seconds:
        seconds = measured.responses.seconds
        high = quantile(seconds, 0.95)
        return _seconds(mean(seconds), quantile(seconds, 0.5), high, "mean response time")
    if measured.percentiles:
        shares = sorted(measured.percentiles.items())
        below, area = 0.0, 0.0
        for share, there in shares:
            area += (share - below) * there
            below = share
        middle = min(shares, key=lambda one: abs(one[0] - 0.5))[1]
        high = min(shares, key=lambda one: abs(one[0] - 0.95))[1]
        centre = area / below if below else None
        return _seconds(centre, middle, high, "mean of the response times' percentiles")
    for name, rate in (("throughput", measured.rate), ("video rate", measured.video_rate)):
        if rate:
            return Value(cost=1 / rate, median=rate, p95=None, measure=name, unit="bit/s")
    if measured.jitter is not None:
        return Value(
            cost=measured.jitter + _UNHEARD,
            median=measured.jitter,
            p95=None,
            measure="spread of the delay (p95 − p50)",
            unit="s",
            word="as jittery",
        )
    return _seconds(measured.mean, measured.mean, None, "mean response time")


def _seconds(
    cost: float | None, median: float | None, p95: float | None, measure: str
) -> Value | None:
    if not cost or median is None:
        return None
    return Value(cost=cost, median=median, p95=p95, measure=measure, unit="s")


def sent_by(repetition: Repetition, background: str) -> float | None:
    """The payload that a background of users sent in the mean of its larger direction, in bit/s.

    Without the first second, in which its users begin. ``None`` of one that sends packets: it sends
    the same beside an application as alone.
    """
    rows = repetition.record.get("backgrounds") or ()
    send: Row = next(
        (one.get("send") or {} for one in rows if one.get("background") == background), {}
    )
    seconds = (send.get("duration_ns") or 0) // 1_000_000_000
    if seconds < _BEGINNING + 1 or "open_connections" not in send:
        return None
    sides = (send.get(f"{side}_sent_bytes_per_second") or () for side in ("client", "server"))
    steady = (sum(one[_BEGINNING:seconds]) for one in sides)
    return 8 * max(steady) / (seconds - _BEGINNING)
