"""Why tshark's flags may differ from trustbed's classes: named situations, each a predicate over packets.

A reason says which flags it may add (tshark has it, trustbed's class does not ask for it) and which it may drop. A frame is
explained when the reasons that hold for it account for every flag added and every flag dropped.

tshark decides by advance only and at once: it keeps no record of which bytes it has seen, knows SACK only for its byte
counts, and compares with the *last* packet where trustbed compares with the highest.
"""

from collections.abc import Callable
from dataclasses import dataclass

from validation.case import FlagCase, forward, overlap
from validation.packets import ACK, FIN, RST, SYN
from validation.tshark_rules import FAST_NS

AGAIN = frozenset({"retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"})
ALL = AGAIN | {"duplicate_ack", "keep_alive", "zero_window", "zero_window_probe", "lost_segment", "ack_lost_segment"}
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FlagReason:
    """A situation in which tshark flags a frame otherwise."""

    name: str
    meaning: str
    adds: frozenset[str]
    drops: frozenset[str]
    holds: Callable[[FlagCase], bool]


def header_cut(case: FlagCase) -> bool:
    """The snap length cut the TCP options: tshark prints no flags at all."""
    return case.packet.header_cut


def after_reset(case: FlagCase) -> bool:
    """After a RST: trustbed counts the packet and does not analyse it."""
    return case.packet.frame in case.history.connection.after_reset


def beyond_frame(case: FlagCase) -> bool:
    """This packet or an earlier one of the connection states more bytes in its IP header than its frame had; tshark takes the frame's length."""
    return case.packet.beyond_frame > 0 or any(other.beyond_frame > 0 for other in case.history.before(case.packet))


def multipath(case: FlagCase) -> bool:
    """MPTCP options changed since the last packet: tshark does not count a duplicate ACK."""
    return case.packet.multipath


def _exact_end(case: FlagCase) -> bool:
    """The segment ends exactly at the highest number: for tshark that is never out of order."""
    packet = case.packet
    return (packet.seq + case.situation.length + packet.has(SYN | FIN)) & 0xFFFFFFFF == case.situation.next_seq


def _two_duplicates(case: FlagCase) -> bool:
    situation = case.situation
    many = situation.peer_duplicates >= 2 or situation.peer_duplicates == -1
    return many and situation.peer_ack == case.packet.seq and 0 <= situation.since_peer_ack_ns < FAST_NS


def _already_acknowledged(case: FlagCase) -> bool:
    situation = case.situation
    return situation.length > 0 and situation.peer_ack != 0 and forward(case.packet.seq + situation.length, situation.peer_ack) <= 0


def soon_after_highest(case: FlagCase) -> bool:
    """Below the highest number and within the initial round trip (3 ms when unknown) of it: out of order for tshark, whatever was seen before."""
    situation = case.situation
    within = 0 <= situation.since_highest_ns < situation.threshold_ns
    return not situation.advanced and within and not _exact_end(case) and not _two_duplicates(case) and not _already_acknowledged(case)


def two_duplicates(case: FlagCase) -> bool:
    """Two duplicate ACKs (or one for an unseen segment) ask for it and are younger than 20 ms: fast for tshark; trustbed wants three, or SACKs."""
    return not case.situation.advanced and _two_duplicates(case) and not _already_acknowledged(case)


def no_fresh_duplicates(case: FlagCase) -> bool:
    """Tshark's condition for a fast retransmission fails (two duplicate ACKs for this number, the last one younger than 20 ms); SACKs or older ACKs satisfy trustbed's."""
    return not case.situation.advanced and not _two_duplicates(case) and "fast_retransmission" in case.expected


def reported_by_sack(case: FlagCase) -> bool:
    """Spurious because of SACK blocks (received before, or a DSACK after): the cumulative ACK alone, which tshark looks at, does not say so."""
    packet = case.packet
    if _already_acknowledged(case):
        return False
    end = (packet.seq + packet.payload) & 0xFFFFFFFF
    return any(
        forward(right, packet.seq) > 0 and forward(end, left) > 0
        for other in case.history.packets
        if other.sender != packet.sender
        for left, right in other.sack
    )


