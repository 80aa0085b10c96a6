"""The published detector of policing, computed from packets: the measure that ours is held against.

Flach et al., *An Internet-Wide Analysis of Traffic Policing*, SIGCOMM 2016, section 3 and the
constants of the authors' code. Implemented from the description; nothing is shared with trustbed's
own test for policing. Pure.

A packet is lost when its bytes are sent again later and no D-SACK says that this was needless. A
connection is cut into objects: what one side sends between two requests of the other. Each object
is tried by itself, once with all losses and once without the first and last two.

Bias: that of the paper. A bucket that other traffic empties as well is mostly not found, and one
that refills between two objects is found only in the single object.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean, median
from typing import Final, TypeAlias

from validation.packets import ACK, Packet

LEAST_SAMPLES: Final = 15
LEAST_SLICES: Final = 3
LATEST_FIRST_LOSS_BYTES: Final = 2_000_000
LOSS_RTTS: Final = 2.0
PASS_RTTS: Final = 0.75
LOSS_OUTSIDE: Final = 0.10
PASS_OUTSIDE: Final = 0.03
INFLATED_FACTOR: Final = 1.3
INFLATED_SECONDS: Final = 0.020
INFLATED_LOSSES: Final = 0.2
CUTOFFS: Final = (0, 2)

_HALF, _WHOLE = 1 << 31, 1 << 32

_Pending: TypeAlias = tuple[int, int, "Sent"]
"""A packet that is not yet acknowledged, behind its sequence number and index."""


@dataclass(slots=True, kw_only=True, eq=False)
class Sent:
    """A packet of the sending side; times in seconds, ``ack`` when it was acknowledged."""

    time: float
    seq: int
    end: int
    payload: int
    index: int
    ack: float | None = None
    ack_index: int = -1
    is_repeated: bool = False
    is_needless: bool = False

    @property
    def is_lost(self) -> bool:
        """Whether its bytes had to be sent again."""
        return self.is_repeated and not self.is_needless


@dataclass(frozen=True, slots=True)
class Found:
    """What the detector says about one object; ``why_not`` is empty where it is policed."""

    why_not: str
    rate_bytes_per_second: float = 0.0

    @property
    def is_policed(self) -> bool:
        """Whether every condition holds."""
        return not self.why_not


@dataclass(slots=True)
class Flow:
    """The packets of one side of a connection, cut into the objects that the other asked for."""

    objects: list[list[Sent]] = field(default_factory=list)
    packets: list[Sent] = field(default_factory=list)
    """Those with payload."""

    @property
    def loss_share(self) -> float:
        """Lost packets over all with payload."""
        lost = sum(sent.is_lost for sent in self.packets)
        return lost / len(self.packets) if self.packets else 0.0

    def covering(self, seq: int) -> Sent | None:
        """The packet that carried this byte last."""
        return next((sent for sent in reversed(self.packets) if sent.seq <= seq < sent.end), None)


def flow(packets: Sequence[Packet], sender: tuple[str, int]) -> Flow:
    """What one side of a connection sent, with losses and acknowledgements found.

    ``packets`` are those of the connection, both directions, in the order of the capture.
    """
    found = Flow()
    pending: list[_Pending] = []
    sent_at: dict[int, list[Sent]] = {}
    highest: int | None = None
    first: int | None = None
    acked = -_WHOLE
    is_asked = True
    for index, packet in enumerate(packets):
        if packet.sender == sender:
            first = packet.seq if first is None else first
            seq = _unwrapped(packet.seq, first if highest is None else highest)
            one = Sent(
                time=packet.time_ns / 1e9,
                seq=seq,
                end=seq + packet.payload,
                payload=packet.payload,
                index=index,
            )
            if packet.payload and is_asked:
                found.objects.append([])
                is_asked = False
            if found.objects:
                found.objects[-1].append(one)
            if packet.payload:
                if highest is not None and one.seq < highest:
                    _note_repeat(one, sent_at, found)
                sent_at.setdefault(one.seq, []).append(one)
                found.packets.append(one)
                insort(pending, (one.seq, index, one))
                highest = one.end if highest is None else max(one.end, highest)
        else:
            is_asked |= packet.payload > 0
            if highest is not None and packet.has(ACK):
                ack = _unwrapped(packet.ack, highest)
                time = packet.time_ns / 1e9
                if ack > acked:
                    acked = ack
                    _acknowledge(pending, first or 0, ack, time, index)
                for left, right in packet.sack:
                    low, high = _unwrapped(left, highest), _unwrapped(right, highest)
                    _acknowledge(pending, low, high, time, index)
                    if low < high <= ack:
                        _note_needless(sent_at.get(low, []), high)
    return found


def _unwrapped(number: int, near: int) -> int:
    """The value that is nearest to ``near`` among those with this remainder."""
    return near + (number - near + _HALF) % _WHOLE - _HALF


def _note_repeat(one: Sent, sent_at: dict[int, list[Sent]], found: Flow) -> None:
    at_same = sent_at.get(one.seq)
    earlier = at_same[-1] if at_same else found.covering(one.seq)
    if earlier is not None:
        earlier.is_repeated = True


def _note_needless(at_same: list[Sent], high: int) -> None:
    """Marks what a D-SACK says: the last packet of these bytes that was sent again."""
    for sent in reversed(at_same):
        if sent.is_repeated and high <= sent.end:
            sent.is_needless = True
            return


def _acknowledge(pending: list[_Pending], low: int, high: int, time: float, index: int) -> None:
    """Takes out what lies within these bytes."""
    begin, end = bisect_left(pending, (low,)), bisect_left(pending, (high,))
    kept = [one for one in pending[begin:end] if one[2].end > high]
    for _, _, sent in pending[begin:end]:
        if sent.end <= high:
            sent.ack, sent.ack_index = time, index
    pending[begin:end] = kept


def policed(packets: Sequence[Sent]) -> Found:
    """Whether an object was policed, with one of the two cut-offs."""
    found = [_policed(packets, cutoff) for cutoff in CUTOFFS]
    return next((each for each in found if each.is_policed), found[0])


def _policed(packets: Sequence[Sent], cutoff: int) -> Found:
    losses = [sent for sent in packets if sent.is_lost]
    if len(losses) < 2 * cutoff + 2:
        return Found("too few losses")
    first, last = losses[cutoff], losses[-1 - cutoff]
    origin = packets[0]
    if first.seq - origin.seq > LATEST_FIRST_LOSS_BYTES:
        return Found("late first loss")
    rtt = _median_rtt(packets)
    rate = _goodput(packets, first, last)
    if rtt is None or not rate:
        return Found("no rate")
    tolerated = PASS_RTTS * rtt * rate
    if first.seq - origin.seq - rate * (first.time - origin.time) < -tolerated:
        return Found("negative fill")
    buckets = _Buckets.run(packets, first, rate, rtt)
    return Found(buckets.why_not(LOSS_RTTS * rtt * rate, tolerated), rate)


def _median_rtt(packets: Iterable[Sent]) -> float | None:
    delays = [x.ack - x.time for x in packets if x.ack is not None and not x.is_repeated]
    return median(delays) if delays else None


def _goodput(packets: Sequence[Sent], first: Sent, last: Sent) -> float:
    between = packets[packets.index(first) : packets.index(last)]
    passed = sum(sent.payload for sent in between if not sent.is_lost)
    return passed / (last.time - first.time) if last.time > first.time else 0.0


@dataclass(slots=True)
class _Buckets:
    """Tokens in the bucket at each loss and at each packet that passed, and RTTs before losses."""

    at_loss: list[float] = field(default_factory=list)
    at_pass: list[float] = field(default_factory=list)
    slices: int = 1
    inflated: int = 0

    @classmethod
    def run(cls, packets: Sequence[Sent], first: Sent, rate: float, rtt: float) -> _Buckets:
        found = cls()
        used = 0
        has_begun = False
        slice_end = first.time + rtt
        delays: list[float] = []
        ordered: list[float] = []
        ignored = -1
        for sent in packets:
            if sent.is_repeated:
                ignored = max(ignored, sent.ack_index)
            elif sent.ack is not None and sent.index > ignored:
                delays.append(sent.ack - sent.time)
                insort(ordered, delays[-1])
            has_begun |= sent is first
            if not has_begun:
                continue
            tokens = rate * (sent.time - first.time) - used
            if not sent.is_lost:
                found.at_pass.append(tokens)
                used += sent.payload
                continue
            found.at_loss.append(tokens)
            found.inflated += _is_inflated(delays, ordered)
            if sent.time > slice_end:
                slice_end = sent.time + rtt
                found.slices += 1
        return found

    def why_not(self, loss_range: float, pass_range: float) -> str:
        """The first condition that fails."""
        if self.slices < LEAST_SLICES or min(len(self.at_loss), len(self.at_pass)) < LEAST_SAMPLES:
            return "too few losses"
        if fmean(self.at_loss) >= fmean(self.at_pass) or median(self.at_loss) >= median(
            self.at_pass
        ):
            return "fuller at losses"
        zero = median(self.at_loss)
        if _share(abs(tokens - zero) > loss_range for tokens in self.at_loss) > LOSS_OUTSIDE:
            return "losses out of range"
        if _share(tokens - zero < -pass_range for tokens in self.at_pass) > PASS_OUTSIDE:
            return "passes out of range"
        if self.inflated > INFLATED_LOSSES * len(self.at_loss):
            return "inflated round trips"
        return ""


def _share(holds: Iterable[bool]) -> float:
    every = list(holds)
    return sum(every) / len(every)


def _is_inflated(delays: Sequence[float], ordered: Sequence[float]) -> bool:
    """Whether the last delay but one is long; ``ordered`` are the same delays, sorted."""
    if len(delays) < 2:
        return False
    last, low = delays[-2], ordered[int(0.1 * (len(ordered) - 1))]
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return last >= middle and last > INFLATED_FACTOR * low and last >= INFLATED_SECONDS


def by_connection(packets: Iterable[Packet]) -> dict[object, list[Packet]]:
    """The packets of each connection, in the order of the capture."""
    ordered = sorted(enumerate(packets), key=lambda pair: (pair[1].key, pair[0]))
    return {
        key: [packet for _, packet in group]
        for key, group in groupby(ordered, key=lambda pair: pair[1].key)
    }
