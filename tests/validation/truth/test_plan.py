"""The plan: what a whole run makes, and that one number decides all of it."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict

import pytest

from trustbed.diagnose.causes import VERDICTS
from validation.truth import kinds
from validation.truth.disturbances import DISTURBANCES
from validation.truth.plan import Plan

PLAN = Plan(1)


def test_a_whole_run_is_as_large_as_it_should_be() -> None:
    transfers = PLAN.transfers
    assert len(transfers) >= 600
    assert sum(one.network.guest is not None for one in transfers) >= 90
    even = [one for one in transfers if not one.is_odd]
    assert sum(one.disturbance is None for one in even) >= 150
    assert len({kinds.KINDS[one.kind].cause for one in transfers}) >= 12
    assert len({one.name for one in transfers}) == len({one.seed for one in transfers}) == len(transfers)


def test_odd_and_even_seeds_have_the_same_doses_and_are_different_transfers() -> None:
    doses: dict[bool, Counter[object]] = defaultdict(Counter)
    for one in PLAN.transfers:
        doses[one.is_odd][one.kind, str(one.dose)] += 1
    assert sum(doses[True].values()) == sum(doses[False].values())
    assert max(abs(doses[True][dose] - doses[False][dose]) for dose in doses[True] | doses[False]) <= 1


def test_the_seed_decides_everything() -> None:
    again = Plan(1)
    assert [(one.name, one.scenario(middle=True)) for one in again.transfers] == [
        (one.name, one.scenario(middle=True)) for one in PLAN.transfers
    ]
    assert [one.name for one in again.order()] == [one.name for one in PLAN.order()]
    assert {one.seed for one in Plan(2).transfers}.isdisjoint({one.seed for one in PLAN.transfers})


def test_the_order_holds_everything_once_and_a_twin_before_what_needs_it() -> None:
    seen = set()
    names = []
    for one in PLAN.order():
        names.append(one.name)
        assert not one.needs_twin or one.network in seen
        if not one.needs_twin:
            seen.add(one.network)
    assert sorted(names) == sorted(one.name for one in PLAN.transfers)


def test_a_part_of_the_plan_brings_the_twins_that_it_needs() -> None:
    chosen = [one for one in PLAN.transfers if one.kind == "policer" and one.is_odd]
    ordered = list(PLAN.order(chosen))
    assert {one.name for one in chosen} <= {one.name for one in ordered}
    assert {one.network for one in chosen} == {one.network for one in ordered if not one.needs_twin}


def test_window_limited_networks_cannot_fill_their_path_and_link_limited_ones_do_not_end_while_starting() -> None:
    for one in PLAN.transfers:
        network = one.network
        if network.limit == "window":
            assert network.window_bytes is not None
            assert network.window_bytes <= 0.75 * network.path_bytes
        if network.limit == "link":
            assert network.window_bytes is None
            assert network.queue_packets * 1500 >= network.path_bytes


def test_a_disturbance_changes_nothing_but_what_it_is() -> None:
    for one in PLAN.transfers:
        values = one.values(middle=True)
        assert tomllib.loads(one.scenario(middle=True)) == values
        if one.disturbance is None:
            assert "faults" not in values
            assert "background" not in values
            assert set(values["hosts"]) == {"client", "server"}


@pytest.mark.parametrize("kind", kinds.KINDS.values(), ids=list(kinds.KINDS))
def test_every_kind_is_made_and_every_wanted_verdict_exists(kind: kinds.Kind) -> None:
    assert kind.name in {*(one.kind for one in DISTURBANCES), *kinds.UNDISTURBED.values()}
    for wanted in (kind.capture, kind.known, kind.away):
        assert wanted.causes
        assert set(wanted.verdicts) <= set(VERDICTS)
    assert f"| `{kind.name}` |" in kinds.table()


def test_whoever_knows_more_accepts_no_more() -> None:
    for kind in kinds.KINDS.values():
        assert set(kind.known.causes) <= set(kind.capture.causes)
