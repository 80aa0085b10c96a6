"""The plan: what a whole run makes, and that one number decides all of it."""

from __future__ import annotations

import pickle
import tomllib
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.scenario import load
from validation.truth import kinds
from validation.truth.disturbances import DISTURBANCES
from validation.truth.families import BY_NAME, FAMILIES, HALVES, of_half
from validation.truth.networks import STARTING_SHARE, Network, rounds_to_fill
from validation.truth.plan import ROUNDS, Plan, Planned
from validation.truth.pools import GUEST_NICS

PLAN = Plan(1)


HOURS, AROUND_SECONDS = 8.0, 3.0
BROUGHT = frozenset(
    {
        "mark_limited",
        "peer_limited",
        "rate_changed",
        "receiver_stalled",
        "send_buffer_limited",
        "sender_rate_limited",
    }
)
"""Causes that rules over phases bring; earlier rules do not know them."""


@cache
def ordered(seed: int) -> tuple[Planned, ...]:
    return tuple(Plan(seed).order())


@pytest.fixture(scope="module")
def doses() -> list[Planned]:
    """A transfer of every dose, and of every kind of network that it is made in."""
    return list(
        {
            (one.kind, str(one.dose), one.network.discipline, one.network.guest_end): one
            for one in PLAN.transfers
        }.values()
    )


def _is_doomed(name: str) -> bool:
    return kinds.TRUST not in kinds.KINDS[name].capture.verdicts


def test_a_whole_run_is_as_large_as_it_should_be() -> None:
    transfers = PLAN.transfers
    assert len(transfers) >= 1700
    assert sum(_is_doomed(one.kind) for one in transfers) >= 500
    assert sum(one.disturbance is None for one in transfers) >= 500
    made = Counter(kinds.KINDS[one.kind].cause for one in transfers)
    assert len(made) >= 18
    assert min(made.values()) >= 25
    assert len({one.network for one in transfers if one.network.guest is not None}) >= 30
    assert (
        len({one.name for one in transfers})
        == len({one.seed for one in transfers})
        == len(transfers)
    )


def test_only_transfers_without_a_guest_or_a_busy_processor_have_others_beside_them() -> None:
    light = {one.kind for one in PLAN.transfers if one.is_light}
    heavy = {one.kind for one in PLAN.transfers if not one.is_light}
    assert {"undisturbed-link", "nic-stall", "far-outage", "freeze", "receiver-stopped"} <= light
    assert {"spinner", "guest-quota", "guest-freeze"} <= heavy - light
    assert not any(one.network.guest for one in PLAN.transfers if one.is_light)


def test_a_light_transfer_can_be_handed_to_another_process() -> None:
    for kind in sorted({one.kind for one in PLAN.transfers if one.is_light}):
        planned = next(one for one in PLAN.transfers if one.kind == kind and one.is_light)
        handed = pickle.loads(pickle.dumps(planned))
        assert handed.scenario(middle=True) == planned.scenario(middle=True)


def test_a_whole_run_takes_as_long_as_it_may() -> None:
    assert sum(one.seconds for one in PLAN.transfers) <= HOURS * 3600
    assert all(one.seconds > AROUND_SECONDS for one in PLAN.transfers)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_family_has_its_networks(seed: int) -> None:
    drawn = {one.network for one in Plan(seed).transfers}
    assert {network.family for network in drawn} == {family.name for family in FAMILIES}
    for network in drawn:
        family = BY_NAME[network.family]
        assert network.half == family.half
        assert network.round_trip_ms in family.trips
        if network.limit != "short":
            assert network.rate_megabits in family.rates
            assert network.queue_paths in family.queues
    guests = [network for network in drawn if network.guest is not None]
    assert {network.guest for network in guests} == set(GUEST_NICS)
    assert {network.guest_end for network in guests} == {"sender", "receiver"}
    assert {network.limit for network in guests} == {"window", "link"}


def test_the_halves_share_no_round_trip_and_no_queue() -> None:
    for names in ("trips", "queues"):
        values = [
            {value for family in of_half(half) for value in getattr(family, names)}
            for half in HALVES
        ]
        assert not values[0] & values[1], names
    rates = [{rate for family in of_half(half) for rate in family.rates} for half in HALVES]
    assert not rates[0] & rates[1]


def test_transfers_come_in_pairs_of_both_halves_with_the_same_dose() -> None:
    disturbed = [one for one in PLAN.transfers if one.disturbance is not None]
    for first, second in zip(disturbed[::2], disturbed[1::2], strict=True):
        assert (first.half, second.half) == HALVES
        assert (first.kind, first.dose, first.position) == (
            second.kind,
            second.dose,
            second.position,
        )
    for disturbance in DISTURBANCES:
        made = [dict(one.dose) for one in disturbed if one.disturbance == disturbance]
        assert len(made) == disturbance.transfers + disturbance.further
        assert all(dict(dose) in made for dose in disturbance.doses)
        assert all(dict(dose) in disturbance.doses for dose in disturbance.further_doses)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("tenths", range(1, 10))
