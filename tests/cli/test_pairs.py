"""``trustbed pairs --dry-run`` on the command line; what is measured has its tests beside rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.conftest import study_of
from trustbed.cli import main


def test_a_dry_run_tells_all_that_a_round_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {
        "delay": '{ probes = 50, mean_gap = "20ms" }',
        "bandwidth": '{ pathload = "120s", pathchirp = "30s" }',
    }
    study = study_of(tmp_path, "a-b", period='"300s"', **asked)
    assert main(["pairs", str(study.file), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert (
        "a round: 2 pings, then 50 test packets (2.00 s at most), then pathload (2 min at most), then pathchirp (30.0 s at most), then "
        "3 connection pairs (concurrent), windows of 16384 and 65536 bytes\n"
    ) in said
