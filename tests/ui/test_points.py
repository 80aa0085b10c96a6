"""What a pixel shows is the smallest and the largest of what it covers, and nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trustbed
from trustbed.ui import points

SEGMENTS = pa.schema(
    [
        ("transfer", pa.string()),
        ("index", pa.uint64()),
        ("ts_ns", pa.timestamp("ns", "UTC")),
        ("offset", pa.int64()),
        ("length", pa.uint64()),
        ("class", pa.string()),
        ("outstanding", pa.int64()),
        ("window", pa.uint64()),
    ]
)
RTT = pa.schema(
    [
        ("transfer", pa.string()),
        ("ts_ns", pa.int64()),
        ("rtt_ns", pa.int64()),
        ("kind", pa.string()),
    ]
)
SPACING = pa.schema([("transfer", pa.string()), ("ts_ns", pa.int64()), ("spacing_ns", pa.int64())])
CLASSES = ("new", "retransmission", "fill")


def written(directory: Path, segments: list[dict[str, object]]) -> points.Points:
    tables = {
        "segments": pa.Table.from_pylist(segments, SEGMENTS).to_reader(max_chunksize=7),
        "rtt": pa.Table.from_pylist([], RTT).to_reader(),
        "spacing": pa.Table.from_pylist([], SPACING).to_reader(),
    }
    points.write(directory, tables, "1.0", 1000)
    found = points.load(directory)
    assert found is not None
    return found


def segment(
    time: int, number: int, *, mark: int = 0, window: int | None = 900
) -> dict[str, object]:
    return {
        "transfer": "1.0" if number % 5 else "3.0",
        "index": number,
        "ts_ns": 1000 + time,
        "offset": number * 37 % 101,
        "length": 10,
        "class": CLASSES[mark],
        "outstanding": number % 13,
        "window": window,
    }


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=300),
    st.integers(0, 4000),
    st.integers(1, 3000),
    st.integers(10, 40),
)
def test_a_view_has_the_extremes_of_every_pixel(
    tmp_path_factory: pytest.TempPathFactory, times: list[int], begin: int, length: int, pixels: int
) -> None:
    rows = [
        segment(time, n, mark=n % 3, window=None if n % 7 else 9) for n, time in enumerate(times)
    ]
    own = sorted((row for row in rows if row["transfer"] == "1.0"), key=lambda row: row["ts_ns"])
    found = written(tmp_path_factory.mktemp("points") / "one", rows)
    assert found.packets == len(own)
    end = begin + length
    view = points.view(found, begin, end, pixels)
    seen = [row for row in own if begin <= row["ts_ns"] - 1000 <= end]
    assert view["packets"] == len(seen)
    sequence = view["sequence"]
    if view["exact"]:
        assert sequence["t"] == [row["ts_ns"] - 1000 for row in seen]
        assert sequence["index"] == [row["index"] for row in seen]
        return
    edges = np.linspace(begin, end, pixels + 1).astype(np.int64).tolist()
    expected = []
    for number, (low, high) in enumerate(pairwise(edges)):
        is_last = number == pixels - 1
        cell = [
            row
            for row in seen
            if low <= row["ts_ns"] - 1000 < high or (is_last and row["ts_ns"] - 1000 == high)
        ]
        if cell:
            expected.append(
                (
                    low + (high - low) // 2,
                    min(row["offset"] for row in cell),
                    max(row["offset"] + 10 for row in cell),
                )
            )
    assert list(zip(sequence["t"], sequence["low"], sequence["high"], strict=True)) == expected
    assert max(view["flight"]["high"]) == max(row["outstanding"] for row in seen)


def test_marks_are_never_all_lost(tmp_path: Path) -> None:
    rows = [segment(n, 5 * n + 1, mark=1 if n == 1321 else 0) for n in range(3000)]
    found = written(tmp_path / "one", rows)
    view = points.view(found, 0, 3000, 100)
    assert (view["exact"], view["marks"]["t"], view["marks"]["kind"]) == (False, [1321], [1])
    many = written(tmp_path / "two", [segment(n, 5 * n + 1, mark=1 + n % 2) for n in range(3000)])
    marks = points.view(many, 0, 3000, 100)["marks"]
    assert len(marks["t"]) == 200
    assert set(marks["kind"]) == {1, 2}


def test_bytes_per_second_add_up(tmp_path: Path) -> None:
    found = written(tmp_path / "one", [segment(n * 977, 5 * n + 1) for n in range(2000)])
    rate = points.view(found, 0, 2000 * 977, 200)["rate"]
    assert sum(rate["bytes_per_second"]) * rate["step"] / 1e9 == pytest.approx(20_000)


def test_what_is_unknown_is_null(tmp_path: Path) -> None:
    found = written(tmp_path / "one", [segment(n, 5 * n + 1, window=None) for n in range(2000)])
    for view in (points.view(found, 0, 2000, 100), points.view(found, 0, 30, 100)):
        assert set(view["flight"]["window"]) == {None}
        assert set(view["sequence"]["edge"]) == {None}
        assert None not in view["sequence"]["acked"]


def test_nothing_is_a_view_without_points(tmp_path: Path) -> None:
    found = written(tmp_path / "one", [])
    view = points.view(found, 0, 1000, 100)
    assert (view["packets"], view["sequence"]["t"], view["exact"]) == (0, [], True)
    assert points.load(tmp_path / "none") is None


def test_points_are_those_of_the_tables(tmp_path: Path, recordings: Path) -> None:
    capture = trustbed.analyze(recordings / "random-loss.sender.pcap.gz", samples=True)
    name = max(capture.rows(), key=lambda row: row["unique_bytes"])["transfer"]
    row = next(row for row in capture.rows() if row["transfer"] == name)
    start = round(row["start_seconds"] * 1e9)
    tables = {one: capture.stream(one) for one in ("segments", "rtt", "spacing")}
    points.write(tmp_path / "one", tables, name, start)
    found = points.load(tmp_path / "one")
    assert found is not None
    assert found.packets == row["data_packets"]
    assert len(found.marks) >= row["retransmitted_packets"] > 0
    view = points.view(found, 0, found.end, 800)
    assert max(view["flight"]["high"]) == row["outstanding_max_bytes"]
    assert max(view["rtt"]["high"]) == pytest.approx(row["rtt_max_seconds"])
    assert max(found.segments["sent"]) == row["payload_bytes"]
