"""Models that are written down rather than learned: connections drawn from stated distributions.

Deterministic: the same plan is the same model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trustbed.traffic.model import SECOND, TCP, ClassRule, Header, Model, checked
from trustbed.traffic.rows import ConnectionRow, HostRow, Side, UnitRow, table

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
    connections: list[ConnectionRow] = []
    units: list[UnitRow] = []
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
    hosts = _hosts("client", clients, 0, chance) + _hosts("server", servers, clients.number, chance)
    return checked(
        Model(
            header=header,
            connections=table(connections, ConnectionRow),
            units=table(units, UnitRow),
            hosts=table(hosts, HostRow),
        )
    )


def _session(
    plan: ClassPlan,
    session: int,
    start: float,
    hosts: tuple[int, int],
    chance: random.Random,
    connections: list[ConnectionRow],
    units: list[UnitRow],
) -> None:
    client = session % hosts[0]
    at = start
    for exchange in range(max(1, round(plan.exchanges(chance)))):
        gap = plan.exchange_gap(chance) if exchange else None
        at += gap or 0.0
        for number in range(max(1, round(plan.connections(chance)))):
            later = plan.connection_gap(chance) if number else None
            at += later or 0.0
            server = hosts[0] + chance.randrange(hosts[1])
            said = [
                _pair(plan, len(connections), chance, is_first=not pair)
                for pair in range(max(1, round(plan.pairs(chance))))
            ]
            units += said
            connections.append(
                ConnectionRow(
                    connection=len(connections),
                    class_name=plan.name,
                    session=session,
                    exchange=exchange,
                    exchange_gap_ns=None if gap is None or number else round(gap * SECOND),
                    start_gap_ns=None if later is None else round(later * SECOND),
                    start_ns=round(at * SECOND),
                    client=client,
                    server=server,
                    kind="pairs",
                    client_bytes=sum(unit.client_bytes or 0 for unit in said),
                    server_bytes=sum(unit.server_bytes or 0 for unit in said),
                    client_packet_bytes=1500,
                    server_packet_bytes=1500,
                )
            )


def _pair(plan: ClassPlan, connection: int, chance: random.Random, *, is_first: bool) -> UnitRow:
    request = max(1, round(plan.request(chance)))
    response = max(0, round(plan.response(chance)))
    return UnitRow(
        connection=connection,
        side="both",
        client_bytes=request,
        server_bytes=response,
        client_wait_ns=None if is_first else round(plan.user_think(chance) * SECOND),
        server_wait_ns=round(plan.server_think(chance) * SECOND) if response else None,
    )


def _hosts(side: Side, plan: HostPlan, first: int, chance: random.Random) -> list[HostRow]:
    return [
        HostRow(
            host=first + number,
            side=side,
            connections=1,
            latency_ns=round(plan.latency(chance) * SECOND),
            toward_bits_per_second=None if plan.toward_rate is None else plan.toward_rate(chance),
            from_bits_per_second=None if plan.from_rate is None else plan.from_rate(chance),
            toward_loss=0.0,
            from_loss=0.0,
        )
        for number in range(plan.number)
    ]
