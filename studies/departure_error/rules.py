"""Rules by which a repetition could be discarded.

How well each tells harmful departure_error from harmless, where its threshold belongs. Pure.

A rule is a number of the link's departure_error that grows with it, and a threshold. Each half of
the transfers is judged with the threshold that is best for the other half.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from studies.departure_error.cases import CASES
from studies.departure_error.effects import Outcome

Late = Mapping[str, float]
Score = Callable[[Outcome], float]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A number that a rule could look at.

    ``words`` say it, with places for the lower and the higher threshold.
    """

    name: str
    words: str
    score: Score


@dataclass(frozen=True, slots=True)
class Scored:
    """How often a rule was right.

    Harmful and discarded, harmless and discarded, harmful and kept.
    """

    hits: int
    false_alarms: int
    misses: int

    @property
    def precision(self) -> float | None:
        """Of what it discards, the share that was harmed."""
        return (
            self.hits / (self.hits + self.false_alarms) if self.hits + self.false_alarms else None
        )

    @property
    def recall(self) -> float | None:
        """Of what was harmed, the share that it discards."""
        return self.hits / (self.hits + self.misses) if self.hits + self.misses else None

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        return 2 * self.hits / max(2 * self.hits + self.false_alarms + self.misses, 1)


def _of(key: str, unit: float = 1.0) -> Score:
    return lambda one: one.late[key] / unit


def _of_round_trip(key: str) -> Score:
    return lambda one: one.late[key] / (CASES[one.case].rtt_ms * 1e6)


CANDIDATES = (
    Candidate("p99", "p99 ≥ {:.3g}…{:.3g} ms", _of("p99_ns", 1e6)),
    Candidate("p90", "p90 ≥ {:.3g}…{:.3g} ms", _of("p90_ns", 1e6)),
    Candidate("mean", "mean ≥ {:.3g}…{:.3g} ms", _of("mean_ns", 1e6)),
    Candidate("most", "most ≥ {:.3g}…{:.3g} ms", _of("max_ns", 1e6)),
    Candidate("own", "later than own time ≥ {:.1%}…{:.1%}", _of("later_than_own_time")),
    Candidate(
        "frame", "later than a full frame's time ≥ {:.1%}…{:.1%}", _of("later_than_frame_time")
    ),
    Candidate(
        "rtt share", "later than 5 % of the base RTT ≥ {:.1%}…{:.1%}", _of("later_than_rtt_share")
    ),
    Candidate("p99/rtt", "p99 / base RTT ≥ {:.1%}…{:.1%}", _of_round_trip("p99_ns")),
    Candidate("mean/rtt", "mean / base RTT ≥ {:.1%}…{:.1%}", _of_round_trip("mean_ns")),
    Candidate("most/rtt", "most / base RTT ≥ {:.1%}…{:.1%}", _of_round_trip("max_ns")),
    Candidate(
        "overdue frame",
        "share of time overdue (by over a full frame) ≥ {:.1%}…{:.1%}",
        _of("overdue_frame_share"),
    ),
    Candidate(
        "overdue 100us",
        "share of time overdue (by over 100 µs) ≥ {:.1%}…{:.1%}",
        _of("overdue_100us_share"),
    ),
    Candidate(
        "overdue 1ms",
        "share of time overdue (by over 1 ms) ≥ {:.1%}…{:.1%}",
        _of("overdue_1ms_share"),
    ),
)
BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}


def scored(outcomes: Sequence[Outcome], discards: Callable[[Outcome], bool]) -> Scored:
    """How a rule fares."""
    found = [(one.harmful, discards(one)) for one in outcomes]
    return Scored(found.count((True, True)), found.count((False, True)), found.count((True, False)))


def best(outcomes: Sequence[Outcome], score: Score) -> float:
    """The threshold with the highest F1; of several the lowest, which misses least.

    Infinite where nothing was harmed.
    """
    ordered = sorted(
        ((score(one), one.harmful) for one in outcomes), key=lambda pair: pair[0], reverse=True
    )
    harmful = sum(harm for _, harm in ordered)
    found, threshold, hits = 0.0, float("inf"), 0
    for place, (value, harm) in enumerate(ordered, 1):
        hits += harm
        if place < len(ordered) and ordered[place][0] == value:
            continue  # those that are equal are discarded together
        f1 = 2 * hits / (place + harmful) if harmful else 0.0
        if hits and f1 >= found:
            found, threshold = f1, value
    return threshold
