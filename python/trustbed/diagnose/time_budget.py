"""Where a transfer's time went: the 16 states of the time budget, their words and their shares.

The engine cuts the time; this module only names it. Shares add up to 1 from the first packet of the
handshake to the acknowledgement of the last byte.

Bias: none of its own; a state that the capture does not show is ``unknown``, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from trustbed.findings.words import percent_words, seconds_words

Row = Mapping[str, Any]

STATES: Mapping[str, str] = MappingProxyType(
    {
        "path": "path",
        "growing": "ramp-up",
        "below_path": "below the path's rate",
        "recovery": "loss recovery",
        "timeout": "retransmission timeout",
        "outage": "unanswered retransmissions",
        "window": "receive window full",
        "receiver_window": "receive window shrunk",
        "zero_window": "zero window",
        "sender_buffer": "send buffer",
        "idle_sender": "sender idle",
        "idle_application": "idle with all data sent",
        "think": "think time",
        "peer": "waiting for the peer",
        "handshake": "handshake",
        "unknown": "not shown by the capture",
    }
)
"""Every state with its words: path, loss, receiver, sender, application and peer.

They say what the packets show, not whose fault it was: a process that was not running, too, leaves
a sender idle with all data sent.
"""

SHARE_COLUMNS = (
    *(f"share_{state}" for state in STATES),
    "accounted_ns",
)
"""The columns of a transfer that :meth:`Shares.from_transfer` asks for."""

_COLUMNS = tuple((state, f"share_{state}") for state in STATES)

NAMED = 0.01
"""A sentence names the states of at least this share of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Shares of a transfer's time by state.

    Attributes:
        by_state: A share 0…1 of every state of :data:`STATES`; they add up to 1.
        accounted_seconds: The time that they divide.
    """

    by_state: Mapping[str, float]
    accounted_seconds: float | None = None

    @classmethod
    def from_transfer(cls, row: Row) -> Shares | None:
        """From a row of the transfers table or of JSON; ``None`` when any share is unknown."""
        by_state: dict[str, float] = {}
        for state, column in _COLUMNS:
            share = row.get(column)
            if share is None:
                return None
            by_state[state] = float(share)
        return cls(by_state=by_state, accounted_seconds=_accounted(row))

    @property
    def largest_first(self) -> list[tuple[str, float]]:
        """The states that occur with their shares, the largest first."""
        occurring = [(state, share) for state, share in self.by_state.items() if share > 0]
        return sorted(occurring, key=lambda one: -one[1])

    def whole_seconds(self, duration_seconds: float) -> float:
        """Length of the time that was divided.

        The transfer's and its handshake's before it, and what went unanswered after it.
        """
        if self.accounted_seconds:
            return self.accounted_seconds
        data = 1 - self.by_state["handshake"]
        return duration_seconds / data if data > 0 else duration_seconds

    def spent(self, duration_seconds: float | None) -> str | None:
        """Where the time went; ``None`` where no state is worth naming.

        Args:
            duration_seconds: From the first data packet to the acknowledgement of the last byte.
        """
        named = [one for one in self.largest_first if one[1] >= NAMED]
        if not duration_seconds or not named:
            return None
        states = ", ".join(f"{STATES[state]} {percent_words(share)}" for state, share in named)
        return f"of {seconds_words(self.whole_seconds(duration_seconds))}: {states}"


def _accounted(row: Row) -> float | None:
    nanoseconds = row.get("accounted_ns")
    return nanoseconds / 1e9 if nanoseconds is not None else row.get("accounted_seconds")
