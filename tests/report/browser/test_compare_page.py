"""The page of a comparison in a browser: it fits, it can be read, it asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.browser.conftest import ABOUT, Viewer
from tests.report.browser.test_every_page import CONTRASTS, OVERFLOWING
from tests.report.compare_testbeds import comparison
from trustbed.report.compare import page

BARS = """
return [...document.querySelectorAll('svg.difference')].map((bar) => {
  const range = bar.querySelector('.range').getBBox();
  const band = bar.querySelector('.band').getBBox();
  return [range.x, range.x + range.width, band.x, band.x + band.width, bar.viewBox.baseVal.width];
});
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "page.html"
    page.write(comparison(), path, ABOUT)
    return path


@pytest.mark.parametrize("width", [1280, 768, 390, 360])
def test_nothing_is_wider_than_the_screen(width: int, viewer: Viewer, file: Path) -> None:
    viewer.show(file, width=width)
    assert viewer.run(OVERFLOWING) == [0]
    assert viewer.console() == []
    assert [one for one in viewer.requests() if not one.startswith(("data:", file.as_uri()))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(scheme: str, viewer: Viewer, file: Path) -> None:
    viewer.show(file, scheme=scheme)
    assert [(ratio, text) for ratio, text in viewer.run(CONTRASTS) if ratio < 4.5] == []


def test_tables_fit_on_a_desktop(viewer: Viewer, file: Path) -> None:
    viewer.show(file, width=1280)
    wide = (
        "return [...document.querySelectorAll('.metrics')]"
        ".map((one) => one.scrollWidth - one.parentElement.clientWidth)"
    )
    assert max(viewer.run(wide)) <= 0


def test_every_interval_stays_within_its_drawing(viewer: Viewer, file: Path) -> None:
    viewer.show(file)
    bars = viewer.run(BARS)
    assert len(bars) > 8
    for low, high, band_low, band_high, width in bars:
        assert 0 <= low <= high <= width
        assert 0 < band_low < width / 2 < band_high < width
