"""The bench's short connections are what they are called, and every judged transfer is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

import trustbed
from bench.judging import LEAST_JUDGED, PACKETS, judging, write_short


def test_short_connections_are_whole_and_too_short_to_judge(tmp_path: Path) -> None:
    path = tmp_path / "short.pcap"
    write_short(path, 300)
    capture = trustbed.analyze(path, workers=1)
    assert capture.facts["packets"] == 300 * PACKETS
    assert capture.summary["connections"] == 300
    assert capture.summary["transfers"] == capture.summary["not_judged"] == 600
    assert set(capture.transfers["retransmitted_packets"].to_pylist()) == {0}
    assert set(capture.connections["state"].to_pylist()) == {"closed"}


def test_the_transfers_of_a_capture_are_judged_as_often_as_thousands_take(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.judging.LEAST_JUDGED", 1000)
    judged, milliseconds = judging(recordings / "guest-quota.sender.pcap.gz", rounds=3)
    assert 1000 <= judged < LEAST_JUDGED
    assert milliseconds > 0
