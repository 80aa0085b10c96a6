"""Subflows of Multipath TCP, from bytes to verdict.

A pair of captures of four of them that carry the same data, and one of plain TCP.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import trustbed

SIDES = ("client", "server")


def without_first(capture: Path, records: int) -> bytes:
    """A pcap file without its first records."""
    data = capture.read_bytes()
    at = 24
    for _ in range(records):
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    return data[:24] + data[at:]


def subflows(capture: trustbed.Capture) -> list[bool]:
    """Of each TCP connection, whether it is one."""
    return [row["multipath"] for row in capture.connections.to_pylist() if row["protocol"] == "tcp"]


@pytest.mark.parametrize("side", SIDES)
def test_a_subflow_is_held_at_review(traces: Path, side: str) -> None:
    capture = trustbed.analyze(
        traces / "pairs" / f"iperf3_vm_mptcp_redundant.{side}_snap128.pcap", at="sender"
    )
    assert subflows(capture) == [True] * 8
    judged = [row for row in capture.transfers.to_pylist() if not row["too_short"]]
    assert [row["verdict"] for row in judged] == ["review"] * 4
    # Their segments have room for 1,428 bytes beside the option, not for the handshake's 1,448.
    assert {row["mss"] for row in judged} == {1428}
    assert all(row["multipath"] and "multipath" in row["verdict_flags"] for row in judged)
    assert (
        "one subflow of a Multipath TCP connection"
        in capture.transfer(judged[0]["transfer"]).explain()
    )


@pytest.mark.parametrize("side", SIDES)
def test_a_subflow_that_was_already_running_is_one(traces: Path, tmp_path: Path, side: str) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(
        without_first(traces / "pairs" / f"iperf3_vm_mptcp_redundant.{side}_snap128.pcap", 100)
    )
    capture = trustbed.analyze(cut)
    assert {
        row["midstream"] for row in capture.connections.to_pylist() if row["protocol"] == "tcp"
    } == {True}
    assert set(subflows(capture)) == {True}


@pytest.mark.parametrize("side", SIDES)
def test_plain_tcp_is_none(traces: Path, side: str) -> None:
    capture = trustbed.analyze(traces / "pairs" / f"iperf3_vm_tcp.{side}_snap128.pcapng")
    assert subflows(capture) == [False] * 4
    assert "multipath" not in {finding.code for finding in capture.judgement.findings}
