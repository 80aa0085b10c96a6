"""The page docs/validation.md holds what several commands find.

Each has its section, between marks, and replaces nothing else.

Above them is a list of the sections with their commands, made from the sections. Does not interpret
their content.
"""

import re
from collections.abc import Mapping
from pathlib import Path

ORDER = ("agreement", "truth", "external", "traffic")
"""Sections as they follow each other; others come behind them."""

_SECTION = re.compile(
    (
        r"<!-- begin (?P<name>[a-z_]+)\. Made by `(?P<command>.*?)`\. "
        r".*?-->\n(?P<text>.*?)<!-- end (?P=name) -->\n?"
    ),
    re.DOTALL,
)
_HEAD = """# Validation

How trustbed agrees with other tools and with the truth, and the targets. Each section is made
by its command, which replaces that section and this list and leaves the others as they are.
Do not edit. Finished investigations have pages of their own: [studies](../studies/README.md).

| section | made by |
|---|---|
"""


def found(page: str) -> dict[str, str]:
    """The sections of a page by name, in their order, marks included."""
    return {each["name"]: each[0].rstrip("\n") + "\n" for each in _SECTION.finditer(page)}


def joined(sections: Mapping[str, str]) -> str:
    """A page: a list of these sections, and the sections."""
    indices = {name: index for index, name in enumerate(ORDER)}
    ordered = [
        sections[name] for name in sorted(sections, key=lambda name: indices.get(name, len(ORDER)))
    ]
    return "\n".join([_HEAD + "".join(map(_listed, ordered)), *ordered])


def marked(name: str, command: str, text: str) -> str:
    """A section with its marks, which name the command that made it."""
    return (
        f"<!-- begin {name}. Made by `{command}`. Do not edit. -->\n\n{text.strip()}\n\n<!-- "
        f"end {name} -->\n"
    )


def write(path: Path, name: str, command: str, text: str) -> None:
    """Puts a section into a page, in place of the earlier one of its name.

    The page is made if there is none.
    """
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(joined(found(page) | {name: marked(name, command, text)}), encoding="utf-8")


def _listed(section: str) -> str:
    """The line of the list: the section's heading, with a link to it, and its command."""
    whole = _SECTION.match(section)
    heading = re.search(r"^## (.*)$", section, re.MULTILINE)
    assert whole is not None, "a section has its marks"
    assert heading is not None, "a section begins with a heading of the second level"
    anchor = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
    return f"| [{heading[1]}](#{anchor}) | `{whole['command']}` |\n"
