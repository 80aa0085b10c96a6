"""How often the answers are right.

Confusion, precision, recall, F1, false alarms, missed discards. Pure.

A transfer belongs to the class of the cause that was made. An answer is right when its cause is
among the accepted ones; it then counts for the class of the transfer, whatever its name. A wrong
one counts against that class (recall) and against the class of its own name (precision). The macro
F1 is the mean over the classes that were made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from validation.truth.intervals import Interval, bootstrap, wilson

ALARMS = frozenset({"review", "discard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One answer about one capture, and what is true."""

    name: str
    kind: str
    standing: str
    made: str
    accepted: tuple[str, ...]
    verdicts: tuple[str, ...]
    cause: str
    verdict: str
    confidence: float
    cost: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether the cause is accepted."""
        return self.cause in self.accepted

    @property
    def verdict_is_right(self) -> bool:
        """Whether the verdict is one that was wanted."""
        return self.verdict in self.verdicts

    @property
    def is_alarm(self) -> bool:
        """Whether a healthy transfer was not trusted."""
        return self.standing == "healthy" and self.verdict in ALARMS

    @property
    def must_be_discarded(self) -> bool:
        """Whether nothing but *discard* would do."""
        return self.standing == "disturbed" and self.verdicts == ("discard",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Hits of a number, and the share with its interval."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """``None`` of nothing."""
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> Interval:
        """Wilson, 95 %."""
        return wilson(self.hits, self.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfCause:
    """How well one cause is found."""

    cause: str
    precision: Share
    recall: Share
    f1: float | None
    f1_interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Everything about one amount of knowledge; slight disturbances are left out."""

    cases: int
    right: Share
    verdicts_right: Share
    macro_f1: float | None
    macro_f1_interval: Interval | None
    causes: tuple[OfCause, ...]
    confusion: dict[tuple[str, str], int]
    false_alarms: Share
    missed_discards: Share
    slight: Share


def counted(cases: Iterable[Case]) -> list[Case]:
    """The cases that make the score."""
    return [case for case in cases if case.standing in ("healthy", "disturbed")]


def score(cases: Sequence[Case], *, seed: int = 1) -> Score:
    """All figures."""
    used = counted(cases)
    slight = [case for case in cases if case.standing == "slight"]
    healthy = [case for case in used if case.standing == "healthy"]
    doomed = [case for case in used if case.must_be_discarded]
    return Score(
        cases=len(used),
        right=Share(hits=sum(case.is_right for case in used), of=len(used)),
        verdicts_right=Share(hits=sum(case.verdict_is_right for case in used), of=len(used)),
        macro_f1=macro_f1(used),
        macro_f1_interval=bootstrap(used, macro_f1, seed=seed),
        causes=tuple(_of_cause(used, cause, seed) for cause in causes_made(used)),
        confusion=dict(Counter((case.made, answered(case)) for case in used)),
        false_alarms=Share(hits=sum(case.is_alarm for case in healthy), of=len(healthy)),
        missed_discards=Share(
            hits=sum(case.verdict != "discard" for case in doomed), of=len(doomed)
        ),
        slight=Share(hits=sum(case.is_right for case in slight), of=len(slight)),
    )


def answered(case: Case) -> str:
    """The column of the confusion matrix.

    An accepted name counts as that of the cause that was made.
    """
    return case.made if case.is_right else case.cause


def causes_made(cases: Iterable[Case]) -> tuple[str, ...]:
    """The classes, the most frequent first."""
    numbers = Counter(case.made for case in cases)
    return tuple(sorted(numbers, key=lambda cause: (-numbers[cause], cause)))


def f1(cases: Iterable[Case], cause: str) -> float | None:
    """Harmonic mean of precision and recall of a cause.

    ``None`` where it was neither made nor named.
    """
    hits = misses = false = 0
    for case in cases:
        if case.made == cause:
            hits += case.is_right
            misses += not case.is_right
        elif not case.is_right and case.cause == cause:
            false += 1
    return 2 * hits / (2 * hits + misses + false) if hits + misses + false else None


def macro_f1(cases: Sequence[Case]) -> float | None:
    """Mean F1 of the causes that were made."""
    hits: Counter[str] = Counter()
    misses: Counter[str] = Counter()
    false: Counter[str] = Counter()
    for case in cases:
        if case.is_right:
            hits[case.made] += 1
        else:
            misses[case.made] += 1
            false[case.cause] += 1
    made = hits.keys() | misses.keys()
    if not made:
        return None
    return sum(
        2 * hits[cause] / (2 * hits[cause] + misses[cause] + false[cause]) for cause in made
    ) / len(made)


def _of_cause(cases: Sequence[Case], cause: str, seed: int) -> OfCause:
    made = [case for case in cases if case.made == cause]
    hits = sum(case.is_right for case in made)
    false = sum(case.made != cause and not case.is_right and case.cause == cause for case in cases)
    return OfCause(
        cause=cause,
        precision=Share(hits=hits, of=hits + false),
        recall=Share(hits=hits, of=len(made)),
        f1=f1(cases, cause),
        f1_interval=bootstrap(cases, lambda drawn: f1(drawn, cause), seed=seed),
    )