def lower_ack_last(case: FlagCase) -> bool:
    """The peer's last ACK is lower than an earlier one: tshark compares with the last, trustbed with the highest."""
    return any(other.has(ACK) and forward(other.ack, case.situation.peer_ack) > 0 for other in case.history.received_before(case.packet))


def ack_of_reset(case: FlagCase) -> bool:
    """The peer's last number came with a RST, or with a packet without ACK: tshark takes it for an acknowledgement."""
    for other in case.history.received_before(case.packet):
        return other.has(RST) or not other.has(ACK)
    return False


def hole_fill(case: FlagCase) -> bool:
    """The segment fills a hole: none of its bytes was seen before, but higher ones were seen or acknowledged. tshark does not look at that and names it by its time and the last ACK."""
    packet = case.packet
    end = (packet.seq + packet.payload) & 0xFFFFFFFF
    if packet.payload == 0 or any(overlap(other, packet.seq, end) for other in case.history.sent_before(packet)):
        return False
    return any(
        forward(other.seq if other.sender == packet.sender else other.ack, packet.seq) > 0
        for other in case.history.before(packet)
        if other.sender == packet.sender or other.has(ACK)
    )


def number_again(case: FlagCase) -> bool:
    """A SYN or FIN that was sent before: a retransmission for tshark; trustbed counts these apart."""
    return case.packet.has(SYN | FIN) and not case.situation.advanced


def number_ahead(case: FlagCase) -> bool:
    """An earlier packet without payload (an ACK, a FIN) had a higher number: new bytes for trustbed, not advancing for tshark."""
    packet = case.packet
    return packet.payload > 0 and any(
        other.payload == 0 and forward(other.seq + other.span, packet.seq) > 0 for other in case.history.sent_before(packet)
    )


def one_below_highest(case: FlagCase) -> bool:
    """More than one byte from just below the highest number on: new data for tshark, because the byte before may have been a probe."""
    situation = case.situation
    return situation.length > 1 and case.packet.seq == (situation.next_seq - 1) & 0xFFFFFFFF


def nothing_outstanding(case: FlagCase) -> bool:
    """Nothing of the peer's was outstanding (RFC 5681 asks for it); tshark does not look."""
    packet = case.packet
    return not any(
        other.payload > 0 and forward(other.seq + other.payload, packet.ack) > 0 for other in case.history.received_before(packet)
    )


def window_changed(case: FlagCase) -> bool:
    """Its window field differs from the sender's last packet: no duplicate ACK for tshark; for trustbed one, if it brings new SACK blocks."""
    return case.packet.window != case.situation.window_before


def window_field_of_syn(case: FlagCase) -> bool:
    """The only earlier window of this sender was in its SYN, which is never scaled: trustbed has nothing to compare with, tshark compares the fields."""
    return all(other.has(SYN | RST) or not other.has(ACK) for other in case.history.sent_before(case.packet))


def other_number(case: FlagCase) -> bool:
    """The ACK does not carry the sender's next sequence number: no duplicate ACK for tshark."""
    return case.packet.seq != case.situation.next_seq


def other_ack_between(case: FlagCase) -> bool:
    """The sender's last packet acknowledged another number: tshark compares with that, trustbed with the highest."""
    return case.packet.ack != case.situation.ack_before


def lower_ack(case: FlagCase) -> bool:
    """It repeats an acknowledgement that is lower than an earlier one of this sender."""
    return any(other.has(ACK) and forward(other.ack, case.packet.ack) > 0 for other in case.history.sent_before(case.packet))


def probe_answered(case: FlagCase) -> bool:
    """It answers a keep-alive or a window probe: tshark has other names for that."""
    return bool(case.situation.last_peer_flags & {"keep_alive", "zero_window_probe"})


def window_zero(case: FlagCase) -> bool:
    """With a window of 0 tshark names no duplicate ACK."""
    return case.packet.window == 0


def fin_number_counted(case: FlagCase) -> bool:
    """A FIN or SYN of this side takes the number just below: tshark counts it into the highest number, trustbed's bytes do not."""
    return any(
        other.has(SYN | FIN) and forward(other.seq + other.span, case.situation.next_seq) == 0
        for other in case.history.sent_before(case.packet)
    )


