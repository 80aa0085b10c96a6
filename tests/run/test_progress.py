"""What is left of a run, from what it should take and what it took."""

from __future__ import annotations

import pytest

from trustbed.run.execution.progress import Forecast


def test_before_anything_is_measured_the_forecast_is_the_scenarios() -> None:
    forecast = Forecast([10.0, 20.0])
    assert (forecast.total, forecast.finished) == (2, 0)
    assert forecast.left_seconds == pytest.approx(10 + 4 + 20 + 4)


def test_what_was_measured_corrects_what_is_left() -> None:
    forecast = Forecast([6.0, 6.0, 16.0])
    forecast.on_finished(20.0)  # twice the 6 + 4 that were expected
    assert forecast.left_seconds == pytest.approx(2 * (10 + 20))
    forecast.on_finished(10.0)
    assert forecast.left_seconds == pytest.approx(1.5 * 20)
    forecast.on_finished(33.0)
    assert forecast.left_seconds == 0


def test_a_run_that_continues_counts_only_what_it_measured_itself() -> None:
    forecast = Forecast([6.0, 6.0, 6.0], finished=2)
    assert forecast.left_seconds == pytest.approx(10)
    assert forecast.finished == 2
