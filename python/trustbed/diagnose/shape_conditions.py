"""Conditions about the shape of a transfer over time.

What changed in it, and what happened just before losses.

Bias: as for all conditions, an unknown number fulfils none of them; only *losses away from the
queue* falls back on the mean RTT.
"""

from __future__ import annotations

import math

from trustbed.diagnose import shapes
from trustbed.diagnose.conditions import WINDOW_CLOSED, Case, Condition, at_least, below
from trustbed.diagnose.sender_conditions import ANSWERS_LATE, LATE_FROM_AFAR
from trustbed.diagnose.shown import inflation_shown, rates_shown, share_shown
from trustbed.findings.words import number_words, percent_words, rate_words, seconds_words


def _silent_seconds(case: Case) -> float:
    return shapes.silent_seconds(case.evidence)


def _is_silent(case: Case) -> bool:
    silent, duration = _silent_seconds(case), case.evidence.duration_seconds
    rtt = case.evidence.rtt_seconds or case.evidence.rtt_base_seconds or 0.0
    if silent < case.thresholds.silent_round_trips * rtt or _loses_all_the_time(case):
        return False
    return (
        silent > 0
        and bool(duration)
        and silent >= case.thresholds.outage_share * (duration or 0.0)
        and not WINDOW_CLOSED.holds(case)
    )


