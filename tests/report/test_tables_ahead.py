"""Long tables are read ahead while they are written: the same rows, and nothing stays behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from trustbed.report import tables_directory

SCHEMA = pa.schema([("n", pa.int64()), ("twice", pa.int64())])


def reader(rows: int, broken_at: int | None = None) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, rows, 3):
            if broken_at is not None and start >= broken_at:
                raise OSError("the capture went away")
            numbers = list(range(start, min(start + 3, rows)))
            yield pa.record_batch([numbers, [2 * n for n in numbers]], schema=SCHEMA)

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


@pytest.mark.parametrize("rows", [0, 1, 6, 7, 8, 100])
def test_rows_and_groups_are_those_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(tables_directory, "ROW_GROUP", 7)
    excerpts = {"some": ("twice",)}
    assert tables_directory.write_table(tmp_path, "all", reader(rows), excerpts=excerpts) == rows
    found = pa.parquet.read_table(tmp_path / "all.parquet")
    assert found["n"].to_pylist() == list(range(rows))
    assert pa.parquet.ParquetFile(tmp_path / "all.parquet").num_row_groups == -(-rows // 7)
    some = pa.parquet.read_table(tmp_path / "some.parquet")
    assert some.to_pydict() == {"twice": found["twice"].to_pylist()}


def test_what_cannot_be_read_is_an_error_and_no_thread_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables_directory, "ROW_GROUP", 7)
    before = threading.active_count()
    with pytest.raises(OSError, match="went away"):
        tables_directory.write_table(tmp_path, "all", reader(100, broken_at=50))
    assert threading.active_count() == before
