"""The slow model of burstiness against the published examples.

What the pages are tested with must be right itself.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report import burst_reference as reference
from tests.report.burst_traffic import paced, released_by_timer

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
BURSTINESS = json.loads((GOLDEN / "burstiness.json").read_text(encoding="utf-8"))["computed"]
WAVELET = json.loads((GOLDEN / "wavelet.json").read_text(encoding="utf-8"))["computed"]
PACKETS = [(time, length) for time, length in BURSTINESS["packets_ns_bytes"]]


def test_waits_and_depths_are_those_of_the_example() -> None:
    assert reference.waits(PACKETS, BURSTINESS["rate_bps"]) == BURSTINESS["serial_wait_bytes"]
    assert [reference.depth(PACKETS, rate) for rate, _ in BURSTINESS["sigma_of_rho_bytes"]] == [
        depth for _, depth in BURSTINESS["sigma_of_rho_bytes"]
    ]


@pytest.mark.parametrize(
    ("rate", "wanted"), [(40e6, "static_wait_sys_per_window"), (None, "dynamic_same_reset")]
)
def test_windows_are_those_of_the_example(rate: float | None, wanted: str) -> None:
    rows = reference.windows(PACKETS, rate, BURSTINESS["T_ns"])
    found = {round(row["start_seconds"] * 1000): row for row in rows}
    for number, (wait, system) in enumerate(BURSTINESS[wanted][:4]):
        row = found[number]
        assert row["max_q_bytes"] == pytest.approx(wait)
        assert row["abw_bits_per_second"] == pytest.approx(BURSTINESS["abw_bps_per_window"][number])
        if row["packets"] and wanted.startswith("dynamic"):
            assert row["max_q_sys_bytes"] == pytest.approx(system)


def test_energies_are_those_of_the_example() -> None:
    golden = WAVELET["haar_16"]
    found = reference.octaves(golden["bins"], reference.HAAR)
    assert [point["count"] for point in found] == [8, 4]
    for point, wanted in zip(found, golden["octaves"], strict=False):
        assert point["energy"] == pytest.approx(wanted["energy_log2"])
        assert point["y"] == pytest.approx(wanted["y"])
        assert (point["low"], point["high"]) == pytest.approx(tuple(wanted["ci95"]), abs=1e-5)


def test_chi_square_tail_at_its_tabulated_points() -> None:
    points = [(3.841459, 1), (5.991465, 2), (7.814728, 3), (9.487729, 4), (11.0705, 5)]
    assert [reference.beyond(square, freedom) for square, freedom in points] == pytest.approx(
        [0.05] * 5, abs=1e-6
    )


@pytest.mark.parametrize("hertz", [100, 1000])
def test_a_timer_makes_bursts_and_pacing_none(hertz: int) -> None:
    frames = 33 if hertz == 100 else 3
    simulated = BURSTINESS["pacing_experiment"]["simulated"][f"TBF_HZ{hertz}"]
    rows = reference.windows(released_by_timer(hertz=hertz, frames=frames, seconds=0.5), 40e6)
    assert max(row["max_q_bytes"] for row in rows) / 1024 == pytest.approx(
        simulated["maxQ_wait_KB_max"], rel=0.01
    )
    assert max(row["max_q_bytes"] for row in reference.windows(paced(seconds=0.5), 41e6)) == 0


def test_a_buffer_as_deep_as_needed_loses_nothing_and_one_byte_less_something() -> None:
    depth = reference.depth(PACKETS, 40e6)
    assert reference.queue(PACKETS, 40e6, depth)["lost_packets"] == 0
    assert (
        reference.queue(PACKETS, 40e6, depth - 1)["lost_packets"] == 2
    )  # two packets meet the deepest queue
