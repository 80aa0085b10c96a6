"""Shares of a transfer's time: whose waits they are, and what bound the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.diagnose import Evidence
from trustbed.diagnose.budget import (
    Budget,
    ack_silence_share,
    bytes_above_later_rate,
    is_known,
    lag_share,
    late_half,
    rate_ratio,
    utilisation,
)

# share of the evidence: the part of the budget that it adds to
PARTS = {
    "peer": "peer",
    "think": "think",
    "no_answer": "outage",
    "timeout": "loss",
    "recovery": "loss",
    "zero_window": "receiver",
    "receiver_window": "receiver",
    "window": "window",
    "idle_application": "application",
    "idle_sender": "machine",
    "growing": "start",
    "path": "path",
    "below_path": "loss",
    "sender_buffer": "buffer",
}
SHARES = st.builds(
    Evidence,
    **dict.fromkeys(PARTS, st.none() | st.floats(0, 1)),
    duration_seconds=st.none() | st.floats(0, 100),
    interrupted_seconds=st.none() | st.floats(0, 100),
    pauses_estimated=st.none() | st.booleans(),
)


def numbers(budget: Budget) -> dict[str, float]:
    return budget._asdict()


def test_without_shares_nothing_is_known() -> None:
    assert not is_known(Evidence())
    assert is_known(Evidence(path=0.0))
    assert set(numbers(Budget.of(Evidence())).values()) == {0.0}


@pytest.mark.parametrize("share", PARTS)
def test_each_share_adds_to_one_part(share: str) -> None:
    found = numbers(Budget.of(Evidence().with_value(share, 0.25)))
    assert {name for name, value in found.items() if value} == {PARTS[share]}
    assert found[PARTS[share]] == 0.25


def test_parts_of_several_shares_are_sums() -> None:
    budget = Budget.of(
        Evidence(
            zero_window=0.125,
            receiver_window=0.25,
            timeout=0.125,
            recovery=0.25,
            below_path=0.0625,
            think=0.125,
            idle_application=0.25,
            idle_sender=0.0625,
        )
    )
    assert (budget.receiver, budget.loss, budget.sender) == (0.375, 0.4375, 0.4375)


@pytest.mark.parametrize(
    ("shares", "waiter"),
    [
        ({"peer": 0.3, "think": 0.2}, ("peer", 0.3)),
        ({"peer": 0.3, "think": 0.25, "idle_sender": 0.125}, ("sender", 0.375)),
        ({"peer": 0.3, "zero_window": 0.25, "receiver_window": 0.125}, ("receiver", 0.375)),
        ({"peer": 0.3, "no_answer": 0.4}, ("outage", 0.4)),
        ({"window": 1.0}, ("peer", 0.0)),
    ],
)
def test_the_longest_wait(shares: dict[str, Any], waiter: tuple[str, float]) -> None:
    assert Budget.of(Evidence(**shares)).longest_wait == waiter


@pytest.mark.parametrize(
    ("share", "limit"),
    [
        ("window", "window"),
        ("path", "path"),
        ("recovery", "loss"),
        ("timeout", "loss"),
        ("below_path", "loss"),
        ("growing", "start"),
        ("sender_buffer", "buffer"),
    ],
)
def test_the_largest_part_of_the_rest_is_the_limit(share: str, limit: str) -> None:
    rest = Evidence(window=0.1, path=0.1, recovery=0.1, growing=0.1, sender_buffer=0.1, peer=0.4)
    assert Budget.of(rest.with_value(share, 0.2)).limit == limit


def test_a_silence_that_a_timeout_ended_is_no_senders_seen_from_elsewhere() -> None:
    silent = Evidence(
        idle_sender=0.5, interrupted_seconds=2.5, duration_seconds=10.0, pauses_estimated=True
    )
    found = Budget.of(silent)
    assert (found.machine, found.outage) == (0.25, 0.25)
    assert Budget.of(replace(silent, no_answer=0.375)).outage == 0.375, "the longer account counts"
    assert Budget.of(replace(silent, interrupted_seconds=9.0)).machine == 0
    for changes in (
        {"pauses_estimated": False},
        {"pauses_estimated": None},
        {"duration_seconds": None},
        {"duration_seconds": 0.0},
        {"interrupted_seconds": None},
    ):
        changed: dict[str, Any] = changes
        beside = Budget.of(replace(silent, **changed))
        assert (beside.machine, beside.outage) == (0.5, 0.0)


@given(SHARES)
def test_no_part_is_negative_and_the_longest_wait_is_one_of_them(evidence: Evidence) -> None:
    budget = Budget.of(evidence)
    assert all(value >= 0 for value in numbers(budget).values())
    name, share = budget.longest_wait
    assert share == getattr(budget, name)
    assert share == max(budget.peer, budget.sender, budget.receiver, budget.outage)
    assert getattr(budget, budget.limit) == max(
        budget.window, budget.path, budget.loss, budget.start, budget.buffer
    )


RATES = Evidence(
    sending_rate_bytes_per_second=0.5e6,
    path_rate_bytes_per_second=1e6,
    path_rate_before_bytes_per_second=2e6,
    path_rate_after_bytes_per_second=0.5e6,
    path_rate_change_seconds=2.0,
    ack_silences_seconds=2.5,
    duration_seconds=10.0,
    departure_lag_seconds=0.005,
    queue_seconds=0.02,
    pauses_estimated=True,
    answer_seconds=0.02,
    answer_least_seconds=0.005,
    rtt_seconds=0.04,
)


def test_numbers_of_the_rates_and_the_queue() -> None:
    assert utilisation(RATES) == 0.5
    assert rate_ratio(RATES) == 4
    assert bytes_above_later_rate(RATES) == 3e6
    assert ack_silence_share(RATES) == 0.25
    assert lag_share(RATES) == 0.25
    assert late_half(RATES) == pytest.approx(0.25)


def test_a_rate_that_rose_is_below_one_and_leaves_no_bucket() -> None:
    rose = replace(RATES, path_rate_after_bytes_per_second=4e6)
    assert rate_ratio(rose) == 0.5
    assert bytes_above_later_rate(rose) == -4e6


def test_a_change_at_the_start_is_one() -> None:
    assert bytes_above_later_rate(replace(RATES, path_rate_change_seconds=0.0)) == 0


def test_nothing_withheld_and_no_lag_are_zero_and_not_unknown() -> None:
    assert ack_silence_share(replace(RATES, ack_silences_seconds=0.0)) == 0
    assert lag_share(replace(RATES, departure_lag_seconds=0.0)) == 0


@pytest.mark.parametrize(
    ("number", "parts"),
    [
        (utilisation, ("sending_rate_bytes_per_second", "path_rate_bytes_per_second")),
        (rate_ratio, ("path_rate_before_bytes_per_second", "path_rate_after_bytes_per_second")),
        (
            bytes_above_later_rate,
            ("path_rate_before_bytes_per_second", "path_rate_after_bytes_per_second"),
        ),
        (bytes_above_later_rate, ("path_rate_change_seconds",)),
        (ack_silence_share, ("ack_silences_seconds", "duration_seconds")),
        (lag_share, ("departure_lag_seconds", "queue_seconds")),
        (
            late_half,
            ("pauses_estimated", "answer_seconds", "answer_least_seconds", "rtt_seconds"),
        ),
    ],
)
def test_without_a_part_a_number_is_unknown(number: Any, parts: tuple[str, ...]) -> None:  # noqa: ANN401 - any function of the evidence
    for part in parts:
        unknown: dict[str, Any] = {part: None}
        assert number(replace(RATES, **unknown)) is None


@pytest.mark.parametrize("nothing", [0.0, -0.001])
def test_where_no_queue_stood_none_of_it_was_at_home(nothing: float) -> None:
    assert lag_share(replace(RATES, queue_seconds=nothing)) is None


def test_what_the_packets_queued_at_home_made_no_half_late() -> None:
    assert late_half(replace(RATES, departure_lag_seconds=None)) == pytest.approx(0.375)
    assert late_half(replace(RATES, departure_lag_seconds=0.015)) == pytest.approx(0)
    assert late_half(replace(RATES, pauses_estimated=False)) is None
