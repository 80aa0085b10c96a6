"""Conditions about the shape of a transfer over time: losses, late segments, floors of the delay.

Bias: as for all conditions, an unknown number fulfils none of them.
"""

from __future__ import annotations

import math

from trustbed.diagnose import shapes
from trustbed.diagnose.conditions import Case, Condition, at_least, below
from trustbed.diagnose.shown import share_shown
from trustbed.findings.words import (
    count_words,
    number_words,
    percent_words,
    seconds_words,
    whole,
)


def _is_stepped(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    if evidence.floor_left is None or evidence.floor_left > thresholds.floor_left:
        return False
    flight = evidence.floor_flight_ratio
    return (
        at_least(shapes.floor_step(evidence), thresholds.floor_step)
        and flight is not None
        and (thresholds.floor_flight <= flight <= 1 / thresholds.floor_flight)
    )


def is_bucket_empty(case: Case) -> bool:
    """Whether the token bucket was empty at the losses of enough of the lossy exchanges."""
    evidence = case.evidence
    tried, emptied = evidence.exchanges_lossy or 0.0, evidence.exchanges_bucket_empty or 0.0
    return emptied > 0 and emptied >= case.thresholds.exchanges_bucket_empty * tried


def _is_policed(case: Case) -> bool:
    """Losses follow bursts or empty buckets, exchange by exchange, and no queue stands before them.

    Flach et al. 2016, and bursts beside: whoever shares the bucket empties it unseen, and still a
    burst finds too few tokens rather than a lone packet.
    """
    evidence, thresholds = case.evidence, case.thresholds
    queued = evidence.queued_before_loss
    if queued is None or queued > thresholds.queued_policed:
        return False
    if not at_least(evidence.loss, thresholds.loss_policed_exchanges):
        return False
    rank, samples = evidence.loss_burst_rank, evidence.loss_burst_samples or 0.0
    if below(rank, thresholds.loss_burst_rank_chance):
        return False
    emptied = evidence.exchanges_bucket_empty or 0.0
    if is_bucket_empty(case):
        # In a single exchange a full queue empties the bucket that fits its rate, too.
        return emptied > 1 or not below(rank, thresholds.loss_burst_rank_empty)
    # The mean of independent ranks scatters by 1/√(12·n) around one half.
    return (
        rank is not None
        and samples >= thresholds.loss_burst_samples
        and rank >= thresholds.loss_burst_rank
        and (rank - 0.5) * math.sqrt(12 * samples) >= thresholds.loss_burst_sureness
    )


def _floors(case: Case) -> str:
    evidence = case.evidence
    return (
        f"floor {seconds_words(evidence.floor_before_seconds)} then "
        f"{seconds_words(evidence.floor_after_seconds)}, "
        f"left = {percent_words(evidence.floor_left)}, flight ratio = "
        f"{number_words(evidence.floor_flight_ratio)}"
    )


STEPPED = Condition(
    "the RTT's floor stepped once by {floor_step:.0%} or more, the step leaves at most "
    "{floor_left:.0%} of its variation, and the same data were in flight before and after",
    _is_stepped,
    _floors,
)
POLICED = Condition(
    "loss ≥ {loss_policed_exchanges:.0%} with at most {queued_policed:g} packets queued before "
    "losses, not after bursts of any size alike (burst rank < {loss_burst_rank_chance:g}), and "
    "either the token bucket empty at the losses of {exchanges_bucket_empty:.0%} of the lossy "
    "exchanges (of one alone not where the burst rank is below {loss_burst_rank_empty:g}), or "
    "losses after bursts (burst rank of {loss_burst_samples:g} or "
    "more ≥ {loss_burst_rank:g}, not by chance: {loss_burst_sureness:g} standard deviations above "
    "0.5)",
    _is_policed,
    lambda c: (
        f"{number_words(c.evidence.queued_before_loss)} packets queued, bucket empty in "
        f"{whole(c.evidence.exchanges_bucket_empty)} of "
        f"{count_words(whole(c.evidence.exchanges_lossy), 'exchange')}, burst rank "
        f"{number_words(c.evidence.loss_burst_rank)}"
    ),
)
IN_VAIN = Condition(
    "more segments were late or needlessly retransmitted than were lost",
    lambda c: (shapes.late_share(c.evidence) or 0.0) > (c.evidence.loss or 0.0),
    share_shown("late", lambda c: shapes.late_share(c.evidence)),
)
OVERTAKEN = Condition(
    "segments were late, {loss_decisive:.1%} of them or more late or needlessly retransmitted, and "
    "more than were lost: what waits in the receiver's buffer for a late one takes from its window",
    lambda c: (
        bool(c.evidence.late_segments)
        and at_least(shapes.late_share(c.evidence), c.thresholds.loss_decisive)
        and IN_VAIN.holds(c)
    ),
    IN_VAIN.shown,
)
