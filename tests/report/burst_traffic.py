"""Traffic whose burstiness is known.

Frames that a timer released, the same frames evenly paced, and frames of all sizes.
"""

from __future__ import annotations

from tests.report.burst_reference import Packets

FRAME = 1514
BACK_TO_BACK = 12_304
EPOCH = 1_700_000_000_000_000_000


def released_by_timer(*, hertz: int = 100, seconds: float = 2.0, frames: int = 33) -> Packets:
    """``frames`` full frames back to back at every tick.

    40 Mbit/s at a hundred ticks a second, over a link of 1 Gbit/s.
    """
    tick = 1_000_000_000 // hertz
    return [
        (EPOCH + number * tick + place * BACK_TO_BACK, FRAME)
        for number in range(int(seconds * hertz))
        for place in range(frames)
    ]


def paced(*, seconds: float = 2.0) -> Packets:
    """A frame every 312.5 µs, 320 in a tenth of a second: 38.8 Mbit/s without bursts."""
    return [(EPOCH + place * 312_500, FRAME) for place in range(int(seconds * 1e9) // 312_500)]


def uneven(*, packets: int = 6000) -> Packets:
    """Pseudo-random packets of many sizes and gaps, some of them 0."""
    state, time, made = 7, EPOCH, []
    for _ in range(packets):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        time += 0 if state % 7 == 0 else state % 600_000
        made.append((time, 60 + state % 1455))
    return made
