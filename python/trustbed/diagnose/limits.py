"""How the capture's quality limits a diagnosis: a table of limits, applied after the rule.

A limit can cap the score and hold the verdict at *review*; it never changes the cause and never
makes a verdict surer. The rule concerns the packets captured, the limit those that were not, or not
rightly, captured.

Bias: a limit may send a right verdict to review, and lets a wrong one pass only where the fault
left no trace in the capture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trustbed.diagnose.causes import CAUSES, Cause, Verdict
from trustbed.diagnose.conditions import at_least, below
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.quality import Quality
from trustbed.diagnose.shapes import late_part, queue_at_loss
from trustbed.diagnose.thresholds import Thresholds
from trustbed.findings import filled

JUDGED: frozenset[Cause] = frozenset(CAUSES) - {"insufficient"}
PAUSES: frozenset[Cause] = frozenset(
    {"host_scheduling", "sender_application_limited", "host_stall", "driver_stall"}
)
LOSSES: frozenset[Cause] = frozenset(
    {"network_loss", "network_congestion", "policed", "reordering"}
)
WINDOW: frozenset[Cause] = frozenset({"window_limited"})
STARTS: frozenset[Cause] = frozenset({"slow_start"})
COMPARED: frozenset[Cause] = frozenset(
    {"window_limited", "bandwidth_limited", "route_change", "shaped"}
)
"""Causes that rest on rate, window and RTT alone, not on pauses.

All of these also show far from the sender.
"""
QUEUES: frozenset[Cause] = frozenset({"network_congestion"})


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """One line of the table.

    Applies when ``measure`` reaches the threshold of that name (without a name: when it is
    above zero).

    ``when`` carries thresholds in braces; ``remains`` states what may still be concluded.
    """

    code: str
    when: str
    remains: str
    causes: frozenset[Cause]
    measure: Callable[[Quality, Evidence, Thresholds], float]
    threshold: str | None = None
    cap: int = 70
    review: bool = True

    def wording(self, thresholds: Thresholds) -> str:
        """The condition with the thresholds' values filled in."""
        return filled(self.when, thresholds)


@dataclass(frozen=True, slots=True)
class AppliedLimit:
    """A limit that applies, with value and threshold (``None`` where it is a yes or no)."""

    limit: Limit
    value: float | None
    threshold: float | None


def _share_of(part: float, whole: float | None) -> float:
    return part / whole if whole is not None and whole > 0 else 0.0


def _disorder(quality: Quality, evidence: Evidence, thresholds: Thresholds) -> float:
    if quality.capture.reordered_share < thresholds.reordered_share:
        return 0.0
    return _share_of(quality.capture.reorder_seconds, evidence.rtt_base_seconds)


def _step(quality: Quality, evidence: Evidence, _thresholds: Thresholds) -> float:
    size = quality.capture.clock_step_seconds
    if not quality.clock_stepped or not size or not evidence.duration_seconds:
        return float(quality.clock_stepped)
    return size / evidence.duration_seconds


def _bunches(quality: Quality, evidence: Evidence, thresholds: Thresholds) -> float:
    if (
        evidence.long_pause_fraction is None
        or evidence.long_pause_fraction >= thresholds.long_pause_fraction
    ):
        return 0.0
    return quality.capture.equal_timestamp_share


def _echoed(quality: Quality, evidence: Evidence, thresholds: Thresholds) -> float:
    """Whether the RTT may hold the sender's own delays.

    A host that responds late loses nothing by it: losses while the RTT was high are a queue's.
    Between the two hosts the capture separates the sender's half of the round trip: where only the
    other half grew, the sender was prompt. The sender's own clock does not clear its host: a host
    that stops between timestamping a packet and sending it delays it as a queue does.
    """
    if evidence.path is not None:
        return 0.0  # the queue was seen by the sender's own clock
    if not quality.rtt_echoed or at_least(evidence.loss, thresholds.loss_decisive):
        return 0.0
    if below(late_part(evidence), thresholds.late_part):
        return 0.0
    return float(not at_least(queue_at_loss(evidence), thresholds.queue_at_loss))


