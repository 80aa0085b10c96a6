"""System calls, context switches and block I/O of a workload, per request that was answered.

From the reports of the tracers of a repetition (``[trace.NAME]`` of its scenario), which count in
the kernel whether or not every call is written down too. A trace that lost events has no counts:
they would be too small by an unknown part. What a trace wrote down is there for the order of calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from trustbed.compare.work import Work
from trustbed.report.records import Row
from trustbed.report.run.reading import Repetition

READS = (
    "read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg",
)  # fmt: skip
"""The calls that count as reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCalls:
    """The calls of one repetition that one trace wrote down.

    Attributes:
        repetition: What the repetition is called.
        is_whole: Whether none was lost.
        architecture: What they were numbered by, if that is known.
        read: Their table, at least its columns ``call`` and ``tid``; ``None``: it is missing.
    """

    repetition: str
    is_whole: bool
    architecture: str | None
    read: Callable[[], pa.Table | None]


def of(
    one: Repetition, workload: str, work: Work | None, absent: MutableMapping[str, str]
) -> dict[str, float]:
    """The values at the level of system calls; why there are none goes into ``absent``."""
    reports = [trace.get("report") or {} for trace in traces(one, workload)]
    if not reports:
        absent["system_calls"] = "system calls were not traced"
    elif any(report.get("complete") is not True for report in reports):
        absent["system_calls"] = "the trace lost events (trace_loss), so nothing can be counted"
    elif work is None or work.count <= 0:
        absent["system_calls"] = f"nothing is known that {workload} completed, to count calls by"
    else:
        return {
            key: value / work.count for key, value in _counts(reports).items() if value is not None
        }
    return {}


def by_name(one: Repetition, workload: str, work: Work | None) -> dict[str, float]:
    """How often each call was made, for what the workload completed; empty without whole counts."""
    reports = [trace.get("report") or {} for trace in traces(one, workload)]
    if work is None or work.count <= 0 or any(one.get("complete") is not True for one in reports):
        return {}
    found: Counter[str] = Counter()
    for report in reports:
        found.update(report.get("by_call") or {})
    return {name: count / work.count for name, count in found.items()}


def traces(one: Repetition, workload: str) -> Sequence[Row]:
    """The traces of a workload and of what serves it: all but those of other workloads.

    A trace of every process of a host (``of = "all"``, ``None`` in the record) stands in where no
    trace names the workload or a service; beside one it would count the same calls twice.
    """
    others = {row["name"] for row in one.workloads} - {workload}
    own = [row for row in one.record.get("traces") or () if row.get("of") not in others]
    return [row for row in own if row.get("of") is not None] or own


def written(one: Repetition) -> Mapping[str, WrittenCalls]:
    """What the traces of a repetition wrote down, by the name of the trace."""
    return {
        row["name"]: WrittenCalls(
            repetition=one.directory,
            is_whole=(report := row.get("report") or {}).get("complete") is True,
            architecture=report.get("architecture"),
            read=partial(one.table, f"{row['name']}.calls", columns=["call", "tid"]),
        )
        for row in one.record.get("traces") or ()
        if row.get("mode") == "calls"
    }


def architectures(one: Repetition) -> set[str]:
    """What the calls of a repetition's traces were numbered by."""
    reports = [row.get("report") or {} for row in one.record.get("traces") or ()]
    return {str(report["architecture"]) for report in reports if report.get("architecture")}


def _counts(reports: Sequence[Row]) -> dict[str, int | None]:
    """Sums over the traces; ``None`` where a tracer could not count."""
    return {
        "system_calls": _sum([report.get("calls") for report in reports]),
        "reads": sum(
            (report.get("by_call") or {}).get(name, 0) for report in reports for name in READS
        ),
        "context_switches": _sum([report.get("context_switches") for report in reports]),
        "block_io": _sum([report.get("block_requests") for report in reports]),
    }


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
