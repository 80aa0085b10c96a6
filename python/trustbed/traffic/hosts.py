"""The hosts of a model as an emulator takes them: each with its own link."""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from trustbed.traffic import rows
from trustbed.traffic.model import Model
from trustbed.traffic.recipe import Variant
from trustbed.traffic.rows import ConnectionRow, HostRow

_NEAR_NS = 2_000_000
"""Round trips of a host that differ by less are of the same place."""
_Place: TypeAlias = tuple[int, int, int]
"""How far from its usual place a server was, in octaves of round trip, and what was lost before
the link and behind it, in decades of the share: 4 from 30 % on, 1 for a thousandth and below, 0
for nothing."""
_HOPELESS = 0.3
"""What lost more was a host that fell silent: TCP hardly works at such a rate."""
_AT_HOME: _Place = (0, 0, 0)
LEAST_RATES = 5
"""Hosts whose capacity is known, with fewer of which, and of a quarter, it is nobody else's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPath:
    """A host's own link, on its side of the target link; ``None``: not limited."""

    latency_ns: int
    toward_rate: int | None
    from_rate: int | None
    toward_loss: float
    from_loss: float


class Hosts:
    """The hosts of a model, numbered anew by side; of too many, a sample.

    A server whose connections had round trips an octave apart, or losses of other magnitudes, is
    several: one address may stand for places at several distances (a proxy, anycast), losses come
    together in time, and the mean of either is what hardly any connection met. Where what is said
    is drawn apart from where (``together`` is false), losses are the mean: one packet of a
    connection of ten would be a tenth of any other.

    Attributes:
        clients: Their links, by number.
        servers: Likewise.
    """

    def __init__(
        self,
        model: Model,
        connections: Iterable[ConnectionRow],
        change: Variant,
        most: int,
        draw: random.Random,
        *,
        together: bool = True,
    ) -> None:
        self._together = together
        clients, servers = rows.hosts(model, "client"), rows.hosts(model, "server")
        self._usual = {row.host: row.latency_ns for row in servers}
        self._number: dict[tuple[int, _Place], int] = {}
        met: dict[int, dict[_Place, list[ConnectionRow]]] = defaultdict(dict)
        for row in connections:
            met[row.server].setdefault(self._place(row), []).append(row)
        places = [_places(row, met.get(row.host, {})) for row in servers]
        # What a host is most of the time comes first: the others are further hosts.
        found = [one[0] for one in places] + [further for one in places for further in one[1:]]
        at_home = [(_AT_HOME, row) for row in clients]
        self.clients = self._paths(at_home, clients, change, most, draw)
        self.servers = self._paths(found, servers, change, most, draw)

    def client(self, row: ConnectionRow) -> int:
        """The number of a connection's client among the clients."""
        return self._number[row.client, _AT_HOME]

    def server(self, row: ConnectionRow) -> int:
        """The number of a connection's server among the servers."""
        return self._number[row.server, self._place(row)]

    def _place(self, row: ConnectionRow) -> _Place:
        usual, own = self._usual.get(row.server), row.server_round_trip_ns
        octave = 0
        if usual is not None and own is not None and abs(own - 2 * usual) >= _NEAR_NS:
            octave = round(math.log2(max(own, _NEAR_NS) / max(2 * usual, _NEAR_NS)))
        if not self._together:
            return octave, 0, 0
        return octave, _decade(row.server_toward_loss), _decade(row.server_from_loss)

    def _paths(
        self,
        found: Sequence[tuple[_Place, HostRow]],
        others: Sequence[HostRow],
        change: Variant,
        most: int,
        draw: random.Random,
    ) -> list[HostPath]:
        kept = found if len(found) <= most else draw.sample(found, most)
        numbers = {(row.host, place): number for number, (place, row) in enumerate(kept)}
        # A place that is left out is another one of the same host, if any of those is kept.
        near = {row.host: number for number, (_, row) in reversed([*enumerate(kept)])}
        for place, row in found:
            instead = near.get(row.host, row.host % len(kept))
            self._number[row.host, place] = numbers.get((row.host, place), instead)
        links: dict[int, tuple[float | None, float | None, float | None]] = {}
        paths = []
        for _, row in kept:
            if row.host not in links:
                # What is not known of a host is drawn once.
                links[row.host] = _link(row, others, draw)
            latency, toward, back = links[row.host]
            own = row.latency_ns if row.latency_ns is not None else latency
            rates = [toward, back] if change.access_rate is None else [change.access_rate] * 2
            toward_rate, from_rate = (
                None if rate is None else max(1, round(rate)) for rate in rates
            )
            paths.append(
                HostPath(
                    latency_ns=_latency(own, change),
                    toward_rate=toward_rate,
                    from_rate=from_rate,
                    toward_loss=_rate(row.toward_loss),
                    from_loss=_rate(row.from_loss),
                )
            )
        return paths


def _places(
    host: HostRow, met: Mapping[_Place, Sequence[ConnectionRow]]
) -> list[tuple[_Place, HostRow]]:
    """A host as its connections met it, what most of them met first."""
    if len(met) < 2:
        return [(next(iter(met), _AT_HOME), host)]
    order = sorted(met, key=lambda place: (-len(met[place]), place))
    lossy = len({place[1:] for place in met}) > 1
    return [(place, _as_met(host, place, met[place], lossy=lossy)) for place in order]


def _as_met(host: HostRow, place: _Place, met: Sequence[ConnectionRow], *, lossy: bool) -> HostRow:
    octave, *_ = place
    round_trips = [row.server_round_trip_ns for row in met if row.server_round_trip_ns is not None]
    there = msgspec.structs.replace(
        host, latency_ns=round(statistics.median(round_trips) / 2) if octave else host.latency_ns
    )
    if not lossy:
        return there
    return msgspec.structs.replace(
        there,
        toward_loss=statistics.median(row.server_toward_loss or 0.0 for row in met),
        from_loss=statistics.median(row.server_from_loss or 0.0 for row in met),
    )


def _rate(loss: float | None) -> float:
    return loss if loss is not None and loss <= _HOPELESS else 0.0


def _decade(loss: float | None) -> int:
    return 0 if not loss else max(1, 4 + round(math.log10(loss)))


def _latency(measured: float | None, change: Variant) -> int:
    """One way on a host's side, as the variant has it."""
    if change.rtt_ms is not None:
        # Half of the round trip on each side, and half of that each way.
        return round(change.rtt_ms * 1e6 / 4)
    return round((measured or 0) * change.rtt)


def _link(
    row: HostRow, others: Sequence[HostRow], draw: random.Random
) -> tuple[float | None, float | None, float | None]:
    """A host's latency, and the rates of its link toward the target link and from it.

    What is not known of it is that of another host; a rate that hardly any host is known by is no
    rate of others.
    """

    def known(value: Callable[[HostRow], float | None], least: int) -> float | None:
        if (own := value(row)) is not None:
            return own
        found = [found for other in others if (found := value(other)) is not None]
        many = len(found) >= least or 4 * len(found) >= len(others)
        return draw.choice(found) if found and many else None

    return (
        known(lambda host: host.latency_ns, 1),
        known(_toward, LEAST_RATES),
        known(lambda host: host.from_bits_per_second, LEAST_RATES),
    )


def _toward(host: HostRow) -> float | None:
    """The capacity that packet pairs show, and no less than the link was seen to carry.

    Without enough pairs, what it was seen to carry.
    """
    return (
        max(host.toward_bits_per_second or 0.0, host.toward_carried_bits_per_second or 0.0) or None
    )
