"""The links from one host to another, and the narrowest of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from trustbed.scenario.model import Direction, Scenario, trace_rate

Edge = tuple[str, str]
"""The ends of a direction of a link."""


def bottleneck(
    rates: Mapping[Edge, float | None], source: str, target: str
) -> tuple[float | None, Edge | None]:
    """The narrowest link of the shortest path: its rate in bit/s, and its ends.

    None and None where no link of the path is limited. ``rates`` are those of :func:`link_rates`.
    """
    limited = [
        (rate, edge) for edge in _path(rates, source, target) if (rate := rates[edge]) is not None
    ]
    return min(limited, default=(None, None))


def link_rates(scenario: Scenario) -> Mapping[Edge, float | None]:
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
    return tuple(_path(link_rates(scenario), source, target))[::-1]


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
