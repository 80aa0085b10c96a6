"""Synthetic cellular links."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.scenario import load
from validation.external.cellular import PACKET_BITS, SEEDS, Cell, scenario, trace


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_depends_on_its_seed_and_keeps_about_its_mean_rate(seed: int) -> None:
    cell = Cell.drawn(seed)
    times = trace(cell, seed, seconds=100)
    assert times == trace(cell, seed, seconds=100)
    assert times == sorted(times)
    mean = len(times) * PACKET_BITS / 100 / 1e6
    assert 0.4 < mean / cell.rate_megabits < 2


def test_the_rate_never_rests() -> None:
    times = trace(Cell.drawn(1), 1, seconds=20)
    seconds = [
        sum(start <= time < start + 1000 for time in times) for start in range(0, 20_000, 1000)
    ]
    assert max(seconds) > 1.5 * min(seconds)


@pytest.mark.parametrize("seed", SEEDS)
def test_its_scenario_is_one_that_trustbed_runs(seed: int, tmp_path: Path) -> None:
    (tmp_path / "cell.trace").write_text("1\n2\n", encoding="utf-8")
    file = tmp_path / "cell.toml"
    file.write_text(scenario(Cell.drawn(seed), seed, "cell.trace"), encoding="utf-8")
    load(file)
