"""The throughput that the network would have given a transfer whose sender stalled.

It gives an estimate, or the reason why there is none.

The time that window and round trip do not explain, D − bytes/X₁, is what the stalls took: without
it the transfer runs at X₁, the rate that its window allows, and not faster. Two things are known
better than X₁ has them. A sender that was away sends in one burst what was acknowledged meanwhile,
and the burst queues at the narrow link: of the delay above the base RTT only so much is taken for
the path's as undisturbed transfers have. And an undisturbed transfer would have needed its slow
start, too, from ten segments (RFC 6928) to the window.

Replaces no measured value. Estimates nothing where the window was not the limit: how much of a link
others left, no stalled sender has seen.

Bias: for a window that a slow link would not have carried it over-estimates, up to the inflation of
the RTT that is let through. Validated transfers were limited by their windows; congestion control
is not known from packets, and BBR stays some percent below the estimate.

Sources: X₁ as in *Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed*,
Eq. 1; slow start: RFC 5681.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from trustbed.diagnose.causes import Cause, Verdict
from trustbed.diagnose.compensation_table import HIGH, IS_SHOWN, LOW
from trustbed.diagnose.conditions import Case, at_least
from trustbed.diagnose.quality import Quality
from trustbed.findings.words import number_words, percent_words, rate_words

STALLS: frozenset[Cause] = frozenset({"host_scheduling", "host_stall", "driver_stall"})
"""Causes that are stalls of the sending host."""
START_SEGMENTS = 10
"""Initial window, RFC 6928."""
NOT_GOOD_ENOUGH = "too few validated transfers show how near it comes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compensation:
    """The estimate with its interval, in bytes of payload per second.

    All three are ``None`` where ``why_not`` gives the reason why there is none.
    """

    bytes_per_second: float | None = None
    low_bytes_per_second: float | None = None
    high_bytes_per_second: float | None = None
    why_not: str = ""

    def words(self, throughput: float | None) -> str:
        """One sentence, with the measured ``throughput`` (B/s) beside the estimate."""
        if self.bytes_per_second is None:
            return f"no estimate of what the network would have given: {self.why_not}"
        low, high = rate_words(self.low_bytes_per_second), rate_words(self.high_bytes_per_second)
        about = rate_words(self.bytes_per_second)
        return (
            f"measured {rate_words(throughput)}; without the stalls about {about} ({low} to "
            f"{high}), an estimate"
        )


NOTHING = Compensation()
"""For a transfer that was not discarded for stalls.

Nothing is estimated, and nothing is reported.
"""


def compensated(
    case: Case, cause: Cause, verdict: Verdict, quality: Quality
) -> Compensation | None:
    """An estimate; ``None`` for a transfer that was not discarded for stalls of its host."""
    if verdict != "discard" or cause not in STALLS:
        return None
    if not IS_SHOWN:
        return Compensation(why_not=NOT_GOOD_ENOUGH)
    return estimated(case, cause, quality)


def estimated(case: Case, cause: Cause, quality: Quality) -> Compensation:
    """The estimate, whether or not it is good enough to be shown."""
    why_not = _why_not(case, cause, quality)
    if why_not:
        return Compensation(why_not=why_not)
    evidence, numbers = case.evidence, case.numbers
    steady, starting = steady_rate(case), start_share(case)
    throughput = evidence.throughput_bytes_per_second
    if (
        steady is None
        or starting is None
        or throughput is None
        or numbers.x1_bytes_per_second is None
    ):
        return Compensation(why_not="window, round trip, rate or duration is unknown")
    if starting > case.thresholds.compensated_start:
        return Compensation(
            why_not=(
                f"slow start alone would have taken too long ({percent_words(starting)} of "
                f"the time)"
            )
        )
    rate = max(throughput, steady * (1 - starting))
    return Compensation(
        bytes_per_second=rate,
        low_bytes_per_second=max(throughput, LOW * rate),
        high_bytes_per_second=HIGH * rate,
    )


def steady_rate(case: Case) -> float | None:
    """X₁ in B/s, at a round trip that is held to what undisturbed transfers have above the base.

    ``None`` where something is unknown.
    """
    x0, x1 = case.numbers.x0_bytes_per_second, case.numbers.x1_bytes_per_second
    return None if x0 is None or x1 is None else max(x1, x0 / case.thresholds.compensated_inflation)


def start_share(case: Case) -> float | None:
    """The share of the transfer's time that slow start costs an undisturbed one.

    ``None`` where something is unknown.

    Doubling from ten segments to the window W takes k = log₂(W/10p) round trips, in which W − 10p
    bytes are sent instead of k·W.
    """
    evidence, steady = case.evidence, steady_rate(case)
    window, payload, packet, duration = (
        evidence.window_bytes,
        evidence.payload_bytes,
        evidence.packet_bytes,
        evidence.duration_seconds,
    )
    if not window or not payload or not packet or not duration or not steady:
        return None
    first = START_SEGMENTS * payload
    if window <= first:
        return 0.0
    round_trip = window * payload / packet / steady
    return round_trip * (math.log2(window / first) - 1 + first / window) / duration


def _why_not(case: Case, cause: Cause, quality: Quality) -> str:
    """The first thing that keeps this transfer from being like the validated ones.

    Empty where nothing does.
    """
    evidence, numbers, thresholds = case.evidence, case.numbers, case.thresholds
    if cause != "host_scheduling":
        return "no validated transfer stalled like this one"
    if quality.at != "sender":
        return "the capture was not taken beside the sender"
    if quality.window_estimated or at_least(
        evidence.send_buffer_limited, thresholds.kernel_time_share
    ):
        return "the window that would have limited it is not known for certain"
    if numbers.bound != "window":
        return (
            "its window was not the narrowest limit, and stalls hide what a link would have carried"
        )
    if evidence.loss is None or evidence.loss >= thresholds.loss_negligible:
        return (
            f"packets were lost, and what that costs besides is not known "
            f"({percent_words(evidence.loss)})"
        )
    if numbers.rtt_inflation is None or numbers.rtt_inflation >= thresholds.inflation:
        return (
            f"its packets queued, and whose queue that was is not known (RTT "
            f"{number_words(numbers.rtt_inflation)} times its base)"
        )
    window = evidence.window_bytes or math.inf
    if not at_least(evidence.outstanding_max_bytes, thresholds.compensated_filled * window):
        share = (evidence.outstanding_max_bytes or 0.0) / window
        return (
            f"it never filled its window, so nothing shows that the network carries that "
            f"({percent_words(share)} at most)"
        )
    return ""
