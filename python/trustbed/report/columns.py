"""Columns as text files carry them: times in seconds, instants as ISO 8601, no NaN.

Parquet and Arrow hold times as integer nanoseconds (``rtt_mean_ns``); JSON and CSV hold floats in
seconds under the name ``rtt_mean_seconds``. An instant becomes two columns: ``start`` (ISO 8601
with nanoseconds, exact) and ``start_seconds`` (since the Unix epoch, a float, so good to a quarter
of a microsecond). A number that is not finite becomes null. Nothing else is changed: order, other
names and values stay.

Values reach Python by the buffer, not by one Arrow scalar each, and instants as integers: a scalar
of nanoseconds would need pandas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.report.records import Json

_SUFFIX = "_ns"
_FORMATS: dict[pa.DataType, Any] = {
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.uint8(): "B",
    pa.uint16(): "H",
    pa.uint32(): "I",
    pa.uint64(): "Q",
    pa.float32(): "f",
    pa.float64(): "d",
}
"""Types whose buffers Python reads as they are, by the letter of a memoryview's format."""


_FEW = 16
"""So many values are taken one by one in the time that preparing to take all takes."""
_TRUTHS = {None: None, 0: False, 1: True}


def text_names(field: pa.Field) -> list[str]:
    """The names under which a column appears in JSON and CSV."""
    if not field.name.endswith(_SUFFIX):
        return [field.name]
    stem = field.name.removesuffix(_SUFFIX)
    return [stem, f"{stem}_seconds"] if pa.types.is_timestamp(field.type) else [f"{stem}_seconds"]


def text_unit(unit: str) -> str:
    """The unit of a column in JSON and CSV."""
    return "seconds" if unit in ("ns", "nanoseconds") else unit


def for_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its columns as JSON and CSV carry them."""
    names: list[str] = []
    arrays: list[Any] = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        names += text_names(field)
        arrays += _converted(field, column)
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _converted(field: pa.Field, column: pa.Array) -> list[pa.Array]:
    if not field.name.endswith(_SUFFIX):
        return [_finite(column)]
    if pa.types.is_timestamp(field.type):
        return [_iso(column), _seconds(column.cast(pa.int64()))]
    if pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
        rows = (
            column.to_pylist()
        )  # few rows have any: a slice of a list column is not worth its own arithmetic
        return [
            pa.array(
                [None if row is None else [item / 1e9 for item in row] for row in rows],
                pa.list_(pa.float64()),
            )
        ]
    return [_seconds(column)]


def quantities(batch: pa.RecordBatch, names: Sequence[str]) -> dict[str, list[float | None]]:
    """Those of these columns that hold numbers: finite ones as floats, of nanoseconds as seconds.

    They leave Arrow all at once: one by one each would cost more than the numbers of a small batch.
    """
    schema, count = batch.schema, batch.num_rows
    places = {name: schema.get_field_index(name) for name in names}
    numeric = {name: at for name, at in places.items() if at >= 0 and _is_number(schema, at)}
    if not numeric or not count:
        return {name: [] for name in numeric}
    tensor = batch.select(list(numeric.values())).to_tensor(null_to_nan=True, row_major=False)
    table = memoryview(tensor)
    letter: Any = table.format
    numbers = memoryview(table.tobytes("A")).cast(letter)
    return {
        name: _finite_in(numbers[n * count : (n + 1) * count], name)
        for n, name in enumerate(numeric)
    }


def _finite_in(numbers: memoryview[Any], name: str) -> list[float | None]:
    unit = 1e9 if name.endswith(_SUFFIX) else 1.0
    # What is infinite or no number is none when it is subtracted from itself.
    return [one / unit if one - one == 0.0 else None for one in numbers]


def _is_number(schema: pa.Schema, place: int) -> bool:
    kind = schema.field(place).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _seconds(nanoseconds: pa.Array) -> pa.Array:
    return _finite(pc.divide(nanoseconds.cast(pa.float64(), safe=False), 1e9))


def _iso(column: pa.Array) -> pa.Array:
    text = column.cast(pa.timestamp("ns")).cast(
        pa.string()
    )  # UTC either way; without the zone no zone data is needed
    return pc.binary_join_element_wise(
        pc.replace_substring(text, " ", "T", max_replacements=1), "Z", ""
    )


def _finite(column: pa.Array) -> pa.Array:
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))


def text_rows(batch: pa.RecordBatch) -> Iterator[Json]:
    """The rows of a batch as dictionaries, as JSON carries them."""
    converted = for_text(batch)
    names = converted.schema.names
    for row in zip(*map(values, converted.columns), strict=True):
        yield dict(zip(names, row, strict=True))


def plain_rows(batch: pa.RecordBatch) -> Iterator[Json]:
    """The rows of a batch as dictionaries, as the table has them.

    Durations and instants are integers of nanoseconds.
    """
    names = batch.schema.names
    for row in zip(*map(values, batch.columns), strict=True):
        yield dict(zip(names, row, strict=True))


def _lists(column: pa.Array) -> list[Any]:
    found: list[Any] = []
    items, end = values(column.flatten()), 0
    for length in values(pc.list_value_length(column)):
        if length is None:
            found.append(None)
        else:
            start, end = end, end + length
            found.append(items[start:end])
    return found


def values(column: pa.Array) -> list[Any]:
    """The values of a column as Python's own.

    Null is ``None``, an instant the integer of the column.
    """
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    if len(column) <= _FEW:
        return column.to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_boolean(column.type):
        return list(map(_TRUTHS.__getitem__, values(column.cast(pa.uint8()))))
    if pa.types.is_string(column.type):
        encoded = column.dictionary_encode()
        words = encoded.dictionary.to_pylist()
        return [None if index is None else words[index] for index in values(encoded.indices)]
    if pa.types.is_list(column.type):
        return _lists(column)
    letter = _FORMATS.get(column.type)
    if letter is None:
        return column.to_pylist()  # type: ignore[no-any-return]
    if column.null_count == len(column):
        return [None] * len(column)
    width = column.type.byte_width
    begin, end = column.offset * width, (column.offset + len(column)) * width
    numbers: list[Any] = memoryview(column.buffers()[1])[begin:end].cast(letter).tolist()
    if 2 * column.null_count > len(column):
        known = [None] * len(column)
        for index in values(pc.indices_nonzero(column.is_valid())):
            known[index] = numbers[index]
        return known
    if column.null_count:
        for index in values(pc.indices_nonzero(column.is_null())):
            numbers[index] = None
    return numbers
