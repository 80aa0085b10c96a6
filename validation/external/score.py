"""Right and wrong answers about transfers of others, strictly. Pure.

An answer is right when its cause and its verdict are among the accepted ones. An answer that is a
set counts only if it holds an accepted cause and has at most two names, and is counted apart. No
host stalls in any of these captures, so that every *discard* is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from validation.external.answers import Answer
from validation.truth.intervals import Interval, wilson

MOST_NAMES: Final = 2
NOTHING: Final = "(none)"
"""The cause where the product found no such transfer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is true of a transfer, and what was said about one capture of it."""

    part: str
    name: str
    kind: str
    family: str
    point: str
    accepted: tuple[str, ...]
    verdicts: tuple[str, ...]
    names: tuple[str, ...]
    verdict: str
    confidence: float | None

    @classmethod
    def of(
        cls,
        answer: Answer | None,
        *,
        part: str,
        name: str,
        kind: str,
        family: str,
        point: str,
        accepted: Sequence[str],
        verdicts: Sequence[str],
    ) -> Case:
        """The case of an answer; ``None`` where the transfer was not found in its capture."""
        return cls(
            part=part,
            name=name,
            kind=kind,
            family=family,
            point=point,
            accepted=tuple(accepted),
            verdicts=tuple(verdicts),
            names=answer.names if answer else (NOTHING,),
            verdict=answer.verdict if answer else NOTHING,
            confidence=answer.confidence if answer else None,
        )

    @property
    def is_set(self) -> bool:
        """Whether more than one cause is named."""
        return len(self.names) > 1

    @property
    def cause_is_right(self) -> bool:
        """Whether an accepted cause is among at most two names."""
        return len(self.names) <= MOST_NAMES and not set(self.names).isdisjoint(self.accepted)

    @property
    def first_is_right(self) -> bool:
        """Whether the first name is accepted."""
        return self.names[0] in self.accepted

    @property
    def is_right(self) -> bool:
        """Whether cause and verdict are."""
        return self.cause_is_right and self.verdict in self.verdicts

    @property
    def is_discard(self) -> bool:
        """Whether the number was thrown away, for which there was never a reason."""
        return self.verdict == "discard"

    @property
    def said(self) -> str:
        """The answer in words, as a table of confusions shows it."""
        return f"{' or '.join(self.names)} → {self.verdict}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of some cases."""

    of: int
    right: int
    causes_right: int
    first_right: int
    sets_right: int
    discards: int

    @classmethod
    def count(cls, cases: Iterable[Case]) -> Tally:
        """Counts."""
        every = list(cases)
        return cls(
            of=len(every),
            right=sum(case.is_right for case in every),
            causes_right=sum(case.cause_is_right for case in every),
            first_right=sum(case.first_is_right for case in every),
            sets_right=sum(case.is_right and case.is_set for case in every),
            discards=sum(case.is_discard for case in every),
        )

    @property
    def share(self) -> float | None:
        """Right answers; ``None`` of nothing."""
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> Interval:
        """Of that share: Wilson, 95 %."""
        return wilson(self.right, self.of)


def grouped(cases: Iterable[Case], key: Callable[[Case], str]) -> dict[str, list[Case]]:
    """Cases by a property, in the order in which its values appear."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(key(case), []).append(case)
    return found


def confusions(cases: Iterable[Case]) -> list[tuple[str, int]]:
    """What was said instead, the most frequent first."""
    counts = Counter(case.said for case in cases if not case.is_right)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
