"""The pages in Chromium, on a store of ten thousand transfers: keys, links, zoom, themes."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

from tests.patience import wait_until
from tests.report.browser.conftest import driver as driver
from tests.report.browser.conftest import viewer as viewer
from tests.report.campaign_directories import Story, make_campaign
from tests.ui.browsing import Page
from tests.ui.conftest import first
from tests.ui.serving import Client, serving

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

SPAN = "return document.querySelector('.zoom .span').textContent"


@pytest.fixture
def page(viewer: Viewer, client: Client) -> Iterator[Page]:
    page = Page(viewer, client)
    yield page
    page.close()


def test_the_token_leaves_the_address_and_is_hidden_from_scripts(page: Page) -> None:
    assert page.path == "/"
    assert page.run("return document.cookie") == ""


def test_a_list_is_walked_with_keys_alone(page: Page) -> None:
    page.open("/?testbed=wan")
    page.press("j", "j", "j")
    assert page.path == "/?testbed=wan#3"
    row = (
        "return [...document.querySelectorAll('tr[data-href]')].findIndex(r => r.className == 'at')"
    )
    assert page.run(row) == 2
    page.press("k", "]")
    page.at("page=2")
    page.press("[")
    page.at(r"wan(#\d+)?$")
    page.press("/")
    page.press("10.3.0.7", Keys.ENTER)
    page.at("q=10.3.0.7")
    assert page.run("return document.querySelector('.count').textContent").startswith(
        "25 transfers"
    )  # type: ignore[attr-defined]
    page.press("j", Keys.ENTER)
    page.at("^/transfer/")
    one = page.path
    page.press("j")
    wait_until(lambda: page.path != one, "the next transfer")
    page.at("^/transfer/")
    page.press(Keys.ESCAPE)
    page.at(r"q=10.3.0.7.*#2")
    page.press("?")
    assert page.run("return document.getElementById('keys').open") is True
    page.press(Keys.ESCAPE)
    page.press("g", "p")
    page.at("^/campaigns")


def test_two_marked_lines_are_compared(page: Page) -> None:
    page.open("/?testbed=wan&verdict=discard")
    page.press("j", "x", "j", "x")
    assert page.run("return document.querySelectorAll('tr.marked').length") == 2
    page.press("c")
    page.at("^/compare")
    assert page.run("return document.querySelectorAll('.zoom').length") == 2
    assert page.run("return document.querySelectorAll('.compare tbody tr').length > 8") is True


def test_two_transfers_have_the_same_scales(page: Page, client: Client, transfer: str) -> None:
    page.open(f"/compare?a={transfer}&b={first(client, '/?q=guest-frozen&sort=-bytes')}")
    page.zoomed()
    spans = (
        "return [...document.querySelectorAll('.zoom .span')].map(s => s.textContent.split('(')[0])"
    )
    wait_until(lambda: len(set(page.run(spans))) == 1, "the same axis")  # type: ignore[call-overload]
    scales = "return [...document.querySelectorAll('.zoom canvas')].map(c => c.dataset.{})"
    for panel in ("sequence", "flight", "rtt", "rate", "pause"):
        found = page.run(scales.format(panel))
        assert found[0] is not None  # type: ignore[index]
        assert len(set(found)) == 1, panel  # type: ignore[call-overload]
    page.press("+")
    wait_until(lambda: "from=" in page.path, "a closer look")
    wait_until(lambda: len(set(page.run(spans))) == 1, "the same axis, closer")  # type: ignore[call-overload]


def test_packets_are_zoomed_and_the_stretch_is_in_the_address(
    page: Page, client: Client, transfer: str
) -> None:
    page.open(f"/transfer/{transfer}")
    page.zoomed()
    whole = page.run(SPAN)
    for _ in range(8):
        before = page.run(SPAN)
        page.press("+")
        wait_until(lambda: page.run(SPAN) != before, "a closer look")  # noqa: B023
    begin, end = (int(one) for one in re.findall(r"(?:from|to)=(\d+)", page.path))
    assert "each shown" in str(page.run(SPAN))
    link = page.path
    page.press("l")
    wait_until(lambda: f"from={begin}&" not in page.path, "what comes later")
    page.open(link)
    page.zoomed()
    assert f"from={begin}&to={end}" in page.path
    assert "each shown" in str(page.run(SPAN))
    page.press("0")
    wait_until(lambda: page.run(SPAN) == whole, "the whole transfer")
    assert "from=" not in page.path


def test_what_is_drawn_has_the_colours_of_the_theme(page: Page, transfer: str) -> None:
    drawn = (
        "const c = document.querySelector('.zoom canvas'), d = document.createElement('canvas'); "
        "[d.width, d.height] = [c.width, c.height]; const g = d.getContext('2d', "
        "{willReadFrequently: true}); g.drawImage(c, 0, 0); "
        "const p = g.getImageData(0, 0, c.width, c.height).data; const found = new Set(); "
        "for (let i = 0; i < p.length; i += 4)"
        " if (p[i + 3] === 255) found.add(`rgb(${p[i]}, ${p[i+1]}, ${p[i+2]})`); "
        "return [...found]"
    )
    page.open(f"/transfer/{transfer}")
    page.zoomed()
    light = set(page.run(drawn))  # type: ignore[call-overload]
    assert {"rgb(31, 103, 179)", "rgb(200, 50, 26)"} <= light  # data and retransmissions
    page.viewer.prefer("dark")
    wait_until(lambda: "rgb(108, 176, 245)" in page.run(drawn), "the dark theme")  # type: ignore[operator]
    paper = "return getComputedStyle(document.body).backgroundColor"
    assert page.run(paper) == "rgb(20, 24, 29)"
    page.press("t", "t")
    assert page.run(paper) == "rgb(255, 255, 255)"
    wait_until(lambda: "rgb(31, 103, 179)" in page.run(drawn), "the light theme")  # type: ignore[operator]
    page.open("/")
    assert page.run(paper) == "rgb(255, 255, 255)"
    page.press("t")
    assert page.run(paper) == "rgb(20, 24, 29)"


def test_on_paper_there_is_no_bar_and_no_dark(page: Page) -> None:
    page.viewer.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    page.open("/?testbed=wan")
    hidden = "return getComputedStyle(document.querySelector('.bar')).display"
    assert page.run(hidden) == "none"
    assert page.run("return getComputedStyle(document.body).color") == "rgb(27, 31, 36)"


def test_a_report_draws_its_charts_and_cannot_ask_the_server(page: Page, client: Client) -> None:
    page.open(f"/report/capture/{first(client, '/?q=random-loss').partition('/')[0]}")
    wait_until(lambda: page.run("return document.querySelector('.plot') !== null"), "the report")
    wait_until(
        lambda: page.run("return document.querySelector('.plot[data-drawn=done]') !== null"),
        "a chart",
    )
    assert page.run("return self.origin") == "null"


def test_a_narrow_screen_shows_everything(page: Page, transfer: str) -> None:
    page.viewer.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        page.open(f"/transfer/{transfer}")
        page.zoomed()
        assert page.run("return document.querySelector('.zoom canvas').clientWidth <= 420") is True
    finally:
        page.viewer.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_list_is_as_wide_as_its_window(page: Page) -> None:
    page.viewer.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        for path in ("/", "/?verdict=not_judged", "/captures"):
            page.open(path)
            width = page.run("return document.documentElement.scrollWidth")
            assert isinstance(width, int)
            assert width <= 1280, path
    finally:
        page.viewer.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_campaign_at_work_is_followed(viewer: Viewer, tmp_path: Path) -> None:
    place = make_campaign(tmp_path / "paths", Story(rounds=20))
    journal = place / "journal.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    with serving(place, tmp_path / "cache") as client, (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        page = Page(viewer, client)
        page.open("/campaigns")
        page.press("j", Keys.ENTER)
        page.at("^/campaign/")
        how_far = "return document.querySelector('.progress h2').textContent"
        before = page.run(how_far)
        assert str(before).startswith("At work: ")
        journal.write_text("".join(lines), encoding="utf-8")
        wait_until(lambda: page.run(how_far) != before, "the next rounds")
        page.close()
