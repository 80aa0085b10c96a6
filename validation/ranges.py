"""A set of integers as sorted half-open ranges: slow, obvious, exact."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class Ranges:
    """Disjoint half-open ranges in ascending order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> int:
        """Adds [start, end) and returns how many of its members were there before."""
        if start >= end:
            return 0
        overlap = self.overlap(start, end)
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        return overlap

    def overlap(self, start: int, end: int) -> int:
        """How many members [start, end) has."""
        total, at = 0, bisect_right(self._ends, start)
        while at < len(self._starts) and self._starts[at] < end:
            total += min(end, self._ends[at]) - max(start, self._starts[at])
            at += 1
        return total

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of [start, end) that have no member."""
        gaps, at, index = [], start, bisect_right(self._ends, start)
        while index < len(self._starts) and self._starts[index] < end:
            if self._starts[index] > at:
                gaps.append((at, self._starts[index]))
            at = self._ends[index]
            index += 1
        return [*gaps, (at, end)] if at < end else gaps

    def above(self, offset: int) -> int:
        """How many members are at or above `offset`."""
        return self.overlap(offset, self._ends[-1]) if self._ends else 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(list(zip(self._starts, self._ends, strict=True)))

    def __len__(self) -> int:
        return len(self._starts)
