"""The JSON contract: one document per capture, versioned, streamed.

``docs/json.md`` describes it and ``schema.json`` beside this file checks it. One table row is one
line of text, so that ``grep`` works on it and memory does not grow with the capture. Numbers are in
base units, unknown is null, and what is not a number does not occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from trustbed.report.printable import json_text, unchecked
from trustbed.report.records import Row

#: Raised when a field changes its meaning or goes away; new fields do not raise it.
SCHEMA_VERSION = 1


def write(
    stream: TextIO,
    *,
    about: Row,
    capture: Row,
    findings: Iterable[Row],
    skips: Iterable[Row],
    connections: Iterable[Row],
    transfers: Iterable[Row],
    summary: Row,
    burstiness: Row | None = None,
    two_point: Row | None = None,
) -> None:
    """Writes the document; the iterables are consumed one row at a time."""
    put = unchecked(stream)
    put(
        f'{{\n"trustbed": {json_text(about)},\n"summary": {json_text(summary)},\n"capture": '
        f"{json_text(capture)}"
    )
    for name, rows in (
        ("findings", findings),
        ("skips", skips),
        ("transfers", transfers),
        ("connections", connections),
    ):
        put(f',\n"{name}": [')
        for line in _lines(rows):
            put(line)
        put("]")
    for name, part in (("burstiness", burstiness), ("two_point", two_point)):
        if part is not None:
            put(f',\n"{name}": {json_text(part)}')
    put("\n}\n")


def _lines(rows: Iterable[Row]) -> Iterator[str]:
    separator = "\n"
    for row in rows:
        yield separator + json_text(row)
        separator = ",\n"
    if separator == ",\n":
        yield "\n"
