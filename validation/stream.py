"""One direction of a connection by the definitions trustbed documents: slow, plain, exact.

The twin of trustbed's flow engine for everything that tcptrace and tshark also report: which bytes
are new or seen before, why a segment was sent again, which holes were filled, which ACKs give a
round-trip time (Karn's rule on bytes). Sources: RFC 9293, 6675 (DupThresh 3), 2883 (DSACK), 6298.
Offsets are unbounded integers, 0 is the first payload byte.

Does not distinguish tail-loss probes from other timeouts, and stores everything: memory grows with
the capture.
"""

from dataclasses import dataclass, field

from validation.packets import ACK, FIN, RST, SYN, Packet
from validation.ranges import Ranges

WILD = 1 << 30
REORDERING_NS = 3_000_000
LARGEST_SHIFT = 14
# Retransmissions that a later DSACK may still declare unnecessary: trustbed remembers so many.
REMEMBERED = 64


@dataclass(slots=True)
class Sent:
    """Outstanding bytes that were sent together."""

    start: int
    end: int
    first_ns: int
    last_ns: int
    frame: int
    count: int = 1
    timed: bool = True


@dataclass(slots=True)
class Hole:
    """Bytes below the highest one seen that the capture has not held."""

    start: int
    end: int
    since_ns: int
    tsval: int | None
    # Sent before the capture held anything of the sender: unknown, not missing.
    before: bool = False


@dataclass(slots=True)
class Outcome:
    """What became of one packet with payload."""

    packet: Packet
    kind: str
    cause: str = ""
    start: int = 0
    overlap: int = 0
    fresh: int = 0
    una: int = 0
    highest: int = 0


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """An ACK's evidence of the round-trip time: `verdict` "sample", or why it gave none.

    `handshake`: of a SYN or SYN-ACK.
    """

    verdict: str
    rtt_ns: int
    ack_frame: int
    sent_frame: int
    handshake: bool = False


