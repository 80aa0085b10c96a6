"""The page of a campaign in a browser.

Drawn without console messages or requests, on a desktop, a phone, in the dark, on paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.report.browser.conftest import ABOUT
from tests.report.browser.test_every_page import HOLLOW
from tests.report.campaign_directories import Story, make_campaign
from trustbed.campaign.results import read_model
from trustbed.report.campaign import page as campaign_page

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

# Where the axis of time of each chart of a pair begins and ends, from the left.
SPANS = """
return [...document.querySelectorAll(".series")].map((series) =>
  [...series.querySelectorAll(".plot")].map((plot) => {
  const box = plot.querySelector(".mark-group.role-frame.root .background")
    .getBoundingClientRect();
  return [Math.round(box.left), Math.round(box.right)];
}));
"""
LABELS = (
    "return [...document.querySelectorAll('.series .events .role-axis-label text')].map((one) => "
    "one.textContent)"
)


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


@pytest.fixture(scope="module")
def day_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of one pair over a day and a half."""
    directory = tmp_path_factory.mktemp("day")
    story = Story(pairs=(("alpha", "beta"),), rounds=3 * 144, captured=0)
    path = directory / "page.html"
    campaign_page.write(
        path, read_model(make_campaign(directory / "out", story), timeline=True), ABOUT
    )
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_the_load_of_hosts_is_below_the_rounds_on_the_same_axis_of_time(
    width: int, viewer: Viewer, campaign_file: Path
) -> None:
    viewer.show(campaign_file, width=width)
    viewer.draw_all()
    for pair in viewer.run(SPANS):
        assert len(pair) == 8
        for side in (0, 1):
            edges = [span[side] for span in pair]
            assert max(edges) - min(edges) <= 1


def test_times_are_shown_in_utc_in_any_zone(viewer: Viewer, day_file: Path) -> None:
    viewer.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    try:
        viewer.show(day_file)
        viewer.draw_all()
        labels = viewer.run(LABELS)
    finally:
        viewer.driver.get(
            "about:blank"
        )  # Vega's axes of time do not survive that their zone is changed
        viewer.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert {"1 Jan", "2 Jan", "12:00"} <= set(labels)


def test_rounds_of_seconds_are_shown_to_the_second(viewer: Viewer, short_file: Path) -> None:
    viewer.show(short_file)
    viewer.draw_all()
    assert "00:00:10" in viewer.run(LABELS)
    assert viewer.run(HOLLOW) == []
    assert viewer.console() == []
