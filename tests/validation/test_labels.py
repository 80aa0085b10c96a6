"""trustbed finds every retransmission that the authors or the program of tcprs labelled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from validation import arrivals, trustbed_side
from validation.records import contents, records

SUFFIX = ".tcpretransmissions.log"
Key = tuple[int, str]  # the time in microseconds and the sender


def labelled(log: Path) -> set[Key]:
    """What a log calls a retransmission."""
    rows = [
        line.split("\t")
        for line in log.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return {(round(float(row[0]) * 1e6), row[2] if row[10] == "T" else row[4]) for row in rows}


def test_labels_of_tcprs_are_retransmissions(traces: Path) -> None:
    logs = sorted((traces / "tcprs").glob(f"*/*{SUFFIX}"))
    pairs = [
        (log, capture)
        for log in logs
        if (capture := log.with_name(log.name.removesuffix(SUFFIX) + ".pcap")).exists()
    ]
    if not pairs:
        pytest.skip("the labelled captures of tcprs are not here")
    agreed, only_trustbed = 0, Counter[str]()
    for log, capture in pairs:
        packets = {
            packet.frame: packet for packet in arrivals.read(records(contents(capture))).packets
        }
        carries = {
            (packet.time_ns // 1_000, packet.source)
            for packet in packets.values()
            if packet.payload
        }
        found: dict[Key, str] = {}
        for connection in trustbed_side.run(capture).directions.values():
            for direction in connection.values():
                for frame, row in direction.segments.items():
                    if row["class"] in ("retransmission", "fill"):
                        found[packets[frame].time_ns // 1_000, packets[frame].source] = (
                            f"{row['class']}/{row['subclass']}"
                        )
        # tcprs labels SYN and FIN too; trustbed classifies data.
        labels = labelled(log) & carries
        assert labels <= found.keys(), f"{log.name}: {sorted(labels - found.keys())}"
        agreed += len(labels)
        only_trustbed.update(found[key] for key in found.keys() - labels)
    assert agreed > 600
    # A segment that overtook another on the path is no retransmission, and tcprs says so too.
    assert set(only_trustbed) <= {"fill/reordered"}
