"""What tcptrace 6.6.7 does with each packet, step by step.

A model of the rules of its `FindTTP`, `dotrace`, `rexmit` and `ack_in` (trace.c and rexmit.c, Ohio
University): which packets it counts, where it cuts connections, which bytes it calls retransmitted,
which ACKs give a round-trip time. Its only use is to find *which packet* made a total of tcptrace
differ from trustbed's. `compare` checks on every capture that the totals of this model are those
that tcptrace printed; where they are not, nothing is explained.

Not modelled: checksums (tcptrace verifies them only on request), UDP, filters.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from validation.packets import ACK, FIN, RST, SYN, Packet

IDLE_SECONDS = 240
QUADRANT = 1 << 30


@dataclass(slots=True, eq=False)
class Segment:
    """A recorded segment.

    Sequence numbers are the raw 32 bits, `last` is inclusive, as in tcptrace.
    """

    first: int
    last: int
    time_us: int
    frame: int
    retransmissions: int = 0
    acks: int = 0


@dataclass(slots=True, eq=False)
class _Quadrant:
    """A quarter of the sequence space: its segments in ascending order and its neighbours."""

    segments: list[Segment] = field(default_factory=list)
    before: "_Quadrant | None" = None
    after: "_Quadrant | None" = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A round-trip time tcptrace takes.

    From the segment recorded at `frame`, ended by the ACK at `ack_frame`.
    """

    rtt_us: int
    frame: int
    ack_frame: int
    first: int
    last: int


@dataclass(slots=True)
class Side:
    """One direction of a connection and its totals."""

    packets: int = 0
    data_packets: int = 0
    data_bytes: int = 0
    unique_bytes: int = 0
    retransmitted_packets: int = 0
    retransmitted_bytes: int = 0
    samples: list[Sample] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    syns: int = 0
    fins: int = 0
    resets: int = 0
    syn: int = 0
    window_end: int = 0
    window_last: int = 0
    scales: bool = False
    scale: int = 0
    quadrants: list[_Quadrant | None] = field(default_factory=lambda: [None] * 4)
    effects: dict[int, "Effect"] = field(default_factory=dict)

    @property
    def rtt_mean_us(self) -> float:
        """The mean as tcptrace prints it.

        It divides by a ten-thousandth more than the number of samples.
        """
        return sum(sample.rtt_us for sample in self.samples) / (len(self.samples) + 0.0001)

    @property
    def rtt_min_us(self) -> int:
        """The smallest sample, by tcptrace's rule that a minimum of 0 means "none yet"."""
        least = 0
        for sample in self.samples:
            if least == 0 or sample.rtt_us < least:
                least = sample.rtt_us
        return least


@dataclass(frozen=True, slots=True)
class Effect:
    """What one packet added to the totals of its direction."""

    data: bool
    retransmitted_bytes: int
    unique_bytes: int
    probe: bool


@dataclass(slots=True)
class Pair:
    """A connection as tcptrace sees it; side 0 is the sender of its first packet."""

    endpoints: tuple[tuple[str, int], tuple[str, int]]
    sides: tuple[Side, Side] = field(default_factory=lambda: (Side(), Side()))
    last_us: int = 0

    def side(self, endpoint: tuple[str, int]) -> Side:
        """The direction sent by `endpoint`."""
        return self.sides[0] if endpoint == self.endpoints[0] else self.sides[1]


def visible(packet: Packet) -> bool:
    """Whether tcptrace finds the TCP header.

    It opens one VLAN tag but no stack of them, no labels and no tunnel.

    A packet whose IP header has length 0 (segmentation offload) ends for tcptrace before its TCP
    header.
    """
    return packet.wrapping in ((), ("vlan",), ("fddi",)) and not packet.ip_length_zero


def payload(packet: Packet) -> int:
    """Bytes that count as payload: the IPv6 payload length without taking off extension headers."""
    return packet.payload + packet.extension_bytes


def trace(packets: Iterable[Packet]) -> list[Pair]:
    """All connections in the order in which tcptrace numbers them."""
    pairs: list[Pair] = []
    live: dict[tuple[tuple[str, int], tuple[str, int]], Pair] = {}
    for packet in packets:
        if not visible(packet):
            continue
        pair = live.get(packet.key)
        if pair is None or _ends(pair, packet):
            pair = live[packet.key] = Pair((packet.sender, packet.receiver))
            pairs.append(pair)
        _take(pair, packet)
    return pairs


def trace_alone(packets: Iterable[Packet]) -> Pair | None:
    """The packets taken as one connection, however tcptrace would cut them.

    None when it opens none of them.
    """
    pair: Pair | None = None
    for packet in packets:
        if visible(packet):
            pair = pair or Pair((packet.sender, packet.receiver))
            _take(pair, packet)
    return pair


def _ends(pair: Pair, packet: Packet) -> bool:
    """Whether a packet on known endpoints starts another connection."""
    now, this, other = packet.time_ns // 1000, pair.side(packet.sender), pair.side(packet.receiver)
    if now - pair.last_us > IDLE_SECONDS * 1_000_000:
        return True
    if not packet.has(SYN):
        return False
    closing = this.fins or other.fins or this.resets or other.resets
    # Stored in 32 bits, compared in 64: not modulo 2³².
    if closing and (packet.seq > other.window_end or packet.seq < this.syn):
        return True
    return this.syns > 1 and this.syn != packet.seq


