"""Where a transfer's time went: the 16 states of the time budget, their words and their shares.

The engine cuts the time; this module only names it. Shares add up to 1 from the first packet of the
handshake to the acknowledgement of the last byte.

Bias: none of its own; a state that the capture does not show is ``unknown``, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from trustbed.findings.words import percent_words, rate_words, seconds_words

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
    "sending_rate_bytes_per_second",
    "throughput_bytes_per_second",
)
"""The columns of a transfer that :meth:`Shares.from_transfer` asks for."""

WAITING = ("peer", "think", "idle_application")
"""States in which the application on either side had nothing to send yet."""

_COLUMNS = tuple((state, f"share_{state}") for state in STATES)

NAMED = 0.01
"""A sentence names the states of at least this share of the time."""

APART = 0.05
"""From this share of waiting on, the rate while sending is stated apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Shares of a transfer's time by state, and what it sent at while it sent.

    Attributes:
        by_state: A share 0…1 of every state of :data:`STATES`; they add up to 1.
        accounted_seconds: The time that they divide.
        sending_bytes_per_second: Acknowledged bytes over the time spent neither idle nor waiting
            for the peer.
        throughput_bytes_per_second: The same over the transfer's whole life.
    """

    by_state: Mapping[str, float]
    accounted_seconds: float | None = None
    sending_bytes_per_second: float | None = None
    throughput_bytes_per_second: float | None = None

    @classmethod
    def from_transfer(cls, row: Row) -> Shares | None:
        """From a row of the transfers table or of JSON; ``None`` when any share is unknown."""
        by_state: dict[str, float] = {}
        for state, column in _COLUMNS:
            share = row.get(column)
            if share is None:
                return None
            by_state[state] = float(share)
        return cls(
            by_state=by_state,
            accounted_seconds=_accounted(row),
            sending_bytes_per_second=row.get("sending_rate_bytes_per_second"),
            throughput_bytes_per_second=row.get("throughput_bytes_per_second"),
        )

    @property
    def largest_first(self) -> list[tuple[str, float]]:
        """The states that occur with their shares, the largest first."""
        occurring = [(state, share) for state, share in self.by_state.items() if share > 0]
        return sorted(occurring, key=lambda one: -one[1])

    @property
    def waiting(self) -> float:
        """Share of the time in which the application on either side had nothing to send yet."""
        return sum(self.by_state[state] for state in WAITING)

    def whole_seconds(self, duration_seconds: float) -> float:
        """Length of the time that was divided.

        The transfer's and its handshake's before it, and what went unanswered after it.
        """
        if self.accounted_seconds:
            return self.accounted_seconds
        data = 1 - self.by_state["handshake"]
        return duration_seconds / data if data > 0 else duration_seconds

    def sentences(self, duration_seconds: float | None, told: Sequence[str] = ()) -> Iterator[str]:
        """Where the time went, and the rate while sending where much of the time was waiting.

        Args:
            duration_seconds: From the first data packet to the acknowledgement of the last byte.
            told: Sentences beside these: what one of them says is not said again.
        """
        named = [one for one in self.largest_first if one[1] >= NAMED]
        if duration_seconds and named:
            states = ", ".join(f"{STATES[state]} {percent_words(share)}" for state, share in named)
            yield f"of {seconds_words(self.whole_seconds(duration_seconds))}: {states}"
        yield from self.rates(told)

    def rates(self, told: Sequence[str] = ()) -> Iterator[str]:
        """The rate while sending apart from the mean, where much of the time was waiting."""
        if any("while sending" in sentence for sentence in told):
            return
        if self.waiting > APART and self.sending_bytes_per_second:
            yield (
                f"while sending: {rate_words(self.sending_bytes_per_second)}; over its life: "
                f"{rate_words(self.throughput_bytes_per_second)}"
            )


def _accounted(row: Row) -> float | None:
    nanoseconds = row.get("accounted_ns")
    return nanoseconds / 1e9 if nanoseconds is not None else row.get("accounted_seconds")
