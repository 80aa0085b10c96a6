"""Stalled interfaces.

The links of a stalled host carry nothing for a while, in both directions. Pure.

Packets sent meanwhile are lost, as by hardware that hangs until it is reset: the sender keeps
retransmitting, and makes progress as soon as the stall ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from trustbed.scenario.model import Direction, Host, Link, Outage, Scenario

Interval = tuple[int, int]


def stalled(scenario: Scenario) -> Scenario:
    """The scenario with its interface stalls applied to the links of their hosts."""
    stalls: dict[str, list[Interval]] = {}
    for fault in scenario.faults:
        if fault.kind == "nic-stall":
            assert fault.duration_ns is not None, "reading has filled in the default"
            stalls.setdefault(fault.host, []).append(
                (fault.start_ns, fault.start_ns + fault.duration_ns)
            )
    if not stalls:
        return scenario
    return replace(
        scenario,
        hosts=tuple(_host(host, stalls.get(host.name, ())) for host in scenario.hosts),
        links=tuple(
            _link(link, [one for end in link.ends for one in stalls.get(end, ())])
            for link in scenario.links
        ),
    )


def _host(host: Host, stalls: Sequence[Interval]) -> Host:
    """A host behind an access link: that link stalls."""
    if host.access_up is None or host.access_down is None or not stalls:
        return host
    return replace(
        host,
        access_up=_direction(host.access_up, stalls),
        access_down=_direction(host.access_down, stalls),
    )


def _link(link: Link, stalls: Sequence[Interval]) -> Link:
    if not stalls:
        return link
    backward = None if link.backward is None else _direction(link.backward, stalls)
    return replace(link, forward=_direction(link.forward, stalls), backward=backward)


def _direction(direction: Direction, stalls: Sequence[Interval]) -> Direction:
    """With the link's own outages; a stall loses packets even if an outage would hold them."""
    lost = _united(
        [
            *stalls,
            *((one.at_ns, one.at_ns + one.lasts_ns) for one in direction.outages if not one.keeps),
        ]
    )
    held = [
        piece
        for one in direction.outages
        if one.keeps
        for piece in _without((one.at_ns, one.at_ns + one.lasts_ns), lost)
    ]
    found = [_outage(one, keeps=False) for one in lost] + [_outage(one, keeps=True) for one in held]
    return replace(direction, outages=tuple(sorted(found, key=lambda outage: outage.at_ns)))


def _outage(interval: Interval, *, keeps: bool) -> Outage:
    return Outage(at_ns=interval[0], lasts_ns=interval[1] - interval[0], keeps=keeps)


def _united(intervals: Iterable[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for begin, end in sorted(intervals):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _without(interval: Interval, others: Sequence[Interval]) -> list[Interval]:
    """The remaining parts of an interval; the others are in order and do not touch."""
    begin, end = interval
    found = []
    for other_begin, other_end in others:
        if begin < min(end, other_begin):
            found.append((begin, min(end, other_begin)))
        begin = max(begin, other_end)
    return [*found, (begin, end)] if begin < end else found
