"""The other end of a control channel: how messages name it, and how far its clock is from ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The other end of a channel.

    Its name, and hints for when it is gone, lacks a program, or does not give a file.

    ``silence_seconds`` is how long it may leave keepalives unanswered; without it, none are
    sent.
    """

    title: str
    when_gone: str
    when_missing: str
    when_unread: str
    silence_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Another clock against ours: how much it is ahead, and by how much that may be wrong."""

    ahead_ns: int
    error_ns: int
    at_ns: int


_NOT_SHORTER = 5
"""A clock is read until so many rounds in a row were not shorter than the shortest."""


class Clock:
    """A clock that is being read, round by round; the shortest round counts."""

    def __init__(self, rounds: int) -> None:
        """Of so many rounds at most."""
        self.best: Reading | None = None
        self._left = rounds
        self._not_shorter = 0
        self._asked_ns = 0

    @property
    def is_read(self) -> bool:
        """Whether no more rounds are needed."""
        return self._left <= 0 or self._not_shorter >= _NOT_SHORTER

    def ask(self, now_ns: int) -> None:
        """A request is sent."""
        self._asked_ns = now_ns

    def take(self, its_ns: int, now_ns: int) -> None:
        """Its time, in the answer to the request, comes."""
        half = (now_ns - self._asked_ns) // 2
        found = Reading(ahead_ns=its_ns - (self._asked_ns + half), error_ns=half, at_ns=now_ns)
        self._left -= 1
        if self.best is None or found.error_ns < self.best.error_ns:
            self.best, self._not_shorter = found, 0
        else:
            self._not_shorter += 1
