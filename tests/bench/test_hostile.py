"""Hostile captures, small: each is analysed to its end, and every packet is accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest

import trustbed
from bench.hostile import written
from bench.hostile_captures import CASES, Case, damage, identical_frames, super_packets
from trustbed.analysis.two_point import join

PACKETS = 3000
SINGLE = [case for case in CASES if len(case.make(0)) == 1]
RECORDS = {"stalls of one host": PACKETS // 50 * 49}
"""Records that can be read, where it is not one a packet."""


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name.replace(" ", "_"))
def test_a_hostile_capture_is_read_to_its_end(case: Case, tmp_path: Path) -> None:
    (file,) = written(case, PACKETS, tmp_path)
    facts = trustbed.analyze(file).facts
    if case.make is damage:
        # What looks like a record between two damaged ones may be none.
        assert 0 < facts["records"] < PACKETS
        assert "bad_record_length" in {problem["code"] for problem in facts["problems"]}
    else:
        assert facts["records"] == RECORDS.get(case.name, PACKETS)
    skipped = sum(skip["records"] for skip in facts["skips"])
    assert facts["packets"] + skipped == facts["records"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_the_same_number_gives_the_same_bytes(case: Case) -> None:
    assert case.make(1500) == case.make(1500)


FRAMES = {identical_frames: PACKETS, super_packets: 1 + PACKETS // 1024 * 1024}
"""Frames at two points beside the 500 of the exchange before: with the SYN of the super-packets."""


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case not in SINGLE],
    ids=lambda case: case.name.replace(" ", "_"),
)
def test_frames_at_two_points_are_all_delivered(case: Case, tmp_path: Path) -> None:
    sender, receiver = written(case, PACKETS, tmp_path)
    rows = join(str(sender), str(receiver)).two_point.to_pylist()
    assert sum(row["data_frames_sent"] for row in rows) == FRAMES[case.make] + 500
    assert sum(row["data_frames_delivered"] for row in rows) == FRAMES[case.make] + 500
