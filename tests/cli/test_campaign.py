"""``trustbed campaign``: the plan of a dry run and the starter files.

What is measured has its tests beside rounds.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.campaign.runner.conftest import study_of
from trustbed.cli import main
from trustbed.scenario import campaign as campaigns


@pytest.mark.parametrize("words", [["campaign", "run"], ["pairs"]])
def test_a_dry_run_lists_all_that_a_round_does(
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    snapshot: SnapshotAssertion,
) -> None:
    parts = {
        "delay": '{ probes = 50, mean_gap = "20ms" }',
        "bandwidth": '{ pathload = "120s", pathchirp = "30s" }',
    }
    study = study_of(tmp_path, "a-b", period='"300s"', **parts)
    assert main([*words, str(study.file), "--dry-run"]) == 0
    assert capsys.readouterr().out == snapshot(name="plan")


def test_the_starter_files_are_a_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["campaign", "init", "paths"]) == 0
    assert "trustbed campaign run paths/campaign.toml --dry-run" in capsys.readouterr().out
    campaign = campaigns.load(tmp_path / "paths" / "campaign.toml").campaign
    assert [pair.name for pair in campaign.pairs] == ["alpha-beta", "beta-alpha"]
    assert main(["campaign", "run", "paths/campaign.toml", "--dry-run"]) == 0


def test_starter_files_replace_nothing_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "campaign.toml").write_text("mine", encoding="utf-8")
    assert main(["campaign", "init", str(tmp_path)]) == 1
    assert "--force" in capsys.readouterr().err.splitlines()[1]
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.toml"]
    assert main(["campaign", "init", str(tmp_path), "--force"]) == 0
    assert (tmp_path / "hosts.toml").is_file()
