"""The networks on which simulated transfers are drawn, and what one transfer is.

Three families differ in their rates, delays, congestion controls and roles, so that rules may be
developed on one and tried on another: *near*, *far*, and *plain*, which keeps what ns-3 has by
default where it differs most from Linux (short segments, an RTO of at least 1 s).

Pure.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

Family: TypeAlias = Literal["near", "far", "plain"]
Arguments: TypeAlias = dict[str, str | int | float | bool]
Account: TypeAlias = Mapping[str, Any]

HEADER_BYTES: Final = 52
FAR_SEEDS: Final = 100
PLAIN_SEEDS: Final = 200
"""Seeds above these numbers belong to the families *far* and *plain*."""
MOST_MEGABITS: Final = 160.0
"""A transfer carries about this much at most, which keeps its captures small."""

TRUST: Final = ("trust",)
REVIEW: Final = ("review",)
WITH_BBR: Final = frozenset(
    {"window_limited", "deep_queue", "app_pauses", "paced_writes", "requests", "short", "outage"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One transfer to be made.

    ``holds`` says from the simulation's account whether the causes are true of it.
    """

    arguments: Arguments
    causes: tuple[str, ...]
    verdicts: tuple[str, ...]
    holds: Callable[[Account], bool]
    elsewhere: tuple[str, ...] = ()
    """Causes that are accepted as well where the capture is not the sender's."""
    verdicts_elsewhere: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Net:
    """A path, and the draws that a kind makes on it."""

    family: Family
    draw: random.Random
    rate: float
    """Mbit/s of the bottleneck."""
    delays: tuple[float, float, float]
    """One way of access, bottleneck and exit, ms."""
    mss: int = 1448
    arguments: Arguments = field(default_factory=dict)

    @property
    def rtt(self) -> float:
        """Round trip without queues, s."""
        return 2 * sum(self.delays) / 1000

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product, bytes."""
        return self.rate * 1e6 / 8 * self.rtt

    @property
    def packet_bytes(self) -> int:
        """A full packet."""
        return self.mss + HEADER_BYTES

    def seconds(self, longest: float = 12.0) -> float:
        """How long to send: long against the round trip, short enough for small captures."""
        return round(min(longest, MOST_MEGABITS / self.rate), 2)

    def queue(self, least: float, greatest: float, floor: int = 4) -> int:
        """A queue in packets, from its size in bandwidth-delay products."""
        return max(floor, round(self.draw.uniform(least, greatest) * self.bdp / self.packet_bytes))

    def path(self, packets: int, **more: str | int | float | bool) -> Arguments:
        """Arguments of a bulk transfer over a drop-tail queue of this many packets."""
        buffer = int(2.5 * (self.bdp + packets * self.packet_bytes) + 150_000)
        return (
            self.arguments
            | {
                "queue": f"FifoQueueDisc:MaxSize={packets}p",
                "sndbuf": buffer,
                "rcvbuf": max(1_000_000, 2 * buffer),
                "seconds": self.seconds(),
            }
            | more
        )


_FAMILIES: Final[
    Mapping[Family, tuple[tuple[float, float], tuple[float, float], tuple[str, ...]]]
] = {
    "near": ((4.0, 40.0), (0.012, 0.06), ("TcpCubic", "TcpNewReno", "TcpCubic")),
    "far": ((2.0, 80.0), (0.05, 0.18), ("TcpLinuxReno", "TcpCubic", "TcpLinuxReno")),
    "plain": ((1.0, 20.0), (0.008, 0.12), ("TcpCubic", "TcpNewReno", "TcpLinuxReno")),
}
"""Ranges of Mbit/s at the bottleneck and of seconds there and back; congestion controls."""


def _family(seed: int) -> Family:
    return "plain" if seed > PLAIN_SEEDS else "far" if seed > FAR_SEEDS else "near"


def net(kind: str, seed: int, attempt: int) -> Net:
    """The path of a transfer."""
    draw = random.Random(f"{kind}-{seed}-{attempt}")
    family = _family(seed)
    rates, rtts, controls = _FAMILIES[family]
    rate = round(rates[0] * (rates[1] / rates[0]) ** draw.random(), 2)
    one_way = 500 * rtts[0] * (rtts[1] / rtts[0]) ** draw.random()
    parts = [draw.uniform(0.05, 0.3), 0.6, draw.uniform(0.05, 0.3)]
    delays = tuple(round(one_way * part / sum(parts), 3) for part in parts)
    control = draw.choice(controls)
    if kind in WITH_BBR and draw.random() < 0.2:
        control = "TcpBbr"
    found = Net(family=family, draw=draw, rate=rate, delays=(delays[0], delays[1], delays[2]))
    found.arguments = {
        "seed": draw.randrange(1, 1_000_000),
        "rate": rate,
        "accessDelay": delays[0],
        "delay": delays[1],
        "exitDelay": delays[2],
        "accessRate": draw.choice((100, 1000)) if rate < 60 else 1000,
        "exitRate": draw.choice((100, 1000)) if rate < 60 else 1000,
        "tcp": control,
        "sack": draw.random() < 0.8,
        "delayedAcks": draw.choice((1, 2, 2, 2)) if family == "near" else draw.choice((2, 2, 4)),
        "delayedAckTimeout": 0.04 if family == "near" else 0.2,
        "middle": "in" if draw.random() < 0.5 else "out",
        "download": family == "far" and draw.random() < 0.6,
        "start": round(0.5 + draw.random(), 3),
    }
    if family == "plain":
        found.mss = draw.choice((536, 536, 1000, 1448))
        found.arguments |= {"mss": found.mss, "minRto": 1.0, "delayedAckTimeout": 0.2}
    return found
