"""The decision procedure: stages and rules in order, the first match wins.

Read it from top to bottom.

A stage is entered when its condition holds. Inside a stage the first rule whose conditions all hold
names the cause. Every stage ends with a rule without conditions, except the first, which only sorts
out what cannot be judged.

Why this order: a transfer that waited for somebody for a good part of its life says nothing about
the path by its mean, so waits come first, and among them the one that cost most. What is left has a
binding limit. A changed rate or delay makes two transfers of one, so it precedes the limits. Losses
are the path's own where its queue made them: those fall when delays are high.

The last three stages are the published procedure for means (diagnosis.md, section 3). They serve
evidence without a time budget: published cases, and transfers whose sender's view no capture shows.

Bias: without evidence that excludes the application, a silent sender is never discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from trustbed.diagnose import budget_conditions as time
from trustbed.diagnose import conditions as on
from trustbed.diagnose import loss_conditions as losses
from trustbed.diagnose import shape_conditions as shape
from trustbed.diagnose import window_conditions as window
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.conditions import Case, Condition


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A cause and the conditions that must all hold.

    ``flag`` is raised with it when ``flag_when`` holds, too. ``most`` caps the score in
    hundredths where the packets leave more than one reading.
    """

    name: str
    cause: Cause
    conditions: tuple[Condition, ...] = ()
    flag: str | None = None
    flag_when: Condition | None = None
    most: int = 99

    def fires(self, case: Case) -> bool:
        """Whether every condition holds."""
        return all(condition.holds(case) for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Rules that belong together, and when they apply (``None`` = always)."""

    name: str
    title: str
    entered_when: Condition | None
    rules: tuple[Rule, ...]

    def entered(self, case: Case) -> bool:
        """Whether the rules of this stage apply."""
        return self.entered_when is None or self.entered_when.holds(case)


STAGES: tuple[Stage, ...] = (
    Stage(
        "usable",
        "Can the transfer be judged?",
        None,
        (
            Rule("failed", "insufficient", (on.FAILED,), flag="failed"),
            Rule("too_short", "insufficient", (on.TOO_SHORT,), flag="too_short"),
        ),
    ),
    Stage(
        "stalled",
        "Did the whole host stop?",
        on.STALLED,
        (
            Rule("driver_reset", "driver_stall", (on.RESET_SIGNATURE,)),
            Rule("host_stopped", "host_stall"),
        ),
    ),
    Stage(
        "policed",
        "Did losses follow bursts or empty buckets, without a queue?",
        shape.POLICED,
        (Rule("bursts_were_dropped", "policed"),),
    ),
    Stage(
        "time",
        "Where did the time go, and what bound the rest?",
        time.KNOWN,
        (
            Rule("nobody_answered", "outage", (time.NOBODY_ANSWERED,)),
            Rule(
                "processor_was_taken",
                "host_scheduling",
                (time.PROCESSOR_SEEN_MISSING, time.SENDER_PAUSED),
            ),
            Rule("machine_held_packets", "host_scheduling", (time.HELD_BOTH_WAYS,), most=75),
            Rule(
                "kernel_buffer_was_full",
                "send_buffer_limited",
                (time.BUFFER_LIMITED, time.BUFFER_COSTS_MOST),
            ),
            Rule("peer_was_waited_for", "peer_limited", (time.PEER_WAITED_FOR,)),
            Rule(
                "overtaken_segments_filled_the_window",
                "reordering",
                (time.RECEIVER_WAITED_FOR, shape.OVERTAKEN),
                most=75,
            ),
            Rule("reader_was_waited_for", "receiver_limited", (time.RECEIVER_WAITED_FOR,)),
            Rule("floor_has_two_levels", "route_change", (shape.STEPPED, time.FLOOR_FELT)),
            Rule(
                "receiver_waited_for_a_timer",
                "acknowledgements_delayed",
                (time.RECEIVER_TIMED,),
            ),
            Rule("acknowledgements_were_held", "host_scheduling", (time.SILENCES_HELD,), most=75),
            Rule("receiver_fell_silent", "receiver_stalled", (time.RECEIVER_SILENT,), most=75),
            Rule(
                "timers_expired_and_acknowledgements_were_held",
                "host_scheduling",
                (window.TIMED_OUT_IN_VAIN, window.ACKNOWLEDGEMENTS_HELD),
                most=75,
            ),
            Rule(
                "timers_expired_in_vain", "receiver_stalled", (window.TIMED_OUT_IN_VAIN,), most=75
            ),
            Rule("repeated_in_vain", "receiver_stalled", (window.REPEATED_IN_VAIN,), most=75),
            Rule("queue_stood_at_home", "sender_rate_limited", (time.LIMITED_AT_HOME,)),
            Rule(
                "machine_released_bursts",
                "host_scheduling",
                (time.RELEASED_IN_BURSTS,),
                most=75,
            ),
            Rule(
                "bulk_sender_was_silent",
                "host_scheduling",
                (time.SENDER_WAITED_FOR, time.DECLARED_BULK, time.PROCESSOR_NOT_SEEN_FREE),
            ),
            Rule(
                "bulk_sender_filled_its_buffer",
                "send_buffer_limited",
                (time.SENDER_WAITED_FOR, time.DECLARED_BULK, window.SMALL_BUFFER_FILLED),
                most=75,
            ),
            Rule(
                "bulk_sender_was_silent_though_free",
                "host_scheduling",
                (time.SENDER_WAITED_FOR, time.DECLARED_BULK),
                most=75,
            ),
            Rule(
                "window_was_filled_in_between",
                "host_scheduling",
                (time.SENDER_WAITED_FOR, time.FILLED_WHENEVER_RAN),
            ),
            Rule(
                "free_sender_was_silent",
                "sender_application_limited",
                (time.SENDER_WAITED_FOR, time.PROCESSOR_SEEN_FREE),
            ),
            Rule(
                "sender_was_silent_with_data",
                "host_scheduling",
                (time.SENDER_WAITED_FOR, time.DATA_WAITED),
                most=75,
            ),
            Rule(
                "sender_had_nothing_to_send",
                "sender_application_limited",
                (time.SENDER_WAITED_FOR,),
                most=75,
            ),
            Rule(
                "sender_had_nothing_now_and_then",
                "sender_application_limited",
                (time.IDLE_NOW_AND_THEN,),
                most=75,
            ),
            Rule("packets_overtook", "reordering", (losses.LOSSY, shape.IN_VAIN)),
            Rule("recoveries_were_needless", "reordering", (losses.LOSSY, losses.MOSTLY_NEEDLESS)),
            Rule(
                "rate_fell_once",
                "shaped",
                (time.RATE_CHANGED, time.BUCKET_PLAUSIBLE),
                most=75,
            ),
            Rule(
                "rate_fell_late",
                "rate_changed",
                (time.RATE_CHANGED, time.RATE_FELL),
                most=75,
            ),
            Rule("rate_has_two_levels", "rate_changed", (time.RATE_CHANGED,)),
            Rule("marks_slowed", "mark_limited", (losses.LOSSY, losses.MARKED)),
            Rule(
                "processor_was_taken_between_losses",
                "host_scheduling",
                (time.PROCESSOR_SEEN_MISSING, losses.BOUND_BY_LOSS, time.PATH_LITTLE_USED),
                most=75,
            ),
            Rule(
                "losses_away_from_queue",
                "network_loss",
                (losses.LOSSY, losses.LOST, losses.LOSSES_NOT_OF_QUEUE),
            ),
            Rule("others_filled_a_queue", "network_congestion", (window.IN_A_QUEUE,)),
            Rule(
                "path_was_shared",
                "network_congestion",
                (time.BOUND_BY_PATH_OR_ITS_LOSSES, time.SHARED),
            ),
            Rule("path_was_full_of_it", "bandwidth_limited", (time.BOUND_BY_PATH_OR_ITS_LOSSES,)),
            Rule(
                "sender_half_was_late",
                "host_scheduling",
                (time.SENDER_HALF_LATE,),
                most=75,
            ),
            Rule("buffer_bound", "send_buffer_limited", (time.BOUND_BY_BUFFER,)),
            Rule(
                "window_was_met_after_all",
                "window_limited",
                (time.BOUND_BY_START, window.MET_AFTER_ALL),
            ),
            Rule(
                "sender_never_filled_it",
                "sender_application_limited",
                (time.BOUND_BY_START, time.GREW_TOO_LONG),
                most=75,
            ),
            Rule("start_bound", "slow_start", (time.BOUND_BY_START,)),
            Rule("losses_bound", "network_loss", (losses.BOUND_BY_LOSS, losses.LOST)),
            Rule(
                "acknowledgements_came_late",
                "receiver_stalled",
                (time.WINDOW_MET, window.ACKNOWLEDGED_LATE),
                most=75,
            ),
            Rule("window_bound", "window_limited", (time.WINDOW_MET,)),
            Rule("long_pauses_remain", "host_scheduling", (on.LONG_PAUSES,), most=75),
            Rule("time_unexplained", "unexplained"),
        ),
    ),
    Stage(
        "explained",
        "Window, delay, loss and capacity explain the throughput: which of them?",
        on.EXPLAINED,
        (
            Rule("loss_explains", "network_loss", (on.LOSS_BOUND, on.NOT_INFLATED)),
            Rule(
                "link_was_full",
                "bandwidth_limited",
                (on.CAPACITY_MEASURED,),
                flag="self_queueing",
                flag_when=on.INFLATED,
            ),
            Rule("queue_explains", "network_congestion", (on.INFLATED,)),
            Rule("capacity_explains", "bandwidth_limited", (on.CAPACITY_SMALLER,)),
            Rule("window_explains", "window_limited"),
        ),
    ),
    Stage(
        "throughput_gap",
        "There is a throughput gap: what took the rest?",
        on.UNEXPLAINED,
        (
            Rule("receiver_closed_its_window", "receiver_limited", (on.WINDOW_CLOSED,)),
            Rule(
                "application_paused",
                "sender_application_limited",
                (on.LONG_PAUSES, on.APPLICATION_IDLE),
            ),
            Rule("sender_held_back", "host_scheduling", (on.LONG_PAUSES,)),
            Rule("loss_slowed", "network_loss", (on.LOSS, on.NOT_INFLATED)),
            Rule(
                "queue_slowed",
                "network_congestion",
                (on.INFLATED,),
                flag="mostly_idle",
                flag_when=on.MOSTLY_IDLE,
            ),
            Rule("still_starting", "slow_start", (on.SLOW_START,)),
            Rule("nothing_explains", "unexplained"),
        ),
    ),
    Stage(
        "no_rate",
        "The throughput cannot be compared with an expectation: what do the other signs show?",
        on.NO_RATIO,
        (
            Rule("pauses_alone", "host_scheduling", (on.LONG_PAUSES,)),
            Rule("loss_hint", "network_loss", (on.LOSS_BOUND, on.NOT_INFLATED)),
            Rule("queue_hint", "network_congestion", (on.INFLATED,)),
            Rule("nothing_unusual", "no_anomaly"),
        ),
    ),
)
"""The whole procedure."""

RULES: tuple[Rule, ...] = tuple(rule for stage in STAGES for rule in stage.rules)
"""Every rule, in order of evaluation."""


def first_match(case: Case) -> Rule:
    """The rule that decides this case.

    The conditions of the last three stages exclude one another and leave nothing out, so there
    always is one.
    """
    for entered, groups in _TESTS:
        if entered is not None and not entered(case):
            continue
        for first, rules in groups:
            if first is not None and not first(case):
                continue
            for others, rule in rules:
                for other in others:
                    if not other(case):
                        break
                else:
                    return rule
    raise AssertionError("the last rule of the last stage has no conditions")


Test: TypeAlias = Callable[[Case], bool]
Group: TypeAlias = tuple[Test | None, tuple[tuple[tuple[Test, ...], Rule], ...]]
"""A first condition, and the rules that begin with it, each behind its other conditions."""


def _grouped(stage: Stage) -> Iterator[Group]:
    """The rules of a stage in order, neighbours with the same first condition under it."""
    for first, rules in groupby(stage.rules, lambda rule: (*rule.conditions, None)[0]):
        yield (
            None if first is None else first.holds,
            tuple(
                (tuple(condition.holds for condition in rule.conditions[1:]), rule)
                for rule in rules
            ),
        )


def compiled(stages: tuple[Stage, ...]) -> tuple[tuple[Test | None, tuple[Group, ...]], ...]:
    """A procedure without names: a condition that rules in a row begin with is asked once."""
    return tuple(
        (None if stage.entered_when is None else stage.entered_when.holds, tuple(_grouped(stage)))
        for stage in stages
    )


_TESTS = compiled(STAGES)
