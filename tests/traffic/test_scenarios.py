"""Users of a model in a scenario: hosts beside others, their access links, what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from trustbed.scenario import Scenario, ScenarioError, baselines, load
from trustbed.scenario.description import topology
from trustbed.scenario.owners import owner
from trustbed.scenario.populations import mean_load
from trustbed.traffic import Model

SCENARIO = """
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[background.users]
from = "client"
to = "server"
model = "small.model"
"""


def read(directory: Path, more: str = "", text: str = SCENARIO) -> Scenario:
    path = directory / "study.toml"
    path.write_text(text + more)
    return load(path).first


@pytest.fixture
def study(small: Model, tmp_path: Path) -> Path:
    """A directory with a model."""
    small.save(tmp_path / "small.model")
    return tmp_path


def test_users_and_servers_join_the_routers_of_the_hosts_that_are_named(study: Path) -> None:
    scenario = read(study)
    hosts = {host.name: host for host in scenario.hosts}
    assert (hosts["client"].router, hosts["server"].router) == ("client-access", "server-access")
    assert hosts["users-clients"].router == "client-access"
    assert len(hosts["users-clients"].addresses) == 9
    assert len(hosts["users-servers"].addresses) == 4
    described = {host["name"]: host for host in topology(scenario)["hosts"]}
    links = described["users-clients"]["access"]["each"]  # type: ignore[index]
    assert len(links) == 9
    assert links[0]["up"]["delay_ns"] == links[0]["down"]["delay_ns"] == 4_000_000
    assert links[0]["down"]["rate_bits_per_second"] == 20_000_000
    assert "rate_bits_per_second" not in links[0]["up"]
    assert owner(scenario, "10.96.0.1", 80, "10.96.0.10", 40_000) is None


def test_a_rate_is_a_number_of_sessions(study: Path) -> None:
    (users,) = read(study, 'rate = "5Mbit/s"').backgrounds
    assert mean_load(users).larger == pytest.approx(5e6)
    (users,) = read(study, "sessions = 3").backgrounds
    assert users.sessions == 3


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ('rate = "21Mbit/s"', "rate", "the servers offer 21 Mbit/s in the mean, and the link"),
        ("sessions = 60", "sessions", "server-access to client-access carries 20 Mbit/s"),
    ],
)
def test_users_who_offer_more_than_a_link_carries_are_refused(
    study: Path, more: str, key: str, words: str
) -> None:
    with pytest.raises(ScenarioError, match=words) as caught:
        read(study, more)
    assert caught.value.key == f"background.users.{key}"
    assert caught.value.line is not None
    rate = re.search(r'rate = "[^"]+"', caught.value.hint)
    assert rate is not None
    assert mean_load(read(study, rate[0]).backgrounds[0]).larger < 20e6


def test_each_direction_of_a_link_limits_its_own_users(study: Path) -> None:
    slow = SCENARIO.replace('rate = "20Mbit/s"', 'rate = "20Mbit/s"\nup.rate = "100kbit/s"')
    with pytest.raises(ScenarioError, match=r"the clients offer .* link from client-access"):
        read(study, 'rate = "10Mbit/s"', slow)
    endless = SCENARIO.replace('rate = "20Mbit/s"', 'delay = "1ms"')
    assert read(study, 'rate = "900Mbit/s"', endless).backgrounds


def test_a_single_background_needs_no_name(study: Path) -> None:
    named = read(study, "sessions = 2.0")
    table = '[background.users]\nfrom = "client"\nto = "server"\nmodel = "small.model"\n'
    assert table in SCENARIO
    inline = (
        'background = { model = "small.model", sessions = 2.0, from = "client", to = "server" }\n'
    )
    own = table.replace("[background.users]", "[background]") + "sessions = 2.0\n"
    for text in (inline + SCENARIO.replace(table, ""), SCENARIO.replace(table, own)):
        scenario = read(study, text=text)
        (users,) = scenario.backgrounds
        assert (
            replace(users, name="users", source="users-clients", to="users-servers")
            == (named.backgrounds[0])
        )
        assert scenario.host("background-clients").router == "client-access"
    factors = '[factors]\n"background.sessions" = [1.0, 2.0]\n'
    (study / "study.toml").write_text(inline + SCENARIO.replace(table, "") + factors)
    sessions = [cell.scenario.backgrounds[0].sessions for cell in load(study / "study.toml").cells]
    assert sessions == [1.0, 2.0]


def test_a_background_without_a_name_may_have_others_beside_it(study: Path) -> None:
    own = SCENARIO.replace("[background.users]", "[background]")
    other = '[background.NAME]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "client"\nto = "server"\n'
    names = [one.name for one in read(study, other.replace("NAME", "noise"), own).backgrounds]
    assert names == ["background", "noise"]
    with pytest.raises(ScenarioError, match="two backgrounds are called background"):
        read(study, other.replace("NAME", "background"), own)
    with pytest.raises(ScenarioError, match="must be a table") as caught:
        read(study, text=SCENARIO.replace("[background.users]", '[background]\nnoise = "cbr"\n[x]'))
    assert caught.value.key == "background.noise"


@pytest.mark.parametrize(
    ("name", "words"), [("steady", 'model = "cbr", rate = "6Mbit/s"'), ("quiet", 'model = "none"')]
)
def test_a_member_of_the_suite_that_is_no_model_is_written_otherwise(
    study: Path, name: str, words: str
) -> None:
    with pytest.raises(ScenarioError, match=f"{name} is generated by rule") as caught:
        read(study, text=SCENARIO.replace("small.model", name))
    assert f"write {words}" in caught.value.hint
    assert read(study, text=SCENARIO.replace('model = "small.model"', words.replace(", ", "\n")))


def test_cells_with_users_are_compared_with_the_one_without(study: Path) -> None:
    path = study / "study.toml"
    text = SCENARIO.replace('model = "small.model"\n', 'model = "none"\n')
    factors = '[factors]\n"background.users.model" = ["none", "small.model"]\n'
    path.write_text(text + factors)
    cells = load(path).cells
    assert len(cells) == 2
    assert baselines(cells) == {0: 0, 1: 0}


def test_models_that_come_along_have_names(study: Path) -> None:
    (users,) = read(study, text=SCENARIO.replace("small.model", "web")).backgrounds
    assert users.file is not None
    assert users.file.name == "web.model"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('sessions = 2\nrate = "1Mbit/s"', "sessions and rate both say how much"),
        ("sessions = 0", "sessions"),
        ("hosts = 0", "hosts"),
        ("colour = 1", "colour"),
    ],
)
def test_keys_that_make_no_sense_are_refused(study: Path, more: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        read(study, more)


def test_a_file_that_is_no_model_is_named_with_its_line(study: Path) -> None:
    (study / "small.model").write_text("text")
    with pytest.raises(ScenarioError, match="not a traffic model") as caught:
        read(study)
    assert "line 13" in str(caught.value)
