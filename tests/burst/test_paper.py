"""The published experiment, generated in virtual time and measured through the whole program.

A capture in, the table out.

A token bucket that a timer releases sends bursts of BW/HZ at the speed of its link; perfect pacing
sends one packet after the other. The paper printed 46.9 KB for the first with a timer of 100 Hz,
and 0 for the second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.burst.conftest import Run

SIMULATED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "burstiness.json").read_text(encoding="utf-8")
)["computed"]["pacing_experiment"]["simulated"]

START = 1_700_000_000_000_000_000
RATE = 40_000_000
FRAME = 1514
BACK_TO_BACK = 12_304
"""Nanoseconds that a frame takes on a link of 1 Gbit/s, with preamble and gap."""
SECONDS = 1.05
"""Ten windows of 100 ms, and a partial one."""


def released_by_a_timer(hertz: int) -> Iterator[tuple[int, int]]:
    """Whole frames of what may be sent in a tick.

    What is left of a tick's allowance is lost, as the bucket is full.
    """
    allowance = RATE // 8 // hertz
    for tick in range(int(SECONDS * hertz)):
        for frame in range(allowance // FRAME):
            yield START + tick * 10**9 // hertz + frame * BACK_TO_BACK, FRAME


def paced() -> Iterator[tuple[int, int]]:
    gap = FRAME * 8 * 10**9 // RATE
    return ((time, FRAME) for time in range(START, START + int(SECONDS * 10**9), gap))


@pytest.mark.parametrize(("hertz", "printed"), [(100, 46.9), (250, 18.75), (1000, 4.69)])
def test_a_timer_makes_bursts(run: Run, hertz: int, printed: float) -> None:
    summary = run(released_by_a_timer(hertz), "--rate", "40Mbit/s", "--json").model["summary"]
    simulated = SIMULATED[f"TBF_HZ{hertz}"]
    assert summary["windows"] == 10
    assert summary["max_q_mean_bytes"] / 1024 == pytest.approx(
        simulated["maxQ_wait_KB_mean"], rel=1e-9
    )
    assert summary["max_q_max_bytes"] / 1024 == pytest.approx(
        simulated["maxQ_wait_KB_max"], rel=1e-9
    )
    assert summary["max_q_sys_max_bytes"] / 1024 == pytest.approx(
        simulated["maxQ_sys_KB_max"], rel=1e-9
    )
    assert summary["abw_mean_bits_per_second"] / 1e6 == pytest.approx(
        simulated["ABW_Mbps_mean"], rel=1e-9
    )
    if hertz == 100:
        assert summary["max_q_mean_bytes"] / 1024 == pytest.approx(printed, rel=0.05)


def test_pacing_makes_none(run: Run) -> None:
    summary = run(paced(), "--rate", "40Mbit/s", "--json").model["summary"]
    assert summary["max_q_max_bytes"] / 1024 < 0.01
    assert summary["max_q_sys_max_bytes"] == FRAME
    assert summary["abw_mean_bits_per_second"] == pytest.approx(RATE, rel=0.001)


def test_the_table_shows_the_four_columns(run: Run) -> None:
    table = run(released_by_a_timer(100), "--rate", "40Mbit/s").out
    assert re.search(r"^BURSTINESS +ABW MEAN +ABW MAX +MAXQ MEAN +MAXQ MAX$", table, re.MULTILINE)
    assert re.search(
        r"^10 windows of 100 ms +40.0 Mbit/s +40.0 Mbit/s +46.5 kB +46.5 kB$", table, re.MULTILINE
    )
    paced_table = run(paced(), "--rate", "40Mbit/s").out
    assert re.search(
        r"^10 windows of 100 ms +40.0 Mbit/s +40.\d Mbit/s +0 B +0 B$", paced_table, re.MULTILINE
    )


def test_what_a_small_buffer_loses_is_what_the_bursts_do_not_leave_room_for(run: Run) -> None:
    model = run(
        released_by_a_timer(100), "--rate", "40Mbit/s", "--buffer", "24KiB,48KiB,64KiB", "--json"
    ).model
    small, enough, more = model["queue"]
    # A burst of 33 frames lasts 394 µs, in which the link takes 1.3 of them: the buffer takes 16
    # and what is sent meanwhile.
    assert small["loss_rate"] == pytest.approx((33 - 24576 // FRAME - 1) / 33, abs=0.03)
    assert small["loss_run_max"] < 33
    assert (enough["lost_packets"], more["lost_packets"]) == (0, 0)
    assert enough["wait_max_seconds"] == pytest.approx(
        SIMULATED["TBF_HZ100"]["maxQ_wait_KB_max"] * 1024 * 8 / RATE, abs=1e-9
    )
