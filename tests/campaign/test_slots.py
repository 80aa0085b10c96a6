"""Slots of pairs: never the same for two of a host, and not many more than needed."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trustbed.campaign.schedule.slots import slots

PAIRS = st.lists(st.sampled_from([*itertools.permutations("abcdefg", 2)]), max_size=30)


@given(PAIRS)
def test_pairs_of_a_host_have_different_slots(pairs: list[tuple[str, str]]) -> None:
    taken = Counter(
        (host, slot) for pair, slot in zip(pairs, slots(pairs), strict=True) for host in pair
    )
    assert all(times == 1 for times in taken.values())


@given(PAIRS)
def test_there_are_no_gaps_and_fewer_than_twice_the_pairs_of_a_host(
    pairs: list[tuple[str, str]],
) -> None:
    found = slots(pairs)
    most = max(Counter(host for pair in pairs for host in pair).values(), default=0)
    assert set(found) == set(range(len(set(found))))
    assert len(set(found)) <= max(0, 2 * most - 1)


def test_pairs_without_a_common_host_share_a_slot() -> None:
    assert slots([("a", "b"), ("c", "d"), ("e", "f")]) == [0, 0, 0]
    assert slots([("hub", "a"), ("hub", "b"), ("c", "hub")]) == [0, 1, 2]
    assert slots([]) == []
