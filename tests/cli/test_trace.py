"""``trustbed trace``: what contradicts, what an import prints, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trustbed.cli import main

STRACE = """\
101 10:00:00.000001 read(3, "x", 100) = 1 <0.000009>
101 10:00:00.000020 read(3, "", 100) = 0 <0.000002>
101 10:00:00.000030 exit_group(0) = ?
101 10:00:00.000040 +++ exited with 0 +++
"""
BPFTRACE = "1 2 3 > 0\n5 2 3 < 0 7\nLost 3 events\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pid", "1"], "no file is named for the table"),
        (["--count", "-o", "x.parquet"], "--count writes no table"),
        (["--pid", "1", "--command", "nginx", "-o", "x"], "--pid and --command contradict"),
        (["--pid", "1", "-o", "x", "--", "true"], "--pid and -- CMD contradict"),
        (["-o", "x", "--"], "no command follows --"),
        (["--duration", "1s", "-o", "x", "--", "true"], "--duration ends no command"),
        (["--format", "perf", "-o", "x"], "--format and --architecture are for --import"),
        (["--import", "x", "--count"], "--count is for recording"),
        (["--pid", "zero", "-o", "x"], "'zero' is no number of a process"),
        (["-o", "x", "ls", "/tmp"], "ls is one word too many"),
    ],
)
def test_what_contradicts_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", *words]) == 2
    assert message in capsys.readouterr().err


def test_an_import_prints_counts_and_what_it_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "strace.txt", tmp_path / "calls.parquet"
    source.write_text(STRACE, encoding="utf-8")
    assert main(["trace", "--import", str(source), "-o", str(target)]) == 0
    assert target.is_file()
    assert capsys.readouterr().out == (
        "3 calls of strace, 0 lost; skipped: 1 exits\n"
        "call        calls   share\n"
        "read            2  66.7 %\n"
        "exit_group      1  33.3 %\n"
    )


def test_lost_events_are_for_review(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "events.txt", tmp_path / "calls.parquet"
    source.write_text(BPFTRACE, encoding="utf-8")
    words = ["--import", str(source), "-o", str(target), "--architecture", "x86_64", "--json"]
    assert main(["trace", *words]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["calls"], found["lost"]) == ("bpftrace", 1, 3)
    assert found["by_call"] == {"read": 1}


def test_a_damaged_trace_leaves_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "strace.txt", tmp_path / "calls.parquet"
    source.write_text(STRACE + "nonsense\n", encoding="utf-8")
    assert main(["trace", "--import", str(source), "-o", str(target)]) == 1
    assert "strace.txt:5: " in capsys.readouterr().err
    assert not target.exists()


def test_a_table_is_never_its_own_trace_and_no_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "strace.txt"
    source.write_text(STRACE, encoding="utf-8")
    assert main(["trace", "--import", str(source), "-o", str(source)]) == 1
    assert "is the input" in capsys.readouterr().err
    assert source.read_text(encoding="utf-8") == STRACE
    assert main(["trace", "--duration", "1h", "-o", str(tmp_path)]) == 1
    assert "is a directory" in capsys.readouterr().err

    (tmp_path / "null").symlink_to("/dev/null")
    assert main(["trace", "--import", str(source), "-o", str(tmp_path / "null")]) == 1
    assert "a table is a file" in capsys.readouterr().err
    assert (tmp_path / "null").is_symlink()