def older_instance(case: FlagCase) -> bool:
    """Tshark's stream began before trustbed's instance (which ends 10 s after a close), and in this instance this side has sent nothing higher yet, or the peer nothing at all."""
    packet = case.packet
    if case.stream_began >= case.history.packets[0].frame:
        return False
    higher = any(forward(other.seq + other.span, packet.seq) > 0 and other.payload > 0 for other in case.history.sent_before(packet))
    return not higher or not any(True for _ in case.history.received_before(packet))


def unordered(case: FlagCase) -> bool:
    """Records of the connection around this one are not in the order of their stamps; trustbed sorts within 10 ms, tshark does not."""
    place = case.history.places[case.packet.frame]
    around = case.history.packets[max(0, place - 50) : place + 50]
    near = [p.time_ns for p in around if abs(p.time_ns - case.packet.time_ns) <= 10_000_000]
    return any(later < early for early, later in zip(near, near[1:], strict=False))


def acknowledged_unseen(case: FlagCase) -> bool:
    """The peer acknowledged beyond what was seen: trustbed takes that number as sent, tshark does not."""
    highest = None
    for other in case.history.sent_before(case.packet):
        end = (other.seq + other.span) & 0xFFFFFFFF
        highest = end if highest is None or forward(end, highest) > 0 else highest
    return highest is None or any(other.has(ACK) and forward(other.ack, highest) > 0 for other in case.history.received_before(case.packet))


def empty_packet_ahead(case: FlagCase) -> bool:
    """The gap shows in the number of a packet without payload: trustbed opens holes for data only."""
    return case.packet.payload == 0


def first_of_sender(case: FlagCase) -> bool:
    """The sender's first packet: tshark has no number of its to compare with, trustbed has the peer's acknowledgements."""
    return not any(True for _ in case.history.sent_before(case.packet))


def running_before(case: FlagCase) -> bool:
    """The sender's first data in a connection that was already running: for trustbed what came before is unknown, not missing."""
    return not any(other.has(SYN) or other.payload > 0 for other in case.history.sent_before(case.packet))


def number_ahead_before(case: FlagCase) -> bool:
    """An earlier packet without payload had shown the gap already."""
    return case.situation.next_seq != 0 and forward(case.packet.seq, case.situation.next_seq) <= 0


def peer_unseen(case: FlagCase) -> bool:
    """No packet of the peer was seen before: tshark has nothing to compare the acknowledgement with."""
    return not any(True for _ in case.history.received_before(case.packet))


def mark_ahead(case: FlagCase) -> bool:
    """Tshark's mark of what may be acknowledged had moved over the missing bytes with an earlier indication."""
    situation = case.situation
    return situation.peer_to_be_acked != 0 and forward(case.packet.ack, situation.peer_to_be_acked) <= 0


def mark_behind(case: FlagCase) -> bool:
    """Every byte it acknowledges was seen, but tshark's mark moves only when a segment begins exactly at it."""
    situation = case.situation
    return situation.peer_to_be_acked != 0 and forward(case.packet.ack, situation.peer_to_be_acked) > 0


def mark_muted(case: FlagCase) -> bool:
    """Tshark tells of a missing segment once, until the sender acknowledges something else."""
    return case.situation.peer_duplicates != 0


