"""The field's words: what docs/glossary.md replaces does not come back.

A word counts as a part of an identifier or of a text, whatever its case; a phrase counts across the
end of a line.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("python", "crates", "docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md")
TEXTS = {".py", ".rs", ".md", ".j2", ".toml"}
HISTORY = "docs/decisions/"
"""Records of decisions stay as they were written."""
GLOSSARY = "docs/glossary.md"
FORMER = "python/trustbed/run/former.py"
"""It says what earlier versions wrote."""

LEFT = {
    "a slip of ours": "a bug",
    "lateness": "departure error",
    "machine outside": "controller",
    "naps": "wake-ups",
    "oversize": "long pause, or a pause longer than the RTT",
    "seen from how": "inferred from",
    "spoilt": "invalid",
    "stand still": "stall",
    "stands still": "stalls",
    "steered": "disciplined, or slewed",
    "stood still": "stalled",
    "undecided": "indeterminate",
    "vigil": "watchdog",
    "way_rise": "one-way delay increase (owd_increase)",
    "what mends it": "how to fix it",
    "withheld": "idle with open window",
    "witness": "indicator",
    "witnesses": "indicators",
}
"""What was said before, and what is said now."""

REMAINING: dict[str, tuple[str, ...]] = {
    "naps": ("python/trustbed/scenario/reading.py",),
    "oversize": (
        "crates/analyze/tests/golden.rs",
        "crates/record/src/transfers/timing.rs",
        "docs/glossary.md",
        "docs/tables.md",
        "python/trustbed/diagnose/evidence.py",
    ),
    "stood still": ("docs/tables.md",),
    "way_rise": ("python/trustbed/diagnose/evidence.py",),
    "withheld": (
        "docs/glossary.md",
        "docs/tables.md",
        "python/trustbed/diagnose/evidence.py",
    ),
}
"""Rooms that have not carried a word out yet; a row goes with the last use, and none is added.

``oversize`` is the papers' own term where they are cited; ``evidence.py`` reads cases published
under the old names.
"""


@cache
def texts() -> dict[str, str]:
    """Every file of the rooms that git tracks, by its path."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *ROOMS],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = [name for name in listed.stdout.split("\0") if name and Path(name).suffix in TEXTS]
    return {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in names
        if not name.startswith((HISTORY, GLOSSARY, FORMER)) and (ROOT / name).is_file()
    }


def found(word: str, text: str) -> bool:
    """Whether a word or phrase stands in a text, also as a part of an identifier."""
    lowered = text.lower()
    if not all(part in lowered for part in word.split()):  # much faster than the pattern
        return False
    pattern = r"\s+".join(re.escape(part) for part in word.split())
    return re.search(rf"(?<![A-Za-z]){pattern}(?![A-Za-z])", text, re.IGNORECASE) is not None


@pytest.mark.parametrize("word", sorted(LEFT))
def test_a_word_that_was_replaced_does_not_come_back(word: str) -> None:
    left = [
        name
        for name, text in texts().items()
        if found(word, text) and not name.startswith(REMAINING.get(word, ()))
    ]
    assert left == [], f"say {LEFT[word]}"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("total_naps", True),
        ("NAPS = 3", True),
        ("snaps", False),
        ("the host\n    stood still", True),
        ("understood stillness", False),
    ],
)
def test_parts_of_identifiers_and_broken_lines_count(text: str, holds: bool) -> None:
    assert (found("naps", text) or found("stood still", text)) == holds
