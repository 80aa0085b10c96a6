"""The models are the tools, and the oracle is trustbed: on random connections no number differs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.validation.chatter import chatter
from tests.validation.conftest import Frames
from tests.validation.talk import Talk
from validation import (
    arrivals,
    connections,
    counts,
    flags,
    round_trips,
    trustbed_side,
    tshark_rules,
)
from validation.compare import Comparison
from validation.records import contents, records

SEEDS = range(1, 9)


@pytest.fixture(scope="module")
def together(frames: Frames) -> None:
    """Asks tshark once for all of them."""
    frames.ask(partial(chatter, seed, second_handshakes=True) for seed in SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_models_of_the_tools_agree_with_the_tools(
    seed: int, compared: Callable[..., Comparison], together: None
) -> None:
    comparison = compared(chatter(seed, second_handshakes=True))
    assert comparison.tools.tcptrace is not None
    assert comparison.tools.tshark is not None
    assert len(comparison.pairs) == len(comparison.tools.tcptrace) >= 60
    assert comparison.wrong_pairs == set()
    wrong = []
    for packet in comparison.capture.packets:
        modelled = tshark_rules.printed(packet, comparison.analysis.situations[packet.frame])
        if modelled != flags.named_once(comparison.tools.tshark[packet.frame]):
            wrong.append((packet.frame, modelled))
    assert wrong == []


@pytest.mark.parametrize("seed", SEEDS)
def test_trustbed_agrees_with_its_slow_twin(seed: int, tmp_path: Path) -> None:
    path = chatter(seed).write(tmp_path / "chatter.pcap")
    found = connections.cut(arrivals.read(records(contents(path))).arrivals)
    report = trustbed_side.run(path)
    assert sorted(report.directions) == sorted(connection.number for connection in found)
    directions = 0
    for connection in found:
        for endpoint, stream in connection.streams.items():
            direction, peer = (
                report.directions[connection.number][endpoint],
                connection.streams[connection.peer(endpoint)],
            )
            where = f"connection {connection.number}, from {endpoint}"
            assert direction.packets == stream.packets, where
            assert direction.payload_bytes == stream.payload_bytes, where
            assert counts.segments_differ(stream, direction) == "", where
            assert round_trips.samples_differ(round_trips.samples_of(stream), direction) == "", (
                where
            )
            assert flags.totals_differ(stream, peer, direction) == {}, where
            directions += 1
    assert directions >= 120


def test_the_same_seed_makes_the_same_capture() -> None:
    assert (
        chatter(3, connections=5).records
        == chatter(3, connections=5).records
        != chatter(4, connections=5).records
    )


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    """The checks above can fail: one byte more in a packet changes every one of the sums."""
    talk = Talk().hello()
    talk.data(30, 0)
    talk.ack(50, 100)
    path = talk.write(tmp_path / "talk.pcap")
    (connection,) = connections.cut(arrivals.read(records(contents(path))).arrivals)
    sender = ("10.0.0.1", 40_000)
    direction, stream = trustbed_side.run(path).directions[1][sender], connection.streams[sender]
    stream.outcomes[4].start += 1
    assert "segment 4" in counts.segments_differ(stream, direction)
    stream.round_trips.clear()
    assert round_trips.samples_differ(round_trips.samples_of(stream), direction) != ""
    stream.duplicate_acks.append(9)
    assert "duplicate_ack" in flags.totals_differ(stream, stream, direction)
