"""Converts the agents' binary rows to Parquet.

A file begins with one line of JSON that describes every column (name, type, unit, meaning); packed
records of fixed length follow. The file is converted in blocks, so that a ledger of many millions
of packets needs little memory. A truncated last record (the disk was full, the agent was killed) is
dropped and its bytes are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

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
_CODE = re.compile(r"(\d+) (\w+)")
_BLOCK_ROWS = 65_536


class RowsError(TrustbedError):
    """A file of rows that is damaged."""


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
            header = json.loads(stream.readline(_LONGEST_HEADER))
        except (ValueError, RecursionError) as error:
            raise RowsError(
                f"first line does not describe the rows, {source}: {error}",
                "the file is damaged: do not use it",
            ) from None
    return header if isinstance(header, dict) else {}


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
    line = stream.readline(_LONGEST_HEADER)
    try:
        header = json.loads(line)
        columns = _columns(header["columns"])
        record_bytes = int(header["record_bytes"])
        fits = (
            record_bytes == sum(column.width for column in columns)
            and header.get("byte_order") == "little"
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RowsError(
            f"first line does not describe the rows, {source}: {error}",
            "the file is damaged: do not use it",
        ) from None
    if not fits or not record_bytes:
        raise RowsError(
            f"first line contradicts itself, {source}", "the file is damaged: do not use it"
        )
    return columns, record_bytes


def _columns(described: Sequence[Mapping[str, Any]]) -> list[_Column]:
    columns, offset = [], 0
    for one in described:
        kind, width = _KINDS[one["type"]]
        columns.append(
            _Column(one["name"], kind, offset, width, one.get("unit", ""), one.get("meaning", ""))
        )
        offset += width
    return columns


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
        known = pc.if_else(pc.less(array, len(words)), array, pa.scalar(None, array.type))
        return pa.DictionaryArray.from_arrays(
            known.cast(pa.int32()), pa.array(list(words), pa.string())
        )
    return array
