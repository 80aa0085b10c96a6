"""Models that are written down rather than learned: connections drawn from stated distributions.

Deterministic: the same plan is the same model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trustbed.traffic.extraction import TCP
from trustbed.traffic.model import SECOND, ClassRule, Header, Model, checked, schemas

Draw = Callable[[random.Random], float]
"""A value of a distribution."""


def constant(value: float) -> Draw:
    """Always the same."""
    return lambda _: value


def uniform(low: float, high: float) -> Draw:
    """Between two values."""
    return lambda chance: chance.uniform(low, high)


def exponential(mean: float) -> Draw:
    """Without memory."""
    return lambda chance: chance.expovariate(1 / mean)


def lognormal(median: float, sigma: float) -> Draw:
    """Whose logarithm is normal, with this deviation."""
    return lambda chance: median * chance.lognormvariate(0.0, sigma)


def pareto(least: float, shape: float, most: float = float("inf")) -> Draw:
    """Heavy-tailed: P(X > x) = (least/x)^shape, cut at ``most``."""
    return lambda chance: min(most, least * chance.paretovariate(shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPlan:
    """The distributions of a class. Times in seconds, sizes in bytes."""

    name: str
    port: int
    sessions_per_second: float
    exchanges: Draw = field(default_factory=lambda: constant(1))
    exchange_gap: Draw = field(default_factory=lambda: constant(30.0))
    connections: Draw = field(default_factory=lambda: constant(1))
    connection_gap: Draw = field(default_factory=lambda: constant(0.1))
    pairs: Draw = field(default_factory=lambda: constant(1))
    request: Draw
    response: Draw
    user_think: Draw = field(default_factory=lambda: constant(0.0))
    server_think: Draw = field(default_factory=lambda: constant(0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlan:
    """The hosts of one side. Latency in seconds, one way; rates in bit/s."""

    number: int
    latency: Draw
    toward_rate: Draw | None = None
    from_rate: Draw | None = None


def build(
    name: str,
    classes: Sequence[ClassPlan],
    clients: HostPlan,
    servers: HostPlan,
    *,
    seconds: float,
    seed: int,
    about: str,
    source: str = "",
    licence: str = "",
) -> Model:
    """A model of sessions that begin within ``seconds``, drawn from the plans."""
    chance = random.Random(seed)
    connections: list[dict[str, object]] = []
    units: list[dict[str, object]] = []
    session = 0
    for plan in classes:
        number = max(1, round(plan.sessions_per_second * seconds))
        starts = sorted(chance.uniform(0.0, seconds) for _ in range(number))
        for start in starts:
            _session(
                plan, session, start, (clients.number, servers.number), chance, connections, units
            )
            session += 1
    header = Header(
        trustbed="",
        name=name,
        about=about,
        source=source,
        licence=licence,
        duration_ns=round(seconds * SECOND),
        session_gap_ns=300 * SECOND,
        exchange_gap_ns=30 * SECOND,
        classes=tuple(ClassRule(plan.name, TCP, (plan.port,)) for plan in classes),
        assumed=("it was written down, not learned",),
    )
    tables = schemas()
    hosts = _hosts("client", clients, 0, chance) + _hosts("server", servers, clients.number, chance)
    return checked(
        Model(
            header=header,
            connections=_table(connections, tables["connections"]),
            units=_table(units, tables["units"]),
            hosts=_table(hosts, tables["hosts"]),
        )
    )


def _table(rows: Sequence[dict[str, object]], schema: object):  # type: ignore[no-untyped-def] # noqa: ANN202 a table
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=schema)


def _session(
    plan: ClassPlan,
    session: int,
    start: float,
    hosts: tuple[int, int],
    chance: random.Random,
    connections: list[dict[str, object]],
    units: list[dict[str, object]],
) -> None:
    client = session % hosts[0]
    at = start
    for exchange in range(max(1, round(plan.exchanges(chance)))):
        gap = plan.exchange_gap(chance) if exchange else None
        at += gap or 0.0
        for number in range(max(1, round(plan.connections(chance)))):
            later = plan.connection_gap(chance) if number else None
            at += later or 0.0
            row: dict[str, object] = {
                "connection": len(connections),
                "class": plan.name,
                "session": session,
                "exchange": exchange,
                "exchange_gap_ns": None if gap is None or number else round(gap * SECOND),
                "start_gap_ns": None if later is None else round(later * SECOND),
                "start_ns": round(at * SECOND),
                "duration_ns": 0,
                "client": client,
                "server": hosts[0] + chance.randrange(hosts[1]),
                "kind": "pairs",
                "client_packet_bytes": 1500,
                "server_packet_bytes": 1500,
                "partial": False,
                "incomplete": False,
            }
            sums = [0, 0]
            for pair in range(max(1, round(plan.pairs(chance)))):
                request = max(1, round(plan.request(chance)))
                response = max(0, round(plan.response(chance)))
                units.append(
                    {
                        "connection": row["connection"],
                        "side": "both",
                        "client_bytes": request,
                        "server_bytes": response,
                        "client_wait_ns": round(plan.user_think(chance) * SECOND) if pair else None,
                        "server_wait_ns": round(plan.server_think(chance) * SECOND)
                        if response
                        else None,
                    }
                )
                sums = [sums[0] + request, sums[1] + response]
            row |= {"client_bytes": sums[0], "server_bytes": sums[1]}
            connections.append(row)


def _hosts(side: str, plan: HostPlan, first: int, chance: random.Random) -> list[dict[str, object]]:
    return [
        {
            "host": first + number,
            "side": side,
            "connections": 1,
            "latency_ns": round(plan.latency(chance) * SECOND),
            "toward_bits_per_second": None
            if plan.toward_rate is None
            else plan.toward_rate(chance),
            "from_bits_per_second": None if plan.from_rate is None else plan.from_rate(chance),
            "toward_loss": 0.0,
            "from_loss": 0.0,
            "round_trips": 0,
            "toward_pairs": 0,
            "from_pairs": 0,
        }
        for number in range(plan.number)
    ]
