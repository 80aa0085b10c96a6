"""Every page in a browser: of captures, bursts, a run, a campaign, a sensitivity study, a store.

Drawn without a word on the console or a request, on a desktop, a phone, in the dark, on paper.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

PAGES = (
    *("page_file", "burst_file", "run_file", "campaign_file", "sensitivity_file"),
    *("store_hosts_file", "store_causes_file", "store_papers_file"),
)
CHARTS = {
    "burst_file": 2 * 8 + 2 * 5,
    "run_file": 3 + 1 + 2 * 7,
    "campaign_file": 2 * 9 + 1,
    "sensitivity_file": 4,
    "store_hosts_file": 1,
    "store_causes_file": 3,
    "store_papers_file": 1,
}
"""How many charts a page has; that of three captures has 30 at least."""
PAPERS = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}
"""The background of each scheme."""

# Smallest contrast of any visible text with what lies behind it, as WCAG 2.2 computes it, with the
# text itself.
CONTRASTS = """
const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = channels(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || element.closest("script, style, noscript, title") ||
    !element.checkVisibility()) continue;
  const svg = element.namespaceURI.endsWith("svg");
  const style = getComputedStyle(element);
  const [one, other] = [luminance(channels(svg ? style.fill : style.color)),
  luminance(behind(element))];
  found.push([(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), text]);
}
return found.sort((left, right) => left[0] - right[0]).slice(0, 3);
"""
OVERFLOWING = """
const width = document.documentElement.clientWidth;
return [document.documentElement.scrollWidth - width, ...[...document.querySelectorAll("body *")]
  .filter((element) => !element.closest(".scroll, svg, .sprite") &&
    element.getBoundingClientRect().right > width + 1)
  .map((element) => element.outerHTML.slice(0, 80))];
"""

CUT_OFF = """
return [...document.querySelectorAll(".plot")].filter((place) => {
  const box = place.getBoundingClientRect();
  return [...place.querySelectorAll(".role-legend-label text")].some((text) => {
    const inner = text.getBoundingClientRect();
    return inner.top < box.top - 1 || inner.right > box.right + 1;
  });
}).map((place) => place.parentElement.ariaLabel);
"""

# Charts that leave more than three lines of their place empty.
HOLLOW = """
return [...document.querySelectorAll(".plot")]
  .filter((place) => place.getBoundingClientRect().height >
    place.querySelector("svg").getBoundingClientRect().height + 48)
  .map((place) => place.closest("[role=img]").ariaLabel);
