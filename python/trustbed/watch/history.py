"""The history of a watched interface.

Totals since the beginning, the latest windows, the worst ones.

Memory does not grow with time. A window that the end of the watch cuts counts in totals and is left
out of means and maxima, as in the results of a file; the one in which the watch begins is taken as
a whole one, so its rate can under-, never overestimate.
"""

from __future__ import annotations

import bisect
import math
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from trustbed.watch.engine import Window

DIRECTIONS = ("in", "out", "all")
WORST = 10
"""Number of windows with the longest queue that are stored."""
COLUMNS = 400
"""Number of sparkline columns that are stored."""
_NOW_SECONDS = 1.0
"""What "now" covers: a rate over less is hard to read."""
_COLUMN_SECONDS = 0.1
"""A column of the sparkline represents at least so much time."""
BOUNDS = tuple(float(2**power) for power in range(10, 25))
"""Upper bounds of the counted queues, in bytes: 1 KiB to 16 MiB, doubling."""


@dataclass(slots=True)
class Trains:
    """Packets that follow each other closely."""

    trains: int = 0
    packets: int = 0
    packets_max: int = 0

    def add(self, window: Window) -> None:
        """The values of a window."""
        self.trains += window["trains"]
        self.packets += window["packets"]
        self.packets_max = max(self.packets_max, window["train_packets_max"] or 0)

    @property
    def packets_mean(self) -> float | None:
        """Packets per train."""
        return self.packets / self.trains if self.trains else None


@dataclass(slots=True)
class Direction:
    """The history of one direction.

    Attributes:
        name: ``in``, ``out`` or ``all``.
        length: Length of a window in seconds.
        packets: Packets, those that super-packets were cut into among them.
        bytes: The sum of their lengths.
        windows: Complete windows.
        abw_max: The highest average rate of a window, in bit/s.
        measured: Complete windows whose queue is known.
        max_q_sum: The sum of their queues, in bytes.
        max_q_max: The longest of them.
        buckets: How many of them are at most as long as each of :data:`BOUNDS`.
        last: The last complete window.
        trains: Of all windows.
    """

    name: str
    length: float
    packets: int = 0
    bytes: int = 0
    windows: int = 0
    complete_bytes: int = 0
    abw_max: float = 0.0
    measured: int = 0
    max_q_sum: float = 0.0
    max_q_max: float | None = None
    buckets: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    last: Window | None = None
    trains: Trains = field(default_factory=Trains)
    _recent: deque[Window] = field(default_factory=deque)
    _columns: deque[tuple[int, float | None]] = field(default_factory=lambda: deque(maxlen=COLUMNS))
    _worst: list[Window] = field(default_factory=list)

    def add(self, window: Window) -> None:
        """A window, or several without packets."""
        self.packets += window["packets"]
        self.bytes += window["bytes"]
        self.trains.add(window)
        if window["partial"]:
            return
        count = window["windows"]
        self.windows += count
        self.complete_bytes += window["bytes"]
        self.abw_max = max(self.abw_max, window["abw_bits_per_second"])
        self.last = window
        if self._recent and window["start_seconds"] < self._recent[-1]["start_seconds"]:
            self._recent.clear()  # the clock was set back: nothing before is recent
        self._recent.append(window)
        while (
            self._recent and self._end(self._recent[0]) <= self._end(window) - _NOW_SECONDS + 1e-6
        ):
            self._recent.popleft()
        queue = window["max_q_bytes"]
        if queue is not None:
            self.measured += count
            self.max_q_sum += queue * count
            self.max_q_max = max(self.max_q_max or 0.0, queue)
            for at in range(bisect.bisect_left(BOUNDS, queue), len(BOUNDS)):
                self.buckets[at] += count
        self._draw(window, queue)
        self._rank(window, queue)

    def _end(self, window: Window) -> float:
        return float(window["start_seconds"] + window["windows"] * self.length)

    def _draw(self, window: Window, queue: float | None) -> None:
        """Puts the window into its column, and columns without packets before it."""
        per_column = max(1, round(_COLUMN_SECONDS / self.length)) * self.length
        height = queue if window["packets"] else None
        first, last = (
            math.floor(window["start_seconds"] / per_column + 1e-6),
            math.floor(self._end(window) / per_column - 1e-6),
        )
        for column in range(max(first, last - COLUMNS), max(first, last) + 1):
            if self._columns and self._columns[-1][0] == column:
                held = self._columns[-1][1]
                self._columns[-1] = (
                    column,
                    max((value for value in (held, height) if value is not None), default=None),
                )
            else:
                self._columns.append((column, height))

    def _rank(self, window: Window, queue: float | None) -> None:
        if queue and (len(self._worst) < WORST or queue > _queue(self._worst[-1])):
            bisect.insort(self._worst, window, key=lambda held: -_queue(held))
            del self._worst[WORST:]

    @property
    def worst(self) -> list[Window]:
        """The windows with the longest queues, the longest first."""
        return list(self._worst)

    @property
    def columns(self) -> list[float | None]:
        """The longest queue in each of the latest columns of the sparkline.

        Null where no packet came.
        """
        return [height for _, height in self._columns]

    @property
    def _seconds(self) -> float:
        return self.length * sum(int(window["windows"]) for window in self._recent)

    @property
    def abw_now(self) -> float | None:
        """The rate in bit/s over the last second of complete windows, or a longer last window."""
        return (
            8 * sum(window["bytes"] for window in self._recent) / self._seconds
            if self._recent
            else None
        )

    @property
    def packets_now(self) -> float | None:
        """Packets per second over the same time."""
        return (
            sum(window["packets"] for window in self._recent) / self._seconds
            if self._recent
            else None
        )

    @property
    def max_q_now(self) -> float | None:
        """The longest queue over the same time, in bytes."""
        return max(
            (window["max_q_bytes"] for window in self._recent if window["max_q_bytes"] is not None),
            default=None,
        )

    @property
    def trains_now(self) -> Trains:
        """The trains over the same time."""
        trains = Trains()
        for window in self._recent:
            trains.add(window)
        return trains

    @property
    def abw_mean(self) -> float | None:
        """The mean rate over all complete windows, in bit/s."""
        return 8 * self.complete_bytes / (self.windows * self.length) if self.windows else None

    @property
    def max_q_mean(self) -> float | None:
        """The mean over all complete windows of the longest queue, in bytes."""
        return self.max_q_sum / self.measured if self.measured else None


class History:
    """The history of all directions.

    A scraper may look at it (:attr:`lock`) while windows are added.
    """

    def __init__(self, length: float) -> None:
        self.length = length
        self.directions: dict[str, Direction] = {}
        self.lock = threading.Lock()

    def add(self, windows: Sequence[Window]) -> None:
        """Windows that became complete."""
        with self.lock:
            for window in windows:
                name = window["direction"]
                if name not in self.directions:
                    self.directions[name] = Direction(name, self.length)
                    self.directions = {
                        known: self.directions[known]
                        for known in DIRECTIONS
                        if known in self.directions
                    }
                self.directions[name].add(window)

    @property
    def all(self) -> Direction:
        """Everything as one stream."""
        return self.directions.get("all") or Direction("all", self.length)


def _queue(window: Window) -> float:
    return window["max_q_bytes"] or 0.0
