"""Burstiness in a browser.

Every chart drawn without a word on the console or a request, on a desktop, a phone, in the dark, on
paper.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.report.browser.test_page import CONTRASTS, CUT_OFF, HOLLOW, OVERFLOWING
from trustbed.report.burst import page as burst_page
from trustbed.report.transfer import html

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

Model = dict[str, Any]

UNFOLD = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"
EMPTY = (
    "return [...document.querySelectorAll('.plot')].filter((place) => !place.querySelector('svg "
    "path')).length"
)
STATES = (
    "return [...new Set([...document.querySelectorAll('.plot')].map((place) => "
    "place.dataset.drawn))]"
)


@pytest.fixture(scope="module")
def burst_file(
    tmp_path_factory: pytest.TempPathFactory, bursty: Model, paced: Model, uneven: Model
) -> Path:
    """Two captures compared, one of them with two streams."""
    path = tmp_path_factory.mktemp("burst") / "report.html"
    streams = [{**bursty, "name": "10.0.0.1:5201 → 10.0.0.2:40000 tcp"}, {**paced, "name": "in"}]
    about = {
        "version": "0.1.0",
        "command": "trustbed burst timer.pcap uneven.pcapng --each",
        "started": None,
    }
    burst_page.write(path, [{**bursty, "streams": streams}, uneven], about)
    return path


@pytest.fixture(scope="module")
def folded_file(
    tmp_path_factory: pytest.TempPathFactory,
    page: Callable[..., html.Page],
    capture: Callable[..., html.Capture],
    bursty: Model,
    uneven: Model,
) -> Path:
    """The report of two captures, their burstiness folded."""
    path = tmp_path_factory.mktemp("folded") / "report.html"
    html.write(
        path,
        page(
            capture(name="a", burst=bursty, series={}), capture(name="b", burst=uneven, series={})
        ),
    )
    return path


def test_every_chart_is_drawn_without_a_word_on_the_console_or_a_request(
    viewer: Viewer, burst_file: Path
) -> None:
    viewer.show(burst_file)
    viewer.draw_all()
    assert viewer.run("return document.querySelectorAll('.plot').length") == 2 * 8 + 2 * 5
    assert viewer.run(EMPTY) == 0
    assert viewer.run(CUT_OFF) == []
    assert viewer.run(HOLLOW) == []
    assert viewer.console() == []
    assert [
        address
        for address in viewer.requests()
        if address != burst_file.as_uri() and not address.startswith("data:")
    ] == []


@pytest.mark.parametrize("width", [768, 390, 360])
def test_nothing_is_wider_than_the_screen(width: int, viewer: Viewer, burst_file: Path) -> None:
    viewer.show(burst_file, width=width)
    viewer.draw_all()
    assert viewer.run(OVERFLOWING) == [0]
    assert viewer.run(CUT_OFF) == []
    assert viewer.console() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(scheme: str, viewer: Viewer, burst_file: Path) -> None:
    viewer.show(burst_file, scheme=scheme)
    viewer.draw_all()
    assert [(ratio, text) for ratio, text in viewer.run(CONTRASTS) if ratio < 4.5] == []


def test_a_fold_draws_its_charts_when_it_is_opened(viewer: Viewer, folded_file: Path) -> None:
    viewer.show(folded_file)
    assert viewer.run("return document.querySelectorAll('.plot[data-drawn]').length") == 0
    viewer.run(UNFOLD)
    viewer.draw_all()
    assert viewer.run(EMPTY) == 0
    assert (
        viewer.run(
            "return Math.min(...[...document.querySelectorAll('.plot svg')].map((chart) => "
            "chart.clientWidth))"
        )
        > 300
    )
    assert viewer.console() == []


def test_paper_shows_what_is_folded(viewer: Viewer, folded_file: Path) -> None:
    viewer.show(folded_file)
    printed = viewer.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(base64.b64decode(printed["data"])) > 100_000
    assert viewer.run(STATES) == ["done"]
    viewer.run(UNFOLD)
    assert (
        viewer.run(
            "return Math.min(...[...document.querySelectorAll('.plot svg')].map((chart) => "
            "chart.clientWidth))"
        )
        > 200
    )


def test_the_comparison_sorts_by_numbers(viewer: Viewer, burst_file: Path) -> None:
    viewer.show(burst_file)
    viewer.run(
        "[...document.querySelectorAll('#compared th button')].find((button) => "
        "button.textContent === 'Burstiness max').click()"
    )
    column = (
        "return [...document.querySelectorAll('#compared tbody tr')].map((row) => "
        "Number(row.cells[5].dataset.value))"
    )
    rising = viewer.run(column)
    assert rising == sorted(rising)
    assert len(set(rising)) == 2
