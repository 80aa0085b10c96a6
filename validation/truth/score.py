"""How often the answers are right, strictly.

Confusion, precision, recall, F1, and how often a verdict ends where it should not. Pure.

A transfer belongs to the class of the cause that was made. An answer with one name is right when it
is among the accepted ones; an answer with a set of names is right when the set holds the cause that
was made and at most one other. Sets are counted apart as well, for they say less. A right answer
counts for the class of the transfer, whatever its name. A wrong one counts against that class
(recall) and against the class of its first name (precision). The macro F1 is the mean over the
classes that were made.

Transfers of one network are alike: intervals come from drawing whole networks (`intervals`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from validation.truth.intervals import Interval, clustered, share_interval

ALARMS = frozenset({"review", "discard"})
MOST_NAMES = 2
"""A set with more names says nothing."""
TRANSITIONS = (
    ("discard", "trust"),
    ("discard", "review"),
    ("review", "trust"),
    ("review", "discard"),
    ("trust", "review"),
    ("trust", "discard"),
)
"""Verdicts wanted and given that are counted, the worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One answer about one capture, and what is true.

    ``causes`` are the names given; ``verdicts`` those that are right beside the first of them.
    """

    name: str
    kind: str
    network: str
    standing: str
    made: str
    accepted: tuple[str, ...]
    verdicts: tuple[str, ...]
    causes: tuple[str, ...]
    verdict: str
    confidence: float
    cost: float | None = None

    @property
    def cause(self) -> str:
        """The first name given."""
        return self.causes[0]

    @property
    def is_set(self) -> bool:
        """Whether several names were given."""
        return len(self.causes) > 1

    @property
    def is_right(self) -> bool:
        """Whether the cause is accepted, or one of two names."""
        if self.is_set:
            return len(self.causes) <= MOST_NAMES and self.made in self.causes
        return self.cause in self.accepted

    @property
    def verdict_is_right(self) -> bool:
        """Whether the verdict is one that was wanted."""
        return self.verdict in self.verdicts

    @property
    def counts(self) -> bool:
        """Whether it makes the score."""
        return self.standing in ("healthy", "disturbed")

    @property
    def is_all_right(self) -> bool:
        """Whether cause and verdict are."""
        return self.is_right and self.verdict_is_right

    @property
    def is_alarm(self) -> bool:
        """Whether a healthy transfer was not trusted."""
        return self.standing == "healthy" and self.verdict in ALARMS

    @property
    def wanted(self) -> str | None:
        """What has to become of it: *review* if trust alone would be wrong; ``None``: anything."""
        if self.verdicts == ("discard",):
            return "discard"
        if "trust" not in self.verdicts and "review" in self.verdicts:
            return "review"
        return "trust" if self.verdicts == ("trust",) else None

    @property
    def is_doomed(self) -> bool:
        """Whether trust would be wrong."""
        return self.standing == "disturbed" and "trust" not in self.verdicts

    @property
    def must_be_discarded(self) -> bool:
        """Whether nothing but *discard* would do."""
        return self.standing == "disturbed" and self.wanted == "discard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Hits of a number, and the share with its interval."""

    hits: int
    of: int
    interval: Interval = (0.0, 1.0)

    @property
    def value(self) -> float | None:
        """``None`` of nothing."""
        return self.hits / self.of if self.of else None


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
    """Everything about one amount of knowledge; slight disturbances are left out.

    ``right`` counts right sets, ``right_alone`` only answers with one name; ``sets`` are the right
    ones of the answers with several.
    """

    cases: int
    networks: int
    right: Share
    right_alone: Share
    sets: Share
    verdicts_right: Share
    macro_f1: float | None
    macro_f1_interval: Interval | None
    causes: tuple[OfCause, ...]
    confusion: dict[tuple[str, str], int]
    false_alarms: Share
    missed_discards: Share
    doomed_trusted: Share
    transitions: dict[tuple[str, str], Share] = field(default_factory=dict)
    confidently_wrong: Share
    slight: Share


CONFIDENT = 0.9


def counted(cases: Iterable[Case]) -> list[Case]:
    """The cases that make the score."""
    return [case for case in cases if case.counts]


