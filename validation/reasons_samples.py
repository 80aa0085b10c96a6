"""Why only one of tcptrace and trustbed takes a round-trip time.

Named situations, each a predicate over packets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from validation import reasons_counts
from validation.case import PacketCase, SampleCase, forward, overlap
from validation.finding import sentence
from validation.packets import ACK, FIN, RST, SYN
from validation.tcptrace_rules import QUADRANT


@dataclass(frozen=True, slots=True)
class SampleReason:
    """A situation in which only tcptrace (`by_tool`) or only trustbed takes a round-trip time."""

    name: str
    meaning: str
    by_tool: bool
    holds: Callable[[SampleCase], bool]


# Only tcptrace


def no_payload(case: SampleCase) -> bool:
    """The direction carries no payload (keep-alives and window probes apart).

    Trustbed reports no round trips of it.
    """
    return case.stream.data_packets == 0


def not_positive(case: SampleCase) -> bool:
    """The ACK is stamped at, or before, the time of its data.

    Tcptrace takes 0, trustbed counts a clock fault.
    """
    return case.ack.time_ns <= case.segment.time_ns


def handshake_again(case: SampleCase) -> bool:
    """A SYN or SYN-ACK that was sent more than once, though only once before the answer.

    Trustbed takes no time from it.
    """
    sent = [
        other
        for other in case.history.packets
        if other.sender == case.segment.sender and other.has(SYN)
    ]
    return case.segment.has(SYN) and len(sent) > 1


def fin(case: SampleCase) -> bool:
    """From a FIN to its ACK."""
    return (
        case.segment.has(FIN)
        and forward(case.ack.ack, reasons_counts.fin_number(case.segment)) == 1
    )


def answer_is_reset(case: SampleCase) -> bool:
    """The acknowledgement is a RST's."""
    return case.ack.has(RST)


def after_reset(case: SampleCase) -> bool:
    """After a RST trustbed analyses nothing."""
    return case.ack.frame in case.history.connection.after_reset


def late_segment(case: SampleCase) -> bool:
    """The peer had acknowledged the segment before the capture saw it.

    A repeated ACK then looks like its answer.
    """
    end = (case.segment.seq + case.segment.payload) & 0xFFFFFFFF
    return any(
        other.has(ACK) and forward(other.ack, end) >= 0
        for other in case.history.received_before(case.segment)
    )


def hole_fill(case: SampleCase) -> bool:
    """The segment filled a hole that was old or that the peer requested.

    Its bytes had been sent before, unseen (Karn).
    """
    outcome = case.stream.outcomes.get(case.segment.frame)
    return outcome is not None and outcome.kind == "fill" and outcome.cause == "lost_upstream"


def _previous_ack(case: SampleCase) -> int | None:
    return case.history.highest_ack_before(case.ack, case.ack.sender)


def hole_acknowledged(case: SampleCase) -> bool:
    """The ACK covers bytes that the capture had not seen by then."""
    start = _previous_ack(case)
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


def covers_fill(case: SampleCase) -> bool:
    """The ACK also covers a hole that was old, or requested, when it was filled.

    It gives no time in trustbed.
    """
    start = _previous_ack(case)
    between = case.history.packets[: case.history.indices[case.ack.frame]]
    fills = (
        packet
        for packet in between
        if packet.sender == case.segment.sender
        and (outcome := case.stream.outcomes.get(packet.frame)) is not None
        and outcome.cause == "lost_upstream"
    )
    return start is not None and any(overlap(packet, start, case.ack.ack) for packet in fills)


def older_retransmission(case: SampleCase) -> bool:
    """The ACK also covers bytes retransmitted before its newest segment was first sent."""
    start = _previous_ack(case)
    if start is None:
        return False
    covered = [
        other
        for other in case.history.sent_before(case.segment)
        if overlap(other, start, case.segment.seq)
    ]
    return any(
        overlap(
            later,
            (max(0, forward(early.seq, start)) + start) & 0xFFFFFFFF,
            (early.seq + early.payload) & 0xFFFFFFFF,
        )
        for index, later in enumerate(covered)
        for early in covered[index + 1 :]
    )


def partly_again(case: SampleCase) -> bool:
    """The segment repeats bytes and adds new ones.

    Tcptrace times the new part, for trustbed the ACK covers bytes sent twice (Karn).
    """
    segment, end = case.segment, (case.segment.seq + case.segment.payload) & 0xFFFFFFFF
    return any(
        0 < overlap(other, segment.seq, end) < segment.payload
        for other in case.history.sent_before(segment)
    )


