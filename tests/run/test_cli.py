"""``trustbed run`` as a person calls it, as far as nothing is carried out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.cli import main

TEXT = """
name = "study"
seed = 7
repetitions = 2
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "10ms"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[background.noise]
model = "none"
rate = "1Mbit/s"
from = "client"
to = "server"
[factors]
background.noise.model = ["none", "cbr"]
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT)
    return "study.toml"


def test_a_dry_run_describes_the_run_and_does_nothing(
    study: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(["run", study, "--dry-run"]) == 0
    out = capsys.readouterr().out
    # 10 s of traffic, 1 s of warm-up and 4 s around it, four times.
    assert out == snapshot
    assert [entry.name for entry in Path().iterdir()] == ["study.toml"]


def test_a_dry_run_as_json_is_the_manifest_with_networks(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", study, "--dry-run", "--json", "--repetitions", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["order"]) == 6
    assert document["topologies"][1]["hosts"][0]["name"] == "client"
    assert document["expected_seconds"] == 90.0
    assert [one["kind"] for one in document["workloads"]] == ["bulk"]
    assert [one["model"] for one in document["backgrounds"]] == ["cbr"]


def test_a_dry_run_as_json_escapes_control_characters(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "bidi \u202e \x9b2J"
    Path(study).write_text(TEXT.replace('"study"', f'"{name}"', 1))
    assert main(["run", study, "--dry-run", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["scenario"]["name"] == name
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run"], 2, "no scenario given"),
        (["run", "a", "b"], 2, "one scenario, not 2"),
        (["run", "study.toml", "--repetitions", "0"], 2, "not a number of repetitions"),
        (["run", "stduy.toml"], 1, "no such file"),
        (["run", "study.toml", "--rezume"], 2, "no such option"),
    ],
)
def test_what_cannot_be_done_is_a_line_and_a_hint(
    study: str, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert main(words) == code
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert message in err
    assert "\nhint: " in err


def test_a_wrong_scenario_names_line_and_key(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(study).write_text(TEXT.replace("20Mbit/s", "20Mbt/s"))
    assert main(["run", study, "--dry-run"]) == 1
    assert "error: study.toml, line 8, link.rate: " in capsys.readouterr().err
