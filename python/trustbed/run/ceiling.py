"""What this machine's emulator can carry at most, and what a scenario would ask of it.

Rates beyond the ceiling are refused before the run: behind an emulator that cannot keep up, everything measures the emulator. The ceiling
is measured by a flood of full-size packets over a link without limits, for a moment, and only where a scenario asks for much.

Bias: the demand counts what links would carry if their senders filled them; workloads that do not are refused too early, never too late.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from trustbed.run.execute import RunError
from trustbed.scenario import Direction, Scenario
from trustbed.testbed import Host, Testbed, plan

SECOND = 1_000_000_000
MODEST_BITS_PER_SECOND = 500_000_000
"""Carried by any machine that can make a testbed at all: not worth a measurement."""
_FLOOD_BITS_PER_SECOND = 8_000_000_000
_FLOOD_NS = 250_000_000
_PORT = 9

Edge = tuple[str, str]


def demand(scenario: Scenario) -> int:
    """Bits per second that the emulator would move if all traffic filled the narrowest link on its way; 0 where nothing limits it."""
    ways = _ways(scenario)
    narrowest: dict[Edge, int] = {}
    for source, target in _pairs(scenario):
        rates = [(rate, edge) for edge in _path(ways, source, target) if (rate := ways[edge].rate) is not None]
        if rates:
            rate, edge = min(rates)
            narrowest[edge] = rate
    return sum(narrowest.values())


def _ways(scenario: Scenario) -> dict[Edge, Direction]:
    """Every direction of every link, by its ends."""
    ways: dict[Edge, Direction] = {}
    for link in scenario.links:
        ways[link.ends] = link.forward
        if link.backward is not None:
            ways[link.ends[1], link.ends[0]] = link.backward
    for host in scenario.hosts:
        if host.router is not None:
            ways[host.name, host.router] = host.access_up or Direction()
            ways[host.router, host.name] = host.access_down or Direction()
    return ways


def _pairs(scenario: Scenario) -> Iterator[Edge]:
    """Who sends much to whom."""
    for workload in scenario.workloads:
        sender = workload.data_from
        if workload.to is not None and sender is not None:
            yield sender, workload.to if sender == workload.host else workload.host
    for background in scenario.backgrounds:
        if not background.silent:
            if background.heading != "reverse":
                yield background.source, background.to
            if background.heading != "forward":
                yield background.to, background.source


def _path(ways: dict[Edge, Direction], source: str, target: str) -> Iterator[Edge]:
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


def measure() -> int:
    """Bits per second that the emulator passes on when it gets more than it can take."""
    hosts = [Host(name="near", addresses=("10.77.0.1",)), Host(name="far", addresses=("10.77.0.2",))]
    planned = plan(hosts)
    pipes = [{"name": "up", "from": "near", "to": "far"}, {"name": "down", "from": "far", "to": "near"}]
    described = [{"name": host.name, "addresses": list(host.addresses)} for host in hosts]
    source = {
        "name": "flood",
        "transport": "udp",
        "from": "10.77.0.1",
        "to": f"10.77.0.2:{_PORT}",
        "model": {"kind": "cbr", "rate_bits_per_second": _FLOOD_BITS_PER_SECOND},
        "release": "unpaced",
        "seed": 1,
        "duration_ns": _FLOOD_NS,
    }
    with Testbed(planned, purpose="what the emulator carries") as bed:
        emulator = bed.start_agent("emulate", planned.emulator({"hosts": described, "routers": [], "pipes": pipes}, seed=1), where="net")
        emulator.begin()
        sink = bed.start_agent("sink", {"listen": [{"transport": "udp", "address": f"0.0.0.0:{_PORT}"}]}, where="far")
        sink.begin()
        sender = bed.start_agent("send", {"sources": [source]}, where="near")
        sender.begin()
        sent = sender.report(30.0)
        carried = emulator.stop()
    seconds = max(sent["end_ns"] - sent["start_ns"], 1) / SECOND
    return int(carried["delivered_bytes"] * 8 / seconds)


def refuse_too_much(scenarios: list[Scenario]) -> int | None:
    """Raises :class:`RunError` for a scenario beyond the ceiling; returns the ceiling where it was measured."""
    most = max(demand(scenario) for scenario in scenarios)
    if most <= MODEST_BITS_PER_SECOND:
        return None
    ceiling = measure()
    if most > ceiling:
        raise RunError(
            f"links would carry {most / 1e9:.2f} Gbit/s together, and this machine emulates at most {ceiling / 1e9:.2f} Gbit/s",
            "lower the rates of links (or leave them out where nothing is to be limited), or use a faster machine",
        )
    return ceiling
