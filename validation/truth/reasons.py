"""Why an answer was wrong.

Classes of mistakes, each with the condition that puts an answer into it.

Conditions depend on the disturbance, on its cost and on the numbers behind the answer, never on
names of transfers: the same condition that explains one answer would explain the next. The first
class that holds applies. A mistake without a class is reported as not understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from trustbed.diagnose.rules import STAGES
from validation.truth.judged import Answer
from validation.truth.labels import Label
from validation.truth.result import VIEWS, Judged, View

LITTLE = 0.3
"""A cost that leaves the network's own limit within the tolerance of the comparison, or nearly."""
FEW_LOSSES = 12
SLOW_MEGABITS, NEAR_MS = 5, 20
"""Where two packets take as long as the path's delay."""
LATE_MISSED = 0.05
_EXPLAINED = frozenset(
    rule.name for stage in STAGES if stage.name == "explained" for rule in stage.rules
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A wrong answer with its evidence."""

    one: Judged
    view: View

    @property
    def kind(self) -> str:
        """The kind of disturbance."""
        return str(self.one.stored["kind"])

    @property
    def label(self) -> Label:
        """The true label."""
        return self.one.label

    @property
    def answer(self) -> Answer:
        """The wrong answer."""
        return self.one.answers[self.view.name]

    def number(self, name: str) -> float:
        """A number of the evidence; 0 where it is unknown."""
        return float(self.answer.evidence.get(name) or 0.0)

    @property
    def network(self) -> dict[str, Any]:
        """The network of the transfer."""
        return dict(self.one.stored["network"])

    @property
    def is_away(self) -> bool:
        """Whether the capture was taken away from the sender."""
        return self.view.point != "sender"

    @property
    def is_short_path(self) -> bool:
        """Whether a couple of packets take as long as the path."""
        return bool(
            self.network["rate_megabits"] <= SLOW_MEGABITS
            and self.network["round_trip_ms"] <= NEAR_MS
        )


@dataclass(frozen=True, slots=True)
class Class:
    """A class of mistakes."""

    name: str
    words: str
    holds: Callable[[Mistake], bool]


CLASSES: tuple[Class, ...] = (
    Class(
        "right cause, other verdict",
        (
            "The cause is right; the limits of the capture point, or the score, moved the "
            "verdict by one step."
        ),
        lambda m: m.answer.cause in m.label.wanted[m.view.knowledge].causes,
    ),
    Class(
        "small dose, the network's own limit still explains the rate",
        "It cost less than three tenths of the throughput, and the comparison with what "
        "window, loss and capacity allow has a "
        "tolerance of two.",
        lambda m: (
            m.label.cost is not None
            and m.label.cost < LITTLE
            and (m.answer.rule in _EXPLAINED or m.answer.cause == "unexplained")
        ),
    ),
    Class(
        "the guest's clock stalled",
        "Captured away from the sender. If a guest stops between timestamping and sending, or its "
        "clock stops with it, its own delay appears as one-way delay: no timestamp clears the "
        "path.",
        lambda m: (
            m.is_away and m.kind.startswith("guest") and m.answer.cause == "network_congestion"
        ),
    ),
    Class(
        "a policer on a path of a few packets",
        "The link is slow and the path short: two packets of the transfer take as long as the "
        "path, so the RTT before losses shows nothing about the queue, and a bucket of a few "
        "packets has no distinguishable levels.",
        lambda m: m.kind == "policer" and m.is_short_path,
    ),
    Class(
        "too few losses",
        "So few that chance, a queue and a bucket cannot be distinguished.",
        lambda m: (
            m.kind in ("policer", "loss-random", "loss-bursty", "reordering")
            and m.number("loss_events") < FEW_LOSSES
        ),
    ),
    Class(
        "losses before the capture",
        (
            "Captured away from the sender: when a packet that was lost before the capture had "
            "been sent is an estimate, and a poor one with many losses."
        ),
        lambda m: (
            m.is_away
            and m.kind in ("policer", "loss-random", "loss-bursty", "loss-and-queue", "reordering")
        ),
    ),
    Class(
        "a bucket behind a queue",
        (
            "The link before the policer queued as well: losses occur while the RTT is high, "
            "as from a full queue."
        ),
        lambda m: m.kind == "policer" and m.answer.cause == "network_congestion",
    ),
    Class(
        "losses in clusters",
        (
            "Losses in clusters at a steady rate, or at a low level of an assumed bucket, look "
            "like those of a policer."
        ),
        lambda m: m.kind.startswith("loss") and m.answer.cause == "policed",
    ),
    Class(
        "a steady rate that is not the link's",
        "A buffer that is refilled at once, a sender that is stopped evenly, a policer "
        "that BBR follows: each gives a steady rate with "
        "constant data in flight. With a queue on the path, whatever caused it, those are the "
        "signs of a full link.",
        lambda m: (
            m.answer.rule in ("link_was_full", "path_was_full")
            and m.label.standing == "disturbed"
            and m.kind != "bursty-writer"
        ),
    ),
    Class(
        "a stalled interface, captured away from the sender",
        (
            "Away from the sender the unanswered retransmissions are not visible: a long silence "
            "after the last write is attributed to the program."
        ),
        lambda m: m.kind == "nic-stall" and m.is_away,
    ),
    Class(
        "a stall that ends long after the interface is back",
        "The sender retransmits at doubled intervals, so it notices late: the silence matches no "
        "multiple of the reset's period, and "
        "the host is blamed instead of its driver, one verdict lower.",
        lambda m: m.kind == "nic-stall" and m.answer.cause == "host_stall",
    ),
    Class(
        "a small buffer looks like a descheduled sender",
        "A writer is woken when a third of its buffer is free: until its next packet there are "
        "pauses with an open window. Only the buffer's size would decide; where the CPU was short "
        "as well, the host's samples point to the machine.",
        lambda m: (
            m.kind == "send-buffer"
            and m.answer.cause in ("host_scheduling", "unexplained", "network_congestion")
        ),
    ),
    Class(
        "short pauses look like a steady rate",
        (
            "Writes less than a round trip apart keep data in flight all the time, at a rate as "
            "steady as a link's."
        ),
        lambda m: (
            m.kind == "bursty-writer"
            and m.answer.cause in ("bandwidth_limited", "network_congestion", "unexplained")
        ),
    ),
    Class(
        "a program that pauses, on a busy processor",
        "Its process waited for a processor for 5 % of the time and more (others used the "
        "machine), so the samples do not clear"
        " the machine.",
        lambda m: (
            m.kind == "bursty-writer" and m.view.known and m.answer.cause == "host_scheduling"
        ),
    ),
    Class(
        "a process stopped in step with the samples",
        "The samples of each second found the process running: a stop shorter than their interval "
        "shows only by chance, and the samples then clear the machine. The cause is right or "
        "open, the verdict is review.",
        lambda m: (
            m.kind in ("freeze", "quota", "spinner")
            and m.view.known
            and m.answer.verdict == "review"
        ),
    ),
    Class(
        "a starved process whose kernel keeps sending",
        "The kernel keeps sending what is queued: the remaining pauses are "
        "short, and the window or the path "
        "explains most of the rate.",
        lambda m: m.kind in ("freeze", "quota", "spinner", "freeze-and-loss"),
    ),
    Class(
        "others in the same queue",
        "The queue was never empty while others filled it, or this transfer's few packets "
        "found it at its lowest: base and high "
        "RTT do not bracket it.",
        lambda m: m.kind in ("cross-greedy", "cross-steady", "loss-and-queue", "reverse"),
    ),
    Class(
        "a congested reverse path, captured away from the sender",
        ("Acknowledgements that queue on the reverse path look like a sender that responds late."),
        lambda m: m.kind == "reverse" and m.answer.cause == "host_scheduling",
    ),
    Class(
        "an undisturbed machine that is short of CPU time",
        "Nothing was injected, and the sender was late all the same: its own pauses, or its "
        "host's samples, show it. An emulated or "
        "busy processor disturbed it, which the label does not know.",
        lambda m: m.label.standing == "healthy" and m.answer.cause == "host_scheduling",
    ),
    Class(
        "a slow reader that is hardly slow",
        (
            "The reader took nine tenths of what arrived: the window shrank a little, and "
            "remained the limit."
        ),
        lambda m: m.kind == "slow-reader" and m.answer.cause == "window_limited",
    ),
)
OPEN = Class("not understood", "No known condition holds.", lambda _mistake: True)


def mistakes(chosen: Iterable[Judged]) -> list[Mistake]:
    """Every wrong cause or verdict of healthy or clearly disturbed transfers, in every view."""
    return [Mistake(one=one, view=view) for one in chosen for view in VIEWS if _is_wrong(one, view)]


def class_of(mistake: Mistake) -> Class:
    """The class that a mistake belongs to."""
    return next((each for each in CLASSES if each.holds(mistake)), OPEN)


def _is_wrong(one: Judged, view: View) -> bool:
    case = one.case(view)
    return (
        case is not None
        and case.standing in ("healthy", "disturbed")
        and not (case.is_right and case.verdict_is_right)
    )