def seen_unopened(case: SampleCase) -> bool:
    """The segment was sent before in a packet that tcptrace does not open.

    Sent once for tcptrace, twice for trustbed (Karn).
    """
    return reasons_counts.seen_unopened(PacketCase(case.segment, case.history))


def clock_step(case: SampleCase) -> bool:
    """The capture's clock stepped back by more than 10 ms between segment and ACK."""
    newest = case.segment.time_ns
    for packet in case.history.between(case.segment, case.ack):
        if newest - packet.time_ns > 10_000_000:
            return True
        newest = max(newest, packet.time_ns)
    return False


def steps_elsewhere(case: SampleCase) -> bool:
    """The clock stepped back in a packet of another connection between segment and ACK.

    Nothing that spans it is a time.
    """
    return case.history.connection.clock_steps > 0


# Only trustbed


def ack_inside(case: SampleCase) -> bool:
    """This ACK or an earlier one ends inside the super-packet, at the end of a wire segment.

    tcptrace takes no sample then.
    """
    return any(
        other.has(ACK)
        and other.sender == case.ack.sender
        and 0 < forward(other.ack, case.segment.seq) < case.segment.payload
        for other in case.history.between(case.segment, case.ack)
    )


def sent_below_since(case: SampleCase) -> bool:
    """Bytes below the segment were sent again after it, and acknowledged by an earlier ACK.

    Tcptrace refuses the time all the same.
    """
    return any(
        other.sender == case.segment.sender
        and other.span > 0
        and forward(other.seq, case.segment.seq) < 0
        for other in case.history.between(case.segment, case.ack)
    )


def ack_below_fin(case: SampleCase) -> bool:
    """The ACK covers a packet's payload but not its FIN, which tcptrace counts as payload."""
    return (
        case.segment.has(FIN)
        and case.segment.payload > 0
        and case.ack.ack == reasons_counts.fin_number(case.segment)
    )


def not_recorded(case: SampleCase) -> bool:
    """The segment was sent into a window of 0, or what tcptrace takes for one.

    It records no segment then.
    """
    packet = PacketCase(case.segment, case.history)
    return reasons_counts.closed_window(packet) or reasons_counts.peer_without_window(packet)


def keep_alive_between(case: SampleCase) -> bool:
    """The segment's last byte alone came again before the ACK.

    A keep-alive, no data for trustbed; sent again for tcptrace (Karn).
    """
    last = (case.segment.seq + case.segment.payload - 1) & 0xFFFFFFFF
    return any(
        other.sender == case.segment.sender and other.payload == 1 and other.seq == last
        for other in case.history.between(case.segment, case.ack)
    )


def quadrant_edge(case: SampleCase) -> bool:
    """The segment ends at the end of a quarter of the sequence space.

    Tcptrace keeps a list for each quarter and looks into the next.
    """
    return (case.segment.seq + case.segment.payload) % QUADRANT == 0


def unopened(case: SampleCase) -> bool:
    """One of the two packets is one that tcptrace does not open."""
    packet_case = PacketCase(case.segment, case.history)
    return not (
        reasons_counts.opened(case.segment, packet_case)
        and reasons_counts.opened(case.ack, packet_case)
    )


def unordered(case: SampleCase) -> bool:
    """The records of the connection around the two are not in the order of their stamps.

    Trustbed sorts within 10 ms, tcptrace does not.
    """
    near = [
        packet
        for packet in case.history.packets
        if abs(packet.time_ns - case.ack.time_ns) <= 10_000_000
    ]
    return any(later.time_ns < early.time_ns for early, later in pairwise(near))


def _reason(holds: Callable[[SampleCase], bool], *, by_tool: bool) -> SampleReason:
    return SampleReason(holds.__name__, sentence(holds), by_tool, holds)


SAMPLES: tuple[SampleReason, ...] = (
    *(
        _reason(holds, by_tool=True)
        for holds in (
            no_payload,
            not_positive,
            fin,
            answer_is_reset,
            after_reset,
            handshake_again,
            late_segment,
            hole_fill,
            hole_acknowledged,
            older_retransmission,
            covers_fill,
            partly_again,
            seen_unopened,
            clock_step,
            steps_elsewhere,
        )
    ),
    *(
        _reason(holds, by_tool=False)
        for holds in (
            ack_inside,
            ack_below_fin,
            sent_below_since,
            not_recorded,
            keep_alive_between,
            quadrant_edge,
            unopened,
            unordered,
        )
    ),
)
