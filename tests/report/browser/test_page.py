"""The page in a browser.

Drawn without errors or requests, on a desktop, a phone, in the dark, on paper, and without scripts.
"""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.patience import wait_until

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

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


def test_every_chart_is_drawn_without_a_word_on_the_console_or_a_request(
    viewer: Viewer, page_file: Path
) -> None:
    viewer.show(page_file)
    viewer.draw_all()
    assert viewer.run("return document.querySelectorAll('.plot').length") >= 30
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
        if address != page_file.as_uri() and not address.startswith("data:")
    ] == []


def test_an_intruding_script_can_neither_send_nor_evaluate(
    viewer: Viewer, page_file: Path, tmp_path: Path
) -> None:
    intruder = (
        "<script>fetch('http://127.0.0.1:9/').catch((error) => { document.body.dataset.sent = "
        "error.name; });try { document.body.dataset.evaluated = eval('1'); }catch (error) { "
        "document.body.dataset.evaluated = error.name; }</script></body>"
    )
    worse = tmp_path / "worse.html"
    worse.write_text(
        page_file.read_text(encoding="utf-8").replace("</body>", intruder), encoding="utf-8"
    )
    viewer.show(worse)
    wait_until(
        lambda: viewer.run("return document.body.dataset.sent && document.body.dataset.evaluated"),
        "what became of both",
    )
    assert viewer.run("return [document.body.dataset.sent, document.body.dataset.evaluated]") == [
        "TypeError",
        "EvalError",
    ]
    assert not any("127.0.0.1" in address for address in viewer.requests())
    assert sum("Content Security Policy" in message for message in viewer.console()) >= 2


def test_charts_wait_until_they_are_near(viewer: Viewer, page_file: Path) -> None:
    viewer.show(page_file)
    count = "return document.querySelectorAll('.plot[data-drawn]').length"
    wait_until(lambda: viewer.run(count), "a chart")
    time.sleep(0.5)  # time enough to draw the others, if they did not wait
    assert viewer.run(count) < viewer.run("return document.querySelectorAll('.plot').length")


@pytest.mark.parametrize("width", [768, 360])
def test_nothing_is_wider_than_the_screen_and_no_legend_is_cut_off(
    width: int, viewer: Viewer, page_file: Path
) -> None:
    viewer.show(page_file, width=width)
    viewer.draw_all()
    assert viewer.run(OVERFLOWING) == [0]
    assert viewer.run(CUT_OFF) == []
    assert viewer.console() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(scheme: str, viewer: Viewer, page_file: Path) -> None:
    viewer.show(page_file, scheme=scheme)
    viewer.draw_all()
    paper = viewer.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    assert [(ratio, text) for ratio, text in viewer.run(CONTRASTS) if ratio < 4.5] == []


def test_charts_follow_the_scheme_without_being_drawn_again(
    viewer: Viewer, page_file: Path
) -> None:
    colour = (
        "return getComputedStyle(document.querySelector('.plot .mark-rule line, .plot .mark-rule "
        "path')).stroke"
    )
    viewer.show(page_file)
    viewer.draw_all()
    light = viewer.run(colour)
    viewer.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    assert viewer.run(colour) != light
    viewer.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    assert viewer.run(colour) == light


def test_paper_shows_every_chart_even_those_never_seen(viewer: Viewer, page_file: Path) -> None:
    viewer.show(page_file, scheme="dark")
    printed = viewer.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(base64.b64decode(printed["data"])) > 100_000
    states = viewer.run(
        "return [...document.querySelectorAll('.plot')].map((place) => place.dataset.drawn)"
    )
    assert set(states) == {"done"}
    assert viewer.run("return document.documentElement.className") == ""


def test_a_turned_phone_gets_its_legends_again(viewer: Viewer, page_file: Path) -> None:
    viewer.show(page_file, width=360)
    viewer.draw_all()
    before = viewer.run("return document.querySelector('.figures .plot').dataset.columns")
    viewer.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1100, "height": 700, "deviceScaleFactor": 1, "mobile": False},
    )
    wait_until(
        lambda: (
            viewer.run("return document.querySelector('.figures .plot').dataset.columns") != before
        ),
        "other columns",
    )
    viewer.draw_all()
    assert viewer.console() == []


def test_the_table_sorts_by_the_column_that_is_clicked_unknowns_last(
    viewer: Viewer, page_file: Path
) -> None:
    viewer.show(page_file)
    column = (
        "return [...document.querySelectorAll('table.all tbody tr')].map((row) => "
        "row.cells[1].textContent.trim())"
    )
    click = (
        "[...document.querySelectorAll('table.all th button')].find((button) => "
        "button.textContent === 'Silent').click()"
    )
    viewer.run(click)
    rising = viewer.run(
        "return [...document.querySelectorAll('table.all tbody tr')].map((row) => "
        "Number(row.cells[10].dataset.value))"
    )
    assert rising == sorted(rising)
    viewer.run(click)
    assert viewer.run(column)[0] == "paused"
    assert viewer.run("return document.querySelectorAll('[aria-sort]').length") == 1


def test_a_word_is_explained_one_click_away(viewer: Viewer, page_file: Path) -> None:
    viewer.show(page_file)
    viewer.run(
        "document.querySelector('.evidence a.term[href=\"#about-idle-open-window\"]').click()"
    )
    visible = (
        "const box = document.querySelector('#about-idle-open-window').getBoundingClientRect(); "
        "return "
        "box.top >= 0 && box.top < innerHeight"
    )
    wait_until(lambda: viewer.run(visible), "the explanation")


def test_without_scripts_everything_is_said_in_words(viewer: Viewer, page_file: Path) -> None:
    viewer.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        viewer.show(page_file)
        text = viewer.driver.find_element("tag name", "body").text
    finally:
        viewer.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "The charts need JavaScript" in text
    assert "The sending host stalled." in text
    assert "no queue grew on the path" in text
