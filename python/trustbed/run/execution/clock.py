"""The clocks of a run, in one place, so that tests can hold them."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What a run reads and waits with."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def realtime_ns(self) -> int:
        """Nanoseconds since the epoch, the agents' common clock."""

    def sleep(self, seconds: float) -> None:
        """Waits."""


class SystemClock:
    """The machine's."""

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def realtime_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)
