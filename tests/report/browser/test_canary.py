"""A canary on every page: a browser shows what others named and wrote as text, and as nothing else.

The terminal's side of it is ``tests/cli/test_canary.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.canary import NAME, TEXT, TOML, pcapng
from tests.canary_directories import campaign_of, models_of, run_of
from tests.compare.testbeds import Made, make_testbed
from tests.report.sensitivity_study import study
from trustbed.cli import main
from trustbed.report.sensitivity import page as sensitivity_page

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

pytestmark = pytest.mark.timeout(600)

PAGES = ("analyze", "burst", "report", "compare", "model", "campaign", "sensitivity", "store")
"""The verbs that write pages; ``run`` writes that of ``report``."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, recordings: Path) -> dict[str, Path]:
    """Verb to its page about something with a canary in every name and text."""
    directory = tmp_path_factory.mktemp("canary") / NAME
    directory.mkdir()
    capture = pcapng(directory / f"{NAME}.pcapng", recordings / "random-loss.sender.pcap.gz")
    page = {verb: directory / f"{NAME}.{verb}.html" for verb in PAGES}
    testbeds = [
        make_testbed(directory / f"{ending}{NAME}.run", Made(slower=slower), repetitions=4)
        for ending, slower in (("a", 1.0), ("b", 1.4))
    ]
    for words in (
        ("analyze", capture, "--report", page["analyze"]),
        ("burst", capture, "--by", "interface", "--report", page["burst"]),
        ("report", run_of(directory / f"{NAME}.run"), "-o", page["report"]),
        ("compare", *(f"{TEXT.replace('=', '')}={one}" for one in testbeds[:1]),
         f"other={testbeds[1]}", "-o", page["compare"]),
        ("campaign", "report", campaign_of(directory / f"{NAME}.campaign"),
         "-o", page["campaign"]),
    ):  # fmt: skip
        assert main([*map(str, words), "--quiet"]) == 0, words
    store = directory / f"{NAME}.store"
    named = run_of(directory / "named.run", name=TOML)
    assert main(["store", "add", str(store), str(named), "--quiet"]) == 0
    assert main(["store", "papers", str(store), "-o", str(page["store"]), "--quiet"]) == 0
    extract, *_ = models_of(directory)
    assert main(["model", *map(str, extract), "--quiet"]) == 0
    assert main(["model", "show", str(extract[3]), "-o", str(page["model"]), "--quiet"]) == 0
    about = {"version": TEXT, "command": f"trustbed sensitivity {TEXT}"}
    sensitivity_page.write(study(), page["sensitivity"], about)
    return page


@pytest.mark.parametrize("verb", PAGES)
def test_a_page_shows_a_canary_and_obeys_none(
    viewer: Viewer, pages: dict[str, Path], verb: str
) -> None:
    viewer.show(pages[verb])
    viewer.draw_all()
    assert viewer.run("return document.body.dataset.ran") is None
    assert viewer.run("return document.getElementsByClassName('canary').length") == 0
    assert "class=canary" in viewer.run("return document.documentElement.textContent")
    assert viewer.console() == []
    assert [one for one in viewer.requests() if not one.startswith(("file:", "data:"))] == []
