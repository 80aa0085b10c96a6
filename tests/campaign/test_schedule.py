"""The rounds of a campaign.

When they begin, which are skipped, and that hosts are never shared.
"""

from __future__ import annotations

import copy
import itertools
import pickle
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.campaign.conftest import BEGAN, PERIOD, SECOND, THREE, Down, Kill, World, campaign
from trustbed.campaign import Progress, Recorded, Round, Schedule, Skip, progress

HOSTS = "abcde"
PAIRS = st.lists(
    st.sampled_from([f"{one}-{two}" for one, two in itertools.permutations(HOSTS, 2)]),
    min_size=1,
    max_size=7,
    unique=True,
)
COUNT = 6
MOMENTS = st.integers(BEGAN, BEGAN + COUNT * PERIOD)
LENGTHS = st.integers(SECOND, 3 * PERIOD)
DOWNS = st.lists(
    st.builds(
        lambda host, since, lasts: Down(host, since, since + lasts),
        st.sampled_from(HOSTS),
        MOMENTS,
        LENGTHS,
    ),
    max_size=4,
)
KILLS = st.lists(st.builds(Kill, MOMENTS, LENGTHS), max_size=3)


few = settings(max_examples=40)
"""Each is a campaign of up to seven pairs, carried out once or twice."""


@st.composite
def worlds(draw: st.DrawFn, *, kills: bool = True, downs: bool = True) -> World:
    """Any hosts, rounds of any length, hosts that come and go, runners killed and resumed."""
    plan = campaign(
        draw(PAIRS),
        seed=draw(st.integers(0, 3)),
        count=COUNT,
        order=draw(st.sampled_from(["cyclic", "random"])),
    )
    lengths = draw(st.lists(LENGTHS, min_size=1, max_size=7))
    return World(
        Schedule(plan, BEGAN),
        lambda one: lengths[
            (one.number + len(one.pair.name) + ord(one.pair.name[0])) % len(lengths)
        ],
        downs=draw(DOWNS) if downs else (),
        kills=draw(KILLS) if kills else (),
    )


@few
@given(worlds())
def test_no_host_is_in_two_rounds_at_a_time(world: World) -> None:
    world.carry_out()  # it asserts that no round begins beside another of the same host
    spans = [(begin, begin + world.lasting(one), one.pair) for begin, one in world.began]
    for (begin, end, pair), (other_begin, other_end, other) in itertools.combinations(spans, 2):
        if {*pair.hosts} & {*other.hosts}:
            assert end <= other_begin or other_end <= begin


@few
@given(worlds())
def test_every_round_is_made_or_skipped_or_killed_once(world: World) -> None:
    world.carry_out()
    accounted = Counter((row.pair, row.number) for row in world.recorded())
    assert accounted == Counter(
        {
            (pair.name, number): 1
            for pair in world.schedule.campaign.pairs
            for number in range(COUNT)
        }
    )


@few
@given(worlds())
def test_a_round_begins_in_its_own_period(world: World) -> None:
    for begin, one in world.carry_out().began:
        assert one.due_ns == world.schedule.due_ns(one.pair.name, one.number)
        assert one.due_ns <= begin < one.due_ns + PERIOD


@few
@given(worlds())
def test_no_round_begins_on_a_host_that_is_down(world: World) -> None:
    for begin, one in world.carry_out().began:
        assert not {*one.pair.hosts} & {*world.down(begin)}
    for moment, skip in world.skipped:
        if skip.reason == "unreachable":
            assert skip.by in skip.pair.hosts
            assert skip.by in world.down(moment)
            assert skip.due_ns <= moment < skip.due_ns + PERIOD


@few
@given(worlds(kills=False))
def test_rounds_are_only_missed_while_the_campaign_is_not_running(world: World) -> None:
    assert {skip.reason for _, skip in world.carry_out().skipped} <= {"overrun", "unreachable"}


@few
@given(worlds(kills=False, downs=False))
def test_an_overrun_names_the_pair_that_held_the_host(world: World) -> None:
    for moment, skip in world.carry_out().skipped:
        assert skip.reason == "overrun"
        holder = next(pair for pair in world.schedule.campaign.pairs if pair.name == skip.by)
        assert {*holder.hosts} & {*skip.pair.hosts}
        # Its own round was running at the moment it was due; another's held it back until its
        # period had passed.
        assert moment == skip.due_ns + (0 if holder == skip.pair else PERIOD)


