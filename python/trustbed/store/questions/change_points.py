"""When a share changed: change points of a sequence of counts, with intervals.

The unit is a block: a capture, or neighbouring captures where there are many, with its transfers
and how many of them have the property. Blocks are what is exchanged and drawn, since the transfers
of a capture depend on each other.

- Search: binary segmentation (Vostrikova, 1981) by the largest standardised CUSUM of the residuals
  ``hits − share · of``.
- Test: whether the largest is larger than in sequences whose blocks are exchanged (a permutation
  test of the maximum), ended early once it cannot become significant (Besag and Clifford, 1991).
  At a moment that is given: whether the shares differ more than those of exchanged blocks do.
- Intervals: the bootstrap of Hušková and Kirch (2008). Blocks are drawn with replacement on either
  side of the change, the change is looked for again, and its distances from the found one give the
  interval of the moment; the shares of the same draws give those of the shares and of their
  difference (percentiles).

Bias: blocks count as independent of each other. A slow drift is reported as one step or several.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import msgspec

from trustbed.workload.intervals import LEVEL, Interval

FEWEST = 8
"""Blocks on either side of a change."""
DRAWS = 499
_ENOUGH = 20
"""Draws as far apart as what was seen, after which a test of a given moment ends."""
MOST_BLOCKS = 256
MOST_CHANGES = 6


@dataclass(frozen=True, slots=True)
class Block:
    """Transfers that belong together: when they began, how many, how many with the property."""

    at_ns: int
    of: int
    hits: int


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a share.

    Attributes:
        at_ns: When the first block after it began.
        at_low_ns: The interval of that moment.
        at_high_ns: Its end.
        before: The share since the change before it, or the beginning.
        after: The share until the next one, or the end.
        difference: ``after − before`` with its interval.
        p: Of the permutation test: of the largest change, or of that at the moment that was given.
    """

    at_ns: int
    at_low_ns: int
    at_high_ns: int
    before: float
    after: float
    before_interval: Interval
    after_interval: Interval
    difference: Interval
    p: float


def merged(blocks: Sequence[Block], most: int = MOST_BLOCKS) -> list[Block]:
    """Neighbours together, so that there are ``most`` of them at most; in order of time."""
    ordered = sorted(blocks, key=lambda one: (one.at_ns, one.of, one.hits))
    if len(ordered) <= most:
        return ordered
    bounds = [round(index * len(ordered) / most) for index in range(most + 1)]
    parts = [ordered[first:end] for first, end in pairwise(bounds)]
    return [
        Block(part[0].at_ns, sum(one.of for one in part), sum(one.hits for one in part))
        for part in parts
    ]


