"""The decision procedure: stages and rules in order, the first match wins.

Read it from top to bottom.

A stage is entered when its condition holds. Inside a stage the first rule whose conditions all hold
names the cause. Every stage ends with a rule without conditions, except the first, which only sorts
out what cannot be judged.

Why this order: silences, a new route and a burst before a lower rate make two transfers of one,
whose mean compares with nothing, so they come before the comparison of the throughput; their
conditions hold for hardly anything else. A throughput that window, measured delay and loss already
explain needs no anomaly of a host, so the model comes before the pauses. Inside a throughput gap
pauses are direct evidence and come before weaker hints. Where loss and an inflated RTT meet, the
RTT just before the losses decides between queue and loss; where it is unknown the queue is blamed.
A window that shrank and is full is a slow reader even where its pace is so steady that it looks
like a link's. No steady rate is a link's by itself: any sender with an even pace keeps outstanding
what its round trip holds (Little's law), so a link that was full must show a queue before it.

Bias: the RTT's inflation is too small when its base was itself measured in a standing queue, so
congestion can be missed, not invented.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.diagnose import budget_conditions as time
from trustbed.diagnose import conditions as on
from trustbed.diagnose import sender_conditions as sender
from trustbed.diagnose import shape_conditions as shape
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
            Rule("peer_was_waited_for", "peer_limited", (time.PEER_WAITED_FOR,)),
            Rule("reader_was_waited_for", "receiver_limited", (time.RECEIVER_WAITED_FOR,)),
            Rule(
                "receiver_waited_for_a_timer",
                "acknowledgements_delayed",
                (time.ACKS_ALWAYS_WITHHELD,),
            ),
            Rule("receiver_withheld", "receiver_stalled", (time.ACKS_WITHHELD,), most=75),
            Rule(
                "bulk_sender_was_silent",
                "host_scheduling",
                (time.SENDER_WAITED_FOR, time.DECLARED_BULK),
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
            Rule("packets_overtook", "reordering", (time.LOSSY, shape.IN_VAIN)),
            Rule("recoveries_were_needless", "reordering", (time.LOSSY, time.MOSTLY_NEEDLESS)),
            Rule("floor_has_two_levels", "route_change", (shape.STEPPED, time.FLOOR_FELT)),
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
            Rule("marks_slowed", "mark_limited", (time.LOSSY, time.MARKED)),
            Rule("queue_stood_at_home", "sender_rate_limited", (time.LIMITED_AT_HOME,)),
            Rule(
                "losses_away_from_queue",
                "network_loss",
                (time.LOSSY, time.LOSSES_NOT_OF_QUEUE),
            ),
            Rule(
                "path_was_shared",
                "network_congestion",
                (time.BOUND_BY_PATH_OR_ITS_LOSSES, time.SHARED),
            ),
            Rule("path_was_full_of_it", "bandwidth_limited", (time.BOUND_BY_PATH_OR_ITS_LOSSES,)),
            Rule("buffer_bound", "send_buffer_limited", (time.BOUND_BY_BUFFER,)),
            Rule("start_bound", "slow_start", (time.BOUND_BY_START,)),
            Rule("losses_bound", "network_loss", (time.BOUND_BY_LOSS,)),
            Rule("window_bound", "window_limited"),
        ),
    ),
    Stage(
        "silent",
        "Was there no response for a large part of the transfer?",
        shape.SILENT,
        (Rule("nothing_came_back", "outage"),),
    ),
    Stage(
        "rerouted",
        "Did the path's delay change for good?",
        shape.STEPPED,
        (Rule("delay_has_two_levels", "route_change"),),
    ),
    Stage(
        "bent",
        "Did a token bucket pass a burst and delay the rest?",
        shape.BURST_FIRST,
        (Rule("burst_then_lower_rate", "shaped"),),
    ),
    Stage(
        "explained",
        "Window, delay, loss and capacity explain the throughput: which of them?",
        on.EXPLAINED,
        (
            Rule("reader_set_the_pace", "receiver_limited", (shape.WINDOW_SHRUNK,)),
            Rule("writes_set_the_pace", "sender_application_limited", (sender.WRITES_SEEN,)),
            Rule("window_full_and_yet_slow", "acknowledgements_delayed", (shape.FULL_AND_SLOW,)),
            Rule("reordering_took_a_part", "reordering", (shape.CLEARLY_LATE, shape.LATE)),
            Rule("bucket_was_empty", "policed", (shape.BUCKET_EMPTY, shape.LOSSES_AWAY)),
            Rule("link_stayed_full", "bandwidth_limited", (on.LOSS_BOUND, shape.EVEN_THOUGH_LOSSY)),
            Rule("loss_explains", "network_loss", (on.LOSS_BOUND, shape.LOSSES_AWAY)),
            Rule("answered_late_yet_explained", "host_scheduling", (sender.LATE_FROM_AFAR,)),
            Rule(
                "link_was_full",
                "bandwidth_limited",
                (on.CAPACITY_MEASURED,),
                flag="self_queueing",
                flag_when=on.INFLATED,
            ),
            Rule("answers_waited", "acknowledgements_delayed", (shape.ANSWERS_DELAYED,)),
            Rule("queue_explains", "network_congestion", (on.INFLATED,)),
            Rule("capacity_explains", "bandwidth_limited", (on.CAPACITY_SMALLER,)),
            Rule(
                "idle_open_window_yet_explained",
                "host_scheduling",
                (sender.PROCESSOR_TOOK_PART, on.CLEAN_PATH),
            ),
            Rule("window_explains", "window_limited"),
        ),
    ),
    Stage(
        "throughput_gap",
        "There is a throughput gap: what took the rest?",
        on.UNEXPLAINED,
        (
            Rule("receiver_closed_its_window", "receiver_limited", (on.WINDOW_CLOSED,)),
            Rule("receiver_shrank_its_window", "receiver_limited", (shape.WINDOW_SHRUNK,)),
            Rule("machine_was_missing", "host_scheduling", (sender.PROCESSOR_MISSING,)),
            Rule("reordering_slowed", "reordering", (shape.LATE,)),
            Rule("bucket_dropped", "policed", (shape.BUCKET_EMPTY, shape.LOSSES_AWAY)),
            Rule(
                "application_wrote_little",
                "sender_application_limited",
                (sender.WRITES_SEEN, shape.NO_LOSS),
            ),
            Rule(
                "application_slept",
                "sender_application_limited",
                (on.LONG_PAUSES, sender.MACHINE_CLEARED),
            ),
            Rule(
                "application_paused",
                "sender_application_limited",
                (on.LONG_PAUSES, on.APPLICATION_IDLE),
            ),
            Rule("buffer_was_filled", "send_buffer_limited", (sender.BUFFER_FILLED,)),
            Rule(
                "flight_was_held",
                "send_buffer_limited",
                (on.LONG_PAUSES, sender.FLIGHT_HELD, shape.NO_LOSS),
            ),
            Rule("path_was_full", "bandwidth_limited", (on.LONG_PAUSES, shape.PIPE_FULL)),
            Rule("sender_held_back", "host_scheduling", (on.LONG_PAUSES, sender.PAUSES_SURE)),
            Rule("machine_answered_late", "host_scheduling", (sender.ANSWERS_LATE, on.CLEAN_PATH)),
            Rule(
                "writes_came_late",
                "sender_application_limited",
                (sender.WRITTEN_LATE, shape.NO_LOSS),
            ),
            Rule("answered_late_from_afar", "host_scheduling", (sender.LATE_FROM_AFAR,)),
            Rule("even_though_lossy", "bandwidth_limited", (shape.EVEN_THOUGH_LOSSY,)),
            Rule("loss_slowed", "network_loss", (on.LOSS, shape.LOSSES_AWAY)),
            Rule(
                "queue_slowed",
                "network_congestion",
                (on.INFLATED,),
                flag="mostly_idle",
                flag_when=on.MOSTLY_IDLE,
            ),
            Rule("window_was_full", "acknowledgements_delayed", (shape.FULL_AND_SLOW,)),
            Rule("still_starting", "slow_start", (on.SLOW_START,)),
            Rule("still_growing", "slow_start", (shape.GROWING,)),
            Rule("queue_overflowed", "network_congestion", (shape.QUEUE_OVERFLOWED,)),
            Rule("few_losses_slowed", "network_loss", (shape.LOSS_POSSIBLE,)),
            Rule("buffer_was_full", "send_buffer_limited", (sender.BUFFER_LIMITED,)),
            Rule(
                "flight_had_a_ceiling",
                "send_buffer_limited",
                (sender.FLIGHT_CAPPED, shape.NO_LOSS, on.NO_LONG_PAUSES),
            ),
            Rule("ran_now_and_then", "host_scheduling", (sender.ON_AND_OFF,)),
            Rule("processor_was_missing", "host_scheduling", (on.CPU_STARVED, on.CLEAN_PATH)),
            Rule("link_was_steady", "bandwidth_limited", (shape.STEADY_LINK,)),
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
    for stage in STAGES:
        if stage.entered(case):
            for rule in stage.rules:
                if rule.fires(case):
                    return rule
    raise AssertionError("the last rule of the last stage has no conditions")
