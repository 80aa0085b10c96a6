"""The decision procedure: stages and rules in order, the first match wins. Read it from top to bottom.

A stage is entered when its condition holds. Inside a stage the first rule whose conditions all hold names the cause. Every stage ends with
a rule without conditions, except the first, which only sorts out what cannot be judged.

Why this order: a deficit that window, measured delay and loss already explain needs no anomaly of a host, so the model is asked before
the pauses. Inside an unexplained deficit pauses are direct evidence and come before weaker hints. Where loss and an inflated RTT meet, the
queue is blamed; loss with an inflated RTT therefore needs no rule of its own.

Bias: the RTT's inflation is too small when its base was itself measured in a standing queue, so congestion can be missed, not invented.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.diagnose import conditions as on
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.conditions import Case, Condition


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A cause and the conditions that must all hold; ``flag`` is raised with it when ``flag_when`` holds, too."""

    name: str
    cause: Cause
    conditions: tuple[Condition, ...] = ()
    flag: str | None = None
    flag_when: Condition | None = None

    def fires(self, case: Case) -> bool:
        """Whether every condition holds."""
        return all(condition.holds(case) for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Rules that belong together, and when they are asked (``None`` = always)."""

    name: str
    title: str
    entered_when: Condition | None
    rules: tuple[Rule, ...]

    def entered(self, case: Case) -> bool:
        """Whether the rules of this stage are asked."""
        return self.entered_when is None or self.entered_when.holds(case)


STAGES: tuple[Stage, ...] = (
    Stage(
        "usable",
        "Can the transfer be judged at all?",
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
        "deficit",
        "The throughput stays below what they allow: what took the rest?",
        on.UNEXPLAINED,
        (
            Rule("receiver_closed_its_window", "receiver_limited", (on.WINDOW_CLOSED,)),
            Rule("application_paused", "sender_application_limited", (on.OVERSIZE, on.APPLICATION_IDLE)),
            Rule("sender_held_back", "host_scheduling", (on.OVERSIZE,)),
            Rule("loss_slowed", "network_loss", (on.LOSS, on.NOT_INFLATED)),
            Rule("queue_slowed", "network_congestion", (on.INFLATED,), flag="mostly_idle", flag_when=on.MOSTLY_IDLE),
            Rule("still_starting", "slow_start", (on.SLOW_START,)),
            Rule("nothing_explains", "unexplained"),
        ),
    ),
    Stage(
        "no_rate",
        "The throughput cannot be compared with an expectation: what do the hints say?",
        on.NO_RATIO,
        (
            Rule("pauses_alone", "host_scheduling", (on.OVERSIZE,)),
            Rule("loss_hint", "network_loss", (on.LOSS_BOUND, on.NOT_INFLATED)),
            Rule("queue_hint", "network_congestion", (on.INFLATED,)),
            Rule("nothing_unusual", "no_anomaly"),
        ),
    ),
)
"""The whole procedure."""

RULES: tuple[Rule, ...] = tuple(rule for stage in STAGES for rule in stage.rules)
"""Every rule, in the order asked."""


def first_match(case: Case) -> Rule:
    """The rule that decides this case.

    The conditions of the last three stages exclude one another and leave nothing out, so there always is one.
    """
    for stage in STAGES:
        if stage.entered(case):
            for rule in stage.rules:
                if rule.fires(case):
                    return rule
    raise AssertionError("the last rule of the last stage has no conditions")
