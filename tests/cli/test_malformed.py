"""Files of others that are none: every verb that reads one says so, without a traceback."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from trustbed.cli import main

DEEP = "[" * 200_000
HUGE = "9" * 30
CALL = '101 10:00:00.000001 read(3, "x", 100) = 1 <0.000009>\n'
IPERF3 = {"start": {"test_start": {}}, "end": {"sum_sent": {"bytes": 1}}, "intervals": []}
FLENT = {"metadata": {}, "results": {"Ping (ms)": [1.0]}, "x_values": [0.0], "version": 4}


@pytest.mark.parametrize(
    "line",
    [
        CALL.replace("= 1", f"= {HUGE}"),
        CALL.replace("101", HUGE),
        CALL.replace("0.000009", f"{HUGE}.5"),
        "\0" * 1000 + "\n",
        f"101 10:00:00.000001 {DEEP}\n",
    ],
)
def test_a_trace(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace").write_text(CALL + line, encoding="utf-8")
    words = ["trace", "--import", str(tmp_path / "trace"), "--format", "strace"]
    assert main([*words, "-o", str(tmp_path / "calls.parquet")]) == 1
    check(capsys)
    assert [one.name for one in tmp_path.iterdir()] == ["trace"]


@pytest.mark.parametrize(
    "text",
    [
        DEEP,
        json.dumps({**IPERF3, "start": []}),
        json.dumps({**IPERF3, "start": {"test_start": 3}}),
        json.dumps({**IPERF3, "end": 7}),
        json.dumps({**IPERF3, "end": {"sum_sent": {"bytes": 10**30}}}),
        json.dumps({**IPERF3, "intervals": [4]})[:-1],
        json.dumps({**FLENT, "metadata": 3}),
        json.dumps({**FLENT, "results": {"Ping (ms)": [10**400]}}),
        json.dumps({**FLENT, "raw_values": {"Ping (ms)": [{"val": DEEP}]}}),
        '{"x_values": [], "results": ' + DEEP,
        f"This is ApacheBench, Version 2.3\nComplete requests: {HUGE}\n"
        "Time taken for tests: 1 seconds\n",
        "This is ApacheBench, Version 2.3\nTime taken for tests: 1e999 seconds\n",
        f"{HUGE} requests in 1s, 1MB read\nRequests/sec: 1e999\n",
        "httperf --x\nReply rate [replies/s]: min nan\n",
    ],
)
def test_results_of_other_programs(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result").write_text(text, encoding="utf-8")
    main(["compare", str(tmp_path / "one"), str(tmp_path / "other")])
    err = capsys.readouterr().err
    assert err == "" or err.startswith(("error: ", "wrote "))


@pytest.mark.parametrize("damage", ["cut", "wrong", "bomb"])
def test_compressed_results(
    damage: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = gzip.compress(b" " * 200_000, mtime=0)
    content = {"cut": whole[:-20], "wrong": whole[:12] + b"\xff" * 40, "bomb": whole}[damage]
    monkeypatch.setattr("trustbed.compare.imported._MOST_BYTES", 100_000)
    (tmp_path / "one.flent.gz").write_bytes(content)
    words = ["compare", str(tmp_path / "one.flent.gz"), str(tmp_path / "one.flent.gz")]
    assert main([*words[:2], f"other={words[2]}"]) == 1
    check(capsys)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("run/manifest.json", ["report", "run"]),
        ("run/manifest.json", ["explain", "run"]),
        ("run/manifest.json", ["compare", "run", "other=run"]),
        ("run/manifest.json", ["campaign", "status", "run"]),
        ("a.toml", ["run", "--dry-run", "a.toml"]),
        ("a.toml", ["sensitivity", "--dry-run", "a.toml"]),
        ("a.toml", ["campaign", "run", "--dry-run", "a.toml"]),
        ("a.toml", ["doctor", "--inventory", "a.toml", "host"]),
        ("a.yaml", ["doctor", "--inventory", "a.yaml", "host"]),
        ("a.model", ["model", "show", "a.model"]),
    ],
)
def test_deep_nesting(
    file: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text(f"a = {DEEP}" if file.endswith("toml") else DEEP, encoding="utf-8")
    assert main(words) == 1
    check(capsys)


def check(capsys: pytest.CaptureFixture[str]) -> None:
    """Raises unless an error and its hint were printed, and nothing else."""
    out, err = capsys.readouterr()
    error, hint = err.splitlines()[:2]
    assert out == ""
    assert error.startswith("error: ")
    assert hint.lstrip().startswith("hint: ")
