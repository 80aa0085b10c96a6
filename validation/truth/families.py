"""Families of networks: what is held out of development is a world of its own.

A family is a sort of access or path with its own rates, round trips, queues and disciplines. Rules
may be developed on transfers of the families of one half; what the page states is of the families
of the other half. No rate, round trip or queue belongs to both halves, so that a rule that fits the
numbers of one half gains nothing on the other.

Bias: both halves are drawn by one emulator on one machine and share the doses of the disturbances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Half: TypeAlias = Literal["development", "report"]
Discipline: TypeAlias = Literal["drop-tail", "codel", "red"]
HALVES: tuple[Half, ...] = ("development", "report")

LINUX = ("cubic", "reno", "bbr")
LOSS_BASED = ("cubic", "reno")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A sort of network.

    ``rates`` in Mbit/s, ``trips`` (round trips) in ms, ``queues`` in bandwidth-delay products;
    ``disciplines`` are drawn evenly, so that one may be named twice;
    ``jitter`` is the largest deviation of the delay as a share of the round trip. ``near`` is the
    share of the delay before the router, ``narrow`` the links that may be the bottleneck.
    """

    name: str
    half: Half
    words: str
    rates: tuple[float, ...]
    trips: tuple[float, ...]
    queues: tuple[float, ...]
    disciplines: tuple[Discipline, ...] = ("drop-tail",)
    controls: tuple[str, ...] = LINUX
    jitter: float = 0.0
    near: tuple[float, ...] = (0.1, 0.5, 0.9)
    narrow: tuple[Literal["near", "far"], ...] = ("far", "near")


FAMILIES: tuple[Family, ...] = (
    Family(
        name="office",
        half="development",
        words="a local network behind one switch",
        rates=(50, 100),
        trips=(1, 2, 5),
        queues=(1, 3),
    ),
    Family(
        name="dsl",
        half="development",
        words="a telephone line with a deep queue",
        rates=(2, 5, 10),
        trips=(20, 50),
        queues=(2, 4),
        near=(0.1, 0.3),
    ),
    Family(
        name="campus",
        half="development",
        words="a well-kept network whose routers run CoDel or RED",
        rates=(20, 50),
        trips=(10, 20),
        queues=(2, 4),
        disciplines=("codel", "codel", "red"),
        near=(0.3, 0.5),
    ),
    Family(
        name="transit",
        half="development",
        words="a long path through a switch with little memory",
        rates=(20, 50, 100),
        trips=(50, 100),
        queues=(0.05, 0.1, 0.3),
        near=(0.5, 0.9),
    ),
    Family(
        name="satellite",
        half="development",
        words="a long path with a full-size queue",
        rates=(10, 20),
        trips=(200,),
        queues=(0.5, 1),
    ),
    Family(
        name="wireless",
        half="development",
        words="a home network with jitter",
        rates=(10, 20, 50),
        trips=(10, 20),
        queues=(1, 2),
        jitter=0.1,
        near=(0.5,),
    ),
    Family(
        name="metro",
        half="report",
        words="a town network",
        rates=(30, 80),
        trips=(3, 4, 8),
        queues=(0.7, 1.5, 2.5),
    ),
    Family(
        name="cable",
        half="report",
        words="a cable line with a queue of any depth",
        rates=(4, 8, 15, 40),
        trips=(12, 30),
        queues=(0.7, 1.5, 3.5),
        near=(0.2, 0.6),
    ),
    Family(
        name="managed",
        half="report",
        words="a network whose routers run RED or CoDel",
        rates=(8, 30, 60),
        trips=(15, 40),
        queues=(2.5, 3.5),
        disciplines=("red", "red", "codel"),
        near=(0.4, 0.6),
    ),
    Family(
        name="backbone",
        half="report",
        words="a long path through routers with little memory",
        rates=(15, 30, 60),
        trips=(60, 80, 150),
        queues=(0.07, 0.15, 0.2),
        near=(0.4, 0.8),
    ),
    Family(
        name="overseas",
        half="report",
        words="a path between continents",
        rates=(15, 30),
        trips=(120, 180),
        queues=(0.7, 1.5),
    ),
    Family(
        name="mobile",
        half="report",
        words="a cell with jitter",
        rates=(6, 12, 25),
        trips=(25, 40),
        queues=(1.5, 2.5),
        jitter=0.08,
        near=(0.2, 0.4),
    ),
)
"""Every family; the plan takes them in turn."""

BY_NAME = {family.name: family for family in FAMILIES}


def of_half(half: Half) -> tuple[Family, ...]:
    """The families of a half, in order."""
    return tuple(family for family in FAMILIES if family.half == half)
