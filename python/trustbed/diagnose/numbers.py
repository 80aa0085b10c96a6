"""The numbers derived from the evidence, computed once and shared by every rule.

Gives the four bounds of the throughput, the expected throughput and how much of it was reached, the
inflation of the RTT and whether the sender paused. Decides no cause.

Bias: a bound that is unknown is missing from the minimum, so the expected throughput can be over-,
never under-estimated. Without the window bound the ratio is therefore used only where the other
bounds already explain the throughput.

Formulas: window bounds as in *Traffic Anomaly Analysis and Characteristics on a Virtualized Network
Testbed*, Eq. 1; loss bound: Mathis, Semke, Mahdavi, Ott, *The Macroscopic Behavior of the TCP
Congestion Avoidance Algorithm*, 1997, without delayed ACKs.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.shapes import is_capacity_refuted
from trustbed.diagnose.thresholds import Thresholds

Bound: TypeAlias = Literal["window", "loss", "capacity"]


class Numbers(NamedTuple):
    """Derived numbers; bytes per second of payload, seconds, ratios.

    ``None`` = unknown (for a bound: it bounds nothing).
    """

    x0_bytes_per_second: float | None
    x1_bytes_per_second: float | None
    x2_bytes_per_second: float | None
    x3_bytes_per_second: float | None
    loss_allows_bytes_per_second: float | None
    expected_bytes_per_second: float | None
    bound: Bound | None
    ratio: float | None
    rtt_inflation: float | None
    packet_period_seconds: float | None
    packets_in_flight: float | None
    long_pauses: bool | None
    loss_bound: bool
    loss_model_refuted: bool
    capacity_refuted: bool
    stalled_seconds: float
    stalls_near_reset_period: bool
    application_share: float


def derive(evidence: Evidence, thresholds: Thresholds) -> Numbers:
    """Compute every derived number of one transfer.

    Never fails: what cannot be computed is ``None``.
    """
    throughput = evidence.throughput_bytes_per_second
    rtt_base, rtt = _positive(evidence.rtt_base_seconds), _positive(evidence.rtt_seconds)
    window, payload, packet = (
        _positive(evidence.window_bytes),
        _positive(evidence.payload_bytes),
        _positive(evidence.packet_bytes),
    )
    x0 = _window_bound(window, payload, packet, rtt_base)
    x1 = _window_bound(window, payload, packet, rtt) or x0
    allowed = x2 = _loss_bound(payload, rtt, _positive(evidence.loss))
    empty = is_capacity_refuted(evidence, thresholds)
    x3 = (
        None
        if empty
        else _capacity_bound(payload, packet, _positive(evidence.capacity_bytes_per_second))
    )
    refuted = x2 is not None and _refuted(x2, throughput, evidence.loss_events, thresholds)
    if refuted:
        x2 = None
    bound, expected = _smallest(x1, x2, x3)
    period = _quotient(packet * rtt_base, window) if packet and rtt_base and window else None
    gaps = evidence.stall_gaps_seconds
    return Numbers(
        x0_bytes_per_second=x0,
        x1_bytes_per_second=x1,
        x2_bytes_per_second=x2,
        x3_bytes_per_second=x3,
        loss_allows_bytes_per_second=allowed,
        expected_bytes_per_second=expected,
        bound=bound,
        ratio=_ratio(throughput, expected, x1, thresholds),
        rtt_inflation=_quotient(rtt, rtt_base) if rtt and rtt_base else None,
        packet_period_seconds=period,
        packets_in_flight=_quotient(throughput * rtt, payload)
        if throughput and rtt and payload
        else None,
        long_pauses=_long_pauses(evidence, period, thresholds),
        loss_bound=_is_loss_bound(x1, x2, x3, thresholds),
        loss_model_refuted=refuted,
        capacity_refuted=empty,
        stalled_seconds=sum(gaps),
        stalls_near_reset_period=bool(gaps)
        and all(_near_reset_period(gap, thresholds) for gap in gaps),
        application_share=0.0
        if evidence.workload == "bulk"
        else evidence.app_limited_fraction or 0.0,
    )


def _quotient(over: float, under: float) -> float | None:
    """A finite quotient, or unknown.

    Products of absurdly small numbers can vanish, of large ones overflow.
    """
    if under == 0:
        return None
    quotient = over / under
    return quotient if math.isfinite(quotient) else None


def _positive(value: float | None) -> float | None:
    """A finite number above zero, or unknown.

    A window or delay of zero describes a fault, not a path.
    """
    return value if value is not None and 0 < value < math.inf else None


def _window_bound(
    window: float | None, payload: float | None, packet: float | None, rtt: float | None
) -> float | None:
    return (
        _quotient(window * payload, packet * rtt) if window and payload and packet and rtt else None
    )


def _loss_bound(payload: float | None, rtt: float | None, loss: float | None) -> float | None:
    return _quotient(payload * math.sqrt(1.5 / loss), rtt) if payload and rtt and loss else None


def _capacity_bound(
    payload: float | None, packet: float | None, capacity: float | None
) -> float | None:
    return _quotient(capacity * payload, packet) if payload and packet and capacity else None


def _refuted(
    x2: float, throughput: float | None, events: float | None, thresholds: Thresholds
) -> bool:
    if throughput and throughput > thresholds.loss_model_refuted_ratio * x2:
        return True
    return events is not None and events < thresholds.loss_events_minimum


def _smallest(
    x1: float | None, x2: float | None, x3: float | None
) -> tuple[Bound | None, float | None]:
    """The smallest known bound; of equal ones the first of window, loss, capacity."""
    name: Bound | None = None
    least: float | None = None
    if x1 is not None:
        name, least = "window", x1
    if x2 is not None and (least is None or x2 < least):
        name, least = "loss", x2
    if x3 is not None and (least is None or x3 < least):
        name, least = "capacity", x3
    return name, least


def _ratio(
    throughput: float | None, expected: float | None, x1: float | None, thresholds: Thresholds
) -> float | None:
    if not throughput or not expected:
        return None
    ratio = _quotient(throughput, expected)
    # Without the window bound the true expectation can only be smaller, the true ratio only larger:
    # "explained" stays true, "unexplained" would be a guess.
    return ratio if ratio is None or x1 is not None or ratio >= thresholds.explained_ratio else None


def _is_loss_bound(
    x1: float | None, x2: float | None, x3: float | None, thresholds: Thresholds
) -> bool:
    if x2 is None:
        return False
    others = [bound for bound in (x1, x3) if bound is not None]
    return bool(others) and x2 < thresholds.loss_bound_margin * min(others)


def _long_pauses(evidence: Evidence, period: float | None, thresholds: Thresholds) -> bool | None:
    """Whether the sender paused: by the shares of time, else the mean pause, else as reported."""
    longer, idle, mean = (
        evidence.long_pause_fraction,
        idle_open_window_share(evidence),
        evidence.spacing_mean_seconds,
    )
    if (evidence.empty_fraction or 0.0) >= thresholds.empty_fraction:
        return True
    if longer is not None or idle is not None:
        return (longer or 0.0) >= thresholds.long_pause_fraction or (
            idle or 0.0
        ) >= thresholds.idle_open_window_fraction
    if mean is not None and period is not None:
        return mean > period
    return evidence.long_pauses_reported


def idle_open_window_share(evidence: Evidence) -> float | None:
    """The larger of h and h′: a sender must not be excused by the slowness its own pauses cause."""
    idle, at_rate = (
        evidence.idle_open_window_fraction,
        evidence.idle_open_window_at_rate_fraction,
    )
    if idle is None or at_rate is None:
        return at_rate if idle is None else idle
    return max(idle, at_rate)


def _near_reset_period(gap: float, thresholds: Thresholds) -> bool:
    """Whether the stall lasted for a multiple of the reset period."""
    if not math.isfinite(gap):
        return False
    period = thresholds.reset_period_seconds
    multiple = round(gap / period)
    return multiple >= 1 and abs(gap - period * multiple) <= thresholds.reset_tolerance_seconds
