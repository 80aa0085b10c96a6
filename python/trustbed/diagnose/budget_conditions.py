"""Conditions about where a transfer's time went, and why the rest went at its pace.

Bias: as for all conditions, an unknown number fulfils none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from trustbed.diagnose import budget
from trustbed.diagnose.conditions import Case, Condition, at_least, below
from trustbed.diagnose.loss_conditions import are_losses_of_queue
from trustbed.diagnose.shown import limits_shown
from trustbed.findings.words import (
    bytes_words,
    number_words,
    percent_words,
    rate_words,
    seconds_words,
    whole,
)


def _waits(case: Case) -> str:
    shares = case.budget
    silent = budget.interrupted_share(case.evidence)
    ended = " (silences that a timeout of the sender ended)" if 0 < silent == shares.outage else ""
    return (
        f"peer {percent_words(shares.peer)}, sender {percent_words(shares.sender)} (answering "
        f"{percent_words(shares.think)}, nothing to send {percent_words(shares.application)}, "
        f"allowed to send {percent_words(shares.machine)}), receiver's window "
        f"{percent_words(shares.receiver)}, no answer {percent_words(shares.outage)}{ended}"
    )


def _waited_for(name: str) -> Callable[[Case], bool]:
    def holds(case: Case) -> bool:
        waiter, share = case.longest_wait
        return waiter == name and share >= case.thresholds.wait_cost

    return holds


def _is_at_home(case: Case) -> bool:
    return case.evidence.pauses_estimated is False and below(
        case.evidence.answer_least_seconds, case.thresholds.at_home_seconds
    )


def _is_saturated(case: Case) -> bool:
    """Whether the path was never empty, so that silences of the sender cost nothing.

    Where the capturing machine held packets, the rate seen is the machine's. A sender that had its
    processor, is known to have had data, and kept the path full of them was late for nothing.
    What a queue delivered all along is no rate of a machine either.
    """
    shares, thresholds, evidence = case.budget, case.thresholds, case.evidence
    least = thresholds.path_saturated
    if evidence.pauses_estimated or _is_held_both_ways(case):
        return False
    if (
        evidence.workload == "bulk"
        and _is_machine_cleared(case)
        and at_least(evidence.pipe_full, least)
    ):
        return True
    all_along = shares.application + shares.think < thresholds.wait_cost and at_least(
        evidence.path_rate_samples, thresholds.rate_change_samples
    )
    return (all_along or shares.path >= shares.sender) and at_least(
        budget.use_of_path(evidence), least
    )


def _is_sender_waited_for(case: Case) -> bool:
    if not _waited_for("sender")(case):
        return False
    shares = case.budget
    if _is_saturated(case):
        return False
    if _is_at_home(case) or shares.machine <= shares.application + shares.think:
        return True
    # From afar a late acknowledgement looks like a late sender, and costs nothing while the path
    # has packets of the transfer waiting.
    return shares.machine >= case.thresholds.wait_over_path * (shares.path + shares.loss)


def _is_idle_now_and_then(case: Case) -> bool:
    shares, use = case.budget, budget.use_of_path(case.evidence)
    return (
        _is_at_home(case)
        and case.evidence.workload != "bulk"
        and shares.application >= case.thresholds.application_felt
        and shares.application > 2 * shares.machine
        and (use is None or use < case.thresholds.path_saturated)
    )


def _bound_by(limit: str) -> Callable[[Case], bool]:
    return lambda case: case.limit == limit


def _has_rate_changed(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    ratio = budget.rate_ratio(evidence)
    residual = evidence.path_rate_change_residual or 0.0
    seen = thresholds.path_seen if residual > thresholds.rate_change_clear else thresholds.path_felt
    if ratio is None or not at_least(evidence.path, seen):
        return False
    if not at_least(evidence.path_rate_samples, thresholds.rate_change_samples):
        return False
    changed_at = evidence.path_rate_change_seconds
    begun = None if changed_at is None else changed_at / (evidence.duration_seconds or math.inf)
    trips = None if changed_at is None else changed_at / (evidence.rtt_seconds or math.inf)
    brief = below(begun, thresholds.wait_cost) or below(trips, thresholds.start_round_trips)
    if brief and residual > thresholds.rate_change_clear:
        return False  # a start that takes more of a shared queue than its later share
    changed = max(ratio, 1 / ratio) >= thresholds.rate_change
    apart = abs(math.log(ratio))
    return (
        changed
        and residual <= thresholds.rate_change_left
        and apart >= thresholds.rate_change_apart * (evidence.path_rate_change_spread or 0.0)
    )


def _is_bucket_plausible(case: Case) -> bool:
    if (case.evidence.path_rate_changes or 0.0) > 1.0:
        return False
    held, rate = (
        budget.bytes_above_later_rate(case.evidence),
        case.evidence.path_rate_after_bytes_per_second,
    )
    if held is None or rate is None:
        return False
    most = min(
        case.thresholds.bucket_plausible_megabytes * 1e6,
        case.thresholds.bucket_plausible_seconds * rate,
    )
    return 0 < held <= most


def _rates(case: Case) -> str:
    evidence = case.evidence
    return (
        f"{rate_words(evidence.path_rate_before_bytes_per_second)} then "
        f"{rate_words(evidence.path_rate_after_bytes_per_second)}, "
        f"{bytes_words(budget.bytes_above_later_rate(evidence))} above the later rate, "
        f"residual {percent_words(evidence.path_rate_change_residual)}"
    )


def _buffer_costs_most(case: Case) -> bool:
    """The kernel's share is of its busy time: of the time in which nobody was waited for."""
    shares = case.budget
    application = shares.think + shares.application
    busy = max(0.0, 1.0 - shares.peer - application)
    limited = busy * (case.evidence.send_buffer_limited or 0.0)
    return limited >= max(shares.peer, application)


