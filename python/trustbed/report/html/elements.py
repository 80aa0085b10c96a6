"""The elements of pages: figures, tables, and the origin of the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trustbed.report.records import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart of the payload with its words.

    ``wide`` takes the whole width of the page, ``reading`` explains how to read it.
    """

    chart: int
    title: str
    caption: str
    definition: str
    wide: bool = False
    reading: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two charts above each other on the same time axis; either may be missing."""

    title: str
    above: int | None
    below: int | None
    above_words: str
    below_words: str
    reading: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its text, the number it is sorted by, and small text below."""

    text: str
    value: float | None = None
    beside: str = ""

    @classmethod
    def of(cls, words: Callable[[Any], str], value: float | None, beside: str = "") -> Cell:
        """A cell of a value, put into words."""
        return cls(words(value), value, beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a table; ``use`` marks one that must not be used."""

    name: str
    cells: Sequence[Cell]
    use: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose first column names its lines.

    Each other column has a title and the anchor of its definition.
    """

    first: str
    columns: Sequence[tuple[str, str]]
    lines: Sequence[Line]

    @property
    def terms(self) -> list[str]:
        """The anchors of its definitions, each once."""
        return list(dict.fromkeys(definition for _, definition in self.columns if definition))


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A file that was read."""

    name: str
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Which version made the page, with which command, when, and from which files."""

    version: str
    command: str | None = None
    started: str | None = None
    inputs: Sequence[Input] = ()

    @classmethod
    def of(cls, about: Row, inputs: Iterable[Input]) -> Provenance:
        """From what ``about`` has: version, command, started."""
        return cls(
            version=about["version"],
            command=about.get("command"),
            started=about.get("started"),
            inputs=list(inputs),
        )


def inputs(files: Iterable[Row], name: str = "standard input") -> list[Input]:
    """The files of a capture."""
    return [Input(name=file.get("name") or name, size_bytes=file.get("bytes")) for file in files]
