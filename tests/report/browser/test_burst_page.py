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

from tests.report.browser.test_every_page import EMPTY, STATES
from trustbed.report.transfer import html

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

Model = dict[str, Any]

UNFOLD = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"


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
