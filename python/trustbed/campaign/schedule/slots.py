"""Slots of a period: pairs that share a host get different ones.

This is an edge colouring of a graph. In the order of the file, every pair takes the first slot that
neither of its hosts has. That needs at most 2Δ − 1 slots, where Δ is the largest number of pairs of
one host; at least Δ are always necessary.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence


def slots(pairs: Sequence[tuple[str, str]]) -> list[int]:
    """The slot of every pair, from 0, without gaps.

    >>> slots([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")])
    [0, 1, 0, 1, 2]
    """
    taken: defaultdict[str, set[int]] = defaultdict(set)
    found = []
    for first, second in pairs:
        busy = taken[first] | taken[second]
        slot = next(number for number in range(len(busy) + 1) if number not in busy)
        taken[first].add(slot)
        taken[second].add(slot)
        found.append(slot)
    return found
