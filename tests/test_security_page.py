"""docs/security.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`([^`\s]+)`")


def test_every_test_that_holds_a_promise_is_there() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    file, text, named = "", "", 0
    for word in NAMED.findall(page):
        if re.fullmatch(r"(?:crates|tests)/\S+\.(?:rs|py)", word):
            file, text = word, (ROOT / word).read_text(encoding="utf-8")
        elif word.count("_") >= 2 and word == word.lower() and "." not in word:
            named += 1
            assert re.search(rf"\b(?:fn|def) {word}\(", text), f"{file} has no {word}"
    assert named > 40


def test_every_promise_has_a_section() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d+)\.", page, re.MULTILINE) == [str(n) for n in range(1, 11)]
