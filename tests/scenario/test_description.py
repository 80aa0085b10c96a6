"""The agents' configurations follow from the scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.conftest import Read
from trustbed.scenario import ScenarioError, description

EVERYTHING = """
[topology]
shape = "dumbbell"
left = ["client"]
right = ["server"]
[hosts.client]
count = 2
access = { rate = "100Mbit/s", up.delay = "1ms" }
[hosts.server]
[links.line]
rate = "20Mbit/s"
delay = "10ms"
jitter = { distribution = "normal", spread = "2ms", keep_order = false }
queue = { discipline = "red", low = 5, high = 15, limit = "64KiB" }
up.loss = { model = "gilbert-elliott", to_bad = "1%", to_good = "25%" }
down.loss = { model = "periodic", every = 10 }
down.queue = { discipline = "codel" }
reorder = { probability = "1%", delay = "5ms" }
duplicate = "0.5%"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
"""


def test_a_topology_in_full(read: Read) -> None:
    shared = {
        "rate_bits_per_second": 20_000_000,
        "delay_ns": 10_000_000,
        "jitter": {"kind": "normal", "deviation_ns": 2_000_000, "keep_order": False},
        "reorder": {"probability": 0.01, "held_ns": 5_000_000},
        "duplicate": {"probability": 0.005},
    }
    red = {
        "kind": "red",
        "limit_bytes": 65_536,
        "minimum_packets": 5,
        "maximum_packets": 15,
        "maximum_probability": 0.1,
        "weight": 0.002,
    }
    gilbert = {
        "kind": "gilbert_elliott",
        "good_to_bad": 0.01,
        "bad_to_good": 0.25,
        "loss_in_good": 0.0,
        "loss_in_bad": 1.0,
    }
    assert description.topology(read(EVERYTHING).first) == {
        "hosts": [
            {
                "name": "client",
                "addresses": ["10.77.0.1", "10.77.0.2"],
                "access": {
                    "router": "left",
                    "up": {"rate_bits_per_second": 100_000_000, "delay_ns": 1_000_000},
                    "down": {"rate_bits_per_second": 100_000_000},
                },
            },
            {"name": "server", "addresses": ["10.77.0.3"],
             "access": {"router": "right", "up": {}, "down": {}}},
        ],
        "routers": ["left", "right"],
        "pipes": [
            {"name": "line.up", "from": "left", "to": "right", **shared, "queue": red,
             "loss": gilbert},
            {"name": "line.down", "from": "right", "to": "left", **shared,
             "queue": {"kind": "codel"},
             "loss": {"kind": "periodic", "every": 10, "first": 10}},
        ],
    }  # fmt: skip


def test_recordings_are_written_out(read: Read, small: str, tmp_path: Path) -> None:
    (tmp_path / "rates.txt").write_text("1\n2\n")
    (tmp_path / "delays.txt").write_text("5\n")
    (tmp_path / "lost.txt").write_text("0\n")
    keys = (
        'rate_trace = "rates.txt"\ndelay_trace = { file = "delays.txt", step = "1ms" }\nloss '
        '= { trace = "lost.txt", period = 10 }\n'
    )
    link = read(small.replace('rate = "20Mbit/s"\ndelay = "10ms"\n', keys)).first.links[0]
    assert description.direction(link.forward) == {
        "rate_trace": {"opportunities_ms": [1, 2]},
        "delay_recorded": {"delays_ns": [5_000_000], "keep_order": True, "step_ns": 1_000_000},
        "loss": {"kind": "recorded", "lost": [0], "period_packets": 10},
    }


def test_a_link_of_one_direction_is_one_pipe(read: Read, small: str) -> None:
    pipes = (
        '[links.there]\nfrom = "client"\nto = "server"\n[links.back]\nfrom = "server"\nto = '
        '"client"\n'
    )
    found = description.topology(read(small.replace("[link]", pipes)).first)
    assert [pipe["name"] for pipe in found["pipes"]] == ["there", "back"]


def test_background_can_have_a_start_and_a_duration(read: Read, small: str) -> None:
    noise = (
        '[background.noise]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "client"\nto = "server"\n'
        'start = "3s"\nduration = "4s"\n'
    )
    (background,) = read(small + noise).first.backgrounds
    assert (background.start_ns, background.duration_ns) == (3_000_000_000, 4_000_000_000)
    with pytest.raises(ScenarioError, match="3s is not before the workloads end, 2 s after"):
        read('duration = "2s"\n' + small + noise)


def test_background_as_the_generators_configure_it(read: Read, small: str, tmp_path: Path) -> None:
    (tmp_path / "t.pcap").write_bytes(b"")
    text = """
[background.constant]
model = "cbr"
rate = "3.3Mbit/s"
from = "client"
to = "server"
release = "timer-250"
[background.random]
model = "poisson"
mode = "bytes"
rate = "1Mbit/s"
packet_bytes = 576
from = "client"
to = "server"
release = "unpaced"
[background.again]
model = "playback"
file = "t.pcap"
direction = "both"
filter = "src net 10.0.0.0/8"
reverse_filter = "dst net 10.0.0.0/8"
from = "client"
to = "server"
"""
    constant, random, again = read(small + text).first.backgrounds
    assert description.model(constant) == {
        "kind": "cbr",
        "rate_bits_per_second": 3_300_000,
        "packet_bytes": 1500,
    }
    assert description.release(constant) == {"timer_hz": 250}
    assert description.model(random) == {
        "kind": "poisson",
        "rate_bits_per_second": 1_000_000,
        "packet_bytes": 576,
        "mode": "bytes",
    }
    assert description.release(random) == "unpaced"
    assert description.release(again) == "paced"
    capture = str(tmp_path / "t.pcap")
    assert description.model(again) == {
        "kind": "playback",
        "capture": capture,
        "filter": "src net 10.0.0.0/8",
    }
    assert description.model(again, reverse=True) == {
        "kind": "playback",
        "capture": capture,
        "filter": "dst net 10.0.0.0/8",
    }
