"""The JSON of ``trustbed burst``: one document, or a list of them with ``--each``.

Docs/json.md describes it.

A row of a table is one line of text, so that line tools work on it. Numbers are in base units,
unknown is null, and what is not a number does not occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from trustbed.report.printable import json_text
from trustbed.report.records import Row

#: Raised when a field changes its meaning or goes away; new fields do not raise it.
SCHEMA_VERSION = 1


def write(stream: TextIO, document: Row) -> None:
    """One document."""
    stream.writelines(_object(document))
    stream.write("\n")


def write_several(stream: TextIO, documents: Sequence[Row]) -> None:
    """A list of documents."""
    separator = "[\n"
    for document in documents:
        stream.write(separator)
        stream.writelines(_object(document))
        separator = ",\n"
    stream.write("\n]\n")


def _object(members: Row) -> Iterator[str]:
    separator = "{\n"
    for name, value in members.items():
        yield f"{separator}{json_text(name)}: "
        separator = ",\n"
        if _has_rows(value):
            yield "["
            between = "\n"
            for row in value:
                yield between
                yield from _object(row) if _is_nested(row) else (json_text(row),)
                between = ",\n"
            yield "\n]"
        elif _is_nested(value):
            yield from _object(value)
        else:
            yield json_text(value)
    yield "\n}" if members else "{}"


def _has_rows(value: object) -> bool:
    return isinstance(value, Sequence) and bool(value) and isinstance(value[0], Mapping)


def _is_nested(value: object) -> bool:
    """Whether it contains rows, which get lines of their own."""
    return isinstance(value, Mapping) and any(_has_rows(member) for member in value.values())
