"""A directory of tables: Parquet, CSV on request, and a manifest that states how they were made.

Tables hold nothing but the analysis: the same packets give the same bytes, whatever the number of
threads, the files' names or formats. What differs between runs (command, time, file names) is
in ``trustbed.json``. Tables are streamed, so that the samples of a long capture need no memory.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from trustbed.report import columns, placing
from trustbed.report.records import Row

#: Rows per Parquet row group: fixed, because batches arrive cut differently for different numbers
#: of threads.
ROW_GROUP = 65_536

#: A shorter table is neither compressed nor encoded by dictionaries: both would take room and time
#: that they cannot save.
SMALL_ROWS = 16

_BUFFER = 1 << 16

Readers = Mapping[str, pa.RecordBatchReader]


def write(
    path: Path,
    readers: Readers,
    *,
    manifest: Row,
    csv: bool = False,
    force: bool = False,
) -> None:
    """Writes every table into the directory ``path``, which appears complete or not at all."""
    placing.check_directory(path, force=force)
    with placing.whole_directory(path) as directory:
        files = []
        for name, reader in readers.items():
            write_table(directory, name, reader, csv=csv)
            files += [f"{name}.parquet", *([f"{name}.csv"] if csv else [])]
        text = json.dumps({**manifest, "files": sorted(files)}, indent=2, ensure_ascii=False)
        # A name that is no UTF-8 has a question mark for what is none.
        manifest_file = directory / placing.MANIFEST
        manifest_file.write_text(text + "\n", encoding="utf-8", errors="replace")


def write_table(
    directory: Path,
    name: str,
    reader: pa.RecordBatchReader,
    *,
    csv: bool = False,
    excerpts: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> int:
    """Writes a table, and some of its columns as tables of their own; the number of its rows."""
    rows = 0
    groups = regrouped(reader, reader.schema, ROW_GROUP)
    first = next(groups, reader.schema.empty_table())
    with ExitStack() as stack:
        if first.num_rows == ROW_GROUP:
            groups = stack.enter_context(closing(_ahead(groups)))
        files = {
            table: stack.enter_context(_parquet_writer(directory / f"{table}.parquet", part))
            for table, part in _excerpts(name, first, excerpts)
        }
        sheet = (
            stack.enter_context(_csv_writer(directory / f"{name}.csv", reader.schema))
            if csv
            else None
        )
        for group in chain([first] if first.num_rows else [], groups):
            for table, part in _excerpts(name, group, excerpts):
                files[table].write_table(part, row_group_size=ROW_GROUP)
            rows += group.num_rows
            if sheet is not None:
                for batch in group.to_batches():
                    sheet.write_batch(for_csv(batch))
    return rows


def _excerpts(
    name: str, group: pa.Table, excerpts: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, pa.Table]]:
    """Some rows of a table, and those of its excerpts."""
    yield name, group
    for other, names in excerpts.items():
        yield other, group.select(names)


def _ahead(groups: Iterator[pa.Table]) -> Generator[pa.Table, None, None]:
    """The same, each read while the one before it is written."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, groups, None)
        while (group := coming.result()) is not None:
            coming = reader.submit(next, groups, None)
            yield group


@contextmanager
def _parquet_writer(path: Path, first: pa.Table) -> Iterator[pa.parquet.ParquetWriter]:
    """Writes a table that begins like this one, which is all of it if it has few rows."""
    is_small = first.num_rows < SMALL_ROWS
    with (
        # A writer with a file of its own asks the system several times for every column.
        pa.output_stream(path, compression=None, buffer_size=_BUFFER) as stream,
        pa.parquet.ParquetWriter(
            stream,
            first.schema,
            version="2.6",
            compression="none" if is_small else "zstd",
            use_dictionary=not is_small,
        ) as writer,
    ):
        yield writer


def regrouped(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int
) -> Iterator[pa.Table]:
    """The same rows in tables of exactly ``rows`` rows (the last one may be shorter)."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        if held < rows:
            continue
        table = pa.Table.from_batches(waiting, schema)
        whole = held - held % rows
        for start in range(0, whole, rows):
            yield table.slice(start, rows)
        waiting = table.slice(whole).to_batches()
        held -= whole
    if held:
        yield pa.Table.from_batches(waiting, schema)


def _csv_writer(path: Path, schema: pa.Schema) -> pa.csv.CSVWriter:
    empty = for_csv(pa.RecordBatch.from_pylist([], schema=schema))
    return pa.csv.CSVWriter(
        path, empty.schema, write_options=pa.csv.WriteOptions(quoting_style="needed")
    )


def for_csv(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch as CSV carries it.

    Times in seconds, lists joined by semicolons, unknown as an empty field. Text that a spreadsheet
    would take for a formula begins with an apostrophe.
    """
    converted = columns.for_text(batch)
    arrays = [
        _inert(_joined(column) if pa.types.is_list(column.type) else _flat(column))
        for column in converted.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=converted.schema.names)


def _inert(column: pa.Array) -> pa.Array:
    """Text without formulas: names of files and interfaces come from others (CWE-1236)."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    is_formula = pc.match_substring_regex(column, r"^[=+\-@\t\r\n]")
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", column, ""), column)


def _joined(column: pa.Array) -> pa.Array:
    rows = column.to_pylist()
    return pa.array(
        [None if row is None else ";".join(str(item) for item in row) for row in rows], pa.string()
    )


def _flat(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column
