"""Undisturbed networks.

Two links with a router between them, an end-to-end rate and delay, and the limit of a lone transfer
there.

A network is built so that its limit is known by construction. *window*: the receiver's buffer holds
less than three quarters of what fits into the path. *link*: buffers are large, the queue holds at
least what fits into the path, and the transfer lasts long enough for slow start to be a small part
of it. *short*: so few bytes that slow start cannot end before they are sent.

Disturbances are elsewhere. The twin of a disturbed transfer is a transfer on the same network
without a disturbance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias

Limit: TypeAlias = Literal["window", "link", "short"]

RATES_MEGABITS = (2, 5, 10, 20, 50, 100)
ROUND_TRIPS_MS = (1, 2, 5, 10, 20, 50, 100, 200)
CONTROLS = ("reno", "cubic", "bbr")
WINDOW_SHARES = (0.25, 0.45, 0.7)
QUEUES_IN_PATHS = (1.0, 2.0)
"""Queue of the narrow link, in what fits into the path."""
NEAR_SHARES = (0.1, 0.5, 0.9)
"""Share of the delay between the sender and the router, where the middle capture is taken."""
CLAMPED_SHARE = 0.3
LEAST_WINDOW_BYTES = 16_384
LEAST_QUEUE_PACKETS = 24
STARTING_SHARE = 0.15
"""Slow start may take this much of a transfer that is to be limited by its link."""
FAST_MEGABITS, LONG_TRIPS_MS, ROUNDS = (200, 400), (100, 200), (7, 8, 9)
"""Where slow start takes ten round trips and more: what is shorter is too short to be judged."""
PACKET_BYTES = 1500
PAYLOAD_BYTES = 1448
INITIAL_SEGMENTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network of a transfer. Hashable: transfers with equal networks share their twins."""

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
    guest: str | None = None
    """NIC of the sender if it is a guest; ``None`` for a namespace."""

    @property
    def path_bytes(self) -> float:
        """The bandwidth-delay product."""
        return self.rate_megabits * 1e6 / 8 * self.round_trip_ms / 1e3

    @property
    def queue_packets(self) -> int:
        """Length of the narrow link's queue."""
        return max(
            LEAST_QUEUE_PACKETS, math.ceil(self.queue_paths * self.path_bytes / PACKET_BYTES)
        )

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
        ):
            if value is not None:
                parts.append(f"{letter}{value}")
        if self.clamped:
            parts.append("clamped")
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
    return 3.0 if round_trip_ms <= 50 else 4.0 if round_trip_ms <= 100 else 6.0


def drawn(random: Random, limit: Limit) -> Network:
    """A network with this limit, drawn among all that can be built."""
    while True:
        found = (
            _window(random)
            if limit == "window"
            else _link(random)
            if limit == "link"
            else _short(random)
        )
        if found is not None:
            return found


def _common(random: Random, limit: Limit) -> Network:
    trip = random.choice(ROUND_TRIPS_MS)
    return Network(
        rate_megabits=random.choice(RATES_MEGABITS),
        round_trip_ms=trip,
        limit=limit,
        congestion_control=random.choice(CONTROLS),
        seconds=_seconds(trip),
        queue_paths=random.choice(QUEUES_IN_PATHS),
        near_share=random.choice(NEAR_SHARES),
        narrow=random.choice(("near", "far")),
    )


def _window(random: Random) -> Network | None:
    network = _common(random, "window")
    window = int(network.path_bytes * random.choice(WINDOW_SHARES)) // 1024 * 1024
    if window < LEAST_WINDOW_BYTES:
        return None
    return replace(network, window_bytes=window, clamped=random.random() < CLAMPED_SHARE)


def _link(random: Random) -> Network | None:
    network = _common(random, "link")
    starting = rounds_to_fill(network) * network.round_trip_ms / 1e3
    return network if starting <= STARTING_SHARE * network.seconds else None


def _short(random: Random) -> Network | None:
    """A path so long and fast that slow start is still growing when the last byte is sent."""
    trip, rounds = random.choice(LONG_TRIPS_MS), random.choice(ROUNDS)
    network = replace(
        _common(random, "short"), rate_megabits=random.choice(FAST_MEGABITS), round_trip_ms=trip
    )
    flight = 2**rounds * INITIAL_SEGMENTS * PAYLOAD_BYTES
    if network.path_bytes < flight:
        return None
    seconds = math.ceil(trip * (rounds + 2) / 1e3 + 1)
    return replace(
        network, transfer_bytes=flight - INITIAL_SEGMENTS * PAYLOAD_BYTES, seconds=seconds
    )
