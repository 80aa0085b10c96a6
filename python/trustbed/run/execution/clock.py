"""The clocks of a run, behind a protocol, so that tests can replace them."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The clocks that a run reads, and its sleep."""

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""

    def realtime_ns(self) -> int:
        """Nanoseconds since the epoch, the agents' common clock."""

    def sleep(self, seconds: float) -> None:
        """Waits."""


class SystemClock:
    """The clocks of the system."""

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def realtime_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)