def test_a_run_that_is_interrupted_holds_every_kind_in_proportion(seed: int, tenths: int) -> None:
    order = ordered(seed)
    whole = Counter(one.kind for one in order)
    part = order[: len(order) * tenths // 10]
    assert abs(sum(1 if one.half == HALVES[0] else -1 for one in part)) <= 0.01 * len(order)
    held = Counter(one.kind for one in part)
    for kind, planned in whole.items():
        ahead = 0.02 * len(order) if kind in kinds.UNDISTURBED else 3 + 0.02 * planned
        assert abs(held[kind] - planned * tenths / 10) <= ahead, kind


def test_every_round_has_networks_of_its_own() -> None:
    rounds: dict[Network, set[int]] = defaultdict(set)
    for one in PLAN.transfers:
        if one.network.limit != "short":
            rounds[one.network].add(one.round)
    alone = [network for network, found in rounds.items() if len(found) == 1]
    assert len(alone) >= 0.85 * len(rounds)


def test_a_plan_is_known_by_all_that_it_does() -> None:
    assert Plan(1).identity == PLAN.identity
    assert Plan(2).identity != PLAN.identity
    changed = Plan(1)
    first, *others = changed.first
    changed.__dict__["first"] = (*others, replace(first, seed=first.seed + 2))
    assert changed.identity != PLAN.identity


def test_a_plan_may_grow_at_its_end() -> None:
    first = PLAN.first
    assert PLAN.transfers[: len(first)] == first
    further = PLAN.transfers[len(first) :]
    assert len(further) == sum(disturbance.further for disturbance in DISTURBANCES) > 0
    assert {one.name for one in further}.isdisjoint(one.name for one in first)


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
        assert one.round in range(ROUNDS)
        if not one.needs_twin:
            seen.add(one.network)
    assert sorted(names) == sorted(one.name for one in PLAN.transfers)


def test_a_part_of_the_plan_brings_the_twins_that_it_needs() -> None:
    chosen = [one for one in PLAN.transfers if one.kind == "policer" and one.half == HALVES[0]]
    ordered = list(PLAN.order(chosen))
    assert {one.name for one in chosen} <= {one.name for one in ordered}
    assert {one.network for one in chosen} == {one.network for one in ordered if not one.needs_twin}


def test_window_limited_networks_cannot_fill_their_path_and_others_leave_slow_start() -> None:
    for one in PLAN.transfers:
        network = one.network
        if network.limit == "window":
            assert network.window_bytes is not None
            assert network.window_bytes <= 0.75 * network.path_bytes
        if network.limit == "link":
            assert network.window_bytes is None
            starting = rounds_to_fill(network) * network.round_trip_ms / 1e3
            assert starting <= STARTING_SHARE * network.seconds


def test_a_disturbance_changes_nothing_but_what_it_is(doses: list[Planned]) -> None:
    assert {one.kind for one in doses} == {one.kind for one in PLAN.transfers}
    for one in doses:
        values = one.values(middle=True)
        files = values.pop("files", {})
        assert tomllib.loads(one.scenario(middle=True)) == values
        assert set(files) == set(one.files)
        if one.disturbance is None:
            assert "faults" not in values
            assert one.files == {}
            assert "background" not in values
            assert set(values["hosts"]) == {"client", "server"}


def test_scenarios_of_every_dose_can_be_read(tmp_path: Path, doses: list[Planned]) -> None:
    for number, one in enumerate(doses):
        file = tmp_path / f"{number}.toml"
        for name, content in one.files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
        text = one.scenario(middle=True)
        file.write_text(text, encoding="utf-8")
        assert load(file).text == text


@pytest.mark.parametrize("kind", kinds.KINDS.values(), ids=list(kinds.KINDS))
def test_every_kind_is_made_and_every_wanted_cause_and_verdict_exists(kind: kinds.Kind) -> None:
    assert kind.name in {*(one.kind for one in DISTURBANCES), *kinds.UNDISTURBED}
    for wanted in (kind.capture, kind.known, kind.away, kind.inside):
        assert wanted.causes
        assert set(wanted.causes) <= set(CAUSES) | BROUGHT
        assert set(wanted.verdicts) <= set(VERDICTS)
        for cause, verdicts in wanted.only:
            assert cause in wanted.causes
            assert set(verdicts) <= set(wanted.verdicts)
    assert f"| `{kind.name}` |" in kinds.table()


def test_more_knowledge_never_accepts_more() -> None:
    for kind in kinds.KINDS.values():
        assert set(kind.known.causes) <= set(kind.capture.causes)
