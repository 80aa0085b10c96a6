"""Why trustbed measures no connection where a tool sees TCP.

Named situations, each a predicate over a packet.
"""

from collections.abc import Callable
from dataclasses import dataclass

from validation.arrivals import TUNNELS
from validation.finding import sentence
from validation.packets import Packet


@dataclass(frozen=True, slots=True)
class ForeignReason:
    """A situation in which trustbed skips a packet and counts it under a reason."""

    name: str
    meaning: str
    holds: Callable[[Packet], bool]


def in_tunnel(packet: Packet) -> bool:
    """Inside another IP packet: measured with --inner only."""
    return any(layer in TUNNELS for layer in packet.wrapping)


def impossible_header(packet: Packet) -> bool:
    """The TCP header is longer than the packet: trustbed counts it as a bad header."""
    return packet.payload < 0


@dataclass(frozen=True, slots=True)
class NoteReason:
    """A situation in which tshark dissects a TCP header that is no packet of a connection."""

    name: str
    meaning: str
    holds: Callable[[list[str]], bool]


def quoted_by_icmp(notes: list[str]) -> bool:
    """The header is quoted in an ICMP error.

    Tshark gives it a stream of its own, or counts it into the connection's.
    """
    return bool({"protocol:1", "protocol:58"} & set(notes))


def cut_below_header(notes: list[str]) -> bool:
    """Less than the 20 fixed bytes of the TCP header are there."""
    return "cut" in notes


def reassembled(notes: list[str]) -> bool:
    """A later fragment: tshark puts the datagram together there."""
    return any(note.startswith("later_fragment") for note in notes)


NOTES: tuple[NoteReason, ...] = (
    NoteReason("quoted_by_icmp", sentence(quoted_by_icmp), quoted_by_icmp),
    NoteReason("cut_below_header", sentence(cut_below_header), cut_below_header),
    NoteReason("reassembled", sentence(reassembled), reassembled),
)

FOREIGN: tuple[ForeignReason, ...] = (
    ForeignReason("in_tunnel", sentence(in_tunnel), in_tunnel),
    ForeignReason("impossible_header", sentence(impossible_header), impossible_header),
)
