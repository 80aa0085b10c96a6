"""Columns of text files: seconds, ISO 8601, no NaN, and everything else untouched."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trustbed.report import columns, moments
from trustbed.report.tables_directory import SMALL_ROWS, for_csv, regrouped, write_table

BATCH = pa.RecordBatch.from_arrays(
    [
        pa.array([1_700_000_000_123_456_789, None, -1], pa.timestamp("ns", "UTC")),
        pa.array([20_600_000, None, -5], pa.int64()),
        pa.array([20_600_000.5, float("nan"), float("inf")], pa.float64()),
        pa.array([[1_000_000_000, 2_500_000_000], None, []], pa.list_(pa.int64())),
        pa.array([2**63, None, 0], pa.uint64()),
        pa.array([["a", "b"], [], None], pa.list_(pa.string())),
        pa.array(["x", None, "ü"], pa.string()),
    ],
    names=["start_ns", "rtt_min_ns", "rtt_mean_ns", "stall_gaps_ns", "bytes", "flags", "src"],
)


def test_rows_as_json_carries_them() -> None:
    assert list(columns.text_rows(BATCH)) == [
        {
            "start": "2023-11-14T22:13:20.123456789Z",
            "start_seconds": 1_700_000_000.123456789,
            "rtt_min_seconds": 0.0206,
            "rtt_mean_seconds": 0.0206000005,
            "stall_gaps_seconds": [1.0, 2.5],
            "bytes": 2**63,
            "flags": ["a", "b"],
            "src": "x",
        },
        {
            "start": None,
            "start_seconds": None,
            "rtt_min_seconds": None,
            "rtt_mean_seconds": None,
            "stall_gaps_seconds": None,
            "bytes": None,
            "flags": [],
            "src": None,
        },
        {
            "start": "1969-12-31T23:59:59.999999999Z",
            "start_seconds": -1e-9,
            "rtt_min_seconds": -5e-9,
            "rtt_mean_seconds": None,
            "stall_gaps_seconds": [],
            "bytes": 0,
            "flags": None,
            "src": "ü",
        },
    ]


def test_a_slice_gives_the_same_rows_as_the_whole() -> None:
    assert list(columns.text_rows(BATCH.slice(1))) == list(columns.text_rows(BATCH))[1:]


@pytest.mark.parametrize("batch", [BATCH, BATCH.slice(1), BATCH.slice(1, 0)])
def test_quantities_are_finite_floats_in_seconds(batch: pa.RecordBatch) -> None:
    names = ["rtt_min_ns", "rtt_mean_ns", "bytes", "src", "start_ns", "stall_gaps_ns", "absent"]
    first = 3 - batch.num_rows if batch.num_rows else 3
    assert columns.quantities(batch, names) == {
        "rtt_min_ns": [0.0206, None, -5e-9][first:],
        "rtt_mean_ns": [0.0206000005, None, None][first:],
        "bytes": [2.0**63, None, 0.0][first:],
    }
    assert columns.quantities(batch, ["src"]) == {}


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.float32(), pa.int64()])
def test_quantities_of_narrow_columns_are_read_as_they_are(kind: pa.DataType) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1, None, 3], kind)], names=["a"])
    assert columns.quantities(batch, ["a"]) == {"a": [1.0, None, 3.0]}


def test_many_values_are_those_of_few() -> None:
    many = pa.Table.from_batches([BATCH] * 20).combine_chunks().to_batches()[0]
    for name in set(BATCH.schema.names) - {"rtt_mean_ns"}:  # a NaN equals nothing
        assert columns.values(many.column(name)) == columns.values(BATCH.column(name)) * 20


def test_names_follow_the_values() -> None:
    for field in BATCH.schema:
        assert set(columns.text_names(field)) <= set(columns.for_text(BATCH).schema.names)


def test_csv_holds_no_formulas() -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "eth0", "a=b", "", None]
    batch = pa.RecordBatch.from_pydict(
        {
            "plain": pa.array(texts),
            "coded": pa.array(texts).dictionary_encode(),
            "list": pa.array([[text or "", "=2"] for text in texts]),
            "number": pa.array([-1] * len(texts)),
        }
    )
    flat = for_csv(batch)
    for name in ("plain", "coded"):
        assert flat.column(name).to_pylist() == [
            f"'{text}" if text and text[0] in "=+-@\t\r\n" else text for text in texts
        ]
    assert flat.column("list")[0].as_py() == "'=1+1;=2"
    assert flat.column("number")[0].as_py() == -1


def test_csv_joins_lists() -> None:
    flat = for_csv(BATCH)
    assert flat.column("flags").to_pylist() == ["a;b", "", None]
    assert flat.column("stall_gaps_seconds").to_pylist() == ["1.0;2.5", None, ""]


def test_facts_are_converted_at_every_depth() -> None:
    facts = {
        "first_ns": 1_700_000_000_000_000_001,
        "clock_step_max_ns": None,
        "share": float("nan"),
        "files": [{"timestamp_resolution_ns": 1000, "name": "x"}],
    }
    assert moments.for_text_mapping(facts) == {
        "first": "2023-11-14T22:13:20.000000001Z",
        "first_seconds": 1_700_000_000.0,
        "clock_step_max_seconds": None,
        "share": None,
        "files": [{"timestamp_resolution_seconds": 1e-6, "name": "x"}],
    }


@pytest.mark.parametrize("sizes", [[], [1], [3, 3, 3], [10], [1, 9, 2, 8], [4, 4, 4, 0, 1]])
def test_row_groups_do_not_depend_on_the_batches(sizes: list[int]) -> None:
    schema = pa.schema([("n", pa.int64())])
    start, batches = 0, []
    for size in sizes:
        batches.append(
            pa.RecordBatch.from_arrays(
                [pa.array(range(start, start + size), pa.int64())], schema=schema
            )
        )
        start += size
    groups = list(regrouped(batches, schema, 4))
    assert [value for group in groups for value in group.column("n").to_pylist()] == list(
        range(start)
    )
    assert [group.num_rows for group in groups] == [4] * (start // 4) + [start % 4] * (
        start % 4 > 0
    )


@pytest.mark.parametrize(
    ("rows", "compression"),
    [(0, None), (SMALL_ROWS - 1, "UNCOMPRESSED"), (SMALL_ROWS, "ZSTD"), (70_000, "ZSTD")],
)
def test_an_excerpt_holds_the_same_rows_and_short_tables_are_plain(
    rows: int, compression: str | None, tmp_path: Path
) -> None:
    table = pa.table({"n": pa.array(range(rows), pa.int64()), "word": ["same"] * rows})
    excerpts = {"words": ["word"]}
    assert write_table(tmp_path, "whole", table.to_reader(), excerpts=excerpts) == rows
    assert pq.read_table(tmp_path / "whole.parquet").to_pydict() == table.to_pydict()
    excerpt = pq.read_table(tmp_path / "words.parquet")
    assert excerpt.to_pydict() == table.select(["word"]).to_pydict()
    about = pq.ParquetFile(tmp_path / "whole.parquet").metadata
    assert about.num_row_groups == -(-rows // 65_536)
    if compression:
        assert about.row_group(0).column(1).compression == compression
