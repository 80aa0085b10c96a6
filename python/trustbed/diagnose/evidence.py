"""The evidence about one transfer: the input of the diagnosis.

A number of the evidence is declared once, as a field of :class:`Evidence`: its name, unit, meaning,
the column of the transfers table that gives it, and its name in published cases. :data:`SOURCES` is
made from the fields. Computes nothing beyond units; reads no file. Unknown stays ``None`` and is
never replaced by zero.

Bias: a transfer whose window the capture does not show has an unknown window bound. Only published
cases, which were made when windows could not be larger, borrow the classic 65535 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeAlias

from trustbed.diagnose.computed import COMPUTED

Workload: TypeAlias = Literal["bulk", "interactive", "unknown"]
Row: TypeAlias = Mapping[str, Any]

CLASSIC_WINDOW_BYTES = 65535.0
CLASSIC_PACKETS = {"payload_bytes": 1448.0, "packet_bytes": 1500.0}
DELIVERY_RATE = "delivery_rate"
GIVEN = "given"

_UNITS = (("_bytes_per_second", "bytes/second"), ("_bytes", "bytes"), ("_seconds", "seconds"))
_HOST = "null until something measures the host"


@dataclass(frozen=True, slots=True)
class _Declared:
    """The declaration of a field; ``None`` for what follows from its name."""

    meaning: str
    unit: str | None
    column: str | None
    published: str | None
    note: str


def _known(
    meaning: str,
    *,
    unit: str | None = None,
    column: str | None = None,
    published: str | None = None,
    note: str = "",
    default: object = None,
) -> Any:  # noqa: ANN401 - as dataclasses.field
    """Declares one number of the evidence.

    Args:
        meaning: What it is.
        unit: Unless the name ends in one: ``ratio`` is the default, ``""`` for flags and text.
        column: Column of the transfers table, ``""`` for none; unless given it has the name of the
            field, in nanoseconds where the field is in seconds.
        published: Name in published cases, unless it is the field's with a short unit.
        note: How else the number is found.
        default: What it is while unknown.
    """
    declared = _Declared(meaning, unit, column, published, note)
    return field(default=default, metadata={"declared": declared})


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence vector: SI base units, shares 0…1, ``None`` = unknown.

    :data:`SOURCES` has the meaning of each field.
    """

    throughput_bytes_per_second: float | None = _known(
        "X: unique payload per second of the transfer"
    )
    window_bytes: float | None = _known(
        "W: largest window that the receiver advertised", column="window_max_bytes"
    )
    payload_bytes: float | None = _known(
        "p: payload of a full packet", column="payload_bytes_per_packet", note="1448 where unknown"
    )
    packet_bytes: float | None = _known("P: IP length of a full packet", note="1500 where unknown")
    rtt_base_seconds: float | None = _known(
        "R₀: round-trip time without queues: given, else the minimum"
    )
    rtt_seconds: float | None = _known(
        "R: mean round-trip time between sender and receiver", column="rtt_path_ns"
    )
    loss: float | None = _known(
        "lost / sent data segments, without spurious retransmissions",
        column="loss_rate_genuine",
        note=(
            "`loss_receiver` at the receiver, `loss_upstream` + the genuine ones behind it in "
            "the middle or at an unknown place"
        ),
    )
    capacity_bytes_per_second: float | None = _known(
        "C: bottleneck capacity at IP level", note="--capacity"
    )
    capacity_source: str | None = _known(
        "where C comes from: given, or delivery_rate (measured in the transfer)", unit=""
    )
    spacing_mean_seconds: float | None = _known(
        "mean pause between receiving and sending the next data"
    )
    spacing_max_seconds: float | None = _known("longest such pause")
    long_pause_fraction: float | None = _known(
        "f: share of the transfer spent in pauses longer than R₀", published="oversize_fraction"
    )
    idle_open_window_fraction: float | None = _known(
        "h: share spent idle with an open window: data could have been sent",
        published="withheld_fraction",
    )
    long_pauses_reported: bool | None = _known(
        "long pauses were reported without a number",
        unit="",
        column="",
        published="oversize_reported",
        note="published cases only",
    )
    window_saturated: float | None = _known(
        "share of time with the advertised window near its maximum"
    )
    window_closed: float | None = _known(
        "share of time with the advertised window below two segments"
    )
    rwnd_limited: float | None = _known("share of time with the window full")
    cpu_share: float | None = _known(
        "share of one core that an always-ready thread obtained", column="", note=_HOST
    )
    cpu_utilisation: float | None = _known(
        "share of the CPU in use; decides nothing by itself",
        column="",
        published="cpu_util",
        note=_HOST,
    )
    steal: float | None = _known(
        "share of the time that the hypervisor gave to others", column="", note=_HOST
    )
    stall_gaps_seconds: tuple[float, ...] = _known(
        "lengths of the stalls of the whole sending host", default=()
    )
    kernel_reset: bool | None = _known(
        "the kernel log shows a transmit-queue reset during the transfer",
        unit="",
        column="",
        note=_HOST,
    )
    workload: Workload = _known(  # noqa: RUF009 - Any stands for a field
        "bulk, interactive or unknown",
        unit="",
        column="",
        note="--workload, else unknown",
        default="unknown",
    )
    app_limited_fraction: float | None = _known(
        "share of time idle after a short, acknowledged segment"
    )
    loss_events: float | None = _known("number of losses", unit="count")
    slow_start: bool | None = _known(
        "ended without loss before slow start could reach its bound", unit=""
    )
    duration_seconds: float | None = _known("D: first data sent until last byte acknowledged")
    failed: bool | None = _known(
        "the transfer did not complete", unit="", column="", note="null for a lone capture"
    )
    too_short: bool | None = _known(
        "shorter than 10 round trips, or less than 64 kB delivered", unit=""
    )
    data_segments: float | None = _known(
        "data segments as they are on the wire", unit="segments", column="segments_wire"
    )
    rate_low_bytes_per_second: float | None = _known(
        "P10(d): delivery rate that nine in ten moments exceed",
        column="rate_p10_bytes_per_second",
        published="rate_p10_Bps",
    )
    rate_high_bytes_per_second: float | None = _known(
        "P90(d): delivery rate that one in ten moments exceeds",
        column="rate_p90_bytes_per_second",
        published="rate_p90_Bps",
    )
    rtt_high_seconds: float | None = _known("99th percentile of the round-trip time")
    rtt_before_loss_seconds: float | None = _known("median round-trip time just before losses")
    loss_level_rank: float | None = _known(
        "share of the packets at which a token bucket of the mean rate was emptier than at the lost"
    )
    exchanges_lossy: float | None = _known("exchanges with at least 15 losses")
    exchanges_bucket_empty: float | None = _known(
        "of them, those at whose losses a token bucket was empty"
    )
    loss_burst_rank: float | None = _known(
        "share of the passed packets that followed fewer bytes within one base RTT than a lost one"
    )
    loss_burst_samples: float | None = _known("losses behind loss_burst_rank")
    queued_before_loss: float | None = _known(
        "RTT above its base just before losses, in packets at the rate that passed"
    )
    token_rate_bytes_per_second: float | None = _known(
        "rate that passed between the losses of an exchange"
    )
    token_burst_bytes: float | None = _known(
        "bytes that an exchange passed above that rate before its first loss"
    )
    floor_before_seconds: float | None = _known(
        "RTT floor before its largest step", column="rtt_min_before_step_ns"
    )
    floor_after_seconds: float | None = _known(
        "RTT floor after its largest step", column="rtt_min_after_step_ns"
    )
    floor_left: float | None = _known(
        "share of the RTT floor's variation that one step leaves unexplained",
        column="rtt_min_step_residual",
    )
    floor_flight_ratio: float | None = _known(
        "rate · RTT floor before the step over the same after it",
        column="rtt_min_step_flight_ratio",
    )
    burst_rate_bytes_per_second: float | None = _known(
        "mean delivery rate until the bend of the delivered bytes over time"
    )
    sustained_rate_bytes_per_second: float | None = _known("mean delivery rate from that bend on")
    window_shrunk: float | None = _known(
        "share of time with the window below nine tenths of what it had been"
    )
    idle_open_window_at_rate_fraction: float | None = _known(
        "h′: as h, with P90(d) instead of X where it is larger",
        published="withheld_at_rate_fraction",
    )
    empty_fraction: float | None = _known(
        "share of time with nothing outstanding and an open window"
    )
    unanswered_seconds: float | None = _known(
        "time in which repeated timeouts went unanswered, in pieces of half a second or more"
    )
    interrupted_seconds: float | None = _known(
        "silences that ended with a timeout of the sender, seen from elsewhere"
    )
    spurious_retransmissions: float | None = _known(
        "retransmissions that were not needed",
        unit="segments",
        column="retransmitted_spurious",
        published="spurious",
    )
    fast_retransmissions: float | None = _known(
        "retransmissions triggered by acknowledgements",
        unit="segments",
        column="retransmitted_fast",
    )
    late_segments: float | None = _known(
        "segments that arrived late without having been lost",
        unit="segments",
        column="",
        note="`filled_reordered` + `filled_overtaken` + `reordering_dupack_series`",
    )
    delayed_answers: float | None = _known(
        "share of the RTT samples that look delayed by a timer", column="", note="`delack_suspects`"
    )
    outstanding_max_bytes: float | None = _known("largest amount of outstanding data")
    pipe_full: float | None = _known(
        "share of time with nine tenths of P90(d)·R₀ or more outstanding"
    )
    send_buffer_limited: float | None = _known(
        "share of its busy time in which the send buffer limited the socket",
        column="",
        published="sndbuf_limited",
        note=_HOST,
    )
    send_buffer_bytes: float | None = _known(
        "size of the socket's send buffer, by its kernel",
        column="",
        published="sndbuf_B",
        note=_HOST,
    )
    send_buffer_declared: bool | None = _known(
        "the workload fixed that size", unit="", column="", published="sndbuf_declared", note=_HOST
    )
    processor_missed: float | None = _known(
        "share of the time that the sender's processes were ready, throttled or stopped",
        column="",
        note=_HOST,
    )
    pauses_estimated: bool | None = _known(
        "pauses were inferred, because the capture was not taken at the sender",
        unit="",
        column="",
        note="`spacing_source`",
    )
    acknowledged_late_seconds: float | None = _known(
        "at the receiver: 90th percentile of the time from data to acknowledgement less its median",
        column="",
        note="`rtt_p90_ns` − `rtt_p50_ns` of a capture at the receiver",
    )
    answer_seconds: float | None = _known(
        "median time from an acknowledgement to the first data that echo its timestamp",
        column="echo_p50_ns",
    )
    answer_least_seconds: float | None = _known("smallest such time", column="echo_min_ns")
    handshake: float | None = _known("share connecting", column="share_handshake")
    peer: float | None = _known("share waiting for the peer", column="share_peer")
    think: float | None = _known(
        "share between the peer's request and the answer", column="share_think"
    )
    no_answer: float | None = _known(
        "share in which repeated retransmissions went unanswered", column="share_outage"
    )
    timeout: float | None = _known("share waiting for a timer", column="share_timeout")
    recovery: float | None = _known("share repairing losses", column="share_recovery")
    zero_window: float | None = _known(
        "share with a window below one segment", column="share_zero_window"
    )
    receiver_window: float | None = _known(
        "share with a full window that had shrunk", column="share_receiver_window"
    )
    window: float | None = _known(
        "share with a full window and no queue", column="share_window", published="window_share"
    )
    idle_application: float | None = _known(
        "share idle with everything written sent", column="share_idle_application"
    )
    idle_sender: float | None = _known("share idle otherwise", column="share_idle_sender")
    growing: float | None = _known("share growing without a limit", column="share_growing")
    path: float | None = _known("share with the path full", column="share_path")
    unattributed: float | None = _known(
        "share of which the capture does not show what limited it", column="share_unknown"
    )
    below_path: float | None = _known(
        "share below the path's rate after losses or marks", column="share_below_path"
    )
    sender_buffer: float | None = _known(
        "share at a level below the window, without loss or queue", column="share_sender_buffer"
    )
    sending_rate_bytes_per_second: float | None = _known(
        "rate while neither idle nor waiting for the peer"
    )
    path_rate_bytes_per_second: float | None = _known(
        "median rate at which the path delivered what had queued"
    )
    path_rate_high_bytes_per_second: float | None = _known(
        "90th percentile of the same", column="path_rate_p90_bytes_per_second"
    )
    path_rate_samples: float | None = _known("number of these rates", unit="count")
    path_rate_changes: float | None = _known(
        "changes between the fewest levels that explain the same", unit="count"
    )
    path_rate_before_bytes_per_second: float | None = _known("the same before the first change")
    path_rate_after_bytes_per_second: float | None = _known("the same after it")
    path_rate_change_seconds: float | None = _known("time of the first change")
    path_rate_change_residual: float | None = _known(
        "share of the variance of the rates' logarithms that the changes leave"
    )
    path_rate_change_spread: float | None = _known("their standard deviation that is left")
    fast_recoveries: float | None = _known("fast recoveries of which that is known", unit="count")
    retransmitted_needlessly: float | None = _known(
        "fast recoveries for which nothing had been lost, by timestamps", unit="count"
    )
    queue_seconds: float | None = _known(
        "mean delay above its floor, before and behind the capture", column="queue_mean_ns"
    )
    departure_steadiness: float | None = _known("P10/P90 of the rate of departures")
    departure_lag_seconds: float | None = _known(
        "its part between the sender's stack and the capture", column="departure_lag_mean_ns"
    )
    loss_delay_rank: float | None = _known(
        "share of delays smaller than the one just before a loss"
    )
    loss_queue_packets: float | None = _known(
        "median delay above its floor just before losses, at the path's rate", unit="packets"
    )
    ack_silences: float | None = _known(
        "silences of the receiver after which it acknowledged everything at once", unit="count"
    )
    ack_silences_seconds: float | None = _known("time in them")
    ack_silences_own: float | None = _known(
        "those in which it sent nothing for as long, by its own clock", unit="count"
    )
    acks_held: float | None = _known(
        "times packets of the receiver came together that it had sent apart", unit="count"
    )
    acks_held_seconds: float | None = _known("by how much, in sum")
    data_held: float | None = _known(
        "data packets that passed the capture later than the sender's clock says", unit="count"
    )
    idle_periods: float | None = _known("silences of the sender", unit="count")
    congestion_marks: float | None = _known("congestion marks echoed", unit="count")
    unfilled_per_train: float | None = _known(
        "packets' worth missing to full packets, per train of packets",
        unit="packets",
        column="",
        note="`data_packets` - `payload_bytes` / `payload_bytes_per_packet`, over `trains`",
    )

    @classmethod
    def from_transfer(
        cls,
        row: Row,
        *,
        workload: Workload = "unknown",
        capacity_bits_per_second: float | None = None,
    ) -> Self:
        """Evidence from a row of the transfers table (nanosecond integers, ``None`` = unknown).

        ``capacity_bits_per_second`` is what the user knows of the bottleneck, at IP level. A
        capacity measured in the transfer itself wins if it is smaller: a link that was full is
        the bottleneck, whatever its configured capacity.
        """
        known = {
            source.field: source.read(row[source.column])
            for source in FROM_COLUMNS
            if row.get(source.column) is not None
        }
        seen = cls(**CLASSIC_PACKETS | known, workload=workload)
        capacity, capacity_source = capacity_of(
            seen.capacity_bytes_per_second, seen.capacity_source, capacity_bits_per_second
        )
        computed = {
            name: made.value(getattr(seen, name), *map(row.get, made.columns))
            for name, made in COMPUTED.items()
        }
        return replace(
            seen,
            **computed,
            capacity_bytes_per_second=capacity,
            capacity_source=capacity_source,
        )

    @classmethod
    def from_published(cls, names: Row) -> Self:
        """Evidence under the names of published cases (``window_B`` …); ignores others."""
        known = {
            source.field: _frozen(value)
            for source in SOURCES
            if (value := names.get(source.published)) is not None
        }
        return cls(**{"window_bytes": CLASSIC_WINDOW_BYTES} | CLASSIC_PACKETS | known)

    def with_value(self, field: str, value: float) -> Self:
        """The same but for one quantity."""
        return replace(self, **{field: _frozen(value)})