def _take(pair: Pair, packet: Packet) -> None:
    this, other = pair.side(packet.sender), pair.side(packet.receiver)
    now = packet.time_ns // 1000
    pair.last_us = now
    this.syns += packet.has(SYN)
    this.resets += packet.has(RST)
    this.fins += packet.has(FIN)
    window = packet.window if packet.has(ACK | SYN) else 0
    if this.scales and other.scales and not packet.has(SYN):
        window <<= this.scale
    if packet.has(SYN):
        this.syn = packet.seq
    if packet.has(ACK):
        this.window_end = (packet.ack + window) & 0xFFFFFFFF
    if packet.window_scale is not None:
        this.scales, this.scale = True, packet.window_scale
    length = payload(packet)
    this.packets += 1
    this.frames.append(packet.frame)
    if length > 0:
        this.data_packets += 1
        this.data_bytes += length
    if packet.has(SYN | FIN) or length > 0:
        _record(this, other, packet, length, now)
    if packet.has(ACK):
        sample = _acknowledge(other, packet.ack, now, packet.frame)
        if sample is not None:
            other.samples.append(sample)
    if not packet.has(RST):
        this.window_last = window


def _record(this: Side, other: Side, packet: Packet, length: int, now: int) -> None:
    probe = not packet.has(SYN) and other.window_last == 0 and other.packets > 0
    again = (
        0
        if probe
        else _add(this, packet.seq, length + packet.has(SYN) + packet.has(FIN), now, packet.frame)
    )
    counted = again - (packet.has(SYN) and this.syns > 1) - (packet.has(FIN) and this.fins > 1)
    unique = 0 if probe else max(0, length - counted)
    this.unique_bytes += unique
    if again > 0:
        this.retransmitted_packets += 1
        this.retransmitted_bytes += again
    this.effects[packet.frame] = Effect(length > 0, again, unique, probe)


def _quadrant(side: Side, seq: int) -> _Quadrant:
    """The quadrant of a sequence number; entering it forgets the opposite one."""
    at = seq >> 30
    here = side.quadrants[at]
    if here is not None and here.before is not None and here.after is not None:
        return here
    ring = side.quadrants
    for index in (at, (at + 1) % 4, (at + 3) % 4):
        if ring[index] is None:
            ring[index] = _Quadrant()
    ring[(at + 2) % 4] = None
    here, following, previous = ring[at], ring[(at + 1) % 4], ring[(at + 3) % 4]
    assert here is not None
    assert following is not None
    assert previous is not None
    here.before, here.after = previous, following
    following.before, following.after = here, None
    previous.after, previous.before = here, None
    return here


def _add(side: Side, seq: int, length: int, now: int, frame: int) -> int:
    """Records a segment and returns how many of its sequence numbers were recorded before."""
    last = (seq + length - 1) & 0xFFFFFFFF
    here = _quadrant(side, seq)
    if seq >> 30 == last >> 30:
        return _add_in(here, seq, last, now, frame)
    edge = (seq >> 30) * QUADRANT + QUADRANT - 1
    again = _add_in(here, seq, edge, now, frame)
    assert here.after is not None
    return again + _add_in(here.after, (edge + 1) & 0xFFFFFFFF, last, now, frame)


def _add_in(quadrant: _Quadrant, first: int, last: int, now: int, frame: int) -> int:
    segments, again, split = quadrant.segments, 0, False
    at = len(segments) if segments and first > segments[-1].last else 0
    while at < len(segments):
        segment = segments[at]
        if first > segment.last:
            at += 1
            continue
        if first < segment.first:
            piece = Segment(first, last, now, frame)
            segments.insert(at, piece)
            at += 1
            if last < segment.first:
                return again
            piece.last = segment.first - 1
            first = segment.first
        segment.retransmissions += 1
        if not split:
            segment.time_us = now
        if last <= segment.last:
            return again + last - first + 1
        split = True
        again += segment.last - first + 1
        first = segment.last + 1
        at += 1
    segments.append(Segment(first, last, now, frame))
    return again


def _acknowledge(side: Side, ack: int, now: int, frame: int) -> Sample | None:
    """Marks what an ACK covers.

    The round-trip time if the ACK ends exactly at a segment that was sent once.
    """
    here = _quadrant(side, ack)
    newest, sample, changed = 0, None, False
    previous = here.before
    assert previous is not None
    for segment in previous.segments:
        if not segment.acks:
            segment.acks, changed = 1, True
            newest = max(newest, segment.time_us)
    if changed:
        _collapse(previous)
    changed = False
    for segment in here.segments:
        if ack <= segment.first:
            break
        newest = max(newest, segment.time_us)
        if segment.acks:
            segment.acks += 1
            continue
        segment.acks, changed = 1, True
        if ack == segment.last + 1 and newest <= segment.time_us and segment.retransmissions == 0:
            sample = Sample(
                max(0, now - segment.time_us), segment.frame, frame, segment.first, segment.last
            )
    if changed:
        _collapse(here)
    return sample


def _collapse(quadrant: _Quadrant) -> None:
    """Joins neighbouring acknowledged segments from the front on."""
    segments, at = quadrant.segments, 0
    while at + 1 < len(segments) and segments[at].acks:
        this, following = segments[at], segments[at + 1]
        if following.acks and this.last + 1 == following.first:
            this.last, this.acks, this.time_us = (
                following.last,
                following.acks,
                max(this.time_us, following.time_us),
            )
            del segments[at + 1]
        else:
            at += 1
