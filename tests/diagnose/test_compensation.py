"""What the network would have given a transfer whose machine stood still."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trustbed.diagnose.compensation import SPREAD, without_pauses
from trustbed.diagnose.diagnosis import diagnose
from trustbed.diagnose.evidence import Evidence

# A window of 64 KB at 20 ms allows 3.16 MB/s; half of the time was withheld, and half of the rate was had.
STARVED = Evidence(
    throughput_bytes_per_second=1_580_000.0,
    window_bytes=65_535.0,
    payload_bytes=1448.0,
    packet_bytes=1500.0,
    rtt_base_seconds=0.020,
    rtt_seconds=0.020,
    loss=0.0,
    oversize_fraction=0.4,
    withheld_fraction=0.5,
)
BOUND = 65_535 * 1448 / (1500 * 0.020)


def estimated(evidence: Evidence) -> tuple[float | None, str | None]:
    numbers = diagnose(evidence).numbers
    assert numbers is not None
    found = without_pauses(evidence, numbers)
    return found.bytes_per_second, found.reason


def test_the_window_is_what_remains() -> None:
    numbers = diagnose(STARVED).numbers
    assert numbers is not None
    found = without_pauses(STARVED, numbers)
    assert found.bytes_per_second == pytest.approx(BOUND)
    assert (found.low, found.high) == (pytest.approx(SPREAD[0] * BOUND), pytest.approx(SPREAD[1] * BOUND))


def test_what_the_host_says_counts_where_it_says_more() -> None:
    assert estimated(replace(STARVED, withheld_fraction=0.1, oversize_fraction=0.0))[0] is None
    assert estimated(replace(STARVED, withheld_fraction=0.1, oversize_fraction=0.0, processor_missed=0.5))[0] == pytest.approx(BOUND)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"loss": 0.01}, "lost"),
        ({"loss": None}, "lost"),
        ({"rtt_seconds": 0.023}, "round trips grew"),
        ({"withheld_fraction": 0.2, "oversize_fraction": 0.2}, "even without"),
        ({"withheld_fraction": 0.0, "oversize_fraction": None}, "not known"),
        ({"window_bytes": None}, "not known"),
    ],
)
def test_why_there_is_none_is_said(change: dict[str, float | None], why: str) -> None:
    rate, reason = estimated(replace(STARVED, **change))  # type: ignore[arg-type] # fields by their names
    assert rate is None
    assert reason is not None
    assert why in reason
