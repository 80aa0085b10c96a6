"""Verdicts per metric and per level, and how many repetitions would settle what is open."""

from __future__ import annotations

import random

import pytest

from bench import equivalence
from trustbed.compare.judge import CaseValues, Rules, Values, judge
from trustbed.compare.model import CandidateResult
from trustbed.compare.needed import MOST, repetitions_needed
from trustbed.compare.statistics import Sample
from trustbed.compare.words import needed as needed_words

TENS = (99.0, 100.0, 101.0, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.0)
"""Ten values around 100 that hardly vary."""


def _judged(
    reference: dict[str, tuple[float, ...]],
    candidate: dict[str, tuple[float, ...]],
    rules: Rules | None = None,
    absent: dict[str, str] | None = None,
) -> CandidateResult:
    case = CaseValues(
        label="",
        reference=Values(testbed="metal", metrics=reference),
        candidates=[Values(testbed="guest", metrics=candidate, absent=absent or {})],
    )
    cases, _ = judge([case], rules or Rules())
    return cases[0].candidates[0]


def _times(factor: float) -> tuple[float, ...]:
    return tuple(value * factor for value in TENS)


def test_the_same_values_are_equivalent() -> None:
    found = _judged({"requests_per_second": TENS}, {"requests_per_second": TENS})
    (metric,) = found.metrics
    assert metric.verdict == "equivalent"
    assert (metric.similar, metric.overlap, metric.equivalent, metric.different) == (
        True,
        True,
        True,
        False,
    )
    assert metric.difference_percent == 0
    assert metric.repetitions_needed is None
    assert [(one.level, one.verdict) for one in found.levels] == [
        ("application", "equivalent"),
        ("system_calls", "not_compared"),
        ("network", "not_compared"),
        ("delay", "not_compared"),
    ]


def test_the_calls_that_differ_are_named_the_largest_difference_first() -> None:
    # A server that reads a file of time zones at every request, and one that does not find it.
    reference = [{"write": 20.0, "read": 3.0, "lseek": 1.0, "close": 4.0, "brk": 0.3}]
    candidate = [{"write": 20.0, "read": read, "close": 3.0, "brk": 0.1} for read in (0.0, 2.0)]
    case = CaseValues(
        label="",
        reference=Values(testbed="host", metrics={}, calls={"": reference, "x": reference}),
        candidates=[Values(testbed="container", metrics={}, calls={"": candidate})],
    )
    ((found,), _) = judge([case], Rules())
    (calls,) = found.candidates[0].calls.values()
    assert [(one.name, one.reference, one.candidate) for one in calls] == [
        ("read", 3.0, 1.0),
        ("close", 4.0, 3.0),
        ("lseek", 1.0, 0.0),
    ]


def test_a_large_difference_is_beyond_the_tolerance() -> None:
    (metric,) = _judged({"reads": TENS}, {"reads": _times(1.3)}).metrics
    assert metric.verdict == "different"
    assert metric.beyond
    assert metric.similar is False
    assert metric.difference_percent == pytest.approx(30)


def test_five_percent_are_different_and_within_the_tolerance() -> None:
    (metric,) = _judged({"packets_wire": TENS}, {"packets_wire": _times(1.05)}).metrics
    assert metric.verdict == "different"
    assert metric.beyond is False
    assert metric.equivalent is True
    assert metric.similar is True


def test_what_differs_beyond_the_tolerance_is_named_first() -> None:
    within, beyond = _times(1.05), _times(3.0)
    found = _judged(
        {"packets_to_server_wire": TENS, "retransmissions": TENS},
        {"packets_to_server_wire": within, "retransmissions": beyond},
    )
    (network,) = (one for one in found.levels if one.level == "network")
    assert network.sentence.startswith("Different: retransmissions +200 %, packets to server, wire")


def test_a_metric_may_have_a_tolerance_of_its_own() -> None:
    rules = Rules(of_metric={"packets_wire": 0.04})
    (metric,) = _judged({"packets_wire": TENS}, {"packets_wire": _times(1.05)}, rules).metrics
    assert metric.tolerance == 0.04
    assert metric.similar is False
    assert metric.beyond


