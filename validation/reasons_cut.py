"""Why a tool cuts connections elsewhere than trustbed.

Named situations, each a predicate over packets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from validation.connections import IDLE_NS, LINGER_NS, SILENT_NS, Connection
from validation.finding import sentence
from validation.packets import ACK, SYN
from validation.tcptrace_rules import IDLE_SECONDS


@dataclass(frozen=True, slots=True)
class CutCase:
    """A connection of trustbed, its siblings, and how the tool divides them.

    Siblings share the endpoints, in order of time, and include the connection itself.
    `split`: the tool has several instances where trustbed has this one. `joined`: the tool's
    instance also holds packets of siblings.
    """

    connection: Connection
    siblings: list[Connection]
    split: bool
    joined: bool

    @property
    def seams(self) -> list[tuple[Connection, Connection]]:
        """The pairs of neighbours that this connection is part of: trustbed cuts between them."""
        return [
            (before, after)
            for before, after in pairwise(self.siblings)
            if self.connection in (before, after)
        ]

    @property
    def gaps_ns(self) -> list[int]:
        """Times between neighbouring packets of this connection."""
        packets = sorted(self.connection.packets, key=lambda packet: packet.frame)
        return [later.time_ns - early.time_ns for early, later in pairwise(packets)]


@dataclass(frozen=True, slots=True)
class CutReason:
    """A situation in which a tool cuts otherwise."""

    name: str
    tool: str
    meaning: str
    holds: Callable[[CutCase], bool]


def idle_4_minutes(case: CutCase) -> bool:
    """Four minutes of silence.

    Tcptrace begins anew; trustbed after ten, or after two with a SYN.
    """
    return case.split and any(gap > IDLE_SECONDS * 10**9 for gap in case.gaps_ns)


def late_packets(case: CutCase) -> bool:
    """Packets came more than 10 s after a close (RST, or both FINs).

    A new instance for trustbed, a part of the old one for the tool.
    """
    return case.joined and any(
        before.over_ns is not None and after.packets[0].time_ns - before.over_ns >= LINGER_NS
        for before, after in case.seams
    )


def new_syn(case: CutCase) -> bool:
    """A SYN with another number after a close, a silence of two minutes, or no answer.

    A new instance for trustbed, not for the tool.
    """
    return case.joined and any(
        after.packets[0].has(SYN)
        and (
            before.is_over
            or before.syn_ack_ns is None
            or after.packets[0].time_ns - before.last_ns >= SILENT_NS
        )
        for before, after in case.seams
    )


def idle_10_minutes(case: CutCase) -> bool:
    """Ten minutes of silence end an instance of trustbed; tshark never ends one for silence."""
    return case.joined and any(
        after.packets[0].time_ns - before.last_ns >= IDLE_NS for before, after in case.seams
    )


def stray_syn(case: CutCase) -> bool:
    """A SYN with another number inside a running connection.

    A stray one for trustbed, a new stream for the tool.
    """
    seen: set[tuple[tuple[str, int], int]] = set()
    for packet in sorted(case.connection.packets, key=lambda packet: packet.frame):
        if packet.has(SYN) and not packet.has(ACK):
            seen.add((packet.sender, packet.seq))
    return case.split and (
        len({number for _, number in seen}) > 1 or (case.connection.midstream and bool(seen))
    )


CUTS: tuple[CutReason, ...] = (
    CutReason("idle_4_minutes", "tcptrace", sentence(idle_4_minutes), idle_4_minutes),
    CutReason("late_packets", "both", sentence(late_packets), late_packets),
    CutReason("new_syn", "both", sentence(new_syn), new_syn),
    CutReason("idle_10_minutes", "tshark", sentence(idle_10_minutes), idle_10_minutes),
    CutReason("stray_syn", "both", sentence(stray_syn), stray_syn),
)
