"""Which packets a drop-tail queue loses.

Against a queue that is played packet by packet, and under the numbers that Wireshark shows.
"""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

import trustbed
from tests.burst.conftest import Run, ethernet, pcap

MS = 1_000_000
START = 1_700_000_000_000 * MS
RATE, BUFFER = 8_000_000, 5000


def bursts(seed: int = 1) -> list[tuple[int, int]]:
    """Packets at random times, a few of them a millisecond late in the file."""
    draw = Random(seed)
    times = sorted(draw.randrange(400 * MS) for _ in range(900))
    packets = [(START + time, draw.choice([60, 576, 1514])) for time in times]
    for index in range(50, 900, 97):
        packets[index], packets[index + 1] = packets[index + 1], packets[index]
    return packets


def played(packets: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(frame, time, length) of every packet that does not fit, in order of time."""
    lost, backlog, before = [], Fraction(0), START
    for frame, (time, length) in sorted(enumerate(packets, 1), key=lambda entry: entry[1][0]):
        backlog = max(Fraction(0), backlog - Fraction((time - before) * RATE, 8 * 10**9))
        before = time
        if backlog + length <= BUFFER:
            backlog += length
        else:
            lost.append((frame, time, length))
    return lost


def rows(table: Any) -> list[tuple[int, int, int]]:  # noqa: ANN401 - an Arrow table
    columns = (table["frame"], table["time_ns"].cast("int64"), table["length_bytes"])
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


@pytest.fixture
def written(run: Run, tmp_path: Path) -> Path:
    ended = run(
        bursts(),
        "--rate",
        f"{RATE}bit/s",
        "--buffer",
        f"{BUFFER}B",
        "--lost",
        "--out",
        str(tmp_path / "tables"),
        "--csv",
        "-q",
    )
    assert ended.code == 0, ended.err
    return tmp_path / "tables"


def test_they_are_those_of_a_queue_played_packet_by_packet(written: Path) -> None:
    wanted = played(bursts())
    assert 50 < len(wanted) < 850
    found = pq.read_table(written / "burst_lost.parquet")
    assert rows(found) == wanted
    counted = pq.read_table(written / "burst_queue.parquet")
    assert counted["lost_packets"].to_pylist() == [len(wanted)]
    assert (
        len((written / "burst_lost.csv").read_text(encoding="utf-8").splitlines())
        == len(wanted) + 1
    )


def test_the_library_says_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    file = tmp_path / "made.pcap"
    file.write_bytes(pcap(bursts()))
    for workers in (1, 2, 7):
        asked = trustbed.burst(file, rate=RATE, buffers=[BUFFER, 10**6], lost=True, workers=workers)
        assert rows(asked.lost) == played(bursts())
        assert set(asked.lost["buffer_bytes"].to_pylist()) == {BUFFER}


def test_frame_numbers_are_those_of_the_whole_capture(tmp_path: Path) -> None:
    """With a filter and streams too.

    The number is the record's, not the packet's place among those that count.
    """
    packets = [(START + index * 10_000, 1514) for index in range(300)]
    frames = [
        ethernet(1, 2, length=1514) if index % 3 else ethernet(3, 4, length=1514)
        for index in range(300)
    ]
    file = tmp_path / "made.pcap"
    file.write_bytes(pcap(packets, frames=frames))
    lost = trustbed.burst(
        file, rate="1Mbit/s", buffers=[3100], filter="host 10.0.0.1", by="flow", lost=True
    ).lost
    whole = [
        frame
        for stream, frame in zip(lost["stream"].to_pylist(), lost["frame"].to_pylist(), strict=True)
        if stream == "all packets"
    ]
    wanted = [index + 1 for index in range(300) if index % 3]
    assert whole == [frame for frame in wanted if frame not in set(wanted) - set(whole)]
    assert len(whole) == 200 - 2 - 300 * 10_000 * 125_000 // 10**9 // 1514
    assert len(lost) == 2 * len(whole)


def test_wireshark_shows_the_packet_under_that_number(written: Path) -> None:
    last = rows(pq.read_table(written / "burst_lost.parquet"))[-1]
    command = [
        "tshark",
        "-n",
        "-r",
        str(written.parent / "made.pcap"),
        "-Y",
        f"frame.number == {last[0]}",
    ]
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len"]
    shown = subprocess.run(
        [*command, *fields], check=True, capture_output=True, text=True
    ).stdout.split()
    assert shown == [f"{last[1] // 10**9}.{last[1] % 10**9:09}", str(last[2])]


def test_without_losses_the_table_is_there_and_empty(run: Run, tmp_path: Path) -> None:
    assert (
        run(
            [(START, 100)] * 3,
            "--buffer",
            "64KiB",
            "--lost",
            "--out",
            str(tmp_path / "tables"),
            "-q",
        ).code
        == 0
    )
    assert pq.read_table(tmp_path / "tables" / "burst_lost.parquet").num_rows == 0


def test_more_losses_than_anybody_reads(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trustbed.analysis.burst.MOST_LOST", 10)
    ended = run(
        bursts(),
        "--rate",
        f"{RATE}bit/s",
        "--buffer",
        "5000B",
        "--lost",
        "--out",
        str(tmp_path / "tables"),
    )
    assert ended.code == 1
    assert ended.err.startswith("error: the queues lose ")
    assert not (tmp_path / "tables").exists()


def test_losses_that_were_not_requested_are_an_error_with_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "made.pcap"
    file.write_bytes(pcap(bursts()))
    with pytest.raises(ValueError, match="lost=True"):
        _ = trustbed.burst(file, rate=RATE).lost
