"""What charts are drawn from is kept of few transfers, however many there are, and found again."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trustbed
from bench.hostile_captures import ACK, MILLISECOND, PSH, SYN, Record, pcap, record, tcp
from trustbed import _core
from trustbed.analysis import capture as module
from trustbed.analysis.capture import CHARTS_KEPT

TRANSFERS = CHARTS_KEPT + 8
ROUNDS = 14
SEGMENT = 1448
ROUND_TRIP = 10 * MILLISECOND


def connection(number: int) -> Iterator[Record]:
    """A connection of rounds, each of five segments and one more for every number."""
    client, server = (0x0A000001, 40_000 + number), (0x0A000002, 443)
    start = number * MILLISECOND

    def packet(at: int, *ends: Any, payload: int = 0, **fields: int) -> Record:  # noqa: ANN401
        made = tcp(*ends, payload=payload, **fields)
        return record(start + at, made, len(made) + payload)

    yield packet(0, client, server, flags=SYN)
    yield packet(ROUND_TRIP - 1000, server, client, ack=1, flags=SYN | ACK)
    yield packet(ROUND_TRIP, client, server, seq=1, ack=1)
    sent = 1
    for turn in range(1, ROUNDS + 1):
        for segment in range(5 + number):
            yield packet(
                turn * ROUND_TRIP + segment * 1000,
                client,
                server,
                seq=sent,
                ack=1,
                flags=ACK | PSH,
                payload=SEGMENT,
            )
            sent += SEGMENT
        yield packet((turn + 1) * ROUND_TRIP - 1000, server, client, seq=1, ack=sent)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = [one for number in range(TRANSFERS) for one in connection(number)]
    path = tmp_path_factory.mktemp("many") / "many.pcap"
    path.write_bytes(pcap(sorted(records, key=lambda one: struct.unpack_from("<II", one))))
    return path


def by_size(path: Path) -> list[str]:
    """The transfers that can be judged, the largest first."""
    rows = [row for row in trustbed.analyze(path, workers=1).rows() if not row["too_short"]]
    assert len(rows) == TRANSFERS
    return [row["transfer"] for row in sorted(rows, key=lambda row: -row["unique_bytes"])]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_charts_of_the_largest_transfers_are_kept(many: Path, workers: int) -> None:
    found = _core.analyze([str(many)], series=True, workers=workers)
    kept = [name for name in by_size(many) if found.series(name) is not None]
    assert kept == by_size(many)[:CHARTS_KEPT]


def test_the_charts_that_are_asked_for_are_kept_and_no_others(many: Path) -> None:
    names = by_size(many)
    found = _core.analyze([str(many)], series=True, charts_of={names[-1], names[3], "no such"})
    assert {name for name in names if found.series(name) is not None} == {names[-1], names[3]}


def test_every_transfer_has_charts_in_few_passes(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    ask = module._ask_engine

    def counted(*arguments: Any, **options: Any) -> _core.Analysis:  # noqa: ANN401
        asked.append(options.get("charts_of"))
        return ask(*arguments, **options)

    monkeypatch.setattr(module, "_ask_engine", counted)
    names = by_size(many)
    asked.clear()
    capture = trustbed.analyze(many, series=True, workers=1)
    drawn = {row["transfer"]: capture.series(row["transfer"]) for row in capture.overview.transfers}
    assert sorted(drawn) == sorted(names)
    assert all(len(series["acks"]["t"]) >= ROUNDS for series in drawn.values())
    assert len(asked) == 2, "one analysis, and one more pass for those beyond what is kept"
    assert len(asked[1]) <= CHARTS_KEPT
    asked.clear()
    without = trustbed.analyze(many, workers=1)
    assert {name: without.series(name) for name in drawn} == drawn
    assert len(asked) == 3, "one analysis, and two passes for what charts are drawn from"


def test_a_pipe_has_the_charts_that_were_kept(many: Path, tmp_path: Path) -> None:
    pipe, names = tmp_path / "pipe", by_size(many)
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(many.read_bytes()))
    writer.start()
    capture = trustbed.analyze(pipe, series=True, workers=1)
    writer.join(timeout=10)
    assert capture.series(names[0])
    assert capture.series(names[-1]) == {}
