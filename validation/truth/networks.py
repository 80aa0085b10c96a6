"""Undisturbed networks.

Two links with a router between them, an end-to-end rate and delay, and the limit of a lone transfer
there.

A network is built so that its limit is known by construction. *window*: the receiver's buffer holds
less than three quarters of what fits into the path. *link*: buffers are large, and the transfer
lasts long enough for slow start to be a small part of it. *short*: so few bytes that slow start
cannot end before they are sent. What else a network is follows from its family.

Disturbances are elsewhere. The twin of a disturbed transfer is a transfer on the same network
without a disturbance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, TypeAlias

from validation.truth.families import BY_NAME, Discipline, Family, Half

Limit: TypeAlias = Literal["window", "link", "short"]

WINDOW_SHARES = (0.25, 0.45, 0.7)
CLAMPED_SHARE = 0.3
LEAST_WINDOW_BYTES = 16_384
SHALLOW_PATHS = 0.3
"""A queue that holds no more of the bandwidth-delay product than this is shallow."""
SHALLOW_SECONDS, MOST_SHALLOW_PACKETS = 16.0, 220
LEAST_QUEUE_PACKETS, LEAST_SHALLOW_PACKETS = 24, 4
CODEL_TARGET_MS, CODEL_INTERVAL_MS = 5, 100
RED_LOW_SHARE, RED_HIGH_SHARE = 0.2, 0.6
"""Marks of a RED queue, as shares of what it holds at most."""
STRETCHES, MOST_SECONDS = (*(1,) * 30, 2, 7), 30.0
"""Most transfers are as short as they may be; some are long."""
STARTING_SHARE = 0.15
"""Slow start may take this much of a transfer that is to be limited by its link."""
FAST_MEGABITS, LONG_TRIP_MS, ROUNDS = (200, 400), 100, (7, 8, 9)
"""Where slow start takes ten round trips and more: what is shorter is too short to be judged."""
PACKET_BYTES = 1500
PAYLOAD_BYTES = 1448
INITIAL_SEGMENTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network of a transfer. Hashable: transfers with equal networks share their twins."""

    family: str
    rate_megabits: float
    round_trip_ms: float
    limit: Limit
    congestion_control: str
    seconds: float
    window_bytes: int | None = None
    clamped: bool = False
    """Whether the window is held down while the buffer is large, rather than by a small buffer."""
    send_buffer_bytes: int | None = None
    transfer_bytes: int | None = None
    queue_paths: float = 1.0
    near_share: float = 0.5
    narrow: Literal["near", "far"] = "far"
    discipline: Discipline = "drop-tail"
    jitter_ms: float = 0.0
    guest: str | None = None
    """NIC of the guest, if one of the two hosts is one; ``None`` where both are namespaces."""
    guest_end: Literal["sender", "receiver"] = "sender"

    @property
    def half(self) -> Half:
        """Whether rules may be developed on it."""
        return BY_NAME[self.family].half

    @property
    def kind(self) -> str:
        """The kind of an undisturbed transfer here."""
        if self.limit != "link":
            return {"window": "undisturbed-window", "short": "short"}[self.limit]
        if self.discipline != "drop-tail":
            return self.discipline
        if self.queue_paths <= SHALLOW_PATHS:
            return "shallow-queue"
        return "first-hop" if self.narrow == "near" else "undisturbed-link"

    @property
    def path_bytes(self) -> float:
        """The bandwidth-delay product."""
        return self.rate_megabits * 1e6 / 8 * self.round_trip_ms / 1e3

    @property
    def queue_packets(self) -> int:
        """Length of the narrow link's queue."""
        least = LEAST_SHALLOW_PACKETS if self.queue_paths <= SHALLOW_PATHS else LEAST_QUEUE_PACKETS
        return max(least, math.ceil(self.queue_paths * self.path_bytes / PACKET_BYTES))

    @property
    def queue(self) -> str | dict[str, Any]:
        """The narrow link's queue, as a scenario describes it."""
        limit = self.queue_packets
        if self.discipline == "codel":
            return {
                "discipline": "codel",
                "limit": f"{limit}p",
                "target": f"{CODEL_TARGET_MS}ms",
                "interval": f"{CODEL_INTERVAL_MS}ms",
            }
        if self.discipline == "red":
            low = max(4, round(limit * RED_LOW_SHARE))
            high = max(3 * low, round(limit * RED_HIGH_SHARE))
            return {"discipline": "red", "low": low, "high": high, "limit": f"{limit}p"}
        return f"{limit}p"

    @property
    def expected_megabits(self) -> float:
        """The approximate rate of an undisturbed transfer: doses are relative to it."""
        if self.limit == "window" and self.window_bytes is not None:
            return min(self.rate_megabits, self.window_bytes * 8 / self.round_trip_ms / 1e3)
        return self.rate_megabits

    @property
    def name(self) -> str:
        """All of it in one word."""
        parts = [
            self.family,
            f"{self.rate_megabits:g}M",
            f"{self.round_trip_ms:g}ms",
            self.limit,
            self.congestion_control,
            f"q{self.queue_paths:g}",
            f"{self.narrow}{self.near_share:g}",
            f"{self.seconds:g}s",
        ]
        for letter, value in (
            ("w", self.window_bytes),
            ("b", self.send_buffer_bytes),
            ("n", self.transfer_bytes),
            ("", self.guest),
            ("j", f"{self.jitter_ms:g}" if self.jitter_ms else None),
        ):
            if value is not None:
                parts.append(f"{letter}{value}")
        if self.clamped:
            parts.append("clamped")
        if self.guest_end == "receiver":
            parts.append("receiver")
        if self.discipline != "drop-tail":
            parts.append(self.discipline)
        return "-".join(parts)


