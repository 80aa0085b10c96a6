"""``trustbed model``: what it prints, draws, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.frames import connection, pcap
from trustbed.cli import main
from trustbed.traffic import Model
from trustbed.traffic.model import load


def test_from_a_capture_to_a_page(
    golden: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = pcap(tmp_path / "link.pcap", connection(golden["connection"]))
    model, page = tmp_path / "link.model", tmp_path / "link.html"
    assert main(["model", "extract", str(capture), "-o", str(model), "--name", "golden"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 session · 1 connection · 1 clients, 1 servers" in said
    assert main(["model", "show", str(model), "-o", str(page), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (http,) = document["classes"]
    assert (http["pairs"], http["client_bytes"], http["server_bytes"]) == (2, 700, 4500)
    text = page.read_text(encoding="utf-8")
    assert "1 connection of" in text
    assert "clients are on one side of the link" in text


def test_a_variant_names_its_steps(
    small: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = small.save(tmp_path / "a.model"), tmp_path / "b.model"
    words = ["model", "edit", str(before), "-o", str(after), "--sessions", "2", "--variant", "HB"]
    assert main([*words, "--every-rtt", "8ms", "--name", "twice"]) == 0
    found = load(after)
    steps = [(step.change, step.value) for step in found.header.recipe]
    assert steps == [("sessions", 2.0), ("rtt_ms", 4.0), ("rtt_ms", 8.0)]
    capsys.readouterr()
    assert main(["model", "show", str(after)]) == 0
    assert "number of sessions × value: 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model"], "no action given"),
        (["model", "extrct"], "extract"),
        (["model", "extract", "-o", "x.model"], "no capture given"),
        (["model", "extract", "absent.pcap"], "nowhere to put the model"),
        (["model", "extract", "absent.pcap", "-o", "x.model"], "absent.pcap"),
        (["model", "show", "absent.model"], "there is no such file"),
        (["model", "measure"], "no model given"),
        (["model", "measure", "quiet"], "quiet sends nothing"),
        (["model", "measure", "steady"], "steady has no rate of its own"),
        (["model", "measure", "absent.model"], "there is no such file"),
        (["model", "measure", "web", "--keep"], "web comes with trustbed"),
        (["model", "edit", "web", "-o", "x.model"], "nothing to change"),
        (["model", "edit", "web", "-o", "x.model", "--sessions", "-1"], "impossible"),
        (["model", "edit", "web", "-o", "x.model", "--variant", "RSP3"], "no variant is called"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert "hint: " in error
    assert list(tmp_path.iterdir()) == []
