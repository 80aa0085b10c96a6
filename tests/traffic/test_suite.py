"""The backgrounds that come with trustbed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.report.pages import text_of
from tools.background_suite import MEASURED, WRITTEN
from trustbed.cli import main
from trustbed.traffic.model import load
from trustbed.traffic.offer import load_of, offer
from trustbed.traffic.suite import NAMES, SUITE, measured, path


def test_there_are_nine_and_every_model_is_there() -> None:
    assert len(SUITE) == 9
    assert {file.stem for file in path("web").parent.glob("*.model")} == set(NAMES)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_model_can_be_offered_and_says_where_it_comes_from(name: str) -> None:
    model = load(path(name))
    assert model.header.name == name
    assert model.header.about
    assert model.header.source
    assert model.header.licence
    assert load_of(model).larger > 50_000
    assert offer(model).classes


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_written_models_are_what_their_plans_make(name: str) -> None:
    assert load(path(name)).tables == WRITTEN[name]().tables


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == [one.name for one in SUITE]
    assert {one["name"] for one in listed if one["server_bits_per_second"]} == set(NAMES)
    assert all(one["source"] and one["licence"] for one in listed)
    assert {one["name"] for one in listed if one["fit_quality"] is not None} == {
        one.name for one in SUITE if one.sends
    }


@pytest.mark.parametrize("name", sorted(one.name for one in SUITE if one.sends))
def test_every_member_was_measured_by_the_command_that_it_names(name: str) -> None:
    found = measured(name)
    assert found is not None
    assert found.command == shlex.join(["trustbed", "model", "measure", name, *MEASURED])
    assert max(one.mean_rate_bits_per_second or 0.0 for one in found.directions) > 3e6
    for one in found.directions:
        assert one.packets > 100
        assert len(one.energy.octaves) >= 10
        assert one.logscale.fit is not None
        assert one.rates.points


@pytest.mark.parametrize("name", [one.name for one in SUITE])
def test_every_member_is_shown(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["model", "show", name, "-o", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "source: " in said
    assert "licence: " in said
    assert ("HURST" in said) is (name != "quiet")
    text = text_of(page.read_text(encoding="utf-8"))
    assert "Licence: " in text
    assert ("Energy against time scale" in text) is (name != "quiet")


def test_the_hurst_parameter_of_long_range_dependent_traffic_stands_out() -> None:
    def larger(name: str) -> float:
        found = measured(name)
        assert found is not None
        fit = max(found.directions, key=lambda one: one.bytes).logscale.fit
        assert fit is not None
        return fit.alpha

    assert larger("heavy-tailed") > larger("poisson") + 0.2
    assert abs(larger("poisson")) < 0.2
