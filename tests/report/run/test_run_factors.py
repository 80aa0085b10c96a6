"""Levels as numbers, cells as groups, labels without what goes without saying."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from trustbed.report.run.factors import groups, key_words, number, others, scale_of, shared, short
from trustbed.report.run.records import CellResults


@pytest.mark.parametrize(
    ("level", "value", "unit"),
    [
        ("3.3Mbit/s", 3.3e6, "bit/s"),
        ("20 Mbit/s", 20e6, "bit/s"),
        ("20p", 20, "p"),
        ("64KiB", 65536, "B"),
        ("1MB", 1e6, "B"),
        ("10ms", 0.01, "s"),
        ("2s", 2, "s"),
        ("0.1%", 0.1, "%"),
        ("5", 5, ""),
        ("100 µs", 1e-4, "s"),
    ],
)
def test_a_level_with_a_unit_is_a_number(level: str, value: float, unit: str) -> None:
    assert number(level) == (pytest.approx(value), unit)


@pytest.mark.parametrize(
    "level", ["paced", "timer-100", "cbr udp", "1.2.3", "20 apples", "", "unlimited"]
)
def test_words_are_none(level: str) -> None:
    assert number(level) is None


def cell(number: int, levels: dict[str, str], baseline: int | None = None) -> CellResults:
    label = ", ".join(levels.values())
    return CellResults(number=number, label=label, levels=levels, baseline=baseline)


def test_the_factor_with_the_most_numbers_is_the_scale() -> None:
    factors = [
        {"key": "a.model", "levels": ["none", "cbr"]},
        {"key": "a.rate", "levels": ["1Mbit/s", "2Mbit/s", "10Mbit/s"]},
        {"key": "l.queue", "levels": ["5p", "20p"]},
    ]
    cells = [
        cell(number, {"a.model": "cbr", "a.rate": rate, "l.queue": "5p"})
        for number, rate in enumerate(factors[1]["levels"])
    ]
    found = scale_of(
        factors, [*cells, cell(9, {"a.model": "none", "a.rate": "–", "l.queue": "5p"})]
    )
    assert found is not None
    assert (found.key, found.unit) == ("a.rate", "bit/s")
    assert found.position(cells[2]) == 10e6
    assert found.position(cell(9, {"a.rate": "–"})) is None


def test_levels_of_different_kinds_are_no_scale() -> None:
    factors = [
        {"key": "l.queue", "levels": ["5p", "10KB", "20KB"]},
        {"key": "l.rate", "levels": ["1Mbit/s", "trace", "5Mbit/s"]},
    ]
    cells = [
        cell(number, {"l.queue": one, "l.rate": two})
        for number, (one, two) in enumerate(
            zip(factors[0]["levels"], factors[1]["levels"], strict=True)
        )
    ]
    assert scale_of(factors, cells) is None


def test_cells_of_one_baseline_are_a_group_which_it_begins() -> None:
    cells = [
        cell(0, {"rate": "5", "model": "cbr"}, baseline=1),
        cell(1, {"rate": "5", "model": "none"}, baseline=1),
        cell(2, {"rate": "9", "model": "cbr"}, baseline=3),
        cell(3, {"rate": "9", "model": "none"}, baseline=3),
    ]
    found = groups(cells)
    assert [[one.number for one in group] for group in found] == [[1, 0], [3, 2]]
    assert [shared(group) for group in found] == ["5", "9"]
    assert [short(one, found[0]) for one in found[0]] == ["none", "cbr"]
    assert others(cells[0], "rate") == "cbr"


def test_cells_without_a_baseline_are_one_group() -> None:
    cells = [cell(number, {"loss": level}) for number, level in enumerate(("0%", "1%"))]
    assert [len(group) for group in groups(cells)] == [2]
    assert shared(cells) == ""
    assert [short(one, cells) for one in cells] == ["0%", "1%"]


def test_a_cell_alone_keeps_its_label() -> None:
    only = cell(0, {})
    assert short(replace(only, label="study"), [only]) == "study"


def test_a_key_reads_as_words() -> None:
    assert key_words("background.cross.rate") == "rate of cross"
    assert key_words("rate") == "rate"
