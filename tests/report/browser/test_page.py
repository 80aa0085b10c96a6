"""The page in a browser.

Drawn without errors or requests, on a desktop, a phone, in the dark, on paper, and without scripts.
"""

from __future__ import annotations

import base64
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.patience import wait_until
from tests.report.conftest import PAUSED, make_capture, make_page, make_series, make_transfer
from trustbed.report.transfer import html

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one capture of a sender that was paused."""
    path = tmp_path_factory.mktemp("one") / "report.html"
    paused = make_series(duration=0.4, pause=0.009)
    html.write(path, make_page(make_capture(make_transfer(**PAUSED), series={"1.0": paused})))
    return path


def with_more(page: Path, markup: str) -> str:
    """The page with more at the end of its body; the script of charts holds such words too."""
    before, end, after = page.read_text(encoding="utf-8").rpartition("</body>")
    return f"{before}{markup}{end}{after}"


def test_an_intruding_script_does_not_run(viewer: Viewer, one_file: Path, tmp_path: Path) -> None:
    intruder = (
        "<script>document.body.dataset.ran = 1</script>"
        "<img src=x onerror='document.body.dataset.ran = 2'>"
        "<a id=planted href='javascript:void(document.body.dataset.ran = 3)'>go</a>"
    )
    worse = tmp_path / "worse.html"
    worse.write_text(with_more(one_file, intruder), encoding="utf-8")
    viewer.show(worse)
    viewer.run("document.getElementById('planted').click()")
    viewer.draw_all()
    assert viewer.run("return document.body.dataset.ran") is None
    assert sum("Content Security Policy" in message for message in viewer.console()) >= 3


def test_a_script_of_the_page_can_neither_send_nor_evaluate(
    viewer: Viewer, page_file: Path, tmp_path: Path
) -> None:
    text = (
        "fetch('http://127.0.0.1:9/').catch((error) => { document.body.dataset.sent = "
        "error.name; });try { document.body.dataset.evaluated = eval('1'); }catch (error) { "
        "document.body.dataset.evaluated = error.name; }"
    )
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    worse = tmp_path / "worse.html"
    page = with_more(page_file, f"<script>{text}</script>")
    worse.write_text(
        page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1), encoding="utf-8"
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


def test_charts_follow_the_scheme_without_being_drawn_again(viewer: Viewer, one_file: Path) -> None:
    colour = (
        "return getComputedStyle(document.querySelector('.plot .mark-rule line, .plot .mark-rule "
        "path')).stroke"
    )
    viewer.show(one_file)
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


def test_a_turned_phone_gets_its_legends_again(viewer: Viewer, one_file: Path) -> None:
    viewer.show(one_file, width=360)
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
    assert "packets hardly waited" in text
