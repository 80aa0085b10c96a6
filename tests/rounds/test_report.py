"""A campaign's folder, looked at: its points over time, whom and when to avoid, and the page that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rounds.made import made
from trustbed.campaigns import open_campaign
from trustbed.cli import main
from trustbed.report import campaign_page, campaign_text

DAY = 288


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day of two pairs."""
    return made(tmp_path_factory.mktemp("campaign"), DAY).path


def test_every_judged_round_is_a_point_and_every_lost_one_a_moment(folder: Path) -> None:
    one, other = open_campaign(folder, timeline=True)["pairs"]
    assert len(one["points"]) == DAY
    assert len(other["points"]) == DAY - DAY // 10
    assert other["absent"] == [300.0 * number for number in range(9, DAY, 10)]
    assert one["points"][3]["at"] == 900.0
    assert {point["use"] for point in other["points"]} == {"trust", "discard"}
    worst = max(other["points"], key=lambda point: point["sender_throttled"])
    assert (worst["sender_throttled"], worst["sender_late"], worst["use"]) == (0.6, 0.09, "discard")
    assert "points" not in open_campaign(folder)["pairs"][0], "only who draws them needs them"


def test_senders_and_hours_that_were_worse_are_named(folder: Path) -> None:
    avoid = open_campaign(folder)["avoid"]
    assert [one["what"] for one in avoid["hosts"] if one["avoid"]] == ["c"]
    assert [one["what"] for one in avoid["hours"] if one["avoid"]] == ["12", "13"]
    assert sum(one["rounds"] for one in avoid["hours"]) == 2 * DAY - DAY // 10
    said = list(campaign_text.avoided(avoid))
    assert said[0].startswith("sender to avoid: c, ")
    assert said[1].startswith("hour to avoid: 12 o'clock UTC, 48 % of its 23 rounds")


def test_both_ends_are_summed_up(folder: Path) -> None:
    ends = open_campaign(folder)["pairs"][0]["ends"]
    assert (ends["connections"], ends["lost_between"]) == (2 * DAY, 2 * DAY)
    assert ends["one_way_above_floor_p95_seconds"] == pytest.approx(0.002)


def test_a_page_of_weeks_stays_small(tmp_path: Path) -> None:
    model = open_campaign(made(tmp_path, 12).path, timeline=True)
    about = {"version": "1", "command": "trustbed report out", "started": None}
    small = campaign_page.render(model, about, now_ns=model["campaign"]["ends_ns"])
    for pair in model["pairs"]:
        pair["points"] = [{**pair["points"][number % 5], "at": 300.0 * number} for number in range(4032)]
    large = campaign_page.render(model, about, now_ns=model["campaign"]["ends_ns"])
    assert "4,032 rounds, drawn as the means of 400 stretches." in large
    assert len(large) < len(small) + 400_000


def test_the_report_of_a_campaign_is_a_page_and_what_status_says(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "--out", str(page)]) == 0
    out = capsys.readouterr().out
    assert f"wrote {page}" in out
    assert "sender to avoid: c" in out
    text = page.read_text(encoding="utf-8")
    assert "c to d" in text
    assert "measured a host instead of the network" in text
    assert main(["report", str(folder), "--json", "--fail-on", "discard"]) == 4
    assert len(json.loads(capsys.readouterr().out)["pairs"][0]["points"]) == DAY
