"""The burstiness of hosts that send background: of what they sent, and of nothing else."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet
import pytest

from trustbed.run import judge as judging
from trustbed.run.directory import RunDirectory
from trustbed.scenario import Scenario, load

TEXT = """
[hosts.sender]
[hosts.receiver]
[link]
rate = "100Mbit/s"
[workload.wait]
kind = "command"
host = "receiver"
command = "sleep 1"
[background.stream]
model = "cbr"
from = "sender"
to = "receiver"
rate = "40Mbit/s"
"""
BEGIN = 1_767_225_600_000_000_000
LENGTH = 1514


def frame(source: str, target: str) -> bytes:
    addresses = bytes(int(part) for part in f"{source}.{target}".split("."))
    payload = LENGTH - 14 - 20 - 8
    internet = struct.pack(">BBHHHBBH", 0x45, 0, LENGTH - 14, 0, 0, 64, 17, 0) + addresses
    return (
        bytes(12)
        + b"\x08\x00"
        + internet
        + struct.pack(">HHHH", 9000, 9000, payload + 8, 0)
        + bytes(payload)
    )


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def capture(path: Path, packets: Sequence[tuple[int, bytes]]) -> None:
    """A pcapng file with nanoseconds."""
    blocks = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)),
    ]
    for moment, octets in packets:
        blocks.append(
            block(
                6,
                struct.pack(
                    "<IIIII", 0, moment >> 32, moment & 0xFFFFFFFF, len(octets), len(octets)
                )
                + octets,
            )
        )
    path.write_bytes(b"".join(blocks))


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    (tmp_path / "study.toml").write_text(TEXT, encoding="utf-8")
    return load(tmp_path / "study.toml").first


def judged(
    path: Path, scenario: Scenario, packets: Sequence[tuple[int, bytes]], point: str
) -> Path:
    directory = RunDirectory(path)
    repetition = directory.begin_repetition("rep-000")
    capture(repetition / "captures" / f"{point}.pcapng", packets)
    directory.finish_repetition("rep-000", {"outcome": "complete", "workloads": []})
    judging.judge(directory, "rep-000", scenario)
    return repetition / "tables" / "burstiness.parquet"


def test_bursts_that_a_timer_released_are_measured_and_answers_are_not(
    tmp_path: Path, scenario: Scenario
) -> None:
    here, there = scenario.host("sender").addresses[0], scenario.host("receiver").addresses[0]
    # 33 frames at once every 10 ms for a second; the last of each burst finds the 32 others.
    # Answers come between the bursts.
    sent = [
        (BEGIN + tick * 10_000_000, frame(here, there)) for tick in range(100) for _ in range(33)
    ]
    answers = [(BEGIN + tick * 10_000_000 + 5_000_000, frame(there, here)) for tick in range(100)]
    table = judged(
        tmp_path / "run", scenario, sorted(sent + answers, key=lambda packet: packet[0]), "sender"
    )
    rows = pyarrow.parquet.read_table(table).to_pylist()
    assert [(row["capture"], row["packets"]) for row in rows] == [("sender", 3300)]
    assert rows[0]["max_q_max_bytes"] == pytest.approx(32 * LENGTH)
    assert rows[0]["max_q_mean_bytes"] == pytest.approx(32 * LENGTH)
    assert rows[0]["mean_rate_bits_per_second"] == pytest.approx(3300 * LENGTH * 8 / 0.99)


def test_hosts_that_send_no_background_are_not_measured(tmp_path: Path, scenario: Scenario) -> None:
    here, there = scenario.host("sender").addresses[0], scenario.host("receiver").addresses[0]
    table = judged(tmp_path / "run", scenario, [(BEGIN, frame(here, there))], "receiver")
    assert not table.exists()


def test_every_column_has_a_unit_and_a_meaning() -> None:
    for field in judging.BURSTINESS:
        assert field.metadata[b"meaning"]
        assert field.metadata[b"unit"] or field.name == "capture"
