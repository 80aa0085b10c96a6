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
