"""The sentences that give a diagnosis its deciding numbers where the time budget is known.

Words only: every number is one of the evidence's, so a sentence cannot disagree with the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trustbed.diagnose import budget, shapes
from trustbed.diagnose.budget_conditions import (
    BUFFER_LIMITED,
    FILLED_WHENEVER_RAN,
    HELD_BOTH_WAYS,
    PROCESSOR_SEEN_MISSING,
    RECEIVER_WAITED_FOR,
    RELEASED_IN_BURSTS,
    SILENCES_HELD,
)
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.conditions import Case, below
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.shape_conditions import is_bucket_empty
from trustbed.diagnose.window_conditions import SMALL_BUFFER_FILLED, TIMED_OUT_IN_VAIN
from trustbed.findings.words import (
    bytes_words,
    count_words,
    number_words,
    percent_words,
    rate_words,
    seconds_words,
    whole,
)

_NEITHER = "whether the machine or the application was silent, the packets do not show"


def reasons(cause: Cause, case: Case) -> tuple[str, ...]:
    """Rate, what decided, loss and delay; shares are beside them: :mod:`.time_budget`."""
    decided = _DECIDED.get(cause)
    return (
        rates(case),
        *(() if decided is None else (decided(case),)),
        _losses_and_delay(case),
    )


def rates(case: Case) -> str:
    """The rate over the transfer's life, and the one while it sent where that is another."""
    evidence = case.evidence
    rate, sending = evidence.throughput_bytes_per_second, evidence.sending_rate_bytes_per_second
    if not rate:
        return "throughput unknown"
    if sending is None or sending < rate * 1.05:
        return rate_words(rate)
    best = evidence.path_rate_high_bytes_per_second
    if best and rate <= best < sending:
        return rate_words(rate)  # bursts into a queue: nothing passed faster than the path gives
    bound = case.numbers.x0_bytes_per_second
    if bound and rate <= bound < sending / 2:
        return rate_words(rate)  # bursts shorter than half a round trip: no rate of a path
    return f"{rate_words(rate)} over its life, {rate_words(sending)} while sending"


def _losses_and_delay(case: Case) -> str:
    evidence = case.evidence
    loss = (
        "loss unknown"
        if evidence.loss is None
        else f"{percent_words(evidence.loss)} of the packets lost"
        if evidence.loss
        else "no packet lost"
    )
    if evidence.queue_seconds is None:
        return loss
    queue, base = seconds_words(evidence.queue_seconds), seconds_words(evidence.rtt_base_seconds)
    # Round trips of a capture beside the sender do not hold what is before it.
    share = 0.0 if evidence.pauses_estimated else budget.lag_share(evidence) or 0.0
    before = "all" if share == 1.0 else seconds_words(share * evidence.queue_seconds)
    part = f", {before} of it before the capture" if share >= 0.5 else ""
    return f"{loss}, delay {queue} above its floor on average{part} (base RTT {base})"


def _losses(case: Case) -> str:
    evidence = case.evidence
    if evidence.loss_delay_rank is None:
        return "no delay is known just before losses"
    used = budget.utilisation(evidence)
    share = "" if used is None else f", {percent_words(used)} of the path's rate used"
    return (
        f"{percent_words(evidence.loss_delay_rank)} of the delays were smaller than those just "
        f"before losses{share}"
    )


def _path(case: Case) -> str:
    evidence = case.evidence
    path, best = (
        rate_words(evidence.path_rate_bytes_per_second),
        rate_words(evidence.path_rate_high_bytes_per_second),
    )
    if evidence.path_rate_bytes_per_second is None:
        rtt, base = seconds_words(evidence.rtt_seconds), seconds_words(evidence.rtt_base_seconds)
        return f"the path's rate is unknown; round trips took {rtt} in the mean, {base} at least"
    return f"what had queued was delivered at {path} (median), at best {best}"


