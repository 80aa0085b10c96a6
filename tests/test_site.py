"""The site builds strictly: no link or anchor leads nowhere, nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import trustbed
from tools import site
from trustbed.cli import VERBS


class Loads(HTMLParser):
    """What a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.found.append(given.get("src") or "")
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.found.append(given.get("href") or "")


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    assert site.build(place, execute=False) == 0
    return place / "html"


def test_every_page_is_there_and_loads_nothing_from_elsewhere(html: Path) -> None:
    pages = list(html.rglob("*.html"))
    own = [page for page in pages if "reports" not in page.parts]
    assert len(own) > 60
    for page in own:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert [source for source in loads.found if re.match(r"(https?:)?//", source)] == [], page


def test_every_public_name_and_every_command_is_in_the_reference(html: Path) -> None:
    reference = (html / "docs" / "reference.html").read_text(encoding="utf-8")
    names = [name for name in trustbed.__all__ if not name.startswith("_")]
    ids = re.findall(r'id="trustbed\.([\w.]+)"', reference)
    engine = {"CaptureError"}
    assert {name for name in names if not any(one.split(".")[-1] == name for one in ids)} == engine
    assert re.findall(r":(?:func|meth|class|mod|attr|data):", reference) == []
    commands = (html / "docs" / "commands.html").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f"trustbed {verb}" not in commands] == []


def test_a_link_that_leads_nowhere_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "README.md"
    page.write_text("# Lost\n\n[nowhere](docs/nowhere.md)\n", encoding="utf-8")

    def lay_out(pages: Path, *, execute: bool) -> None:
        del execute
        pages.mkdir(parents=True)
        (pages / "README.md").write_text(page.read_text(encoding="utf-8"), encoding="utf-8")

    monkeypatch.setattr(site, "lay_out", lay_out)
    assert site.build(tmp_path / "site", execute=False) != 0
