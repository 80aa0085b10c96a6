"""Slowdown, increase, what of a run counts; the HTTP part of tests/golden/media_http.json."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.workload import Responses, compare, increases, noisy, slowdown, steady, steady_rows
from trustbed.workload.tables import REQUESTS, table

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "media_http.json"


@pytest.fixture
def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))["computed"]["http"]
    return found


def seconds(milliseconds: list[int]) -> tuple[float, ...]:
    return tuple(value / 1000 for value in milliseconds)


def responses(values: tuple[float, ...], failed: int = 0) -> Responses:
    return Responses(seconds=values, failed=failed, warm_up=0)


def test_golden_slowdown_and_increase(golden: dict[str, Any]) -> None:
    compared = compare(
        responses(seconds(golden["bg_ms"]), failed=3), responses(seconds(golden["nbg_ms"])), seed=1
    )
    assert compared.baseline_median_seconds == pytest.approx(
        golden["baseline_median_ms"] / 1000, rel=1e-9
    )
    assert {f"{100 * each.share:g}": each.ratio for each in compared.slowdowns} == {
        share: pytest.approx(ratio, rel=1e-9)
        for share, ratio in golden["slowdown_ratio_percentiles"].items()
    }
    assert compared.increase_mean_percent == pytest.approx(
        golden["increase_percent_mean"], rel=1e-9
    )
    assert compared.increase_sd_percent == pytest.approx(golden["increase_percent_sd"], rel=1e-9)
    assert (compared.requests, compared.failed, compared.baseline_requests) == (10, 3, 10)
    assert compared.flags == ("short_baseline",)


def test_the_first_five_seconds_are_dropped_and_failures_are_counted_not_timed() -> None:
    starts = [100.0, 104.999, 105.0, 106.0, 107.0, 101.0]
    took = [9.0, 9.0, 0.1, None, 0.2, None]
    assert steady(starts, took) == Responses(seconds=(0.1, 0.2), failed=1, warm_up=3)
    assert steady(starts, took, warm_up=0) == Responses(
        seconds=(9.0, 9.0, 0.1, 0.2), failed=2, warm_up=0
    )
    assert steady([], []) == Responses(seconds=(), failed=0, warm_up=0)
    with pytest.raises(ValueError, match="6 starts and 0 response times"):
        steady(starts, [])


def requests(rows: list[tuple[int | None, int | None]]) -> pa.Table:
    return table(REQUESTS, [{"started": start, "response_ns": took} for start, took in rows])


def test_a_table_of_requests_counts_as_its_columns_do() -> None:
    epoch = 1_700_000_000_000_000_000
    rows = requests(
        [
            (epoch, 1),
            (epoch + 4_999_999_999, 2),
            (epoch + 5_000_000_000, 250_000_000),
            (epoch + 6_000_000_000, None),
        ]
    )
    assert steady_rows(rows) == Responses(seconds=(0.25,), failed=1, warm_up=2)


def test_without_starts_only_everything_can_count() -> None:
    rows = requests([(None, 250_000_000), (None, None)])
    with pytest.raises(
        ValueError, match="2 requests have no start: the first 5 s cannot be distinguished"
    ):
        steady_rows(rows)
    assert steady_rows(rows, warm_up=0) == Responses(seconds=(0.25,), failed=1, warm_up=0)


def test_a_baseline_is_noisy_from_five_percent_on() -> None:
    # Standard deviation exactly 5 % of the mean for ±5 % around it with n − 1: 0.05·√(n/(n−1)).
    count = 1000
    spread = 0.05 * math.sqrt((count - 1) / count)
    even = [1 - spread, 1 + spread] * (count // 2)
    assert not noisy([1 + (value - 1) * 0.999 for value in even])
    assert noisy([1 + (value - 1) * 1.001 for value in even])
    assert not noisy([1.0])
    assert not noisy([])
    quiet, loud = responses((1.0,) * 100), responses((1.0, 2.0) * 50)
    assert compare(quiet, quiet, seed=1).flags == ()
    assert compare(quiet, loud, seed=1).flags == ("noisy_baseline",)


def test_nothing_is_reported_of_nothing() -> None:
    compared = compare(responses(()), responses(()), seed=1)
    assert (
        compared.requests,
        compared.median_seconds,
        compared.increase_mean_percent,
        compared.increase_sd_percent,
    ) == (
        0,
        None,
        None,
        None,
    )
    assert [(each.ratio, each.interval) for each in compared.slowdowns] == [(None, None)] * 4
    assert increases([1.0], []) == []
    assert slowdown([1.0], [], 0.5) is None


times = st.lists(st.floats(0.001, 100), min_size=2, max_size=50)


@given(times, times, st.floats(0.01, 100))
def test_the_unit_does_not_matter(values: list[float], baseline: list[float], unit: float) -> None:
    scaled = [value * unit for value in values], [value * unit for value in baseline]
    for share in (0.05, 0.5, 0.9, 0.95):
        assert slowdown(*scaled, share) == pytest.approx(
            slowdown(values, baseline, share), rel=1e-9
        )
    assert increases(*scaled) == pytest.approx(increases(values, baseline), rel=1e-9, abs=1e-9)


@given(times)
def test_nothing_is_slower_than_itself(values: list[float]) -> None:
    assert slowdown(values, values, 0.5) == pytest.approx(1.0)
    assert math.fsum(increases(values, values)) / len(values) == pytest.approx(0.0, abs=1e-6)
    ratios = [slowdown(values, values, share) or 0.0 for share in (0.05, 0.5, 0.9, 0.95)]
    assert ratios == sorted(ratios)
