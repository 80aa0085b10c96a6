"""The oracle by itself: the worked example of the definitions, and its parts."""

from __future__ import annotations

import json
from pathlib import Path

from validation.arrivals import Arrival
from validation.connections import cut
from validation.packets import ACK, PUSH, SYN, Packet
from validation.ranges import Ranges
from validation.round_trips import samples_of

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "flows.json"
FLAGS = {"S": SYN, "SA": SYN | ACK, "A": ACK, "PA": PUSH | ACK}


def test_the_worked_example_comes_out() -> None:
    example = json.loads(GOLDEN.read_text(encoding="utf-8"))["computed"]
    packets = [
        Packet(
            number,
            row["t_us"] * 1_000,
            *(
                ("10.0.0.1", 40_000, "10.0.0.2", 80)
                if row["dir"] == "s"
                else ("10.0.0.2", 80, "10.0.0.1", 40_000)
            ),
            row["seq"],
            row["ack"],
            FLAGS[row["flags"]],
            row["win"],
            row["len"],
        )
        for number, row in enumerate(example["packets"], 1)
    ]
    (connection,) = cut(Arrival(packet, 0) for packet in packets)
    stream, expected = connection.streams["10.0.0.1", 40_000], example["expect"]
    assert stream.data_packets == expected["data_packets_sent"]
    assert stream.retransmitted_packets == expected["retransmitted_data_packets"]
    assert stream.retransmitted_bytes == expected["retransmitted_bytes"]
    assert stream.unique_bytes == expected["unique_bytes"]
    assert [trip.rtt_ns for trip in samples_of(stream)] == [
        sample["rtt_us"] * 1_000 for sample in expected["rtt_samples"]
    ]
    labels = {
        frame: outcome.kind + (f"/{outcome.cause}" if outcome.cause else "")
        for frame, outcome in stream.outcomes.items()
    }
    wanted = dict(enumerate(expected["labels"], 1))
    assert {frame: label.replace("_", "-") for frame, label in labels.items()} == {
        frame: wanted[frame] for frame in labels
    }


def test_ranges_know_what_they_hold() -> None:
    held = Ranges()
    assert held.add(10, 20) == 0
    assert held.add(30, 40) == 0
    assert held.add(15, 35) == 10
    assert list(held) == [(10, 40)]
    assert held.overlap(0, 12) == 2
    assert held.missing(5, 50) == [(5, 10), (40, 50)]
    assert held.above(25) == 15
    assert held.add(40, 45) == 0
    assert len(held) == 1
    assert held.add(7, 7) == 0
