"""What the generator draws from: the distributions of a model, varied and scaled, and its hosts.

The lists are empirical distributions: every value as often as it was seen. The agent deals them
like cards (crates/traffic, ``structural``).
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from trustbed.traffic import rows
from trustbed.traffic.extraction import OTHER_PORTS
from trustbed.traffic.hosts import HostPath, Hosts
from trustbed.traffic.model import SECOND, UDP, ClassRule, Model, ModelError
from trustbed.traffic.recipe import Variant, variant
from trustbed.traffic.rows import ConnectionRow, Member, Side, UnitRow

MOST_HOSTS = 1000
"""Hosts of one side that are emulated unless more are asked for; of more, a sample."""
FULL, HEADERS = 1500, 52
"""Bytes of a full packet, and of its headers (IPv4, TCP with timestamps)."""
LEAST_PAST_NS = 600_000_000_000
_MOST_BEFORE = 300_000
"""Connections that are followed through that time."""
_LONGEST_NS = 1 << 61
"""Between two sessions."""
_OPENING = 4
"""Each side's packets without data that open and close a connection."""
_PARTS: tuple[Side, Side] = ("client", "server")

Draw: TypeAlias = Literal["independent", "connections", "sessions", "replay"]
"""What is drawn as a whole.

``replay``: sessions in the order and at the distances of the capture, once around.
"""
Document: TypeAlias = dict[str, Any]
"""What the agent reads of a class, or of a part of one (crates/agent, ``traffic``)."""
DRAWS: tuple[Draw, ...] = ("independent", "connections", "sessions", "replay")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Classes for the generator, and the hosts of both sides in the order of their numbers.

    ``past_ns`` is how long the users have to have been there when the start comes, so that as many
    are in the midst of a session as always.
    """

    classes: Sequence[Document]
    clients: Sequence[HostPath]
    servers: Sequence[HostPath]
    past_ns: int = LEAST_PAST_NS

    def document(self) -> Document:
        """What the agent reads."""
        return {"classes": list(self.classes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a model offers in the mean, in bit/s and packets/s of IP packets."""

    client: float
    """From clients to servers."""
    server: float
    """From servers to clients."""
    client_packets: float
    server_packets: float

    @property
    def larger(self) -> float:
        """The direction with more."""
        return max(self.client, self.server)

    def times(self, sessions: float) -> Load:
        """That of so many times the sessions."""
        return Load(
            client=self.client * sessions,
            server=self.server * sessions,
            client_packets=self.client_packets * sessions,
            server_packets=self.server_packets * sessions,
        )


def load_of(model: Model) -> Load:
    """The mean load of a model with its variant.

    Payload, the headers of its packets, an acknowledgement for every two of them, and what opens
    and closes connections. What is lost and sent again is not in it.
    """
    import pyarrow.compute as pc

    change = variant(model)
    factors = {"client": change.requests, "server": change.responses}
    datagrams = pc.is_valid(model.units["packets"])
    sums, counts = dict.fromkeys(_PARTS, 0.0), dict.fromkeys(_PARTS, 0.0)
    for side, other in (_PARTS, _PARTS[::-1]):
        sent = pc.fill_null(model.units[f"{side}_bytes"], 0)
        sent = pc.multiply(pc.cast(sent, "float64"), factors[side])
        packets = pc.if_else(
            datagrams,
            pc.if_else(pc.greater(sent, 0), pc.fill_null(model.units["packets"], 0), 0),
            pc.ceil(pc.divide(sent, float(FULL - HEADERS))),
        )
        headers = pc.multiply(packets, pc.if_else(datagrams, 28.0, float(HEADERS)))
        sums[side] += _total(sent) + _total(headers)
        counts[side] += _total(packets)
        # A unit is answered by an acknowledgement at least, unless what follows carries it.
        answers = _total(pc.if_else(datagrams, 0.0, pc.floor(pc.divide(packets, 2.0))))
        sums[other] += HEADERS * answers
        counts[other] += answers
    streams = pc.sum(pc.not_equal(model.connections["kind"], "datagrams")).as_py() or 0
    seconds = model.header.duration_ns / SECOND
    opening = _OPENING * streams
    client, server = ((sums[side] + HEADERS * opening) * 8 / seconds for side in _PARTS)
    found = Load(
        client=client,
        server=server,
        client_packets=(counts["client"] + opening) / seconds,
        server_packets=(counts["server"] + opening) / seconds,
    )
    return found.times(change.sessions)


