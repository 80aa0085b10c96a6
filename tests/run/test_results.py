"""The results of all kinds of workloads become tables with the same columns."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from trustbed.run.workload_results import TRANSFERS, tables_of
from trustbed.workload.tables import REQUESTS

NONE = -(2**63)
NAMES = (
    "connection",
    "request",
    "begun_ns",
    "connected_ns",
    "sent_ns",
    "first_byte_ns",
    "last_byte_ns",
    "bytes",
    "status",
    "fault",
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


def write_rows(path: Path, records: list[tuple[int, ...]]) -> None:
    columns = [{"name": name, "type": "i64", "unit": "ns", "meaning": "x"} for name in NAMES[:-1]]
    columns.append(
        {"name": "fault", "type": "i64", "unit": "", "meaning": "0 none, 1 refused, 3 timed_out"}
    )
    header = json.dumps(
        {"columns": columns, "byte_order": "little", "record_bytes": 80, "none": NONE}
    ).encode()
    path.write_bytes(header + b"\n" + b"".join(struct.pack("<10q", *record) for record in records))


def test_requests_of_the_built_in_client(directory: Path) -> None:
    good = (0, 0, 100, 150, 160, 200, 1160, 4096, 200, 0)
    reused = (0, 1, 2000, NONE, 2000, 2010, 2500, 4096, 200, 0)
    refused = (0, 2, 3000, NONE, NONE, NONE, NONE, 0, NONE, 1)
    missing = (0, 3, 4000, NONE, 4000, 4010, 4020, 10, 404, 0)
    write_rows(directory / "logs" / "pages.requests.rows", [good, reused, refused, missing])
    workload: dict[str, Any] = {
        "name": "pages",
        "kind": "http",
        "report": {"start_ns": 1_700_000_000_000_000_000},
    }
    tables, error = tables_of(workload, directory)
    assert error is None
    found = tables["requests"]
    assert found.schema.equals(REQUESTS)
    rows = found.to_pylist()
    assert [row["response_ns"] for row in rows] == [1000, 500, None, None]
    assert [row["total_ns"] for row in rows] == [1060, 500, None, None]
    assert [row["first_byte_ns"] for row in rows] == [40, 10, None, None]
    assert [row["connect_ns"] for row in rows] == [50, 0, None, 0]
    assert [row["error"] for row in rows] == [None, None, "refused", "status"]
    start = workload["report"]["start_ns"]
    assert found.column("started").cast("int64").to_pylist() == [
        start + 100,
        start + 2000,
        start + 3000,
        start + 4000,
    ]


def test_transfers_of_the_built_in_sender(directory: Path) -> None:
    tcp = {"acknowledged_bytes": 1001, "retransmitted_segments": 3}
    transfers: list[dict[str, Any]] = [
        {"connection": 0, "connected_ns": 1_000_000_000, "confirmed_ns": 3_000_000_000,
         "payload_bytes": 1000,
         "goodput_bits_per_second": 4000.0, "outcome": "complete",
         "congestion_control": "cubic", "tcp": tcp},
        {"connection": 1, "connected_ns": None, "payload_bytes": 0, "outcome": "failed",
         "error": "refused"},
    ]  # fmt: skip
    tables, error = tables_of(
        {"name": "w", "kind": "bulk", "report": {"transfers": transfers}}, directory
    )
    assert error is None
    assert tables["summary"].schema.equals(TRANSFERS)
    first, second = tables["summary"].to_pylist()
    assert (first["duration_ns"], first["sent_bits_per_second"], first["received_bytes"]) == (
        2_000_000_000,
        4000.0,
        1000,
    )
    assert (
        first["received_bits_per_second"],
        first["retransmits"],
        first["congestion_control"],
    ) == (4000.0, 3, "cubic")
    assert (second["duration_ns"], second["error"]) == (None, "refused")


def test_outputs_of_known_programs_are_read(directory: Path) -> None:
    (directory / "logs" / "w.out").write_text("")
    (directory / "logs" / "w.err").write_text("")
    tables, error = tables_of(
        {"name": "w", "kind": "iperf3", "tool": "iperf3", "files": {}}, directory
    )
    assert tables == {}
    assert error is not None
    assert "iperf3" in error


def test_what_a_crash_left_out_is_reported(directory: Path) -> None:
    tables, error = tables_of({"name": "w", "kind": "http", "report": None}, directory)
    assert tables == {}
    assert error is not None
    assert "w.requests.rows" in error
    (directory / "logs" / "w.requests.rows").write_bytes(b"{}\n")
    tables, error = tables_of({"name": "w", "kind": "http", "report": None}, directory)
    assert error is not None
    assert "first line" in error


def test_other_commands_have_no_tables(directory: Path) -> None:
    assert tables_of({"name": "w", "kind": "command", "tool": None}, directory) == ({}, None)
