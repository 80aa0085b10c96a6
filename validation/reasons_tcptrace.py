"""Why a total of tcptrace may differ from trustbed's: named situations, each a predicate over packets.

A `CountReason` also bounds, per packet and field, by how much tcptrace's total may differ (tcptrace − trustbed). A packet whose
difference lies outside the bounds of the reasons that hold for it stays unexplained. A `SampleReason` says which
round-trip times only one of the two takes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from validation.arrivals import TUNNELS
from validation.case import PacketCase, SampleCase, forward, overlap
from validation.packets import ACK, FIN, RST, SYN, Packet
from validation.tcptrace_rules import IDLE_SECONDS, QUADRANT

Bounds = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class CountReason:
    """A situation in which tcptrace counts a packet otherwise."""

    name: str
    meaning: str
    holds: Callable[[PacketCase], bool]
    bounds: Callable[[PacketCase], Bounds]


@dataclass(frozen=True, slots=True)
class SampleReason:
    """A situation in which only tcptrace (`by_tool`) or only trustbed takes a round-trip time."""

    name: str
    meaning: str
    by_tool: bool
    holds: Callable[[SampleCase], bool]


def _not_counted(case: PacketCase) -> Bounds:
    length = case.packet.payload
    return {
        "packets": (-1, -1),
        "payload_bytes": (-length, 0),
        "unique_bytes": (-length, 0),
        "retransmitted_packets": (-1, 0),
        "retransmitted_bytes": (-length, 0),
    }


def _all_of_it(case: PacketCase) -> Bounds:
    length = case.packet.payload
    return {
        "payload_bytes": (0, length),
        "unique_bytes": (0, length),
        "retransmitted_packets": (0, 1),
        "retransmitted_bytes": (0, length + 2),
    }


def _none_of_it(case: PacketCase) -> Bounds:
    length = case.packet.payload
    return {"unique_bytes": (-length, 0), "retransmitted_packets": (-1, 0), "retransmitted_bytes": (-length, 0)}


def _fewer_seen(case: PacketCase) -> Bounds:
    length = case.packet.payload
    return {"unique_bytes": (0, length), "retransmitted_packets": (-1, 0), "retransmitted_bytes": (-length, 0)}


def _fixed(**bounds: tuple[int, int]) -> Callable[[PacketCase], Bounds]:
    return lambda _case: bounds


def under_labels(packet: Packet) -> bool:
    """The IP header lies under MPLS labels, in a PPPoE session, or behind an LLC header: tcptrace does not look there."""
    return any(layer in ("mpls", "pppoe", "llc") for layer in packet.wrapping)


def in_tunnel(packet: Packet) -> bool:
    """The packet travels inside another IP packet."""
    return any(layer in TUNNELS for layer in packet.wrapping)


def under_two_tags(packet: Packet) -> bool:
    """Tcptrace opens one VLAN tag, not a stack of them."""
    return packet.wrapping.count("vlan") > 1


def _opened(packet: Packet) -> bool:
    return not (under_labels(packet) or under_two_tags(packet) or in_tunnel(packet) or packet.ip_length_zero)


def _seen_only_unopened(case: PacketCase) -> bool:
    """Bytes of this packet were sent before, but never in a packet that tcptrace opens."""
    start, end = case.packet.seq, (case.packet.seq + case.packet.payload) & 0xFFFFFFFF
    holders = [other for other in case.history.sent_before(case.packet) if overlap(other, start, end)]
    return bool(holders) and any(not _opened(other) for other in holders)


def _later_fragment(case: PacketCase) -> bool:
    return case.packet.fragment and case.packet.window == 0 and case.packet.flags == 0


def _after_reset(case: PacketCase) -> bool:
    return case.packet.frame in case.history.connection.after_reset


def _highest_before(case: PacketCase) -> int | None:
    highest: int | None = None
    for other in case.history.sent_before(case.packet):
        end = (other.seq + other.payload + other.has(SYN)) & 0xFFFFFFFF
        if highest is None or forward(end, highest) > 0:
            highest = end
    return highest


def keep_alive(case: PacketCase) -> bool:
    """One byte, just below the highest one sent."""
    packet, highest = case.packet, _highest_before(case)
    return packet.payload == 1 and not packet.has(SYN | FIN | RST) and highest is not None and forward(packet.seq, highest) == -1


def _peer_window(case: PacketCase) -> int | None:
    """Window field of the peer's last packet that is not a RST, None when it had none that counts for tcptrace."""
    for other in case.history.received_before(case.packet):
        if not other.has(RST):
            return other.window if other.has(ACK | SYN) else None
    return None


