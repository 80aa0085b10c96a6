"""The metrics of a comparison: level, unit, meaning, and what usually moves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trustbed.compare.model import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of one repetition.

    Attributes:
        key: Its name in JSON and in ``--tolerance``.
        level: Where it belongs.
        title: For people; ``{per}`` is what it is counted for, ``/request`` or ``/MB``.
        unit: Base unit.
        counted: Whether it is divided by what the application completed.
        causes: What a difference usually means. A hint, not a finding.
    """

    key: str
    level: Level
    title: str
    unit: str
    counted: bool = False
    causes: str = ""


_WORK = (
    "one side's slower virtual device (each packet leaves the guest by an exit to the hypervisor), "
    "a scheduler that takes its CPU away, its CPU quota, or the cost of tracing it"
)
_WAITS = (
    "timers that fire late (timer slack, coarse ticks), interrupts that are collected before they "
    "are delivered (coalescing), or a virtual CPU that has to be woken"
)
_WAKE = (
    "how many bytes a wake-up finds: interrupts that are collected (coalescing, NAPI) and receive "
    "offload (GRO, LRO) bring more data per read, one interrupt per packet brings less; where "
    "calls on files differ as well (newfstatat, openat, close), a file that only one side has"
)
_OFFLOAD = (
    "segmentation offload: a card (or a virtual one) that takes large segments makes a capture "
    "show fewer, larger packets. If the packets on the wire agree, it is only the capture point"
)
_ACKS = (
    "acknowledgements: receive offload (GRO) and coalesced interrupts make a receiver acknowledge "
    "several segments at once; delayed acknowledgements depend on the kernel"
)
_LOSS = (
    "packets that were lost: a short queue (a virtual card's ring, a bridge, the emulator), or a "
    "sender that bursts more (segmentation offload without pacing)"
)
_JITTER = (
    "waiting that varies: interrupt coalescing, the scheduler of host or hypervisor, virtio "
    "notifications that are suppressed while the other side polls, or the queue of the link"
)

_ALL = (
    Metric(
        key="requests_per_second",
        level="application",
        title="requests completed",
        unit="1/s",
        causes=_WORK,
    ),
    Metric(
        key="response_median_seconds",
        level="application",
        title="response time, median",
        unit="s",
        causes=_WAITS,
    ),
    Metric(
        key="throughput_bits_per_second",
        level="application",
        title="throughput",
        unit="bit/s",
        causes=_WORK,
    ),
    Metric(
        key="transactions_per_second",
        level="application",
        title="transactions",
        unit="1/s",
        causes=_WORK,
    ),
    Metric(
        key="run_time_seconds",
        level="application",
        title="run time",
        unit="s",
        causes=_WORK,
    ),
    Metric(
        key="video_rate_bits_per_second",
        level="application",
        title="rate of the video",
        unit="bit/s",
        causes=_WORK,
    ),
    Metric(
        key="stall_seconds",
        level="application",
        title="time stalled",
        unit="s",
        causes=_WAITS,
    ),
    Metric(
        key="system_calls",
        level="system_calls",
        title="system calls{per}",
        unit="1",
        counted=True,
        causes=_WAKE,
    ),
    Metric(
        key="reads",
        level="system_calls",
        title="reads{per}",
        unit="1",
        counted=True,
        causes=_WAKE,
    ),
    Metric(
        key="context_switches",
        level="system_calls",
        title="context switches{per}",
        unit="1",
        counted=True,
        causes="how often a process has to wait: for data (see reads), or for a CPU that others "
        "use; interrupt coalescing lowers it, a busy neighbour raises the involuntary ones",
    ),
    Metric(
        key="block_io",
        level="system_calls",
        title="block I/O{per}",
        unit="1",
        counted=True,
        causes="files that are not in the page cache: less memory, or a first round that is cold",
    ),
    Metric(
        key="sent_bytes",
        level="network",
        title="payload{per}, sent",
        unit="B",
        counted=True,
        causes="other headers or another object, or retransmissions: see there",
    ),
    Metric(
        key="packets_to_server_captured",
        level="network",
        title="packets{per} to server, captured",
        unit="1",
        counted=True,
        causes=_ACKS,
    ),
    Metric(
        key="packets_from_server_captured",
        level="network",
        title="packets{per} from server, captured",
        unit="1",
        counted=True,
        causes=_OFFLOAD,
    ),
    Metric(
        key="packets_captured",
        level="network",
        title="packets{per}, captured",
        unit="1",
        counted=True,
        causes=_OFFLOAD,
    ),
    Metric(
        key="packets_to_server_wire",
        level="network",
        title="packets{per} to server, wire",
        unit="1",
        counted=True,
        causes=_ACKS,
    ),
    Metric(
        key="packets_from_server_wire",
        level="network",
        title="packets{per} from server, wire",
        unit="1",
        counted=True,
        causes="another MSS, smaller writes that leave at once (no Nagle, no cork), or "
        "retransmissions",
    ),
    Metric(
        key="packets_wire",
        level="network",
        title="packets{per}, wire",
        unit="1",
        counted=True,
        causes=_ACKS,
    ),
    Metric(
        key="retransmissions",
        level="network",
        title="retransmissions{per}",
        unit="1",
        counted=True,
        causes=_LOSS,
    ),
    Metric(
        key="loss_share",
        level="network",
        title="share of packets lost",
        unit="1",
        causes=_LOSS,
    ),
    Metric(
        key="retransmitted_share",
        level="network",
        title="share of bytes sent again",
        unit="1",
        causes=_LOSS,
    ),
    Metric(
        key="jitter_seconds",
        level="delay",
        title="one-way jitter (p95 − p50)",
        unit="s",
        causes=_JITTER,
    ),
    Metric(
        key="probe_jitter_to_server_seconds",
        level="delay",
        title="one-way jitter of probes to the server (p95 − p50)",
        unit="s",
        causes=_JITTER,
    ),
    Metric(
        key="probe_jitter_from_server_seconds",
        level="delay",
        title="one-way jitter of probes from the server (p95 − p50)",
        unit="s",
        causes=_JITTER,
    ),
    Metric(
        key="rtt_spread_seconds",
        level="delay",
        title="spread of the RTT (p90 − p50)",
        unit="s",
        causes=_JITTER + "; of both directions and the receiver's own delays",
    ),
)

METRICS: Mapping[str, Metric] = {one.key: one for one in _ALL}
"""Every metric by its key, in the order of a report."""

LEVEL_TITLES: Mapping[Level, str] = {
    "application": "Application",
    "system_calls": "System calls",
    "network": "Network",
    "delay": "Delay",
}


def base(key: str) -> str:
    """The key without the workload's name before it."""
    return key.rpartition(".")[2]