def _total(values: Any) -> float:  # noqa: ANN401 a column
    import pyarrow.compute as pc

    return float(pc.sum(values).as_py() or 0.0)


def offer(
    model: Model,
    *,
    sessions: float = 1.0,
    draw: Draw = "independent",
    most_hosts: int = MOST_HOSTS,
    seed: int = 1,
) -> Offer:
    """The distributions of a model, varied by its steps; ``sessions`` more sessions still.

    ``draw``: sizes and times one by one (``independent``, as Swing does), whole ``connections``,
    so that what belongs together in one stays together, whole ``sessions``, or the sessions as
    they came (``replay``). Concurrent connections and flows of datagrams are always drawn whole.

    Raises:
        ModelError: Nothing is left of it.
    """
    change = variant(model)
    classes = rows.members(model)
    connections = [member.row for members in classes.values() for member in members]
    hosts = Hosts(
        model,
        connections,
        change,
        most_hosts,
        random.Random(seed),
        together=draw != "independent",
    )
    found = [
        _Class(rule, members, change, hosts, model.header.duration_ns).document(
            scale=change.sessions * sessions, draw=draw
        )
        for rule, members in classes.items()
    ]
    if not found:
        raise ModelError(f"{model.name}: no class has a connection", "extract the model again")
    scale = change.sessions * sessions
    longest = max(gap for one in found for gap in one["session_gap_ns"])
    settled = longest + _longest_session(connections) * max(1.0, change.think)
    followed = _MOST_BEFORE * model.header.duration_ns / (len(connections) * scale)
    return Offer(
        classes=found,
        clients=hosts.clients,
        servers=hosts.servers,
        past_ns=max(LEAST_PAST_NS, round(min(settled, followed, _LONGEST_NS))),
    )


def _longest_session(connections: Sequence[ConnectionRow]) -> int:
    """Nanoseconds from the first connection of a session to the end of its last one."""
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for row in connections:
        key, end = (row.class_name, row.session), row.start_ns + row.duration_ns
        first, last = spans.get(key, (row.start_ns, end))
        spans[key] = (min(first, row.start_ns), max(last, end))
    return max(last - first for first, last in spans.values())