def halves(blocks: Sequence[Block], moment_ns: int, most: int = MOST_BLOCKS) -> list[Block]:
    """The same, but those before a moment are not joined to those since."""
    before = [one for one in blocks if one.at_ns < moment_ns]
    since = [one for one in blocks if one.at_ns >= moment_ns]
    return [*merged(before, most // 2), *merged(since, most // 2)]


def changes(
    blocks: Sequence[Block], *, level: float = LEVEL, tests: int = 1, seed: int = 1
) -> list[Change]:
    """The changes of a share over blocks in order of time, by the moment.

    ``tests`` sequences are searched in one question; each is held to a share of the error
    (Bonferroni).
    """
    alpha = (1 - level) / max(1, tests)
    chance = random.Random(seed)
    found: dict[int, float] = {}
    waiting = [(0, len(blocks))]
    while waiting and len(found) < MOST_CHANGES:
        first, end = waiting.pop(0)
        at, p = _tested(blocks[first:end], alpha, chance)
        if at is not None:
            found[first + at] = p
            waiting += [(first, first + at), (first + at, end)]
    bounds = [0, *sorted(found), len(blocks)]
    return [
        _change(blocks, before, at, after, level, chance, found[at])
        for before, at, after in zip(bounds, bounds[1:], bounds[2:], strict=False)
    ]


def change_at(
    blocks: Sequence[Block],
    moment_ns: int,
    *,
    level: float = LEVEL,
    tests: int = 1,
    seed: int = 1,
) -> Change | None:
    """The change between before and since a moment; None if there are too few blocks.

    It is one beyond chance if its ``p`` times ``tests`` is at most ``1 − level`` (Bonferroni).
    """
    at = sum(one.at_ns < moment_ns for one in blocks)
    if at < FEWEST or len(blocks) - at < FEWEST:
        return None
    chance = random.Random(seed)
    p = _differing(blocks, at, (1 - level) / max(1, tests), chance)
    found = _change(blocks, 0, at, len(blocks), level, chance, p, given=True)
    return msgspec.structs.replace(
        found, at_ns=moment_ns, at_low_ns=moment_ns, at_high_ns=moment_ns
    )


def _largest(of: Sequence[int], hits: Sequence[int]) -> tuple[float, int]:
    """The largest standardised CUSUM, and before which block it is."""
    whole, share = sum(of), sum(hits) / max(1, sum(of))
    best, at = -1.0, FEWEST
    seen = list(accumulate(of))
    had = list(accumulate(hits))
    for index in range(FEWEST - 1, len(of) - FEWEST):
        left = seen[index]
        spread = left * (whole - left)
        if spread:
            size = abs(had[index] - share * left) / math.sqrt(spread)
            if size > best:
                best, at = size, index + 1
    return best, at


def _tested(
    blocks: Sequence[Block], alpha: float, chance: random.Random
) -> tuple[int | None, float]:
    """Where the share changed, and the p-value; None if it did not."""
    if len(blocks) < 2 * FEWEST:
        return None, 1.0
    best, at = _largest([one.of for one in blocks], [one.hits for one in blocks])
    draws = max(DRAWS, math.ceil(2 / alpha) - 1)
    above, mixed = 0, list(blocks)
    for _ in range(draws):
        chance.shuffle(mixed)
        above += _largest([one.of for one in mixed], [one.hits for one in mixed])[0] >= best
        if (1 + above) / (1 + draws) > alpha:
            return None, 1.0
    return at, (1 + above) / (1 + draws)


def _differing(blocks: Sequence[Block], at: int, alpha: float, chance: random.Random) -> float:
    """How often shares before and from a place on differ as much if blocks are exchanged.

    The p-value of Besag and Clifford (1991), which ends once it is certain to be large.
    """
    seen, above, mixed = _apart(blocks, at), 0, list(blocks)
    draws = max(DRAWS, math.ceil(2 / alpha) - 1)
    for drawn in range(1, draws + 1):
        chance.shuffle(mixed)
        above += _apart(mixed, at) >= seen
        if above == _ENOUGH:
            return above / drawn
    return (1 + above) / (1 + draws)


def _apart(blocks: Sequence[Block], at: int) -> float:
    return abs(_share(blocks[at:]) - _share(blocks[:at]))


def _change(
    blocks: Sequence[Block],
    first: int,
    at: int,
    end: int,
    level: float,
    chance: random.Random,
    p: float,
    *,
    given: bool = False,
) -> Change:
    left, right = blocks[first:at], blocks[at:end]
    shifts, befores, afters, differences = [], [], [], []
    for _ in range(DRAWS):
        drawn = chance.choices(left, k=len(left)), chance.choices(right, k=len(right))
        befores.append(_share(drawn[0]))
        afters.append(_share(drawn[1]))
        differences.append(afters[-1] - befores[-1])
        both = [*drawn[0], *drawn[1]]
        if not given:
            again = _largest([one.of for one in both], [one.hits for one in both])[1]
            shifts.append(again - len(left))
    spread = _percentiles(shifts or [0], level)
    low = min(max(at - round(spread[1]), first), end - 1)
    high = min(max(at - round(spread[0]), first), end - 1)
    return Change(
        at_ns=blocks[at].at_ns,
        at_low_ns=blocks[low].at_ns,
        at_high_ns=blocks[high].at_ns,
        before=_share(left),
        after=_share(right),
        before_interval=Interval(*_percentiles(befores, level), "bootstrap"),
        after_interval=Interval(*_percentiles(afters, level), "bootstrap"),
        difference=Interval(*_percentiles(differences, level), "bootstrap"),
        p=p,
    )


def _share(blocks: Sequence[Block]) -> float:
    return sum(one.hits for one in blocks) / max(1, sum(one.of for one in blocks))


def _percentiles(drawn: Sequence[float], level: float) -> tuple[float, float]:
    """The ends that each leave half of the error outside."""
    ordered = sorted(drawn)
    outside = math.floor((1 - level) / 2 * (len(ordered) + 1))
    at = max(0, outside - 1)
    return ordered[at], ordered[len(ordered) - 1 - at]
