"""The evidence of a transfer against the thresholds that its diagnosis used.

One row per quantity, always the same ones in the same order, so that two transfers can be compared
by eye; a row states when its quantity is unknown. The thresholds are the diagnosis's own. No row
decides: the rules do, and this table shows what they saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trustbed.diagnose.thresholds import Thresholds
from trustbed.report import words
from trustbed.report.records import Row
from trustbed.report.transfer.charts.transfer import silences_are_visible

UNSEEN = "unknown from this capture"
LITTLE, NONE = "too little to count by itself", "none seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One quantity: what was measured, what it is compared with, and what that means.

    ``brief`` is shown beside a verdict instead of the reading. ``fill`` and ``mark`` (0…1, ``None``
    = nothing to draw) place the value and its threshold on a small scale. ``crossed`` is ``None``
    when the value is unknown.
    """

    term: str
    definition: str
    value: str
    detail: str
    threshold: str
    crossed: bool | None
    reading: str
    fill: float | None = None
    mark: float | None = None
    brief: str = ""

    @property
    def beside_verdict(self) -> str:
        """The text under the value where there is room for one sentence."""
        return self.brief or self.reading


def expected_rate(transfer: Row) -> float | None:
    """The throughput bound by window, RTT, loss and capacity, in bytes per second."""
    return transfer.get("expected_bytes_per_second")


def reached(transfer: Row) -> float | None:
    """Throughput as a share of the expected rate, as far as the diagnosis compares them."""
    return transfer.get("expected_ratio")


def round_trip_seconds(transfer: Row) -> float | None:
    """The round-trip time between sender and receiver, as far as the capture point shows it."""
    return transfer.get("rtt_path_seconds")


def inflation(transfer: Row) -> float | None:
    """RTT as a multiple of its base."""
    mean, base = round_trip_seconds(transfer), transfer.get("rtt_base_seconds")
    return float(mean / base) if mean and base else None


def _throughput(transfer: Row, limits: Thresholds) -> Measured:
    ratio, expected = reached(transfer), expected_rate(transfer)
    share = (
        f"{words.percent(ratio)} of the {words.rate(expected)} expected"
        if ratio is not None
        else "expected rate unknown"
    )
    crossed = None if ratio is None else ratio < limits.explained_ratio
    if crossed is None:
        reading = "cannot be compared: too little is known about window, RTT and capacity"
    elif crossed:
        reading = "slower than window, RTT, loss and capacity explain"
    else:
        reading = "explained by window, RTT, loss and capacity"
    return Measured(
        term="Throughput",
        definition="throughput",
        value=words.rate(transfer.get("throughput_bytes_per_second")),
        detail=share,
        brief="" if ratio is None else share,
        threshold=f"unexplained below {words.percent(limits.explained_ratio)} of expected",
        crossed=crossed,
        reading=reading,
        fill=None if ratio is None else min(ratio, 1.0),
        mark=limits.explained_ratio,
    )


_ROUND_TRIPS = {
    "acknowledgements": "mean from data to acknowledgement",
    "timestamp_echo": "median of the receiver's timestamp echoes",
    "both_halves": "sum of both sides of the capture",
}


def times_words(times: float) -> str:
    """A multiple: two decimals, or three digits from 10 on."""
    return f"{times:.2f}" if times < 9.995 else f"{times:,.0f}" if times >= 99.5 else f"{times:.1f}"


_WAITED = {
    "acknowledgements_came_late": "some acknowledgements came late, from the receiver or a queue",
    "acknowledgements_were_held": "acknowledgements waited in the sending host, or on the path",
    "machine_held_packets": "acknowledgements waited in the machine that captured them",
    "machine_released_bursts": "packets waited in the sending host",
    "queue_stood_at_home": "packets waited in the sending host",
    "receiver_fell_silent": "data waited for a host that stalled",
    "receiver_waited_for_a_timer": "data waited for the receiver's timer",
}
"""Where an RTT above its base came from, by the rules that found it elsewhere than on the path."""


