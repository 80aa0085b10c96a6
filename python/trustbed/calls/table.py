"""The table of system calls: one row per call, of every source alike.

The rows of a thread are in the order of its calls; those of different threads are in the order in
which calls returned.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet

from trustbed.calls.errors import CallsError
from trustbed.disk import whole_path

ARCHITECTURE = b"architecture"
"""The key of the table's metadata that names what the calls were numbered by."""
COMPLETE = b"complete"
"""The key of the table's metadata that tells whether no call was lost: ``yes`` or ``no``."""
_BLOCK_ROWS = 65_536
_NAMES = pa.dictionary(pa.int32(), pa.string())


def _column(name: str, kind: pa.DataType, unit: str, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"unit": unit, "meaning": meaning})


CALLS = pa.schema(
    [
        _column("entered_ns", pa.int64(), "ns", "when the call was entered, since the epoch"),
        _column("pid", pa.uint32(), "", "process"),
        _column("tid", pa.uint32(), "", "thread; its rows are in the order of its calls"),
        _column("call", _NAMES, "", "system call"),
        _column(
            "result",
            pa.int64(),
            "",
            "result, or a negative error number; null: it did not return",
        ),
        _column(
            "duration_ns",
            pa.int64(),
            "ns",
            "from the entry to the return; null: it did not return",
        ),
        _column("cpu", pa.uint16(), "", "processor on which it returned"),
    ]
)
"""Columns; times of sources without a date count from midnight, or from the system's start."""

DESCRIPTORS = pa.schema(
    [
        _column(
            "fd",
            pa.int64(),
            "",
            "descriptor that the call is about; null: about none, or unknown",
        ),
        _column(
            "kind",
            _NAMES,
            "",
            "what it stands for: file, device, socket, pipe, epoll, event, timer, signals, inotify "
            "or other",
        ),
    ]
)
"""More columns of a trace that was asked for them."""


class Call(NamedTuple):
    """One call of a thread; ``None`` where its source does not say."""

    entered_ns: int
    pid: int
    tid: int
    call: str
    result: int | None = None
    duration_ns: int | None = None
    cpu: int | None = None


def blocks(calls: Iterable[Call], schema: pa.Schema = CALLS) -> Iterator[pa.RecordBatch]:
    """Calls as columns, block by block.

    Raises:
        CallsError: A number is larger than any that a kernel has.
    """
    remaining = iter(calls)
    while block := list(itertools.islice(remaining, _BLOCK_ROWS)):
        yield _batch(block, schema)


def yes_or_no(answer: bool) -> bytes:
    """An answer as metadata has it."""
    return b"yes" if answer else b"no"


def write(
    calls: Iterable[Call],
    target: Path,
    *,
    architecture: str | None,
    complete: Callable[[], bool] | None = None,
) -> int:
    """Writes calls as Parquet, block by block; returns how many they were.

    The file has its name once it is whole.

    Args:
        calls: In the order of the table.
        target: The file.
        architecture: What the calls were numbered by, if that is known.
        complete: Asked behind the last call: whether none was lost, if that is known.
    """
    named = {} if architecture is None else {ARCHITECTURE: architecture.encode()}
    schema = CALLS.with_metadata(named or None)
    rows = 0
    with (
        whole_path(target) as partial,
        pa.parquet.ParquetWriter(partial, schema, compression="zstd", version="2.6") as writer,
    ):
        for batch in blocks(calls, schema):
            writer.write_batch(batch)
            rows += len(batch)
        if complete is not None:
            writer.add_key_value_metadata({COMPLETE.decode(): yes_or_no(complete()).decode()})
    return rows


def _batch(block: Sequence[Call], schema: pa.Schema) -> pa.RecordBatch:
    """Calls as columns.

    Raises:
        CallsError: A number is larger than any that a kernel has.
    """
    try:
        arrays = [
            pa.array(column, pa.string()).dictionary_encode()
            if field.type == _NAMES
            else pa.array(column, field.type)
            for field, column in zip(schema, zip(*block, strict=True), strict=True)
        ]
    except (OverflowError, pa.ArrowInvalid) as error:
        raise CallsError(
            f"a call has a number that no kernel gives: {error}",
            "the trace is damaged: record again",
        ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
