"""Waiting for a machine that is nobody else's.

What a spin sees, how long is waited, and when not at all.

No clock is read, and nothing sleeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation.truth import carry
from validation.truth.calm import (
    ALLOWANCE_SECONDS,
    GAP_NS,
    LOOK_SECONDS,
    MOST_LOST,
    MOST_STOLEN,
    PAUSE_SECONDS,
    Calm,
    Processors,
    Senses,
    lost_share,
    stolen_share,
)
from validation.truth.plan import Plan

TURN_SECONDS = PAUSE_SECONDS + LOOK_SECONDS


def clock(*steps_ns: int) -> Callable[[], int]:
    """A clock that moves on by these steps, then by ten microseconds at each look."""

    def times() -> Iterator[int]:
        now = 5
        yield now
        for step in steps_ns:
            now += step
            yield now
        while True:
            now += 10_000
            yield now

    values = times()
    return lambda: next(values)


class Machine:
    """Says what each look sees; the last is seen for ever."""

    def __init__(self, *lost: float) -> None:
        self.lost = list(lost)
        self.slept: list[float] = []
        self.looks: list[float] = []
        self.reports: list[tuple[float, float]] = []
        self.over = False

    def look(self, seconds: float) -> float:
        self.looks.append(seconds)
        return self.lost.pop(0) if len(self.lost) > 1 else self.lost[0]

    def calm(self, allowance: float) -> Calm:
        report = self.reports.append
        senses = Senses(
            look=self.look,
            sleep=self.slept.append,
            report=lambda lost, left: report((lost, left)),
            is_over=lambda: self.over,
        )
        return Calm(allowance, senses)


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        (Processors(stolen=10, all=1000), Processors(stolen=30, all=1040), 0.5),
        (Processors(stolen=10, all=1000), Processors(stolen=10, all=1040), 0.0),
        (Processors(stolen=10, all=1000), Processors(stolen=10, all=1000), 0.0),
    ],
)
def test_what_was_stolen_is_a_part_of_what_passed(
    before: Processors, after: Processors, share: float
) -> None:
    looks = iter((before, after))
    assert stolen_share(0.001, processors=lambda: next(looks)) == share


def test_this_machine_has_an_account_of_its_processors() -> None:
    assert 0 <= stolen_share(0.05) <= 1


def test_beside_transfers_of_ours_only_what_the_hypervisor_takes_counts() -> None:
    slept: list[float] = []
    stolen = iter((0.5, 0.5, MOST_STOLEN))
    senses = Senses(
        look=lambda _: 1.0,
        look_beside=lambda _: next(stolen),
        sleep=slept.append,
        report=lambda *_: None,
        is_over=lambda: False,
    )
    assert Calm(100.0, senses).wait(beside=True) == {
        "lost_share": MOST_STOLEN,
        "waited_seconds": 2 * TURN_SECONDS,
    }
    assert slept == [PAUSE_SECONDS, PAUSE_SECONDS]


def test_a_spin_that_is_never_interrupted_loses_nothing() -> None:
    assert lost_share(0.2, clock=clock()) == 0


def test_a_spin_loses_what_is_longer_than_a_millisecond() -> None:
    assert lost_share(0.1, clock=clock(50_000_000)) == pytest.approx(0.5)
    assert lost_share(0.1, clock=clock(*[GAP_NS] * 50)) == 0


@given(st.lists(st.integers(1, 10**9), max_size=20))
def test_a_share_is_a_share(steps: list[int]) -> None:
    assert 0 <= lost_share(0.1, clock=clock(*steps)) <= 1


def test_a_calm_machine_is_sampled_once_without_waiting() -> None:
    machine = Machine(MOST_LOST)
    assert machine.calm(60).wait() == {"lost_share": MOST_LOST, "waited_seconds": 0}
    assert (len(machine.looks), machine.slept, machine.reports) == (1, [], [])


def test_a_taken_machine_is_waited_for_until_it_is_calm_for_a_longer_look() -> None:
    machine = Machine(0.5, 0.4, 0.3, 0.0)
    assert machine.calm(600).wait() == {"lost_share": 0.0, "waited_seconds": 3 * TURN_SECONDS}
    assert machine.looks[1:] == [LOOK_SECONDS] * 3
    assert [lost for lost, _ in machine.reports] == [0.5, 0.4, 0.3]


def test_the_allowance_is_for_all_transfers_together_and_then_sampling_stops() -> None:
    machine = Machine(0.5)
    calm = machine.calm(2.5 * TURN_SECONDS)
    assert calm.wait() == {"lost_share": 0.5, "waited_seconds": 2.5 * TURN_SECONDS}
    assert machine.reports[-1] == (0.5, 0.0)
    looks = len(machine.looks)
    assert calm.wait() == {}
    assert len(machine.looks) == looks


def test_an_allowance_that_one_transfer_leaves_is_the_next_ones() -> None:
    machine = Machine(0.5, 0.0, 0.5, 0.0)
    calm = machine.calm(600)
    calm.wait()
    calm.wait()
    assert [left for _, left in machine.reports] == [600, 600 - TURN_SECONDS]


def test_without_waiting_there_are_no_samples() -> None:
    machine = Machine(0.9)
    assert machine.calm(0).wait() == {}
    assert machine.looks == []
    assert ALLOWANCE_SECONDS > 0


def test_a_transfer_waits_before_each_attempt_and_keeps_what_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = iter((carry.INVALID, carry.MADE))
    monkeypatch.setattr(carry, "_attempt", lambda *_: {"outcome": next(outcomes)})
    monkeypatch.setattr(carry, "captures_in_the_middle", lambda: True)
    machine = Machine(0.0, 0.5, 0.01)
    stored = carry.carry_out(Plan(1).transfers[0], calm=machine.calm(600))
    assert (stored["outcome"], stored["attempt"]) == (carry.MADE, 1)
    assert stored["before"] == {"lost_share": 0.01, "waited_seconds": TURN_SECONDS}
    assert len(machine.looks) == 3


def test_a_run_whose_time_is_over_does_not_wait() -> None:
    machine = Machine(0.9)
    machine.over = True
    assert machine.calm(600).wait() == {"lost_share": 0.9, "waited_seconds": 0}
    assert machine.slept == []


@pytest.mark.parametrize(("waited_ms", "outcome"), [(49, carry.MADE), (50, carry.INVALID)])
def test_a_sender_that_others_kept_waiting_is_invalid(
    monkeypatch: pytest.MonkeyPatch, waited_ms: int, outcome: str
) -> None:
    row = {
        "process": 7,
        "state": "S",
        "interval_ns": 1_000_000_000,
        "ran_ns": 100_000_000,
        "waited_ns": waited_ms * 1_000_000,
    }
    found = {"outcome": carry.MADE, "samples": {"processes": [row]}}
    monkeypatch.setattr(carry, "_attempt", lambda *_: dict(found))
    monkeypatch.setattr(carry, "captures_in_the_middle", lambda: True)
    plain = next(
        one
        for one in Plan(1).transfers
        if one.is_light and "faults" not in one.values(middle=False)
    )
    stored = carry.carry_out(plain)
    assert stored["outcome"] == outcome
    assert ("waited for a processor" in (stored.get("reason") or "")) == (outcome == carry.INVALID)
    disturbed = next(one for one in Plan(1).transfers if one.kind == "quota")
    assert carry.carry_out(disturbed)["outcome"] == carry.MADE
