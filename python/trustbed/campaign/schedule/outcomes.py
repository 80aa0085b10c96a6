"""When a connection has failed, and the outcome of its round.

The receiver decides, since only it knows what has arrived. A failed connection keeps its
measurements, and is left out of statistics of throughput.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

ConnectionFailure = Literal["unconnected", "reset", "late", "short"]
CONNECTION_FAILURES: tuple[ConnectionFailure, ...] = ("unconnected", "reset", "late", "short")
"""Never accepted.

Reset by either side; longer than the time limit; ended with less than its size.
"""

RoundOutcome = Literal[
    "complete", "partial", "failed", "overrun", "unreachable", "missed", "interrupted"
]
ROUND_OUTCOMES: tuple[RoundOutcome, ...] = (
    "complete",
    "partial",
    "failed",
    "overrun",
    "unreachable",
    "missed",
    "interrupted",
)
"""All connections completed; at least one did not; a host failed; three reasons of
:class:`~trustbed.campaign.schedule.schedule.Skip`; the campaign was killed while it was running."""
NOT_MEASURED: frozenset[str] = frozenset({"failed", "interrupted"})
"""Rounds that began, and whose sizes come again because nothing was measured."""


def failure(
    *, size: int, received: int, accepted_ns: int | None, ended_ns: int, reset: bool, limit_ns: int
) -> ConnectionFailure | None:
    """Why a connection has failed; ``None``: it has not.

    If several reasons apply, it is the first of :data:`CONNECTION_FAILURES`: a reset or an expired
    limit is why bytes are missing.

    Args:
        size: Bytes that were to be sent.
        received: Bytes that arrived.
        accepted_ns: When the receiver accepted it; ``None``: never.
        ended_ns: When the receiver read the end of it, or gave up.
        reset: Whether either side reset it.
        limit_ns: Time limit from the accept on.
    """
    if accepted_ns is None:
        return "unconnected"
    if reset:
        return "reset"
    if ended_ns - accepted_ns > limit_ns:
        return "late"
    return "short" if received < size else None


def outcome(failures: Sequence[str | None]) -> RoundOutcome:
    """The outcome of a round that was not skipped, from the failures of its connections."""
    if not failures:
        raise ValueError(
            "a round without connections did not take place; it was skipped for a reason"
        )
    return "partial" if any(one is not None for one in failures) else "complete"