def _congested(case: Case) -> str:
    """Beside the path's rate, how long its queue was where it filled too early to last."""
    evidence = case.evidence
    full, base = evidence.rtt_before_loss_seconds, evidence.rtt_base_seconds
    if case.limit != "loss" or not full or not base or full <= base:
        return _path(case)
    return (
        f"losses fell at {seconds_words(full - base)} of queueing delay and kept the sender below "
        f"the path's rate for longer than the path was full; {_path(case)}"
    )


def _policed(case: Case) -> str:
    evidence = case.evidence
    queued = (
        "no queue stood before them"
        if below(evidence.queued_before_loss, 1.0)
        else f"no more than {number_words(evidence.queued_before_loss)} packets were queued"
    )
    if not is_bucket_empty(case):
        return (
            f"what was lost followed more data than {percent_words(evidence.loss_burst_rank)} of "
            f"what passed, and {queued}"
        )
    return (
        f"losses came when it had sent more than a token bucket of "
        f"{rate_words(evidence.token_rate_bytes_per_second)} with a burst of "
        f"{bytes_words(evidence.token_burst_bytes)} lets pass, and {queued}"
    )


def _changed(case: Case) -> str:
    evidence = case.evidence
    before, after, at = (
        rate_words(evidence.path_rate_before_bytes_per_second),
        rate_words(evidence.path_rate_after_bytes_per_second),
        seconds_words(evidence.path_rate_change_seconds),
    )
    more = (evidence.path_rate_changes or 1.0) - 1.0
    further = "" if more < 1 else f", and {count_words(whole(more), 'more change')}"
    return f"the path delivered {before} until {at}, then {after}{further}"


def _reordered(case: Case) -> str:
    evidence, receiver = case.evidence, case.budget.receiver
    late = (
        f"{percent_words(shapes.late_share(evidence))} of the segments came late or again in vain"
    )
    if RECEIVER_WAITED_FOR.holds(case):
        return (
            f"{late}; while others waited for them in the receiver's buffer, its window was "
            f"closed or smaller for {percent_words(receiver)} of the time"
        )
    if not evidence.fast_recoveries:
        return late
    return (
        f"{late}, and {whole(evidence.retransmitted_needlessly)} of "
        f"{whole(evidence.fast_recoveries)} fast recoveries had nothing to repair"
    )


def _buffered(case: Case) -> str:
    evidence = case.evidence
    most = bytes_words(evidence.outstanding_max_bytes)
    if SMALL_BUFFER_FILLED.holds(case):
        return (
            f"a send buffer of {bytes_words(evidence.send_buffer_bytes)} was set, and up to {most} "
            f"were outstanding"
        )
    if evidence.send_buffer_bytes and BUFFER_LIMITED.holds(case):
        buffer = bytes_words(evidence.send_buffer_bytes)
        return f"at most {most} were outstanding, of a send buffer of {buffer}"
    return f"at most {most} were outstanding, of a window of {bytes_words(evidence.window_bytes)}"


def _route(case: Case) -> str:
    evidence = case.evidence
    before, after = (
        seconds_words(evidence.floor_before_seconds),
        seconds_words(evidence.floor_after_seconds),
    )
    return f"the minimum RTT was {before} at first and {after} afterwards, with little in between"


def _receiver_silent(case: Case) -> str:
    evidence = case.evidence
    if not evidence.ack_silences:
        return _acknowledged_late(evidence)
    return (
        f"no packet of the receiver arrived in {_silences(evidence)}, and then it acknowledged "
        f"everything at once"
    )


def _silences(evidence: Evidence) -> str:
    return (
        f"{count_words(whole(evidence.ack_silences), 'silence')}, "
        f"{percent_words(budget.ack_silence_share(evidence))} of the time in all"
    )