def rounds_to_fill(network: Network) -> float:
    """Round trips that slow start needs to fill the path, and a few more to notice it."""
    return (
        max(
            0.0,
            math.log2(
                network.path_bytes * (1 + network.queue_paths) / (INITIAL_SEGMENTS * PAYLOAD_BYTES)
            ),
        )
        + 3
    )


def _seconds(round_trip_ms: float) -> float:
    return 4.0 if round_trip_ms <= 50 else 6.0 if round_trip_ms <= 100 else 8.0


def drawn(random: Random, limit: Limit, family: Family) -> Network | None:
    """A network of a family with this limit; ``None`` where the draw cannot have it."""
    if limit == "window":
        return _window(random, family)
    return _link(random, family) if limit == "link" else _short(random, family)


def _common(random: Random, limit: Limit, family: Family) -> Network:
    trip = random.choice(family.trips)
    return Network(
        family=family.name,
        rate_megabits=random.choice(family.rates),
        round_trip_ms=trip,
        limit=limit,
        congestion_control=random.choice(family.controls),
        seconds=min(_seconds(trip) * random.choice(STRETCHES), MOST_SECONDS),
        queue_paths=random.choice(family.queues),
        near_share=random.choice(family.near),
        narrow=random.choice(family.narrow),
        discipline=random.choice(family.disciplines),
        jitter_ms=round(trip * family.jitter, 3),
    )


def _window(random: Random, family: Family) -> Network | None:
    network = _common(random, "window", family)
    window = int(network.path_bytes * random.choice(WINDOW_SHARES)) // 1024 * 1024
    if window < LEAST_WINDOW_BYTES or network.queue_paths <= SHALLOW_PATHS:
        # A window that is sent at once overflows a shallow queue: it is not the only limit then.
        return None
    return replace(network, window_bytes=window, clamped=random.random() < CLAMPED_SHARE)


def _link(random: Random, family: Family) -> Network | None:
    network = _common(random, "link", family)
    if network.queue_paths <= SHALLOW_PATHS:
        # The end of slow start overflows such a queue, and a window grows back slowly.
        packets = network.path_bytes / PACKET_BYTES
        if network.congestion_control != "bbr" and packets > MOST_SHALLOW_PACKETS:
            return None
        network = replace(network, seconds=max(network.seconds, SHALLOW_SECONDS))
    starting = rounds_to_fill(network) * network.round_trip_ms / 1e3
    return network if starting <= STARTING_SHARE * network.seconds else None


def _short(random: Random, family: Family) -> Network | None:
    """A path so long and fast that slow start is still growing when the last byte is sent."""
    trip, rounds = max(family.trips), random.choice(ROUNDS)
    network = replace(
        _common(random, "short", family),
        rate_megabits=random.choice(FAST_MEGABITS),
        round_trip_ms=trip,
        queue_paths=1.0,
        discipline="drop-tail",
        jitter_ms=0.0,
    )
    flight = 2**rounds * INITIAL_SEGMENTS * PAYLOAD_BYTES
    if network.path_bytes < flight:
        return None
    seconds = math.ceil(trip * (rounds + 2) / 1e3 + 1)
    return replace(
        network, transfer_bytes=flight - INITIAL_SEGMENTS * PAYLOAD_BYTES, seconds=seconds
    )
