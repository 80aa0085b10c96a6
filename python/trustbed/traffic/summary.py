"""What a model says, in numbers: classes, their distributions, hosts, and what is thin."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trustbed.traffic.model import SECOND, Model
from trustbed.traffic.offer import Load, load_of

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
    """A model in numbers."""

    seconds: float
    load: Load
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
    """Everything that ``trustbed model show`` prints: the model as learned, without its recipe."""
    hosts = model.hosts.to_pylist()
    units: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for unit in model.units.to_pylist():
        units[unit["connection"]].append(unit)
    by_class: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in model.connections.to_pylist():
        by_class[row["class"]].append(row)
    classes = [
        _class(rule.name, by_class[rule.name], units)
        for rule in model.header.classes
        if rule.name in by_class
    ]
    return Summary(
        seconds=model.header.duration_ns / SECOND,
        load=load_of(model),
        classes=sorted(classes, key=lambda one: -(one.client_bytes + one.server_bytes)),
        hosts=_hosts(hosts),
        clients=sum(row["side"] == "client" for row in hosts),
        servers=sum(row["side"] == "server" for row in hosts),
    )


def _class(
    name: str, members: Sequence[dict[str, Any]], units: dict[int, list[dict[str, Any]]]
) -> ClassSummary:
    starts: dict[int, int] = {}
    exchanges: dict[int, set[int]] = defaultdict(set)
    connections: dict[tuple[int, int], int] = defaultdict(int)
    for row in members:
        session = row["session"]
        starts[session] = min(starts.get(session, row["start_ns"]), row["start_ns"])
        exchanges[session].add(row["exchange"])
        connections[session, row["exchange"]] += 1
    order = sorted(starts.values())
    pairs = [unit for row in members if row["kind"] == "pairs" for unit in units[row["connection"]]]
    sequential = [row for row in members if row["kind"] == "pairs"]

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
            seconds([row["exchange_gap_ns"] for row in members]),
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
            seconds([row["start_gap_ns"] for row in members]),
        ),
        (
            "pairs",
            "",
            "pairs of a connection",
            sorted(float(len(units[row["connection"]])) for row in sequential),
        ),
        (
            "request",
            "B",
            "bytes of a request",
            sorted(float(unit["client_bytes"] or 0) for unit in pairs),
        ),
        (
            "response",
            "B",
            "bytes of a response",
            sorted(float(unit["server_bytes"] or 0) for unit in pairs),
        ),
        (
            "user think",
            "s",
            "from a response to the next request",
            seconds([unit["client_wait_ns"] for unit in pairs]),
        ),
        (
            "server think",
            "s",
            "from a request to its response",
            seconds([unit["server_wait_ns"] for unit in pairs]),
        ),
    ]
    return ClassSummary(
        name=name,
        sessions=len(starts),
        connections=len(members),
        pairs=len(pairs),
        concurrent=sum(row["kind"] == "streams" for row in members),
        datagrams=sum(row["kind"] == "datagrams" for row in members),
        client_bytes=sum(row["client_bytes"] for row in members),
        server_bytes=sum(row["server_bytes"] for row in members),
        distributions=[
            Distribution(name=variable, unit=unit, meaning=meaning, values=values)
            for variable, unit, meaning, values in found
        ],
    )


def _hosts(rows: Sequence[dict[str, Any]]) -> list[Distribution]:
    found = []
    for side in ("client", "server"):
        own = [row for row in rows if row["side"] == side]
        for key, unit, scale, meaning in (
            ("latency_ns", "s", 1 / SECOND, "one way between link and host"),
            ("toward_bits_per_second", "bit/s", 1.0, "capacity from the host to the link"),
            ("from_bits_per_second", "bit/s", 1.0, "capacity from the link to the host"),
            ("toward_loss", "", 1.0, "loss before the link"),
            ("from_loss", "", 1.0, "loss behind the link"),
        ):
            values = sorted(row[key] * scale for row in own if row[key] is not None)
            short = key.removesuffix("_ns").removesuffix("_bits_per_second").replace("_", " ")
            name = f"{side} {short}"
            found.append(Distribution(name=name, unit=unit, meaning=meaning, values=values))
    return found