@few
@given(worlds())
def test_sizes_follow_the_rounds_that_began(world: World) -> None:
    world.carry_out()
    for pair in world.schedule.campaign.pairs:
        indices = [one.index for _, one in world.began if one.pair == pair]
        for start in range(0, len(indices) - 2, 3):
            assert {*indices[start : start + 3]} == {*THREE}
        if world.schedule.campaign.rounds.order == "cyclic":
            assert indices == [THREE[number % 3] for number in range(len(indices))]


@few
@given(worlds())
def test_the_schedule_is_deterministic(world: World) -> None:
    again = World(
        Schedule(world.schedule.campaign, BEGAN),
        world.lasting,
        downs=world.downs,
        kills=world.kills,
    ).carry_out()
    world.carry_out()
    assert (again.began, again.skipped, again.killed) == (world.began, world.skipped, world.killed)


@few
@given(worlds(kills=False), st.lists(MOMENTS, max_size=20))
def test_calling_more_often_changes_nothing(world: World, calls: list[int]) -> None:
    called = World(world.schedule, world.lasting, downs=world.downs, calls=calls).carry_out()
    world.carry_out()
    assert (called.began, called.skipped) == (world.began, world.skipped)


@few
@given(worlds(), st.integers(-(10**18), 10**18))
def test_only_differences_of_moments_matter(world: World, shift: int) -> None:
    world.carry_out()
    later = World(
        Schedule(world.schedule.campaign, BEGAN + shift),
        world.lasting,
        downs=[Down(one.host, one.since + shift, one.until + shift) for one in world.downs],
        kills=[Kill(one.at + shift, one.pause) for one in world.kills],
    ).carry_out()
    assert [(begin - shift, one.pair, one.number, one.index) for begin, one in later.began] == [
        (begin, one.pair, one.number, one.index) for begin, one in world.began
    ]


@few
@given(PAIRS, DOWNS)
def test_hosts_that_are_down_delay_no_other_round(pairs: list[str], downs: list[Down]) -> None:
    # Rounds as short as a slot need no waiting, so whatever begins late would have been delayed by
    # a host that is down.
    schedule = Schedule(campaign(pairs, count=COUNT), BEGAN)
    world = World(
        schedule, lambda _: PERIOD // schedule.slot_count - SECOND, downs=downs
    ).carry_out()
    assert all(begin == one.due_ns for begin, one in world.began)
    untouched = [
        pair.name
        for pair in schedule.campaign.pairs
        if not {*pair.hosts} & {one.host for one in downs}
    ]
    assert Counter(one.pair.name for _, one in world.began if one.pair.name in untouched) == {
        name: COUNT for name in untouched
    }


def test_no_pair_is_blocked_by_neighbours_that_take_turns() -> None:
    # a-b has b for the first 270 s of every period, c-d has c from its 100th second to the 370th:
    # b-c, due at 200 s, never finds both free unless they are reserved for it. The pair with e only
    # takes a slot.
    plan = campaign(["a-b", "c-e", "c-d", "b-c"], count=60)
    downs = [Down("e", BEGAN, BEGAN + 60 * PERIOD)]
    world = World(
        Schedule(plan, BEGAN),
        lambda one: (40 if one.pair.name == "b-c" else 270) * SECOND,
        downs=downs,
    ).carry_out()
    took_place = Counter(one.pair.name for _, one in world.began)
    assert all(took_place[pair] >= 30 for pair in ("a-b", "c-d", "b-c"))


@pytest.mark.parametrize(
    "pairs", [["a-b", "b-c", "c-d"], ["a-b", "c-d", "b-c"], ["b-c", "a-b", "c-d", "d-e", "e-a"]]
)
def test_overloaded_hosts_serve_their_pairs_in_turn(pairs: list[str]) -> None:
    # Rounds of nearly a period: a host has time for one of its two pairs.
    world = World(
        Schedule(campaign(pairs, count=60), BEGAN), lambda _: PERIOD * 9 // 10
    ).carry_out()
    took_place = Counter(one.pair.name for _, one in world.began)
    assert all(took_place[pair] >= 20 for pair in pairs)


