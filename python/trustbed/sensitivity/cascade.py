"""Bytes over time as a cascade: how each block's bytes are divided between its two halves.

The halves of a block of 2^j bins have shares w and 1 − w of its bytes. A series is its total and
the shares of all its blocks (the multiplicative Haar transform of the multifractal wavelet model,
Riedi, Crouse, Ribeiro and Baraniuk, IEEE Trans. Information Theory 45(3), 1999). Changing the
shares of some octaves gives a surrogate with the same total, never negative, in which only these
time scales are smoother or burstier. An ordinary Haar transform would have to clip what becomes
negative, and so change the mean.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_BLOCKS = 4
"""Fewer blocks of an octave say nothing about it."""
CONTRAST = 0.35
"""How far from one half the shares of an amplified octave are at least."""
GAIN = 2.0
"""What the distance of a share from one half is multiplied with in an amplified octave."""


@dataclass(frozen=True, slots=True, order=True)
class Band:
    """Neighbouring octaves, from 1 on: a coefficient of octave j compares blocks of 2^(j−1) bins.

    Attributes:
        first: The smallest octave.
        last: The largest.
    """

    first: int
    last: int

    @property
    def octaves(self) -> range:
        """All of them."""
        return range(self.first, self.last + 1)

    def seconds(self, bin_seconds: float = 0.001) -> tuple[float, float]:
        """The shortest and the longest blocks that it compares."""
        return 2.0 ** (self.first - 1) * bin_seconds, 2.0 ** (self.last - 1) * bin_seconds


def octaves(bins: int) -> int:
    """How many octaves a series of so many bins has, with :data:`LEAST_BLOCKS` blocks each."""
    return max(0, int(math.log2(bins / LEAST_BLOCKS))) if bins >= LEAST_BLOCKS else 0


def bands(bins: int, width: int = 2) -> tuple[Band, ...]:
    """Bands of ``width`` octaves each that a series of so many bins can show."""
    return tuple(
        Band(first, first + width - 1) for first in range(1, octaves(bins) - width + 2, width)
    )


def energies(series: Sequence[float]) -> list[float | None]:
    """log₂ of the mean squared Haar coefficient of each octave, over that of the mean's square.

    L2 normalisation, no padding (methods of the energy plot). Relative to the mean: a background
    of twice the rate and the same shape has the same numbers. ``None``: no energy at all.
    """
    mean = sum(series) / len(series) if series else 0.0
    found: list[float | None] = []
    level = list(series)
    while len(level) >= 2 * LEAST_BLOCKS:
        pairs = len(level) // 2
        halves = [(level[2 * k], level[2 * k + 1]) for k in range(pairs)]
        power = sum((left - right) ** 2 for left, right in halves) / (2 * pairs)
        found.append(math.log2(power / mean**2) if power > 0 and mean > 0 else None)
        level = [(left + right) / math.sqrt(2) for left, right in halves]
    return found


def surrogate(
    series: Sequence[float], band: Band | None, *, amplified: bool, seed: int
) -> list[float]:
    """The series with the time scales of one band flattened, or amplified; the total stays.

    Flattened: the halves of every block of the band's octaves have the same bytes. Amplified: the
    distance of their shares from one half is multiplied by :data:`GAIN`, and is at least
    :data:`CONTRAST`; where the halves are equal the seed decides which has more. Shorter time
    scales, which would grow with their blocks, are brought back to their energy. The series is cut
    to whole blocks of its largest octave. ``band`` ``None``: nothing but that cut.
    """
    depth = octaves(len(series))
    block = 1 << depth
    level = list(series[: len(series) // block * block])
    if band is None:
        return level
    chosen = random.Random(seed)
    shares: list[list[float]] = []
    powers: list[float] = []
    for octave in range(1, depth + 1):
        halves = [(level[2 * k], level[2 * k + 1]) for k in range(len(level) // 2)]
        powers.append(sum((left - right) ** 2 for left, right in halves))
        own = [left / (left + right) if left + right > 0 else 0.5 for left, right in halves]
        if octave in band.octaves:
            own = [_amplified(share, chosen) if amplified else 0.5 for share in own]
        shares.append(own)
        level = [left + right for left, right in halves]
    for octave, own in zip(range(depth, 0, -1), reversed(shares), strict=True):
        if octave < band.first:
            own = _of_power(own, level, powers[octave - 1])
        level = [
            part
            for whole, share in zip(level, own, strict=True)
            for part in (whole * share, whole * (1 - share))
        ]
    return level


def _of_power(own: Sequence[float], blocks: Sequence[float], power: float) -> list[float]:
    """Shares as far from one half, all by one factor, as gives the octave its former energy."""
    has = sum((whole * (2 * share - 1)) ** 2 for whole, share in zip(blocks, own, strict=True))
    gain = math.sqrt(power / has) if has > 0 else 1.0
    return [min(1.0, max(0.0, 0.5 + gain * (share - 0.5))) for share in own]


def _amplified(share: float, chosen: random.Random) -> float:
    away = share - 0.5
    sign = (1 if away > 0 else -1) if away else chosen.choice((-1, 1))
    return 0.5 + sign * max(min(GAIN * abs(away), 0.5), CONTRAST)
