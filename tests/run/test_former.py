"""Run directories of earlier versions are read under today's names."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from trustbed.run import former
from trustbed.run.directory import RunDirectory
from trustbed.run.samples import read_lines


def test_a_record_of_an_earlier_version_is_read_under_todays_keys(tmp_path: Path) -> None:
    (tmp_path / "rep-000").mkdir()
    (tmp_path / "manifest.json").write_text(
        json.dumps({"schema_version": 1, "order": [{"number": 0, "folder": "rep-000"}]})
    )
    (tmp_path / "rep-000" / "repetition.json").write_text(
        json.dumps({"emulator": {"lateness": {"p50_ns": 7}}, "samples": [{"not_told": []}]})
    )
    directory = RunDirectory(tmp_path)
    assert directory.manifest()["order"] == [{"number": 0, "directory": "rep-000"}]
    assert directory.record("rep-000") == {
        "emulator": {"departure_error": {"p50_ns": 7}},
        "samples": [{"unavailable": []}],
    }


def test_samples_of_an_earlier_version_have_todays_columns() -> None:
    table = pa.table({"time_ns": [1], "congestion_window_segments": [10]})
    assert former.columns(table).column_names == ["time_ns", "snd_cwnd"]


def test_lines_of_samples_of_an_earlier_version_have_todays_keys(tmp_path: Path) -> None:
    file = tmp_path / "sender.samples.jsonl"
    file.write_text('{"columns": {}}\n{"at_ns": 5, "wakeups": {"late_most_ns": 7}}\n')
    assert read_lines(file).rows == [{"at_ns": 5, "wakeups": {"late_max_ns": 7}}]
