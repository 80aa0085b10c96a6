"""What a transfer's shares of time amount to: who waited for whom, and what bound the rest.

Bias: a share is known only where the engine cut the transfer's time into states; published means
have none, and every number here is then ``None`` or 0.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Self, TypeAlias

from trustbed.diagnose.evidence import Evidence

Waiter: TypeAlias = Literal["peer", "sender", "receiver", "nobody"]
Limit: TypeAlias = Literal["window", "path", "loss", "start", "buffer"]


def is_known(evidence: Evidence) -> bool:
    """Whether the transfer's time was cut into states."""
    return evidence.path is not None


class Budget(NamedTuple):
    """Shares of a transfer's time, by whose they are.

    ``peer``, ``sender``, ``receiver`` and ``outage`` are waits that removing would have saved;
    ``window``, ``path``, ``loss``, ``start`` and ``buffer`` what bound the rest.
    """

    peer: float
    think: float
    application: float
    machine: float
    receiver: float
    outage: float
    window: float
    path: float
    loss: float
    start: float
    buffer: float

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        """From the evidence; shares that are unknown are 0."""
        interrupted = interrupted_share(evidence)
        return cls(
            peer=evidence.peer or 0.0,
            think=evidence.think or 0.0,
            application=evidence.idle_application or 0.0,
            machine=max(0.0, (evidence.idle_sender or 0.0) - interrupted),
            receiver=(evidence.zero_window or 0.0) + (evidence.receiver_window or 0.0),
            outage=max(evidence.no_answer or 0.0, interrupted),
            window=evidence.window or 0.0,
            path=evidence.path or 0.0,
            loss=(evidence.recovery or 0.0)
            + (evidence.timeout or 0.0)
            + (evidence.below_path or 0.0),
            start=evidence.growing or 0.0,
            buffer=evidence.sender_buffer or 0.0,
        )

    @property
    def sender(self) -> float:
        """Share in which the sending host had to act and did not: application or machine."""
        return self.think + self.application + self.machine

    @property
    def longest_wait(self) -> tuple[str, float]:
        """Whose wait cost most, and how much."""
        name, most, sender = "peer", self.peer, self.sender
        if sender > most:
            name, most = "sender", sender
        if self.receiver > most:
            name, most = "receiver", self.receiver
        if self.outage > most:
            name, most = "outage", self.outage
        return name, most

    @property
    def limit(self) -> Limit:
        """What bound the transfer for the largest part of the rest."""
        name: Limit = "window"
        most = self.window
        if self.path > most:
            name, most = "path", self.path
        if self.loss > most:
            name, most = "loss", self.loss
        if self.start > most:
            name, most = "start", self.start
        return "buffer" if self.buffer > most else name


def utilisation(evidence: Evidence) -> float | None:
    """Rate while sending over the path's own; ``None`` where either is unknown."""
    rate, path = evidence.sending_rate_bytes_per_second, evidence.path_rate_bytes_per_second
    return rate / path if rate and path else None


def rate_ratio(evidence: Evidence) -> float | None:
    """The path's rate before its change over the one after it; below 1 where it rose.

    ``None`` as well where one of them is too small for a quotient.
    """
    before, after = (
        evidence.path_rate_before_bytes_per_second,
        evidence.path_rate_after_bytes_per_second,
    )
    ratio = before / after if before and after else 0.0
    return ratio if 0 < ratio < math.inf else None


def bytes_above_later_rate(evidence: Evidence) -> float | None:
    """What a token bucket must have held to let the first part of a transfer pass."""
    before, after, at = (
        evidence.path_rate_before_bytes_per_second,
        evidence.path_rate_after_bytes_per_second,
        evidence.path_rate_change_seconds,
    )
    return (before - after) * at if before and after and at is not None else None


def ack_silence_share(evidence: Evidence) -> float | None:
    """Share of the transfer in which the receiver was silent although data were outstanding."""
    silent, duration = evidence.ack_silences_seconds, evidence.duration_seconds
    return silent / duration if silent is not None and duration else None


def segments_per_ack_silence(evidence: Evidence) -> float | None:
    """How many data segments passed for each silence of the receiver; ``None`` without one."""
    silences, segments = evidence.ack_silences, evidence.data_segments
    return segments / silences if silences and segments is not None else None


def growing_round_trips(evidence: Evidence) -> float | None:
    """For how many base round trips the transfer was growing."""
    share, duration, base = (
        evidence.growing,
        evidence.duration_seconds,
        evidence.rtt_base_seconds,
    )
    return share * duration / base if share is not None and duration and base else None


def use_of_path(evidence: Evidence) -> float | None:
    """Rate over the transfer's whole life over the path's own; ``None`` where one is unknown."""
    rate, path = evidence.throughput_bytes_per_second, evidence.path_rate_bytes_per_second
    return rate / path if rate and path else None


def held_share(evidence: Evidence) -> float | None:
    """Time by which packets of the receiver came later than apart, over the transfer's."""
    held, duration = evidence.acks_held_seconds, evidence.duration_seconds
    return held / duration if held is not None and duration else None


def late_half(evidence: Evidence) -> float | None:
    """Away from the sender: by how much of the round trip its half lies above its least.

    Without what its packets queued by its own clock: what is left is a sender that reacts late, or
    acknowledgements that wait.
    """
    median, least, rtt = (
        evidence.answer_seconds,
        evidence.answer_least_seconds,
        evidence.rtt_seconds,
    )
    if not evidence.pauses_estimated or median is None or least is None or not rtt:
        return None
    return (median - least - (evidence.departure_lag_seconds or 0.0)) / rtt


def were_receivers_own(evidence: Evidence) -> bool:
    """Whether the receiver sent nothing for as long in most silences, by its own clock."""
    own, silences = evidence.ack_silences_own, evidence.ack_silences
    return own is not None and silences is not None and own > silences / 2


def lag_share(evidence: Evidence) -> float | None:
    """Share of the standing queue that lies between the sender's stack and the capture.

    At most 1: the one is a mean of packets, the other of time.
    """
    lag, queue = evidence.departure_lag_seconds, evidence.queue_seconds
    return min(1.0, lag / queue) if lag is not None and queue and queue > 0 else None


def interrupted_share(evidence: Evidence) -> float:
    """Share of the time in silences that a timeout of the sender ended, seen away from it."""
    if not evidence.pauses_estimated or not evidence.duration_seconds:
        return 0.0
    return (evidence.interrupted_seconds or 0.0) / evidence.duration_seconds
