"""What is known about one transfer: the input of the diagnosis.

Takes numbers as they are, from a row of the transfers table or under the names that published cases use. Computes nothing beyond units;
reads no file. Unknown stays ``None`` and is never replaced by zero.

Bias: a transfer whose window the capture does not show has an unknown window bound. Only published cases, which were made when windows
could not be larger, borrow the classic 65535 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from trustbed.diagnose.sources import SOURCES

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
    data_segments: float | None = None
    rate_low_bytes_per_second: float | None = None
    rate_middle_bytes_per_second: float | None = None
    rate_high_bytes_per_second: float | None = None
    rtt_high_seconds: float | None = None
    rtt_before_loss_seconds: float | None = None
    loss_level_rank: float | None = None
    floor_before_seconds: float | None = None
    floor_after_seconds: float | None = None
    floor_left: float | None = None
    floor_flight_ratio: float | None = None
    burst_rate_bytes_per_second: float | None = None
    burst_left_rate_bytes_per_second: float | None = None
    burst_left_floor_seconds: float | None = None
    window_shrunk: float | None = None
    window_least_bytes: float | None = None
    withheld_at_rate_fraction: float | None = None
    empty_fraction: float | None = None
    outage_seconds: float | None = None
    unanswered_seconds: float | None = None
    interrupted_seconds: float | None = None
    spurious_retransmissions: float | None = None
    fast_retransmissions: float | None = None
    late_segments: float | None = None
    delayed_answers: float | None = None
    outstanding_mean_bytes: float | None = None
    outstanding_max_bytes: float | None = None
    pipe_full: float | None = None
    send_buffer_limited: float | None = None
    send_buffer_bytes: float | None = None
    send_buffer_declared: bool | None = None
    processor_missed: float | None = None
    pauses_estimated: bool | None = None
    answer_seconds: float | None = None
    answer_least_seconds: float | None = None
    way_rise_seconds: float | None = None
    unfilled_per_train: float | None = None

    @classmethod
    def from_transfer(
        cls,
        row: Row,
        *,
        workload: Workload = "unknown",
        capacity_bits_per_second: float | None = None,
    ) -> Self:
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
        values["loss_events"] = _loss_events(row, values.get("loss_events"))
        values["pauses_estimated"] = (
            row.get("spacing_source") == "estimated" if row.get("spacing_source") else None
        )
        values["delayed_answers"] = _share(row.get("delack_suspects"), row.get("rtt_samples"))
        values["late_segments"] = _late(row)
        values["unfilled_per_train"] = _unfilled(row)
        capacity, source = _capacity(
            values.get("capacity_bytes_per_second"),
            values.get("capacity_source"),
            capacity_bits_per_second,
        )
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
        # What was repeated in vain was not lost behind the capture, though it counts as repeated there.
        halves = [
            share
            for share in (row.get("loss_upstream"), row.get("loss_rate_genuine"))
            if share is not None
        ]
        return sum(halves) if halves else None
    return retransmitted


def _loss_events(row: Row, recoveries: float | None) -> float | None:
    """Beyond the place of a loss no recovery is seen: there the packets count that came late because they had been lost."""
    fills = (row.get("filled_lost_upstream") or 0) - (row.get("filled_overtaken") or 0)
    return (
        float(fills)
        if row.get("at") in ("receiver", "middle") and fills > (recoveries or 0)
        else recoveries
    )


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _unfilled(row: Row) -> float | None:
    """How many packets' worth is missing to full packets, per train: a program's last write leaves one, a full queue of data none."""
    packets, payload, full, trains = (
        row.get(name)
        for name in ("data_packets", "payload_bytes", "payload_bytes_per_packet", "trains")
    )
    if packets is None or payload is None or not full or not trains:
        return None
    return float(max(0.0, packets - payload / full) / trains)


def _late(row: Row) -> float | None:
    """Away from the sender duplicate acknowledgements also end when a packet comes that had been lost before the capture."""
    answers, lost, overtaken = (
        row.get(name) for name in ("reordered_answers", "filled_lost_upstream", "filled_overtaken")
    )
    if answers is not None and row.get("at") in ("receiver", "middle"):
        answers = max(0, answers - (lost or 0))
    return _sum(row.get("filled_reordered"), overtaken, answers)


def _sum(*parts: float | None) -> float | None:
    """Of what is known; unknown when nothing is."""
    known = [part for part in parts if part is not None]
    return float(sum(known)) if known else None


def _capacity(
    measured: float | None, source: str | None, given_bits: float | None
) -> tuple[float | None, str | None]:
    if given_bits is None or not given_bits > 0:
        return measured, source
    given = given_bits / 8
    if source == DELIVERY_RATE and measured is not None and measured <= given:
        return measured, source
    return given, GIVEN


_COLUMNS = tuple(
    (source.field, source.column, source.read) for source in SOURCES if source.column is not None
)
