"""Probes held against a ledger that is made up."""

from __future__ import annotations

from typing import Any

import pytest

from bench.delay import compared
from bench.process import ProgramFailed


def crossed(pipe: int, packet: int, delay: int) -> dict[str, Any]:
    return {
        "pipe": pipe,
        "packet": packet,
        "arrived_ns": 1000 * packet,
        "actual_ns": 1000 * packet + delay,
    }


def answered(sent: int, there: int, back: int) -> dict[str, Any]:
    return {
        "sent_ns": sent,
        "reflector_sent_ns": sent + there,
        "forward_ns": there,
        "backward_ns": back,
        "round_trip_ns": there + back,
    }


def test_packets_are_found_by_their_order_in_each_direction() -> None:
    probes = [answered(0, 900, 50), answered(10, 100, 70), answered(20, 310, 60)]
    # The second and third come before the first, and are answered before it.
    ledger = [
        crossed(0, 1, 890),
        crossed(0, 2, 100),
        crossed(0, 5, 300),
        crossed(1, 3, 70),
        crossed(1, 4, 58),
        crossed(1, 6, 50),
    ]
    found = compared(probes, ledger)
    assert (found["forward"].probes, found["forward"].error_p50, found["forward"].error_p99) == (
        3,
        10,
        10,
    )
    assert (found["backward"].error_p50, found["backward"].error_p99) == (0, 2)
    assert found["forward"].jitter == 900 - 310
    assert found["forward"].jitter_error == pytest.approx(abs(590 / 590 - 1))


def test_a_packet_that_one_of_them_does_not_know_is_no_comparison() -> None:
    with pytest.raises(ProgramFailed, match="2 probes, and 1 packets"):
        compared([answered(0, 1, 1), answered(1, 1, 1)], [crossed(0, 1, 1), crossed(1, 2, 1)])