_QUEUED = frozenset(
    {"bandwidth_limited", "network_congestion", "mark_limited", "policed", "rate_changed", "shaped"}
)
"""Causes by which it was the path's."""


def delay(transfer: Row, limits: Thresholds) -> str:
    """Where packets waited, as far as the diagnosis tells; ``""`` where the RTT is unknown."""
    times = inflation(transfer)
    if times is None:
        return ""
    if times < limits.inflation:
        return "packets hardly waited"
    found = _WAITED.get(transfer.get("rule") or "")
    if found is not None:
        return found
    if transfer.get("rtt_source") == "timestamp_echo":
        return "packets waited, in a queue on the path or in a sender that answers late"
    if _QUEUED.intersection(transfer.get("causes") or ()):
        return "packets waited in a queue on the path"
    return "packets waited, in a queue on the path or in a host"


def _round_trip(transfer: Row, limits: Thresholds) -> Measured:
    times = inflation(transfer)
    crossed = None if times is None else times >= limits.inflation
    reading = delay(transfer, limits) or UNSEEN
    return Measured(
        term="Round-trip time",
        definition="rtt",
        value=words.duration(round_trip_seconds(transfer)),
        detail=(
            f"base {words.duration(transfer.get('rtt_base_seconds'))}, "
            f"{_ROUND_TRIPS.get(transfer.get('rtt_source') or '', 'not seen')}"
        ),
        threshold=f"inflated from {limits.inflation:g} × base",
        crossed=crossed,
        reading=f"{times_words(times)} × base: {reading}" if times is not None else reading,
        fill=None
        if times is None
        else min(max((times - 1) / (2 * (limits.inflation - 1)), 0.0), 1.0),
        mark=0.5,
    )


def _loss(transfer: Row, limits: Thresholds) -> Measured:
    loss = transfer.get("loss")
    crossed = None if loss is None else loss >= limits.loss_decisive
    if not loss:
        needless = loss == 0 and transfer.get("retransmitted_packets")
        reading = (
            UNSEEN
            if loss is None
            else "nothing was lost: what was sent again had arrived"
            if needless
            else "nothing was lost"
        )
    else:
        reading = "enough to slow the sender down by itself" if crossed else LITTLE
    return Measured(
        term="Loss",
        definition="loss",
        value=words.percent(loss),
        detail=_repeated(transfer),
        threshold=f"decisive from {words.percent(limits.loss_decisive)}",
        crossed=crossed,
        reading=reading,
        fill=None if loss is None else min(loss / (2 * limits.loss_decisive), 1.0),
        mark=0.5,
    )


def _repeated(transfer: Row) -> str:
    """What the loss was counted from: packets sent again, and holes left before the capture."""
    again, sent = (
        words.count(transfer.get(name)) for name in ("retransmitted_packets", "data_packets")
    )
    counted = f"{again} of {sent} data packets sent again"
    holes = transfer.get("filled_lost_upstream")
    return f"{counted}, {words.counted(holes, 'hole')} before the capture" if holes else counted


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimeShare:
    """A share of the transfer's time that counts when it reaches the threshold of that name.

    ``detail`` adds numbers.
    """

    column: str
    term: str
    definition: str
    limit: str
    above: str | Callable[[Row], str]
    below: str
    detail: Callable[[Row], str] = lambda transfer: ""

    def __call__(self, transfer: Row, limits: Thresholds) -> Measured:
        value, threshold = transfer.get(self.column), float(getattr(limits, self.limit))
        crossed = None if value is None else value >= threshold
        return Measured(
            term=self.term,
            definition=self.definition,
            value=words.percent(value),
            detail=self.detail(transfer),
            threshold=f"counts from {words.percent(threshold)}",
            crossed=crossed,
            reading=UNSEEN if crossed is None else self._reading(transfer, crossed),
            fill=value,
            mark=threshold,
        )

    def _reading(self, transfer: Row, crossed: bool) -> str:
        if not crossed:
            return NONE if self.below == LITTLE and not transfer[self.column] else self.below
        return self.above if isinstance(self.above, str) else self.above(transfer)