REASONS: tuple[FlagReason, ...] = (
    FlagReason("header_cut", header_cut.__doc__ or "", NONE, ALL, header_cut),
    FlagReason("after_reset", after_reset.__doc__ or "", ALL, NONE, after_reset),
    FlagReason("multipath", multipath.__doc__ or "", NONE, frozenset({"duplicate_ack"}), multipath),
    FlagReason("number_again", number_again.__doc__ or "", AGAIN, NONE, number_again),
    FlagReason(
        "soon_after_highest",
        soon_after_highest.__doc__ or "",
        frozenset({"out_of_order"}),
        frozenset({"retransmission", "fast_retransmission", "spurious_retransmission"}),
        soon_after_highest,
    ),
    FlagReason(
        "two_duplicates",
        two_duplicates.__doc__ or "",
        frozenset({"fast_retransmission"}),
        frozenset({"retransmission", "spurious_retransmission", "out_of_order"}),
        two_duplicates,
    ),
    FlagReason(
        "no_fresh_duplicates",
        no_fresh_duplicates.__doc__ or "",
        frozenset({"retransmission"}),
        frozenset({"fast_retransmission"}),
        no_fresh_duplicates,
    ),
    FlagReason(
        "reported_by_sack",
        reported_by_sack.__doc__ or "",
        frozenset({"retransmission"}),
        frozenset({"spurious_retransmission"}),
        reported_by_sack,
    ),
    FlagReason("lower_ack_last", lower_ack_last.__doc__ or "", AGAIN, frozenset({"spurious_retransmission"}), lower_ack_last),
    FlagReason("ack_of_reset", ack_of_reset.__doc__ or "", AGAIN, AGAIN, ack_of_reset),
    FlagReason("hole_fill", hole_fill.__doc__ or "", AGAIN, AGAIN, hole_fill),
    FlagReason("number_ahead", number_ahead.__doc__ or "", AGAIN, NONE, number_ahead),
    FlagReason("one_below_highest", one_below_highest.__doc__ or "", NONE, AGAIN, one_below_highest),
    FlagReason("nothing_outstanding", nothing_outstanding.__doc__ or "", frozenset({"duplicate_ack"}), NONE, nothing_outstanding),
    FlagReason("window_changed", window_changed.__doc__ or "", NONE, frozenset({"duplicate_ack"}), window_changed),
    FlagReason("window_field_of_syn", window_field_of_syn.__doc__ or "", frozenset({"duplicate_ack"}), NONE, window_field_of_syn),
    FlagReason("other_number", other_number.__doc__ or "", NONE, frozenset({"duplicate_ack"}), other_number),
    FlagReason("other_ack_between", other_ack_between.__doc__ or "", NONE, frozenset({"duplicate_ack"}), other_ack_between),
    FlagReason("lower_ack", lower_ack.__doc__ or "", frozenset({"duplicate_ack"}), NONE, lower_ack),
    FlagReason("probe_answered", probe_answered.__doc__ or "", NONE, frozenset({"duplicate_ack"}), probe_answered),
    FlagReason("window_zero", window_zero.__doc__ or "", NONE, frozenset({"duplicate_ack"}), window_zero),
    FlagReason(
        "fin_number_counted",
        fin_number_counted.__doc__ or "",
        frozenset({"keep_alive"}) | AGAIN,
        frozenset({"keep_alive", "duplicate_ack"}),
        fin_number_counted,
    ),
    FlagReason(
        "acknowledged_unseen",
        acknowledged_unseen.__doc__ or "",
        frozenset({"lost_segment", "duplicate_ack"}) | AGAIN,
        frozenset({"keep_alive"}),
        acknowledged_unseen,
    ),
    FlagReason("empty_packet_ahead", empty_packet_ahead.__doc__ or "", frozenset({"lost_segment"}), NONE, empty_packet_ahead),
    FlagReason("first_of_sender", first_of_sender.__doc__ or "", NONE, frozenset({"lost_segment"}), first_of_sender),
    FlagReason("running_before", running_before.__doc__ or "", frozenset({"lost_segment"}), NONE, running_before),
    FlagReason("number_ahead_before", number_ahead_before.__doc__ or "", NONE, frozenset({"lost_segment"}), number_ahead_before),
    FlagReason("peer_unseen", peer_unseen.__doc__ or "", NONE, frozenset({"ack_lost_segment"}), peer_unseen),
    FlagReason("mark_ahead", mark_ahead.__doc__ or "", NONE, frozenset({"ack_lost_segment"}), mark_ahead),
    FlagReason("mark_muted", mark_muted.__doc__ or "", NONE, frozenset({"ack_lost_segment"}), mark_muted),
    FlagReason("mark_behind", mark_behind.__doc__ or "", frozenset({"ack_lost_segment"}), NONE, mark_behind),
    FlagReason("older_instance", older_instance.__doc__ or "", ALL, ALL, older_instance),
    FlagReason("unordered", unordered.__doc__ or "", AGAIN | {"duplicate_ack"}, AGAIN | {"duplicate_ack"}, unordered),
    FlagReason("beyond_frame", beyond_frame.__doc__ or "", ALL, ALL, beyond_frame),
)
