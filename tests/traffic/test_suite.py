"""The backgrounds that come with trustbed."""

from __future__ import annotations

import json

import pytest

from tools.background_suite import WRITTEN
from trustbed.cli import main
from trustbed.traffic.model import load
from trustbed.traffic.offer import load_of, offer
from trustbed.traffic.suite import NAMES, SUITE, path


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
