"""What tshark 4.0 does with each TCP packet, step by step.

A model of the sequence analysis of Wireshark's TCP dissector (`tcp_analyze_sequence_number` in
packet-tcp.c, and the conversation handling before it). Its only use is to find *on which of
tshark's own conditions* a flag differs from trustbed's class: every frame's `Situation` holds what
the dissector compared. `compare` checks on every capture that the flags of this model are those
that tshark gave; on a frame where they are not, nothing is explained.

Not modelled: fragments (tshark puts them together), bytes in flight, window-full and window-update
marks, MPTCP (whose operations switch off a duplicate ACK), the limit on unacknowledged segments.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from validation.packets import ACK, FIN, RST, SYN, Packet

FAST_NS = 20_000_000
REORDERING_NS = 3_000_000
UNKNOWN_WINDOW = 0xFFFFFFFF
TUNNELS = ("ip", "gre", "vxlan", "geneve")


@dataclass(slots=True)
class Flow:
    """What the dissector remembers of one direction."""

    base: int | None = None
    next_seq: int = 0
    next_seq_ns: int = 0
    to_be_acked: int = 0
    last_ack: int = 0
    last_ack_ns: int = 0
    duplicates: int = 0
    window: int = UNKNOWN_WINDOW
    last_flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Situation:
    """What the dissector compared at one frame, before it took the frame in."""

    flags: frozenset[str]
    length: int
    next_seq: int
    advanced: bool
    peer_ack: int
    peer_duplicates: int
    peer_repeats: bool
    since_peer_ack_ns: int
    since_highest_ns: int
    threshold_ns: int
    window_before: int
    ack_before: int
    peer_window: int
    peer_next_seq: int
    peer_to_be_acked: int
    last_peer_flags: frozenset[str]

    @property
    def soon_after_highest(self) -> bool:
        """Within the initial round trip (3 ms when unknown) of the highest segment.

        Its condition for out of order.
        """
        return self.since_highest_ns < self.threshold_ns


@dataclass(slots=True)
class Conversation:
    """A tcp.stream of tshark."""

    stream: int
    flows: dict[tuple[str, int], Flow] = field(default_factory=dict)
    syn_ns: int = 0
    first_rtt_ns: int = 0

    def flow(self, endpoint: tuple[str, int]) -> Flow:
        """The direction sent by `endpoint`."""
        return self.flows.setdefault(endpoint, Flow())


def _after(a: int, b: int) -> bool:
    """GT_SEQ: `a` lies after `b` in the sequence space."""
    return 0 < ((a - b) & 0xFFFFFFFF) < 1 << 31


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was compared at each frame, and the stream it belongs to.

    Of several TCP headers in a frame the last one counts.
    """

    situations: dict[int, Situation]
    streams: dict[int, int]


def analyse(packets: Iterable[Packet], *, cuts: bool = True, believes_ip: bool = False) -> Analysis:
    """Takes TCP packets in file order.

    Two switches model the dissector's output otherwise: without `cuts` a SYN never begins
    another stream; with `believes_ip` the length in the IP header counts even where the frame is
    shorter.
    """
    situations: dict[int, Situation] = {}
    streams: dict[int, int] = {}
    live: dict[tuple[tuple[str, int], tuple[str, int]], Conversation] = {}
    count = 0
    for packet in packets:
        conversation = live.get(packet.key)
        fresh_syn = packet.flags & (SYN | ACK) == SYN
        if conversation is None or (
            cuts and fresh_syn and conversation.flow(packet.sender).base not in (None, packet.seq)
        ):
            conversation = live[packet.key] = Conversation(count)
            count += 1
        elif fresh_syn and conversation.flow(packet.sender).base == packet.seq:
            flow = conversation.flow(packet.sender)
            flow.next_seq = flow.to_be_acked
        streams[packet.frame] = conversation.stream
        length = packet.payload if believes_ip else packet.payload - packet.beyond_frame
        if packet.payload >= 0 and length >= 0 and not packet.fragment:
            situations[packet.frame] = _take(conversation, packet, length)
    return Analysis(situations, streams)


def printed(packet: Packet, situation: Situation) -> frozenset[str]:
    """The flags that tshark prints.

    None when the snap length cut the TCP options, because dissection ends there.
    """
    return (
        frozenset()
        if packet.header_cut
        else situation.flags - {"keep_alive_ack", "zero_window_probe_ack"}
    )


