"""The load that a scenario's scheduled traffic puts on the emulator and the generators. Pure.

UDP background counts at its full rate, even above the rate of its bottleneck link: the emulator
must receive a packet before the link can drop it. TCP background and workloads share what UDP
leaves of their bottleneck link.

Bias: every workload is assumed to saturate its bottleneck, so the load of workloads that do not is
overestimated. A played recording counts with its mean rate, so its peaks are underestimated.
Unpaced sources are left out: they send as fast as they can and demand no rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trustbed.run.execution.configurations import Flow, flows, populations
from trustbed.scenario import Background, Direction, Scenario
from trustbed.scenario.model import trace_rate
from trustbed.scenario.populations import mean_load

FULL_SIZE = 1500
"""Bytes of the largest IP packet that a testbed carries (the MTU)."""
MODEST_BITS_PER_SECOND = 500_000_000
MODEST_PACKETS_PER_SECOND = 50_000

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A bit rate of IP packets of one length."""

    bits_per_second: float
    packet_bytes: float = FULL_SIZE

    @property
    def packets_per_second(self) -> float:
        """The packet rate, which determines the cost of sending and forwarding."""
        return self.bits_per_second / 8 / self.packet_bytes


def is_modest(loads: Sequence[Load]) -> bool:
    """Whether any machine can carry the total, so that no measurement is needed."""
    bits = sum(load.bits_per_second for load in loads)
    return (
        bits <= MODEST_BITS_PER_SECOND
        and sum(load.packets_per_second for load in loads) <= MODEST_PACKETS_PER_SECOND
    )


Recorded = Callable[[Background, bool], Load | None]
"""The mean load of a played recording, by background and whether in reverse direction."""


@dataclass(slots=True)
class _Bottleneck:
    """The narrowest link of one or more paths, and the traffic that crosses it.

    A ``rate`` of None is unlimited.
    """

    rate: float | None
    saturated: bool = False
    udp: list[Load] = field(default_factory=list)
    tcp: list[Load] = field(default_factory=list)

    def loads(self) -> Iterator[Load]:
        """All UDP; TCP scaled down to the rest of the rate; workloads with what is left of that."""
        yield from self.udp
        if self.rate is None:
            yield from self.tcp
            return
        available = max(0.0, self.rate - sum(load.bits_per_second for load in self.udp))
        demanded = sum(load.bits_per_second for load in self.tcp)
        share = min(1.0, available / demanded) if demanded else 0.0
        yield from (
            Load(bits_per_second=load.bits_per_second * share, packet_bytes=load.packet_bytes)
            for load in self.tcp
        )
        if self.saturated and available > demanded:
            yield Load(bits_per_second=available - demanded)


def emulated(scenario: Scenario, recorded: Recorded) -> tuple[Load, ...]:
    """The load that the emulator would receive."""
    rates = _link_rates(scenario)
    bottlenecks: dict[Edge | None, _Bottleneck] = {}

    def bottleneck(source: str, target: str) -> _Bottleneck:
        limited = [
            (rate, edge)
            for edge in _path(rates, source, target)
            if (rate := rates[edge]) is not None
        ]
        rate, edge = min(limited, default=(None, None))
        return bottlenecks.setdefault(edge, _Bottleneck(rate))

    for workload in scenario.workloads:
        sender = workload.data_from
        if workload.to is not None and sender is not None:
            receiver = workload.to if sender == workload.host else workload.host
            bottleneck(sender, receiver).saturated = True
    for one in populations(scenario):
        mean = mean_load(one)
        for source, target, bits in (
            (one.source, one.to, mean.client),
            (one.to, one.source, mean.server),
        ):
            bottleneck(source, target).tcp.append(Load(bits_per_second=bits))
    for flow, load in offered(scenario, recorded):
        found = bottleneck(flow.source, flow.to)
        (found.udp if flow.background.transport == "udp" else found.tcp).append(_fragmented(load))
    return tuple(load for one in bottlenecks.values() for load in one.loads())


def offered(scenario: Scenario, recorded: Recorded) -> Iterator[tuple[Flow, Load]]:
    """The offered load of each background sender, unpaced ones left out."""
    for flow in flows(scenario):
        background = flow.background
        if background.release == "unpaced":
            continue
        if background.model == "playback":
            load = recorded(background, flow.heading == "reverse")
            if load is not None:
                yield flow, load
        elif background.rate is not None:
            yield flow, Load(bits_per_second=background.rate, packet_bytes=background.packet_bytes)


def _fragmented(load: Load) -> Load:
    """The same bit rate in packets no longer than the MTU of a veth link."""
    return Load(
        bits_per_second=load.bits_per_second, packet_bytes=min(load.packet_bytes, FULL_SIZE)
    )


# The network.


def _link_rates(scenario: Scenario) -> Mapping[Edge, float | None]:
    """The rate of each direction of each link, by its ends; None is unlimited.

    A host has one access link per address, whose rates add up.
    """
    rates: dict[Edge, float | None] = {}
    for link in scenario.links:
        rates[link.ends] = rate(link.forward)
        if link.backward is not None:
            rates[link.ends[1], link.ends[0]] = rate(link.backward)
    for host in scenario.hosts:
        if host.router is not None:
            for edge, access in (
                ((host.name, host.router), host.access_up),
                ((host.router, host.name), host.access_down),
            ):
                each = rate(access or Direction())
                rates[edge] = None if each is None else each * len(host.addresses)
    return rates


def path(scenario: Scenario, source: str, target: str) -> tuple[Edge, ...]:
    """The links of a shortest path by their ends, first to last, access links included."""
    return tuple(_path(_link_rates(scenario), source, target))[::-1]


def rate(direction: Direction) -> float | None:
    """The sustained rate of a direction of a link in bit/s: the least of its limits.

    Of a rate in steps the highest counts.
    """
    rates: list[float] = [
        bucket.rate for bucket in (direction.policer, direction.shaper) if bucket is not None
    ]
    if direction.fastest_rate is not None:
        rates.append(direction.fastest_rate)
    if direction.rate_trace is not None:
        rates.append(trace_rate(direction.rate_trace))
    return min(rates, default=None)


def _path(rates: Mapping[Edge, object], source: str, target: str) -> Iterator[Edge]:
    """The edges of a shortest path, last first (breadth-first search).

    There is a path: reading the scenario has checked it.
    """
    came_from: dict[str, str] = {source: source}
    frontier = [source]
    while frontier and target not in came_from:
        following = []
        for node in frontier:
            for here, there in rates:
                if here == node and there not in came_from:
                    came_from[there] = node
                    following.append(there)
        frontier = following
    nodes = [target]
    while nodes[-1] != source and nodes[-1] in came_from:
        nodes.append(came_from[nodes[-1]])
    yield from ((there, here) for here, there in itertools.pairwise(nodes))
