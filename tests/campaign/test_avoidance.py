"""Which hours and hosts to avoid.

The evidence that a statement needs, and the hosts that are not to be blamed.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.campaign import Hours, Tally, hosts
from trustbed.campaign.statistics.avoidance import FEWEST, HostTable, stands_out
from trustbed.scenario.campaign_model import HostPair

HOUR, DAY = 3600 * 10**9, 86_400 * 10**9
LEVEL = 0.95


def counted(*cells: tuple[int, int, int, int]) -> Hours:
    """Hours from (day, hour, rounds, discarded)."""
    hours = Hours()
    for day, hour, rounds, bad in cells:
        for number in range(rounds):
            hours.add(day * DAY + hour * HOUR + number, discarded=number < bad)
    return hours


def avoided(hours: Hours) -> list[tuple[int, int]]:
    return [(one.first, one.to) for one in hours.table(LEVEL).avoid]


def quiet(days: int, *, but: set[int]) -> list[tuple[int, int, int, int]]:
    return [(day, hour, 12, 0) for day in range(days) for hour in range(24) if hour not in but]


def test_hours_that_are_bad_day_after_day_are_named_together() -> None:
    bad = {9, 10}
    hours = counted(*quiet(4, but=bad), *((day, hour, 12, 5) for day in range(4) for hour in bad))
    (one,) = hours.table(LEVEL).avoid
    assert (one.first, one.to, one.rounds, one.discarded) == (9, 11, 96, 40)
    assert (one.days, one.days_discarded) == (4, 4)
    assert one.others.share == 0
    assert one.share_low < 40 / 96 < one.share_high


def test_a_range_of_hours_may_span_midnight() -> None:
    bad = {23, 0, 1}
    assert avoided(
        counted(*quiet(4, but=bad), *((day, hour, 12, 6) for day in range(4) for hour in bad))
    ) == [(23, 2)]


def test_one_bad_afternoon_is_no_evidence_about_afternoons() -> None:
    hours = counted(
        *quiet(6, but={15}), *((day, 15, 12, 12 if day == 2 else 0) for day in range(6))
    )
    assert avoided(hours) == []
    assert hours.table(LEVEL).hours[15].discarded == 12


def test_a_single_day_is_too_few() -> None:
    table = counted(*quiet(1, but={3}), (0, 3, 12, 12)).table(LEVEL)
    assert (table.enough, table.avoid, table.days) == (False, (), 1)


def test_hours_that_do_not_differ_seldom_stand_out() -> None:
    chance, found = random.Random(11), 0
    for _ in range(60):
        found += bool(
            avoided(
                counted(
                    *(
                        (day, hour, 12, sum(chance.random() < 0.2 for _ in range(12)))
                        for day in range(7)
                        for hour in range(24)
                    )
                )
            )
        )
    assert found <= 5, "in one of twenty campaigns, if all intervals were exact"


def test_a_share_that_does_not_matter_is_no_reason() -> None:
    assert not stands_out(Tally(10_000, 200), Tally(100_000, 0), level=LEVEL, comparisons=1)
    assert stands_out(Tally(10_000, 600), Tally(100_000, 0), level=LEVEL, comparisons=1)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_nothing_is_reported_of_few(rounds: int, bad: int, others: int, other_bad: int) -> None:
    own, rest = Tally(rounds, min(bad, rounds)), Tally(others, min(other_bad, others))
    found = stands_out(own, rest, level=LEVEL, comparisons=24)
    assert not found or (
        min(rounds, others) >= FEWEST and own.discarded / own.rounds > rest.discarded / rest.rounds
    )
    assert not (found and stands_out(rest, own, level=LEVEL, comparisons=24))


# Hosts.


def pairs(*names: str) -> list[HostPair]:
    return [HostPair(name=name, sender=name[0], receiver=name[1]) for name in names]


def blamed(table: HostTable) -> list[list[str]]:
    return [[f"{part.host} {part.role}" for part in group.parts] for group in table.avoid]


def test_the_partner_of_a_bad_host_is_not_blamed() -> None:
    """A is bad as a sender; its receivers also receive from others, which is fine."""
    tallies = {"ab": Tally(200, 80), "ac": Tally(200, 90), "db": Tally(200, 2), "dc": Tally(200, 0)}
    table = hosts(pairs(*tallies), tallies, level=LEVEL)
    assert blamed(table) == [["a sender"]]
    assert {(one.host, one.role): one.share for one in table.parts}["b", "receiver"] == 82 / 400


def test_hosts_that_only_met_each_other_cannot_be_distinguished() -> None:
    tallies = {"ab": Tally(200, 80), "cd": Tally(200, 2)}
    table = hosts(pairs(*tallies), tallies, level=LEVEL)
    assert blamed(table) == [["a sender", "b receiver"]]
    assert table.avoid[0].pairs == ("ab",)
    assert [one.host for one in table.parts if one.avoid] == ["a"], (
        "verdicts are made from the sender's capture"
    )


def test_two_bad_senders_are_both_found() -> None:
    tallies = {
        "ab": Tally(300, 150),
        "ca": Tally(300, 60),
        "bc": Tally(300, 0),
        "da": Tally(300, 1),
        "db": Tally(300, 0),
    }
    assert [names[0] for names in blamed(hosts(pairs(*tallies), tallies, level=LEVEL))] == [
        "a sender",
        "c sender",
    ]


@pytest.mark.parametrize(
    "tallies", [{}, {"ab": Tally(500, 400)}, {"ab": Tally(5, 5), "cd": Tally(5, 0)}]
)
def test_without_a_comparison_no_host_is_blamed(tallies: dict[str, Tally]) -> None:
    table = hosts(pairs("ab", "cd"), tallies, level=LEVEL)
    assert (table.enough, table.avoid) == (False, ())
