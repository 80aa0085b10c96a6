"""Why tshark's flags may differ from trustbed's classes.

Named situations, each a predicate over packets.

A reason states which flags it may add (tshark has it, trustbed's class does not require it) and
which it may drop. A frame is explained when the reasons that hold for it account for every flag
added and every flag dropped.

tshark decides by advance only and at once: it keeps no record of which bytes it has seen, knows
SACK only for its byte counts, and compares with the *last* packet where trustbed compares with the
highest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from validation.case import FlagCase, LengthCase, forward
from validation.finding import sentence
from validation.packets import ACK, FIN, RST, SYN
from validation.tshark_rules import FAST_NS

AGAIN = frozenset(
    {"retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"}
)
ALL = AGAIN | {
    "duplicate_ack",
    "keep_alive",
    "zero_window",
    "zero_window_probe",
    "lost_segment",
    "ack_lost_segment",
}
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


def multipath(case: FlagCase) -> bool:
    """MPTCP options changed since the last packet: tshark does not count a duplicate ACK."""
    return case.packet.multipath


def _exact_end(case: FlagCase) -> bool:
    """The segment ends exactly at the highest number: for tshark that is never out of order."""
    packet = case.packet
    return (
        packet.seq + case.situation.length + packet.has(SYN | FIN)
    ) & 0xFFFFFFFF == case.situation.next_seq


def _two_duplicates(case: FlagCase) -> bool:
    situation = case.situation
    many = situation.peer_duplicates >= 2 or situation.peer_duplicates == -1
    return (
        many
        and situation.peer_ack == case.packet.seq
        and 0 <= situation.since_peer_ack_ns < FAST_NS
    )


def _already_acknowledged(case: FlagCase) -> bool:
    situation = case.situation
    return (
        situation.length > 0
        and situation.peer_ack != 0
        and forward(case.packet.seq + situation.length, situation.peer_ack) <= 0
    )


def soon_after_highest(case: FlagCase) -> bool:
    """Below the highest number and within the initial round trip (3 ms when unknown) of it.

    Out of order for tshark, whatever was seen before.
    """
    situation = case.situation
    within = 0 <= situation.since_highest_ns < situation.threshold_ns
    return (
        not situation.advanced
        and within
        and not _exact_end(case)
        and not _two_duplicates(case)
        and not _already_acknowledged(case)
    )


def two_duplicates(case: FlagCase) -> bool:
    """Two duplicate ACKs (or one for an unseen segment) ask for it and are younger than 20 ms.

    Fast for tshark.

    trustbed wants three, or SACKs.
    """
    return not case.situation.advanced and _two_duplicates(case) and not _already_acknowledged(case)


def no_fresh_duplicates(case: FlagCase) -> bool:
    """Two duplicate ACKs for this number, the last one younger than 20 ms, are not there.

    Not fast for tshark.

    SACKs or older ACKs satisfy trustbed.
    """
    return (
        not case.situation.advanced
        and not _two_duplicates(case)
        and "fast_retransmission" in case.expected
    )


def reported_by_sack(case: FlagCase) -> bool:
    """Spurious because of SACK blocks (received before, or a DSACK after).

    The cumulative ACK alone, which tshark looks at, does not show it.
    """
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
    """The peer's last ACK is lower than an earlier one.

    Tshark compares with the last, trustbed with the highest.
    """
    return any(
        other.has(ACK) and forward(other.ack, case.situation.peer_ack) > 0
        for other in case.history.received_before(case.packet)
    )


def ack_of_reset(case: FlagCase) -> bool:
    """The peer's last number came with a RST, or with a packet without ACK.

    Tshark takes it for an acknowledgement.
    """
    for other in case.history.received_before(case.packet):
        return other.has(RST) or not other.has(ACK)
    return False


def hole_fill(case: FlagCase) -> bool:
    """The segment fills a hole.

    None of its bytes was seen before, but higher ones were seen or acknowledged.

    That is not looked at by tshark, which names it by its time and the last ACK.
    """
    outcome = case.stream.outcomes.get(case.packet.frame)
    return outcome is not None and outcome.kind == "fill"


def number_again(case: FlagCase) -> bool:
    """A SYN or FIN that was sent before.

    A retransmission for tshark; trustbed counts these apart.
    """
    return case.packet.has(SYN | FIN) and not case.situation.advanced


def number_ahead(case: FlagCase) -> bool:
    """An earlier packet without payload (an ACK, a FIN) had a higher number.

    New bytes for trustbed, not advancing for tshark.
    """
    packet = case.packet
    return packet.payload > 0 and any(
        other.payload == 0 and forward(other.seq + other.span, packet.seq) > 0
        for other in case.history.sent_before(packet)
    )


def one_below_highest(case: FlagCase) -> bool:
    """More than one byte from just below the highest number on.

    New data for tshark, because the byte before may have been a probe.
    """
    situation = case.situation
    return situation.length > 1 and case.packet.seq == (situation.next_seq - 1) & 0xFFFFFFFF


def nothing_outstanding(case: FlagCase) -> bool:
    """Nothing of the peer's was outstanding (RFC 5681 asks for it); tshark does not look."""
    packet = case.packet
    return not any(
        other.payload > 0 and forward(other.seq + other.payload, packet.ack) > 0
        for other in case.history.received_before(packet)
    )


