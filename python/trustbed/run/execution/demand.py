"""The load that a scenario's scheduled traffic puts on the emulator and the generators. Pure.

Workloads and TCP take what the narrowest link on their way leaves them; UDP comes as it is, whether
a link carries it or not, since the emulator has to take it before the link can drop it.

Bias: links count as filled by their workloads; those of workloads that do not fill them are counted
too high. A recording counts by its mean rate, so its peaks are not seen. Sources without pace ask
for nothing: they send what they can.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trustbed.run.execution.configurations import Flow, flows
from trustbed.scenario import Background, Direction, Scenario

FULL_SIZE = 1500
"""Bytes of the largest IP packets that pass a testbed."""
MODEST_BITS_PER_SECOND = 500_000_000
MODEST_PACKETS_PER_SECOND = 50_000
_OPPORTUNITY_BITS = 1504 * 8
"""What leaves at one millisecond of a trace of rates."""

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Packets of one length (that of IP packets), so many bits of them a second."""

    bits_per_second: float
    packet_bytes: float = FULL_SIZE

    @property
    def packets_per_second(self) -> float:
        """How many: what it costs to make them and to move them."""
        return self.bits_per_second / 8 / self.packet_bytes


def is_modest(loads: Sequence[Load]) -> bool:
    """Whether any machine that can make a testbed at all can do this together.

    Not worth a measurement.
    """
    bits = sum(load.bits_per_second for load in loads)
    return (
        bits <= MODEST_BITS_PER_SECOND
        and sum(load.packets_per_second for load in loads) <= MODEST_PACKETS_PER_SECOND
    )


Recorded = Callable[[Background, bool], Load | None]
"""The mean load of a recording that is played: its packets forward, or in reverse."""


@dataclass(slots=True)
class _Shared:
    """What passes a link, which is the narrowest on its way."""

    rate: float | None
    filled: bool = False
    comes: list[Load] = field(default_factory=list)
    yields: list[Load] = field(default_factory=list)

    def loads(self) -> Iterator[Load]:
        """What yields to others gets what they leave; who fills links gets the rest."""
        yield from self.comes
        if self.rate is None:
            yield from self.yields
            return
        room = max(0.0, self.rate - sum(load.bits_per_second for load in self.comes))
        wanted = sum(load.bits_per_second for load in self.yields)
        share = min(1.0, room / wanted) if wanted else 0.0
        yield from (
            Load(bits_per_second=load.bits_per_second * share, packet_bytes=load.packet_bytes)
            for load in self.yields
        )
        if self.filled and room > wanted:
            yield Load(bits_per_second=room - wanted)


def emulated(scenario: Scenario, recorded: Recorded) -> tuple[Load, ...]:
    """What the emulator would take in."""
    ways = _ways(scenario)
    shared: dict[Edge | None, _Shared] = {}

    def place(source: str, target: str) -> _Shared:
        limited = [
            (rate, edge) for edge in _path(ways, source, target) if (rate := ways[edge]) is not None
        ]
        rate, edge = min(limited, default=(None, None))
        return shared.setdefault(edge, _Shared(rate))

    for workload in scenario.workloads:
        sender = workload.data_from
        if workload.to is not None and sender is not None:
            place(sender, workload.to if sender == workload.host else workload.host).filled = True
    for flow, load in made(scenario, recorded):
        found = place(flow.source, flow.to)
        (found.comes if flow.background.transport == "udp" else found.yields).append(
            _in_packets(load)
        )
    return tuple(load for one in shared.values() for load in one.loads())


def made(scenario: Scenario, recorded: Recorded) -> Iterator[tuple[Flow, Load]]:
    """What each sender of background traffic would have to make.

    Senders without pace make what they can.
    """
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


def _in_packets(load: Load) -> Load:
    """Packets that are too long for a veth link come in parts."""
    return Load(
        bits_per_second=load.bits_per_second, packet_bytes=min(load.packet_bytes, FULL_SIZE)
    )


# The network.


def _ways(scenario: Scenario) -> Mapping[Edge, float | None]:
    """What every direction of every link carries at most, by its ends.

    Access links are one for each address.
    """
    ways: dict[Edge, float | None] = {}
    for link in scenario.links:
        ways[link.ends] = rate(link.forward)
        if link.backward is not None:
            ways[link.ends[1], link.ends[0]] = rate(link.backward)
    for host in scenario.hosts:
        if host.router is not None:
            for edge, access in (
                ((host.name, host.router), host.access_up),
                ((host.router, host.name), host.access_down),
            ):
                each = rate(access or Direction())
                ways[edge] = None if each is None else each * len(host.addresses)
    return ways


def rate(way: Direction) -> float | None:
    """Bits per second that a link carries at most, over time."""
    rates: list[float] = [bucket.rate for bucket in (way.policer, way.shaper) if bucket is not None]
    if way.rate is not None:
        rates.append(way.rate)
    if way.rate_trace is not None and way.rate_trace.values[-1]:
        rates.append(
            len(way.rate_trace.values) * _OPPORTUNITY_BITS * 1000 / way.rate_trace.values[-1]
        )
    return min(rates, default=None)


def _path(ways: Mapping[Edge, object], source: str, target: str) -> Iterator[Edge]:
    """The edges of a way with the fewest links; there is one, or reading would have failed."""
    came_from: dict[str, str] = {source: source}
    waiting = [source]
    while waiting and target not in came_from:
        following = []
        for place in waiting:
            for here, there in ways:
                if here == place and there not in came_from:
                    came_from[there] = place
                    following.append(there)
        waiting = following
    places = [target]
    while places[-1] != source and places[-1] in came_from:
        places.append(came_from[places[-1]])
    yield from ((there, here) for here, there in itertools.pairwise(places))