def window_probe(case: PacketCase) -> bool:
    """One byte into a closed window."""
    return case.packet.payload == 1 and _peer_window(case) == 0


def closed_window(case: PacketCase) -> bool:
    """Data, or a FIN, while the peer advertises a window of 0: tcptrace takes all of it for window probes."""
    return (case.packet.payload > 0 or case.packet.has(FIN)) and _peer_window(case) == 0


def peer_without_window(case: PacketCase) -> bool:
    """The peer has sent packets, but its last one (RSTs apart) has neither ACK nor SYN: tcptrace takes its window for 0."""
    return _peer_window(case) is None and any(True for _ in case.history.received_before(case.packet))


def syn_again(case: PacketCase) -> bool:
    """A SYN whose number this side has sent before."""
    packet = case.packet
    return packet.has(SYN) and any(other.has(SYN) and other.seq == packet.seq for other in case.history.sent_before(packet))


def _fin_number(packet: Packet) -> int:
    return (packet.seq + packet.payload) & 0xFFFFFFFF


def fin_again(case: PacketCase) -> bool:
    """A FIN whose number this side has sent before, as a FIN or as a byte."""
    packet = case.packet
    if not packet.has(FIN):
        return False
    number = _fin_number(packet)
    return any(
        (other.has(FIN) and _fin_number(other) == number) or overlap(other, number, (number + 1) & 0xFFFFFFFF)
        for other in case.history.sent_before(packet)
    )


def data_on_fin(case: PacketCase) -> bool:
    """A byte of this packet has the number of a FIN (or SYN) sent before."""
    packet = case.packet
    return packet.payload > 0 and any(
        (other.has(FIN) and overlap(packet, _fin_number(other), (_fin_number(other) + 1) & 0xFFFFFFFF) > 0)
        or (other.has(SYN) and overlap(packet, other.seq, (other.seq + 1) & 0xFFFFFFFF) > 0)
        for other in case.history.sent_before(packet)
    )


def idle_cut(case: PacketCase) -> bool:
    """Bytes of this packet were sent before, but only before a silence of more than four minutes."""
    packet, start = case.packet, case.packet.seq
    end, later, quiet = (start + packet.payload) & 0xFFFFFFFF, packet, False
    for other in case.history.before(packet):
        quiet |= later.time_ns - other.time_ns > IDLE_SECONDS * 10**9
        later = other
        if other.sender == packet.sender and overlap(other, start, end):
            return quiet
    return False


def _own_bytes_before(case: PacketCase) -> bool:
    start, end = case.packet.seq, (case.packet.seq + case.packet.payload) & 0xFFFFFFFF
    return any(overlap(other, start, end) for other in case.history.sent_before(case.packet))


def seen_in_older_instance(case: PacketCase) -> bool:
    """Its bytes were seen, if at all, in an older instance of trustbed that tcptrace continues."""
    return case.tool_began < case.history.packets[0].frame and not _own_bytes_before(case)


def window_of_older_instance(case: PacketCase) -> bool:
    """In this instance the peer has sent nothing but RSTs; tcptrace goes by the window of an older instance that it continues."""
    return case.tool_began < case.history.packets[0].frame and all(other.has(RST) for other in case.history.received_before(case.packet))


