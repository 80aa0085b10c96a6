"""The page of a run in a browser.

Drawn without a word on the console or a request, on a desktop, a phone, in the dark, on paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

STARTS = """
return [...document.querySelectorAll(".pair")].map((pair) =>
  [...pair.querySelectorAll(".plot")].map((place) =>
  Math.round(place.querySelector(".mark-group.role-frame.root .background")
    .getBoundingClientRect().left)));
"""


def test_the_queue_stands_below_the_requests_on_the_same_time(
    viewer: Viewer, run_file: Path
) -> None:
    viewer.show(run_file)
    viewer.draw_all()
    starts = viewer.run(STARTS)
    assert len(starts) == 7
    assert all(abs(above - below) <= 1 for above, below in starts)
