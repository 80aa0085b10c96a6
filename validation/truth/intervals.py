"""Intervals of shares, and of any figure, where cases come in clusters.

Transfers of one network are alike, so that their number says less than it seems to: the percentile
bootstrap (Efron, *Bootstrap Methods: Another Look at the Jackknife*, 1979) draws whole networks
with replacement (Field and Welsh, *Bootstrapping Clustered Data*, 2007) and computes the figure
again.

Where no draw differs, because nothing or everything was a hit, a bootstrap knows no interval. A
share therefore gets at least Wilson's (*Probable Inference, the Law of Succession, and Statistical
Inference*, 1927).

Bias: Wilson's takes cases for independent; for a share of 0 or 1 the interval is rather too narrow.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random
from typing import TypeVar

from trustbed import workload

DRAWS = 400

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
Interval = tuple[float, float]


def wilson(hits: int, of: int) -> Interval:
    """95 % interval of a share; all of 0…1 where nothing was counted."""
    found = workload.share_interval(hits, of)
    return (0.0, 1.0) if found is None else (found.low, found.high)


def share_interval(clusters: Sequence[tuple[int, int]], *, seed: int = 1) -> Interval:
    """95 % interval of a share, from (hits, cases) of each cluster."""
    hits, of = sum(hits for hits, _ in clusters), sum(of for _, of in clusters)
    least = wilson(hits, of)
    if not hits or hits == of:
        return least

    def figure(times: Sequence[int]) -> Mapping[str, float]:
        drawn = sum(number * cases for number, (_, cases) in zip(times, clusters, strict=True))
        found = sum(number * hit for number, (hit, _) in zip(times, clusters, strict=True))
        return {"share": found / drawn} if drawn else {}

    found = clustered(len(clusters), figure, seed=seed).get("share", least)
    return min(found[0], least[0]), max(found[1], least[1])


def clustered(
    clusters: int,
    figures: Callable[[Sequence[int]], Mapping[K, float]],
    *,
    seed: int = 1,
    draws: int = DRAWS,
) -> dict[K, Interval]:
    """95 % intervals of figures; those that most draws do not have are left out.

    ``figures`` computes them with every cluster taken so many times.
    """
    random = Random(seed)
    found: dict[K, list[float]] = defaultdict(list)
    for _ in range(draws if clusters else 0):
        times = [0] * clusters
        for _ in range(clusters):
            times[random.randrange(clusters)] += 1
        for key, value in figures(times).items():
            found[key].append(value)
    return {key: _middle(values) for key, values in found.items() if len(values) > draws // 2}


def bootstrap(
    cases: Sequence[T],
    figure: Callable[[Sequence[T]], float | None],
    *,
    seed: int = 1,
    draws: int = DRAWS,
) -> Interval | None:
    """95 % interval of a figure of independent cases; ``None`` where most draws have none."""
    random = Random(seed)
    found = [
        value
        for _ in range(draws if cases else 0)
        if (value := figure(random.choices(cases, k=len(cases)))) is not None
    ]
    return _middle(found) if len(found) > draws // 2 else None


def _middle(values: Sequence[float]) -> Interval:
    ordered = sorted(values)
    last = len(ordered) - 1
    return ordered[int(0.025 * last)], ordered[math.ceil(0.975 * last)]