COUNTS: tuple[CountReason, ...] = (
    CountReason("under_labels", under_labels.__doc__ or "", lambda case: under_labels(case.packet), _not_counted),
    CountReason("under_two_tags", under_two_tags.__doc__ or "", lambda case: under_two_tags(case.packet), _not_counted),
    CountReason("in_tunnel", in_tunnel.__doc__ or "", lambda case: in_tunnel(case.packet), _not_counted),
    CountReason(
        "no_ip_length",
        "The IP header states length 0 (segmentation offload): for tcptrace the packet ends before its TCP header.",
        lambda case: case.packet.ip_length_zero,
        _not_counted,
    ),
    CountReason("later_fragment", "A fragment without TCP header: tcptrace counts only the first.", _later_fragment, _not_counted),
    CountReason("after_reset", "After a RST: trustbed counts the packet and does not analyse it.", _after_reset, _all_of_it),
    CountReason(
        "keep_alive",
        "One byte just below the highest one sent: neither data nor retransmission for trustbed, both for tcptrace.",
        keep_alive,
        _fixed(payload_bytes=(1, 1), unique_bytes=(0, 1), retransmitted_packets=(0, 1), retransmitted_bytes=(0, 1)),
    ),
    CountReason(
        "window_probe",
        "One byte into a closed window: not data for trustbed; a byte of data that is neither new nor sent again for tcptrace.",
        window_probe,
        _fixed(payload_bytes=(1, 1), unique_bytes=(-1, 0)),
    ),
    CountReason("closed_window", closed_window.__doc__ or "", closed_window, _none_of_it),
    CountReason("peer_without_window", peer_without_window.__doc__ or "", peer_without_window, _none_of_it),
    CountReason(
        "syn_again",
        "A repeated SYN: trustbed counts it apart, tcptrace as one byte sent again.",
        syn_again,
        _fixed(retransmitted_packets=(1, 1), retransmitted_bytes=(1, 1)),
    ),
    CountReason(
        "fin_again",
        "A repeated FIN: trustbed counts it apart, tcptrace as one byte sent again.",
        fin_again,
        _fixed(retransmitted_packets=(0, 1), retransmitted_bytes=(1, 1), unique_bytes=(-1, 0)),
    ),
    CountReason(
        "data_on_fin",
        "A byte with the number of a FIN sent before: seen before for tcptrace, new for trustbed.",
        data_on_fin,
        _fixed(retransmitted_packets=(0, 1), retransmitted_bytes=(0, 1), unique_bytes=(-1, 0)),
    ),
    CountReason(
        "extension_headers",
        "tcptrace counts IPv6 extension headers as payload.",
        lambda case: case.packet.extension_bytes > 0,
        lambda case: {
            "payload_bytes": (0, case.packet.extension_bytes),
            "unique_bytes": (0, case.packet.extension_bytes),
            "retransmitted_bytes": (0, case.packet.extension_bytes),
            "retransmitted_packets": (0, 1),
        },
    ),
    CountReason(
        "seen_in_older_instance",
        seen_in_older_instance.__doc__ or "",
        seen_in_older_instance,
        lambda case: {
            "unique_bytes": (-case.packet.payload, 0),
            "retransmitted_packets": (0, 1),
            "retransmitted_bytes": (0, case.packet.payload + 1),
        },
    ),
    CountReason("window_of_older_instance", window_of_older_instance.__doc__ or "", window_of_older_instance, _none_of_it),
    CountReason("seen_unopened", "Its bytes were sent before in a packet that tcptrace does not open.", _seen_only_unopened, _fewer_seen),
    CountReason("idle_cut", "Its bytes were sent before a silence of four minutes, where tcptrace begins anew.", idle_cut, _fewer_seen),
)


# Round-trip samples ---------------------------------------------------------------------------------------------


def no_payload(case: SampleCase) -> bool:
    """The direction carries no payload (keep-alives and window probes apart): trustbed reports no round trips of it."""
    return case.stream.data_packets == 0


def syn_ack(case: SampleCase) -> bool:
    """From SYN-ACK to its ACK: trustbed takes SYN to SYN-ACK only."""
    return case.segment.has(SYN) and case.segment.has(ACK)


