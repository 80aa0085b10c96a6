"""The JSON contract: real captures follow the shipped schema, and the schema follows the tables."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustbed
from trustbed.diagnose import compensation
from trustbed.report import columns, json_lines
from trustbed.report.printable import json_text
from trustbed.report.transfer import contract
from trustbed.report.transfer.json import LINES_AT_A_TIME, Lines, write

SCHEMA = json.loads(contract.HERE.read_text(encoding="utf-8"))
PROMISED_BY_THE_DOCUMENTATION = [
    line.split("|")[1]
    for line in (Path(__file__).resolve().parents[2] / "docs" / "json.md")
    .read_text(encoding="utf-8")
    .splitlines()
    if line.startswith("| `")
]


def document(path: Path, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - any option
    stream = io.StringIO()
    trustbed.analyze(path, **options).write_json(stream)
    parsed: dict[str, Any] = json.loads(stream.getvalue(), parse_constant=pytest.fail)
    return parsed


def test_the_shipped_schema_is_made_from_the_tables() -> None:
    made = contract.text(contract.engine_schemas())
    assert contract.HERE.read_text(encoding="utf-8") == made, (
        "run: python -m trustbed.report.transfer.contract"
    )
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "name",
    [
        "guest-quota.sender",
        "guest-quota.receiver",
        "random-loss.sender",
        "application-limited.receiver",
    ],
)
def test_a_recording_follows_the_schema(recordings: Path, name: str) -> None:
    parsed = document(recordings / f"{name}.pcap.gz", workload="bulk")
    jsonschema.validate(parsed, SCHEMA)
    assert parsed["summary"]["judged"] == 1
    short = parsed["transfers_too_short"]["rows"]
    assert parsed["summary"]["transfers"] == len(parsed["transfers"]) + len(short) > 1
    assert len(parsed["transfers"]) == parsed["summary"]["judged"]
    assert parsed["summary"]["connections"] == len(parsed["connections"]) == 2
    assert sum(parsed["summary"]["verdicts"].values()) == parsed["summary"]["transfers"]


def test_an_empty_capture_follows_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    parsed = document(path)
    jsonschema.validate(parsed, SCHEMA)
    assert parsed["transfers"] == parsed["connections"] == []
    assert parsed["transfers_too_short"]["rows"] == []
    assert parsed["summary"]["worst_verdict"] is None


def test_every_judged_transfer_says_why(recordings: Path) -> None:
    judged = [
        row
        for row in document(recordings / "guest-quota.sender.pcap.gz")["transfers"]
        if row["verdict"] != "not_judged"
    ]
    for row in judged:
        assert row["headline"]
        assert 2 <= len(row["reasons"]) <= 5
        assert row["next_step"]
        assert row["expected_ratio"] == pytest.approx(
            row["throughput_bytes_per_second"] / row["expected_bytes_per_second"]
        )


def test_a_discarded_transfer_has_an_estimate_beside_what_was_measured(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compensation, "IS_SHOWN", True)
    capture = trustbed.analyze(recordings / "guest-quota.sender.pcap.gz")
    rows = {row["verdict"]: row for row in capture.rows()}
    discarded = rows["discard"]
    low, middle, high = (
        discarded[f"without_stalls_{part}bytes_per_second"] for part in ("low_", "", "high_")
    )
    assert discarded["throughput_bytes_per_second"] < low < middle < high
    assert discarded["without_stalls"].startswith("measured 13.1 Mbit/s; without the stalls about ")
    assert discarded["without_stalls"].endswith(", an estimate")
    short = rows["not_judged"]
    assert short["without_stalls"] is short["without_stalls_bytes_per_second"] is None


def test_the_documentation_names_what_is_promised() -> None:
    written = " ".join(PROMISED_BY_THE_DOCUMENTATION)
    for name in contract.PROMISED:
        assert f"`{name}`" in written, name


def test_rows_stand_on_lines_of_their_own() -> None:
    stream = io.StringIO()
    rows = [{"a": 1}, {"a": "ü\n"}]
    written = [json_text(row) for row in rows]
    write(
        stream,
        about={},
        capture={},
        findings=[],
        skips=rows,
        connections=[],
        transfers=written * LINES_AT_A_TIME,
        too_short=Lines(["transfer"], ['["1.0"]', '["2.0"]']),
        summary={},
    )
    lines = stream.getvalue().splitlines()
    assert '{"a": 1},' in lines
    assert '{"a": "ü\\n"}],' not in lines
    assert '"findings": [],' in lines
    assert '["1.0"],' in lines
    parsed = json.loads(stream.getvalue())
    assert parsed["transfers"] == rows * LINES_AT_A_TIME
    assert parsed["skips"] == rows
    assert parsed["transfers_too_short"] == {"columns": ["transfer"], "rows": [["1.0"], ["2.0"]]}


def test_a_transfer_too_short_to_judge_is_an_array_of_the_columns_named(recordings: Path) -> None:
    path = recordings / "guest-quota.sender.pcap.gz"
    short = document(path)["transfers_too_short"]
    wanted = [row for row in trustbed.analyze(path).rows() if row["too_short"]]
    assert short["rows"] == [[row[name] for name in short["columns"]] for row in wanted]
    assert short["rows"]


@given(st.lists(st.floats() | st.integers(-(10**16), 10**16).map(float), min_size=1))
def test_a_float_in_a_line_has_the_digits_that_python_writes(numbers: list[float]) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(numbers)], names=["number"])
    wanted = [json_text([one if math.isfinite(one) else None]) for one in numbers]
    assert list(json_lines.arrays(batch)) == wanted


def test_lines_by_column_are_the_text_that_each_row_has_by_itself() -> None:
    values = {
        "text %": ["a", 'quote " and \\', None, "ü\x1b\u202e\n"],
        "plain": ["x", "y", "x", None],
        "whole": [1, None, -(2**62), 3],
        "number": [0.1, 1e-7, None, 1e22],
        "infinite": [math.inf, math.nan, 1.0, -0.0],
        "nothing": [None, None, None, None],
        "is": [True, None, False, True],
        "moment_ns": [None, 1, 2, 1_700_000_000_123_456_789],
        "later_ns": [5, 6, None, 7],
        "list": [["a", "\x00"], [], None, ["b"]],
        "times_ns": [[1, 2], [], None, [3]],
    }
    kinds = {"moment_ns": pa.timestamp("ns", "UTC"), "whole": pa.int64(), "nothing": pa.float64()}
    arrays = [pa.array(cells, kinds.get(name)) for name, cells in values.items()]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(values))
    rows = list(columns.text_rows(batch))
    assert list(json_lines.objects(batch)) == [json_text(row) for row in rows]
    assert list(json_lines.arrays(batch)) == [json_text(list(row.values())) for row in rows]
    assert list(json_lines.objects(batch.slice(1, 2))) == [json_text(row) for row in rows[1:3]]
    first = next(json_lines.objects(batch))
    assert json.loads(json_lines.with_members(first, '{"more": 1}')) == rows[0] | {"more": 1}


def test_a_number_that_is_none_is_refused_rather_than_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(
            io.StringIO(),
            about={"x": float("nan")},
            capture={},
            findings=[],
            skips=[],
            connections=[],
            transfers=[],
            too_short=Lines([], []),
            summary={},
        )
