"""Why tcptrace counts a packet otherwise than trustbed.

Named situations, each a predicate over packets.

A reason also bounds, per field, by how much tcptrace's total may differ through one packet
(tcptrace − trustbed). A packet whose difference lies outside the bounds of all reasons that hold
for it stays unexplained.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from validation.arrivals import TUNNELS
from validation.case import PacketCase, forward, overlap
from validation.finding import sentence
from validation.packets import ACK, FIN, RST, SYN, Packet

Bounds = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class CountReason:
    """A situation in which tcptrace counts a packet otherwise."""

    name: str
    meaning: str
    holds: Callable[[PacketCase], bool]
    bounds: Callable[[PacketCase], Bounds]


def not_counted(case: PacketCase) -> Bounds:
    """Nothing of the packet counts for tcptrace."""
    length = case.packet.payload
    return {
        "packets": (-1, -1),
        "payload_bytes": (-length, 0),
        "unique_bytes": (-length, 0),
        "retransmitted_packets": (-1, 0),
        "retransmitted_bytes": (-length, 0),
    }


def analysed(case: PacketCase) -> Bounds:
    """Only for tcptrace is the packet more than a packet."""
    length = case.packet.payload
    return {
        "payload_bytes": (length, length),
        "unique_bytes": (0, length),
        "retransmitted_packets": (0, 1),
        "retransmitted_bytes": (0, length + case.packet.has(SYN) + case.packet.has(FIN)),
    }


def taken_for_probe(case: PacketCase) -> Bounds:
    """For tcptrace the payload is neither new nor sent again."""
    length = case.packet.payload
    return {
        "unique_bytes": (-length, 0),
        "retransmitted_packets": (-1, 0),
        "retransmitted_bytes": (-length, 0),
    }


def fewer_seen(case: PacketCase) -> Bounds:
    """What was sent again for trustbed may be new for tcptrace."""
    length = case.packet.payload
    return {
        "unique_bytes": (0, length),
        "retransmitted_packets": (-1, 0),
        "retransmitted_bytes": (-length, 0),
    }


def fixed(**bounds: tuple[int, int]) -> Callable[[PacketCase], Bounds]:
    """The same bounds for every packet."""
    return lambda _case: bounds


# What tcptrace opens


def under_labels(case: PacketCase) -> bool:
    """The IP header follows MPLS, PPPoE or LLC headers, which tcptrace does not decode."""
    return any(layer in ("mpls", "pppoe", "llc") for layer in case.packet.wrapping)


def in_tunnel(case: PacketCase) -> bool:
    """The packet travels inside another IP packet, which tcptrace does not open."""
    return any(layer in TUNNELS for layer in case.packet.wrapping)


def under_two_tags(case: PacketCase) -> bool:
    """The packet has more than one VLAN tag; tcptrace opens one."""
    return case.packet.wrapping.count("vlan") > 1


def no_ip_length(case: PacketCase) -> bool:
    """The IP header states length 0 (segmentation offload).

    For tcptrace the packet ends before its TCP header.
    """
    return case.packet.ip_length_zero


def opened(packet: Packet, case: PacketCase) -> bool:
    """Whether tcptrace looks into a packet."""
    other = PacketCase(packet, case.history)
    return not any(
        holds(other) for holds in (under_labels, in_tunnel, under_two_tags, no_ip_length)
    )


def seen_unopened(case: PacketCase) -> bool:
    """Its bytes were sent before, but in a packet that tcptrace does not open."""
    start, end = case.packet.seq, (case.packet.seq + case.packet.payload) & 0xFFFFFFFF
    return any(
        overlap(other, start, end) and not opened(other, case)
        for other in case.history.sent_before(case.packet)
    )


def later_fragment(case: PacketCase) -> bool:
    """A fragment without TCP header: tcptrace counts only the first."""
    return case.packet.fragment and case.packet.flags == 0


# What is analysed


def after_reset(case: PacketCase) -> bool:
    """After a RST: trustbed counts the packet and does not analyse it."""
    return case.packet.frame in case.history.connection.after_reset


def reset_text(case: PacketCase) -> bool:
    """Text in a RST (RFC 1122, 4.2.2.12): no data for trustbed."""
    return case.packet.has(RST) and case.packet.payload > 0


def keep_alive(case: PacketCase) -> bool:
    """One byte with the highest number sent (a FIN has one).

    Neither data nor retransmission for trustbed, both for tcptrace.
    """
    packet, highest = case.packet, None
    for other in case.history.sent_before(packet):
        end = (other.seq + other.payload + other.has(SYN) + other.has(FIN)) & 0xFFFFFFFF
        highest = end if highest is None or forward(end, highest) > 0 else highest
    return (
        packet.payload == 1
        and not packet.has(SYN | FIN | RST)
        and highest is not None
        and forward(packet.seq, highest) == -1
    )


def peer_window(case: PacketCase) -> int | None:
    """Window field of the peer's last packet, RSTs apart.

    None when that packet has neither ACK nor SYN, or there is none.
    """
    for other in case.history.received_before(case.packet):
        if not other.has(RST):
            return other.window if other.has(ACK | SYN) else None
    return None


def window_probe(case: PacketCase) -> bool:
    """One byte into a closed window.

    No data for trustbed; for tcptrace a byte of data that is neither new nor sent again.
    """
    return case.packet.payload == 1 and peer_window(case) == 0


def closed_window(case: PacketCase) -> bool:
    """Data while the peer advertises a window of 0: tcptrace takes all of it for window probes."""
    return case.packet.payload > 1 and peer_window(case) == 0


def peer_without_window(case: PacketCase) -> bool:
    """The peer has sent packets, but its last one (RSTs apart) has neither ACK nor SYN.

    Tcptrace takes its window for 0.
    """
    return peer_window(case) is None and any(
        True for _ in case.history.received_before(case.packet)
    )


# SYN and FIN


def syn_again(case: PacketCase) -> bool:
    """A repeated SYN: trustbed counts it apart, tcptrace as one byte sent again."""
    packet = case.packet
    return packet.has(SYN) and any(
        other.has(SYN) and other.seq == packet.seq for other in case.history.sent_before(packet)
    )


def fin_number(packet: Packet) -> int:
    """The sequence number that a FIN takes."""
    return (packet.seq + packet.payload) & 0xFFFFFFFF


def fin_again(case: PacketCase) -> bool:
    """A FIN whose number was sent before, as a FIN or as a byte.

    Trustbed counts it apart, tcptrace as one byte sent again.
    """
    packet, number = case.packet, fin_number(case.packet)
    return packet.has(FIN) and any(
        (other.has(FIN) and fin_number(other) == number)
        or overlap(other, number, (number + 1) & 0xFFFFFFFF)
        for other in case.history.sent_before(packet)
    )


def data_on_fin(case: PacketCase) -> bool:
    """A byte with the number of a FIN sent before: seen before for tcptrace, new for trustbed."""
    packet = case.packet
    return any(
        other.has(FIN) and overlap(packet, fin_number(other), (fin_number(other) + 1) & 0xFFFFFFFF)
        for other in case.history.sent_before(packet)
    )


def _reason(
    holds: Callable[[PacketCase], bool], bounds: Callable[[PacketCase], Bounds]
) -> CountReason:
    return CountReason(holds.__name__, sentence(holds), holds, bounds)


COUNTS: tuple[CountReason, ...] = (
    _reason(under_labels, not_counted),
    _reason(under_two_tags, not_counted),
    _reason(no_ip_length, not_counted),
    _reason(later_fragment, not_counted),
    _reason(after_reset, analysed),
    _reason(reset_text, analysed),
    _reason(
        keep_alive,
        fixed(
            payload_bytes=(1, 1),
            unique_bytes=(0, 1),
            retransmitted_packets=(0, 1),
            retransmitted_bytes=(0, 1),
        ),
    ),
    _reason(window_probe, fixed(payload_bytes=(1, 1), unique_bytes=(-1, 0))),
    _reason(closed_window, taken_for_probe),
    _reason(peer_without_window, taken_for_probe),
    _reason(syn_again, fixed(retransmitted_packets=(1, 1), retransmitted_bytes=(1, 1))),
    _reason(fin_again, fixed(retransmitted_packets=(0, 1), retransmitted_bytes=(1, 1))),
    _reason(
        data_on_fin,
        fixed(retransmitted_packets=(0, 1), retransmitted_bytes=(0, 1), unique_bytes=(-1, 0)),
    ),
    _reason(seen_unopened, fewer_seen),
)
