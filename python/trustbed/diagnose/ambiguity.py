"""The other cause that would leave the same packets, what suggests which, and what would settle it.

A bulk sender that is stopped and an application that pauses cannot be distinguished by their
packets alone. The rule names one of them; this module names the other one where it remains
possible. It never changes cause, confidence or verdict. Where the packets favour neither, both
names make the set of causes (phases.md, sections 3 and 4).

Bias: rather names an alternative too many than hides one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from trustbed.diagnose.budget_conditions import BUFFER_LIMITED
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.conditions import Case, at_least, below
from trustbed.diagnose.rules import Rule
from trustbed.diagnose.shapes import queue_at_loss
from trustbed.findings.words import percent_words


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another cause that would leave these packets.

    ``indeterminate``: nothing in the packets favours the cause that was named.
    """

    cause: Cause
    hint: str
    settled_by: str
    indeterminate: bool = False


_SETTLES_PROCESSOR = (
    "the CPU share of the sending host during the transfer (below 0.9: the host; from 0.95 on: "
    "the application)"
)
_SETTLES_WORKLOAD = "--workload bulk if the sender had data waiting all the time"
_SETTLES_PAUSES = f"{_SETTLES_PROCESSOR}, or {_SETTLES_WORKLOAD}"
_SETTLES_QUEUE = (
    "the load of the link by others during the transfer, or a repetition while it is otherwise idle"
)
_SETTLES_DECLARATION = "what the sender ran: a generator that paces or waits is no bulk workload"


SURE = frozenset({"processor_was_taken", "machine_held_packets", "free_sender_was_silent"})
"""Rules whose host samples, or packets held in the host, leave no other reading."""

_SHAPES: Mapping[Cause, Alternative] = MappingProxyType(
    {
        "policed": Alternative(
            "network_loss",
            "loss that happens to fall when most was sent leaves the same packets",
            "a repetition with a sender that paces just below the rate between the losses: "
            "behind a policer it loses nothing",
        ),
        "shaped": Alternative(
            "network_congestion",
            "another sender of constant rate that begins midway leaves the same packets",
            "a repetition: a token bucket passes the same burst again, other traffic varies",
        ),
        "route_change": Alternative(
            "network_congestion",
            "a queue that keeps one length from one moment on leaves the same packets",
            "a traceroute before and after, or other transfers of the same path at that moment",
        ),
        "outage": Alternative(
            "host_stall",
            "a stalled receiver does not respond either",
            "other connections of both hosts during the silence: if they went on, it was the path",
        ),
        "send_buffer_limited": Alternative(
            "sender_application_limited",
            "an application that limits its outstanding data leaves the same packets",
            "the kernel's tcpi_sndbuf_limited at the end of the transfer",
        ),
    }
)
"""Causes that show in a transfer's shape over time: one other reading each."""

_LOSSES_OR_OUTAGE = Alternative(
    "network_loss",
    "it lost packets before and after, too, and each lost retransmission doubles the wait for the "
    "next one",
    "other traffic of the same path during the silence: behind random losses most of it goes on",
)

_QUEUE_HUNG = Alternative(
    "driver_stall",
    "a hung transmit queue of the sender's NIC, reset by its watchdog, leaves the same packets",
    "the sender's kernel log, or a capture outside the sender: retransmissions that it does not "
    "see never left",
    indeterminate=True,
)

_PATH_HELD = Alternative(
    "outage",
    "a path that held packets for longer than a round trip, and then delivered them, leaves the "
    "same packets",
    "the CPU share of the host where it was captured, or a capture outside it",
    indeterminate=True,
)
_RECEIVER_HELD = Alternative(
    "receiver_stalled",
    "a receiver in a guest that stops between its stack and its virtual NIC leaves such groups too",
    "the CPU share of the receiving host",
)

