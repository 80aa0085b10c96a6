"""Applications that react to one band of time scales: are they told which?

Each is a token bucket of a given depth that the background drains: what finds no token is lost, and
an application waits for it. A bucket overflows when a burst brings more than its depth above its
rate, so its depth is a time scale. The experiment is the product's, surrogates and statistics; the
network is this arithmetic, with 3 % of noise, so that the truth is known.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from trustbed.sensitivity import cascade
from trustbed.sensitivity.cascade import Band
from trustbed.sensitivity.judge.effects import Seen
from trustbed.sensitivity.judge.scales import bands as bands_of
from trustbed.sensitivity.judge.scales import onset
from trustbed.sensitivity.plan import Treatment

_BINS = 20_000
_MEAN = 1000.0
_CONTRAST = 0.06
_RATE = 1.25
_ROUNDS = 4
_SEEDS = (1, 2)
_NOISE = 0.03


def told() -> tuple[int, int]:
    """How many buckets were told their band, and how many were tried."""
    outcomes = list(tried())
    return sum(wanted == got for wanted, got in outcomes), len(outcomes)


def tried() -> Iterator[tuple[Band, Band | None]]:
    """The band of every bucket, and the one that it was told."""
    bands = cascade.bands(_BINS)
    for seed in _SEEDS:
        background = broadband(_BINS, _MEAN, contrast=_CONTRAST, seed=seed)
        for band in bands:
            found = onset(bands_of(list(_observed(background, bands, band, seed))))
            yield band, None if found is None else Band(found.first, found.last)


def broadband(bins: int, mean: float, *, contrast: float, seed: int) -> list[float]:
    """A series in which no time scale stands out: all shares are as far from one half."""
    chosen = random.Random(seed)
    depth = math.ceil(math.log2(bins))
    level = [mean * (1 << depth)]
    for _ in range(depth):
        shares = [0.5 + chosen.choice((-1, 1)) * contrast for _ in level]
        level = [
            part
            for whole, share in zip(level, shares, strict=True)
            for part in (whole * share, whole * (1 - share))
        ]
    return level[:bins]


def depth_of(band: Band) -> float:
    """The bytes that a burst of the band's time scale brings above the bucket's rate."""
    shortest, longest = band.seconds()
    milliseconds = math.sqrt(shortest * longest) * 1e3
    return (2 * (0.5 + cascade.CONTRAST) - _RATE) * _MEAN * milliseconds


def _observed(
    background: Sequence[float], bands: Sequence[Band], own: Band, seed: int
) -> Iterator[Seen]:
    depth = depth_of(own)
    for number, (band, amplified) in enumerate(
        [(None, False), *((one, up) for one in bands for up in (False, True))]
    ):
        series = cascade.surrogate(background, band, amplified=amplified, seed=seed)
        seen = Seen(Treatment(name="bucket", keys={}, load=0.5, band=band, amplified=amplified))
        waits = 1 + 10 * _lost(series, depth)
        for round_ in range(_ROUNDS):
            noise = random.Random(f"{seed} {own} {number} {round_}").gauss(0, _NOISE)
            seen.logs[round_] = math.log(waits) + noise
        yield seen


def _lost(series: Sequence[float], depth: float) -> float:
    """The share of the bytes that found no token."""
    tokens, lost = depth, 0.0
    for octets in series:
        tokens = min(depth, tokens + _RATE * _MEAN)
        lost += max(0.0, octets - tokens)
        tokens = max(0.0, tokens - octets)
    return lost / sum(series)