def test_two_repetitions_are_too_few_and_the_report_says_how_many_are_needed() -> None:
    (metric,) = _judged({"reads": TENS}, {"reads": TENS[:2]}).metrics
    assert metric.verdict == "not_compared"
    assert metric.similar is True
    assert "3 are the least" in metric.note


def test_a_level_without_values_says_whose_and_why() -> None:
    absent = {"delay": "a clock was not steady"}
    found = _judged({"jitter_seconds": TENS}, {}, absent=absent)
    level = found.levels[-1]
    assert level.verdict == "not_compared"
    assert level.sentence == "Not compared: guest: a clock was not steady."


def test_one_different_metric_makes_a_level_different_and_no_score_joins_levels() -> None:
    found = _judged(
        {"requests_per_second": TENS, "packets_wire": TENS, "sent_bytes": TENS},
        {"requests_per_second": TENS, "packets_wire": _times(1.2), "sent_bytes": TENS},
    )
    verdicts = {one.level: one.verdict for one in found.levels}
    assert verdicts["application"] == "equivalent"
    assert verdicts["network"] == "different"
    network = next(one for one in found.levels if one.level == "network")
    assert (network.similar, network.compared) == (1, 2)
    assert network.sentence == "Different: packets, wire +20.0 %; 1 of 2 similar."


def test_from_nothing_to_something_has_no_percentage() -> None:
    (metric,) = _judged({"retransmissions": (0.0,) * 10}, {"retransmissions": TENS}).metrics
    assert metric.difference_percent is None
    assert metric.similar is False
    assert metric.verdict == "different"


def test_an_open_metric_names_the_repetitions_that_would_settle_it() -> None:
    chosen = random.Random(5)
    noisy = [tuple(100 + chosen.gauss(0, 9) for _ in range(8)) for _ in range(2)]
    (metric,) = _judged({"reads": noisy[0]}, {"reads": noisy[1]}).metrics
    assert metric.verdict == "open"
    assert metric.repetitions_needed is not None
    assert metric.repetitions_needed > 8


def test_more_noise_needs_more_repetitions_and_the_seed_decides() -> None:
    def needed(spread: float) -> int | None:
        return repetitions_needed(
            Sample(100.0, spread, 10),
            Sample(101.0, spread, 10),
            tolerance=0.1,
            resolution=0.01,
            family=10,
            seed="x",
        )

    few, many = needed(8.0), needed(16.0)
    assert few is not None
    assert many is not None
    assert few < many <= MOST
    assert needed(8.0) == few
    assert needed(200.0) is None


def test_what_is_open_needs_more_repetitions_than_there_are() -> None:
    settled_by_more = 0
    for seed in range(60):
        chosen = random.Random(seed)
        shift, spread = chosen.uniform(-0.1, 0.1), chosen.uniform(0.005, 0.08)
        one = tuple(1 + chosen.gauss(0, spread) for _ in range(10))
        other = tuple(1 + shift + chosen.gauss(0, spread) for _ in range(10))
        (metric,) = _judged({"reads": one}, {"reads": other}).metrics
        if metric.verdict == "open" and metric.repetitions_needed is not None:
            settled_by_more += 1
            assert metric.repetitions_needed > 10
            assert needed_words(metric) == (
                f"{metric.repetitions_needed} ({metric.repetitions_needed - 10} more)"
            )
    assert settled_by_more


def test_equal_testbeds_are_seldom_called_different() -> None:
    # 25 reports of 14 metrics each; at 5 % five or more would have probability 0.007.
    assert equivalence.same(25) < 5


@pytest.mark.parametrize("name", sorted(equivalence.MADE))
def test_a_made_difference_is_found_at_its_level_only(name: str) -> None:
    level, change = equivalence.MADE[name]
    found = [equivalence.different_levels(f"test {number}", change) for number in range(30)]
    # The bench wants 95 %; were it 95 %, fewer than 25 of 30 would have probability 0.003.
    assert sum(one == {level} for one in found) >= 25
