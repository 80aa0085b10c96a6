"""What is known about one transfer: the input of the diagnosis.

Takes numbers as they are, from a row of the transfers table or under the names that published cases use. Computes nothing beyond units;
reads no file. Unknown stays ``None`` and is never replaced by zero.

Bias: a transfer whose window the capture does not show has an unknown window bound. Only published cases, which were made when windows
could not be larger, borrow the classic 65535 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

Workload: TypeAlias = Literal["bulk", "interactive", "unknown"]
Row: TypeAlias = Mapping[str, Any]

CLASSIC_WINDOW_BYTES = 65535.0
CLASSIC_PAYLOAD_BYTES = 1448.0
CLASSIC_PACKET_BYTES = 1500.0
DELIVERY_RATE = "delivery_rate"
GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence vector: SI base units, shares 0…1, ``None`` = unknown. :data:`SOURCES` says what each field means."""

    throughput_bytes_per_second: float | None = None
    window_bytes: float | None = None
    payload_bytes: float | None = None
    packet_bytes: float | None = None
    rtt_base_seconds: float | None = None
    rtt_seconds: float | None = None
    loss: float | None = None
    capacity_bytes_per_second: float | None = None
    capacity_source: str | None = None
    spacing_mean_seconds: float | None = None
    spacing_max_seconds: float | None = None
    oversize_fraction: float | None = None
    withheld_fraction: float | None = None
    oversize_reported: bool | None = None
    window_saturated: float | None = None
    window_closed: float | None = None
    rwnd_limited: float | None = None
    cpu_share: float | None = None
    cpu_utilisation: float | None = None
    steal: float | None = None
    stall_gaps_seconds: tuple[float, ...] = ()
    kernel_reset: bool | None = None
    workload: Workload = "unknown"
    app_limited_fraction: float | None = None
    loss_events: float | None = None
    slow_start: bool | None = None
    duration_seconds: float | None = None
    failed: bool | None = None
    too_short: bool | None = None

    @classmethod
    def from_transfer(cls, row: Row, *, workload: Workload = "unknown", capacity_bits_per_second: float | None = None) -> Self:
        """Evidence from a row of the transfers table (nanosecond integers, ``None`` = unknown).

        ``capacity_bits_per_second`` is what the person knows of the bottleneck, at IP level. A capacity measured in the transfer itself
        wins when it is the smaller one: a link that was seen full is the bottleneck, whatever the label on it says.
        """
        values: dict[str, Any] = {}
        for field, column, read in _COLUMNS:
            value = row.get(column)
            if value is not None:
                values[field] = read(value)
        values["loss"] = _loss(row, values.get("loss"))
        capacity, source = _capacity(values.get("capacity_bytes_per_second"), values.get("capacity_source"), capacity_bits_per_second)
        values["capacity_bytes_per_second"], values["capacity_source"] = capacity, source
        values.setdefault("payload_bytes", CLASSIC_PAYLOAD_BYTES)
        values.setdefault("packet_bytes", CLASSIC_PACKET_BYTES)
        return cls(**values, workload=workload)

    @classmethod
    def from_published(cls, names: Row) -> Self:
        """Evidence under the names of published cases (``throughput_Bps``, ``window_B``, ``rtt_s`` …); other names are ignored."""
        values: dict[str, Any] = {
            "window_bytes": CLASSIC_WINDOW_BYTES,
            "payload_bytes": CLASSIC_PAYLOAD_BYTES,
            "packet_bytes": CLASSIC_PACKET_BYTES,
        }
        for source in SOURCES:
            value = names.get(source.published)
            if value is not None:
                values[source.field] = tuple(value) if source.published == "stall_gaps_s" else value
        return cls(**values)


def _loss(row: Row, retransmitted: float | None) -> float | None:
    """Beyond the place of a loss its retransmission is the first copy that comes by: there the filled holes are counted."""
    at = row.get("at")
    if at == "receiver":
        return row.get("loss_receiver")
    if at == "middle":
        halves = [share for share in (row.get("loss_upstream"), row.get("loss_downstream")) if share is not None]
        return sum(halves) if halves else None
    return retransmitted