def _acknowledged_late(evidence: Evidence) -> str:
    if evidence.loss == 0.0 and evidence.spurious_retransmissions:
        needless = count_words(whole(evidence.spurious_retransmissions), "retransmission")
        return f"nothing was lost, and {needless} repeated what was acknowledged late"
    if evidence.acknowledged_late_seconds is not None:
        late = seconds_words(evidence.acknowledged_late_seconds)
        return f"one acknowledgement in ten took {late} longer than the median, or more"
    late = seconds_words(evidence.rtt_high_seconds)
    return f"one round trip in a hundred took {late} or more"


def _at_home(case: Case) -> str:
    share, queue = budget.lag_share(case.evidence) or 0.0, case.evidence.queue_seconds or 0.0
    lag = "all" if share == 1.0 else f"{seconds_words(share * queue)} of"
    return (
        f"by the sender's own clock {lag} {seconds_words(queue)} of queueing lie between its stack "
        "and the capture"
    )


def _processor(evidence: Evidence) -> str | None:
    if evidence.processor_missed is not None:
        return (
            f"its processes were ready, throttled or stopped for "
            f"{percent_words(evidence.processor_missed)} of the time"
        )
    if evidence.cpu_share is not None:
        return f"an always-ready thread obtained {percent_words(evidence.cpu_share)} of a core"
    return None


def _application_silent(case: Case) -> str:
    """Its processor, if that is known."""
    evidence = case.evidence
    if (processor := _processor(evidence)) is not None:
        return processor
    if evidence.workload == "bulk":
        return "it was declared to have data to send always; the packets show times without any"
    return _NEITHER


def _host_silent(case: Case) -> str:
    """What showed that the machine did not run: its processor if that was missed, or packets."""
    evidence = case.evidence
    processor = _processor(evidence)
    if processor is not None and PROCESSOR_SEEN_MISSING.holds(case):
        return processor
    if HELD_BOTH_WAYS.holds(case):
        held = count_words(whole(evidence.acks_held), "time")
        return (
            f"acknowledgements sent apart came together {held}, and "
            f"{count_words(whole(evidence.data_held), 'data packet')} passed late by the "
            f"sender's own clock: the machine in between stalled, and that wait counts as the "
            f"path's in the shares of time"
        )
    if SILENCES_HELD.holds(case):
        return (
            f"no packet of the receiver arrived in {_silences(evidence)}; "
            f"{count_words(whole(evidence.acks_held), 'time')} acknowledgements came together that "
            f"by its own clock it had sent apart: they were held after they had left its stack"
        )
    if RELEASED_IN_BURSTS.holds(case):
        return f"{_at_home(case)}, and no steady rate drains it"
    if FILLED_WHENEVER_RAN.holds(case):
        return (
            f"it was silent {count_words(whole(evidence.idle_periods), 'time')} and filled "
            f"its window in between: whenever it ran, it had more to send"
        )
    if TIMED_OUT_IN_VAIN.holds(case):
        return (
            f"{_acknowledged_late(evidence)}; "
            f"{count_words(whole(evidence.acks_held), 'time')} acknowledgements came together that "
            f"the receiver had sent apart"
        )
    if processor is not None:
        return processor
    if evidence.workload == "bulk":
        return "its application always had data to send, as declared"
    return _NEITHER


def _marked(case: Case) -> str:
    marks = whole(case.evidence.congestion_marks)
    return f"{count_words(marks, 'acknowledgement')} echoed congestion marks"


_DECIDED: Mapping[Cause, Callable[[Case], str]] = MappingProxyType(
    {
        "network_loss": _losses,
        "network_congestion": _congested,
        "bandwidth_limited": _path,
        "policed": _policed,
        "shaped": _changed,
        "rate_changed": _changed,
        "reordering": _reordered,
        "send_buffer_limited": _buffered,
        "route_change": _route,
        "receiver_stalled": _receiver_silent,
        "acknowledgements_delayed": _receiver_silent,
        "sender_rate_limited": _at_home,
        "host_scheduling": _host_silent,
        "sender_application_limited": _application_silent,
        "mark_limited": _marked,
    }
)
