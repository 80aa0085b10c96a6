"""Where every number of the evidence comes from: its meaning, its name in published cases, its column, and its unit on the way.

Holds no evidence and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _number(value: float) -> float | None:
    """A finite number, or unknown: a table may carry NaN where a division had nothing to divide."""
    number = float(value)
    return number if math.isfinite(number) else None


def _seconds(value: float) -> float | None:
    number = _number(value)
    return None if number is None else number / 1e9


def _gaps(values: list[int | None]) -> tuple[float, ...]:
    return tuple(value / 1e9 for value in values if value is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One field of the evidence: its meaning, its name in published cases, and the column of the transfers table that gives it."""

    field: str
    meaning: str
    published: str
    column: str | None
    read: Callable[[Any], Any] = _number
    without: str = ""


_HOST = "null until something measures the host"
_ELSEWHERE = (
    "`loss_receiver` at the receiver, `loss_upstream` + the genuine ones behind it in the middle"
)
SOURCES: tuple[Source, ...] = (
    Source(
        "throughput_bytes_per_second",
        "X: unique payload per second of the transfer",
        "throughput_Bps",
        "throughput_bytes_per_second",
    ),
    Source(
        "window_bytes",
        "W: largest window that the receiver advertised",
        "window_B",
        "window_max_bytes",
    ),
    Source(
        "payload_bytes",
        "p: payload of a full packet",
        "payload_B",
        "payload_bytes_per_packet",
        without="1448 where unknown",
    ),
    Source(
        "packet_bytes",
        "P: IP length of a full packet",
        "packet_B",
        "packet_bytes",
        without="1500 where unknown",
    ),
    Source(
        "rtt_base_seconds",
        "R₀: round-trip time without queues: given, else the minimum",
        "rtt_base_s",
        "rtt_base_ns",
        _seconds,
    ),
    Source(
        "rtt_seconds",
        "R: mean round-trip time between sender and receiver",
        "rtt_s",
        "rtt_path_ns",
        _seconds,
    ),
    Source(
        "loss",
        "lost / sent data segments, without spurious retransmissions",
        "loss",
        "loss_rate_genuine",
        without=_ELSEWHERE,
    ),
    Source(
        "capacity_bytes_per_second",
        "C: bottleneck capacity at IP level",
        "capacity_Bps",
        "capacity_bytes_per_second",
        without="--capacity",
    ),
    Source(
        "capacity_source",
        "who says so: given, or delivery_rate (measured in the transfer)",
        "capacity_source",
        "capacity_source",
        str,
    ),
    Source(
        "spacing_mean_seconds",
        "mean pause between receiving and sending the next data",
        "spacing_mean_s",
        "spacing_mean_ns",
        _seconds,
    ),
    Source(
        "spacing_max_seconds", "longest such pause", "spacing_max_s", "spacing_max_ns", _seconds
    ),
    Source(
        "oversize_fraction",
        "f: share of the transfer spent in pauses longer than R₀",
        "oversize_fraction",
        "oversize_fraction",
    ),
    Source(
        "withheld_fraction",
        "h: share during which data was withheld under an open window",
        "withheld_fraction",
        "withheld_fraction",
    ),
    Source(
        "oversize_reported",
        "somebody saw long pauses, but left no number",
        "oversize_reported",
        None,
        bool,
        "published cases only",
    ),
    Source(
        "window_saturated",
        "share of time with the advertised window near its maximum",
        "window_saturated",
        "window_saturated",
    ),
    Source(
        "window_closed",
        "share of time with the advertised window below two segments",
        "window_closed",
        "window_closed",
    ),
    Source("rwnd_limited", "share of time with the window full", "rwnd_limited", "rwnd_limited"),
    Source(
        "cpu_share",
        "share of one core that an always-ready thread obtained",
        "cpu_share",
        None,
        without=_HOST,
    ),
    Source(
        "cpu_utilisation",
        "share of the CPU in use; decides nothing by itself",
        "cpu_util",
        None,
        without=_HOST,
    ),
    Source(
        "steal", "share of time that the hypervisor gave to others", "steal", None, without=_HOST
    ),
    Source(
        "stall_gaps_seconds",
        "lengths of the stalls of the whole sending host",
        "stall_gaps_s",
        "stall_gaps_ns",
        _gaps,
    ),
    Source(
        "kernel_reset",
        "the kernel log shows a transmit-queue reset during the transfer",
        "kernel_reset",
        None,
        bool,
        _HOST,
    ),
    Source(
        "workload",
        "bulk, interactive or unknown",
        "workload",
        None,
        str,
        "--workload, else unknown",
    ),
    Source(
        "app_limited_fraction",
        "share of time idle after a short, acknowledged segment",
        "app_limited_fraction",
        "app_limited_fraction",
    ),
    Source("loss_events", "number of losses", "loss_events", "loss_events"),
    Source(
        "slow_start",
        "ended without loss before slow start could reach its bound",
        "slow_start",
        "slow_start",
        bool,
    ),
    Source(
        "duration_seconds",
        "D: first data sent until last byte acknowledged",
        "duration_s",
        "duration_ns",
        _seconds,
    ),
    Source(
        "failed", "the transfer did not complete", "failed", None, bool, "null for a lone capture"
    ),
    Source(
        "too_short",
        "shorter than 10 round trips, or less than 64 kB delivered",
        "too_short",
        "too_short",
        bool,
    ),
    Source(
        "data_segments", "data segments as they are on the wire", "data_segments", "segments_wire"
    ),
    Source(
        "rate_low_bytes_per_second",
        "P10(d): delivery rate that nine in ten moments exceed",
        "rate_p10_Bps",
        "rate_p10_bytes_per_second",
    ),
    Source(
        "rate_middle_bytes_per_second",
        "P50(d): median delivery rate",
        "rate_p50_Bps",
        "rate_p50_bytes_per_second",
    ),
    Source(
        "rate_high_bytes_per_second",
        "P90(d): delivery rate that one in ten moments exceeds",
        "rate_p90_Bps",
        "rate_p90_bytes_per_second",
    ),
    Source(
        "rtt_high_seconds",
        "99th percentile of the round-trip time",
        "rtt_high_s",
        "rtt_high_ns",
        _seconds,
    ),
    Source(
        "rtt_before_loss_seconds",
        "median round-trip time just before losses",
        "rtt_before_loss_s",
        "rtt_before_loss_ns",
        _seconds,
    ),
    Source(
        "loss_level_rank",
        "share of the packets that a token bucket of the transfer's mean rate held fewer tokens for than for the lost ones",
        "loss_level_rank",
        "loss_level_rank",
    ),
    Source(
        "floor_before_seconds",
        "RTT floor before its largest step",
        "floor_before_s",
        "rtt_floor_before_ns",
        _seconds,
    ),
    Source(
        "floor_after_seconds",
        "RTT floor after its largest step",
        "floor_after_s",
        "rtt_floor_after_ns",
        _seconds,
    ),
    Source(
        "floor_left",
        "share of the RTT floor's variation that one step leaves unexplained",
        "floor_left",
        "rtt_floor_left",
    ),
    Source(
        "floor_flight_ratio",
        "rate · RTT floor before the step over the same after it",
        "floor_flight_ratio",
        "rtt_floor_flight_ratio",
    ),
    Source(
        "burst_rate_bytes_per_second",
        "mean delivery rate until the bend of the delivered bytes over time",
        "burst_rate_Bps",
        "burst_rate_bytes_per_second",
    ),
    Source(
        "burst_left_rate_bytes_per_second",
        "mean delivery rate from that bend on",
        "burst_left_rate_Bps",
        "burst_left_rate_bytes_per_second",
    ),
    Source(
        "burst_left_floor_seconds",
        "median RTT floor from that bend on",
        "burst_left_floor_s",
        "burst_left_floor_ns",
        _seconds,
    ),
    Source(
        "window_shrunk",
        "share of time with the window below nine tenths of what it had been",
        "window_shrunk",
        "window_shrunk",
    ),
    Source(
        "window_least_bytes",
        "smallest window that the receiver advertised after the handshake",
        "window_least_B",
        "window_min_bytes",
    ),
    Source(
        "withheld_at_rate_fraction",
        "h′: as h, with P90(d) in place of X where it is larger",
        "withheld_at_rate_fraction",
        "withheld_at_rate_fraction",
    ),
    Source(
        "empty_fraction",
        "share of time with nothing outstanding and an open window",
        "empty_fraction",
        "empty_fraction",
    ),
    Source(
        "outage_seconds",
        "silences of two seconds and more with data outstanding",
        "outage_s",
        "outage_ns",
        _seconds,
    ),
    Source(
        "unanswered_seconds",
        "time in which repeated timeouts were not answered, in pieces of half a second and more",
        "unanswered_s",
        "unanswered_ns",
        _seconds,
    ),
    Source(
        "interrupted_seconds",
        "silences that ended with a timeout of the sender, seen from afar",
        "interrupted_s",
        "interrupted_ns",
        _seconds,
    ),
    Source(
        "spurious_retransmissions",
        "retransmissions that were not needed",
        "spurious",
        "retransmitted_spurious",
    ),
    Source(
        "fast_retransmissions",
        "retransmissions that acknowledgements asked for",
        "fast_retransmissions",
        "retransmitted_fast",
    ),
    Source(
        "late_segments",
        "segments that came late without having been lost",
        "late_segments",
        None,
        without="`filled_reordered` + `filled_overtaken` + `reordered_answers`",
    ),
    Source(
        "delayed_answers",
        "share of the RTT samples that look delayed by a timer",
        "delayed_answers",
        None,
        without="`delack_suspects`",
    ),
    Source(
        "outstanding_mean_bytes",
        "mean of the outstanding data",
        "outstanding_mean_B",
        "outstanding_mean_bytes",
    ),
    Source(
        "outstanding_max_bytes",
        "most outstanding data",
        "outstanding_max_B",
        "outstanding_max_bytes",
    ),
    Source(
        "pipe_full",
        "share of time with nine tenths of P90(d)·R₀ or more outstanding",
        "pipe_full",
        "pipe_full",
    ),
    Source(
        "send_buffer_limited",
        "share of its busy time that the send buffer limited a socket",
        "sndbuf_limited",
        None,
        without=_HOST,
    ),
    Source(
        "send_buffer_bytes",
        "size of the socket's send buffer, says its kernel",
        "sndbuf_B",
        None,
        without=_HOST,
    ),
    Source(
        "send_buffer_declared", "somebody fixed that size", "sndbuf_declared", None, bool, _HOST
    ),
    Source(
        "processor_missed",
        "share of the time that the sender's processes were ready, throttled or stopped and did not run",
        "processor_missed",
        None,
        without=_HOST,
    ),
    Source(
        "pauses_estimated",
        "pauses were inferred, because the capture was not taken beside the sender",
        "pauses_estimated",
        None,
        without="`spacing_source`",
    ),
    Source(
        "answer_seconds",
        "median time from an acknowledgement to the first data that echo its timestamp: beside the sender, how long it takes to react",
        "answer_s",
        "echo_p50_ns",
        _seconds,
    ),
    Source("answer_least_seconds", "smallest such time", "answer_least_s", "echo_min_ns", _seconds),
    Source(
        "way_rise_seconds",
        "median one-way delay from the sender above its smallest, by the sender's own clock in the timestamp option",
        "way_rise_s",
        "way_rise_ns",
        _seconds,
    ),
    Source(
        "unfilled_per_train",
        "packets' worth that is missing to full packets, per train of packets",
        "unfilled_per_train",
        None,
        without="`data_packets` - `payload_bytes` / `payload_bytes_per_packet`, over `trains`",
    ),
)
"""Every field of :class:`Evidence`, in order."""
