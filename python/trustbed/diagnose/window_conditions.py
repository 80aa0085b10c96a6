"""Conditions about round trips: whether a full window was the only limit, what came late.

Bias: as for all conditions, an unknown number fulfils none of them.
"""

from __future__ import annotations

from trustbed.diagnose.conditions import Case, Condition, at_least
from trustbed.diagnose.shown import limits_shown
from trustbed.findings.words import (
    bytes_words,
    number_words,
    percent_words,
    rate_words,
    seconds_words,
    whole,
)


def _has_segments(case: Case) -> bool:
    window, payload = case.evidence.window_bytes, case.evidence.payload_bytes
    if not window or not payload:
        return False
    return window >= case.thresholds.window_plain_segments * payload


def _is_window_plain(case: Case) -> bool:
    """Whether a window of several segments was full, without a queue, for a good part of it.

    From afar a sender that acts late inflates the RTT as well.
    """
    shares = case.budget
    return (
        case.evidence.pauses_estimated is False
        and _has_segments(case)
        and shares.window >= case.thresholds.window_in_between
        and case.limit in ("window", "path")
    )


def _inflated(seconds: float | None, case: Case) -> float | None:
    base = case.evidence.rtt_base_seconds
    return seconds / base if seconds is not None and base else None


def _is_window_in_a_queue(case: Case) -> bool:
    return _is_window_plain(case) and at_least(
        _inflated(case.evidence.rtt_seconds, case), case.thresholds.window_plain_inflation
    )


def _are_acknowledgements_late(case: Case) -> bool:
    if case.limit != "window":
        return False
    late = _inflated(case.evidence.acknowledged_late_seconds, case)
    if late is not None:
        return (
            _has_segments(case)
            and late >= case.thresholds.receiver_late
            and at_least(
                case.evidence.acknowledged_late_seconds, case.thresholds.receiver_late_seconds
            )
        )
    return _is_window_plain(case) and at_least(
        _inflated(case.evidence.rtt_high_seconds, case), case.thresholds.window_plain_tail
    )


def _is_window_met(case: Case) -> bool:
    evidence, allowed = case.evidence, case.numbers.x1_bytes_per_second
    most, window = evidence.outstanding_max_bytes, evidence.window_bytes
    return (
        bool(most and window and most >= case.thresholds.filled_window * window)
        and allowed is not None
        and at_least(
            evidence.throughput_bytes_per_second, case.thresholds.explained_ratio * allowed
        )
    )


def _inflations(case: Case) -> str:
    mean, high = (
        _inflated(seconds, case)
        for seconds in (case.evidence.rtt_seconds, case.evidence.rtt_high_seconds)
    )
    late = case.evidence.acknowledged_late_seconds
    own = (
        ""
        if late is None
        else f"; the slowest tenth of acknowledgements {seconds_words(late)} behind the median"
    )
    return (
        f"{limits_shown(case)}; RTT {number_words(mean)} times its base in the mean, "
        f"{number_words(high)} times at its 99th percentile{own}"
    )


IN_A_QUEUE = Condition(
    "at the sender, a window of {window_plain_segments:g} segments or more was full, and no queue "
    "there, for {window_in_between:.0%} of the time or more, and the mean RTT is "
    "{window_plain_inflation:g} times its base or more: others fill the queue",
    _is_window_in_a_queue,
    _inflations,
)
ACKNOWLEDGED_LATE = Condition(
    "a window of {window_plain_segments:g} segments or more bound it longest, and at the "
    "sender the 99th percentile of the RTT is {window_plain_tail:g} times its base or more, or at "
    "the receiver one in ten acknowledgements took {receiver_late:.0%} of the base RTT and "
    "{receiver_late_seconds:g} s or more longer than the median",
    _are_acknowledgements_late,
    _inflations,
)
MET_AFTER_ALL = Condition(
    "outstanding data reached {filled_window:.0%} of the window, and X is {explained_ratio:.0%} of "
    "X₁ or more",
    _is_window_met,
    lambda c: (
        f"at most {bytes_words(c.evidence.outstanding_max_bytes)} outstanding of "
        f"{bytes_words(c.evidence.window_bytes)}, X = "
        f"{rate_words(c.evidence.throughput_bytes_per_second)}, X₁ = "
        f"{rate_words(c.numbers.x1_bytes_per_second)}"
    ),
)
SMALL_BUFFER_FILLED = Condition(
    "the send buffer was set by hand, and outstanding data reached {filled_window:.0%} of it",
    lambda c: (
        bool(c.evidence.send_buffer_declared and c.evidence.send_buffer_bytes)
        and at_least(
            c.evidence.outstanding_max_bytes,
            c.thresholds.filled_window * (c.evidence.send_buffer_bytes or 0.0),
        )
    ),
    lambda c: (
        f"at most {bytes_words(c.evidence.outstanding_max_bytes)} outstanding of "
        f"{bytes_words(c.evidence.send_buffer_bytes)}"
    ),
)
TIMED_OUT_IN_VAIN = Condition(
    "retransmission timeouts cost {wait_cost:.0%} or more, and nothing was lost: what they waited "
    "for came late",
    lambda c: (
        at_least(c.evidence.timeout, c.thresholds.wait_cost)
        and c.evidence.loss == 0.0
        and bool(c.evidence.spurious_retransmissions)
    ),
    lambda c: (
        f"timeouts {percent_words(c.evidence.timeout)} of the time, "
        f"{whole(c.evidence.spurious_retransmissions)} needless retransmissions"
    ),
)
REPEATED_IN_VAIN = Condition(
    "the window was full for half of the time or more, nothing was lost, and {pattern_least:g} "
    "retransmissions or more were needless: what they waited for came late",
    lambda c: (
        at_least(c.evidence.window, 0.5)
        and c.evidence.loss == 0.0
        and at_least(c.evidence.spurious_retransmissions, c.thresholds.pattern_least)
    ),
    lambda c: (
        f"window {percent_words(c.evidence.window)}, "
        f"{whole(c.evidence.spurious_retransmissions)} needless retransmissions"
    ),
)
ACKNOWLEDGEMENTS_HELD = Condition(
    "acknowledgements that the receiver sent apart by its own clock came together "
    "{pattern_least:g} times or more",
    lambda c: at_least(c.evidence.acks_held, c.thresholds.pattern_least),
    lambda c: f"{whole(c.evidence.acks_held)} times",
)
