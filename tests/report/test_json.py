"""The JSON contract: real captures follow the shipped schema, and the schema follows the tables."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import trustbed
from trustbed.diagnose import compensation
from trustbed.report.transfer import contract
from trustbed.report.transfer.json import write

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
    assert parsed["summary"]["transfers"] == len(parsed["transfers"]) > 1
    assert parsed["summary"]["connections"] == len(parsed["connections"]) == 2
    assert sum(parsed["summary"]["verdicts"].values()) == len(parsed["transfers"])


def test_an_empty_capture_follows_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    parsed = document(path)
    jsonschema.validate(parsed, SCHEMA)
    assert parsed["transfers"] == parsed["connections"] == []
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
    rows = {
        row["verdict"]: row
        for row in document(recordings / "guest-quota.sender.pcap.gz")["transfers"]
    }
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
    write(
        stream,
        about={},
        capture={},
        findings=[],
        skips=rows,
        connections=[],
        transfers=rows,
        summary={},
    )
    lines = stream.getvalue().splitlines()
    assert '{"a": 1},' in lines
    assert '{"a": "ü\\n"}],' not in lines
    assert '"findings": [],' in lines
    assert json.loads(stream.getvalue())["transfers"] == rows


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
            summary={},
        )