BY_RULE: Mapping[str, Alternative] = MappingProxyType(
    {
        "sender_was_silent_with_data": Alternative(
            "sender_application_limited",
            "an application that writes whole segments and pauses leaves the same packets",
            _SETTLES_PAUSES,
            indeterminate=True,
        ),
        "overtaken_segments_filled_the_window": Alternative(
            "receiver_limited",
            "a slow reader behind a path that reorders leaves the same packets",
            "the reader's CPU share, and a repetition with a larger receive buffer",
        ),
        "machine_released_bursts": Alternative(
            "sender_rate_limited",
            "a queueing discipline or pacer that sends in bursts leaves the same packets",
            "the CPU share of the sending host, or its qdisc and its counters",
        ),
        "sender_half_was_late": Alternative(
            "sender_application_limited",
            "an application that writes late leaves the same packets",
            _SETTLES_PAUSES,
            indeterminate=True,
        ),
        "long_pauses_remain": Alternative(
            "sender_application_limited",
            "an application that pauses leaves the same packets",
            _SETTLES_PAUSES,
            indeterminate=True,
        ),
        "processor_was_taken_between_losses": Alternative(
            "network_congestion",
            "a shallow queue keeps a sender below the path's rate, too",
            "a repetition on a host that runs all the time",
        ),
        "sender_had_nothing_now_and_then": Alternative(
            "host_scheduling",
            "a process that did not run leaves the same packets as one that pauses",
            _SETTLES_PAUSES,
        ),
        "sender_never_filled_it": Alternative(
            "host_scheduling",
            "a host that seldom runs sends as little as an application that writes little",
            _SETTLES_PAUSES,
            indeterminate=True,
        ),
        "sender_had_nothing_to_send": Alternative(
            "host_scheduling",
            "a process that did not run leaves the same packets as one that pauses",
            _SETTLES_PAUSES,
        ),
        "receiver_fell_silent": Alternative(
            "host_scheduling",
            "a capture inside a host that does not always run sees its own pauses as silences of "
            "the other",
            "a capture outside both hosts, or the CPU share of both",
            indeterminate=True,
        ),
        "timers_expired_in_vain": Alternative(
            "outage",
            "a path that held packets for longer than a timeout, and then delivered them, leaves "
            "the same packets",
            "other connections of the receiver at those moments: if they went on, it was the host",
            indeterminate=True,
        ),
        "timers_expired_and_acknowledgements_were_held": _PATH_HELD,
        "acknowledgements_were_held": _PATH_HELD,
        "repeated_in_vain": Alternative(
            "host_scheduling",
            "a sender that did not run when acknowledgements reached it repeats what they cover",
            "the CPU shares of both hosts, or a capture beside each",
            indeterminate=True,
        ),
        "acknowledgements_came_late": Alternative(
            "network_congestion",
            "traffic of others that comes and goes delays some acknowledgements, too",
            "a capture at the receiver: whether it answers as late as the sender sees it",
        ),
        "rate_fell_once": Alternative(
            "rate_changed",
            "a path whose rate fell leaves the same packets as a token bucket that ran empty",
            "a repetition after idle time: a token bucket passes the same burst again",
            indeterminate=True,
        ),
        "rate_fell_late": Alternative(
            "shaped",
            "a large token bucket that ran empty leaves the same packets as a path whose rate fell",
            "a repetition after idle time: a token bucket passes the same burst again",
            indeterminate=True,
        ),
        "path_was_full_of_it": Alternative(
            "network_congestion",
            "the queue is the transfer's own if it was alone on the link",
            _SETTLES_QUEUE,
        ),
        "path_was_shared": Alternative(
            "bandwidth_limited",
            "a link whose rate varies leaves the same packets as a share of a faster one",
            _SETTLES_QUEUE,
        ),
        "losses_away_from_queue": Alternative(
            "network_congestion",
            "a queue of few packets drops without delaying much",
            "the loss rate of a sender that paces well below the rate seen: random losses remain",
        ),
    }
)
"""Rules whose packets leave one other reading."""

FURTHER: Mapping[str, Alternative] = MappingProxyType(
    {
        "timers_expired_and_acknowledgements_were_held": _RECEIVER_HELD,
        "acknowledgements_were_held": _RECEIVER_HELD,
    }
)
"""What they leave beside it, less often."""