def window_changed(case: FlagCase) -> bool:
    """Its window field differs from the sender's last packet: no duplicate ACK for tshark.

    For trustbed it is one, if it brings new SACK blocks.
    """
    return case.packet.window != case.situation.window_before


def other_number(case: FlagCase) -> bool:
    """The ACK does not carry the sender's next sequence number: no duplicate ACK for tshark."""
    return case.packet.seq != case.situation.next_seq


def other_ack_between(case: FlagCase) -> bool:
    """The sender's last packet acknowledged another number.

    Tshark compares with that, trustbed with the highest.
    """
    return case.packet.ack != case.situation.ack_before


def probe_answered(case: FlagCase) -> bool:
    """It answers a keep-alive or a window probe: tshark has other names for that."""
    return bool(case.situation.last_peer_flags & {"keep_alive", "zero_window_probe"})


def window_zero(case: FlagCase) -> bool:
    """With a window of 0 tshark names no duplicate ACK."""
    return case.packet.window == 0


def reset_text(case: FlagCase) -> bool:
    """Text in a RST (RFC 1122, 4.2.2.12): bytes with numbers for tshark, no data for trustbed."""
    return case.packet.has(RST) and case.packet.payload > 0


def unordered(case: FlagCase) -> bool:
    """Records of the connection around this one are not in the order of their stamps.

    Trustbed sorts within 10 ms, tshark does not.
    """
    index = case.history.indices[case.packet.frame]
    around = case.history.packets[max(0, index - 50) : index + 50]
    near = [p.time_ns for p in around if abs(p.time_ns - case.packet.time_ns) <= 10_000_000]
    return any(later < early for early, later in pairwise(near))


def acknowledged_unseen(case: FlagCase) -> bool:
    """The peer acknowledged beyond what was seen.

    Trustbed takes that number as sent, tshark does not.
    """
    highest = None
    for other in case.history.sent_before(case.packet):
        end = (other.seq + other.span) & 0xFFFFFFFF
        highest = end if highest is None or forward(end, highest) > 0 else highest
    return highest is None or any(
        other.has(ACK) and forward(other.ack, highest) > 0
        for other in case.history.received_before(case.packet)
    )


def empty_packet_ahead(case: FlagCase) -> bool:
    """The gap shows in the number of a packet without payload.

    Trustbed opens holes for data only.
    """
    return case.packet.payload == 0


def first_of_sender(case: FlagCase) -> bool:
    """The sender's first packet.

    Tshark has no number of its to compare with, trustbed has the SYN-ACK's acknowledgement.
    """
    return not any(True for _ in case.history.sent_before(case.packet))


def running_before(case: FlagCase) -> bool:
    """The sender's first data in a connection that was already running.

    For trustbed what came before is unknown, not missing.
    """
    return not any(
        other.has(SYN) or other.payload > 0 for other in case.history.sent_before(case.packet)
    )


def number_ahead_before(case: FlagCase) -> bool:
    """An earlier packet without payload had shown the gap already."""
    return case.situation.next_seq != 0 and forward(case.packet.seq, case.situation.next_seq) <= 0


def peer_unseen(case: FlagCase) -> bool:
    """No packet of the peer was seen before.

    Tshark has nothing to compare the acknowledgement with.
    """
    return not any(True for _ in case.history.received_before(case.packet))


def mark_ahead(case: FlagCase) -> bool:
    """An earlier indication has advanced tshark's maximum sequence number to ACK past the gap."""
    situation = case.situation
    return (
        situation.peer_to_be_acked != 0
        and forward(case.packet.ack, situation.peer_to_be_acked) <= 0
    )


def mark_behind(case: FlagCase) -> bool:
    """The capture has every acknowledged byte, but tshark's mark lags behind.

    The mark advances only when a segment begins exactly at it.
    """
    situation = case.situation
    return (
        situation.peer_to_be_acked != 0 and forward(case.packet.ack, situation.peer_to_be_acked) > 0
    )


def mark_muted(case: FlagCase) -> bool:
    """The dissector reports a missing segment once, until the sender acknowledges other bytes."""
    return case.situation.peer_repeats


def _reason(
    holds: Callable[[FlagCase], bool], adds: frozenset[str] = NONE, drops: frozenset[str] = NONE
) -> FlagReason:
    return FlagReason(holds.__name__, sentence(holds), adds, drops, holds)


