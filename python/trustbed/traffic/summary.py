"""What a model says, in numbers: classes, their distributions, hosts, and what is thin."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trustbed.traffic import rows
from trustbed.traffic.model import SECOND, Model
from trustbed.traffic.offer import Load, load_of
from trustbed.traffic.rows import HostRow, Member, Side

THIN = 30
"""Fewer values are too few for a distribution's shape."""
QUANTILES = (0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The values of one variable, rising."""

    name: str
    unit: str
    meaning: str
    values: Sequence[float]

    @property
    def count(self) -> int:
        """How many."""
        return len(self.values)

    @property
    def is_thin(self) -> bool:
        """Whether there are too few for a shape."""
        return self.count < THIN

    def quantile(self, share: float) -> float | None:
        """By linear interpolation between order statistics (Hyndman and Fan, type 7)."""
        if not self.values:
            return None
        rank = share * (len(self.values) - 1)
        low = int(rank)
        high = min(low + 1, len(self.values) - 1)
        return self.values[low] + (rank - low) * (self.values[high] - self.values[low])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSummary:
    """A class: how much of everything, and its distributions."""

    name: str
    sessions: int
    connections: int
    pairs: int
    concurrent: int
    datagrams: int
    client_bytes: int
    server_bytes: int
    distributions: Sequence[Distribution]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A model in numbers.

    Attributes:
        seconds: The time in which it was learned.
        load: What it offers, with its recipe.
        learned: The same without the recipe, as are all counts and distributions.
        steps: Changes in the recipe.
        classes: The classes, that with the most bytes first.
        hosts: Distributions over the hosts of each side.
        clients: Hosts of that side.
        servers: Hosts of that side.
    """

    seconds: float
    load: Load
    learned: Load
    steps: int
    classes: Sequence[ClassSummary]
    hosts: Sequence[Distribution]
    clients: int
    servers: int

    def thin(self) -> Sequence[tuple[str, Distribution]]:
        """Distributions with too few values, each with its class."""
        return [
            (one.name, found)
            for one in self.classes
            for found in one.distributions
            if found.is_thin and found.count
        ]


def summarise(model: Model) -> Summary:
    """Everything that ``trustbed model show`` prints.

    The model is as learned, without its recipe, but for its load, which is there both ways.
    """
    classes = [_class(rule.name, found) for rule, found in rows.members(model).items()]
    clients, servers = rows.hosts(model, "client"), rows.hosts(model, "server")
    return Summary(
        seconds=model.header.duration_ns / SECOND,
        load=load_of(model),
        learned=load_of(model.as_learned()),
        steps=len(model.header.recipe),
        classes=sorted(classes, key=lambda one: -(one.client_bytes + one.server_bytes)),
        hosts=[*_hosts("client", clients), *_hosts("server", servers)],
        clients=len(clients),
        servers=len(servers),
    )


def _class(name: str, members: Sequence[Member]) -> ClassSummary:
    starts: dict[int, int] = {}
    exchanges: dict[int, set[int]] = defaultdict(set)
    connections: dict[tuple[int, int], int] = defaultdict(int)
    connected = [member.row for member in members]
    for row in connected:
        starts[row.session] = min(starts.get(row.session, row.start_ns), row.start_ns)
        exchanges[row.session].add(row.exchange)
        connections[row.session, row.exchange] += 1
    order = sorted(starts.values())
    sequential = [member for member in members if member.row.kind == "pairs"]
    pairs = [unit for member in sequential for unit in member.units]

    def seconds(values: Sequence[int | None]) -> list[float]:
        return sorted(value / SECOND for value in values if value is not None)

    found = [
        (
            "session gap",
            "s",
            "between the starts of sessions",
            seconds([b - a for a, b in itertools.pairwise(order)]),
        ),
        (
            "exchanges",
            "",
            "exchanges of a session",
            sorted(float(len(one)) for one in exchanges.values()),
        ),
        (
            "exchange gap",
            "s",
            "from the end of an exchange to the next",
            seconds([row.exchange_gap_ns for row in connected]),
        ),
        (
            "connections",
            "",
            "connections of an exchange",
            sorted(float(one) for one in connections.values()),
        ),
        (
            "connection gap",
            "s",
            "between the starts of an exchange's connections",
            seconds([row.start_gap_ns for row in connected]),
        ),
        (
            "pairs",
            "",
            "pairs of a connection",
            sorted(float(len(member.units)) for member in sequential),
        ),
        (
            "request",
            "B",
            "bytes of a request",
            sorted(float(unit.client_bytes or 0) for unit in pairs),
        ),
        (
            "response",
            "B",
            "bytes of a response",
            sorted(float(unit.server_bytes or 0) for unit in pairs),
        ),
        (
            "user think",
            "s",
            "from a response to the next request",
            seconds([unit.client_wait_ns for unit in pairs]),
        ),
        (
            "server think",
            "s",
            "from a request to its response",
            seconds([unit.server_wait_ns for unit in pairs]),
        ),
    ]
    return ClassSummary(
        name=name,
        sessions=len(starts),
        connections=len(members),
        pairs=len(pairs),
        concurrent=sum(row.kind == "streams" for row in connected),
        datagrams=sum(row.kind == "datagrams" for row in connected),
        client_bytes=sum(row.client_bytes for row in connected),
        server_bytes=sum(row.server_bytes for row in connected),
        distributions=[
            Distribution(name=variable, unit=unit, meaning=meaning, values=values)
            for variable, unit, meaning, values in found
        ],
    )


def _hosts(side: Side, hosts: Sequence[HostRow]) -> list[Distribution]:
    found = []
    for name, unit, scale, meaning in (
        ("latency_ns", "s", 1 / SECOND, "one way between link and host"),
        ("toward_bits_per_second", "bit/s", 1.0, "capacity from the host to the link"),
        ("from_bits_per_second", "bit/s", 1.0, "capacity from the link to the host"),
        ("toward_loss", "", 1.0, "loss before the link"),
        ("from_loss", "", 1.0, "loss behind the link"),
    ):
        known: list[float | None] = [getattr(host, name) for host in hosts]
        values = sorted(value * scale for value in known if value is not None)
        short = name.removesuffix("_ns").removesuffix("_bits_per_second").replace("_", " ")
        found.append(
            Distribution(name=f"{side} {short}", unit=unit, meaning=meaning, values=values)
        )
    return found
