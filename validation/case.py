"""What a reason's predicate may look at.

One packet, one round-trip sample or one frame's flags, in its connection.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from validation.connections import Connection
from validation.packets import ACK, Packet
from validation.stream import Stream
from validation.tshark_rules import Situation


def forward(a: int, b: int) -> int:
    """Signed distance from sequence number `b` to `a`, modulo 2³²."""
    distance = (a - b) & 0xFFFFFFFF
    return distance - (1 << 32) if distance >= 1 << 31 else distance


def overlap(packet: Packet, start: int, end: int) -> int:
    """How many bytes of a packet's payload lie in [start, end) of the sequence space."""
    left = forward(packet.seq, start)
    return max(0, min(left + packet.payload, forward(end, start)) - max(left, 0))


@dataclass(slots=True)
class History:
    """The packets of one connection in file order, as the tools meet them."""

    connection: Connection
    packets: list[Packet]
    indices: dict[int, int]

    @classmethod
    def of(cls, connection: Connection) -> "History":
        """The history of a connection."""
        packets = sorted(connection.packets, key=lambda packet: packet.frame)
        return cls(
            connection, packets, {packet.frame: index for index, packet in enumerate(packets)}
        )

    def packet(self, frame: int) -> Packet:
        """The packet of that number."""
        return self.packets[self.indices[frame]]

    def holds(self, frame: int) -> bool:
        """Whether the connection has that packet."""
        return frame in self.indices

    def before(self, packet: Packet) -> Iterator[Packet]:
        """Earlier packets of the connection, the latest first."""
        for index in range(self.indices[packet.frame] - 1, -1, -1):
            yield self.packets[index]

    def sent_before(self, packet: Packet) -> Iterator[Packet]:
        """Earlier packets of the same sender, the latest first."""
        return (other for other in self.before(packet) if other.sender == packet.sender)

    def received_before(self, packet: Packet) -> Iterator[Packet]:
        """Earlier packets of the peer, the latest first."""
        return (other for other in self.before(packet) if other.sender != packet.sender)

    def between(self, first: Packet, last: Packet) -> list[Packet]:
        """Packets after `first` up to and including `last`."""
        return self.packets[self.indices[first.frame] + 1 : self.indices[last.frame] + 1]

    def highest_ack_before(self, packet: Packet, of: tuple[str, int]) -> int | None:
        """The highest acknowledgement number that an endpoint sent before a packet."""
        highest: int | None = None
        for other in self.before(packet):
            if (
                other.sender == of
                and other.has(ACK)
                and (highest is None or forward(other.ack, highest) > 0)
            ):
                highest = other.ack
        return highest


@dataclass(frozen=True, slots=True)
class PacketCase:
    """A packet that tcptrace counts otherwise than trustbed."""

    packet: Packet
    history: History

    @property
    def stream(self) -> Stream:
        """The packet's direction by trustbed's definitions."""
        return self.history.connection.streams[self.packet.sender]


@dataclass(frozen=True, slots=True)
class SampleCase:
    """A round-trip time that only one side takes: from `segment` to `ack`."""

    segment: Packet
    ack: Packet
    by_tool: bool
    history: History

    @property
    def stream(self) -> Stream:
        """The direction of the data by trustbed's definitions."""
        return self.history.connection.streams[self.segment.sender]


@dataclass(frozen=True, slots=True)
class FlagCase:
    """A frame whose flags differ: `expected` by trustbed's classes, `observed` from tshark."""

    packet: Packet
    expected: frozenset[str]
    observed: frozenset[str]
    situation: Situation
    history: History

    @property
    def stream(self) -> Stream:
        """The packet's direction by trustbed's definitions."""
        return self.history.connection.streams[self.packet.sender]

    @property
    def peer(self) -> Stream:
        """… and about the opposite direction."""
        return self.history.connection.streams[self.packet.receiver]


@dataclass(frozen=True, slots=True)
class LengthCase:
    """A packet for which tshark counts `delta` more packets or bytes (`field`) than trustbed."""

    packet: Packet
    field: str
    delta: int
    history: History
