"""The rows of media streams and videos become tables; expected values are calculated by hand."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from trustbed.run.player_results import CHUNKS, FRAMES, PACKETS, PLAYOUT, VIEWING
from trustbed.run.workload_results import tables_of
from trustbed.scenario import Workload, load

MS = 1_000_000
NONE = -(2**63)
START = 1_700_000_000_000_000_000
PACKET = ("frame", "part", "parts", "bytes", "transmission", "sent_ns", "arrived_ns")
CHUNK = (
    "chunk",
    "media_ns",
    "rate_bits_per_second",
    "asked_ns",
    "first_byte_ns",
    "last_byte_ns",
    "bytes",
    "buffer_before_ns",
    "buffer_after_ns",
    "stall_ns",
    "fault",
)
STREAM = {"rate_bits_per_second": 375_000, "frames_per_second": 25, "frames": 4}
"""Frames of 1875 bytes, 40 ms apart."""


SCENARIO = """
[hosts.client]
[hosts.server]
[link]
rate = "4Mbit/s"
[workload.film]
kind = "media"
host = "client"
to = "server"
rate = "375kbit/s"
frames_per_second = 25
duration = "160ms"
"""


def written(path: Path, names: Sequence[str], records: Sequence[Sequence[int]]) -> None:
    path.parent.mkdir(exist_ok=True)
    columns = [
        {
            "name": name,
            "type": "i64",
            "unit": "",
            "meaning": "0 none, 1 refused, 4 reset" if name == "fault" else "x",
        }
        for name in names
    ]
    header = {
        "columns": columns,
        "byte_order": "little",
        "record_bytes": 8 * len(names),
        "none": NONE,
    }
    body = b"".join(struct.pack(f"<{len(names)}q", *record) for record in records)
    path.write_bytes(json.dumps(header).encode() + b"\n" + body)


def packet(frame: int, part: int, sent: int, arrived: int, again: int = 0) -> tuple[int, ...]:
    return (frame, part, 2, (1400, 475)[part], again, START + sent * MS, arrived * MS)


@pytest.fixture
def media(tmp_path: Path) -> dict[str, Any]:
    """Frame 2 loses a part, which comes late; frame 3 loses one that never comes."""
    rows = [
        packet(0, 0, 10, 30),
        packet(0, 1, 10, 31),
        packet(1, 0, 50, 70),
        packet(1, 1, 50, 70),
        packet(2, 0, 90, 110),
        packet(3, 0, 130, 150),
        packet(2, 1, 170, 190, again=1),
        packet(2, 1, 200, 220, again=2),
    ]
    written(tmp_path / "logs" / "film.packets.rows", PACKET, rows)
    report = {"start_ns": START, "media": STREAM, "buffer_ns": 0}
    tables, error = tables_of({"name": "film", "kind": "media", "report": report}, tmp_path)
    assert error is None
    return tables


def test_every_packet_has_its_delay_and_what_it_varies_by(media: dict[str, Any]) -> None:
    table = media["packets"]
    assert table.schema == PACKETS
    rows = table.to_pylist()
    assert [row["delay_ns"] // MS for row in rows] == [20, 21, 20, 20, 20, 20, 20, 20]
    assert [row["gap_ns"] and row["gap_ns"] // MS for row in rows] == [
        None,
        1,
        39,
        0,
        40,
        40,
        40,
        30,
    ]
    assert [row["ipdv_ns"] for row in rows[:4]] == [None, MS, -MS, 0]
    assert [row["pdv_ns"] for row in rows[:3]] == [0, MS, 0]
    # 1 / 16, and that plus (1 − 1/16) / 16.
    assert [row["jitter_ns"] for row in rows[:3]] == [None, 62_500, 121_094]
    assert [row["is_retransmission"] for row in rows] == [False] * 6 + [True, True]
    assert [row["is_duplicate"] for row in rows] == [False] * 7 + [True]


def test_frames_are_played_by_the_time_they_are_complete(media: dict[str, Any]) -> None:
    table = media["frames"]
    assert table.schema == FRAMES
    rows = table.to_pylist()
    assert [row["complete_ns"] for row in rows] == [31 * MS, 70 * MS, 190 * MS, None]
    # It begins at 31 ms; frame 2 is due at 111 ms and comes at 190 ms.
    assert [round(row["due_ns"] / MS) for row in rows] == [31, 71, 111, 230]
    assert [round(row["stall_ns"] / MS) for row in rows] == [0, 0, 79, 0]
    assert [row["is_lost"] for row in rows] == [False, False, False, True]
    assert [row["late_parts"] for row in rows] == [0, 0, 1, 0]


def test_a_stream_is_summed_up_in_a_row(media: dict[str, Any]) -> None:
    table = media["playout"]
    assert table.schema == PLAYOUT
    (row,) = table.to_pylist()
    assert (row["start_up_ns"], row["stalls"], row["stall_ns"]) == (31 * MS, 1, 79 * MS)
    assert row["rebuffer_ratio"] == pytest.approx(79 / 160)
    assert (row["frames"], row["lost_frames"]) == (4, 1)
    assert (row["parts"], row["missing_parts"], row["late_parts"]) == (8, 1, 1)
    assert (row["packets"], row["retransmitted_packets"], row["duplicate_packets"]) == (8, 2, 1)
    # One of eight delays is 1 ms more: type 7 puts the 95th percentile at 0.65 of it.
    assert row["delay_spread_ns"] == pytest.approx(0.65 * MS, abs=1)
    assert row["adequate_share"] is None  # not a whole second


def test_a_stream_of_which_nothing_came(tmp_path: Path) -> None:
    written(tmp_path / "logs" / "film.packets.rows", PACKET, [])
    report = {"start_ns": START, "media": STREAM, "buffer_ns": 0}
    tables, error = tables_of({"name": "film", "kind": "media", "report": report}, tmp_path)
    assert error is None
    (row,) = tables["playout"].to_pylist()
    assert (row["start_up_ns"], row["stalls"], row["rebuffer_ratio"]) == (None, None, None)
    assert (row["lost_frames"], row["missing_parts"], row["delay_spread_ns"]) == (4, 8, None)


@pytest.fixture
def planned(tmp_path: Path) -> Workload:
    """The stream as a scenario has it."""
    (tmp_path / "film.toml").write_text(SCENARIO, encoding="utf-8")
    return load(tmp_path / "film.toml").first.workloads[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [("frames", 10_000_000), ("rate_bits_per_second", 10**15), ("frames_per_second", 1)],
)
def test_a_report_of_another_stream_than_the_scenario_s_is_refused(
    tmp_path: Path, planned: Workload, name: str, value: int
) -> None:
    written(tmp_path / "logs" / "film.packets.rows", PACKET, [packet(0, 0, 10, 30)])
    report = {"start_ns": START, "media": STREAM, "buffer_ns": 0}
    workload = {"name": "film", "kind": "media", "report": report}
    tables, error = tables_of(workload, tmp_path, planned=planned)
    assert (error, len(tables)) == (None, 3)
    workload["report"] = {**report, "media": {**STREAM, name: value}}
    tables, error = tables_of(workload, tmp_path, planned=planned)
    assert not tables
    assert error is not None
    assert "do not fit together" in error
    assert f"{name} is {value}, and {STREAM[name]} in the scenario" in error


def test_a_video_is_its_chunks_and_what_a_viewer_saw(tmp_path: Path) -> None:
    second = 1000 * MS
    rows = [
        (0, 2 * second, 10**6, 0, NONE, NONE, 0, 0, 0, 0, 1),
        (0, 2 * second, 10**6, 100 * MS, 150 * MS, 600 * MS, 250_000, 0, 2 * second, 0, 0),
        (1, 2 * second, 2 * 10**6, 600 * MS, 700 * MS, 3600 * MS, 500_000, 0, 0, second, 0),
    ]
    written(tmp_path / "logs" / "show.chunks.rows", CHUNK, rows)
    report = {"start_ns": START, "video_chunks": 3}
    tables, error = tables_of({"name": "show", "kind": "video", "report": report}, tmp_path)
    assert error is None
    chunks = tables["chunks"]
    assert chunks.schema == CHUNKS
    assert chunks["error"].to_pylist() == ["refused", None, None]
    # 250 kB in 0.5 s, 500 kB in 3 s.
    assert chunks["throughput_bits_per_second"].to_pylist() == [
        None,
        pytest.approx(4e6),
        pytest.approx(4e6 / 3),
    ]
    assert tables["playout"].schema == VIEWING
    (row,) = tables["playout"].to_pylist()
    assert (row["start_up_ns"], row["stalls"], row["stall_ns"]) == (600 * MS, 1, second)
    assert (row["chunks"], row["missing_chunks"], row["failed_requests"]) == (2, 1, 1)
    assert (row["switches"], row["mean_rate_bits_per_second"]) == (1, 1.5e6)
    assert row["rebuffer_ratio"] == pytest.approx(1 / 4)


@pytest.mark.parametrize("kind", ["media", "video"])
def test_rows_that_are_not_there_are_a_reason(tmp_path: Path, kind: str) -> None:
    tables, error = tables_of({"name": "film", "kind": kind, "report": None}, tmp_path)
    assert tables == {}
    assert error is not None
    assert "no such file" in error


@pytest.mark.parametrize(
    ("kind", "names", "more"),
    [
        ("media", PACKET[:-1], {}),
        ("media", ("frame",), {}),
        ("media", PACKET, {"media": {**STREAM, "frames": 10**12}}),
        ("media", PACKET, {"media": {**STREAM, "frames_per_second": 0}}),
        ("media", PACKET, {"media": [STREAM]}),
        ("media", PACKET, {"media": STREAM, "start_ns": 2**62}),
        ("media", PACKET, {"media": STREAM, "buffer_ns": "some"}),
        ("video", CHUNK[:-1], {}),
        ("video", PACKET, {}),
        ("video", CHUNK, {"video_chunks": "all"}),
        ("http", PACKET, {}),
        ("bulk", (), {"transfers": [{"connected_ns": -(2**63), "last_byte_ns": 2**63 - 1}]}),
    ],
)  # fmt: skip
def test_results_that_contradict_themselves_are_left_out_with_the_reason(
    tmp_path: Path, kind: str, names: Sequence[str], more: dict[str, Any]
) -> None:
    file = {"media": "packets", "video": "chunks", "http": "requests", "bulk": "none"}[kind]
    records = [[number * 2**40 for number in range(len(names))], [2**62] * len(names)]
    written(tmp_path / "logs" / f"w.{file}.rows", names, records)
    report = {"media": STREAM, "start_ns": START, **more}
    tables, why_not = tables_of({"name": "w", "kind": kind, "report": report}, tmp_path)
    assert not tables
    assert why_not is not None
    assert "do not fit together" in why_not
