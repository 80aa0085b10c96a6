"""``trustbed analyze --burst``.

The burstiness of the capture beside its verdicts, the same that ``trustbed burst`` finds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trustbed.cli import main

CAPTURE = Path(__file__).resolve().parents[2] / "recordings" / "application-limited.sender.pcap.gz"


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_the_document_holds_what_burst_prints(capsys: pytest.CaptureFixture[str]) -> None:
    document: dict[str, Any] = json.loads(
        printed(capsys, "analyze", str(CAPTURE), "--json", "--burst")
    )
    alone = json.loads(printed(capsys, "burst", str(CAPTURE), "--json"))
    assert document["burstiness"] == {
        name: value for name, value in alone.items() if name != "trustbed"
    }
    assert len(document["burstiness"]["windows"]) > 10


def test_without_the_option_it_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert "burstiness" not in json.loads(printed(capsys, "analyze", str(CAPTURE), "--json"))
    assert "BURSTINESS" not in printed(capsys, "analyze", str(CAPTURE))


def test_the_text_has_the_four_columns_and_what_a_buffer_loses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed(capsys, "analyze", str(CAPTURE), "--burst")
    alone = printed(capsys, "burst", str(CAPTURE))
    table = next(line for line in alone.splitlines() if line.startswith("BURSTINESS"))
    assert table.split() == [
        "BURSTINESS",
        "ABW",
        "MEAN",
        "ABW",
        "MAX",
        "MAXQ",
        "MEAN",
        "MAXQ",
        "MAX",
    ]
    for head in ("BURSTINESS", "LINK OF", "LOST WITH A BUFFER OF", "ENERGY"):
        block = alone[alone.index(f"\n{head}") :].split("\n\n")[0]
        assert block in text


def test_its_tables_are_beside_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    printed(capsys, "analyze", str(CAPTURE), "--burst", "--out", str(tmp_path / "tables"))
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {
        "transfers.parquet",
        "burst_windows.parquet",
        "burst_sigma.parquet",
        "burst_queue.parquet",
        "burst_energy.parquet",
    } <= names


def test_what_cannot_be_read_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "-", "--burst"]) == 2
    assert "reads the capture a second time" in capsys.readouterr().err