@dataclass(slots=True)
class Stream:
    """One direction: counters, and what has to be remembered to count on."""

    packets: int = 0
    frames: list[int] = field(default_factory=list)
    payload_bytes: int = 0
    data_packets: int = 0
    unique_bytes: int = 0
    retransmitted_packets: int = 0
    retransmitted_bytes: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    duplicate_acks: list[int] = field(default_factory=list)
    keep_alives: list[int] = field(default_factory=list)
    window_probes: list[int] = field(default_factory=list)
    zero_windows: list[int] = field(default_factory=list)
    openers: list[int] = field(default_factory=list)
    unseen_acks: list[int] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    round_trips: list[RoundTrip] = field(default_factory=list)
    handshake: RoundTrip | None = None

    base: int | None = None
    numbered: bool = False
    syn: int | None = None
    syn_ack: bool = False
    highest: int = 0
    una: int = 0
    lowest: int = 0
    fin: int | None = None
    fin_with_data: bool = False
    acknowledged: bool = False
    probe_pending: bool = False
    seen: Ranges = field(default_factory=Ranges)
    sacked: Ranges = field(default_factory=Ranges)
    sent: list[Sent] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    again: list[Outcome] = field(default_factory=list)
    duplicates: int = 0
    duplicates_before: int = 0
    evidence: tuple[int, int] = (0, 0)
    nearest_ns: int | None = None
    mss: int = 0
    mss_known: bool = False
    mss_option: int = 0
    scale_offered: int | None = None
    scale_known: bool = False
    shift: int = 0
    window: int | None = None
    raw_window: int = 0
    window_known: bool = False

    def offset(self, number: int, near: int) -> int:
        """The 64-bit offset nearest to `near` whose low 32 bits belong to this sequence number."""
        assert self.base is not None
        distance = (number - self.base - near) & 0xFFFFFFFF
        return near + (distance - (1 << 32) if distance >= 1 << 31 else distance)

    @property
    def unseen_at_end(self) -> int:
        """Bytes that the peer acknowledged and the capture, though it ran, never held.

        A last missing byte may be a FIN.
        """
        end = self.una - 1 if self.fin is None else self.una
        return sum(
            max(0, min(hole.end, end) - hole.start) for hole in self.holes if not hole.before
        )

    @property
    def outstanding(self) -> int:
        """Bytes sent and not acknowledged."""
        return self.highest - self.una

    @property
    def next_number(self) -> int:
        """The number after the highest used: a FIN uses one (RFC 9293, section 3.4)."""
        return self.highest if self.fin is None else max(self.highest, self.fin + 1)

    def on_number(self, packet: Packet, *, midstream: bool) -> None:
        """A sequence number (never a SYN's).

        The sender's first one in a running connection excuses what lies below it.
        """
        if self.base is None:
            self.base, self.numbered = packet.seq, True
        at = self.offset(packet.seq, self.highest)
        if self.numbered or packet.has(RST) or abs(at - self.highest) > WILD:
            return
        self.numbered = True
        if not midstream:
            return
        now: list[Hole] = []
        for hole in [
            *self.holes,
            Hole(self.highest, max(self.highest, at), packet.time_ns, packet.tsval),
        ]:
            middle = min(max(hole.start, at), hole.end)
            now.append(Hole(hole.start, middle, hole.since_ns, hole.tsval, before=True))
            now.append(Hole(middle, hole.end, hole.since_ns, hole.tsval))
        self.holes = [hole for hole in now if hole.start < hole.end]
        self.highest = max(self.highest, at)

    def advertise(self, raw: int, peer_outstanding: int) -> None:
        """A window field of this endpoint (never a SYN's)."""
        self.raw_window, self.window_known = raw, True
        if not self.scale_known:
            while self.shift < LARGEST_SHIFT and raw > 0 and raw << self.shift < peer_outstanding:
                self.shift += 1
        self.window = raw << self.shift

    # Data
    # ----------------------------------------------------------------------------------------------

    def on_payload(self, packet: Packet, peer_window: int | None) -> Outcome | None:
        """A packet of this direction that carries payload.

        None when its numbers are far from all others.
        """
        start = self.offset((packet.seq + packet.has(SYN)) & 0xFFFFFFFF, self.highest)
        if abs(start - self.highest) > WILD:
            return None
        end = start + packet.payload
        outcome = Outcome(packet, "new", start=start, una=self.una, highest=self.highest)
        self.outcomes[packet.frame] = outcome
        if (
            packet.payload == 1
            and not packet.has(SYN | FIN | RST)
            and start == self.next_number - 1
            and self.packets > 1
        ):
            outcome.kind = "keep_alive"
            self.keep_alives.append(packet.frame)
            return outcome
        if packet.payload == 1 and peer_window == 0 and start in (self.highest, self.una):
            outcome.kind = "window_probe"
            self.window_probes.append(packet.frame)
            self.probe_pending = start == self.highest
            return outcome
        self._note_size(packet)
        self.data_packets += 1
        self.payload_bytes += packet.payload
        if start > self.highest:
            self._skip(start, packet)
        if start < self.highest:
            self._classify_below(outcome, end)
        outcome.overlap = self.seen.add(start, end)
        outcome.fresh = packet.payload - outcome.overlap
        self._send(outcome, end)
        self.unique_bytes += outcome.fresh
        if outcome.kind == "retransmission":
            self.retransmitted_packets += 1
            self.retransmitted_bytes += outcome.overlap
        if outcome.cause:
            self.causes[outcome.cause] = self.causes.get(outcome.cause, 0) + 1
        return outcome

    def on_later_fragment(self, packet: Packet) -> None:
        """The rest of a segment: its bytes were seen, and no time is taken from them."""
        self.payload_bytes += packet.payload
        if packet.tcp_header or self.base is None:
            return
        start = self.offset(packet.seq, self.highest)
        if abs(start - self.highest) > WILD:
            return
        end = start + packet.payload
        outcome = Outcome(packet, "fragment", start=start, una=self.una, highest=self.highest)
        if start > self.highest:
            self._skip(start, packet)
        outcome.overlap = self.seen.add(start, end)
        outcome.fresh = packet.payload - outcome.overlap
        self.unique_bytes += outcome.fresh
        self.outcomes[packet.frame] = outcome
        before = self.highest
        self._send(outcome, end)
        for sent in self.sent:
            sent.timed = sent.timed and sent.start < before

    def _note_size(self, packet: Packet) -> None:
        if not self.data_packets and self.mss_known and packet.tsval is not None:
            self.mss -= 12
        if not self.mss_known and packet.payload <= 1460:
            self.mss = max(self.mss, packet.payload)

    @property
    def segment_size(self) -> int:
        """The largest payload of one wire segment."""
        return self.mss or 1448

    def _skip(self, start: int, packet: Packet) -> None:
        """Bytes between the highest seen and a segment beyond it.

        Missing, or unknown when nothing came before.
        """
        if self.data_packets == 1 and self.syn is None and not self.acknowledged:
            self.una = self.highest = self.lowest = start
        else:
            self.holes.append(Hole(self.highest, start, packet.time_ns, packet.tsval))
            self.openers.append(packet.frame)

    def _classify_below(self, outcome: Outcome, end: int) -> None:
        top = min(end, self.highest)
        if self.seen.overlap(outcome.start, top):
            outcome.kind, outcome.cause = "retransmission", self._why_again(outcome, end)
            self.evidence = (outcome.start, self.sacked.above(end))
            if outcome.start <= self.una:
                self.duplicates_before = self.duplicates
            self.again = [*self.again[1 - REMEMBERED :], outcome]
        else:
            outcome.kind, outcome.cause = "fill", self._why_late(outcome, top)

    def _why_again(self, outcome: Outcome, end: int) -> str:
        start = max(outcome.start, self.una)
        if end <= self.una or self.sacked.overlap(start, end) == end - start:
            return "spurious"
        if outcome.start <= self.una and self.duplicates - self.duplicates_before >= 3:
            return "fast"
        # What was reported above it counts from its last transmission on; trustbed remembers that
        # of the latest retransmission.
        before = self.evidence[1] if self.evidence[0] == outcome.start else 0
        return "fast" if self.sacked.above(end) - before > 2 * self.segment_size else "timeout"

    def _why_late(self, outcome: Outcome, top: int) -> str:
        hole = next((h for h in self.holes if h.start < top and outcome.start < h.end), None)
        if hole is None:
            return "lost_upstream"
        limit = max(REORDERING_NS, (self.nearest_ns or 0) // 2)
        evidence = outcome.start <= self.una and self.duplicates >= 3
        evidence |= self.sacked.above(top) > 2 * self.segment_size
        packet = outcome.packet
        newer = (
            packet.tsval is not None
            and hole.tsval is not None
            and 0 < ((packet.tsval - hole.tsval) & 0xFFFFFFFF) < 1 << 31
        )
        early = packet.time_ns - hole.since_ns < limit
        return "reordered" if early and not evidence and not newer else "lost_upstream"

    def _send(self, outcome: Outcome, end: int) -> None:
        """Enters a segment into what is outstanding."""
        start, packet, below = outcome.start, outcome.packet, min(end, self.highest)
        if start < below:
            if end < self.lowest:
                self.holes.append(Hole(end, self.lowest, packet.time_ns, packet.tsval, before=True))
            self._cut(max(start, self.una))
            self._cut(below)
            for sent in self.sent:
                if max(start, self.una) <= sent.start < below:
                    sent.count += 1
                    sent.last_ns = packet.time_ns
            self._fill(outcome, below)
            self.lowest = min(self.lowest, start)
        if end > self.highest:
            self.sent.append(
                Sent(max(start, self.highest), end, packet.time_ns, packet.time_ns, packet.frame)
            )
            self.highest = end
            self.probe_pending = False

    def _cut(self, at: int) -> None:
        for index, sent in enumerate(self.sent):
            if sent.start < at < sent.end:
                tail = Sent(
                    at, sent.end, sent.first_ns, sent.last_ns, sent.frame, sent.count, sent.timed
                )
                sent.end = at
                self.sent.insert(index + 1, tail)
                return

    def _fill(self, outcome: Outcome, end: int) -> None:
        left: list[Hole] = []
        packet, timed = outcome.packet, outcome.cause == "reordered"
        for hole in self.holes:
            low, high = max(outcome.start, hole.start), min(end, hole.end)
            if low >= high:
                left.append(hole)
                continue
            if high > self.una:
                # What was lost before the capture had been sent before: it gives no time.
                self.sent.append(
                    Sent(low, high, packet.time_ns, packet.time_ns, packet.frame, timed=timed)
                )
            if hole.start < low:
                left.append(Hole(hole.start, low, hole.since_ns, hole.tsval, hole.before))
            if high < hole.end:
                left.append(Hole(high, hole.end, hole.since_ns, hole.tsval, hole.before))
        self.holes = left
        self.sent.sort(key=lambda each: each.start)

    def on_fin(self, packet: Packet) -> None:
        """A FIN at the end of this packet."""
        at = self.offset(packet.seq, self.highest) + packet.payload
        if self.fin is None and abs(at - self.highest) <= WILD:
            self.fin, self.fin_with_data = at, packet.payload > 0

    # Acknowledgements
    # -------------------------------------------------------------------------------------------

    def on_ack(self, packet: Packet, *, window_changed: bool) -> None:
        """An acknowledgement from the peer for this direction's data."""
        if self.base is None:
            self.base = packet.ack
        to = self.offset(packet.ack, self.highest)
        if abs(to - self.highest) > WILD:
            return
        if not self.acknowledged and self.syn is None and to < self.una:
            # Already running when the capture began: what is outstanding reaches further back than
            # what was seen.
            self.una = to
        self.acknowledged = True
        with_fin = self.fin is not None and to == self.fin + 1
        to -= with_fin
        fresh_sack = self._on_sack(packet, to)
        if to > self.una:
            self._advance(to, packet, with_fin=with_fin)
        elif (
            to == self.una
            and self.outstanding > 0
            and packet.span == 0
            and (not window_changed or fresh_sack)
        ):
            self.duplicates += 1
            self.duplicate_acks.append(packet.frame)

    def _advance(self, to: int, packet: Packet, *, with_fin: bool) -> None:
        self.duplicates = self.duplicates_before = 0
        unseen = to > self.highest
        if unseen:
            if self.probe_pending and to == self.highest + 1:
                self.unique_bytes += 1
                self.seen.add(self.highest, to)
                self.outcomes[self.window_probes[-1]].fresh = 1
            else:
                self.holes.append(Hole(self.highest, to, packet.time_ns, None))
            self.highest, self.probe_pending = to, False
        unseen |= self.seen.overlap(self.una, to) < to - self.una
        if unseen and to > self.una and self.seen.overlap(self.una, to) < to - self.una:
            self.unseen_acks.append(packet.frame)
        covered = [s for s in self.sent if s.start < to]
        self.sent = [s for s in self.sent if s.end > to]
        self.una = to
        verdict, rtt = self._verdict(covered, to, packet, unseen=unseen, with_fin=with_fin)
        self.round_trips.append(
            RoundTrip(verdict, rtt, packet.frame, covered[-1].frame if covered else 0)
        )

    def _verdict(
        self, covered: list[Sent], to: int, packet: Packet, *, unseen: bool, with_fin: bool
    ) -> tuple[str, int]:
        if not covered:
            return "unseen", 0
        if any(s.count > 1 for s in covered):
            return "ambiguous", 0
        last = covered[-1]
        if unseen or to > last.end or not all(s.timed for s in covered):
            return "unseen", 0
        inside_packet = (
            last.end - last.start <= self.segment_size or (to - last.start) % self.segment_size
        )
        if to != last.end and inside_packet:
            return "inside", 0
        if with_fin and not self.fin_with_data:
            return "fin", 0
        if packet.fragment:
            return "fragment", 0
        rtt = packet.time_ns - last.first_ns
        if rtt <= 0:
            return "not_positive", rtt
        self.nearest_ns = rtt if self.nearest_ns is None else min(self.nearest_ns, rtt)
        return "sample", rtt

    def _on_sack(self, packet: Packet, ack: int) -> bool:
        una, fresh = max(self.una, ack), False
        blocks = [
            (self.offset(left, self.highest), (right - left) & 0xFFFFFFFF)
            for left, right in packet.sack[:4]
        ]
        spans = [(left, left + length) for left, length in blocks]
        valid = [
            left < right <= self.highest and abs(left - self.highest) <= WILD
            for left, right in spans
        ]
        second = len(spans) > 1 and spans[1][0] <= spans[0][0] and spans[0][1] <= spans[1][1]
        duplicate = bool(spans) and valid[0] and (spans[0][1] <= ack or second)
        if duplicate:
            self._disprove(*spans[0])
        for (left, right), good in list(zip(spans, valid, strict=True))[1 if duplicate else 0 :]:
            if good and (low := max(left, una)) < right:
                fresh |= self.sacked.add(low, right) < right - low
        return fresh

    def _disprove(self, start: int, end: int) -> None:
        """The receiver had these bytes before.

        The oldest retransmission of them that counts as needed was not.
        """
        for outcome in self.again:
            if (
                outcome.cause != "spurious"
                and start <= outcome.start
                and outcome.start + outcome.packet.payload <= end
            ):
                self.causes[outcome.cause] -= 1
                self.causes["spurious"] = self.causes.get("spurious", 0) + 1
                outcome.cause = "spurious"
                outcome.kind = "retransmission"
                self.again.remove(outcome)
                return

    def on_clock_step(self) -> None:
        """Nothing that spans the step is a time."""
        for sent in self.sent:
            sent.timed = False


def acknowledges(packet: Packet) -> bool:
    """Whether a packet's ACK field is about the peer's data (a RST's is ignored)."""
    return packet.has(ACK) and not packet.has(RST)