def reasons(world: World) -> list[tuple[int, str, int, str, str | None]]:
    """(moment in seconds, pair, number, reason, by) of all that was skipped."""
    return [
        ((moment - BEGAN) // SECOND, skip.pair.name, number, skip.reason, skip.by)
        for moment, skip in world.skipped
        for number in skip.numbers
    ]


def begins(world: World) -> list[tuple[int, str, int, str]]:
    """(moment in seconds, pair, number, index) of all that began."""
    return [
        ((begin - BEGAN) // SECOND, one.pair.name, one.number, one.index.name)
        for begin, one in world.began
    ]


def test_a_round_that_still_runs_when_the_next_is_due_costs_the_next_one() -> None:
    world = World(
        Schedule(campaign(["a-b"], count=5), BEGAN),
        lambda one: (650 if one.number == 1 else 40) * SECOND,
    ).carry_out()
    assert begins(world) == [(0, "a-b", 0, "a"), (300, "a-b", 1, "b"), (1200, "a-b", 4, "c")]
    assert reasons(world) == [(600, "a-b", 2, "overrun", "a-b"), (900, "a-b", 3, "overrun", "a-b")]
    assert {skip.index.name for _, skip in world.skipped} == {"c"}


def test_a_round_that_ends_at_the_next_period_s_start_costs_nothing() -> None:
    world = World(Schedule(campaign(["a-b"], count=3), BEGAN), lambda _: PERIOD).carry_out()
    assert begins(world) == [(0, "a-b", 0, "a"), (300, "a-b", 1, "b"), (600, "a-b", 2, "c")]
    assert world.skipped == []


def test_pairs_that_share_a_host_have_slots_and_wait_for_each_other() -> None:
    slow = {("a-b", 0): 170}
    world = World(
        Schedule(campaign(["a-b", "b-c", "c-d"], count=2), BEGAN),
        lambda one: slow.get((one.pair.name, one.number), 40) * SECOND,
    )
    assert begins(world.carry_out()) == [
        (0, "a-b", 0, "a"),
        (0, "c-d", 0, "a"),
        (170, "b-c", 0, "a"),  # due at 150
        (300, "a-b", 1, "b"),
        (300, "c-d", 1, "b"),
        (450, "b-c", 1, "b"),
    ]
    assert world.skipped == []


def test_a_round_that_waits_for_a_whole_period_is_skipped() -> None:
    world = World(
        Schedule(campaign(["a-b", "b-c"], count=2), BEGAN),
        lambda one: (500 if one.pair.name == "a-b" else 40) * SECOND,
    ).carry_out()
    assert begins(world) == [(0, "a-b", 0, "a"), (500, "b-c", 1, "a")]
    assert reasons(world) == [(300, "a-b", 1, "overrun", "a-b"), (450, "b-c", 0, "overrun", "a-b")]


def test_a_host_that_dies_and_comes_back() -> None:
    # c is down when its first and its third round come; in the second it dies while it waits.
    downs = [
        Down("c", BEGAN, BEGAN + 200 * SECOND),
        Down("c", BEGAN + 460 * SECOND, BEGAN + 800 * SECOND),
    ]
    world = World(
        Schedule(campaign(["a-b", "b-c"], count=4), BEGAN), lambda _: 170 * SECOND, downs=downs
    ).carry_out()
    assert begins(world) == [
        (0, "a-b", 0, "a"),
        (300, "a-b", 1, "b"),
        (600, "a-b", 2, "c"),
        (900, "a-b", 3, "a"),
        (1070, "b-c", 3, "a"),  # due at 1050
    ]
    assert reasons(world) == [
        (150, "b-c", 0, "unreachable", "c"),
        (460, "b-c", 1, "unreachable", "c"),
        (750, "b-c", 2, "unreachable", "c"),
    ]


def test_a_campaign_that_was_killed_continues_from_its_records() -> None:
    kills = [Kill(BEGAN + 320 * SECOND, 700 * SECOND)]
    world = World(
        Schedule(campaign(["a-b"], count=5), BEGAN), lambda _: 40 * SECOND, kills=kills
    ).carry_out()
    assert [one.number for _, one in world.killed] == [1]
    assert begins(world) == [(0, "a-b", 0, "a"), (1020, "a-b", 3, "b"), (1200, "a-b", 4, "c")]
    assert reasons(world) == [(1020, "a-b", 2, "missed", None)]


def test_the_sizes_of_a_round_that_was_killed_come_again() -> None:
    world = World(
        Schedule(campaign(["a-b"], count=2), BEGAN),
        lambda _: 40 * SECOND,
        kills=[Kill(BEGAN + 20 * SECOND, 5 * SECOND)],
    ).carry_out()
    assert begins(world) == [(300, "a-b", 1, "a")]
    assert (world.skipped, [one.number for _, one in world.killed]) == ([], [0])


def test_a_long_pause_is_one_skip() -> None:
    schedule = Schedule(campaign(["a-b"], count=100_000), BEGAN)
    step = schedule.next(
        BEGAN + 90_000 * PERIOD + SECOND,
        running=(),
        down=(),
        known={"a-b": Progress(next=7, begun=5)},
    )
    pair = schedule.campaign.pairs[0]
    assert step.skip == (
        Skip(
            pair=pair,
            numbers=range(7, 90_000),
            index=THREE[2],
            due_ns=BEGAN + 7 * PERIOD,
            reason="missed",
        ),
    )
    assert step.begin == (
        Round(pair=pair, number=90_000, index=THREE[2], due_ns=BEGAN + 90_000 * PERIOD),
    )
    assert step.wake_ns == BEGAN + 90_001 * PERIOD


def test_before_the_beginning_and_with_a_clock_stepped_back_no_round_comes_twice() -> None:
    schedule = Schedule(campaign(["a-b"]), BEGAN)
    early = schedule.next(BEGAN - SECOND, running=(), down=(), known={})
    assert (early.begin, early.skip, early.wake_ns) == ((), (), BEGAN)
    known = {"a-b": Progress(next=3, begun=3)}
    back = schedule.next(BEGAN + PERIOD, running=(), down=("a",), known=known)
    assert (back.begin, back.skip, back.known, back.wake_ns) == ((), (), known, BEGAN + 3 * PERIOD)


def test_after_the_last_round_there_is_no_next_moment() -> None:
    schedule = Schedule(campaign(["a-b"]), BEGAN)
    done = schedule.next(
        schedule.ends_ns + PERIOD, running=(), down=(), known={"a-b": Progress(next=10, begun=10)}
    )
    assert (done.begin, done.skip, done.wake_ns) == ((), (), None)


def test_a_last_round_that_never_gets_its_host_is_skipped_too() -> None:
    world = World(
        Schedule(campaign(["a-b", "b-c"], count=1), BEGAN), lambda _: 600 * SECOND
    ).carry_out()
    assert begins(world) == [(0, "a-b", 0, "a")]
    assert reasons(world) == [(450, "b-c", 0, "overrun", "a-b")]


def test_memory_does_not_grow_with_the_weeks() -> None:
    day = 24 * 3600 * SECOND // PERIOD
    schedule = Schedule(campaign(["a-b", "b-c", "d-a"], count=14 * day, order="random"), BEGAN)
    before = copy.deepcopy(vars(schedule))
    known: dict[str, Progress] = {}
    sizes = []
    now = BEGAN
    while now < schedule.ends_ns:
        step = schedule.next(now, running=(), down=("d",), known=known)
        known = dict(step.known)
        sizes.append(len(pickle.dumps(known)))
        assert step.wake_ns is not None or now + PERIOD > schedule.ends_ns
        now = schedule.ends_ns if step.wake_ns is None else step.wake_ns
    assert vars(schedule) == before
    assert len(sizes) == len({*schedule.offsets_ns.values()}) * 14 * day
    assert max(sizes) <= max(sizes[: 2 * day]) + 16  # larger numbers take a few octets more


def test_every_cycle_pair_and_seed_has_its_own_order() -> None:
    def orders(seed: int, pair: str) -> list[str]:
        schedule = Schedule(campaign(["a-b", "b-c"], seed=seed, order="random"), BEGAN)
        return [
            "".join(schedule.index(pair, 3 * cycle + position).name for position in range(3))
            for cycle in range(60)
        ]

    assert set(orders(1, "a-b")) == {"".join(one) for one in itertools.permutations("abc")}
    assert orders(1, "a-b") != orders(1, "b-c")
    assert orders(1, "a-b") != orders(2, "a-b")


def test_progress_does_not_depend_on_the_order_of_rows() -> None:
    rows = [
        Recorded(pair="a-b", number=2, began_ns=70),
        Recorded(pair="b-c", number=0, began_ns=None),
        Recorded(pair="a-b", number=0, began_ns=10),
        Recorded(pair="a-b", number=1, began_ns=None),
    ]
    expected = {"a-b": Progress(next=3, begun=2, last_began_ns=70), "b-c": Progress(next=1)}
    for order in itertools.permutations(rows):
        assert progress(order) == expected


def test_pairs_of_another_campaign_are_refused() -> None:
    schedule = Schedule(campaign(["a-b", "b-c"]), BEGAN)
    with pytest.raises(ValueError, match="a-c is no pair of this campaign"):
        schedule.next(BEGAN, running=(), down=(), known={"a-c": Progress()})
    with pytest.raises(ValueError, match="x-y is no pair of this campaign"):
        schedule.next(BEGAN, running=("x-y",), down=(), known={})
    with pytest.raises(ValueError, match="2 rounds are running that share b"):
        schedule.next(BEGAN, running=("a-b", "b-c"), down=(), known={})
