"""The page of a run in a browser.

Drawn without a word on the console or a request, on a desktop, a phone, in the dark, on paper.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trustbed
from tests.report.browser.test_page import CONTRASTS, CUT_OFF, HOLLOW, OVERFLOWING
from tests.report.run_directories import make_run

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

STARTS = """
return [...document.querySelectorAll(".pair")].map((pair) =>
  [...pair.querySelectorAll(".plot")].map((place) =>
  Math.round(place.querySelector(".mark-group.role-frame.root .background")
    .getBoundingClientRect().left)));
"""


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of seven cells, one repetition of which must be discarded."""
    directory = tmp_path_factory.mktemp("run")
    path = directory / "report.html"
    trustbed.open_run(make_run(directory / "study").path).report(path)
    return path


def test_every_chart_is_drawn_without_a_word_on_the_console_or_a_request(
    viewer: Viewer, run_file: Path
) -> None:
    viewer.show(run_file)
    viewer.draw_all()
    assert viewer.run("return document.querySelectorAll('.plot').length") == 3 + 1 + 2 * 7
    assert (
        viewer.run(
            "return [...document.querySelectorAll('.plot')].filter((place) => "
            "!place.querySelector('svg path')).length"
        )
        == 0
    )
    assert viewer.run(CUT_OFF) == []
    assert viewer.run(HOLLOW) == []
    assert viewer.console() == []
    assert [
        address
        for address in viewer.requests()
        if address != run_file.as_uri() and not address.startswith("data:")
    ] == []


def test_the_queue_stands_below_the_requests_on_the_same_time(
    viewer: Viewer, run_file: Path
) -> None:
    viewer.show(run_file)
    viewer.draw_all()
    starts = viewer.run(STARTS)
    assert len(starts) == 7
    assert all(abs(above - below) <= 1 for above, below in starts)


@pytest.mark.parametrize("width", [768, 390, 360])
def test_nothing_is_wider_than_the_screen(width: int, viewer: Viewer, run_file: Path) -> None:
    viewer.show(run_file, width=width)
    viewer.draw_all()
    assert viewer.run(OVERFLOWING) == [0]
    assert viewer.run(CUT_OFF) == []
    assert viewer.console() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(scheme: str, viewer: Viewer, run_file: Path) -> None:
    viewer.show(run_file, scheme=scheme)
    viewer.draw_all()
    assert [(ratio, text) for ratio, text in viewer.run(CONTRASTS) if ratio < 4.5] == []


def test_paper_shows_every_chart_and_what_is_folded(viewer: Viewer, run_file: Path) -> None:
    viewer.show(run_file)
    printed = viewer.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(base64.b64decode(printed["data"])) > 100_000
    assert viewer.run(
        "return [...new Set([...document.querySelectorAll('.plot')].map((place) => "
        "place.dataset.drawn))]"
    ) == ["done"]


def test_results_sort_by_their_numbers(viewer: Viewer, run_file: Path) -> None:
    viewer.show(run_file)
    viewer.run(
        "[...document.querySelectorAll('#result-1 th button')].find((button) => "
        "button.textContent === 'Median').click()"
    )
    column = (
        "return [...document.querySelector('#result-1 table').tBodies[0].rows].map((row) => "
        "Number(row.cells[4].dataset.value))"
    )
    rising = viewer.run(column)
    assert rising == sorted(rising)
    assert len(rising) == 7
