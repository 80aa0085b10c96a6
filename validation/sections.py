"""The page docs/validation.md holds what several commands find: each has its section, between marks, and replaces nothing else.

The comparison with other tools is what stands outside all marks. Does not know what the sections say.
"""

import re
from pathlib import Path

_SECTION = re.compile(r"<!-- begin (?P<name>[a-z]+)\. .*?-->\n(?P<text>.*?)<!-- end (?P=name) -->\n?", re.DOTALL)


def found(page: str) -> dict[str, str]:
    """The sections of a page by name, in their order, marks included."""
    return {each["name"]: each[0].rstrip("\n") + "\n" for each in _SECTION.finditer(page)}


def joined(body: str, sections: dict[str, str]) -> str:
    """A page: what stands outside all sections, then these."""
    return "\n".join([body.rstrip("\n") + "\n", *sections.values()])


def marked(name: str, command: str, text: str) -> str:
    """A section with its marks, which say by what command it was made."""
    return f"<!-- begin {name}. Made by `{command}`. Do not edit. -->\n\n{text.strip()}\n\n<!-- end {name} -->\n"


def replaced(page: str, name: str, section: str) -> str:
    """The page with a section in the place of the earlier one of its name, or at the end."""
    body = _SECTION.sub("", page)
    return joined(body, found(page) | {name: section})


def write(path: Path, name: str, command: str, text: str) -> None:
    """Puts a section into a page; the page is made if there is none."""
    page = path.read_text(encoding="utf-8") if path.exists() else "# Validation\n"
    path.write_text(replaced(page, name, marked(name, command, text)), encoding="utf-8")


def write_head(path: Path, text: str) -> None:
    """Puts the comparison into a page, in the place of the earlier one; sections stay."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(joined(text, found(before)), encoding="utf-8")
