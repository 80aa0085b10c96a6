"""The pages in Chromium, on a store of ten thousand transfers: keys, links, zoom, themes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.patience import wait_until
from tests.report.browser.conftest import driver as driver
from tests.report.browser.conftest import viewer as viewer
from tests.ui.conftest import first
from tests.ui.serving import Client

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

READY = "return document.querySelector('.zoom')?.dataset.ready"
SPAN = "return document.querySelector('.zoom .span').textContent"


class Page:
    """The browser on the server; what it complains of fails the test."""

    def __init__(self, viewer: Viewer, client: Client) -> None:
        self.viewer = viewer
        self.base = f"http://127.0.0.1:{client.server.port}"
        self.token = client.server.token

    def open(self, path: str) -> None:
        self.viewer.driver.get(f"{self.base}{path}")

    def press(self, *keys: str) -> None:
        ActionChains(self.viewer.driver).send_keys(*keys).perform()

    def run(self, script: str) -> object:
        return self.viewer.run(script)

    @property
    def path(self) -> str:
        return self.viewer.driver.current_url.removeprefix(self.base)

    def at(self, pattern: str) -> None:
        wait_until(lambda: re.search(pattern, self.path), pattern)

    def zoomed(self) -> None:
        wait_until(lambda: self.run(READY) == "done", "the packets")


@pytest.fixture
def page(viewer: Viewer, client: Client) -> Iterator[Page]:
    page = Page(viewer, client)
    viewer.prefer("light")
    page.open(f"/?token={page.token}")
    viewer.console()
    viewer.requests()
    yield page
    assert viewer.console() == []
    foreign = [url for url in viewer.requests() if not url.startswith((page.base, "data:"))]
    assert foreign == []


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
