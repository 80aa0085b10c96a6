"""Captures and options that make no sense, or hardly any.

Clear words, the right exit code, and numbers that say what they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.burst.conftest import Run, ethernet, pcap

MS = 1_000_000
START = 1_700_000_000_000 * MS


def codes(model: dict[str, Any]) -> list[str]:
    return [found["code"] for found in model["findings"]]


def test_no_packets(run: Run) -> None:
    model = run(pcap([]), "--json").model
    assert (
        model["packets"],
        model["bytes"],
        model["first"],
        model["mean_rate_bits_per_second"],
    ) == (0, 0, None, None)
    assert (model["windows"], model["sigma"], model["queue"], model["delay"]) == ([], [], [], [])
    assert codes(model) == ["burst_no_packets"]
    ended = run(pcap([]))
    assert ended.code == 0
    assert "no packets to measure" in ended.out


def test_one_packet(run: Run) -> None:
    model = run([(START, 1514)], "--rate", "1Mbit/s", "--json").model
    assert (model["packets"], model["duration_seconds"], model["mean_rate_bits_per_second"]) == (
        1,
        0,
        None,
    )
    assert [(row["packets"], row["partial"]) for row in model["windows"]] == [(1, True)]
    assert {row["lost_packets"] for row in model["queue"]} == {0}
    assert model["gaps"]["mean_seconds"] is None
    assert run([(START, 1514)]).code == 0


def test_packets_without_length(run: Run) -> None:
    model = run([(START + index * MS, 0) for index in range(300)], "--json").model
    assert (model["packets"], model["bytes"], model["mean_rate_bits_per_second"]) == (300, 0, 0.0)
    assert model["summary"]["max_q_max_bytes"] == 0
    assert model["energy"]["octaves"][0]["energy"] is None
    assert run([(START + index * MS, 0) for index in range(300)]).code == 0


def test_all_at_one_moment(run: Run) -> None:
    model = run([(START, 100)] * 50, "--rate", "1Gbit/s", "--json").model
    assert model["windows"][0]["max_q_bytes"] == 4900
    assert model["delay"][0]["buffer_needed_bytes"] == 5000
    assert "bunched_timestamps" in codes(model)


def test_small_disorder_is_put_in_order(run: Run) -> None:
    packets = [(START + index * MS, 1000) for index in range(400)]
    swapped = [packet for pair in zip(packets[1::2], packets[::2], strict=True) for packet in pair]
    ordered, disordered = (run(each, "--json").model for each in (packets, swapped))
    assert disordered["windows"] == ordered["windows"]
    assert disordered["capture"]["reordered_records"] == 200
    assert (disordered["steps_back"], codes(disordered)) == (
        0,
        ["records_out_of_order", "coarse_timestamps"],
    )


def test_a_clock_that_steps_back(run: Run) -> None:
    before = [(START + index * MS, 1000) for index in range(1000)]
    after = [(START + (index - 5000) * MS + 300, 1000) for index in range(1000)]
    model = run(before + after, "--json").model
    assert model["steps_back"] == 1
    assert model["packets"] == 2000
    assert model["duration_seconds"] == pytest.approx(1.998, abs=1e-6)
    # Evenly spaced before and after: nothing but the step itself makes a queue.
    assert model["summary"]["max_q_max_bytes"] <= 1000
    assert "burst_clock_steps" in codes(model)


def test_a_window_longer_than_the_capture(run: Run) -> None:
    model = run([(START + MS, 100), (START + 2 * MS, 100)], "--window", "10s", "--json").model
    assert (len(model["windows"]), model["windows"][0]["partial"]) == (1, True)
    assert (model["summary"]["windows"], model["summary"]["max_q_max_bytes"]) == (0, None)
    assert "burst_no_whole_window" in codes(model)
    assert (
        "the capture ends within its first window of 10.0 s"
        in run([(START + MS, 100), (START + 2 * MS, 100)], "--window", "10s").out
    )


def test_windows_that_nobody_reads(run: Run) -> None:
    packets = [(START + index * MS, 100) for index in range(600_000)]
    ended = run(packets, "--window", "100us")
    assert ended.code == 1
    assert ended.err.splitlines() == [
        "error: windows of 0.1 ms would be up to 1,200,000 rows, more than 1,000,000",
        "hint: give a longer --window, such as 1ms",
    ]


def test_a_silence_of_years_is_one_row(run: Run) -> None:
    model = run([(START - START, 100), (START, 100), (START + 150 * MS, 100)], "--json").model
    assert [row["windows"] for row in model["windows"]] == [1, 16_999_999_999, 1, 1]
    assert "burst_silence" in codes(model)
    assert len(model["rates"]["points"]) < 10


WRONG = [
    ["--rate", "0"],
    ["--rate", "40"],
    ["--rates", "1Mbit/s,40"],
    ["--buffer", "16KiB,32"],
    ["--rate", "11Tbit/s"],
    ["--rate", "fast"],
    ["--rates", "1Mbit/s,0bit/s"],
    ["--mode", "static"],
    ["--window", "0ms"],
    ["--window", "-1s"],
    ["--bin", "0ns"],
    ["--buffer", "0"],
    ["--filter", "port http"],
    ["--octaves", "9-3"],
    ["--octaves", "3"],
    ["--offload", "spread"],
    ["--only", "windows,magic"],
    ["--csv"],
    ["--by", "colour"],
    ["--top", "-3"],
    ["--rat", "1Mbit/s"],
    ["--lost"],
    ["--lost", "--out", "x", "--only", "windows"],
]


def test_options_that_make_no_sense_are_refused_with_a_hint(
    run: Run, snapshot: SnapshotAssertion
) -> None:
    found = []
    for options in WRONG:
        ended = run(pcap([]), *options)
        assert (ended.code, ended.out) == (2, "")
        found.append(f"{' '.join(options)}\n{ended.err}")
    assert "\n".join(found) == snapshot


def test_the_largest_rate_is_measured(run: Run) -> None:
    model = run([(START, 1514), (START + 1, 1514)], "--rate", "10Tbit/s", "--json").model
    assert model["windows"][0]["max_q_bytes"] == 1514 - 1250
    assert max(point["rate_bits_per_second"] for point in model["sigma"]) == 10**13


def test_a_file_that_is_none(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a capture")
    for capture in (text, tmp_path / "nowhere.pcap"):
        ended = run(capture)
        assert ended.code == 1
        assert [line.split(":")[0] for line in ended.err.splitlines()] == ["error", "hint"]


def test_damage_is_measured_around_and_strict_says_so(run: Run) -> None:
    whole = pcap([(START + index * MS, 60) for index in range(10)], frames=[ethernet(1, 2)] * 10)
    model = run(whole[:-7], "--json").model
    assert model["packets"] == 9
    assert "read_problem" in codes(model)
    ended = run(whole[:-7], "--strict")
    assert ended.code == 1
    assert "part of the capture could not be read" in ended.err
    assert "9 packets" in ended.out
    assert run(whole, "--strict").code == 0


def test_frames_without_ip_are_counted_where_ip_lengths_count(run: Run) -> None:
    frames = [ethernet(1, 2, length=100), bytes(12) + b"\x08\x06" + bytes(28)]
    model = run(
        pcap([(START, 100), (START + MS, 60)], frames=frames), "--basis", "ip", "--json"
    ).model
    assert (model["packets"], model["bytes"], model["left_out"]) == (
        1,
        86,
        {"filtered": 0, "without_ip": 1},
    )
    assert "burst_without_ip" in codes(model)
