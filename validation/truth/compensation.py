"""How close the estimate without stalls comes to what the network gave undisturbed twins.

What the network gave is the throughput of the transfer's undisturbed twins, as its label reckons
with it. Transfers whose path was disturbed besides, and those that have no twin, have nothing to
compare with; they are counted and left out.

Does not choose: the conditions under which an estimate is made are those of
:mod:`trustbed.diagnose.compensation`, which were fixed on the odd seeds of plan 2, as its interval
was.

Bias: twins differ by some percent among themselves, so no estimate can be better than that; and
many transfers share a network, so the intervals of the shares are rather too narrow.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from trustbed.diagnose.compensation_table import NEAR
from validation.truth.intervals import wilson
from validation.truth.judged import Answer
from validation.truth.labels import throughput
from validation.truth.score import Share

if TYPE_CHECKING:
    from validation.truth.result import Judged

ENDS = frozenset(
    {
        *("quota", "spinner", "freeze", "guest-quota", "guest-spinner", "guest-freeze"),
        *("slow-reader", "bursty-writer", "long-bursts", "send-buffer"),
    }
)
"""Kinds that leave the path unchanged: their twins show what it would have given."""
CENTRAL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """One discarded transfer.

    Rates in B/s; ``given`` is ``None`` where there is nothing to compare with, ``estimate``
    where none was made.

    ``removed`` is the rate without the time in which data were withheld, at most what window and
    capacity allow.
    """

    given: float | None
    estimate: float | None
    low: float
    high: float
    removed: float | None
    why_not: str

    @property
    def error(self) -> float | None:
        """Of the estimate, as a share of what was given."""
        return (
            None if self.given is None or self.estimate is None else self.estimate / self.given - 1
        )

    @property
    def is_covered(self) -> bool:
        """Whether what was given lies within the estimate's interval."""
        return self.given is not None and self.low <= self.given <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """All guesses of one view.

    ``comparable`` are those with a twin, ``available`` those of them with an estimate.

    ``central`` are the bounds of what was given over the estimate, for 95 % of the cases;
    ``why_not`` counts reasons.
    """

    discarded: int
    comparable: int
    available: int
    within: Share
    median_error: float | None
    covered: Share
    removed_within: Share
    central: tuple[float, float] | None
    why_not: tuple[tuple[str, int], ...]


def guesses(judged: Iterable[Judged], view: str) -> list[Guess]:
    """Of every transfer that this view discards for stalls of its host."""
    return [
        guess
        for one in judged
        if (answer := one.answers.get(view)) is not None
        and (guess := _guess(one, answer)) is not None
    ]


def _guess(one: Judged, answer: Answer) -> Guess | None:
    found = answer.estimate
    if found is None:
        return None
    return Guess(
        given=_given(one),
        estimate=found.bytes_per_second,
        low=found.low_bytes_per_second or 0.0,
        high=found.high_bytes_per_second or 0.0,
        removed=_removed(answer),
        why_not=found.why_not,
    )


def _given(one: Judged) -> float | None:
    rate, cost = throughput(one.stored), one.label.cost
    return (
        rate / 8 / (1 - cost)
        if rate is not None and cost is not None and one.stored["kind"] in ENDS
        else None
    )


def _removed(answer: Answer) -> float | None:
    """What one would try first: bytes over the time in which nothing was withheld."""
    evidence = answer.evidence
    rate, withheld, window = (
        evidence["throughput_bytes_per_second"],
        evidence["idle_open_window_fraction"],
        evidence["window_bytes"],
    )
    trip, payload, packet = (
        evidence["rtt_seconds"],
        evidence["payload_bytes"],
        evidence["packet_bytes"],
    )
    if rate is None or withheld is None:
        return None
    bounds = [window * payload / (packet * trip)] if window and trip else []
    if evidence["capacity_bytes_per_second"]:
        bounds.append(evidence["capacity_bytes_per_second"] * payload / packet)
    return float(min([rate / (1 - withheld) if withheld < 1 else math.inf, *bounds]))


def accuracy(found: Sequence[Guess]) -> Accuracy:
    """The figures of one view."""
    comparable = [guess for guess in found if guess.given is not None]
    errors = [guess.error for guess in comparable if guess.error is not None]
    made = [guess for guess in comparable if guess.estimate is not None]
    removed = [
        guess.removed / guess.given - 1
        for guess in made
        if guess.removed is not None and guess.given is not None
    ]
    return Accuracy(
        discarded=len(found),
        comparable=len(comparable),
        available=len(errors),
        within=_within(errors),
        median_error=median(errors) if errors else None,
        covered=_independent(sum(guess.is_covered for guess in made), len(made)),
        removed_within=_within(removed),
        central=_central([1 / (1 + error) for error in errors]),
        why_not=_reasons(guess.why_not for guess in comparable if guess.why_not),
    )


def _within(errors: Sequence[float]) -> Share:
    return _independent(sum(abs(error) <= NEAR for error in errors), len(errors))


def _central(ratios: Sequence[float]) -> tuple[float, float] | None:
    """The bounds between which 95 % of the ratios lie, rounded outwards (the nearest rank).

    ``None`` of too few.
    """
    beyond = (1 - CENTRAL) / 2
    if len(ratios) < 1 / beyond:
        return None
    inside, last = sorted(ratios), len(ratios) - 1
    return inside[math.floor(beyond * last)], inside[math.ceil((1 - beyond) * last)]


def _reasons(words: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Each reason without the figure in brackets behind it, the most frequent first."""
    counted = Counter(each.partition(" (")[0] for each in words)
    return tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def _independent(hits: int, of: int) -> Share:
    return Share(hits=hits, of=of, interval=wilson(hits, of))
