"""The packets of a capture in the order in which trustbed analyses them.

By timestamp within 10 ms; a packet that is more than 10 ms older than the newest seen marks a
backward step of the clock, after which a new epoch begins and nothing is sorted across. Also
decides which packets trustbed measures at all: the outermost TCP packet, with `inner` the
innermost.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from validation.packets import RST, SYN, Packet, Sighting, sight
from validation.records import Record

BUFFER_NS = 10_000_000
TUNNELS = ("ip", "gre", "vxlan", "geneve")
FRAGMENT_LIFETIME_NS = 30 * 10**9


@dataclass(frozen=True, slots=True)
class Arrival:
    """A packet as trustbed takes it.

    `later_fragment`: it only carries on the payload of an earlier packet.
    """

    packet: Packet
    epoch: int
    later_fragment: bool = False


@dataclass(slots=True)
class Capture:
    """Everything the oracle knows of a capture.

    All TCP packets in file order, and trustbed's in its own order.
    """

    packets: list[Packet]
    arrivals: list[Arrival]
    foreign: dict[int, list[str]]


def read(records: Iterable[Record], *, inner: bool = False) -> Capture:
    """Reads a whole capture."""
    packets: list[Packet] = []
    measured: list[tuple[int, Packet | None, bool]] = []
    foreign: dict[int, list[str]] = {}
    fragments: dict[str, tuple[int, Packet]] = {}
    for record in records:
        seen = sight(record)
        packets.extend(seen.packets)
        taken = _measured(record, seen, fragments, inner=inner)
        if taken is not None:
            measured.append((record.time_ns, *taken))
        if seen.notes:
            foreign[record.frame] = seen.notes
    arrivals = [
        Arrival(p, epoch, later) for _, p, later, epoch in _ordered(measured) if p is not None
    ]
    return Capture(packets, arrivals, foreign)


def _measured(
    record: Record, seen: Sighting, fragments: dict[str, tuple[int, Packet]], *, inner: bool
) -> tuple[Packet | None, bool] | None:
    for packet in seen.packets:
        tunnelled = any(layer in TUNNELS for layer in packet.wrapping)
        if packet.payload < 0 or (tunnelled and not inner) or "fddi" in packet.wrapping:
            return None
        if packet.fragment:
            fragments[f"{packet.source}:{packet.destination}:6:{packet.ip_id}"] = (
                record.time_ns,
                packet,
            )
        return packet, False
    for note in seen.notes:
        kind, _, rest = note.partition(":")
        if kind == "udp":
            return None, False
        if kind == "later_fragment" and rest.rpartition(":")[0] in fragments:
            length, position = map(int, rest.rpartition(":")[2].split("@"))
            when, first = fragments[rest.rpartition(":")[0]]
            if abs(record.time_ns - when) <= FRAGMENT_LIFETIME_NS:
                return _continuation(first, record, length, position), True
    return None


def _continuation(first: Packet, record: Record, length: int, position: int) -> Packet:
    """The number of its first byte follows from the first fragment's, a SYN's or RST's aside."""
    known = not first.has(SYN | RST)
    return Packet(
        record.frame,
        record.time_ns,
        first.source,
        first.source_port,
        first.destination,
        first.destination_port,
        (first.seq + position - first.tcp_header) & 0xFFFFFFFF if known else 0,
        0,
        0,
        0,
        length,
        ip_id=first.ip_id,
        fragment=True,
        wrapping=first.wrapping,
        tcp_header=0 if known else -1,
    )


def _ordered(
    items: list[tuple[int, Packet | None, bool]],
) -> Iterator[tuple[int, Packet | None, bool, int]]:
    """A stable sort by time within each epoch."""
    epoch, newest = 0, None
    current: list[tuple[int, Packet | None, bool]] = []
    for item in items:
        if newest is not None and newest - item[0] > BUFFER_NS:
            yield from ((*each, epoch) for each in sorted(current, key=lambda each: each[0]))
            current, newest, epoch = [], None, epoch + 1
        newest = item[0] if newest is None else max(newest, item[0])
        current.append(item)
    yield from ((*each, epoch) for each in sorted(current, key=lambda each: each[0]))