LIMITS: tuple[Limit, ...] = (
    Limit(
        "one_sided",
        "only one direction of the connection was captured",
        "bytes and packets of that direction; neither RTT nor window nor pauses, so no expectation",
        JUDGED,
        lambda quality, _e, _t: float(quality.one_sided),
        cap=50,
    ),
    Limit(
        "timestamps_missing",
        "some records carry no timestamp",
        "counts of packets and bytes; no time and no rate",
        JUDGED,
        lambda quality, _e, _t: float(quality.capture.timestamps_missing),
        cap=50,
    ),
    Limit(
        "capture_loss",
        "{capture_loss_share:.1%} or more of the transfer's bytes were acknowledged but never "
        "captured",
        "the throughput; a missing packet looks like a pause, and its retransmission like new data",
        JUDGED,
        lambda quality, _e, _t: quality.unseen_share,
        "capture_loss_share",
    ),
    Limit(
        "capture_kernel_drops",
        "{kernel_drop_share:.0%} or more of the packets were dropped while capturing",
        "throughput and losses of transfers without unseen bytes; a dropped packet looks like a "
        "pause",
        PAUSES,
        lambda quality, _e, _t: quality.capture.kernel_drop_share,
        "kernel_drop_share",
    ),
    Limit(
        "skipped_records",
        "{skipped_share:.0%} or more of the records were packets that could not be measured",
        "throughput and RTT; a skipped packet looks like a pause or a loss",
        PAUSES | LOSSES,
        lambda quality, _e, _t: quality.capture.unmeasured_share,
        "skipped_share",
    ),
    Limit(
        "capture_duplicates",
        "{duplicate_share:.1%} or more of the transfer's packets were captured twice and the "
        "copies not removed",
        "throughput and unique bytes; a copy looks like a retransmission and invalidates the RTT "
        "of its bytes",
        LOSSES,
        lambda quality, _e, _t: 0.0 if quality.capture.deduplicated else quality.duplicate_share,
        "duplicate_share",
        cap=50,
    ),
    Limit(
        "clock_step",
        "the capture's clock stepped back during the transfer, by {clock_step_share:.0%} or more "
        "of its duration",
        "counts; the duration and with it the throughput may be wrong by the step",
        JUDGED,
        _step,
        "clock_step_share",
    ),
    Limit(
        "coarse_timestamps",
        "the timestamps' granularity is {timestamp_share:.0%} or more of the base RTT",
        "throughput and losses; neither the RTT's inflation nor pauses shorter than some granules",
        JUDGED,
        lambda quality, evidence, _t: _share_of(
            quality.capture.granularity_seconds, evidence.rtt_base_seconds
        ),
        "timestamp_share",
    ),
    Limit(
        "records_out_of_order",
        "{reordered_share:.0%} or more of the records were out of order, by "
        "{timestamp_share:.0%} of the base RTT or more",
        "counts and throughput; RTT and pauses are off by the disorder",
        JUDGED,
        _disorder,
        "timestamp_share",
    ),
    Limit(
        "bunched_timestamps",
        "{equal_timestamp_share:.0%} or more of the records have the timestamp of the one "
        "before, and pauses stay below the RTT",
        "throughput, losses and pauses longer than the RTT; shorter ones may be the capturing "
        "host's own",
        PAUSES,
        _bunches,
        "equal_timestamp_share",
    ),
    Limit(
        "window_estimated",
        "the handshake was not captured, so the window's scale is the smallest that fits",
        "throughput gaps; the window bound is a lower one, so a throughput near it proves nothing",
        WINDOW | STARTS,
        lambda quality, _e, _t: float(quality.window_estimated),
    ),
    Limit(
        "echoed_rtt",
        "the RTT was measured by the sender's responses, {late_part:.0%} of its increase or more "
        "may be theirs, and less than {loss_decisive:.1%} of the packets were lost, none of them "
        "while it was high",
        "throughput and losses; a sender that responds late inflates this RTT just as a queue does",
        QUEUES,
        _echoed,
    ),
    Limit(
        "capture_point_unknown",
        "the capture point is unknown",
        "throughput and losses; pauses were measured as if it were at the sender and may be the "
        "network's",
        PAUSES,
        lambda quality, _e, _t: float(quality.capture_point_unknown),
    ),
    Limit(
        "capture_point_contradicted",
        "packets contradict the capture point that was given",
        "bytes and packets; the RTT is that of the near end, so no bound of the path was compared",
        JUDGED,
        lambda quality, _e, _t: float(quality.capture_point_contradicted),
        cap=50,
    ),
    Limit(
        "multipath",
        "the connection is one subflow of a Multipath TCP connection",
        "bytes, packets, RTT and losses of this subflow; its pauses, windows and rates are the "
        "scheduler's as well",
        JUDGED,
        lambda quality, _e, _t: float(quality.multipath),
    ),
    Limit(
        "time_unknown",
        "what limited {wait_cost:.0%} or more of the time does not show in the capture",
        "throughput and losses; what is not shown may have been the longest part",
        JUDGED,
        lambda _q, evidence, _t: evidence.unattributed or 0.0,
        "wait_cost",
    ),
    Limit(
        "estimated_spacing",
        "pauses were estimated from a capture that was not taken at the sender",
        "every cause; those that rest on pauses or losses not beyond a score of 0.7",
        JUDGED - COMPARED,
        lambda quality, _e, _t: float(quality.spacing_estimated),
        review=False,
    ),
)
"""All are checked, in this order: several may apply to one transfer."""


_OF_CAUSE: Mapping[Cause, tuple[Limit, ...]] = {
    cause: tuple(limit for limit in LIMITS if cause in limit.causes) for cause in JUDGED
}


def limits_of(
    cause: Cause, quality: Quality, evidence: Evidence, thresholds: Thresholds
) -> tuple[AppliedLimit, ...]:
    """The limits that concern a diagnosis of this cause."""
    applied = []
    for limit in _OF_CAUSE.get(cause, ()):
        value = limit.measure(quality, evidence, thresholds)
        if limit.threshold is None:
            if value > 0:
                applied.append(AppliedLimit(limit, None, None))
        elif value >= (threshold := getattr(thresholds, limit.threshold)):
            applied.append(AppliedLimit(limit, value, threshold))
    return tuple(applied)


def capped(hundredths: int, limits: tuple[AppliedLimit, ...]) -> int:
    """The score that the limits leave."""
    return min([hundredths, *[applied.limit.cap for applied in limits]])


def held(verdict: Verdict, limits: tuple[AppliedLimit, ...]) -> Verdict:
    """The verdict that the limits leave."""
    return (
        "review"
        if verdict in ("trust", "discard") and any(applied.limit.review for applied in limits)
        else verdict
    )