def syn_crossed(case: SampleCase) -> bool:
    """From a SYN to an ACK that is no SYN-ACK."""
    return case.segment.has(SYN) and not case.ack.has(SYN)


def fin(case: SampleCase) -> bool:
    """From a FIN to its ACK."""
    return case.segment.has(FIN) and forward(case.ack.ack, _fin_number(case.segment)) == 1


def answer_is_reset(case: SampleCase) -> bool:
    """The acknowledgement is a RST's."""
    return case.ack.has(RST)


def after_reset(case: SampleCase) -> bool:
    """After a RST nothing is analysed."""
    return case.ack.frame in case.history.connection.after_reset or case.segment.frame in case.history.connection.after_reset


def not_positive(case: SampleCase) -> bool:
    """The ACK is stamped at, or before, the time of its data: tcptrace takes 0, trustbed counts a clock fault."""
    return case.ack.time_ns <= case.segment.time_ns


def late_segment(case: SampleCase) -> bool:
    """The peer had acknowledged the segment before the capture saw it; a repeated ACK then looks like its answer."""
    end = case.segment.seq + case.segment.payload
    return any(other.has(ACK) and forward(other.ack, end & 0xFFFFFFFF) >= 0 for other in case.history.received_before(case.segment))


def hole_fill(case: SampleCase) -> bool:
    """The segment filled a hole: its bytes had been sent before, unseen (Karn), or were overtaken."""
    segment = case.segment
    end = (segment.seq + segment.payload) & 0xFFFFFFFF
    return any(forward(other.seq, end) >= 0 and other.payload > 0 for other in case.history.sent_before(segment))


def hole_acknowledged(case: SampleCase) -> bool:
    """The ACK covers bytes that the capture had not seen by then."""
    start = case.history.highest_ack_before(case.ack, case.ack.sender)
    if start is None or forward(case.ack.ack, start) <= 0:
        return False
    wanted, pieces = forward(case.ack.ack, start), []
    for other in case.history.before(case.ack):
        if other.sender == case.segment.sender and other.span:
            left = forward(other.seq, start)
            pieces.append((max(0, left), min(wanted, left + other.span)))
    reached = 0
    for left, right in sorted(piece for piece in pieces if piece[0] < piece[1]):
        if left > reached:
            return True
        reached = max(reached, right)
    return reached < wanted


def older_retransmission(case: SampleCase) -> bool:
    """The ACK also covers bytes that were sent again before its newest segment was sent for the first time."""
    start = case.history.highest_ack_before(case.ack, case.ack.sender)
    if start is None:
        return False
    covered = [p for p in case.history.sent_before(case.segment) if overlap(p, start, case.segment.seq)]
    return any(
        overlap(later, (max(0, forward(early.seq, start)) + start) & 0xFFFFFFFF, (early.seq + early.payload) & 0xFFFFFFFF)
        for place, later in enumerate(covered)
        for early in covered[place + 1 :]
    )


def covers_fill(case: SampleCase) -> bool:
    """The ACK also covers bytes that came after higher ones: a hole that was filled, which gives no time in trustbed."""
    start = case.history.highest_ack_before(case.ack, case.ack.sender)
    if start is None:
        return False
    highest: int | None = None
    for packet in case.history.packets[: case.history.places[case.ack.frame]]:
        if packet.sender != case.segment.sender or packet.payload == 0:
            continue
        if highest is not None and forward(packet.seq, highest) < 0 and overlap(packet, start, case.ack.ack):
            return True
        end = (packet.seq + packet.payload) & 0xFFFFFFFF
        highest = end if highest is None or forward(end, highest) > 0 else highest
    return False


def fragmented(case: SampleCase) -> bool:
    """A fragmented packet gives no time."""
    return case.ack.fragment or case.segment.fragment


def clock_step(case: SampleCase) -> bool:
    """The capture's clock stepped back by more than 10 ms between segment and ACK."""
    newest = case.segment.time_ns
    for packet in case.history.between(case.segment, case.ack):
        if newest - packet.time_ns > 10_000_000:
            return True
        newest = max(newest, packet.time_ns)
    return case.history.connection.clock_steps > 0


