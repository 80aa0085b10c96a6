"""What the bench makes of the times of packets, on times that are known."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from bench import generators
from bench.generators import GAP_NS, Stamps, judge_paced, judge_timed
from bench.process import ProgramFailed


def even(packets: int) -> Stamps:
    """Packets exactly at their times."""
    times: Stamps = np.arange(packets, dtype=np.float64) * GAP_NS
    return times


def test_packets_at_their_times_have_no_error() -> None:
    found = judge_paced(even(5000), own_p99_ns=700.0)
    assert (found.gap_p50_us, found.gap_p99_us, found.gap_worst_us, found.drift_us) == (0, 0, 0, 0)
    assert found.own_p99_us == pytest.approx(0.7)
    assert found.seconds == pytest.approx(1.5)


def test_a_late_packet_spoils_two_gaps_and_is_no_drift() -> None:
    stamps = even(5000)
    stamps[2500] += 80_000
    found = judge_paced(stamps, own_p99_ns=0)
    assert (found.gap_worst_us, found.gap_p99_us, found.drift_us) == (80, 0, 0)


def test_a_wrong_clock_is_drift() -> None:
    slow = np.arange(5000, dtype=np.float64) * (GAP_NS + 3)
    assert judge_paced(slow, own_p99_ns=0).drift_us == pytest.approx(4000 * 3 / 1e3)


@pytest.mark.parametrize("hertz", [100, 250, 1000])
def test_packets_of_a_tick_are_a_burst(hertz: int) -> None:
    tick = 1_000_000_000 // hertz
    due = np.arange(10_000, dtype=np.int64) * GAP_NS
    ticks = -(-due // tick) * tick
    behind = np.concatenate([np.arange(size) for size in np.unique(ticks, return_counts=True)[1]])
    found = judge_timed((ticks + 2_000 * behind).astype(np.float64), hertz, own_p99_ns=0)
    assert found.packets_per_tick == pytest.approx(tick / GAP_NS, rel=0.01)
    assert (found.odd_share, found.tick_p99_us) == (0, 0)
    with pytest.raises(ProgramFailed, match="held back"):
        judge_timed(even(10_000), hertz, own_p99_ns=0)


def test_a_capture_is_read_by_its_numbers(tmp_path: Path) -> None:
    file = tmp_path / "capture"

    def record(number: int, nanoseconds: int) -> bytes:
        frame = (
            bytes(generators._NUMBER_AT)
            + struct.pack(">I", number)
            + bytes(64 - generators._NUMBER_AT - 4)
        )
        return struct.pack("<IIII", 1_700_000_000, nanoseconds, 64, 1514) + frame

    file.write_bytes(bytes(24) + record(1, 20) + record(0, 10) + record(2, 30))
    assert generators._read(file).tolist() == [0, 10, 20]
    file.write_bytes(bytes(24) + record(0, 10) + record(2, 30))
    missing = generators._read(file)
    assert np.isnan(missing).tolist() == [False, True, False]
    assert missing[2] == 20
    file.write_bytes(bytes(24) + record(0, 10) + record(0, 30))
    with pytest.raises(ProgramFailed, match="a packet twice"):
        generators._read(file)


def test_what_was_not_captured_is_neither_a_gap_nor_drift() -> None:
    stamps = even(5000)
    stamps[[0, 2500, 4999]] = np.nan
    found = judge_paced(stamps, own_p99_ns=0)
    assert (found.gap_worst_us, found.drift_us) == (0, 0)
