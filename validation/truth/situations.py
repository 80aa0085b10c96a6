"""Fifteen situations that an earlier generator of transfers did not make.

Most of them were judged wrongly when they were tried for the first time. Kinds of this plan make
them all; here their answers are counted by situation, each from the capture that it is about.
Families of both halves count: what is asked is whether the situation is known at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from validation.truth.result import VIEWS, Result
from validation.truth.score import CONFIDENT, Case, counted

WANTED_RIGHT, MOST_CONFIDENTLY_WRONG = 0.9, 0.01


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation, the kinds that make it, and the view of them that is asked about."""

    words: str
    kinds: tuple[str, ...]
    view: str = "sender"


SITUATIONS = (
    Situation("a capture inside a starved guest", ("guest-freeze", "guest-quota"), "inside"),
    Situation("the receiver is a starved guest", ("receiver-guest-freeze", "receiver-guest-quota")),
    Situation("a receiver that is stopped", ("receiver-stopped",)),
    Situation("a writer that pauses between long bursts", ("long-bursts",)),
    Situation("a token bucket at the sender's own interface", ("own-qdisc",)),
    Situation("a far link that is dead for a while", ("far-outage",)),
    Situation("a rate that changes", ("rate-step",)),
    Situation("a second flow that joins", ("second-flow",)),
    Situation("small writes", ("small-writes",)),
    Situation("a shallow queue", ("shallow-queue",)),
    Situation("CoDel", ("codel",)),
    Situation("RED", ("red",)),
    Situation("flows that share a small queue", ("parallel-flows",)),
    Situation("a link right behind the capture", ("first-hop",)),
    Situation("a guest that is stopped again and again", ("guest-freeze",)),
)


@dataclass(frozen=True, slots=True)
class Found:
    """How one situation, or all of them, were answered: cause right, wrong with 0.9 and more."""

    words: str
    cases: int
    right: int
    confidently_wrong: int


def found(result: Result) -> list[Found]:
    """One entry for each situation, and one for all."""
    cases = {view.name: counted(result.cases(view, "all")) for view in VIEWS}
    each = [
        _count(
            situation.words,
            [case for case in cases[situation.view] if case.kind in situation.kinds],
        )
        for situation in SITUATIONS
    ]
    sums = (sum(one.cases for one in each), sum(one.right for one in each))
    return [*each, Found("all", *sums, sum(one.confidently_wrong for one in each))]


def _count(words: str, cases: Sequence[Case]) -> Found:
    wrong = [case for case in cases if not case.is_right]
    return Found(
        words,
        len(cases),
        len(cases) - len(wrong),
        sum(case.confidence >= CONFIDENT for case in wrong),
    )


def rows(result: Result) -> Iterator[tuple[str, ...]]:
    """A table, its head first."""
    yield ("situation", "transfers", "cause right", "wrong with 0.9 and more")
    for one in found(result):
        if one.cases:
            yield (
                one.words,
                str(one.cases),
                f"{one.right / one.cases:.0%}",
                f"{one.confidently_wrong / one.cases:.1%}",
            )
    yield ("wanted", "", f"≥ {WANTED_RIGHT:.0%}", f"≤ {MOST_CONFIDENTLY_WRONG:.0%}")
