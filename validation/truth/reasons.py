"""Why an answer was wrong.

Classes of mistakes, each with the condition that puts an answer into it.

Conditions look at what was done, at what that cost and at the numbers that the answer was made
from, never at names of transfers: the same condition that explains one answer would explain the
next. The first class that holds is the one. What no class holds for is said to be not understood.
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
"""Where two packets take as long as the path."""
LATE_MISSED = 0.05
_EXPLAINED = frozenset(
    rule.name for stage in STAGES if stage.name == "explained" for rule in stage.rules
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A wrong answer with what it was made from."""

    one: Judged
    view: View

    @property
    def kind(self) -> str:
        """What was done."""
        return str(self.one.kept["kind"])

    @property
    def label(self) -> Label:
        """What is true."""
        return self.one.label

    @property
    def answer(self) -> Answer:
        """What was said."""
        return self.one.answers[self.view.name]

    def number(self, name: str) -> float:
        """Of the evidence; 0 where it is unknown."""
        return float(self.answer.evidence.get(name) or 0.0)

    @property
    def network(self) -> dict[str, Any]:
        """Where it happened."""
        return dict(self.one.kept["network"])

    @property
    def is_afar(self) -> bool:
        """Whether the capture was not taken beside the sender."""
        return self.view.place != "sender"

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
            "The cause was found; what the capture's place leaves of it, or the score, put "
            "the verdict one step beside the wanted one."
        ),
        lambda m: m.answer.cause in m.label.wanted[m.view.knowledge].causes,
    ),
    Class(
        "small dose, the network's own limit still explains the rate",
        "It took less than three tenths of the throughput, and the comparison with what "
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
        "Seen from afar. A guest that is stopped between stamping and sending, or whose "
        "clock is stopped with it, shows a way "
        "that is as late as it is itself: no timestamp clears the path.",
        lambda m: (
            m.is_afar and m.kind.startswith("guest") and m.answer.cause == "network_congestion"
        ),
    ),
    Class(
        "a policer on a path of a few packets",
        "Link slow and path short: two packets of its own take as long as the path, so "
        "the RTT before losses says nothing about"
        " the queue, and a bucket of a few packets has no levels to be told apart.",
        lambda m: m.kind == "policer" and m.is_short_path,
    ),
    Class(
        "too few losses",
        "So few that chance, a queue and a bucket cannot be told apart.",
        lambda m: (
            m.kind in ("policer", "loss-random", "loss-bursty", "reordering")
            and m.number("loss_events") < FEW_LOSSES
        ),
    ),
    Class(
        "losses before the capture",
        (
            "Seen from afar: when a packet that was lost before the capture had been sent is "
            "an estimate, and with many losses a bad one."
        ),
        lambda m: (
            m.is_afar
            and m.kind in ("policer", "loss-random", "loss-bursty", "loss-and-queue", "reordering")
        ),
    ),
    Class(
        "a bucket behind a queue",
        (
            "The link before the policer queued as well: losses come while the RTT is high, "
            "as from a full queue."
        ),
        lambda m: m.kind == "policer" and m.answer.cause == "network_congestion",
    ),
    Class(
        "losses in clusters",
        (
            "Losses that come in clusters while a steady rate is held, or at a low level of "
            "an imagined bucket, are what a policer makes."
        ),
        lambda m: m.kind.startswith("loss") and m.answer.cause == "policed",
    ),
    Class(
        "a steady rate that is not the link's",
        "A buffer that is refilled at once, a sender that is stopped evenly, a policer "
        "that BBR follows: each gives a steady rate with "
        "the same data outstanding all the time. With a queue on the way, whoever made "
        "it, that is how a full link is told.",
        lambda m: (
            m.answer.rule in ("link_was_full", "path_was_full")
            and m.label.standing == "disturbed"
            and m.kind != "bursty-writer"
        ),
    ),
    Class(
        "a stalled interface, seen from afar",
        (
            "From afar the repetitions that went unanswered are not seen: a long silence "
            "after the last write is a program's."
        ),
        lambda m: m.kind == "nic-stall" and m.is_afar,
    ),
    Class(
        "a stall that ends long after the interface is back",
        "The sender repeats a packet at doubled distances, so it finds out late: the "
        "silence fits no multiple of the reset's period, and "
        "the host is blamed instead of its driver, one verdict lower.",
        lambda m: m.kind == "nic-stall" and m.answer.cause == "host_stall",
    ),
    Class(
        "a small buffer looks like a sender that is held back",
        "A writer is woken when a third of its buffer is free: between that and the next "
        "packet lie pauses under an open "
        "window. Only who knows the buffer's size can tell; where the processor was short "
        "as well, the host's samples speak for"
        " the machine.",
        lambda m: (
            m.kind == "send-buffer"
            and m.answer.cause in ("host_scheduling", "unexplained", "network_congestion")
        ),
    ),
    Class(
        "short pauses make a steady rate",
        (
            "Writes that follow one another within a round trip keep data outstanding all the "
            "time, at a rate as steady as a link's."
        ),
        lambda m: (
            m.kind == "bursty-writer"
            and m.answer.cause in ("bandwidth_limited", "network_congestion", "unexplained")
        ),
    ),
    Class(
        "a program that pauses, on a processor that is short",
        "Its process waited for a processor for 5 % of the time and more (others used the "
        "machine), so the samples do not clear"
        " the machine.",
        lambda m: (
            m.kind == "bursty-writer" and m.view.known and m.answer.cause == "host_scheduling"
        ),
    ),
    Class(
        "a process stopped in step with the samples",
        "The samples of each second found the process running: a stop shorter than their "
        "distance shows only by chance, and the"
        " samples then speak for the machine. The cause is right or open, the verdict is review.",
        lambda m: (
            m.kind in ("freeze", "quota", "spinner")
            and m.view.known
            and m.answer.verdict == "review"
        ),
    ),
    Class(
        "a starved process that its kernel carries",
        "The kernel goes on answering with what is queued: the pauses that remain are "
        "short, and the window or the path "
        "explains most of the rate.",
        lambda m: m.kind in ("freeze", "quota", "spinner", "freeze-and-loss"),
    ),
    Class(
        "others in the same queue",
        "The queue was never empty while others filled it, or this transfer's few packets "
        "met it at its lowest: base and high "
        "RTT do not bracket it.",
        lambda m: m.kind in ("cross-greedy", "cross-steady", "loss-and-queue", "reverse"),
    ),
    Class(
        "a way back that is crowded, seen from afar",
        (
            "Acknowledgements that wait on their way to the sender look like a sender that "
            "answers late."
        ),
        lambda m: m.kind == "reverse" and m.answer.cause == "host_scheduling",
    ),
    Class(
        "a machine short of processors, without our doing",
        "Nothing was done, and the sender was late all the same: its own pauses, or its "
        "host's samples, say so. An emulated or "
        "busy processor disturbed it, which the label does not know.",
        lambda m: m.label.standing == "healthy" and m.answer.cause == "host_scheduling",
    ),
    Class(
        "a slow reader that hardly is one",
        (
            "The reader took nine tenths of what came: the window shrank a little, and stayed "
            "the limit."
        ),
        lambda m: m.kind == "slow-reader" and m.answer.cause == "window_limited",
    ),
)
OPEN = Class("not understood", "No condition that was thought of holds.", lambda _mistake: True)


def mistakes(chosen: Iterable[Judged]) -> list[Mistake]:
    """Every wrong cause or verdict of what was healthy or clearly disturbed, in every view."""
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