def _take(conversation: Conversation, packet: Packet, length: int) -> Situation:
    forward, reverse = conversation.flow(packet.sender), conversation.flow(packet.receiver)
    if forward.base is None:
        forward.base = packet.seq if packet.has(SYN) else (packet.seq - 1) & 0xFFFFFFFF
    elif packet.flags & (SYN | ACK) == SYN | ACK:
        forward.base = packet.seq
    if reverse.base is None and packet.has(ACK):
        reverse.base = (packet.ack - 1) & 0xFFFFFFFF
    threshold = conversation.first_rtt_ns or REORDERING_NS
    to_be_acked, repeats = reverse.to_be_acked, reverse.duplicates != 0
    flags = _acknowledgement_flags(forward, reverse, packet, length)
    flags |= _unseen_flag(forward, reverse, packet)
    again = "keep_alive" not in flags and (length > 0 or packet.has(SYN | FIN))
    if again and (kind := _retransmission_kind(forward, reverse, packet, length, threshold)):
        flags.add(kind)
    situation = Situation(
        frozenset(flags),
        length,
        forward.next_seq,
        not (forward.next_seq and _after(forward.next_seq, packet.seq)),
        reverse.last_ack,
        reverse.duplicates,
        repeats,
        packet.time_ns - reverse.last_ack_ns,
        packet.time_ns - forward.next_seq_ns,
        threshold,
        forward.window,
        forward.last_ack,
        reverse.window,
        reverse.next_seq,
        to_be_acked,
        reverse.last_flags,
    )
    _remember(conversation, forward, packet, length, flags)
    return situation


def _acknowledgement_flags(forward: Flow, reverse: Flow, packet: Packet, length: int) -> set[str]:
    """Everything before the question of retransmission; also counts duplicate ACKs."""
    flags: set[str] = set()
    closing = packet.has(SYN | FIN | RST)
    repeats = (
        length == 0
        and not closing
        and packet.seq == forward.next_seq
        and packet.ack == forward.last_ack
    )
    same_window = packet.window == forward.window
    if length == 1 and packet.seq == forward.next_seq and reverse.window == 0:
        flags.add("zero_window_probe")
    else:
        if packet.window == 0 and not closing:
            flags.add("zero_window")
        if forward.next_seq and _after(packet.seq, forward.next_seq) and not packet.has(RST):
            flags.add("lost_segment")
        if length <= 1 and packet.seq == (forward.next_seq - 1) & 0xFFFFFFFF and not closing:
            flags.add("keep_alive")
        if repeats and packet.window and same_window and "keep_alive" in reverse.last_flags:
            flags.add("keep_alive_ack")
        elif (
            repeats
            and not packet.window
            and same_window
            and "zero_window_probe" in reverse.last_flags
        ):
            flags.add("zero_window_probe_ack")
        elif repeats and packet.window and same_window:
            forward.duplicates = 1 if forward.duplicates == -1 else forward.duplicates + 1
            flags.add("duplicate_ack")
    if packet.ack != forward.last_ack:
        forward.duplicates = 0
    return flags


def _unseen_flag(forward: Flow, reverse: Flow, packet: Packet) -> set[str]:
    if not (packet.has(ACK) and reverse.to_be_acked and _after(packet.ack, reverse.to_be_acked)):
        return set()
    if _after(reverse.next_seq, reverse.to_be_acked):
        reverse.to_be_acked = reverse.next_seq
        return {"ack_lost_segment"}
    flagged = reverse.duplicates == 0
    reverse.duplicates = -1
    return {"ack_lost_segment"} if flagged else set()


def _retransmission_kind(
    forward: Flow, reverse: Flow, packet: Packet, length: int, threshold: int
) -> str:
    behind = bool(forward.next_seq) and _after(forward.next_seq, packet.seq)
    if length > 1 and (forward.next_seq - 1) & 0xFFFFFFFF == packet.seq:
        behind = False
    if length > 0 and reverse.last_ack and not _after(packet.seq + length, reverse.last_ack):
        return "spurious_retransmission"
    if not behind:
        return ""
    # The differences of times are unsigned in the dissector: a step back is a very long time.
    since_ack, since_highest = (
        packet.time_ns - reverse.last_ack_ns,
        packet.time_ns - forward.next_seq_ns,
    )
    # The count is unsigned in the dissector, so that its mark for "an unseen segment was
    # acknowledged" (-1) is a very large one.
    if (
        (reverse.duplicates >= 2 or reverse.duplicates == -1)
        and reverse.last_ack == packet.seq
        and 0 <= since_ack < FAST_NS
    ):
        return "fast_retransmission"
    end = (packet.seq + length + packet.has(SYN | FIN)) & 0xFFFFFFFF
    if 0 <= since_highest < threshold and end != forward.next_seq:
        return "out_of_order"
    return "retransmission"


def _remember(
    conversation: Conversation, forward: Flow, packet: Packet, length: int, flags: set[str]
) -> None:
    next_seq = (packet.seq + length + packet.has(SYN | FIN)) & 0xFFFFFFFF
    probe = "zero_window_probe" in flags
    if not probe and (not forward.next_seq or _after(next_seq, forward.next_seq)):
        forward.next_seq, forward.next_seq_ns = next_seq, packet.time_ns
    if not probe and (not forward.to_be_acked or packet.seq == forward.to_be_acked):
        forward.to_be_acked = forward.next_seq
    forward.window, forward.last_ack, forward.last_ack_ns = (
        packet.window,
        packet.ack,
        packet.time_ns,
    )
    forward.last_flags = frozenset(flags)
    if packet.flags & (SYN | ACK) == SYN:
        conversation.syn_ns = packet.time_ns
    elif (
        packet.flags & (SYN | ACK) == ACK and conversation.syn_ns and not conversation.first_rtt_ns
    ):
        conversation.first_rtt_ns = packet.time_ns - conversation.syn_ns