def alternatives_of(rule: Rule, case: Case, flags: tuple[str, ...]) -> tuple[Alternative, ...]:
    """The other readings of this case, given the flags raised and the limits applied.

    Empty where the packets leave none.
    """
    cause = rule.cause
    if rule.name in BY_RULE:
        found = (BY_RULE[rule.name], FURTHER.get(rule.name))
        return tuple(_without_the_known(one, case) for one in found if one is not None)
    if rule.name in SURE:
        return ()
    if cause == "host_scheduling":
        return tuple(_without_the_known(other, case) for other in _if_the_application_paused(case))
    if cause == "sender_application_limited":
        return tuple(_without_the_known(other, case) for other in _if_the_machine_stopped(case))
    if cause == "outage" and _may_have_been_reset(case):
        return (_QUEUE_HUNG,)
    if cause == "outage" and _was_lossy(case):
        return (_LOSSES_OR_OUTAGE,)
    if cause in _SHAPES and not (cause == "send_buffer_limited" and BUFFER_LIMITED.holds(case)):
        return (_SHAPES[cause],)
    if cause == "bandwidth_limited" and "self_queueing" in flags:
        hint = "the queue is the transfer's own if it was alone on the link"
        return (Alternative("network_congestion", hint, _SETTLES_QUEUE),)
    if cause == "network_congestion" and "echoed_rtt" in flags:
        hint = (
            "the RTT was measured by the sender's responses, and a host that responds late "
            "inflates it just as a queue does"
        )
        return (
            Alternative(
                "host_scheduling",
                hint,
                "a capture at the sender, or the CPU share of the sending host",
            ),
        )
    if cause == "network_congestion":
        return _if_loss_came_first(case)
    return ()


def _without_the_known(alternative: Alternative, case: Case) -> Alternative:
    """The same, asking only for what is unknown of the sender's pauses."""
    if alternative.settled_by != _SETTLES_PAUSES:
        return alternative
    evidence = case.evidence
    asked = []
    if evidence.cpu_share is None and evidence.processor_missed is None:
        asked.append(_SETTLES_PROCESSOR)
    if evidence.workload != "bulk":
        asked.append(_SETTLES_WORKLOAD)
    return replace(alternative, settled_by=", or ".join(asked) or _SETTLES_DECLARATION)


def _was_lossy(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    return at_least(evidence.loss, thresholds.loss_decisive) and at_least(
        evidence.loss_events, thresholds.loss_events_minimum
    )


def _may_have_been_reset(case: Case) -> bool:
    """Seen on the sending host, at least as long as its watchdog needs, and no log excludes it."""
    evidence, thresholds = case.evidence, case.thresholds
    if evidence.kernel_reset is False:
        return False
    least = thresholds.reset_period_seconds - thresholds.reset_tolerance_seconds
    return evidence.pauses_estimated is False and at_least(evidence.unanswered_seconds, least)


def _if_loss_came_first(case: Case) -> tuple[Alternative, ...]:
    evidence, numbers, thresholds = case.evidence, case.numbers, case.thresholds
    if queue_at_loss(evidence) is not None:
        return ()  # the RTT just before the losses has decided
    if at_least(numbers.rtt_inflation, thresholds.inflation_thin) or not at_least(
        evidence.loss, thresholds.loss_decisive
    ):
        return ()
    hint = f"the inflation is thin, and {percent_words(evidence.loss)} of the packets were lost"
    return (
        Alternative("network_loss", hint, "the RTT just before losses against the RTT overall"),
    )


def _if_the_application_paused(case: Case) -> tuple[Alternative, ...]:
    evidence, thresholds = case.evidence, case.thresholds
    if below(evidence.cpu_share, thresholds.cpu_starved):
        return ()
    if evidence.workload == "bulk":
        if not at_least(evidence.app_limited_fraction, thresholds.app_limited):
            return ()
        return (Alternative("sender_application_limited", _lean(case), _SETTLES_DECLARATION),)
    if below(evidence.app_limited_fraction, thresholds.app_hint) and not at_least(
        evidence.cpu_share, thresholds.cpu_free
    ):
        return ()
    return (Alternative("sender_application_limited", _lean(case), _SETTLES_PAUSES),)


def _if_the_machine_stopped(case: Case) -> tuple[Alternative, ...]:
    if at_least(case.evidence.cpu_share, case.thresholds.cpu_free):
        return ()
    return (Alternative("host_scheduling", _lean(case), _SETTLES_PAUSES),)


def _lean(case: Case) -> str:
    """Which of the two causes the two shares favour.

    A stopped bulk sender fills the window whenever it runs, a pausing application does not.
    """
    full, idle = case.evidence.rwnd_limited, case.evidence.app_limited_fraction
    if full is None and idle is None:
        return "nothing in the capture favours either"
    numbers = (
        f"window full {percent_words(full)} of the time, nothing outstanding after a short "
        f"packet {percent_words(idle)}"
    )
    if at_least(full, case.thresholds.rwnd_hint):
        return f"{numbers}: it had more data whenever it ran, which suggests the host"
    if at_least(idle, case.thresholds.app_limited):
        return f"{numbers}: it ran out of data, which suggests the application"
    return f"{numbers}: no clear lean"
