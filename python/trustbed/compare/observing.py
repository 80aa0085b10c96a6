"""What one repetition of a run shows: the values of its metrics, or why it does not count.

Counts of packets and calls are of the whole repetition, warm-up included, and so are the requests
that they are divided by; rates and response times are without the warm-up. Repetitions are left out
for what went wrong with the measurement (a failed workload, a late emulator, lost packets of a
capture) and where a driver stalled, not for what a testbed does to transfers: that is what is
compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from trustbed.compare import calls, delays, packets
from trustbed.compare.work import answered_per_second, completed, summary
from trustbed.report.run.reading import SECOND, Measured, Repetition
from trustbed.scenario.model import ESTIMATORS
from trustbed.workload.distribution import quantile

STALLED_CAUSE = "driver_stall"
CLOCK_CODES = ("clock_step", "two_point_clocks_uncertain")
MEDIAN = "response_median_seconds"
COARSE = "its tool states whole milliseconds, too coarse for a median below 10 ms"
_LEAST_GRAINS = 10
_UNFINISHED = {"failed": "failed", "time_limit": "did not end in time"}


@dataclass(slots=True)
class Observation:
    """One repetition.

    Attributes:
        values: By the key of the metric.
        per: What counted metrics are counted for, by key.
        absent: Why a metric or a level has no values.
        invalid: Why the repetition does not count; ``None`` if it does.
        dropped_at_start: Requests of the warm-up.
        traced: Whether system calls of a compared workload were traced.
        calls: How often each was made, by what the workload is called.
        causes: Cause and verdict of every judged transfer of a compared workload.
    """

    values: dict[str, float] = field(default_factory=dict)
    per: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    invalid: str | None = None
    dropped_at_start: int = 0
    traced: bool = False
    calls: dict[str, dict[str, float]] = field(default_factory=dict)
    causes: list[tuple[str, str]] = field(default_factory=list)


def invalid(one: Repetition) -> str | None:
    """Why a repetition cannot count, before its values are looked at."""
    if not one.complete:
        return "not complete"
    if one.record.get("outcome") not in (None, "complete"):
        return f"its outcome is {one.record.get('outcome')}"
    for workload in one.workloads:
        what = _UNFINISHED.get(str(workload.get("outcome")))
        if what is not None:
            reason = workload.get("reason")
            return f"{workload['name']} {what}" + (f": {reason}" if reason else "")
    if not one.judged:
        return "not judged: run the same trustbed run again"
    for finding in one.findings.get("findings") or ():
        if finding.get("severity") == "error" and finding.get("scope") != "transfer":
            return str(finding.get("message"))
    if any(row["cause"] == STALLED_CAUSE for row in one.transfers):
        return "a network driver stalled (driver_stall)"
    return None


def observe(one: Repetition, workloads: Mapping[str, str], *, point: str | None) -> Observation:
    """The values of a repetition that is complete.

    Args:
        one: The repetition.
        workloads: Names of the workloads that are compared, and what their metrics are called:
            the same, or empty where there is only one.
        point: The capture point whose packets are counted; ``None``: none that all have.
    """
    found = Observation(invalid=invalid(one))
    if found.invalid is not None:
        return found
    found.causes = [
        (str(row["cause"]), str(row["verdict"]))
        for row in one.transfers
        if row["workload"] in workloads
    ]
    clocks = _clock_trouble(one)
    for name, called in workloads.items():
        if one.workload(name).get("kind") in ESTIMATORS:
            found.absent["application"] = f"{name} is an estimator: compare its errors instead"
            continue
        measured = one.measured(name)
        work = completed(one, name, measured)
        if work is not None and work.count == 0:
            found.invalid = f"{name} completed no request"
            return found
        own = application(one, name, measured)
        if measured is not None and measured.responses is not None:
            found.dropped_at_start += measured.responses.warm_up
            if _exact_median(one, name) is None and is_coarse(measured.responses.seconds):
                own.pop(MEDIAN, None)
                found.absent[f"{called}.{MEDIAN}" if called else MEDIAN] = COARSE
        if not own:
            found.absent["application"] = f"{name} has no result that can be read"
        if point is None:
            found.absent["network"] = "no capture point that all testbeds have"
        else:
            own |= packets.of(one, name, point, work, found.absent)
        own |= calls.of(one, name, work, found.absent)
        if by_name := calls.by_name(one, name, work):
            found.calls[called] = by_name
        found.traced = found.traced or bool(calls.traces(one, name))
        if clocks is None:
            own |= delays.of(one, name, measured, point, found.absent)
        else:
            found.absent["delay"] = clocks
        for key, value in own.items():
            full = f"{called}.{key}" if called else key
            found.values[full] = value
            if work is not None:
                found.per[full] = work.unit
    return found


def _clock_trouble(one: Repetition) -> str | None:
    for finding in one.findings.get("findings") or ():
        if finding.get("code") in CLOCK_CODES:
            return f"a clock was not steady: {finding.get('message')}"
    return None


def application(one: Repetition, name: str, measured: Measured | None) -> dict[str, float]:
    """The values of a workload at the level of the application."""
    record, printed = one.workload(name), summary(one, name)
    found: dict[str, float | None] = {}
    if printed.get("requests_per_second") is not None:
        found["requests_per_second"] = answered_per_second(printed)
    elif measured is not None and measured.responses is not None:
        found["requests_per_second"] = _rate(one, name)
    if measured is not None:
        exact = _exact_median(one, name)
        if exact is not None:
            found[MEDIAN] = exact
        elif measured.responses is not None:
            found[MEDIAN] = quantile(measured.responses.seconds, 0.5)
        elif measured.percentiles:
            found[MEDIAN] = measured.percentiles.get(0.5)
        found["throughput_bits_per_second"] = measured.rate
        found["video_rate_bits_per_second"] = measured.video_rate
        if measured.playout is not None and measured.playout.get("stall_ns") is not None:
            found["stall_seconds"] = measured.playout["stall_ns"] / SECOND
    elif record.get("kind") == "command" and record.get("seconds") is not None:
        found["run_time_seconds"] = float(record["seconds"])
    return {key: value for key, value in found.items() if value is not None}


def _exact_median(one: Repetition, name: str) -> float | None:
    """The median that ``ab`` states to the microsecond, with opening the connection.

    Its times of single requests are whole milliseconds. ``None`` where another program was run, or
    where requests at the beginning are dropped, which that median has.
    """
    record = one.workload(name)
    table = one.table(f"{name}.percentiles") if record.get("tool") == "ab" else None
    if table is None or record.get("discard_seconds"):
        return None
    middle = [row["response_ns"] for row in table.to_pylist() if row["share"] == 0.5]
    return middle[0] / SECOND if middle and middle[0] is not None else None


def is_coarse(seconds: Sequence[float]) -> bool:
    """Whether response times in whole milliseconds, as ``ab`` has them, are too short for them.

    >>> is_coarse([0.003, 0.004]), is_coarse([0.0031, 0.004]), is_coarse([0.011, 0.012])
    (True, False, False)
    """
    median = quantile(seconds, 0.5)
    whole = all(abs(1000 * one - round(1000 * one)) < 1e-6 for one in seconds)
    return median is not None and whole and 1000 * median < _LEAST_GRAINS


def _rate(one: Repetition, name: str) -> float | None:
    """Requests per second of the built-in client, after its warm-up: from begin to last answer."""
    table = one.table(f"{name}.requests")
    if table is None or not len(table) or table["started"].null_count:
        return None
    begun = [moment / SECOND for moment in table["started"].cast(pa.int64()).to_pylist()]
    took = table["response_ns"].to_pylist()
    first = min(begun) + float(one.workload(name).get("discard_seconds") or 0.0)
    steady = [
        (start, start + nanoseconds / SECOND)
        for start, nanoseconds in zip(begun, took, strict=True)
        if nanoseconds is not None and start >= first
    ]
    if not steady:
        return None
    span = max(end for _, end in steady) - min(start for start, _ in steady)
    return len(steady) / span if span > 0 else None


def points(repetitions: Iterable[Repetition], workloads: Collection[str]) -> frozenset[str] | None:
    """The capture points that every repetition that counts has packets of.

    A repetition that does not count (a host that did not start) decides nothing; ``None`` if none
    does.
    """
    found: frozenset[str] | None = None
    for one in repetitions:
        if invalid(one) is None and not _is_idle(one, workloads):
            own = frozenset(
                str(capture["point"])
                for capture in one.findings.get("captures") or ()
                if capture.get("error") is None
            )
            found = own if found is None else found & own
    return found


def _is_idle(one: Repetition, workloads: Iterable[str]) -> bool:
    """Whether a workload completed no request."""
    works = (
        completed(one, name, one.measured(name))
        for name in workloads
        if one.workload(name).get("kind") not in ESTIMATORS
    )
    return any(work is not None and work.count == 0 for work in works)


def chosen_point(common: Iterable[str], preferred: Sequence[str]) -> str | None:
    """The capture point to count at: beside the data's sender, else the first; outside guests."""
    known = sorted(common)
    for name in preferred:
        if name in known:
            return name
    outside = [name for name in known if not name.endswith("-inside")]
    return next(iter(outside or known), None)
