"""The demo tells the truth: what it prints and writes agrees with what was done to the recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import demo

TRUTH = {entry["name"]: entry for entry in json.loads((demo.ROOT / "recordings" / "truth.json").read_text(encoding="utf-8"))}


@pytest.mark.parametrize("story", demo.STORIES, ids=lambda story: story.recording)
def test_every_story_ends_in_an_accepted_verdict(story: demo.Story) -> None:
    rows = demo.judge(story).transfers.to_pylist()
    main = max(rows, key=lambda row: row["unique_bytes"])
    assert main["cause"] in TRUTH[story.recording]["accept_from_capture_alone"]
    assert main["verdict"] in TRUTH[story.recording]["verdicts_accepted"]


def test_the_starved_guest_stands_beside_the_same_guest_undisturbed() -> None:
    beside = {story.recording: story.beside for story in demo.STORIES}
    assert beside["guest-quota"] == "guest-free"
    assert {control for control in beside.values() if control} <= beside.keys()


def test_the_demo_prints_every_verdict_and_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.html"
    assert demo.main(report) == 0
    printed = capsys.readouterr().out
    page = report.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    for story in demo.STORIES:
        assert story.recording in printed
        assert story.recording in page
        # The page escapes some characters; the first words are enough to find the story.
        assert story.text.split("'")[0][:40] in page
    assert max(len(line) for line in printed.splitlines()) <= 100