def unordered(case: SampleCase) -> bool:
    """Records of the connection between segment and ACK are not in the order of their stamps; trustbed sorts them, tcptrace does not."""
    packets = [case.segment, *case.history.between(case.segment, case.ack)]
    around = packets + [p for p in case.history.packets if abs(p.time_ns - case.ack.time_ns) <= 10_000_000]
    around.sort(key=lambda packet: packet.frame)
    return any(later.time_ns < early.time_ns for early, later in zip(around, around[1:], strict=False))


def ack_inside(case: SampleCase) -> bool:
    """This ACK or an earlier one ends inside the segment, at the end of a wire segment of a super-packet: no sample for tcptrace."""
    return any(
        other.has(ACK) and other.sender == case.ack.sender and 0 < forward(other.ack, case.segment.seq) < case.segment.payload
        for other in case.history.between(case.segment, case.ack)
    )


def sent_below_since(case: SampleCase) -> bool:
    """Bytes below the segment were sent again after it, and had been acknowledged by an earlier ACK: tcptrace refuses the time all the same."""
    return any(
        other.sender == case.segment.sender and other.span > 0 and forward(other.seq, case.segment.seq) < 0
        for other in case.history.between(case.segment, case.ack)
    )


def keep_alive_between(case: SampleCase) -> bool:
    """The segment's last byte alone came again before the ACK, as a keep-alive by definition: sent again for tcptrace (Karn), no data for trustbed."""
    last = (case.segment.seq + case.segment.payload - 1) & 0xFFFFFFFF
    return any(
        other.sender == case.segment.sender and other.payload == 1 and other.seq == last
        for other in case.history.between(case.segment, case.ack)
    )


def quadrant_edge(case: SampleCase) -> bool:
    """The segment reaches over, or ends at, a quarter of the sequence space, where tcptrace keeps separate lists."""
    last = (case.segment.seq + case.segment.payload) & 0xFFFFFFFF
    return case.segment.seq // QUADRANT != last // QUADRANT


def unopened(case: SampleCase) -> bool:
    """Tcptrace does not open one of the two packets."""
    return not (_opened(case.segment) and _opened(case.ack))


def idle_cut_sample(case: SampleCase) -> bool:
    """More than four minutes of silence lie between segment and ACK."""
    packets = [case.segment, *case.history.between(case.segment, case.ack)]
    return any(b.time_ns - a.time_ns > IDLE_SECONDS * 10**9 for a, b in zip(packets, packets[1:], strict=False))


def _sample(name: str, by_tool: bool, holds: Callable[[SampleCase], bool]) -> SampleReason:
    return SampleReason(name, holds.__doc__ or "", by_tool, holds)


SAMPLES: tuple[SampleReason, ...] = (
    _sample("no_payload", True, no_payload),
    _sample("syn_ack", True, syn_ack),
    _sample("syn_crossed", True, syn_crossed),
    _sample("fin", True, fin),
    _sample("answer_is_reset", True, answer_is_reset),
    _sample("after_reset", True, after_reset),
    _sample("not_positive", True, not_positive),
    _sample("late_segment", True, late_segment),
    _sample("hole_fill", True, hole_fill),
    _sample("hole_acknowledged", True, hole_acknowledged),
    _sample("older_retransmission", True, older_retransmission),
    _sample("covers_fill", True, covers_fill),
    _sample("fragmented", True, fragmented),
    _sample("clock_step", True, clock_step),
    _sample("unordered", True, unordered),
    _sample("ack_inside", False, ack_inside),
    _sample("sent_below_since", False, sent_below_since),
    _sample("keep_alive_between", False, keep_alive_between),
    _sample("quadrant_edge", False, quadrant_edge),
    _sample("unopened", False, unopened),
    _sample("idle_cut", False, idle_cut_sample),
    _sample("unordered", False, unordered),
)
