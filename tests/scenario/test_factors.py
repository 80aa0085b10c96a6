"""A cell is the scenario with the factors' values written into the file."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scenario.conftest import SMALL, Read
from trustbed.scenario import ANY, ScenarioError, baselines, load

TEMPLATE = """
[hosts.client]
[hosts.server]
[links.line]
rate = "{rate}"
delay = "{delay}"
[workload.pages]
kind = "http"
host = "client"
to = "server"
object = "{size}"
"""
RATES = st.lists(
    st.integers(1, 100).map(lambda number: f"{number}Mbit/s"), min_size=1, max_size=3, unique=True
)
DELAYS = st.lists(
    st.integers(1, 100).map(lambda number: f"{number}ms"), min_size=1, max_size=3, unique=True
)
SIZES = st.lists(st.sampled_from(["4KB", "1MB", "64KiB"]), min_size=1, max_size=3, unique=True)

BACKGROUND = """
[background.noise]
model = "none"
rate = "1Mbit/s"
from = "client"
to = "server"
"""


@settings(max_examples=25)
@given(RATES, DELAYS, SIZES)
def test_a_cell_is_the_file_with_the_values_written_into_it(
    rates: list[str], delays: list[str], sizes: list[str]
) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "study.toml"
        path.write_text(
            TEMPLATE.format(rate="1kbit/s", delay="1us", size="1KB")
            + (
                f'[factors]\n"link.rate" = {rates}\n"links.line.delay" = '
                f"{delays}\nworkload.pages.object = {sizes}\n"
            )
        )
        cells = load(path).cells
        wanted = []
        for rate, delay, size in itertools.product(rates, delays, sizes):
            path.write_text(TEMPLATE.format(rate=rate, delay=delay, size=size))
            wanted.append((rate, delay, size, load(path).first))
    assert [(*cell.levels.values(), cell.scenario) for cell in cells] == wanted
    assert [cell.number for cell in cells] == list(range(len(wanted)))


def test_a_scenario_without_factors_is_one_cell(read: Read, small: str) -> None:
    found = read(small)
    assert [(cell.number, dict(cell.levels), cell.label) for cell in found.cells] == [
        (0, {}, "study")
    ]


def test_values_may_share_a_unit(read: Read, small: str) -> None:
    cells = read(small + '[factors]\nlink.rate = { values = [5, 10.5], unit = "Mbit/s" }\n').cells
    assert [cell.scenario.links[0].forward.rate for cell in cells] == [5_000_000, 10_500_000]
    assert [cell.levels for cell in cells] == [
        {"link.rate": "5Mbit/s"},
        {"link.rate": "10.5Mbit/s"},
    ]


def test_tables_vary_several_keys_at_once(read: Read, small: str) -> None:
    cells = read(
        small + '[factors]\nlink = [{ rate = "1Mbit/s", delay = "1ms" }, { delay = "2ms" }]\n'
    ).cells
    assert [
        (cell.scenario.links[0].forward.rate, cell.scenario.links[0].forward.delay_ns)
        for cell in cells
    ] == [
        (1_000_000, 1_000_000),
        (20_000_000, 2_000_000),
    ]


def test_a_factor_may_set_a_key_that_the_file_leaves_out(read: Read, small: str) -> None:
    cells = read(small + '[factors]\n"link.queue" = ["5p", "100p"]\n').cells
    assert [
        cell.scenario.links[0].forward.queue.packets
        for cell in cells
        if cell.scenario.links[0].forward.queue
    ] == [5, 100]


def test_the_rate_of_traffic_that_is_off_makes_no_difference(read: Read, small: str) -> None:
    factors = (
        '[factors]\nbackground.noise.model = ["none", "cbr"]\nbackground.noise.rate = '
        '["1Mbit/s", "2Mbit/s"]\n'
    )
    cells = read(small + BACKGROUND + factors).cells
    assert [tuple(cell.levels.values()) for cell in cells] == [
        ("none", ANY),
        ("cbr", "1Mbit/s"),
        ("cbr", "2Mbit/s"),
    ]
    assert [cell.label for cell in cells] == ["none", "cbr, 1Mbit/s", "cbr, 2Mbit/s"]


def test_a_rate_of_zero_is_no_background(read: Read, small: str) -> None:
    factors = '[factors]\nbackground.noise.rate = ["0Mbit/s", "2Mbit/s"]\n'
    cells = read(small + BACKGROUND.replace('"none"', '"cbr"') + factors).cells
    assert baselines(cells) == {0: 0, 1: 0}


def test_every_cell_has_the_one_without_background_as_its_baseline(read: Read, small: str) -> None:
    factors = (
        '[factors]\nlink.rate = ["5Mbit/s", "20Mbit/s"]\nbackground.noise.model = ["cbr", '
        '"none", "poisson"]\n'
    )
    cells = read(small + BACKGROUND + factors).cells
    assert baselines(cells) == {0: 1, 1: 1, 2: 1, 3: 4, 4: 4, 5: 4}


def test_without_a_quiet_cell_there_is_no_baseline(read: Read, small: str) -> None:
    cells = read(
        small + BACKGROUND + '[factors]\nbackground.noise.model = ["cbr", "poisson"]\n'
    ).cells
    assert baselines(cells) == {}


def test_cells_do_not_share_what_they_change(read: Read) -> None:
    first, second = read(
        SMALL + '[factors]\nlink.up = [{ loss = "1%" }, { rate = "1Mbit/s" }]\n'
    ).cells
    assert first.scenario.links[0].forward.loss is not None
    assert second.scenario.links[0].forward.loss is None
    assert replace(first.scenario, links=()) == replace(second.scenario, links=())


def test_what_a_host_is_like_may_vary_and_hosts_may_not(read: Read, small: str) -> None:
    guests = '[factors]\nhosts.client.guest = ["none", "e1000", { nic = "virtio-net", cpus = 2 }]\n'
    cells = read(small + guests).cells
    found = [cell.scenario.host("client").guest for cell in cells]
    assert found[0] is None
    assert [(one.nic, one.cpus) for one in found[1:] if one is not None] == [
        ("e1000", 1),
        ("virtio-net", 2),
    ]
    with pytest.raises(ScenarioError, match="hosts is the same for the whole matrix"):
        read(small + '[factors]\n"hosts.client" = [{ guest = "e1000" }]\n')
