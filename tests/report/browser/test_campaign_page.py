"""The page of a campaign in a browser.

Drawn without a word on the console or a request, on a desktop, a phone, in the dark, on paper.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.report.browser.test_page import CONTRASTS, CUT_OFF, HOLLOW, OVERFLOWING
from tests.report.campaign_directories import FOUR_DAYS, HOUR, Story, make_campaign
from trustbed.campaign.results import read_json as read_model
from trustbed.report.campaign import page as campaign_page

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

# Where the axis of time of each chart of a pair begins and ends, from the left.
SPANS = """
return [...document.querySelectorAll(".series")].map((series) =>
  [...series.querySelectorAll(".plot")].map((place) => {
  const box = place.querySelector(".mark-group.role-frame.root .background")
    .getBoundingClientRect();
  return [Math.round(box.left), Math.round(box.right)];
}));
"""
LABELS = (
    "return [...document.querySelectorAll('.series .events .role-axis-label text')].map((one) => "
    "one.textContent)"
)
ABOUT = {
    "version": "0.1.0",
    "command": "trustbed report out -o page.html",
    "started": "2026-01-05T00:00:00Z",
}


@pytest.fixture(scope="module")
def campaign_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three pairs over four days; one host was away."""
    directory = tmp_path_factory.mktemp("campaign")
    pairs = (("alpha", "beta"), ("gamma", "delta"), ("epsilon", "zeta"))
    story = Story(
        pairs=pairs,
        rounds=4 * 288,
        hours=FOUR_DAYS.hours,
        always=FOUR_DAYS.always,
        down={"zeta": (30 * HOUR, 37 * HOUR)},
    )
    path = directory / "page.html"
    campaign_page.write(
        path, read_model(make_campaign(directory / "out", story), timeline=True), ABOUT
    )
    return path


@pytest.fixture(scope="module")
def short_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of twenty rounds in as many seconds, each of them a mark, without captures."""
    directory = tmp_path_factory.mktemp("short")
    story = Story(pairs=(("alpha", "beta"),), rounds=20, period_ns=10**9, captured=0)
    path = directory / "page.html"
    campaign_page.write(
        path, read_model(make_campaign(directory / "out", story), timeline=True), ABOUT
    )
    return path


def test_every_chart_is_drawn_without_a_word_on_the_console_or_a_request(
    viewer: Viewer, campaign_file: Path
) -> None:
    viewer.show(campaign_file)
    viewer.draw_all()
    assert viewer.run("return document.querySelectorAll('.plot').length") == 3 * 9 + 1
    assert (
        viewer.run(
            "return [...document.querySelectorAll('.plot')].filter((place) => "
            "!place.querySelector('svg path')).length"
        )
        == 0
    )
    assert viewer.run(CUT_OFF) == []
    assert viewer.run(HOLLOW) == []
    named = viewer.run(
        "return [...document.querySelectorAll('.plot')].map((place) => "
        "place.closest('[role=img]').ariaLabel)"
    )
    assert all(len(name) > 20 for name in named)
    assert viewer.console() == []
    assert [
        address
        for address in viewer.requests()
        if address != campaign_file.as_uri() and not address.startswith("data:")
    ] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_what_hosts_were_like_stands_below_the_rounds_at_the_same_time(
    width: int, viewer: Viewer, campaign_file: Path
) -> None:
    viewer.show(campaign_file, width=width)
    viewer.draw_all()
    for pair in viewer.run(SPANS):
        assert len(pair) == 8
        for side in (0, 1):
            places = [span[side] for span in pair]
            assert max(places) - min(places) <= 1


def test_times_are_told_in_utc_in_any_zone(viewer: Viewer, campaign_file: Path) -> None:
    viewer.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    try:
        viewer.show(campaign_file)
        viewer.draw_all()
        told = viewer.run(LABELS)
    finally:
        viewer.driver.get(
            "about:blank"
        )  # Vega's axes of time do not survive that their zone is changed
        viewer.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert {"1 Jan", "2 Jan", "12:00"} <= set(told)


def test_rounds_of_seconds_are_told_to_the_second(viewer: Viewer, short_file: Path) -> None:
    viewer.show(short_file)
    viewer.draw_all()
    assert "00:00:10" in viewer.run(LABELS)
    assert viewer.run(HOLLOW) == []
    assert viewer.console() == []


@pytest.mark.parametrize("width", [768, 390, 360])
def test_nothing_is_wider_than_the_screen(width: int, viewer: Viewer, campaign_file: Path) -> None:
    viewer.show(campaign_file, width=width)
    viewer.draw_all()
    assert viewer.run(OVERFLOWING) == [0]
    assert viewer.run(CUT_OFF) == []
    assert viewer.console() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(scheme: str, viewer: Viewer, campaign_file: Path) -> None:
    viewer.show(campaign_file, scheme=scheme)
    viewer.draw_all()
    assert [(ratio, text) for ratio, text in viewer.run(CONTRASTS) if ratio < 4.5] == []


def test_paper_shows_every_chart_and_what_is_folded(viewer: Viewer, campaign_file: Path) -> None:
    viewer.show(campaign_file)
    printed = viewer.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(base64.b64decode(printed["data"])) > 100_000
    assert viewer.run(
        "return [...new Set([...document.querySelectorAll('.plot')].map((place) => "
        "place.dataset.drawn))]"
    ) == ["done"]


def test_the_table_sorts_by_its_numbers(viewer: Viewer, campaign_file: Path) -> None:
    viewer.show(campaign_file)
    viewer.run(
        "[...document.querySelectorAll('#pair-1 th button')].find((button) => button.textContent "
        "=== 'Mean').click()"
    )
    column = (
        "return [...document.querySelector('#pair-1 table').tBodies[0].rows].map((row) => "
        "Number(row.cells[4].dataset.value))"
    )
    rising = viewer.run(column)
    assert rising == sorted(rising)
    assert len(rising) == 6