def _one(*names: str) -> frozenset[str]:
    return frozenset(names)


REASONS: tuple[FlagReason, ...] = (
    _reason(header_cut, drops=ALL),
    _reason(after_reset, adds=ALL),
    _reason(number_again, adds=AGAIN),
    _reason(soon_after_highest, _one("out_of_order"), AGAIN - {"out_of_order"}),
    _reason(two_duplicates, _one("fast_retransmission"), AGAIN - {"fast_retransmission"}),
    _reason(no_fresh_duplicates, _one("retransmission"), _one("fast_retransmission")),
    _reason(reported_by_sack, _one("retransmission"), _one("spurious_retransmission")),
    _reason(lower_ack_last, AGAIN - {"spurious_retransmission"}, _one("spurious_retransmission")),
    _reason(ack_of_reset, _one("spurious_retransmission"), AGAIN - {"spurious_retransmission"}),
    _reason(hole_fill, AGAIN, AGAIN),
    _reason(number_ahead, adds=AGAIN),
    _reason(one_below_highest, drops=AGAIN),
    _reason(reset_text, AGAIN | {"lost_segment"}),
    _reason(acknowledged_unseen, _one("lost_segment", "duplicate_ack"), _one("keep_alive")),
    # Duplicate ACKs
    _reason(multipath, drops=_one("duplicate_ack")),
    _reason(nothing_outstanding, adds=_one("duplicate_ack")),
    _reason(window_changed, drops=_one("duplicate_ack")),
    _reason(other_number, drops=_one("duplicate_ack")),
    _reason(other_ack_between, drops=_one("duplicate_ack")),
    _reason(probe_answered, drops=_one("duplicate_ack")),
    _reason(window_zero, drops=_one("duplicate_ack")),
    # Missing segments
    _reason(empty_packet_ahead, adds=_one("lost_segment")),
    _reason(running_before, adds=_one("lost_segment")),
    _reason(first_of_sender, drops=_one("lost_segment")),
    _reason(number_ahead_before, drops=_one("lost_segment")),
    _reason(peer_unseen, drops=_one("ack_lost_segment")),
    _reason(mark_ahead, drops=_one("ack_lost_segment")),
    _reason(mark_muted, drops=_one("ack_lost_segment")),
    _reason(mark_behind, adds=_one("ack_lost_segment")),
    _reason(
        unordered,
        AGAIN | {"duplicate_ack", "lost_segment", "ack_lost_segment"},
        AGAIN | {"duplicate_ack"},
    ),
)


# Packets and payload bytes


@dataclass(frozen=True, slots=True)
class LengthReason:
    """A situation in which tshark counts a packet, or its payload, otherwise."""

    name: str
    meaning: str
    holds: Callable[[LengthCase], bool]


def _kind(case: LengthCase) -> str:
    outcome = case.history.connection.streams[case.packet.sender].outcomes.get(case.packet.frame)
    return outcome.kind if outcome else ""


def length_after_reset(case: LengthCase) -> bool:
    """After a RST: the payload counts for tshark only."""
    whole = case.packet.payload - case.packet.beyond_frame
    return (
        case.field == "payload_bytes"
        and case.packet.frame in case.history.connection.after_reset
        and case.delta == whole
    )


def length_of_reset(case: LengthCase) -> bool:
    """Text in a RST (RFC 1122, 4.2.2.12): it counts for tshark only."""
    whole = case.packet.payload - case.packet.beyond_frame
    return case.field == "payload_bytes" and case.packet.has(RST) and case.delta == whole


def length_of_probe(case: LengthCase) -> bool:
    """The byte of a keep-alive or a window probe, which is no data for trustbed."""
    return (
        case.field == "payload_bytes"
        and _kind(case) in ("keep_alive", "window_probe")
        and case.delta == case.packet.payload
    )


def length_beyond_frame(case: LengthCase) -> bool:
    """The IP header states more bytes than the frame had: tshark takes the frame's length."""
    return (
        case.field == "payload_bytes"
        and case.packet.beyond_frame > 0
        and case.delta == -case.packet.beyond_frame
    )


def fragment(case: LengthCase) -> bool:
    """A fragment: tshark counts the datagram where it is complete."""
    return case.packet.fragment


LENGTHS: tuple[LengthReason, ...] = tuple(
    LengthReason(holds.__name__, sentence(holds), holds)
    for holds in (
        length_after_reset,
        length_of_reset,
        length_of_probe,
        length_beyond_frame,
        fragment,
    )
)

# Found by asking the model, not by a predicate on the frame: `flags.explain_frame`.
BEYOND_FRAME = (
    "The IP header of a packet of the connection states more bytes than its frame had. "
    "With the lengths of the IP headers the rules of tshark give other flags here."
)