class _Class:
    """The distributions of one class."""

    def __init__(
        self,
        rule: ClassRule,
        members: Sequence[Member],
        change: Variant,
        hosts: Hosts,
        duration_ns: int,
    ) -> None:
        self._rule = rule
        self._members = members
        self._rows = [member.row for member in members]
        self._change = change
        self._hosts = hosts
        self._duration_ns = duration_ns

    def document(self, *, scale: float, draw: Draw) -> Document:
        """The class as the agent takes it."""
        if draw in ("sessions", "replay"):
            return self._whole_sessions(scale, in_order=draw == "replay")
        whole, pairs = [], []
        for member in self._members:
            if member.row.kind == "pairs" and draw == "independent":
                pairs.append(member.units)
            else:
                whole.append(self._whole(member))
        flat = [unit for units in pairs for unit in units]
        think = self._change.think
        return {
            **self._head(),
            **self._sessions(scale),
            "servers": [self._hosts.server(row) for row in self._rows],
            "packet_bytes": [_packets(row) for row in self._rows],
            "pairs": [len(units) for units in pairs],
            "request_bytes": [self._request(unit) for unit in flat],
            "response_bytes": [self._response(unit) for unit in flat],
            "user_think_ns": [
                round(unit.client_wait_ns * think)
                for unit in flat
                if unit.client_wait_ns is not None
            ],
            "server_think_ns": [
                unit.server_wait_ns for unit in flat if unit.server_wait_ns is not None
            ],
            "whole": whole,
        }

    def _head(self) -> Document:
        port = self._rule.ports[0] if self._rule.ports else OTHER_PORTS[self._rule.protocol]
        return {
            "name": self._rule.name,
            "port": port,
            "datagrams": self._rule.protocol == UDP,
        }

    def _whole_sessions(self, scale: float, *, in_order: bool) -> Document:
        """The class as sessions that are drawn whole."""
        think = self._change.think
        found: dict[int, Document] = {}
        starts: dict[int, int] = {}
        for member in self._members:  # by session, exchange and start
            row = member.row
            session = found.setdefault(
                row.session, {"client": self._hosts.client(row), "exchanges": []}
            )
            starts.setdefault(row.session, row.start_ns)
            exchanges = session["exchanges"]
            if row.start_gap_ns is None:
                gap = round((row.exchange_gap_ns or 0) * think)
                exchanges.append({"gap_ns": gap, "connections": []})
            exchanges[-1]["connections"].append(
                {
                    "gap_ns": row.start_gap_ns or 0,
                    "server": self._hosts.server(row),
                    "packet_bytes": _packets(row),
                    "content": self._whole(member),
                }
            )
        order = sorted(starts, key=lambda session: starts[session])
        gaps = self._gaps(sorted(starts.values()))
        return {
            **self._head(),
            "session_gap_ns": [_between(gap, scale) for gap in gaps],
            "exchanges": [],
            "connections": [],
            "clients": [],
            "servers": sorted({self._hosts.server(row) for row in self._rows}),
            "sessions": [found[session] for session in order],
            "in_order": in_order,
            "first_session_ns": round(starts[order[0]] / scale) if in_order else 0,
        }

    def _gaps(self, order: Sequence[int]) -> list[int]:
        """Between the starts of sessions.

        Round the end of the capture to its beginning: as many sessions a second as there were.
        """
        gaps = [later - earlier for earlier, later in itertools.pairwise(order)]
        return [*gaps, self._duration_ns - (order[-1] - order[0])]

    def _sessions(self, scale: float) -> Document:
        """Sessions, their exchanges, and the connections of these."""
        starts: dict[int, int] = {}
        clients: dict[int, int] = {}
        exchanges: dict[tuple[int, int], int] = defaultdict(int)
        for row in self._rows:
            starts[row.session] = min(starts.get(row.session, row.start_ns), row.start_ns)
            clients[row.session] = self._hosts.client(row)
            exchanges[row.session, row.exchange] += 1
        gaps = self._gaps(sorted(starts.values()))
        of_session: dict[int, int] = defaultdict(int)
        for session, _ in exchanges:
            of_session[session] += 1
        think = self._change.think
        return {
            "session_gap_ns": [_between(gap, scale) for gap in gaps],
            "exchanges": list(of_session.values()),
            "exchange_gap_ns": [
                round(row.exchange_gap_ns * think)
                for row in self._rows
                if row.exchange_gap_ns is not None
            ],
            "connections": list(exchanges.values()),
            "connection_gap_ns": [
                row.start_gap_ns for row in self._rows if row.start_gap_ns is not None
            ],
            "clients": list(clients.values()),
        }

    def _request(self, unit: UnitRow) -> int:
        return _scaled(unit.client_bytes, self._change.requests)

    def _response(self, unit: UnitRow) -> int:
        return _scaled(unit.server_bytes, self._change.responses)

    def _whole(self, member: Member) -> Document:
        """A connection that is drawn whole."""
        windows = {"window_bytes": _windows(member.row)}
        think = self._change.think
        if member.row.kind == "pairs":
            return {
                **windows,
                "pairs": [
                    [
                        self._request(unit),
                        self._response(unit),
                        round((unit.client_wait_ns or 0) * think),
                        unit.server_wait_ns or 0,
                    ]
                    for unit in member.units
                ],
            }
        client = [unit for unit in member.units if unit.side == "client"]
        server = [unit for unit in member.units if unit.side == "server"]
        if member.row.kind == "streams":
            return {
                **windows,
                "streams": {
                    "client": [
                        [round((unit.client_wait_ns or 0) * think), self._request(unit)]
                        for unit in client
                    ],
                    "server": [[unit.server_wait_ns or 0, self._response(unit)] for unit in server],
                },
            }
        return {
            "datagrams": {
                "client": _datagrams(client, self._request),
                "server": _datagrams(server, self._response),
            }
        }


def _datagrams(units: Sequence[UnitRow], size: Callable[[UnitRow], int]) -> list[int]:
    """A side's datagrams: how many, their bytes together, and the time between two."""
    return [units[0].packets or 0, size(units[0]), units[0].gap_ns or 0] if units else [0, 0, 0]


def _packets(row: ConnectionRow) -> list[int]:
    """The largest IP packets of a connection's two sides; 0 where there was none."""
    return [row.client_packet_bytes or 0, row.server_packet_bytes or 0]


def _windows(row: ConnectionRow) -> list[int]:
    """The fixed windows of a connection's two ends; 0 where there was none."""
    return [row.client_window_bytes or 0, row.server_window_bytes or 0]


def _scaled(count: int | None, factor: float) -> int:
    """A size × a factor; what was something stays something."""
    if not count:
        return 0
    return max(1, round(count * factor))


def _between(gap_ns: int, scale: float) -> int:
    """A gap between sessions, of so many times the sessions."""
    return max(1, round(min(gap_ns / scale, _LONGEST_NS)))
