"""What the delays of many connections say of jitter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.compare.testbeds import make_testbed
from trustbed.compare.api import compare

CONNECTIONS = 24


def _delays(frames: int, medians: Sequence[int], spread: int) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "workload": "fetch",
                "sender": "10.0.0.2",
                "data_frames_delivered": frames,
                "owd_increase_p50_ns": median,
                "owd_increase_p95_ns": median + spread,
            }
            for median in medians
        ]
    )


def _jitter(directory: Path, table: pa.Table) -> float:
    beds = [make_testbed(directory / f"{name}.run", repetitions=3) for name in ("one", "two")]
    for bed in beds:
        for tables in bed.glob("rep-*/tables"):
            pyarrow.parquet.write_table(table, tables / "two_point.parquet")
    found = {one.key: one for _, _, one in compare(*beds).metrics()}
    reference = found["jitter_seconds"].reference
    assert reference is not None
    return reference.mean


def test_jitter_of_many_long_connections_is_that_within_them(tmp_path: Path) -> None:
    table = _delays(500, [1_000_000] * CONNECTIONS, 7_000_000)
    assert _jitter(tmp_path, table) == pytest.approx(7e-3)


def test_jitter_of_many_short_connections_is_that_between_them(tmp_path: Path) -> None:
    medians = [1_000_000] * (CONNECTIONS - 4) + [6_000_000] * 4
    assert _jitter(tmp_path, _delays(2, medians, 0)) == pytest.approx(5e-3)
