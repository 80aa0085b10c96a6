"""The page of a study: its README.md, which its command writes."""

from __future__ import annotations

import re
from pathlib import Path


def page(study: str) -> Path:
    """Where the page of a study is."""
    return Path(__file__).resolve().parent / study / "README.md"


def write(path: Path, command: str, text: str) -> None:
    """Writes a page; its headings begin at the second level in ``text`` and at the first there."""
    raised = re.sub(r"^#(#+ )", r"\1", text.strip(), flags=re.MULTILINE)
    path.write_text(f"<!-- Made by `{command}`. Do not edit. -->\n\n{raised}\n", encoding="utf-8")
