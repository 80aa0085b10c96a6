"""The load that a scenario's scheduled traffic puts on the emulator and the generators. Pure.

UDP background counts at its full rate, even above the rate of its bottleneck link: the emulator
must receive a packet before the link can drop it. TCP background and workloads share what UDP
leaves of their bottleneck link.

Bias: every workload is assumed to saturate its bottleneck, so the load of workloads that do not is
overestimated. A played recording counts with its mean rate, so its peaks are underestimated.
Unpaced sources are left out: they send as fast as they can and demand no rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from trustbed.run.execution.configurations import Flow, flows, populations
from trustbed.scenario import Background, Scenario
from trustbed.scenario.bottleneck import Edge, link_rates
from trustbed.scenario.bottleneck import bottleneck as narrowest
from trustbed.scenario.populations import mean_load

FULL_SIZE = 1500
"""Bytes of the largest IP packet that a testbed carries (the MTU)."""
MODEST_BITS_PER_SECOND = 500_000_000
MODEST_PACKETS_PER_SECOND = 50_000


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
    rates = link_rates(scenario)
    bottlenecks: dict[Edge | None, _Bottleneck] = {}

    def bottleneck(source: str, target: str) -> _Bottleneck:
        rate, edge = narrowest(rates, source, target)
        return bottlenecks.setdefault(edge, _Bottleneck(rate))

    for workload in scenario.workloads:
        sender = workload.data_from
        if workload.to is not None and sender is not None:
            receiver = workload.to if sender == workload.host else workload.host
            bottleneck(sender, receiver).saturated = True
    for one in populations(scenario):
        mean = mean_load(one)
        for source, target, bits, packets in (
            (one.source, one.to, mean.client, mean.client_packets),
            (one.to, one.source, mean.server, mean.server_packets),
        ):
            bottleneck(source, target).tcp.append(_in_packets(bits, packets))
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


def _in_packets(bits_per_second: float, packets_per_second: float) -> Load:
    """A bit rate in so many packets, or in more where these would be longer than the MTU."""
    packets = max(packets_per_second, bits_per_second / 8 / FULL_SIZE)
    length = bits_per_second / 8 / packets if packets else FULL_SIZE
    return Load(bits_per_second=bits_per_second, packet_bytes=length)


def _fragmented(load: Load) -> Load:
    """The same bit rate in packets no longer than the MTU of a veth link."""
    return Load(
        bits_per_second=load.bits_per_second, packet_bytes=min(load.packet_bytes, FULL_SIZE)
    )