def _is_receiver_silent(case: Case) -> bool:
    return at_least(
        budget.ack_silence_share(case.evidence), case.thresholds.wait_cost
    ) and at_least(case.evidence.ack_silences, case.thresholds.pattern_least)


def _is_held_both_ways(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    return (
        evidence.pauses_estimated is False
        and at_least(budget.held_share(evidence), thresholds.held_share)
        and at_least(evidence.acks_held, thresholds.pattern_least)
        and at_least(evidence.data_held, thresholds.pattern_least)
    )


def _is_queued_at_home(case: Case) -> bool:
    return _is_at_home(case) and at_least(
        budget.lag_share(case.evidence), case.thresholds.lag_share
    )


def _is_long_at_home(case: Case) -> bool:
    lag, base = case.evidence.departure_lag_seconds, case.evidence.rtt_base_seconds
    return lag is not None and base is not None and 0 < base <= lag


def _is_limited_at_home(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    stands = at_least(evidence.path, thresholds.path_felt) or _is_long_at_home(case)
    return (
        _is_queued_at_home(case)
        and stands
        and at_least(evidence.departure_steadiness, thresholds.departures_steady)
    )


def _is_released_in_bursts(case: Case) -> bool:
    return (
        _is_queued_at_home(case)
        and _is_long_at_home(case)
        and below(case.evidence.departure_steadiness, case.thresholds.departures_steady)
    )


def _is_path_left(case: Case) -> bool:
    """Whether queueing is what a window's own bursts and jitter make on a path that is not full."""
    return (
        not case.evidence.loss_events
        and below(budget.use_of_path(case.evidence), case.thresholds.path_left_by_window)
        and _has_met_window(case)
    )


def _is_processor_missing(case: Case) -> bool:
    """A processor that is missing for a tenth of a host's silences does not explain them."""
    missed, thresholds = case.evidence.processor_missed, case.thresholds
    if at_least(missed, thresholds.processor_mostly_missed):
        return True
    explained = missed is None or missed >= thresholds.silences_missed * case.budget.sender
    return explained and below(case.evidence.cpu_share, thresholds.cpu_starved)


def _has_filled(case: Case) -> bool:
    evidence, thresholds, shares = case.evidence, case.thresholds, case.budget
    periods, duration = evidence.idle_periods or 0.0, evidence.duration_seconds or math.inf
    most, window = evidence.outstanding_max_bytes, evidence.window_bytes
    return (
        _is_at_home(case)
        and below(evidence.departure_steadiness, thresholds.departures_steady)
        and shares.machine > 2 * (shares.application + shares.think)
        and periods >= thresholds.filled_periods
        and periods >= thresholds.filled_per_second * duration
        and bool(most and window and most >= thresholds.filled_window * window)
    )


def _has_met_window(case: Case) -> bool:
    allowed, least = case.numbers.x1_bytes_per_second, case.thresholds.explained_ratio
    rates = (
        case.evidence.throughput_bytes_per_second,
        case.evidence.sending_rate_bytes_per_second,
    )
    if allowed is None or case.budget.window >= 0.5:
        return True
    return any(at_least(rate, least * allowed) for rate in rates)


def _is_machine_cleared(case: Case) -> bool:
    return below(case.evidence.processor_missed, case.thresholds.processor_missed)


def _is_path_shared(case: Case) -> bool:
    """Whether others used the path, too: a queue whose rate never shows is not this transfer's."""
    evidence, thresholds = case.evidence, case.thresholds
    rate, best = (
        evidence.sending_rate_bytes_per_second,
        evidence.path_rate_high_bytes_per_second,
    )
    if rate and best:
        return rate / best < thresholds.share_of_path
    return evidence.path_rate_bytes_per_second is None and below(
        evidence.path, thresholds.path_felt
    )


RECEIVER_TIMED = Condition(
    "the receiver was silent with data outstanding for {wait_cost:.0%} of the time or more, "
    "{pattern_least:g} times or more, once for at most {ack_silence_segments:g} segments: "
    "acknowledgements waited for a timer",
    lambda c: (
        _is_receiver_silent(c)
        and below(budget.segments_per_ack_silence(c.evidence), c.thresholds.ack_silence_segments)
    ),
    lambda c: (
        f"{percent_words(budget.ack_silence_share(c.evidence))} of the time, once for "
        f"{number_words(budget.segments_per_ack_silence(c.evidence))} segments"
    ),
)
KNOWN = Condition(
    "the transfer's time was cut into states",
    lambda c: budget.is_known(c.evidence),
    limits_shown,
)
PEER_WAITED_FOR = Condition(
    "waiting for the peer's requests or answers costs most, and {wait_cost:.0%} or more",
    _waited_for("peer"),
    _waits,
)
SENDER_WAITED_FOR = Condition(
    "silences of the sending host, which could have sent, cost most, and {wait_cost:.0%} or more, "
    "and beside it the path was not full for longer (nor, unless the application waited for "
    "{wait_cost:.0%}, seen in {rate_change_samples:g} rates) while {path_saturated:.0%} of its "
    "rate passed, or packets were held in both directions; not where a bulk sender that had its "
    "processor kept the path full for {path_saturated:.0%} of the time; not on that host itself "
    "(no reaction within {at_home_seconds:g} s), those with data outstanding cost "
    "{wait_over_path:.0%} or more of what the path and its losses cost",
    _is_sender_waited_for,
    _waits,
)
RECEIVER_WAITED_FOR = Condition(
    "a window that was closed or had shrunk costs most, and {wait_cost:.0%} or more",
    _waited_for("receiver"),
    _waits,
)
NOBODY_ANSWERED = Condition(
    "retransmissions without an answer cost most, and {wait_cost:.0%} or more",
    _waited_for("outage"),
    _waits,
)
IDLE_NOW_AND_THEN = Condition(
    "on the sending host itself, nothing was left to send for {application_felt:.0%} of the time "
    "or more, twice as long as it waited with data, less than {path_saturated:.0%} of the path's "
    "rate passed, and the workload was not declared as bulk",
    _is_idle_now_and_then,
    _waits,
)
DATA_WAITED = Condition(
    "most of the sender's silences began with data outstanding or after a full segment",
    lambda c: c.budget.machine > c.budget.application + c.budget.think,
    _waits,
)
SENDER_PAUSED = Condition(
    "silences of the sending host cost {cost_felt:.0%} or more, and beside it the path was not "
    "full for longer (nor, unless the application waited for {wait_cost:.0%}, seen in "
    "{rate_change_samples:g} rates) while {path_saturated:.0%} of its rate passed, or packets were "
    "held in both directions",
    lambda c: c.budget.sender >= c.thresholds.cost_felt and not _is_saturated(c),
    _waits,
)
FILLED_WHENEVER_RAN = Condition(
    "on the sending host itself, whose departures are not steady (P10/P90 < "
    "{departures_steady:g}), as a pacer's are: {filled_periods:g} silences or more, "
    "{filled_per_second:g} a second or more, with data outstanding or after a full segment, and "
    "outstanding data reached {filled_window:.0%} of the window in between: it had more to send "
    "whenever it ran",
    lambda c: _has_filled(c),
    lambda c: (
        f"{whole(c.evidence.idle_periods)} silences, at most "
        f"{bytes_words(c.evidence.outstanding_max_bytes)} outstanding of "
        f"{bytes_words(c.evidence.window_bytes)}"
    ),
)
WINDOW_MET = Condition(
    "the window was full for half of the time or more, or X, or the rate while sending, is "
    "{explained_ratio:.0%} of X₁ or more, or X₁ is unknown",
    lambda c: _has_met_window(c),
    lambda c: (
        f"{rate_words(c.evidence.sending_rate_bytes_per_second)} while sending, X₁ = "
        f"{rate_words(c.numbers.x1_bytes_per_second)}"
    ),
)
DECLARED_BULK = Condition(
    "workload declared as bulk",
    lambda c: c.evidence.workload == "bulk",
    lambda c: f"workload = {c.evidence.workload}",
)
PROCESSOR_SEEN_MISSING = Condition(
    "processor_missed ≥ {processor_mostly_missed:.0%}, or cpu_share < {cpu_starved:g} and "
    "processor_missed ≥ {silences_missed:.0%} of the sender's silences",
    _is_processor_missing,
    lambda c: (
        f"processor_missed = {percent_words(c.evidence.processor_missed)}, cpu_share = "
        f"{number_words(c.evidence.cpu_share)}"
    ),
)
PROCESSOR_SEEN_FREE = Condition(
    "processor_missed < {processor_missed:.0%}",
    _is_machine_cleared,
    lambda c: f"processor_missed = {percent_words(c.evidence.processor_missed)}",
)
PROCESSOR_NOT_SEEN_FREE = Condition(
    "no samples, or processor_missed ≥ {processor_missed:.0%}",
    lambda c: not _is_machine_cleared(c),
    lambda c: f"processor_missed = {percent_words(c.evidence.processor_missed)}",
)
APPLICATION_EXCLUDED = Condition(
    "silences of the sending host cost most, and its application is excluded: workload declared as "
    "bulk, or the window filled whenever it ran",
    lambda c: (
        SENDER_WAITED_FOR.holds(c) and (DECLARED_BULK.holds(c) or FILLED_WHENEVER_RAN.holds(c))
    ),
    _waits,
)
BUFFER_LIMITED = Condition(
    "by its kernel the send buffer limited it for {kernel_time_share:.0%} of its busy time or more",
    lambda c: at_least(c.evidence.send_buffer_limited, c.thresholds.kernel_time_share),
    lambda c: f"send_buffer_limited = {percent_words(c.evidence.send_buffer_limited)}",
)
BUFFER_COSTS_MOST = Condition(
    "neither its application nor its peer was waited for longer than that",
    _buffer_costs_most,
    _waits,
)
RECEIVER_SILENT = Condition(
    "the receiver was silent for {wait_cost:.0%} of the time, {pattern_least:g} times or "
    "more, each time longer than a round trip, and then acknowledged everything at once",
    _is_receiver_silent,
    lambda c: (
        f"{whole(c.evidence.ack_silences)} silences, "
        f"{percent_words(budget.ack_silence_share(c.evidence))} of the time"
    ),
)
HELD_BOTH_WAYS = Condition(
    "on the sending host itself: packets of the receiver, sent apart by its own clock, came "
    "together {pattern_least:g} times or more, {held_share:.0%} of the time in sum, and "
    "{pattern_least:g} or more of the data passed late by the sender's own clock: the machine in "
    "between did not run",
    _is_held_both_ways,
    lambda c: (
        f"{whole(c.evidence.acks_held)} times, {percent_words(budget.held_share(c.evidence))} "
        f"of the time, and {whole(c.evidence.data_held)} of the data"
    ),
)
SILENCES_HELD = Condition(
    "captured on the sending host (its reactions come within {at_home_seconds:g} s): no packet of "
    "the receiver for {wait_cost:.0%} of the time, {pattern_least:g} times or more, each time "
    "longer than a round trip, and acknowledgements that it had sent apart by its own clock came "
    "together {pattern_least:g} times or more; not where by that clock it sent nothing for as long "
    "in most of these silences",
    lambda c: (
        _is_at_home(c)
        and _is_receiver_silent(c)
        and at_least(c.evidence.acks_held, c.thresholds.pattern_least)
        and not budget.were_receivers_own(c.evidence)
    ),
    lambda c: (
        f"{whole(c.evidence.ack_silences)} silences, "
        f"{percent_words(budget.ack_silence_share(c.evidence))} of the time, "
        f"{whole(c.evidence.ack_silences_own)} of them its own; held "
        f"{whole(c.evidence.acks_held)} times"
    ),
)
RATE_CHANGED = Condition(
    "with the path full for {path_seen:.0%} or more ({path_felt:.0%} where at most "
    "{rate_change_clear:.0%} of the variance are left), its rate changed by a factor of "
    "{rate_change:g} or more, up to four levels leave at most {rate_change_left:.0%} of its "
    "variance, and lie {rate_change_apart:g} standard deviations apart; the first of them lasted "
    "for {wait_cost:.0%} of the transfer and {start_round_trips:g} round trips, or at most "
    "{rate_change_clear:.0%} are left; "
    "{rate_change_samples:g} rates at least",
    _has_rate_changed,
    _rates,
)
BUCKET_PLAUSIBLE = Condition(
    "it fell once, and what passed above the later rate is at most "
    "{bucket_plausible_megabytes:g} MB and {bucket_plausible_seconds:g} s of that rate, which a "
    "token bucket may hold",
    _is_bucket_plausible,
    _rates,
)
RATE_FELL = Condition(
    "it changed once, and the later rate is the lower one",
    lambda c: (
        (budget.rate_ratio(c.evidence) or 0.0) > 1.0
        and (c.evidence.path_rate_changes or 0.0) <= 1.0
    ),
    _rates,
)
LIMITED_AT_HOME = Condition(
    "on the sending host itself (its reactions come within {at_home_seconds:g} s), "
    "{lag_share:.0%} or more of the standing queue lies between the sender's stack and the "
    "capture, by its own clock, the path is full for {path_felt:.0%} or that queue as long as a "
    "base RTT, and departures are steady (P10/P90 ≥ {departures_steady:g})",
    _is_limited_at_home,
    lambda c: (
        f"share of the queue before the capture = {percent_words(budget.lag_share(c.evidence))}"
    ),
)
RELEASED_IN_BURSTS = Condition(
    "on the sending host itself (its reactions come within {at_home_seconds:g} s), "
    "{lag_share:.0%} or more of the standing queue, and a base RTT or more, lies between the "
    "sender's stack and the capture, by its own clock, and departures are not steady (P10/P90 < "
    "{departures_steady:g}): no rate drains it",
    _is_released_in_bursts,
    lambda c: (
        f"share of the queue before the capture = {percent_words(budget.lag_share(c.evidence))}, "
        f"{seconds_words(c.evidence.departure_lag_seconds)}, P10/P90 = "
        f"{number_words(c.evidence.departure_steadiness)}"
    ),
)
SENDER_HALF_LATE = Condition(
    "away from the sender, neither path nor losses bound it longest, departures are not "
    "steady (P10/P90 < {departures_steady:g}), and its half of the round trip lies "
    "{late_half:.0%} of it or more above its least, without a queue by its clock",
    lambda c: (
        c.limit in ("window", "start", "buffer")
        and below(c.evidence.departure_steadiness, c.thresholds.departures_steady)
        and at_least(budget.late_half(c.evidence), c.thresholds.late_half)
    ),
    lambda c: f"late half = {percent_words(budget.late_half(c.evidence))} of the RTT",
)
BOUND_BY_BUFFER = Condition(
    "it was bound longest by outstanding data that stood below the window",
    _bound_by("buffer"),
    limits_shown,
)
BOUND_BY_START = Condition(
    "it was bound longest by its own growth", _bound_by("start"), limits_shown
)
GREW_TOO_LONG = Condition(
    "it grew for {growing_round_trips:g} base round trips or more",
    lambda c: at_least(budget.growing_round_trips(c.evidence), c.thresholds.growing_round_trips),
    lambda c: f"{number_words(budget.growing_round_trips(c.evidence))} round trips",
)
PATH_LITTLE_USED = Condition(
    "the path was full for less than {path_felt:.0%} of the time, and less than {path_used:.0%} of "
    "its rate passed",
    lambda c: (
        below(c.evidence.path, c.thresholds.path_felt)
        and below(budget.use_of_path(c.evidence), c.thresholds.path_used)
    ),
    lambda c: f"{limits_shown(c)}; {percent_words(budget.use_of_path(c.evidence))} of its rate",
)
BOUND_BY_PATH_OR_ITS_LOSSES = Condition(
    "the path bound it longest, or losses that its queue made; not where nothing was lost, "
    "less than {path_left_by_window:.0%} of the path's rate passed, and the window's was met",
    lambda c: (
        (c.limit == "path" and not _is_path_left(c))
        or (c.limit == "loss" and are_losses_of_queue(c))
    ),
    lambda c: f"{limits_shown(c)}; {percent_words(budget.use_of_path(c.evidence))} of its rate",
)
FLOOR_FELT = Condition(
    "window or path bound more than half of the time",
    lambda c: c.budget.window + c.budget.path > 0.5,
    limits_shown,
)
SHARED = Condition(
    "the rate while sending stayed below {share_of_path:.0%} of what the path delivered at best, "
    "or no rate of the path shows and it was full for less than {path_felt:.0%}: "
    "others filled it, or its queue is too short to keep it full",
    _is_path_shared,
    lambda c: (
        f"{rate_words(c.evidence.sending_rate_bytes_per_second)} of "
        f"{rate_words(c.evidence.path_rate_high_bytes_per_second)}; {limits_shown(c)}"
    ),
)
