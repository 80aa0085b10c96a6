"""What a player shows of a media stream: start, stalls, lost frames, late parts.

The model plays one frame after the other at a constant rate. It begins when its buffer is full,
stops at a frame that is not complete when its time has come, and goes on when so much as it began
with is complete again. A frame that never becomes complete is shown as a repeat of the one before.

Bias: the model knows which frames never come, and does not wait for them, neither to begin nor
after a stall. A real player learns it later, so start-up and stalls can be under-, never
overestimated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

_ROUNDING = 1e-9
"""A part of a frame: what floating point makes of a buffer of a whole number of frames."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A wait for a frame.

    Attributes:
        frame: The frame that was not complete when its time had come.
        start: When that was, in seconds.
        seconds: How long the player waited.
    """

    frame: int
    start: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Playout:
    """What a player showed.

    Attributes:
        start_up: When it began, in seconds after the request; None if no frame came.
        stalls: The waits for frames.
        lost_frames: Frames that never became complete.
        due: When each frame was to be shown, stalls before it included: in seconds after the
            request. None if nothing was shown.
        shown: When it was shown, after a stall for it.
        end: When the last frame had been shown, in seconds.
        media: How long the media is, in seconds.
    """

    start_up: float | None
    stalls: tuple[Stall, ...]
    lost_frames: int
    due: tuple[float | None, ...]
    shown: tuple[float | None, ...]
    end: float | None
    media: float

    @property
    def stalled(self) -> float:
        """The total of all stalls, in seconds."""
        return math.fsum(stall.seconds for stall in self.stalls)

    @property
    def rebuffer_ratio(self) -> float | None:
        """Stall time over media time; None if nothing was shown."""
        return None if self.start_up is None or not self.media else self.stalled / self.media


def playout(
    complete: Sequence[float | None], *, frames_per_second: float, buffer: float = 0.0
) -> Playout:
    """Plays frames by the times at which they were complete.

    Args:
        complete: When each frame was complete, in seconds after the request; None: never.
        frames_per_second: The rate of the frames.
        buffer: How much media the player holds before it begins, and again after a stall, in
            seconds. With 0 it begins with the first frame and goes on with the one it waited for.

    >>> played = playout([0.0, 0.04, 0.07, 0.11, 0.4, 0.41], frames_per_second=25, buffer=0.16)
    >>> played.start_up, [stall.frame for stall in played.stalls]
    (0.11, [4])
    """
    step = 1 / frames_per_second
    media = len(complete) * step
    level = max(1, math.ceil(buffer * frames_per_second - _ROUNDING))
    start = _filled(complete, 0, level)
    if start is None:
        nothing = (None,) * len(complete)
        return Playout(
            start_up=None,
            stalls=(),
            lost_frames=len(complete),
            due=nothing,
            shown=nothing,
            end=None,
            media=media,
        )
    # Frames are shown at a base plus their number over the rate, so that steps do not add up.
    base, stalls = start, []
    due: list[float | None] = []
    shown: list[float | None] = []
    for frame, at in enumerate(complete):
        clock = base + frame * step
        due.append(clock)
        if at is not None and at > clock + _ROUNDING:
            again = _filled(complete, frame, level)
            assert again is not None, "the frame itself is complete"
            stalls.append(Stall(frame, clock, again - clock))
            base = again - frame * step
            clock = again
        shown.append(clock)
    return Playout(
        start_up=start,
        stalls=tuple(stalls),
        lost_frames=sum(at is None for at in complete),
        due=tuple(due),
        shown=tuple(shown),
        end=base + media,
        media=media,
    )


def _filled(complete: Sequence[float | None], first: int, level: int) -> float | None:
    """When a number of frames from ``first`` on are complete, or all that are left.

    Frames that never become complete do not count. None if there are no others.
    """
    left = (complete[frame] for frame in range(first, len(complete)))  # islice() walks from 0
    known = (at for at in left if at is not None)
    return max(islice(known, level), default=None)


def late_parts(parts: Iterable[tuple[int, float]], due: Sequence[float | None]) -> int:
    """How many parts arrived after their frame was to be shown.

    Args:
        parts: The frame of each part, and when it arrived for the first time, in seconds.
        due: When each frame was to be shown (:attr:`Playout.due`).
    """
    return sum(
        (limit := due[frame]) is not None and arrived > limit + _ROUNDING
        for frame, arrived in parts
    )
