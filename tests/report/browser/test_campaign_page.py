"""A campaign's page in a browser: every chart drawn without a word on the console or a request, on a desktop, a phone and in the dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.report.browser.test_page import CONTRASTS, CUT_OFF, HOLLOW, OVERFLOWING
from tests.rounds.made import made
from trustbed.campaigns import open_campaign
from trustbed.report import campaign_page

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of two pairs."""
    folder = tmp_path_factory.mktemp("campaign")
    model = open_campaign(made(folder, 576).path, timeline=True)
    path = folder / "page.html"
    campaign_page.write(
        path, model, {"version": "1", "command": "trustbed report out", "started": None}, now_ns=model["campaign"]["ends_ns"]
    )
    return path


def test_every_chart_is_drawn_without_a_word_on_the_console_or_a_request(viewer: Viewer, page: Path) -> None:
    viewer.show(page)
    viewer.draw_all()
    assert viewer.run("return document.querySelectorAll('.plot').length") == 2 * 3
    assert viewer.run(CUT_OFF) == []
    assert viewer.run(HOLLOW) == []
    assert viewer.console() == []
    assert [address for address in viewer.requests() if address != page.as_uri() and not address.startswith("data:")] == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_it_can_be_read_on_a_phone_and_in_the_dark(viewer: Viewer, page: Path, width: int, scheme: str) -> None:
    viewer.show(page, width=width, scheme=scheme)
    viewer.draw_all()
    assert viewer.run(OVERFLOWING) == [0]
    assert [(ratio, text) for ratio, text in viewer.run(CONTRASTS) if ratio < 4.5] == []
    assert viewer.console() == []
