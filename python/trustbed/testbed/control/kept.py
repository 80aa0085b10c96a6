"""What was said over a way that may be lost, and how often it was lost; as in ``crates/agent/src/control/kept.rs``.

Both sides count the frames that came whole. The first frame on a way says how many those are, and what lies behind them is sent again; in
between the same number lets the other side forget what it keeps. What is kept is bounded by the windows of the streams.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

EVERY = 16
"""After so many frames the other side is told that they have come."""


class Kept:
    """Frames that the other side may not have, and the number of those that came from it."""

    def __init__(self) -> None:
        self.came = 0
        self._first = 0
        self._frames: deque[bytes] = deque()

    def push(self, frame: bytes) -> None:
        """One more was said."""
        self._frames.append(frame)

    def forget(self, count: int) -> None:
        """The other side has so many, from the first one on.

        Raises:
            ValueError: That cannot be.
        """
        if not self._first <= count <= self._first + len(self._frames):
            raise ValueError(f"{count} frames cannot have come")
        while self._first < count:
            self._frames.popleft()
            self._first += 1

    def rest(self) -> bytes:
        """What the other side may not have."""
        return b"".join(self._frames)


@dataclass(slots=True)
class Loss:
    """A time without a way, by the real-time clock of this machine; ``until_ns`` is missing while there is none."""

    why: str
    from_ns: int
    until_ns: int | None = None

    def told(self) -> dict[str, Any]:
        """For records."""
        return {"from_ns": self.from_ns, "until_ns": self.until_ns, "why": self.why}
