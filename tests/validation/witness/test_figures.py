"""Correlation, thresholds, precision and recall: by hand, against slow definitions, and on made-up seconds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation.witness.figures import Case, Point, best, figures, ranks, scored, spearman


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert ranks([10.0, 5.0, 10.0, 20.0]) == [2.5, 1.0, 2.5, 4.0]
    assert ranks([]) == []


def test_spearman_of_the_textbook() -> None:
    """Without ties ρ = 1 − 6Σd²/n(n²−1): d = 1, −1, 1, −1, 0 of five pairs gives 1 − 24/120."""
    assert spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) == pytest.approx(0.8)
    assert spearman([1, 2, 3], [9, 4, 1]) == pytest.approx(-1.0)


def test_spearman_with_ties_by_hand() -> None:
    """Ranks 1.5 1.5 3 4 and 1 2 3 4: deviations −1 −1 .5 1.5 and −1.5 −.5 .5 1.5 give 4.5/√(4.5·5)."""
    assert spearman([0, 0, 1, 2], [1, 2, 3, 4]) == pytest.approx(4.5 / math.sqrt(4.5 * 5.0))


def test_what_never_changes_is_correlated_with_nothing() -> None:
    assert spearman([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]) is None
    assert spearman([1.0], [1.0]) is None


pairs = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=20)


@given(pairs)
def test_spearman_is_of_ranks_alone_and_symmetric(drawn: list[tuple[int, int]]) -> None:
    first, second = [float(a) for a, _ in drawn], [float(b) for _, b in drawn]
    found = spearman(first, second)
    stretched = spearman([math.exp(a) for a in first], second)
    swapped = spearman(second, first)
    if found is None:
        assert stretched is swapped is None
    else:
        assert found == pytest.approx(stretched)
        assert found == pytest.approx(swapped)
        assert -1.0 - 1e-9 <= found <= 1.0 + 1e-9


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=30))
def test_the_best_threshold_is_that_of_a_search(drawn: list[tuple[int, bool]]) -> None:
    found = [Point(float(value), 0.0, is_oversize) for value, is_oversize in drawn]
    threshold = best(found)
    most = max((scored(found, float(each)).f1 for each in range(1, 8)), default=0.0)
    assert threshold > 0
    assert scored(found, threshold).f1 == pytest.approx(most)


def points(*values: tuple[float, float]) -> tuple[Point, ...]:
    return tuple(Point(value, share, share >= 0.2) for value, share in values)


def test_the_threshold_is_chosen_on_odd_seeds_and_judged_on_even_ones() -> None:
    odd = Case(is_odd=True, points=points((0.1, 0.0), (0.5, 0.6), (0.7, 0.8), (0.2, 0.1)))
    even = Case(is_odd=False, points=points((0.6, 0.0), (0.9, 0.9), (0.3, 0.5), (0.0, 0.0)))
    found = figures([odd, even])
    assert (found.seconds, found.oversize, found.even_seconds, found.threshold) == (8, 4, 4, 0.5)
    assert (found.odd.precision, found.odd.recall) == (1.0, 1.0)
    assert (found.even.precision, found.even.recall) == (0.5, 0.5)
    assert found.correlation is not None
    assert 0.5 < found.correlation < 1.0


def test_a_witness_that_says_nothing_tells_nothing() -> None:
    cases = [
        Case(is_odd=odd, points=points((0.0, 0.0), (0.0, 0.9), (0.0, 0.3))) for odd in (True, False)
    ]
    found = figures(cases)
    assert (found.correlation, found.interval, found.threshold) == (None, None, math.inf)
    assert (found.even.precision, found.even.recall) == (None, 0.0)


def test_intervals_come_from_transfers_and_are_the_same_each_time() -> None:
    cases = [
        Case(
            is_odd=bool(number % 2),
            points=points(*((each / 9, (each * 7 % 9) / 9) for each in range(number, 9))),
        )
        for number in range(6)
    ]
    found = figures(cases)
    assert found.interval is not None
    assert found.correlation is not None
    assert found.interval[0] <= found.correlation <= found.interval[1]
    assert found == figures(cases)
