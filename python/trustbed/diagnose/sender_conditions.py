"""Conditions about the sender.

How soon it reacts, how it writes, what its buffer holds, and what its host's samples show.

Bias: as for all conditions, an unknown number fulfils none of them.
"""

from __future__ import annotations

from trustbed.diagnose import shapes
from trustbed.diagnose.conditions import NO_LONG_PAUSES, Case, Condition, at_least, below
from trustbed.diagnose.numbers import idle_open_window_share
from trustbed.diagnose.shown import inflation_shown, rates_shown, share_shown
from trustbed.findings.words import bytes_words, number_words, percent_words, seconds_words


def _is_late(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    full = (
        evidence.unfilled_per_train is not None
        and evidence.unfilled_per_train <= thresholds.unfilled_per_train
    )
    return (
        full
        and (evidence.answer_seconds or 0.0) >= shapes.LATE_LEAST_SECONDS
        and at_least(shapes.answer_share(evidence), thresholds.answer_late)
    )


def _misses_its_processor(case: Case) -> bool:
    return at_least(case.evidence.processor_missed, case.thresholds.processor_mostly_missed)


def _has_taken_part(case: Case) -> bool:
    return _misses_its_processor(case) and at_least(
        idle_open_window_share(case.evidence), case.thresholds.idle_open_window_yet_explained
    )


def _is_missing(case: Case) -> bool:
    return _misses_its_processor(case) and (case.numbers.long_pauses is True or _is_late(case))


def _is_late_from_afar(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    inflated = at_least(case.numbers.rtt_inflation, thresholds.inflation)
    # A full window shows a sender that is ready, unless its own clock shows pauses, or all of it
    # comes in moments faster than the mean.
    rate = evidence.throughput_bytes_per_second or 0.0
    in_bursts = rate > 0 and at_least(
        evidence.rate_low_bytes_per_second, thresholds.on_and_off * rate
    )
    in_bursts = in_bursts or at_least(evidence.long_pause_fraction, thresholds.long_pause_fraction)
    ready = at_least(evidence.rwnd_limited, thresholds.window_always_full) and not in_bursts
    lossy = at_least(evidence.loss, thresholds.loss_decisive)
    return (
        inflated
        and not ready
        and not lossy
        and below(shapes.owd_share(evidence), thresholds.owd_share)
    )


def _is_in_small_writes(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    full = at_least(evidence.rwnd_limited, thresholds.window_full)
    return (
        evidence.workload != "bulk"
        and at_least(evidence.unfilled_per_train, thresholds.writes_end)
        and not full
    )


def _is_buffer_filled(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    size, window, rate, rtt = (
        evidence.send_buffer_bytes,
        evidence.window_bytes,
        evidence.throughput_bytes_per_second,
        evidence.rtt_seconds,
    )
    if (
        not size
        or not window
        or not rate
        or not rtt
        or below(evidence.cpu_share, thresholds.cpu_starved)
    ):
        return False
    if not (
        evidence.send_buffer_declared
        or at_least(evidence.send_buffer_limited, thresholds.buffer_felt)
    ):
        return False
    return size <= window and rate * rtt >= thresholds.buffer_filled * size


def _is_flight_held(case: Case) -> bool:
    mean, most = case.evidence.outstanding_mean_bytes, case.evidence.outstanding_max_bytes
    held = mean is not None and most is not None and mean >= case.thresholds.flight_held * most
    return held and shapes.is_flight_capped(case.evidence, case.thresholds)


def _is_written_late(case: Case) -> bool:
    """Beside the sender.

    What it sends waits for something else than acknowledgements, and is not full.
    """
    evidence, thresholds = case.evidence, case.thresholds
    unfilled = (
        evidence.unfilled_per_train is not None
        and evidence.unfilled_per_train > thresholds.unfilled_per_train
    )
    late = at_least(shapes.answer_share(evidence), thresholds.answer_late) and not at_least(
        case.numbers.rtt_inflation, thresholds.inflation
    )
    return (
        evidence.workload != "bulk"
        and unfilled
        and late
        and not at_least(evidence.rwnd_limited, thresholds.window_full)
    )


def _is_on_and_off(case: Case) -> bool:
    """By elimination: no loss, no queue, and yet moments much faster than the mean."""
    evidence, thresholds = case.evidence, case.thresholds
    rate, high = evidence.throughput_bytes_per_second, evidence.rate_high_bytes_per_second
    if not rate or high is None:
        return False
    clean = below(evidence.loss, thresholds.loss_negligible) and below(
        case.numbers.rtt_inflation, thresholds.inflation
    )
    return clean and high >= thresholds.on_and_off * rate


def _is_machine_cleared(case: Case) -> bool:
    missed, thresholds = case.evidence.processor_missed, case.thresholds
    pauses = max(
        case.evidence.long_pause_fraction or 0.0, idle_open_window_share(case.evidence) or 0.0
    )
    harmless = max(thresholds.processor_missed, thresholds.processor_part * pauses)
    return case.evidence.workload != "bulk" and below(missed, harmless)


def _reaction(case: Case) -> str:
    evidence = case.evidence
    return (
        f"reaction {seconds_words(evidence.answer_seconds)} of "
        f"{seconds_words(evidence.rtt_base_seconds)}, "
        f"unfilled per train = {number_words(evidence.unfilled_per_train)}"
    )


def _writes(case: Case) -> str:
    evidence = case.evidence
    return (
        f"unfilled per train = {number_words(evidence.unfilled_per_train)}, rwnd_limited = "
        f"{percent_words(evidence.rwnd_limited)}"
    )


def _rise(case: Case) -> str:
    increase = seconds_words(case.evidence.owd_increase_seconds)
    return (
        f"{inflation_shown(case)}, one-way delay increase {increase}: "
        f"{percent_words(shapes.owd_share(case.evidence))} of the RTT increase"
    )


def _flight(case: Case) -> str:
    evidence = case.evidence
    mean, most = (
        bytes_words(evidence.outstanding_mean_bytes),
        bytes_words(evidence.outstanding_max_bytes),
    )
    return (
        f"outstanding {mean} on average, {most} at most, window "
        f"{bytes_words(evidence.window_bytes)}"
    )


ANSWERS_LATE = Condition(
    "at the sender: its median reaction to an acknowledgement takes {answer_late:.0%} of the "
    "base RTT or more, and its packets are full (unfilled per train ≤ {unfilled_per_train:g})",
    _is_late,
    _reaction,
)
LATE_FROM_AFAR = Condition(
    "away from the sender: i ≥ {inflation:g}, loss < {loss_decisive:.1%}, less than "
    "{owd_share:.0%} of the increase on the forward path (by the sender's own clock), and the "
    "window not full all the time (rwnd_limited < {window_always_full:.0%}, or f ≥ "
    "{long_pause_fraction:.0%}, or P10 of the delivery rate ≥ {on_and_off:g} times the mean rate "
    "all the same)",
    _is_late_from_afar,
    _rise,
)
WRITES_SEEN = Condition(
    "workload not declared as bulk, and trains end in short packets: unfilled per train ≥ "
    "{writes_end:g}, and the window not full (rwnd_limited < {window_full:.0%})",
    _is_in_small_writes,
    _writes,
)
WRITTEN_LATE = Condition(
    "workload not declared as bulk, beside the sender: reaction ≥ {answer_late:.0%} of the base "
    "RTT, packets not full (unfilled per train > {unfilled_per_train:g}), i < {inflation:g}, and "
    "the window not full",
    _is_written_late,
    _reaction,
)
FLIGHT_CAPPED = Condition(
    "mean outstanding ≥ {flight_steady:.0%} of its maximum, which is below "
    "{flight_below_window:.0%} of the window",
    lambda c: shapes.is_flight_capped(c.evidence, c.thresholds),
    _flight,
)
FLIGHT_HELD = Condition(
    "that, and mean outstanding ≥ {flight_held:.0%} of its maximum: it was at its ceiling nearly "
    "always",
    _is_flight_held,
    _flight,
)
BUFFER_LIMITED = Condition(
    "by its kernel the send buffer limited it for {kernel_time_share:.0%} of its busy time or more",
    lambda c: at_least(c.evidence.send_buffer_limited, c.thresholds.kernel_time_share),
    share_shown("send_buffer_limited", lambda c: c.evidence.send_buffer_limited),
)
BUFFER_FILLED = Condition(
    "X·R ≥ {buffer_filled:.0%} of the send buffer, which is smaller than the window, and was "
    "declared or, by its kernel, limited the socket for {buffer_felt:.0%} of its busy time or "
    "more",
    _is_buffer_filled,
    lambda c: (
        f"send buffer {bytes_words(c.evidence.send_buffer_bytes)}, window "
        f"{bytes_words(c.evidence.window_bytes)}"
    ),
)
PAUSES_SURE = Condition(
    "measured at the sender, or loss < {loss_decisive:.1%}: losses before the capture leave gaps "
    "that look like pauses",
    lambda c: (
        not c.evidence.pauses_estimated or not at_least(c.evidence.loss, c.thresholds.loss_decisive)
    ),
    share_shown("loss", lambda c: c.evidence.loss),
)
ON_AND_OFF = Condition(
    "loss < {loss_negligible:.1%}, i < {inflation:g}, and P90 of the delivery rate ≥ "
    "{on_and_off:g} times the mean rate",
    _is_on_and_off,
    rates_shown,
)
ELIMINATED = Condition(
    "no long pauses, and the sender reacts at once: nothing else explains the gap, but nothing "
    "shows the host either",
    lambda c: NO_LONG_PAUSES.holds(c) and not _is_late(c) and not _is_late_from_afar(c),
    _reaction,
)
MACHINE_CLEARED = Condition(
    "workload not declared as bulk, and processor_missed < {processor_missed:.0%} or "
    "{processor_part:.0%} of the pauses",
    _is_machine_cleared,
    share_shown("processor_missed", lambda c: c.evidence.processor_missed),
)
PROCESSOR_TOOK_PART = Condition(
    "processor_missed ≥ {processor_mostly_missed:.0%} and h ≥ {idle_open_window_yet_explained:.0%}",
    _has_taken_part,
    share_shown("processor_missed", lambda c: c.evidence.processor_missed),
)
PROCESSOR_MISSING = Condition(
    "processor_missed ≥ {processor_mostly_missed:.0%}, with long pauses or late reactions",
    _is_missing,
    share_shown("processor_missed", lambda c: c.evidence.processor_missed),
)
