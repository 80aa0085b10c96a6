"""Converts the agents' binary rows to Parquet.

A file begins with one line of JSON that describes every column (name, type, unit, meaning); packed
records of fixed length follow. The file is converted in blocks, so that a ledger of many millions
of packets needs little memory. A truncated last record (the disk was full, the agent was killed) is
dropped and its bytes are counted.

A host decides what its file holds: a header that describes no rows is an error, and a code without
a word is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from trustbed.errors import TrustbedError

_KINDS: Mapping[str, tuple[pa.DataType, int]] = {
    "i64": (pa.int64(), 8),
    "u64": (pa.uint64(), 8),
    "i32": (pa.int32(), 4),
    "u32": (pa.uint32(), 4),
    "u16": (pa.uint16(), 2),
    "u8": (pa.uint8(), 1),
    "f64": (pa.float64(), 8),
}
_NONE = -(2**63)
"""The null value in columns of type i64."""
_LONGEST_HEADER = 1 << 20
_MOST_COLUMNS = 256
"""Columns of a file: as many bytes as a block of their rows has are held in memory."""
_CODE = re.compile(r"(\d+) (\w+)")
_BLOCK_ROWS = 65_536


class RowsError(TrustbedError):
    """A file of rows that is damaged."""


class _Described(msgspec.Struct, frozen=True):
    """A column in a header."""

    name: str
    type: Literal["i64", "u64", "i32", "u32", "u16", "u8", "f64"]
    unit: str = ""
    meaning: str = ""


class _Header(msgspec.Struct, frozen=True):
    """What a header says of its rows."""

    columns: list[_Described]
    record_bytes: int
    byte_order: str = ""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    kind: pa.DataType
    offset: int
    width: int
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Converted:
    """The number of rows of a converted file, and the bytes of a truncated record at its end."""

    rows: int
    cut_bytes: int


def convert(
    source: Path,
    target: Path,
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    metadata: Mapping[bytes, bytes] | None = None,
) -> Converted:
    """Writes the rows of ``source`` as Parquet.

    ``names`` maps columns of codes to the words that the codes stand for; ``metadata`` is that of
    the table.
    """
    with source.open("rb") as stream:
        columns, record_bytes = _header(stream, source)
        rows = cut = 0
        schema = pa.schema([_field(column, names or {}) for column in columns], metadata)
        with pa.parquet.ParquetWriter(target, schema, compression="zstd", version="2.6") as writer:
            for block in _blocks(stream, record_bytes * _BLOCK_ROWS):
                whole = len(block) // record_bytes
                cut = len(block) - whole * record_bytes
                rows += whole
                if whole:
                    arrays = [
                        _array(block, whole, record_bytes, column, names or {})
                        for column in columns
                    ]
                    writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return Converted(rows, cut)


def word(source: Path, name: str) -> str | None:
    """A word in the header of a file, by its name."""
    found = _described(source).get(name)
    return found if isinstance(found, str) else None


def lists(source: Path) -> dict[str, list[str]]:
    """The lists of words in the header of a file, by name: the pipes, the fates."""
    return {
        name: value
        for name, value in _described(source).items()
        if isinstance(value, list) and all(isinstance(one, str) for one in value)
    }


def _described(source: Path) -> dict[str, Any]:
    """The header of a file."""
    with source.open("rb") as stream:
        try:
            header = msgspec.json.decode(stream.readline(_LONGEST_HEADER))
        except (ValueError, RecursionError) as error:
            _refuse(source, "does not describe the rows", error)
    return header if isinstance(header, dict) else {}


def _refuse(source: Path, why: str, error: Exception | None = None) -> NoReturn:
    raise RowsError(
        f"first line {why}, {source}{'' if error is None else f': {error}'}",
        "the file is damaged: do not use it",
    ) from None


def read(source: Path) -> pa.Table:
    """All rows of a file at once."""
    with source.open("rb") as stream:
        columns, record_bytes = _header(stream, source)
        block = stream.read()
    whole = len(block) // record_bytes
    arrays = [_array(block, whole, record_bytes, column, {}) for column in columns]
    return pa.Table.from_arrays(
        arrays, schema=pa.schema([_field(column, {}) for column in columns])
    )


def codes(table: pa.Table, name: str) -> dict[int, str]:
    """The words that the codes of a column stand for, from its meaning: ``0 none, 1 refused``."""
    meaning = (table.schema.field(name).metadata or {}).get(b"meaning", b"").decode()
    return {int(code): word for code, word in _CODE.findall(meaning)}


def _header(stream: BinaryIO, source: Path) -> tuple[list[_Column], int]:
    try:
        header = msgspec.json.decode(stream.readline(_LONGEST_HEADER), type=_Header)
    except (ValueError, RecursionError) as error:
        _refuse(source, "does not describe the rows", error)
    columns: list[_Column] = []
    record_bytes = 0
    for one in header.columns[: _MOST_COLUMNS + 1]:
        kind, width = _KINDS[one.type]
        columns.append(_Column(one.name, kind, record_bytes, width, one.unit, one.meaning))
        record_bytes += width
    if (
        not 0 < len(columns) <= _MOST_COLUMNS
        or len({column.name for column in columns}) < len(columns)
        or (header.record_bytes, header.byte_order) != (record_bytes, "little")
    ):
        _refuse(source, "contradicts itself")
    return columns, record_bytes


def _blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    while block := stream.read(size):
        yield block


def _field(column: _Column, names: Mapping[str, Sequence[str]]) -> pa.Field:
    kind = pa.dictionary(pa.int32(), pa.string()) if column.name in names else column.kind
    return pa.field(column.name, kind, metadata={"unit": column.unit, "meaning": column.meaning})


def _array(
    block: bytes, rows: int, record_bytes: int, column: _Column, names: Mapping[str, Sequence[str]]
) -> pa.Array:
    """One column, gathered with one strided copy per byte of its width."""
    gathered = bytearray(rows * column.width)
    for index in range(column.width):
        gathered[index :: column.width] = block[
            column.offset + index : rows * record_bytes : record_bytes
        ]
    array = pa.Array.from_buffers(column.kind, rows, [None, pa.py_buffer(bytes(gathered))])
    if column.kind == pa.int64():
        array = pc.if_else(pc.equal(array, _NONE), pa.scalar(None, pa.int64()), array)
    if column.name in names:
        words = names[column.name]
        if pa.types.is_unsigned_integer(array.type):
            is_known = pc.less(array.cast(pa.uint64()), pa.scalar(len(words), pa.uint64()))
        else:
            is_known = pc.and_(pc.greater_equal(array, 0), pc.less(array, len(words)))
        if pa.types.is_floating(array.type):
            is_known = pc.and_(is_known, pc.equal(pc.floor(array), array))
        known = pc.if_else(is_known, array, pa.scalar(None, array.type))
        return pa.DictionaryArray.from_arrays(
            known.cast(pa.int32()), pa.array(list(words), pa.string())
        )
    return array
