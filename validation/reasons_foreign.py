"""Why trustbed measures no connection where a tool sees TCP: named situations, each a predicate over a packet."""

from collections.abc import Callable
from dataclasses import dataclass

from validation.arrivals import TUNNELS
from validation.packets import Packet


@dataclass(frozen=True, slots=True)
class ForeignReason:
    """A situation in which trustbed does not measure a packet, and counts it under a reason for skipping."""

    name: str
    meaning: str
    holds: Callable[[Packet], bool]


def in_tunnel(packet: Packet) -> bool:
    """Inside another IP packet: measured with --inner only."""
    return any(layer in TUNNELS for layer in packet.wrapping)


def foreign_link(packet: Packet) -> bool:
    """FDDI: trustbed does not read this link type."""
    return "fddi" in packet.wrapping


def impossible_header(packet: Packet) -> bool:
    """The TCP header is longer than the packet: trustbed counts it as a bad header."""
    return packet.payload < 0


FOREIGN: tuple[ForeignReason, ...] = (
    ForeignReason("in_tunnel", in_tunnel.__doc__ or "", in_tunnel),
    ForeignReason("foreign_link", foreign_link.__doc__ or "", foreign_link),
    ForeignReason("impossible_header", impossible_header.__doc__ or "", impossible_header),
)