def _frozen(value: Any) -> Any:  # noqa: ANN401 - a quantity of any kind
    return tuple(value) if isinstance(value, list) else value


def capacity_of(
    measured: float | None, source: str | None, given_bits: float | None
) -> tuple[float | None, str | None]:
    """The smaller of what was measured in the transfer and what was given, and which it is."""
    if given_bits is None or not given_bits > 0:
        return measured, source
    given = given_bits / 8
    if source == DELIVERY_RATE and measured is not None and measured <= given:
        return measured, source
    return given, GIVEN


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One field of the evidence and where it comes from.

    Attributes:
        column: Of the transfers table; empty where no column alone gives it.
        published: Its name in published cases.
        note: How else it is found.
    """

    field: str
    unit: str
    meaning: str
    column: str
    published: str
    note: str

    def read(self, value: Any) -> Any:  # noqa: ANN401 - a cell of any column
        """The value of the column in the unit of the field.

        A number that is not finite is unknown: a table may carry NaN where a division had nothing
        to divide.
        """
        if isinstance(value, list):
            return tuple(one / 1e9 for one in value if one is not None)
        if isinstance(value, (bool, str)):
            return value
        number = float(value)
        if not math.isfinite(number):
            return None
        return number / 1e9 if self.column.endswith("_ns") else number


def _source(name: str, declared: _Declared) -> Source:
    suffix, unit = next((pair for pair in _UNITS if name.endswith(pair[0])), ("", "ratio"))
    stem = name.removesuffix(suffix)
    short = {"bytes/second": "_Bps", "bytes": "_B", "seconds": "_s"}
    column = f"{stem}_ns" if unit == "seconds" else name
    return Source(
        field=name,
        unit=unit if declared.unit is None else declared.unit,
        meaning=declared.meaning,
        column=column if declared.column is None else declared.column,
        published=declared.published or stem + short.get(unit, ""),
        note=declared.note,
    )


SOURCES: tuple[Source, ...] = tuple(
    _source(one.name, one.metadata["declared"]) for one in fields(Evidence)
)
"""Every field of :class:`Evidence`, in order."""
FROM_COLUMNS = tuple(source for source in SOURCES if source.column)
"""Those that a column gives, as it is or as a part of what is computed."""