def _capacity(measured: float | None, source: str | None, given_bits: float | None) -> tuple[float | None, str | None]:
    if given_bits is None or not given_bits > 0:
        return measured, source
    given = given_bits / 8
    if source == DELIVERY_RATE and measured is not None and measured <= given:
        return measured, source
    return given, GIVEN


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
_ELSEWHERE = "`loss_receiver` at the receiver, `loss_upstream` + `loss_downstream` in the middle"
SOURCES: tuple[Source, ...] = (
    Source("throughput_bytes_per_second", "X: unique payload per second of the transfer", "throughput_Bps", "throughput_bytes_per_second"),
    Source("window_bytes", "W: largest window that the receiver advertised", "window_B", "window_max_bytes"),
    Source("payload_bytes", "p: payload of a full packet", "payload_B", "payload_bytes_per_packet", without="1448 where unknown"),
    Source("packet_bytes", "P: IP length of a full packet", "packet_B", "packet_bytes", without="1500 where unknown"),
    Source("rtt_base_seconds", "R₀: round-trip time without queues: given, else the minimum", "rtt_base_s", "rtt_base_ns", _seconds),
    Source("rtt_seconds", "R: mean round-trip time between sender and receiver", "rtt_s", "rtt_path_ns", _seconds),
    Source("loss", "lost / sent data segments, without spurious retransmissions", "loss", "loss_rate_genuine", without=_ELSEWHERE),
    Source(
        "capacity_bytes_per_second", "C: bottleneck capacity at IP level", "capacity_Bps", "capacity_bytes_per_second", without="--capacity"
    ),
    Source("capacity_source", "who says so: given, or delivery_rate (measured in the transfer)", "capacity_source", "capacity_source", str),
    Source("spacing_mean_seconds", "mean pause between receiving and sending the next data", "spacing_mean_s", "spacing_mean_ns", _seconds),
    Source("spacing_max_seconds", "longest such pause", "spacing_max_s", "spacing_max_ns", _seconds),
    Source("oversize_fraction", "f: share of the transfer spent in pauses longer than R₀", "oversize_fraction", "oversize_fraction"),
    Source("withheld_fraction", "h: share during which data was withheld under an open window", "withheld_fraction", "withheld_fraction"),
    Source("oversize_reported", "somebody saw long pauses, but left no number", "oversize_reported", None, bool, "published cases only"),
    Source("window_saturated", "share of time with the advertised window near its maximum", "window_saturated", "window_saturated"),
    Source("window_closed", "share of time with the advertised window below two segments", "window_closed", "window_closed"),
    Source("rwnd_limited", "share of time with the window full", "rwnd_limited", "rwnd_limited"),
    Source("cpu_share", "share of one core that an always-ready thread obtained", "cpu_share", None, without=_HOST),
    Source("cpu_utilisation", "share of the CPU in use; decides nothing by itself", "cpu_util", None, without=_HOST),
    Source("steal", "share of time that the hypervisor gave to others", "steal", None, without=_HOST),
    Source("stall_gaps_seconds", "lengths of the stalls of the whole sending host", "stall_gaps_s", "stall_gaps_ns", _gaps),
    Source("kernel_reset", "the kernel log shows a transmit-queue reset during the transfer", "kernel_reset", None, bool, _HOST),
    Source("workload", "bulk, interactive or unknown", "workload", None, str, "--workload, else unknown"),
    Source(
        "app_limited_fraction", "share of time idle after a short, acknowledged segment", "app_limited_fraction", "app_limited_fraction"
    ),
    Source("loss_events", "number of losses", "loss_events", "loss_events"),
    Source("slow_start", "ended without loss before slow start could reach its bound", "slow_start", "slow_start", bool),
    Source("duration_seconds", "D: first data sent until last byte acknowledged", "duration_s", "duration_ns", _seconds),
    Source("failed", "the transfer did not complete", "failed", None, bool, "null for a lone capture"),
    Source("too_short", "shorter than 10 round trips, or less than 64 kB delivered", "too_short", "too_short", bool),
)
"""Every field of :class:`Evidence`, in order."""

_COLUMNS = tuple((source.field, source.column, source.read) for source in SOURCES if source.column is not None)
