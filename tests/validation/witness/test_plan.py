"""What is measured follows from the seed, holds every dose in odd and even, fits into ten minutes, and can be read as scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.scenario import load
from validation.truth.disturbances import DISTURBANCES
from validation.witness import plan
from validation.witness.plan import Accuracy, Cost, Transfer

S = 1_000_000_000
STEPS = plan.steps(2)
TRANSFERS = [step for step in STEPS if isinstance(step, Transfer)]


def test_the_seed_decides_everything() -> None:
    assert plan.steps(2) == STEPS
    assert [step.key for step in STEPS] != [step.key for step in plan.steps(3)]
    assert len({step.key for step in STEPS}) == len(STEPS)


def test_all_of_it_takes_less_than_ten_minutes() -> None:
    assert sum(step.seconds for step in STEPS) < 600


def test_every_dose_is_done_with_an_odd_and_an_even_seed_and_by_both_watchers() -> None:
    doses = {
        (one.planned.kind, one.dose, one.planned.is_odd, one.watched)
        for one in TRANSFERS
        if one.planned.kind in plan.KINDS
    }
    wanted = {
        (each.kind, " ".join(map(str, dose.values())), is_odd, watched)
        for each in DISTURBANCES
        if each.kind in plan.KINDS
        for dose in each.doses
        if each.kind != "freeze" or "/".join(map(str, dose.values())) in plan.FREEZES
        for is_odd in (True, False)
        for watched in plan.WATCHED
    }
    assert doses == wanted
    undisturbed = [
        one.planned.is_odd
        for one in TRANSFERS
        if one.planned.disturbance is None and one.watched == "cheap"
    ]
    assert sorted(undisturbed) == [False, False, True, True]


def test_both_watchers_of_a_transfer_come_one_after_the_other_and_each_is_first_in_turn() -> None:
    pairs = list(zip(TRANSFERS[::2], TRANSFERS[1::2], strict=True))
    assert all(first.planned == second.planned for first, second in pairs)
    assert {first.watched for first, _ in pairs} == {"cheap", "spin"}
    places = {step.key: place for place, step in enumerate(STEPS)}
    assert all(places[second.key] == places[first.key] + 1 for first, second in pairs)


def test_every_round_has_every_case_in_an_order_of_its_own() -> None:
    orders = [
        [step.case for step in STEPS if isinstance(step, Accuracy) and step.round == number]
        for number in range(plan.ROUNDS)
    ]
    assert len(orders[0]) == len(plan.QUOTAS) + 2
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert orders[0] != orders[1]
    assert [step.round for step in STEPS if isinstance(step, Cost)] == list(range(plan.ROUNDS))


@pytest.mark.parametrize("step", TRANSFERS, ids=lambda step: step.key)
def test_a_transfer_is_disturbed_in_the_middle_and_watched_by_one_or_the_other(
    step: Transfer, tmp_path: Path
) -> None:
    (tmp_path / "transfer.toml").write_text(step.scenario(), encoding="utf-8")
    scenario = load(tmp_path / "transfer.toml").first
    assert scenario.duration_ns == plan.SECONDS * S
    assert scenario.capture.points == ("client",)
    assert scenario.watch.hosts == ("client",)
    assert (scenario.watch.naps_ns is None, scenario.watch.spin_ns is None) == (
        step.watched == "spin",
        step.watched == "cheap",
    )
    assert scenario.seed == step.planned.seed
    assert [(fault.start_ns, fault.duration_ns) for fault in scenario.faults] == (
        [(S, 2 * S)] if step.planned.disturbance else []
    )
