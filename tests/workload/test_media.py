"""Delay variation and playout of a media stream.

Expected values are those of ``tests/golden/media_http.json``, or calculated by hand beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.workload.media import (
    adequate_share,
    delay_spread,
    delays,
    gaps,
    ipdv,
    jitter,
    pdv,
    without_skew,
)
from trustbed.workload.playout import late_parts, playout

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "media_http.json").read_text(encoding="utf-8")
)["computed"]
EXACT = 1e-9
TIMES = st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=60)


def test_delay_variation_is_that_of_the_golden_file() -> None:
    golden = GOLDEN["jitter"]
    delay = delays(golden["send_ms"], golden["recv_ms"])
    assert delay == golden["owd_ms"]
    assert gaps(golden["recv_ms"]) == golden["inter_arrival_ms"]
    assert jitter(delay) == pytest.approx(golden["rfc3550_ms"], rel=EXACT)
    assert pdv(delay) == golden["pdv_vs_min_ms"]
    assert ipdv(delay) == golden["ipdv_ms"]
    assert delay_spread(delay) == pytest.approx(golden["p95_minus_p50_ms"], rel=EXACT)


@pytest.mark.parametrize(("name", "buffer"), [("playout_0s", 0.0), ("playout_160ms", 0.16)])
def test_playout_is_that_of_the_golden_file(name: str, buffer: float) -> None:
    golden = GOLDEN[name]
    expected = golden["expect"]
    played = playout(
        [at / 1000 for at in golden["arrival_ms"]], frames_per_second=golden["fps"], buffer=buffer
    )
    assert played.start_up == pytest.approx(expected["startup_ms"] / 1000, rel=EXACT)
    assert [stall.frame for stall in played.stalls] == [one["frame"] for one in expected["stalls"]]
    assert [1000 * stall.seconds for stall in played.stalls] == pytest.approx(
        [one["ms"] for one in expected["stalls"]], rel=EXACT
    )
    assert 1000 * played.stalled == pytest.approx(expected["stall_ms_total"], rel=EXACT)
    assert played.end == pytest.approx(expected["end_ms"] / 1000, rel=EXACT)
    assert played.rebuffer_ratio == pytest.approx(expected["rebuffer_ratio"], rel=EXACT)
    assert played.lost_frames == expected["lost_frames"]


def test_a_lost_frame_is_shown_as_a_repeat() -> None:
    played = playout([0.0, None, 0.08, 0.12], frames_per_second=25)
    assert (played.lost_frames, played.stalls) == (1, ())
    assert played.shown == pytest.approx((0.0, 0.04, 0.08, 0.12))
    assert played.end == pytest.approx(0.16)


def test_a_lost_frame_does_not_hold_up_the_beginning() -> None:
    # Four frames fill the buffer: 0, 2, 3 and 4.
    played = playout([0.0, None, 0.08, 0.12, 0.16, 0.2], frames_per_second=25, buffer=0.16)
    assert played.start_up == pytest.approx(0.16)


def test_a_buffer_longer_than_the_media_is_filled_by_its_end() -> None:
    played = playout([0.0, 0.04, 0.3], frames_per_second=25, buffer=10)
    assert (played.start_up, played.stalls) == (0.3, ())


def test_nothing_is_shown_of_a_stream_that_never_came() -> None:
    played = playout([None, None], frames_per_second=25, buffer=1)
    assert (played.start_up, played.end, played.rebuffer_ratio) == (None, None, None)
    assert (played.lost_frames, played.due) == (2, (None, None))
    assert late_parts([(0, 7.0)], played.due) == 0


class Counted(tuple[float, ...]):
    """Frames that count how often they are looked at, one by one or on the way to others."""

    looked_at = 0

    def __getitem__(self, frame: Any) -> Any:  # noqa: ANN401 - as that of a tuple
        Counted.looked_at += 1
        return super().__getitem__(frame)

    def __iter__(self) -> Iterator[float]:
        for frame in range(len(self)):
            yield self[frame]


def test_frames_before_a_stall_are_not_looked_at_again() -> None:
    # Every frame comes 1 s after the one before it, and is waited for.
    frames = 1000
    Counted.looked_at = 0
    played = playout(Counted(range(frames)), frames_per_second=25)
    assert len(played.stalls) == frames - 1
    assert Counted.looked_at <= 5 * frames


def test_parts_are_late_that_come_after_their_frame_is_due() -> None:
    # Frame 2 is due at 80 ms: its first part is in time, its second comes at 120 ms. The stall
    # moves frame 3 to 160 ms.
    played = playout([0.0, 0.04, 0.12, 0.16], frames_per_second=25)
    parts = [(0, 0.0), (1, 0.04), (2, 0.08), (2, 0.12), (3, 0.16)]
    assert late_parts(parts, played.due) == 1


@given(TIMES, st.sampled_from([0.0, 0.1, 1.0, 10.0]), st.sampled_from([1.0, 25.0, 30.0]))
def test_frames_are_shown_in_order_and_none_before_it_is_complete(
    complete: list[float | None], buffer: float, rate: float
) -> None:
    played = playout(complete, frames_per_second=rate, buffer=buffer)
    if played.start_up is None:
        assert all(at is None for at in complete)
        return
    shown = [at for at in played.shown if at is not None]
    assert len(shown) == len(complete)
    assert all(gap >= 1 / rate - 1e-6 for gap in gaps(shown))
    assert all(at is None or at <= when + 1e-6 for at, when in zip(complete, shown, strict=True))
    # Start-up, media and stalls are all there is.
    assert played.end == pytest.approx(played.start_up + played.media + played.stalled, abs=1e-6)


def test_skew_is_removed_from_long_runs_only() -> None:
    # One clock gains 50 µs a second; every third packet waits 2 ms more.
    times = [float(at) for at in range(100)]
    late = [0.002 if at % 3 == 1 else 0.0 for at in range(100)]
    delay = [0.01 + 5e-5 * at + more for at, more in zip(times, late, strict=True)]
    assert without_skew(times, delay) == pytest.approx([0.01 + more for more in late], abs=1e-12)
    assert without_skew(times[:60], delay[:60]) == delay[:60]
    assert without_skew([], []) == []


@given(st.lists(st.floats(0, 1), min_size=3, max_size=50))
def test_a_constant_offset_changes_no_variation(delay: list[float]) -> None:
    moved = [one + 1000 for one in delay]
    assert jitter(moved) == pytest.approx(jitter(delay), abs=1e-9)
    assert pdv(moved) == pytest.approx(pdv(delay), abs=1e-9)
    assert delay_spread(moved) == pytest.approx(delay_spread(delay), abs=1e-9)


def test_a_second_with_a_frame_less_is_not_adequate() -> None:
    # 30 frames of 1875 bytes a second are 450 kbit/s. In the second of three one frame is lost.
    arrived = [frame / 30 for frame in range(90)]
    sizes = [1875] * 90
    assert adequate_share(arrived, sizes, rate=450_000, frames_per_second=30) == 1.0
    del arrived[45], sizes[45]
    found = adequate_share(arrived, sizes, rate=450_000, frames_per_second=30)
    assert found == pytest.approx(2 / 3)
    assert adequate_share(arrived[:20], sizes[:20], rate=1, frames_per_second=30) is None
    assert adequate_share([], [], rate=1, frames_per_second=30) is None


def test_nothing_varies_without_packets() -> None:
    assert (gaps([]), jitter([]), pdv([]), ipdv([]), delay_spread([])) == ([], [], [], [], None)
