"""Verdicts on captures that others made, where what happened can be read in the packets.

Each of them was judged wrongly once, for a reason that a laboratory's captures do not have: a
capture that missed packets, a path with room for less than the handshake agreed, a session that is
closed after an idle time, a sender whose round trip is not known, a pacer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trustbed


def judged(capture: Path, transfer: str) -> dict[str, Any]:
    """The row of a transfer."""
    return trustbed.analyze(capture).transfer(transfer).row


def share(row: dict[str, Any], *states: str) -> float:
    """The share of a transfer's time in these states."""
    return sum(row[f"share_{state}"] for state in states)


def test_what_the_capture_missed_was_not_lost_by_the_network(traces: Path) -> None:
    row = judged(traces / "pathology" / "ppa_http_espn.pcapng", "24.1")
    assert "capture_loss" in row["verdict_flags"]
    assert share(row, "recovery") < 0.01
    assert share(row, "peer") > 0.8, "the browser asks for the next picture after a second"
    assert (row["cause"], row["verdict"]) == ("peer_limited", "review")
    row = judged(traces / "sessions" / "netflix_snap128.pcap", "4214.1")
    assert row["retransmitted_packets"] <= 1
    assert share(row, "recovery") < 0.05
    assert row["cause"] != "receiver_stalled", "silences in which packets are missing show nothing"


@pytest.mark.parametrize(
    ("capture", "transfer"),
    [
        pytest.param("sessions/chrome_snap128.pcap", "77.1", id="close_notify"),
        pytest.param("aggregate/smallFlows.pcap", "395.1", id="GOAWAY and close_notify"),
        pytest.param("bulk/ooo_stream.pcapng.gz", "1.1", id="close_notify after one page"),
    ],
)
def test_a_server_that_closes_an_idle_session_had_waited_for_a_request(
    traces: Path, capture: str, transfer: str
) -> None:
    row = judged(traces / capture, transfer)
    assert share(row, "peer") > 0.6
    assert share(row, "idle_application") < 0.1
    assert (row["cause"], row["verdict"]) == ("peer_limited", "trust")


def test_full_segments_of_a_tunnel_are_not_ends_of_writes(traces: Path) -> None:
    row = judged(traces / "bulk" / "iperf_in_mpls_snap.pcap.gz", "27.0")
    assert row["mss"] == 1444, "the handshake agreed on 1448"
    assert share(row, "idle_application") < 0.01
    # The sender's clock stands still for 140 ms, again and again, and then catches up.
    assert row["causes"] == ["host_scheduling", "sender_application_limited"]
    assert row["verdict"] == "review"


def test_a_round_trip_that_varies_is_no_silence_of_a_sender_without_timestamps(
    traces: Path,
) -> None:
    row = judged(traces / "aggregate" / "uvic_sample_capture.cap", "616.1")
    assert (row["at"], row["timestamps"]) == ("receiver", False)
    assert share(row, "idle_sender") < 0.15
    assert (row["cause"], row["verdict"]) == ("window_limited", "trust"), "of 17,520 bytes"


def test_a_sender_that_paces_meanwhile_did_not_stop(traces: Path) -> None:
    row = judged(traces / "bulk" / "ndt_download_heavy_loss_ns.pcap.gz", "1.1")
    assert row["acks_held"] < 30, "of 65 bundles that the access network makes"
    assert row["data_held"] == 0, "its stamps step by 4 ms; what echoes came at once"
    assert row["cause"] == "network_congestion"


def test_the_loopback_interface_has_segments_larger_than_windows(traces: Path) -> None:
    row = judged(traces / "bulk" / "http_1000_requests_one_drop.pcap.gz", "1.0")
    assert row["mss"] > row["window_min_bytes"]
    assert row["window_closed"] < 0.01
    assert row["at"] == "sender", "both ends are on one machine"
    assert (row["cause"], row["verdict"]) == ("sender_application_limited", "review")
    assert share(row, "think") > 0.8, "the client waits between response and request"


def test_what_was_lost_before_a_capture_of_unknown_place_was_lost(traces: Path) -> None:
    row = judged(traces / "pairs" / "iperf3_vm_tcp.server_snap128.pcapng", "21.0")
    assert (row["at"], row["filled_lost_upstream"]) == ("unknown", 17)
    assert row["loss_upstream"] == pytest.approx(17 / (row["data_packets"] + 17))
    assert row["cause"] == "network_loss", "their duplicate ACKs are no reordering"