MOSTLY = 0.5
"""From this share of a silence on, it was the peer's turn and not the sender's."""


def _unless_peer(column: str, own: str) -> Callable[[Row], str]:
    """Whose silence it was: by the time budget it may have been the peer's turn."""

    def reading(transfer: Row) -> str:
        peer = transfer.get("share_peer") or 0.0
        if peer >= MOSTLY * (transfer.get(column) or 0.0):
            return f"it waited for its peer for {words.percent(peer)} of the time"
        return own

    return reading


def _idle_detail(transfer: Row) -> str:
    count = transfer.get("idle_open_window_samples")
    if not silences_are_visible(transfer):
        return "estimated from where the capture was taken"
    return (
        ""
        if count is None
        else (
            f"{words.counted(round(count), 'silence')}, "
            f"{words.duration(transfer.get('idle_open_window_seconds'))} in total"
        )
    )


def _longest_spacing(transfer: Row) -> str:
    longest, base = transfer.get("spacing_max_seconds"), transfer.get("rtt_base_seconds")
    if longest is None or not silences_are_visible(transfer):
        return "" if longest is None else "estimated from where the capture was taken"
    return f"longest spacing {words.duration(longest)}, base RTT {words.duration(base)}"


def _largest_window(transfer: Row) -> str:
    return f"largest window {words.size(transfer.get('window_max_bytes'))}"


def _capacity(transfer: Row, limits: Thresholds) -> Measured:
    capacity, source = transfer.get("capacity_bytes_per_second"), transfer.get("capacity_source")
    steadiness, full = transfer.get("steadiness"), transfer.get("pipe_full")
    known = (
        f"delivery rate steady to {words.percent(steadiness)}, pipe full for "
        f"{words.percent(full)} of the time"
    )
    if capacity is None:
        reading = "unknown: the capture does not show a full, steady pipe"
    else:
        reading = (
            "given by the user"
            if source == "given"
            else "measured: acknowledgements came at one steady rate while the pipe was full"
        )
    return Measured(
        term="Link capacity",
        definition="capacity",
        value=words.rate(capacity) if capacity is not None else "not seen",
        detail="" if steadiness is None or full is None else known,
        threshold="",
        crossed=None if capacity is None else True,
        reading=reading,
    )


_ROWS: tuple[Callable[[Row, Thresholds], Measured], ...] = (
    _throughput,
    _round_trip,
    _loss,
    _TimeShare(
        column="idle_open_window_fraction",
        term="Idle with open window",
        definition="idle-open-window",
        limit="idle_open_window_fraction",
        above=_unless_peer(
            "idle_open_window_fraction",
            "it could have sent and did not: its host or its application",
        ),
        below=LITTLE,
        detail=_idle_detail,
    ),
    _TimeShare(
        column="long_pause_fraction",
        term="Pauses longer than the RTT",
        definition="spacing",
        limit="long_pause_fraction",
        above=_unless_peer("long_pause_fraction", "the sender missed whole round trips"),
        below=LITTLE,
        detail=_longest_spacing,
    ),
    _TimeShare(
        column="window_closed",
        term="Window closed",
        definition="window",
        limit="window_closed",
        above="the receiver did not read fast enough",
        below=LITTLE,
        detail=_largest_window,
    ),
    _TimeShare(
        column="rwnd_limited",
        term="Window full",
        definition="window",
        limit="rwnd_hint",
        above="whenever it ran, the sender filled the window: it had more to send",
        below=LITTLE,
        detail=lambda transfer: (
            f"outstanding data reached {words.size(transfer.get('outstanding_max_bytes'))}"
            if transfer.get("outstanding_max_bytes")
            else ""
        ),
    ),
    _TimeShare(
        column="app_limited_fraction",
        term="Application idle",
        definition="application",
        limit="app_limited",
        above="the application had nothing to send",
        below=LITTLE,
    ),
    _capacity,
)


def measured(transfer: Row, limits: Thresholds) -> list[Measured]:
    """The evidence table of one transfer."""
    return [row(transfer, limits) for row in _ROWS]
