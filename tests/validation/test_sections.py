"""The sections of the page: each command replaces its own and leaves the rest as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation import __main__, sections
from validation.captures import Source
from validation.run import Outcome

BODY = "# Validation\n\nA comparison.\n"


def test_a_section_is_replaced_where_it_stands() -> None:
    page = sections.joined(BODY, {name: sections.marked(name, f"make {name}", f"## {name}\n\nold") for name in ("one", "two")})
    again = sections.replaced(page, "one", sections.marked("one", "make one", "## one\n\nnew"))
    assert again == page.replace("## one\n\nold", "## one\n\nnew")
    assert list(sections.found(again)) == ["one", "two"]
    assert "Made by `make one`" in again


def test_a_section_is_added_at_the_end_and_writing_twice_changes_nothing(tmp_path: Path) -> None:
    page = tmp_path / "validation.md"
    page.write_text(BODY, encoding="utf-8")
    sections.write(page, "late", "make late", "## Late\n\nfigures\n")
    once = page.read_text(encoding="utf-8")
    assert once.startswith(BODY)
    assert once.endswith("## Late\n\nfigures\n\n<!-- end late -->\n")
    sections.write(page, "late", "make late", "## Late\n\nfigures\n")
    assert page.read_text(encoding="utf-8") == once


def test_a_page_that_is_not_there_is_begun(tmp_path: Path) -> None:
    sections.write(tmp_path / "new.md", "late", "make late", "figures")
    assert (tmp_path / "new.md").read_text(encoding="utf-8").startswith("# Validation\n\n<!-- begin late.")


def test_the_comparison_leaves_the_sections_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "validation.md"
    page.write_text("# Old\n", encoding="utf-8")
    sections.write(page, "late", "make late", "kept figures")
    outcome = Outcome("traces/x.pcap", connections=1)
    outcome.states["equal"] = 2
    monkeypatch.setattr(__main__.captures, "sources", lambda: [Source("traces/x.pcap", Path("x.pcap"))])
    monkeypatch.setattr(__main__, "_run", lambda _sources, _workers: [outcome])
    monkeypatch.setattr(__main__.document, "_versions", lambda: "Versions: none.\n")
    assert __main__.main(["--output", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "# Old" not in text
    assert "2 directions of 1 connections" in text
    assert text.endswith("kept figures\n\n<!-- end late -->\n")
