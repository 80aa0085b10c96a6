"""What a scenario knows of a capture is used when it is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.run import judge as judging
from trustbed.scenario import Scenario, load
from trustbed.scenario.owners import owner

BASE = """
[hosts.client]
count = 2
[hosts.server]
[link]
rate = "20Mbit/s"
down.rate = "30Mbit/s"
"""
BULK = '[workload.w]\nkind = "bulk"\nhost = "client"\nto = "server"\n'
PAGES = '[workload.pages]\nkind = "http"\nhost = "client"\nto = "server"\nobject = "1MB"\n'
TCP_NOISE = (
    '[background.n]\nmodel = "cbr"\nrate = "1Mbit/s"\ntransport = "tcp"\nfrom = "server"\nto '
    '= "client"\n'
)


@pytest.fixture
def scenario(tmp_path: Path, request: pytest.FixtureRequest) -> Scenario:
    (tmp_path / "study.toml").write_text(BASE + request.param)
    return load(tmp_path / "study.toml").first


@pytest.mark.parametrize(
    ("scenario", "point", "capture_point"),
    [
        (BULK, "client", "sender"),
        (BULK, "server", "receiver"),
        (BULK + 'direction = "reverse"\n', "client", "receiver"),
        (PAGES, "server", "sender"),
        (BULK + PAGES, "client", None),
        (BULK + TCP_NOISE, "client", None),
        (BULK + TCP_NOISE.replace('"cbr"', '"none"'), "client", "sender"),
        ('[workload.w]\nkind = "command"\nhost = "client"\ncommand = "x"\n', "client", None),
    ],
    indirect=["scenario"],
)
def test_the_capture_point_of_a_capture(
    scenario: Scenario, point: str, capture_point: str | None
) -> None:
    assert judging._capture_point(point, scenario) == capture_point


@pytest.mark.parametrize(
    ("scenario", "kind"),
    [
        (BULK, "bulk"),
        (PAGES, "interactive"),
        (BULK + PAGES, None),
        (BULK + 'judge_as = "interactive"\n', "interactive"),
    ],
    indirect=["scenario"],
)
def test_what_the_senders_did(scenario: Scenario, kind: str | None) -> None:
    assert judging._judged_as(scenario) == kind


@pytest.mark.parametrize("scenario", [BULK], indirect=True)
def test_the_narrowest_link_counted_as_ip(scenario: Scenario) -> None:
    assert judging.capacity(scenario) == 20_000_000 * 1500 // 1514


COMMAND = '[workload.w]\nkind = "command"\nhost = "client"\ncommand = "x"\n'


@pytest.mark.parametrize(
    ("scenario", "rate"),
    [
        (BULK, 20_000_000),
        (PAGES, 30_000_000),
        (BULK + PAGES, None),
        (COMMAND, None),
    ],
    indirect=["scenario"],
)
def test_the_narrowest_link_is_on_the_way_of_the_data(scenario: Scenario, rate: int | None) -> None:
    assert judging.capacity(scenario) == (None if rate is None else rate * 1500 // 1514)


@pytest.mark.parametrize(
    ("ends", "wanted"),
    [
        (("10.77.0.1", 40_000, "10.77.0.3", 5001), "w"),
        (("10.77.0.3", 5001, "10.77.0.2", 40_000), "w"),
        (("10.77.0.1", 40_000, "10.77.0.3", 8001), "pages"),
        (("10.77.0.3", 41_000, "10.77.0.1", 9000), None),
        (("10.77.0.1", 40_000, "10.77.0.3", 22), None),
        (("10.77.0.1", 40_000, "10.77.0.9", 5001), None),
    ],
)
@pytest.mark.parametrize("scenario", [BULK + PAGES + TCP_NOISE], indirect=True)
def test_whose_a_transfer_is(
    scenario: Scenario, ends: tuple[str, int, str, int], wanted: str | None
) -> None:
    assert owner(scenario, *ends) == wanted
