"""Evidence from samples of the sending host: how long it was ready without a processor.

The measure is a share of the whole time, not of the time in which the process was ready: a
program that sleeps for most of the time and now and then waits for a millisecond is not starved.
It adds up time ready and waiting (Linux counts it per process as run delay), time throttled by a
quota, and time stopped.

Reads no file: the caller passes the rows of the samples, in nanoseconds as the tables have them.

Bias: several processes are alternatives, not a sum: the one that missed most counts. A process that
is stopped and continued in step with the samples is found stopped always or never. What a virtual
machine's own processes miss inside is invisible here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.kernel import KernelTimes, with_kernel_times
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.diagnose.two_point import SENT_AT_OTHER_END, TwoPointEvidence, with_two_point
from trustbed.run.throttling import throttled_share

STOPPED = frozenset("Tt")
"""States of a stopped process, as proc_pid_stat(5) has them."""

Rows = Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEvidence:
    """Evidence about a transfer besides its capture at the sender.

    From the sending host, and from a capture at the other end.

    ``None`` = not recorded.
    """

    processor_missed: float | None = None
    processor_share: float | None = None
    kernel: KernelTimes | None = None
    kernel_reset: bool | None = None
    ends: TwoPointEvidence | None = None


def processor_of(processes: Rows, cgroups: Rows = ()) -> HostEvidence:
    """From the samples of the sender's processes and of the cgroup that they run in.

    ``processor_missed`` is a share of the time. ``processor_share`` is what an always-ready thread
    would have obtained: the share of the time in which they were ready, where that is long enough;
    else what was not missed.
    """
    by_process: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in processes:
        by_process[row.get("process")].append(row)
    throttled = throttled_share(cgroups)
    found = [one for rows in by_process.values() if (one := _of_process(rows)) is not None]
    missed, share = max(found, default=(0.0, 1.0))
    missed = min(1.0, max(missed, throttled or 0.0))
    clear = missed < THRESHOLDS.processor_missed
    if not found and clear:
        return (
            HostEvidence()
        )  # a quota that never throttled does not clear the host: other processes may compete
    return HostEvidence(
        processor_missed=missed,
        processor_share=1.0 - missed if clear else min(share, 1.0 - (throttled or 0.0)),
    )


def _of_process(rows: list[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Share of the time missed, and share of the ready time obtained."""
    whole = sum(row.get("interval_ns") or 0 for row in rows)
    if whole <= 0:
        return None
    ran = sum(row.get("ran_ns") or 0 for row in rows) / whole
    waited = sum(row.get("waited_ns") or 0 for row in rows) / whole
    stopped = (
        sum((row.get("interval_ns") or 0) for row in rows if row.get("state") in STOPPED) / whole
    )
    # A stopped process waits for nothing: the two add up.
    missed = min(1.0, waited + stopped)
    share = ran / (ran + waited) * (1.0 - stopped) if ran + waited > 0 else 1.0 - stopped
    return missed, share


def with_host(
    evidence: Evidence, host: HostEvidence, *, thresholds: Thresholds = THRESHOLDS
) -> tuple[Evidence, tuple[str, ...]]:
    """The evidence completed by what is known of the host, and the flags that come with it."""
    flags: tuple[str, ...] = ()
    if host.kernel is not None:
        evidence, flags = with_kernel_times(evidence, host.kernel, thresholds=thresholds)
    if host.processor_share is not None:
        evidence = replace(evidence, cpu_share=host.processor_share)
    if host.processor_missed is not None:
        evidence = replace(evidence, processor_missed=host.processor_missed)
    if host.kernel_reset is not None:
        evidence = replace(evidence, kernel_reset=host.kernel_reset)
    if host.ends is not None:
        evidence = with_two_point(evidence, host.ends)
        flags = flags if host.ends.sent_here else (*flags, SENT_AT_OTHER_END)
    return evidence, flags


def kernel_times(
    tcp: Mapping[str, Any], *, send_buffer_bytes: float | None = None, declared: bool = False
) -> KernelTimes | None:
    """From a workload's report of ``tcp_info`` at the close (nanoseconds).

    ``None`` where the kernel did not report it.

    ``declared``: the workload fixed the size of its send buffer.
    """
    busy = tcp.get("busy_ns")
    if busy is None:
        return None
    return KernelTimes(
        busy_seconds=busy / 1e9,
        rwnd_limited_seconds=_seconds(tcp.get("receive_window_limited_ns")),
        sndbuf_limited_seconds=_seconds(tcp.get("send_buffer_limited_ns")),
        send_buffer_bytes=send_buffer_bytes,
        send_buffer_declared=declared,
    )


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
