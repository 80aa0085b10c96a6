"""Conditions about losses: whether there were any, what they cost, and whether a queue made them.

Bias: as for all conditions, an unknown number fulfils none of them.
"""

from __future__ import annotations

from trustbed.diagnose import budget, shapes
from trustbed.diagnose.conditions import Case, Condition, at_least, below
from trustbed.diagnose.shown import inflation_shown, limits_shown
from trustbed.findings.words import number_words, percent_words, whole


def _losses(case: Case) -> str:
    evidence = case.evidence
    return (
        f"rank of the delay before losses = {number_words(evidence.loss_delay_rank)}, "
        f"utilisation = {number_words(budget.utilisation(evidence))}, {inflation_shown(case)}"
    )


def _is_lossy(case: Case) -> bool:
    shares = case.budget
    return case.limit in ("loss", "path") and shares.loss >= case.thresholds.cost_felt


def _is_queue_missing(case: Case) -> bool:
    """Whether no queue stood: an RTT near its base, and nothing waiting before losses."""
    evidence, thresholds = case.evidence, case.thresholds
    return (
        below(case.numbers.rtt_inflation, thresholds.link_queue_inflation)
        and below(
            shapes.queued_packets(evidence, evidence.path_rate_bytes_per_second),
            thresholds.link_queue_packets,
        )
        and not at_least(evidence.loss_queue_packets, thresholds.queued_of_queue)
    )


def _is_higher_before_losses(case: Case, rank: float) -> bool:
    """Whether losses fell at higher delays than chance puts them at.

    Losses that do not know the queue fall at delays like all others (rank 0.5). How far chance
    takes few of them depends on the delays: without a queue these differ by little but jitter.
    """
    thresholds = case.thresholds
    stood = at_least(case.numbers.rtt_inflation, thresholds.link_queue_inflation)
    return rank >= (thresholds.loss_delay_rank_queued if stood else thresholds.loss_delay_rank)


def are_losses_of_queue(case: Case) -> bool:
    """Whether losses are those of a queue on the path, by its delays or by how full it was."""
    evidence, thresholds = case.evidence, case.thresholds
    rank = evidence.loss_delay_rank
    seen = at_least(evidence.path, thresholds.path_felt) or at_least(
        evidence.path_rate_samples, thresholds.rate_change_samples
    )
    if rank is None:
        return seen
    if _is_higher_before_losses(case, rank):
        return True
    if _is_queue_missing(case):
        return False
    if seen and at_least(budget.use_of_path(evidence), thresholds.path_left_to_losses):
        return True
    if evidence.pauses_estimated and at_least(
        case.numbers.rtt_inflation, thresholds.queued_from_afar
    ):
        return True
    used = at_least(budget.utilisation(evidence), thresholds.path_used)
    # Behind a loss its delay is that of a later packet: away from the sender a full path counts.
    if evidence.pauses_estimated:
        queued = at_least(evidence.loss_queue_packets, thresholds.queued_of_queue)
        return (used and at_least(evidence.path, thresholds.path_seen)) or (
            queued
            and at_least(evidence.path, thresholds.path_felt)
            and not below(budget.utilisation(evidence), thresholds.path_hardly_used)
        )
    return used


def _has_lost(case: Case) -> bool:
    return case.evidence.loss is None or case.evidence.loss > 0.0


MOSTLY_NEEDLESS = Condition(
    "{needless_recoveries:.0%} or more of three or more fast recoveries, half of all, had nothing "
    "to repair, by the timestamps that acknowledgements echo",
    lambda c: (
        (c.evidence.fast_recoveries or 0.0) >= 3
        and 2 * (c.evidence.fast_recoveries or 0.0) >= (c.evidence.loss_events or 0.0)
        and (c.evidence.retransmitted_needlessly or 0.0)
        >= c.thresholds.needless_recoveries * (c.evidence.fast_recoveries or 0.0)
    ),
    lambda c: (
        f"{whole(c.evidence.retransmitted_needlessly)} of "
        f"{whole(c.evidence.fast_recoveries)} fast recoveries"
    ),
)
BOUND_BY_LOSS = Condition(
    "losses or marks bound it longest", lambda c: c.limit == "loss", limits_shown
)
LOSSY = Condition(
    "the path or losses bound it longest, and losses or marks cost {cost_felt:.0%} or more",
    _is_lossy,
    limits_shown,
)
MARKED = Condition(
    "congestion marks were echoed, and the path was below its rate after them longer than full",
    lambda c: bool(c.evidence.congestion_marks) and c.budget.loss > c.budget.path,
    lambda c: f"{whole(c.evidence.congestion_marks)} marks",
)
LOST = Condition(
    "packets were lost",
    _has_lost,
    lambda c: f"loss = {percent_words(c.evidence.loss)}",
)
LOSSES_NOT_OF_QUEUE = Condition(
    "losses fell at delays like all others (rank < {loss_delay_rank:g}, < "
    "{loss_delay_rank_queued:g} with a mean RTT of {link_queue_inflation:g} times its base or "
    "more). Either no queue stood (mean RTT below that and fewer than {link_queue_packets:g} "
    "packets above the base, fewer than {queued_of_queue:g} before losses), or the path was used "
    "for less than {path_used:.0%} (away from the sender: or full for less than {path_seen:.0%}, "
    "{path_felt:.0%} where {queued_of_queue:g} packets were queued before losses and "
    "{path_hardly_used:.0%} of the path's rate used, and the mean RTT < {queued_from_afar:g} times "
    "its base), and they cost something: less than {path_left_to_losses:.0%} of the path's rate "
    "passed, or the path was full for less than {path_felt:.0%} and showed fewer than "
    "{rate_change_samples:g} rates; the last alone where no delay is known before losses",
    lambda c: not are_losses_of_queue(c),
    _losses,
)
