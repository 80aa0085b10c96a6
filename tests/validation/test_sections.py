"""The sections of the page.

Each command replaces its own and leaves the rest as it is; a list above them says which command
made which.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from validation import __main__, sections
from validation.captures import Source
from validation.run import Outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"


def test_a_section_is_replaced_in_place(tmp_path: Path) -> None:
    page = tmp_path / "validation.md"
    for name in ("one", "two"):
        sections.write(page, name, f"make {name}", f"## The {name}\n\nold")
    before = page.read_text(encoding="utf-8")
    sections.write(page, "one", "make one", "## The one\n\nnew")
    again = page.read_text(encoding="utf-8")
    assert again == before.replace("## The one\n\nold", "## The one\n\nnew")
    assert list(sections.found(again)) == ["one", "two"]
    assert "Made by `make one`" in again


def test_a_page_that_is_not_there_is_begun_and_writing_twice_changes_nothing(
    tmp_path: Path,
) -> None:
    page = tmp_path / "validation.md"
    sections.write(page, "late", "make late", "## Late\n\nfigures\n")
    once = page.read_text(encoding="utf-8")
    assert once.startswith("# Validation\n\n")
    assert once.endswith("## Late\n\nfigures\n\n<!-- end late -->\n")
    sections.write(page, "late", "make late", "## Late\n\nfigures\n")
    assert page.read_text(encoding="utf-8") == once


def test_sections_are_listed_with_their_commands_in_a_fixed_order(
    tmp_path: Path,
) -> None:
    page = tmp_path / "validation.md"
    for name in ("other", *reversed(sections.ORDER)):
        sections.write(page, name, f"make {name}", f"## About: {name}\n\nfigures\n")
    text = page.read_text(encoding="utf-8")
    assert list(sections.found(text)) == [*sections.ORDER, "other"]
    lines = [
        f"| [About: {name}](#about-{name}) | `make {name}` |" for name in (*sections.ORDER, "other")
    ]
    assert "\n".join(lines) in text[: text.index("<!--")]


def test_the_comparison_leaves_the_sections_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "validation.md"
    sections.write(page, "agreement", "make validate", "## Old\n")
    sections.write(page, "late", "make late", "## Late\n\nkept figures")
    outcome = Outcome("traces/x.pcap", connections=1)
    outcome.states["equal"] = 2
    monkeypatch.setattr(
        __main__.captures, "sources", lambda: [Source("traces/x.pcap", Path("x.pcap"))]
    )
    monkeypatch.setattr(__main__, "_run", lambda _sources, _workers: [outcome])
    monkeypatch.setattr(__main__.document, "_versions", lambda: "Versions: none.\n")
    assert __main__.main(["--output", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Old" not in text
    assert "2 directions of 1 connections" in text
    assert text.endswith("kept figures\n\n<!-- end late -->\n")


def test_the_page_is_what_joining_its_sections_gives() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert sections.joined(sections.found(text)) == text
    assert tuple(sections.found(text)) == sections.ORDER
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert all(
        len(re.findall(r"^## ", section, re.MULTILINE)) == 1
        for section in sections.found(text).values()
    )