"""
EMPTY = (
    "return [...document.querySelectorAll('.plot')].filter((place) => !place.querySelector('svg "
    "path')).length"
)
STATES = (
    "return [...new Set([...document.querySelectorAll('.plot')].map((place) => "
    "place.dataset.drawn))]"
)
NAMES = (
    "return [...document.querySelectorAll('.plot')].map((place) => "
    "place.closest('[role=img]').ariaLabel)"
)


ONE_OF_EACH = (
    *("one_capture_file", "one_burst_file", "run_file", "one_pair_file", "sensitivity_file"),
    *("store_hosts_file", "store_causes_file", "store_papers_file"),
)
"""The same kinds of page with one subject: others repeat its charts, and look the same on paper."""


@pytest.fixture(scope="module", params=PAGES)
def shown(request: pytest.FixtureRequest) -> Path:
    """The file of each page."""
    file: Path = request.getfixturevalue(request.param)
    return file


@pytest.fixture(scope="module", params=ONE_OF_EACH)
def one(request: pytest.FixtureRequest) -> Path:
    """The file of the smallest page of each kind."""
    file: Path = request.getfixturevalue(request.param)
    return file


@dataclass(frozen=True)
class Desktop:
    """What a page looks like on a desktop with every chart drawn."""

    empty: int
    cut_off: list[str]
    hollow: list[str]
    names: list[str]
    console: list[str]
    requests: list[str]
    """Whatever was asked for beside the page itself and what it contains."""
    papers: Mapping[str, str]
    """The background in either scheme."""
    contrasts: Mapping[str, list[tuple[float, str]]]
    """The smallest ones in either scheme, with the text."""


@pytest.fixture(scope="module")
def desktop(viewer: Viewer, shown: Path) -> Desktop:
    """Each page, opened and drawn once.

    What follows the scheme does so without a new drawing (test_page.py).
    """
    viewer.show(shown)
    viewer.draw_all()
    empty, cut_off, hollow, names = map(viewer.run, (EMPTY, CUT_OFF, HOLLOW, NAMES))
    console = viewer.console()
    requests = [
        address
        for address in viewer.requests()
        if address != shown.as_uri() and not address.startswith("data:")
    ]
    papers, contrasts = {}, {}
    for scheme in PAPERS:
        viewer.prefer(scheme)
        papers[scheme] = viewer.run("return getComputedStyle(document.body).backgroundColor")
        contrasts[scheme] = viewer.run(CONTRASTS)
    return Desktop(empty, cut_off, hollow, names, console, requests, papers, contrasts)


def test_every_chart_is_drawn_without_a_word_on_the_console_or_a_request(
    desktop: Desktop, request: pytest.FixtureRequest
) -> None:
    drawn = len(desktop.names)
    assert drawn == CHARTS.get(request.node.callspec.params["shown"], max(drawn, 30))
    assert desktop.empty == 0
    assert desktop.cut_off == []
    assert desktop.hollow == []
    assert all(len(name) > 20 for name in desktop.names)
    assert desktop.console == []
    assert desktop.requests == []


@pytest.mark.parametrize("scheme", PAPERS)
def test_all_text_can_be_read(scheme: str, desktop: Desktop) -> None:
    assert desktop.papers[scheme] == PAPERS[scheme]
    assert [(ratio, text) for ratio, text in desktop.contrasts[scheme] if ratio < 4.5] == []


def fits(viewer: Viewer, page: Path, width: int) -> None:
    """Raises if anything is wider than a screen of that width, or a legend is cut off."""
    viewer.show(page, width=width)
    viewer.draw_all()
    assert viewer.run(OVERFLOWING) == [0]
    assert viewer.run(CUT_OFF) == []
    assert viewer.console() == []


# Wider phones have the same rules and legends of one column, as far as 40 rem.
def test_everything_fits_on_a_phone(viewer: Viewer, shown: Path) -> None:
    fits(viewer, shown, 360)


def test_everything_fits_on_a_tablet(viewer: Viewer, one: Path) -> None:
    fits(viewer, one, 768)


def test_paper_shows_every_chart_and_what_is_folded(viewer: Viewer, one: Path) -> None:
    viewer.show(one, scheme="dark")
    printed = viewer.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(base64.b64decode(printed["data"])) > 50_000
    assert viewer.run(STATES) == ["done"]
    assert viewer.run("return document.documentElement.className") == ""


@pytest.mark.parametrize(
    ("shown", "table", "title", "column", "different"),
    [
        ("run_file", "#result-1 table", "Median", 4, 7),
        ("campaign_file", "#pair-1 table", "Mean", 4, 6),
        ("burst_file", "#compared", "Burstiness max", 5, 2),
    ],
    indirect=["shown"],
)
def test_a_table_sorts_by_its_numbers(
    viewer: Viewer, shown: Path, table: str, title: str, column: int, different: int
) -> None:
    viewer.show(shown)
    viewer.run(
        f"[...document.querySelectorAll('{table} th button')].find((button) => "
        f"button.textContent === '{title}').click()"
    )
    rising = viewer.run(
        f"return [...document.querySelector('{table}').querySelectorAll('tbody tr')].map((row) => "
        f"Number(row.cells[{column}].dataset.value))"
    )
    assert rising == sorted(rising)
    assert len(rising) == different