def _loses_all_the_time(case: Case) -> bool:
    """From afar every missing segment is an event, and their number is no evidence."""
    return (
        not case.evidence.pauses_estimated
        and (case.evidence.loss_events or 0.0) > case.thresholds.outage_loss_events
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


def _is_burst(case: Case) -> bool:
    """A high rate, then a lower one that is steady and behind a queue.

    Or a mean above the steady rate it ended with.
    """
    evidence, thresholds = case.evidence, case.thresholds
    if LATE_FROM_AFAR.holds(case) or _is_shrunk(case):
        return False
    if at_least(shapes.mean_over_steady(evidence), thresholds.burst_mean_ratio):
        return True
    left, low, middle, floor, base = (
        evidence.sustained_rate_bytes_per_second,
        evidence.rate_low_bytes_per_second,
        evidence.rate_middle_bytes_per_second,
        evidence.sustained_rtt_min_seconds,
        evidence.rtt_base_seconds,
    )
    if not left or low is None or middle is None or floor is None or base is None:
        return False
    steady = max(abs(low / left - 1), abs(middle / left - 1)) <= thresholds.burst_steadiness
    queued = floor >= thresholds.inflation * (base + shapes.packets_own_seconds(evidence))
    return steady and queued and at_least(shapes.burst_ratio(evidence), thresholds.burst_ratio)


def _is_steady_link(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    low, high = evidence.rate_low_bytes_per_second, evidence.rate_high_bytes_per_second
    if low is None or not high:
        return False
    return low >= thresholds.steady_link * high and at_least(
        shapes.high_inflation(evidence), thresholds.steady_link_inflation
    )


def _is_window_full_and_slow(case: Case) -> bool:
    evidence, numbers, thresholds = case.evidence, case.numbers, case.thresholds
    rate, allowed = evidence.throughput_bytes_per_second, numbers.x1_bytes_per_second
    calm = below(numbers.rtt_inflation, thresholds.inflation) and evidence.loss == 0
    slow = rate is not None and allowed is not None and rate < thresholds.explained_ratio * allowed
    full = at_least(evidence.rwnd_limited, thresholds.window_saturated)
    return calm and slow and (full or _is_full_while_paced(case))


def _is_full_while_paced(case: Case) -> bool:
    """A kernel does not count its waits for pacing as waits for the window.

    For a host that was not starved the capture shows the rest.
    """
    evidence, thresholds = case.evidence, case.thresholds
    there = below(evidence.processor_missed, thresholds.processor_missed)
    half = at_least(evidence.rwnd_limited, thresholds.kernel_time_share)
    return there and half and at_least(evidence.window_saturated, thresholds.window_saturated)


def _is_growing(case: Case) -> bool:
    """Short, without loss, and faster and faster to its end."""
    evidence, thresholds = case.evidence, case.thresholds
    rate, high, duration, rtt = (
        evidence.throughput_bytes_per_second,
        evidence.rate_high_bytes_per_second,
        evidence.duration_seconds,
        evidence.rtt_base_seconds,
    )
    if not rate or high is None or not duration or not rtt or evidence.loss_events:
        return False
    bent = evidence.burst_rate_bytes_per_second is not None
    return (
        not bent
        and duration <= thresholds.growing_round_trips * rtt
        and high >= thresholds.growing_ratio * rate
    )


def _is_away(case: Case) -> bool:
    rank = shapes.queue_at_loss(case.evidence)
    if rank is None:
        return not at_least(case.numbers.rtt_inflation, case.thresholds.inflation)
    return rank < case.thresholds.queue_at_loss or below(
        shapes.packets_at_loss(case.evidence), case.thresholds.packets_at_loss
    )


def _is_bucket_empty(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    if not at_least(evidence.loss, thresholds.loss_negligible):
        return False
    low, middle, high = (
        evidence.rate_low_bytes_per_second,
        evidence.rate_middle_bytes_per_second,
        evidence.rate_high_bytes_per_second,
    )
    steady = low is not None and high is not None and low >= thresholds.policed_steadiness * high
    if at_least(evidence.loss, thresholds.loss_policed) and steady:
        return True
    even = low is not None and middle is not None and low >= thresholds.policed_evenness * middle
    if at_least(evidence.loss, thresholds.loss_policed_even) and even:
        return True
    rank, events = evidence.loss_level_rank, evidence.loss_events or 0.0
    # The median rank of independent losses scatters around one half.
    chance = thresholds.rank_sureness * 0.5 / math.sqrt(max(0.0, events) + 2)
    if rank is None or rank + chance >= 0.5:
        return False
    return rank <= thresholds.loss_level_rank or (
        at_least(evidence.loss, thresholds.loss_policed_ranked) and steady
    )


def _is_policed(case: Case) -> bool:
    """Losses follow bursts or empty buckets, exchange by exchange, and no queue stands before them.

    Flach et al. 2016, and bursts beside: whoever shares the bucket empties it unseen, and still a
    burst finds too few tokens rather than a lone packet.
    """
    evidence, thresholds = case.evidence, case.thresholds
    queued = evidence.queued_before_loss
    if queued is None or queued > thresholds.queued_policed:
        return False
    if at_least(evidence.loss_delay_rank, thresholds.loss_delay_rank):
        return False
    if not at_least(evidence.loss, thresholds.loss_policed_exchanges):
        return False
    tried, emptied = evidence.exchanges_lossy or 0.0, evidence.exchanges_bucket_empty or 0.0
    if emptied and emptied >= thresholds.exchanges_bucket_empty * tried:
        return True
    rank, samples = evidence.loss_burst_rank, evidence.loss_burst_samples or 0.0
    # The mean of independent ranks scatters by 1/√(12·n) around one half.
    return (
        rank is not None
        and samples >= thresholds.loss_burst_samples
        and rank >= thresholds.loss_burst_rank
        and (rank - 0.5) * math.sqrt(12 * samples) >= thresholds.loss_burst_sureness
    )


def _is_pipe_full(case: Case) -> bool:
    """Whether the path, not the sender's pace, kept the pipe full.

    "Full" is relative to the transfer's own rate, so any even pace fills its pipe, that of a host
    that is stopped for 35 ms of every 50 ms too. Three signs of such a pace rule a full path out:
    pauses longer than the RTT, moments with nothing in flight, and a sender that reacts late.
    """
    evidence, thresholds = case.evidence, case.thresholds
    full = at_least(evidence.pipe_full, thresholds.pipe_always_full) and at_least(
        case.numbers.rtt_inflation, thresholds.inflation
    )
    return full and not (
        at_least(evidence.long_pause_fraction, thresholds.long_pause_fraction)
        or at_least(evidence.empty_fraction, thresholds.empty_fraction)
        or ANSWERS_LATE.holds(case)
    )


def _is_overflowed(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    overflowed = at_least(shapes.queue_at_loss(evidence), thresholds.queue_overflowed)
    return overflowed and at_least(
        shapes.high_inflation(evidence), thresholds.steady_link_inflation
    )


def _is_even_though_lossy(case: Case) -> bool:
    """Loss makes a sender's rate uneven, unless a queue keeps the link full meanwhile."""
    evidence = case.evidence
    low, high = evidence.rate_low_bytes_per_second, evidence.rate_high_bytes_per_second
    return (
        bool(evidence.loss_events)
        and low is not None
        and high is not None
        and low >= case.thresholds.even_link * high > 0
    )


def _is_reordered(case: Case) -> bool:
    """More segments late or repeated in vain than lost."""
    evidence = case.evidence
    share = shapes.late_share(evidence)
    return at_least(share, case.thresholds.reordered_segments) and (share or 0.0) > (
        evidence.loss or 0.0
    )


def _is_shrunk(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    least, most = evidence.window_least_bytes, evidence.window_bytes
    if least is not None and most is not None and least > thresholds.window_varied * most:
        return False
    if _is_reordered(case):
        return False
    return at_least(evidence.window_shrunk, thresholds.window_shrunk) and at_least(
        evidence.rwnd_limited, thresholds.window_full
    )


def _is_loss_possible(case: Case) -> bool:
    numbers, evidence = case.numbers, case.evidence
    allowed = numbers.loss_allows_bytes_per_second
    others = [
        bound
        for bound in (numbers.x1_bytes_per_second, numbers.x3_bytes_per_second)
        if bound is not None
    ]
    return (
        bool(evidence.loss_events)
        and allowed is not None
        and bool(others)
        and allowed < case.thresholds.loss_bound_margin * min(others)
    )


def _silence(case: Case) -> str:
    return (
        f"without an answer {seconds_words(_silent_seconds(case))} of "
        f"{seconds_words(case.evidence.duration_seconds)}"
    )


def _floors(case: Case) -> str:
    evidence = case.evidence
    return (
        f"floor {seconds_words(evidence.floor_before_seconds)} then "
        f"{seconds_words(evidence.floor_after_seconds)}, "
        f"left = {percent_words(evidence.floor_left)}, flight ratio = "
        f"{number_words(evidence.floor_flight_ratio)}"
    )


def _before_losses(case: Case) -> str:
    rank = number_words(shapes.queue_at_loss(case.evidence))
    before, packets = (
        seconds_words(case.evidence.rtt_before_loss_seconds),
        number_words(shapes.packets_at_loss(case.evidence)),
    )
    return (
        f"{inflation_shown(case)}, RTT before losses {before}, queue at loss = {rank}, "
        f"{packets} packets"
    )


def _shrinking(case: Case) -> str:
    return (
        f"window_shrunk = {percent_words(case.evidence.window_shrunk)}, rwnd_limited = "
        f"{percent_words(case.evidence.rwnd_limited)}"
    )


FULL_AND_SLOW = Condition(
    "the window full for {window_saturated:.0%} of the time (for {kernel_time_share:.0%} by the "
    "sending kernel's account, where its host is cleared and window_saturated ≥ "
    "{window_saturated:.0%}) without loss or inflation, and yet X < {explained_ratio:g} · X₁: "
    "acknowledgements came later than the RTT samples show",
    _is_window_full_and_slow,
    lambda c: (
        f"rwnd_limited = {percent_words(c.evidence.rwnd_limited)}, X₁ = "
        f"{rate_words(c.numbers.x1_bytes_per_second)}"
    ),
)
GROWING = Condition(
    "at most {growing_round_trips:g} round trips without loss, P90 of the delivery rate ≥ "
    "{growing_ratio:g} times its mean, and never a bend",
    _is_growing,
    rates_shown,
)
SILENT = Condition(
    "no response for {outage_share:.0%} of the transfer and {silent_round_trips:g} round trips "
    "with data outstanding and the window open, and losses were not continual (more than "
    "{outage_loss_events:g} events beside the sender)",
    _is_silent,
    _silence,
)
STEPPED = Condition(
    "the RTT's floor stepped once by {floor_step:.0%} or more, the step leaves at most "
    "{floor_left:.0%} of its variation, and the same data were in flight before and after",
    _is_stepped,
    _floors,
)
BURST_FIRST = Condition(
    "{burst_ratio:g} times as fast until a bend as after it, its P10 and median within "
    "{burst_steadiness:.0%} of that rate and queued afterwards; or its mean is "
    "{burst_mean_ratio:g} times the steady rate seen",
    _is_burst,
    rates_shown,
)
LOSSES_AWAY = Condition(
    "i < {inflation:g} or unknown, or the RTT just before losses lies below {queue_at_loss:.0%} "
    "of its range, or less than {packets_at_loss:g} packets above an empty path's",
    _is_away,
    _before_losses,
)
LOSSES_AWAY_FROM_QUEUE = Condition(
    "the RTT just before losses lies below {queue_at_loss:.0%} of its range",
    lambda c: below(shapes.queue_at_loss(c.evidence), c.thresholds.queue_at_loss),
    _before_losses,
)
BUCKET_EMPTY = Condition(
    "losses at a token bucket emptier than at all but {loss_level_rank:.0%} of the packets, not "
    "by chance (rank + {rank_sureness:g} · 0.5/√(losses + 2) < 0.5); or P10 ≥ "
    "{policed_steadiness:g} · P90 of the delivery rate in spite of loss ≥ {loss_policed:.0%}, "
    "or, not by chance, of loss ≥ {loss_policed_ranked:.0%}; or P10 ≥ {policed_evenness:g} · P50 "
    "in spite of loss ≥ {loss_policed_even:.0%}",
    _is_bucket_empty,
    share_shown("rank of losses", lambda c: c.evidence.loss_level_rank),
)
POLICED = Condition(
    "loss ≥ {loss_policed_exchanges:.0%} with at most {queued_policed:g} packets queued before "
    "losses, and either the token bucket empty at the losses of {exchanges_bucket_empty:.0%} of "
    "the lossy exchanges, or losses after bursts (burst rank of {loss_burst_samples:g} or "
    "more ≥ {loss_burst_rank:g}, not by chance: "
    "{loss_burst_sureness:g} standard deviations above 0.5)",
    _is_policed,
    lambda c: (
        f"{number_words(c.evidence.queued_before_loss)} packets queued, bucket empty in "
        f"{number_words(c.evidence.exchanges_bucket_empty)} of "
        f"{number_words(c.evidence.exchanges_lossy)} exchanges, burst rank "
        f"{number_words(c.evidence.loss_burst_rank)}"
    ),
)
LATE = Condition(
    "late or needlessly retransmitted segments ≥ {reordered_segments:.1%}, and more than were lost",
    _is_reordered,
    share_shown("late", lambda c: shapes.late_share(c.evidence)),
)
IN_VAIN = Condition(
    "late or needlessly retransmitted segments ≥ {reordered_in_vain:.1%}, and more than were lost",
    lambda c: (
        at_least(shapes.late_share(c.evidence), c.thresholds.reordered_in_vain)
        and (shapes.late_share(c.evidence) or 0.0) > (c.evidence.loss or 0.0)
    ),
    share_shown("late", lambda c: shapes.late_share(c.evidence)),
)
CLEARLY_LATE = Condition(
    "late or needlessly retransmitted segments ≥ {reordering_clear:.1%}",
    lambda c: at_least(shapes.late_share(c.evidence), c.thresholds.reordering_clear),
    share_shown("late", lambda c: shapes.late_share(c.evidence)),
)
WINDOW_SHRUNK = Condition(
    "window_shrunk ≥ {window_shrunk:.0%}, its least ≤ {window_varied:g} of its largest, "
    "rwnd_limited ≥ {window_full:.0%}, and no reordering whose segments wait in the receiver's "
    "buffer",
    _is_shrunk,
    _shrinking,
)
LOSS_POSSIBLE = Condition(
    "losses, however few, and X₂ of so few < {loss_bound_margin:g} · min(X₁, X₃)",
    _is_loss_possible,
    lambda c: f"X₂ unrefuted = {rate_words(c.numbers.loss_allows_bytes_per_second)}",
)
ANSWERS_DELAYED = Condition(
    "{delayed_answers:.0%} or more of the RTT samples waited for a timer",
    lambda c: at_least(c.evidence.delayed_answers, c.thresholds.delayed_answers),
    share_shown("delayed", lambda c: c.evidence.delayed_answers),
)
PIPE_FULL = Condition(
    "i ≥ {inflation:g}, the path full for {pipe_always_full:.0%} of the time or more, few pauses "
    "longer than the RTT (f < {long_pause_fraction:.0%}), data in flight (empty < "
    "{empty_fraction:.0%}), and no late reactions (< {answer_late:.0%} of the base RTT) beside "
    "the sender",
    _is_pipe_full,
    lambda c: (
        f"pipe_full = {percent_words(c.evidence.pipe_full)}, {inflation_shown(c)}, empty = "
        f"{percent_words(c.evidence.empty_fraction)}, reaction = "
        f"{percent_words(shapes.answer_share(c.evidence))} of the base RTT"
    ),
)
STEADY_LINK = Condition(
    "P10 ≥ {steady_link:g} · P90 of the delivery rate, and the RTT's 99th percentile ≥ "
    "{steady_link_inflation:g} times base and own packets",
    _is_steady_link,
    rates_shown,
)
QUEUE_OVERFLOWED = Condition(
    "the RTT just before losses lies above {queue_overflowed:.0%} of its range, whose top is "
    "{steady_link_inflation:g} times base and own packets or more",
    _is_overflowed,
    _before_losses,
)
EVEN_THOUGH_LOSSY = Condition(
    "losses, and P10 ≥ {even_link:g} · P90 of the delivery rate in spite of them",
    _is_even_though_lossy,
    rates_shown,
)
NO_LOSS = Condition(
    "no loss", lambda c: c.evidence.loss == 0, share_shown("loss", lambda c: c.evidence.loss)
)
