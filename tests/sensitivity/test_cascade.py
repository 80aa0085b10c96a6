"""Surrogates keep the bytes, change their band alone, and energies are those of Haar's pyramid."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trustbed import _core
from trustbed.sensitivity.cascade import (
    CONTRAST,
    LEAST_BLOCKS,
    Band,
    bands,
    energies,
    octaves,
    surrogate,
)

SERIES = st.lists(st.floats(0, 1e5), min_size=32, max_size=300)


def random_series(bins: int, seed: int = 1) -> list[float]:
    chosen = random.Random(seed)
    return [chosen.expovariate(1 / 1000) for _ in range(bins)]


def test_energies_are_those_of_the_engine_over_the_square_of_the_mean() -> None:
    series = random_series(1000)
    mean = sum(series) / len(series)
    details = _core.wavelet_details(series, "haar")
    for own, coefficients in zip(energies(series), details, strict=False):
        power = sum(one * one for one in coefficients) / len(coefficients)
        assert own == pytest.approx(math.log2(power / mean**2))


def test_a_series_of_twice_the_rate_has_the_same_energies() -> None:
    series = random_series(512)
    assert energies([2 * one for one in series]) == pytest.approx(energies(series))


def test_constant_traffic_has_no_energy() -> None:
    assert energies([1250.0] * 64) == [None] * len(energies([1250.0] * 64))
    assert energies([]) == []
    assert energies([0.0] * 64)[0] is None


@settings(max_examples=40)
@given(SERIES, st.booleans(), st.integers(1, 3), st.integers(0, 9))
def test_a_surrogate_keeps_the_total_and_is_never_negative(
    series: list[float], amplified: bool, first: int, seed: int
) -> None:
    unchanged = surrogate(series, None, amplified=False, seed=seed)
    changed = surrogate(series, Band(first, first + 1), amplified=amplified, seed=seed)
    assert len(changed) == len(unchanged)
    assert len(changed) % (1 << octaves(len(series))) == 0
    assert min(changed) >= 0
    assert sum(changed) == pytest.approx(sum(unchanged), rel=1e-9, abs=1e-9)


def test_flattening_takes_the_energy_of_the_band_and_amplifying_adds_to_it() -> None:
    series = random_series(4096)
    base = energies(series)
    flat = energies(surrogate(series, Band(3, 4), amplified=False, seed=1))
    more = energies(surrogate(series, Band(3, 4), amplified=True, seed=1))
    for place in (2, 3):
        assert flat[place] is None or flat[place] < -40
        assert more[place] > base[place] + 1
    for place in (0, 1, 4, 5, 6, 7):  # what is finer is brought back, what is coarser stays
        assert flat[place] == pytest.approx(base[place], abs=0.15)
        assert more[place] == pytest.approx(base[place], abs=0.15)


def test_amplifying_makes_bursts_where_there_were_none() -> None:
    changed = surrogate([1000.0] * 64, Band(1, 1), amplified=True, seed=3)
    assert {round(one) for one in changed} == {round(2000 * (0.5 - CONTRAST)), 1700}
    again = surrogate([1000.0] * 64, Band(1, 1), amplified=True, seed=3)
    assert changed == again


def test_bands_end_where_blocks_become_few() -> None:
    assert bands(5000) == (Band(1, 2), Band(3, 4), Band(5, 6), Band(7, 8), Band(9, 10))
    assert [band.seconds() for band in bands(5000)][1] == (0.004, 0.008)
    assert bands(10) == ()
    assert octaves(LEAST_BLOCKS - 1) == 0
