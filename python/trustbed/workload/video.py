"""What a player shows of a video that it fetches chunk by chunk.

It begins with its first chunk, plays what it has, stops when nothing is left, and goes on with the
next chunk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that came.

    Attributes:
        complete: When its last byte was there, in seconds after the video was requested.
        seconds: How long it plays.
        rate: The rate that was chosen for it, in bit/s.
    """

    complete: float
    seconds: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewing:
    """What a viewer of a video experienced.

    Attributes:
        start_up: When the first chunk was complete, in seconds after the request; None if none was.
        stalls: How long each wait for a chunk was, in seconds.
        switches: How many chunks have another rate than the one before.
        mean_rate: The mean of the rates, each for as long as its chunk plays, in bit/s; None
            without chunks.
        media: How long all chunks play, in seconds.
    """

    start_up: float | None
    stalls: tuple[float, ...]
    switches: int
    mean_rate: float | None
    media: float

    @property
    def stalled(self) -> float:
        """The total of all stalls, in seconds."""
        return math.fsum(self.stalls)

    @property
    def rebuffer_ratio(self) -> float | None:
        """Stall time over media time; None without chunks."""
        return self.stalled / self.media if self.media else None


def viewing(chunks: Sequence[Chunk]) -> Viewing:
    """Plays the chunks that came, in order.

    >>> viewing([Chunk(1.0, 4.0, 1e6), Chunk(6.0, 4.0, 2e6)]).stalls
    (1.0,)
    """
    stalls = []
    empty = None
    for chunk in chunks:
        if empty is not None and chunk.complete > empty:
            stalls.append(chunk.complete - empty)
        empty = max(chunk.complete, empty or chunk.complete) + chunk.seconds
    media = math.fsum(chunk.seconds for chunk in chunks)
    weighted = math.fsum(chunk.rate * chunk.seconds for chunk in chunks)
    return Viewing(
        start_up=chunks[0].complete if chunks else None,
        stalls=tuple(stalls),
        switches=sum(one.rate != other.rate for one, other in pairwise(chunks)),
        mean_rate=weighted / media if media else None,
        media=media,
    )
