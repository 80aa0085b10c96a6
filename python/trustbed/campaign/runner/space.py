"""The disk space of a campaign: counts what it takes, and removes captures of judged rounds.

The oldest go first, and last those whose judging failed. What a round takes is counted when it
ends; files that are derived later are counted with all others, each time the number of rounds has
grown by a tenth, so that counting costs a round the same however long the campaign lasts. Rounds
that run then count twice for a while, so captures may be removed a little early; derived files may
be counted late.
"""

from __future__ import annotations

import heapq
import shutil
from collections.abc import Iterator

from trustbed.campaign.runner.directory import CampaignDirectory, RoundDirectory
from trustbed.errors import TrustbedError

_UNCOUNTED_ROUNDS = 50
"""Rounds after which all files are counted again, at least."""


class CampaignError(TrustbedError):
    """A campaign cannot continue. ``message`` states why, ``hint`` how to fix it."""


class Space:
    """The space of one campaign; without a limit it counts nothing."""

    def __init__(self, directory: CampaignDirectory, limit: int | None) -> None:
        """``limit``: bytes of all its files."""
        self._directory = directory
        self._limit = limit
        self._used = 0
        self._uncounted = 0
        self._with_captures: list[RoundDirectory] = []
        self._rounds = 0

    def add(self, one: RoundDirectory, size: int = 0) -> None:
        """A round that is complete, and what it adds to what was counted."""
        if self._limit is not None:
            self._rounds += 1
            self._used += size
            heapq.heappush(self._with_captures, one)

    def count(self) -> None:
        """Counts all files."""
        if self._limit is not None:
            self._used, self._uncounted = self._directory.used_bytes(), 0

    def make(self) -> Iterator[tuple[RoundDirectory, int]]:
        """Makes room for another round: the rounds whose captures were removed, and their bytes.

        Raises:
            CampaignError: None is left to be removed.
        """
        if self._limit is None:
            return
        self._uncounted += 1
        if self._uncounted > max(_UNCOUNTED_ROUNDS, self._rounds // 10):
            self.count()
        kept: list[RoundDirectory] = []
        failed: list[RoundDirectory] = []
        while self._used >= self._limit and self._with_captures:
            oldest = heapq.heappop(self._with_captures)
            if not oldest.is_judged:
                kept.append(oldest)
            elif oldest.judging_failed:
                failed.append(oldest)
            else:
                yield from self._remove(oldest)
        # What could not be judged can be judged later: those captures go last.
        for oldest in failed:
            if self._used >= self._limit:
                yield from self._remove(oldest)
            else:
                kept.append(oldest)
        for one in kept:
            heapq.heappush(self._with_captures, one)
        if self._used >= self._limit:
            free = shutil.disk_usage(self._directory.path).free
            raise CampaignError(
                f"the campaign takes {self._used:,} bytes of at most {self._limit:,}, and no "
                "capture is left to remove",
                f"raise its limit ([recording] disk); {free:,} bytes are free here",
            )

    def _remove(self, one: RoundDirectory) -> Iterator[tuple[RoundDirectory, int]]:
        captures = one.captures
        size = sum(file.stat().st_size for file in captures)
        for file in captures:
            file.unlink()
        self._used -= size
        if captures:
            yield one, size
