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
    members = [f"{json_text(name)}: " for name in converted.schema.names]
    return _filled(_between("{", members), converted, "}")


def arrays(batch: pa.RecordBatch) -> Iterator[str]:
    """The values of each row as an array, in the order of :func:`names`."""
    converted = columns.for_text(batch)
    return _filled(_between("[", [""] * converted.num_columns), converted, "]")


def _between(opening: str, words: Sequence[str]) -> list[str]:
    return [f"{', ' if place else opening}{word}" for place, word in enumerate(words)]


def names(schema: pa.Schema) -> list[str]:
    """The names of the values in :func:`arrays`."""
    return [name for field in schema for name in columns.text_names(field)]


def with_members(line: str, members: str) -> str:
    """An object with the members of another one behind its own."""
    return f"{line[:-1]}, {members[1:]}"


def _filled(before: Sequence[str], converted: pa.RecordBatch, after: str) -> Iterator[str]:
    """The rows as text, with words before each value and behind the last."""
    pieces = [
        piece
        for words, column in zip(before, converted.columns, strict=True)
        for piece in (_scalar(words), _texts(column))
    ]
    joined = pc.binary_join_element_wise(*pieces, _scalar(after), _scalar(""))
    return iter(joined.to_pylist())


def _texts(column: pa.Array) -> pa.Array:
    """The JSON text of each value of a column."""
    kind = column.type
    if column.null_count == len(column):
        return pa.repeat(_scalar("null"), len(column))
    if pa.types.is_string(kind):
        encoded = column.dictionary_encode()
        words = pa.array(json_words(encoded.dictionary.to_pylist()), _TEXT)
        return _known(words.take(encoded.indices))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return _known(column.cast(_TEXT))
    if pa.types.is_list(kind) and not pa.types.is_floating(kind.value_type):
        return pa.array(_list_texts(column), _TEXT)
    if pa.types.is_floating(kind):
        return _float_texts(column)
    return pa.array(map(json_text, columns.values(column)), _TEXT)


def _float_texts(column: pa.Array) -> pa.Array:
    """The shortest digits of each, as Python writes them.

    Arrow writes the same digits, but whole numbers without a point, and large and small ones with
    exponents of its own.
    """
    texts, size = column.cast(_TEXT), pc.abs(column)
    whole = pc.equal(column, pc.round(column)).fill_null(fill_value=False)
    if whole.true_count:
        pointed = pc.binary_join_element_wise(texts, _scalar("0"), _scalar("."))
        texts = pc.if_else(whole, pointed, texts)
    has_exponent = pc.or_(
        pc.and_(pc.less(size, _SMALL), pc.greater(size, 0.0)), pc.greater_equal(size, _LARGE)
    ).fill_null(fill_value=False)
    if has_exponent.true_count:
        others = pa.array(map(repr, columns.values(column.filter(has_exponent))), _TEXT)
        texts = pc.replace_with_mask(texts, has_exponent, others)
    return _known(texts)


def _list_texts(column: pa.Array) -> list[str]:
    items, end = _texts(column.flatten()).to_pylist(), 0
    found = []
    for length in columns.values(pc.list_value_length(column)):
        if not length:
            found.append("null" if length is None else "[]")
        else:
            start, end = end, end + length
            found.append(f"[{', '.join(items[start:end])}]")
    return found


def _known(texts: pa.Array) -> pa.Array:
    return texts.fill_null(_scalar("null")) if texts.null_count else texts


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


_TEXT = pa.large_string()
"""Of any length: the rows of a batch are one text."""
_SMALL, _LARGE = 1e-4, 1e10
"""Python writes what is smaller with an exponent, Arrow what is as large."""