def score(cases: Sequence[Case], *, seed: int = 1) -> Score:
    """All figures."""
    used = counted(cases)
    slight = [case for case in cases if case.standing == "slight"]
    intervals = _f1_intervals(used, seed)

    def share(hit: Callable[[Case], bool], of: Callable[[Case], bool] | None = None) -> Share:
        return _share(used if of is None else [case for case in used if of(case)], hit, seed)

    return Score(
        cases=len(used),
        networks=len({case.network for case in used}),
        right=share(lambda case: case.is_right),
        right_alone=share(lambda case: case.is_right and not case.is_set),
        sets=share(lambda case: case.is_right, lambda case: case.is_set),
        verdicts_right=share(lambda case: case.verdict_is_right),
        macro_f1=macro_f1(used),
        macro_f1_interval=intervals.get(None),
        causes=tuple(_of_cause(used, cause, intervals, seed) for cause in causes_made(used)),
        confusion=dict(Counter((case.made, answered(case)) for case in used)),
        false_alarms=share(lambda case: case.is_alarm, lambda case: case.standing == "healthy"),
        missed_discards=share(
            lambda case: case.verdict != "discard", lambda case: case.must_be_discarded
        ),
        doomed_trusted=share(lambda case: case.verdict == "trust", lambda case: case.is_doomed),
        transitions={
            (wanted, given): share(
                lambda case, given=given: case.verdict == given,  # type: ignore[misc]
                lambda case, wanted=wanted: case.wanted == wanted,  # type: ignore[misc]
            )
            for wanted, given in TRANSITIONS
        },
        confidently_wrong=share(lambda case: not case.is_right and case.confidence >= CONFIDENT),
        slight=_share(slight, lambda case: case.is_right, seed),
    )


def _share(cases: Sequence[Case], hit: Callable[[Case], bool], seed: int) -> Share:
    clusters: dict[str, list[bool]] = defaultdict(list)
    for case in cases:
        clusters[case.network].append(hit(case))
    counts = [(sum(found), len(found)) for _, found in sorted(clusters.items())]
    hits, of = sum(hits for hits, _ in counts), sum(of for _, of in counts)
    return Share(hits=hits, of=of, interval=share_interval(counts, seed=seed))


def answered(case: Case) -> str:
    """The column of the confusion matrix.

    An accepted name counts as that of the cause that was made.
    """
    return case.made if case.is_right else case.cause


def causes_made(cases: Iterable[Case]) -> tuple[str, ...]:
    """The classes, the most frequent first."""
    numbers = Counter(case.made for case in cases)
    return tuple(sorted(numbers, key=lambda cause: (-numbers[cause], cause)))


class _Tally:
    """Hits, misses and false answers by cause; sums of networks are tallies again."""

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self.hits: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()
        self.false: Counter[str] = Counter()
        for case in cases:
            if case.is_right:
                self.hits[case.made] += 1
            else:
                self.misses[case.made] += 1
                self.false[case.cause] += 1

    def add(self, other: _Tally, times: int) -> None:
        """Another tally, so many times."""
        for ours, theirs in (
            (self.hits, other.hits),
            (self.misses, other.misses),
            (self.false, other.false),
        ):
            for cause, number in theirs.items():
                ours[cause] += number * times

    def f1s(self) -> dict[str, float]:
        """F1 by cause that was made."""
        return {
            cause: 2 * hits / (2 * hits + self.misses[cause] + self.false[cause])
            for cause in self.hits.keys() | self.misses.keys()
            if (hits := self.hits[cause]) + self.misses[cause]
        }


def macro_f1(cases: Iterable[Case]) -> float | None:
    """Mean F1 of the causes that were made."""
    found = _Tally(cases).f1s()
    return sum(found.values()) / len(found) if found else None


def _f1_intervals(cases: Sequence[Case], seed: int) -> Mapping[str | None, Interval]:
    """Of the F1 of every cause, and of their mean (``None``), by drawing networks."""
    by_network: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_network[case.network].append(case)
    tallies = [_Tally(found) for _, found in sorted(by_network.items())]

    def figures(times: Sequence[int]) -> Mapping[str | None, float]:
        whole = _Tally()
        for tally, number in zip(tallies, times, strict=True):
            if number:
                whole.add(tally, number)
        found: dict[str | None, float] = dict(whole.f1s().items())
        if found:
            found[None] = sum(found.values()) / len(found)
        return found

    return clustered(len(tallies), figures, seed=seed)


def _of_cause(
    cases: Sequence[Case], cause: str, intervals: Mapping[str | None, Interval], seed: int
) -> OfCause:
    named = [
        case
        for case in cases
        if (case.made == cause and case.is_right) or (not case.is_right and case.cause == cause)
    ]
    return OfCause(
        cause=cause,
        precision=_share(named, lambda case: case.is_right, seed),
        recall=_share([case for case in cases if case.made == cause], lambda c: c.is_right, seed),
        f1=_Tally(cases).f1s().get(cause),
        f1_interval=intervals.get(cause),
    )
