"""What is drawn for a simulation; nothing is simulated."""

from __future__ import annotations

import pytest

from validation.external import simulated
from validation.external.ns3.kinds import KINDS
from validation.external.ns3.nets import FAR_SEEDS, net

QUIET = {
    "ticks": 1000,
    "queued": 0.0,
    "reverse_queued": 0.0,
    "capacity_bytes": 1e6,
    "longest_silence": 0.0,
    "left_slow_start": True,
    **dict.fromkeys(
        (
            "own_bytes",
            "other_bytes",
            "queue_drops",
            "marks",
            "lost",
            "policed",
            "fallen",
            "held",
            "recoveries",
            "timeouts",
        ),
        0,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, FAR_SEEDS + 1])
def test_a_draw_depends_on_its_seed_alone(kind: str, seed: int) -> None:
    first, again, other = (KINDS[kind](net(kind, number, 0)) for number in (seed, seed, seed + 1))
    assert first.arguments == again.arguments
    assert first.arguments != other.arguments


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_blames_a_host_or_calls_for_a_discard(kind: str) -> None:
    draft = KINDS[kind](net(kind, 1, 0))
    named = {*draft.causes, *draft.elsewhere}
    assert named.isdisjoint({"host_scheduling", "host_stall", "driver_stall", "receiver_stalled"})
    assert "discard" not in {*draft.verdicts, *draft.verdicts_elsewhere}


@pytest.mark.parametrize("kind", KINDS)
def test_a_transfer_to_which_nothing_happened_is_of_no_kind(kind: str) -> None:
    assert not KINDS[kind](net(kind, 1, 0)).holds(QUIET)


def test_ten_of_each_kind_are_planned_in_three_families() -> None:
    plan = simulated.planned()
    assert len(KINDS) >= 13
    assert all(sum(one == kind for one, _ in plan) >= 10 for kind in KINDS)
    assert {net("ecn", seed, 0).family for _, seed in plan} == {"near", "far", "plain"}
