"""Intervals: against tables of the literature, and how often they cover the true value."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.workload import (
    cumulative,
    deviation,
    mean,
    mean_interval,
    quantile,
    quantile_interval,
    ratio_interval,
    share_interval,
)
from trustbed.workload.intervals import student


@pytest.mark.parametrize(
    ("degrees", "factor"),
    [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (4, 2.7764),
        (9, 2.262157),
        (10, 2.2281),
        (30, 2.0423),
        (120, 1.9799),
    ],
)
def test_student_as_tables_print_it(degrees: int, factor: float) -> None:
    assert student(degrees) == pytest.approx(factor, abs=5.1e-5)


def test_student_at_other_levels_and_far_out() -> None:
    assert student(5, 0.99) == pytest.approx(4.0321, abs=5.1e-5)
    assert student(5, 0.90) == pytest.approx(2.0150, abs=5.1e-5)
    assert student(1_000_000) == pytest.approx(1.959964, abs=5e-6)
    # The sum and the expansion meet.
    assert student(999) == pytest.approx(1.9623415, abs=1e-6)
    assert student(1000) == pytest.approx(1.9623391, abs=1e-6)
    with pytest.raises(ValueError, match="0 degrees of freedom"):
        student(0)


def test_the_mean_of_ten() -> None:
    found = mean_interval([float(value) for value in range(1, 11)])
    assert found is not None
    reach = 2.262157 * math.sqrt(55 / 6) / math.sqrt(10)
    assert (found.low, found.high, found.method) == (
        pytest.approx(5.5 - reach, rel=1e-6),
        pytest.approx(5.5 + reach, rel=1e-6),
        "student",
    )
    assert mean_interval([1.0]) is None
    assert mean_interval([]) is None


@pytest.mark.parametrize(
    # Ranks for the median at 95 %: Conover's tables.
    ("count", "ranks"),
    [
        (5, None),
        (6, (1, 6)),
        (8, (1, 8)),
        (9, (2, 8)),
        (10, (2, 9)),
        (20, (6, 15)),
        (50, (18, 33)),
        (100, (40, 61)),
    ],
)
def test_the_median_lies_between_these_ranks(count: int, ranks: tuple[int, int] | None) -> None:
    values = [float(rank) for rank in range(1, count + 1)]
    random.Random(1).shuffle(values)
    found = quantile_interval(values)
    assert (found and (found.low, found.high)) == ranks
    assert found is None or found.method == "order_statistics"


def test_outer_quantiles_need_more_values() -> None:
    assert quantile_interval([1.0] * 50, 0.95) is None
    assert quantile_interval([1.0] * 50, 0.05) is None
    found = quantile_interval([float(rank) for rank in range(1, 1001)], 0.95)
    assert found is not None
    assert (found.low, found.high) == (936, 964)
    mirrored = quantile_interval([float(rank) for rank in range(1, 1001)], 0.05)
    assert mirrored is not None
    assert (mirrored.low, mirrored.high) == (1001 - 964, 1001 - 936)
    with pytest.raises(ValueError, match="a share of 1"):
        quantile_interval([1.0], 1.0)


def test_many_values_are_no_hindrance() -> None:
    found = quantile_interval([float(rank) for rank in range(100_000)])
    assert found is not None
    half = 0.5 * 1.96 * math.sqrt(100_000)
    assert found.low == pytest.approx(50_000 - half, abs=2)
    assert found.high == pytest.approx(50_000 + half, abs=2)


def test_intervals_cover_the_true_value_at_their_level() -> None:
    draw = random.Random(7)
    median = math.log(2)
    rounds, covered, means = 2000, 0, 0
    for _ in range(rounds):
        values = [draw.expovariate(1) for _ in range(30)]
        found = quantile_interval(values)
        normal = [draw.gauss(3, 2) for _ in range(8)]
        around = mean_interval(normal)
        assert found is not None
        assert around is not None
        covered += found.low <= median <= found.high
        means += around.low <= 3 <= around.high
    assert 0.945 < covered / rounds < 0.975
    assert 0.935 < means / rounds < 0.965


def test_a_ratio_is_covered_as_often_as_it_should_be() -> None:
    draw = random.Random(8)
    rounds, covered = 200, 0
    truth = -math.log(0.1) / (math.log(2) / 10)
    for seed in range(rounds):
        values = [draw.expovariate(1) for _ in range(200)]
        baseline = [draw.expovariate(10) for _ in range(200)]
        found = ratio_interval(values, 0.9, baseline, seed=seed, rounds=400)
        assert found is not None
        covered += found.low <= truth <= found.high
    assert 0.89 < covered / rounds < 0.99


def test_drawn_ranks_are_distributed_as_those_of_resamples() -> None:
    draw = random.Random(9)
    values = [draw.expovariate(1) for _ in range(40)]
    generator = np.random.default_rng(1)
    medians = np.quantile(generator.choice(values, (20_000, 40)), 0.9, axis=1)
    found = ratio_interval(values, 0.9, [1.0, 1.0], seed=1, rounds=20_000)
    assert found is not None
    assert found.low == pytest.approx(np.quantile(medians, 0.025), rel=0.05)
    assert found.high == pytest.approx(np.quantile(medians, 0.975), rel=0.05)


def test_a_seed_gives_the_same_interval_again() -> None:
    values = [1.0, 2.0, 3.0, 5.0]
    assert ratio_interval(values, 0.5, values, seed=1) == ratio_interval(
        values, 0.5, values, seed=1
    )
    assert ratio_interval([1.0], 0.5, values, seed=1) is None
    assert ratio_interval(values, 0.5, [0.0, 1.0], seed=1) is None


numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(numbers, st.floats(0, 1))
def test_quantiles_and_means_are_numpy_s(values: list[float], share: float) -> None:
    assert quantile(values, share) == pytest.approx(
        float(np.quantile(values, share)), rel=1e-9, abs=1e-6
    )
    assert mean(values) == pytest.approx(float(np.mean(values)), rel=1e-9, abs=1e-6)
    spread = deviation(values)
    assert (spread is None) == (len(values) == 1)
    assert spread is None or spread == pytest.approx(
        float(np.std(values, ddof=1)), rel=1e-6, abs=1e-6
    )
    assert (quantile([], share), mean([]), deviation([])) == (None, None, None)


@given(numbers, st.integers(2, 20))
def test_a_distribution_is_exact_where_it_is_drawn(values: list[float], most: int) -> None:
    steps = cumulative(values)
    assert [step.value for step in steps] == sorted(set(values))
    assert all(
        step.share == sum(value <= step.value for value in values) / len(values) for step in steps
    )
    thinned = cumulative(values, most=most)
    assert len(thinned) <= most
    assert set(thinned) <= set(steps)
    assert thinned[-1] == steps[-1]
    assert all(before.value < after.value for before, after in pairwise(thinned))


def test_a_distribution_of_nothing_is_empty() -> None:
    assert cumulative([]) == []
    with pytest.raises(ValueError, match="1 steps"):
        cumulative([1.0], most=1)


@pytest.mark.parametrize("of", [1, 3, 10, 37, 576])
def test_a_share_of_none_or_all_has_an_exact_end(of: int) -> None:
    none, every = share_interval(0, of), share_interval(of, of)
    assert none is not None
    assert every is not None
    assert none.low == 0.0
    assert every.high == 1.0
    assert 1.0 - every.low == pytest.approx(none.high)
