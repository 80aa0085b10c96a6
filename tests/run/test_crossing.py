"""The captures of a repetition, joined: which two answer for a transfer."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.pcap_records import records
from trustbed.diagnose.two_point import TwoPointEvidence
from trustbed.run.two_point import JoinedCaptures
from trustbed.scenario import Scenario, load

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
SCENARIO = """
[hosts.sender]
address = "10.78.0.1"
[hosts.near]
address = "10.78.0.2"
[hosts.other]
address = "10.78.0.3"
[topology]
routers = ["middle"]
[links.sender]
between = ["sender", "middle"]
[links.near]
between = ["near", "middle"]
[links.other]
between = ["other", "middle"]
"""
WORKLOAD = '[workload.{0}-{1}]\nkind = "bulk"\nhost = "{0}"\nto = "{1}"\n'
NEAR, OTHER = bytes([10, 78, 0, 2]), bytes([10, 78, 0, 3])
_SOURCE, _TARGET = slice(42, 46), slice(46, 50)
"""Where a record of a pcap file of Ethernet has the addresses of IPv4."""


def scenario(directory: Path, *pairs: tuple[str, str]) -> Scenario:
    (directory / "study.toml").write_text(
        SCENARIO + "".join(WORKLOAD.format(*pair) for pair in pairs)
    )
    return load(directory / "study.toml").first


def at_the_other(record: bytes) -> bytes:
    """The same frame of a connection with the other host, of the same ports."""
    moved = bytearray(record)
    for offset in (_SOURCE, _TARGET):
        if record[offset] == NEAR:
            moved[offset] = OTHER
    return bytes(moved)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """One connection twice, with two hosts.

    Of the second every tenth frame of data is missing where it goes.
    """
    (head, sent), (_, arrived) = (
        records(RECORDINGS / f"random-loss.{end}.pcap.gz") for end in ("sender", "receiver")
    )
    large = [
        index
        for index, record in enumerate(arrived)
        if record[_TARGET] == NEAR and struct.unpack_from("<I", record, 12)[0] > 1000
    ]
    missing = set(large[100::10])
    captures = {
        "sender": sorted(
            [*sent, *map(at_the_other, sent)], key=lambda record: struct.unpack_from("<II", record)
        ),
        "near": arrived,
        "other": [
            at_the_other(record) for index, record in enumerate(arrived) if index not in missing
        ],
    }
    for name, packets in captures.items():
        (tmp_path / f"{name}.pcap").write_bytes(head + b"".join(packets))
    return {name: tmp_path / f"{name}.pcap" for name in captures}


def seen(joined: JoinedCaptures, port: int, receiver: str) -> TwoPointEvidence | None:
    row = {"src": "10.78.0.1", "src_port": port, "dst": receiver, "dst_port": 5201}
    known = joined.host_of("sender", lambda _: None)(row)
    return None if known is None else known.ends


def test_a_transfer_is_judged_by_the_capture_of_its_own_receiver(
    files: dict[str, Path], tmp_path: Path
) -> None:
    joined = JoinedCaptures(files, scenario(tmp_path, ("sender", "near"), ("sender", "other")))
    joined.write(tmp_path / "two_point.parquet")
    rows = (
        pyarrow.parquet.read_table(tmp_path / "two_point.parquet")
        .drop_columns(["start_ns"])
        .to_pylist()
    )
    port = max(rows, key=lambda row: row["data_frames_sent"])["sender_port"]
    near, other = seen(joined, port, "10.78.0.2"), seen(joined, port, "10.78.0.3")
    assert near is not None
    assert near.lost == pytest.approx(0.011, abs=0.001)
    assert other is not None
    assert other.lost == pytest.approx(0.11, abs=0.01)
    assert seen(joined, port, "10.78.0.9") is None
    # The other join holds frames of it, which are neither lost nor found.
    elsewhere = [
        row
        for row in rows
        if row["second_capture"] == "near"
        and row["receiver"] == "10.78.0.3"
        and row["data_frames_sent"] > 1000
    ]
    assert [
        (row["data_frames_lost"], row["data_frames_delivered"], row["data_frames_indeterminate"])
        for row in elsewhere
    ] == [(0, 0, 3603)]


def test_workloads_of_both_directions_read_two_captures_once(
    files: dict[str, Path], tmp_path: Path
) -> None:
    joined = JoinedCaptures(files, scenario(tmp_path, ("sender", "near"), ("near", "sender")))
    joined.write(tmp_path / "two_point.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "two_point.parquet").drop_columns(["start_ns"])
    assert {(row["first_capture"], row["second_capture"]) for row in table.to_pylist()} == {
        ("sender", "near")
    }
    connections = table.group_by(["sender", "sender_port", "receiver", "receiver_port"]).aggregate(
        [([], "count_all")]
    )
    assert set(connections["count_all"].to_pylist()) == {1}
