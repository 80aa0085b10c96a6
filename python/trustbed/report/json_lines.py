"""Rows of a table as JSON text, a line each, made column by column.

A batch becomes text in a few passes over each of its columns, so that the time of a row is that of
its digits. The text is the one that :func:`trustbed.report.printable.json_text` would write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.report import columns
from trustbed.report.printable import json_text, json_words


def objects(batch: pa.RecordBatch) -> Iterator[str]:
    """The rows of a batch as objects, under the names that JSON carries."""
    converted = columns.for_text(batch)
    members = (json_text(name).replace("%", "%%") + ": %s" for name in converted.schema.names)
    return _filled("{" + ", ".join(members) + "}", converted)


def arrays(batch: pa.RecordBatch) -> Iterator[str]:
    """The values of each row as an array, in the order of :func:`names`."""
    converted = columns.for_text(batch)
    return _filled("[" + ", ".join(["%s"] * converted.num_columns) + "]", converted)


def names(schema: pa.Schema) -> list[str]:
    """The names of the values in :func:`arrays`."""
    return [name for field in schema for name in columns.text_names(field)]


def with_members(line: str, members: str) -> str:
    """An object with the members of another one behind its own."""
    return f"{line[:-1]}, {members[1:]}"


def _filled(template: str, converted: pa.RecordBatch) -> Iterator[str]:
    return map(template.__mod__, zip(*map(_texts, converted.columns), strict=True))


def _texts(column: pa.Array) -> Sequence[str]:
    """The JSON text of each value of a column."""
    if column.null_count == len(column):
        return ["null"] * len(column)
    if pa.types.is_string(column.type):
        encoded = column.dictionary_encode()
        words = [*json_words(encoded.dictionary.to_pylist()), "null"]
        # The index of an unknown value is that of the last word.
        return [words[-1 if index is None else index] for index in columns.values(encoded.indices)]
    if pa.types.is_list(column.type) and not pa.types.is_floating(column.type.value_type):
        return _list_texts(column)
    values = columns.values(column)
    if pa.types.is_boolean(column.type):
        return [_TRUTHS[value] for value in values]
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        if not column.null_count:
            return list(map(repr, values))
        return ["null" if value is None else repr(value) for value in values]
    return list(map(json_text, values))


def _list_texts(column: pa.Array) -> list[str]:
    items, end = _texts(column.flatten()), 0
    found = []
    for length in columns.values(pc.list_value_length(column)):
        if not length:
            found.append("null" if length is None else "[]")
        else:
            start, end = end, end + length
            found.append(f"[{', '.join(items[start:end])}]")
    return found


_TRUTHS = {None: "null", False: "false", True: "true"}
