"""Intervals within rounds, and correlations with something held fixed."""

from __future__ import annotations

import math
import random

import pytest

from trustbed.sensitivity.statistics import (
    between,
    correlation,
    determined,
    effect,
    partial,
)


def test_an_effect_is_students_mean_and_one_round_has_no_interval() -> None:
    found = effect([0.1, 0.2, 0.3])
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert found.high == pytest.approx(0.2 + 4.302653 * 0.1 / math.sqrt(3), abs=1e-6)
    assert found.excludes(0.0) == (found.low > 0)  # type: ignore[operator]
    single = effect([0.1])
    assert single is not None
    assert single.low is None
    assert not single.excludes()
    assert effect([]) is None


def test_more_comparisons_widen_intervals() -> None:
    one, many = effect([0.1, 0.2, 0.3]), effect([0.1, 0.2, 0.3], comparisons=10)
    assert one is not None
    assert many is not None
    assert many.half_width > one.half_width


def test_treatments_are_compared_in_rounds_that_have_both() -> None:
    found = between({0: 1.0, 1: 2.0, 3: 9.0}, {0: 0.5, 1: 1.5, 2: 0.0})
    assert found is not None
    assert (found.value, found.rounds) == (0.5, 2)
    assert (found.low, found.high) == (0.5, 0.5)


def test_partial_correlation_leaves_out_what_is_given() -> None:
    chosen = random.Random(2)
    load = [chosen.uniform(0, 1) for _ in range(400)]
    energy = [one + chosen.gauss(0, 0.3) for one in load]
    slow = [2 * one + chosen.gauss(0, 0.3) for one in load]
    assert correlation(energy, slow) > 0.5  # type: ignore[operator]
    assert abs(partial(energy, slow, load)) < 0.15  # type: ignore[arg-type]
    assert partial(energy, slow, [1.0] * 400) == correlation(energy, slow)
    assert correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None


def test_two_columns_explain_what_least_squares_says() -> None:
    ys = [1.0, 2.0, 4.0, 3.0, 6.0]
    queue, loss = [1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 0.0, 1.0, 0.0]
    assert determined(ys, queue) == pytest.approx(correlation(queue, ys) ** 2)  # type: ignore[operator]
    both = determined(ys, queue, loss)
    assert both is not None
    assert both >= max(determined(ys, queue), determined(ys, loss))  # type: ignore[type-var]
    assert determined(ys, queue, queue) == pytest.approx(determined(ys, queue))
    assert determined(ys, [0.0] * 5) is None
