"""The stories of the demo's recordings agree with what was done to them."""

from __future__ import annotations

import json

import pytest

from tools import demo

TRUTH = {
    entry["name"]: entry
    for entry in json.loads((demo.ROOT / "recordings" / "truth.json").read_text(encoding="utf-8"))
}


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
