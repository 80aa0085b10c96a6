"""Merges interleaved copies of capture templates into a block and repeats that block.

Each repetition has other addresses and later timestamps.

Every copy of a template in every repetition has addresses of its own, so that its connections are
its own. Checksums are brought up to date (RFC 1624), so that a capture built here is as good as the
templates it was built from. The arithmetic is done on whole columns: a capture of 16 million
packets takes seconds.

Bias: connections that a cut at the block's end leaves open stay open, as in any capture that was
stopped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.templates import SNAP_LENGTH, Template

RECORD_HEADER = 16
SEED = 20250117
# Copies start within this time of the block's beginning: tens of transfers run at once.
START_WITHIN_NS = 5 * 1_000_000_000
GAP_BETWEEN_BLOCKS_NS = 1_000_000
FIRST_NS = 1_700_000_000 * 1_000_000_000
LARGEST_REPETITION = 255
# Ethernet, IPv6 and TCP with every option there is room for.
LARGEST_EMPTY_FRAME = 114
# A summary keeps so many values exactly, then becomes a histogram.
EXACT_VALUES = 64

# Columns of a row: the record header of the file, then the frame. IPv4 and IPv6 without options or
# extension headers.
_IPV4_CHECKSUM = RECORD_HEADER + 24
_IPV4_ADDRESSES = (RECORD_HEADER + 26, RECORD_HEADER + 30)
_IPV4_TCP_CHECKSUM = RECORD_HEADER + 50
_IPV6_ADDRESSES = (RECORD_HEADER + 34, RECORD_HEADER + 50)
_IPV6_TCP_CHECKSUM = RECORD_HEADER + 70
_NETWORK = 10


@dataclass(frozen=True, kw_only=True)
class Block:
    """Packets in time order, ready to be written again and again.

    Attributes:
        rows: One row per packet: 16 bytes of record header, then the frame, zero-padded to the snap
            length.
        stored: Which columns of a row are stored in the file.
        since_start_ns: Time since the block's start, one per packet, ascending.
        ipv4: The rows that are IPv4; the others are IPv6.
        checksum_base: Per packet, the part of the new checksums' sum that does not depend on the
            repetition: (IP, TCP).
        connections: How many connections the block has.
        long_transfers: How many directions have more packets with payload than a summary keeps
            exactly.
    """

    rows: npt.NDArray[np.uint8]
    stored: npt.NDArray[np.bool_]
    since_start_ns: npt.NDArray[np.int64]
    ipv4: npt.NDArray[np.bool_]
    checksum_base: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]
    connections: int
    long_transfers: int

    @property
    def packets(self) -> int:
        """How many packets the block has."""
        return len(self.rows)

    @property
    def duration_ns(self) -> int:
        """How much later the next repetition starts."""
        return int(self.since_start_ns[-1]) + GAP_BETWEEN_BLOCKS_NS

    def repetition(self, number: int) -> npt.NDArray[np.uint8]:
        """The bytes of the block's records in its repetition `number`, counted from 0."""
        everything = slice(0, self.packets)
        rows = self._rows_of(number, everything, FIRST_NS + number * self.duration_ns)
        return rows[self.stored]

    def overlapping(self, copies: int, shift_ns: int) -> Iterator[npt.NDArray[np.uint8]]:
        """The bytes of the records of many repetitions, each `shift_ns` after the one before.

        In the order of time, `shift_ns` of it at a time.
        """
        cuts = np.searchsorted(
            self.since_start_ns, np.arange(0, self.duration_ns + shift_ns, shift_ns)
        )
        parts = [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)]
        for now in range(len(parts) + copies - 1):
            running = [
                (number, parts[now - number])
                for number in range(copies)
                if 0 <= now - number < len(parts)
            ]
            rows = [
                self._rows_of(number, part, FIRST_NS + number * shift_ns)
                for number, part in running
            ]
            since_start = [self.since_start_ns[part] + n * shift_ns for n, part in running]
            order = np.argsort(np.concatenate(since_start), kind="stable")
            stored = np.concatenate([self.stored[part] for _, part in running])
            yield np.concatenate(rows)[order][stored[order]]

    def _rows_of(self, number: int, part: slice, start_ns: int) -> npt.NDArray[np.uint8]:
        """Rows of the repetition `number` that starts at `start_ns`."""
        if number > LARGEST_REPETITION:
            raise ValueError(
                f"a block can be repeated {LARGEST_REPETITION + 1} times, asked for "
                f"repetition {number}"
            )
        rows, ipv4 = self.rows[part].copy(), self.ipv4[part]
        _write_timestamps(rows, self.since_start_ns[part] + start_ns)
        _write_network(rows, ipv4, number)
        ip, tcp = self.checksum_base
        _write_checksums(rows, ipv4, (ip[part], tcp[part]), number)
        return rows


def build_block(templates: list[Template], packets: int) -> Block:
    """A block of exactly `packets` packets.

    As many copies of each template as it takes, cut at the end.
    """
    copies = list(_choose_copies(templates, packets))
    since_start = np.concatenate([template.since_start_ns + start for template, start in copies])
    frames = np.concatenate([template.frames for template, _ in copies])
    original = np.concatenate([template.original_length for template, _ in copies])
    captured = np.concatenate([template.captured_length for template, _ in copies])
    ipv6 = np.concatenate([template.ipv6 for template, _ in copies])
    owner = np.repeat(
        np.arange(len(copies)), [len(template.since_start_ns) for template, _ in copies]
    )
    order = np.argsort(since_start, kind="stable")[:packets]
    frames, ipv4, captured = frames[order], ~ipv6[order], captured[order]
    hosts = _number_hosts(frames, ipv4, owner[order])
    rows = np.zeros((packets, RECORD_HEADER + SNAP_LENGTH), dtype=np.uint8)
    rows[:, RECORD_HEADER:] = frames
    _write_column(rows, 8, captured)
    _write_column(rows, 12, original[order])
    checksum_base = _checksum_base(rows, ipv4, hosts)
    _write_hosts(rows, ipv4, hosts)
    pairs = _endpoints(rows, ipv4, hosts)
    return Block(
        rows=rows,
        checksum_base=checksum_base,
        stored=np.arange(RECORD_HEADER + SNAP_LENGTH) < (RECORD_HEADER + captured)[:, None],
        since_start_ns=since_start[order] - since_start[order[0]],
        ipv4=ipv4,
        connections=len(np.unique(np.minimum(*pairs) << np.uint64(32) | np.maximum(*pairs))),
        long_transfers=_count_long(pairs, original[order]),
    )


def _choose_copies(templates: list[Template], packets: int) -> Iterator[tuple[Template, int]]:
    """Templates in turn, each with its start in the block, until there are enough packets."""
    random = np.random.default_rng(SEED)
    chosen = 0
    while chosen < packets:
        for template in templates:
            yield template, int(random.integers(START_WITHIN_NS))
            chosen += len(template.since_start_ns)


def _number_hosts(
    frames: npt.NDArray[np.uint8], ipv4: npt.NDArray[np.bool_], owner: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.uint32]]:
    """Numbers for the source and the destination of every packet.

    One number per address and copy of a template.
    """
    keys = []
    for at in (0, 1):
        key = np.zeros((len(frames), 24), dtype=np.uint8)
        ipv4_at, ipv6_at = (
            _IPV4_ADDRESSES[at] - RECORD_HEADER,
            _IPV6_ADDRESSES[at] - RECORD_HEADER - 12,
        )
        key[ipv4, 0:4] = frames[ipv4, ipv4_at : ipv4_at + 4]
        key[~ipv4, 0:16] = frames[~ipv4, ipv6_at : ipv6_at + 16]
        key[:, 16:24] = owner.astype(">u8").view(np.uint8).reshape(-1, 8)
        keys.append(key)
    names = np.ascontiguousarray(np.concatenate(keys)).view("V24").reshape(-1)
    numbers = np.unique(names, return_inverse=True)[1].astype(np.uint32)
    if numbers.max() > 0xFFFF:
        raise ValueError(f"{numbers.max() + 1} addresses in one block, at most 65536 fit")
    return list(np.split(numbers, 2))


def _write_hosts(
    rows: npt.NDArray[np.uint8], ipv4: npt.NDArray[np.bool_], hosts: list[npt.NDArray[np.uint32]]
) -> None:
    """Writes the hosts' numbers into the last two bytes of the addresses."""
    for at in (0, 1):
        number = hosts[at].astype(">u2").view(np.uint8).reshape(-1, 2)
        rows[ipv4, _IPV4_ADDRESSES[at] + 2 : _IPV4_ADDRESSES[at] + 4] = number[ipv4]
        rows[~ipv4, _IPV6_ADDRESSES[at] + 2 : _IPV6_ADDRESSES[at] + 4] = number[~ipv4]


def _write_network(rows: npt.NDArray[np.uint8], ipv4: npt.NDArray[np.bool_], number: int) -> None:
    """Writes the repetition's number into the two bytes before the host's."""
    for at in (0, 1):
        rows[ipv4, _IPV4_ADDRESSES[at]] = _NETWORK
        rows[ipv4, _IPV4_ADDRESSES[at] + 1] = number
        rows[~ipv4, _IPV6_ADDRESSES[at]] = _NETWORK
        rows[~ipv4, _IPV6_ADDRESSES[at] + 1] = number


def _word(rows: npt.NDArray[np.uint8], column: int) -> npt.NDArray[np.uint32]:
    high = rows[:, column].astype(np.uint32)
    return high * np.uint32(256) + rows[:, column + 1].astype(np.uint32)


def _checksum_base(
    rows: npt.NDArray[np.uint8], ipv4: npt.NDArray[np.bool_], hosts: list[npt.NDArray[np.uint32]]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """RFC 1624, equation 3, without the term of the repetition.

    ~HC + Σ ~m + Σ m' for the two words of either address.
    """
    change = hosts[0] + hosts[1]
    for at in (0, 1):
        for word in (0, 2):
            old = np.where(
                ipv4,
                _word(rows, _IPV4_ADDRESSES[at] + word),
                _word(rows, _IPV6_ADDRESSES[at] + word),
            )
            change = change + (old ^ 0xFFFF)
    tcp = np.where(ipv4, _word(rows, _IPV4_TCP_CHECKSUM), _word(rows, _IPV6_TCP_CHECKSUM))
    return change + (_word(rows, _IPV4_CHECKSUM) ^ 0xFFFF), change + (tcp ^ 0xFFFF)


def _write_checksums(
    rows: npt.NDArray[np.uint8],
    ipv4: npt.NDArray[np.bool_],
    base: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]],
    number: int,
) -> None:
    ip, tcp = (_fold(part + 2 * (_NETWORK << 8 | number)) for part in base)
    rows[ipv4, _IPV4_CHECKSUM : _IPV4_CHECKSUM + 2] = ip[ipv4]
    rows[ipv4, _IPV4_TCP_CHECKSUM : _IPV4_TCP_CHECKSUM + 2] = tcp[ipv4]
    rows[~ipv4, _IPV6_TCP_CHECKSUM : _IPV6_TCP_CHECKSUM + 2] = tcp[~ipv4]


def _fold(total: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """The one's complement of the one's complement sum, as two bytes."""
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return (total ^ 0xFFFF).astype(">u2").view(np.uint8).reshape(-1, 2)


def _write_column(
    rows: npt.NDArray[np.uint8], column: int, values: npt.NDArray[np.integer]
) -> None:
    rows[:, column : column + 4] = values.astype("<u4").view(np.uint8).reshape(-1, 4)


def _write_timestamps(rows: npt.NDArray[np.uint8], ns: npt.NDArray[np.int64]) -> None:
    seconds, fraction = np.divmod(ns, 1_000_000_000)
    _write_column(rows, 0, seconds)
    _write_column(rows, 4, fraction)


def _endpoints(
    rows: npt.NDArray[np.uint8], ipv4: npt.NDArray[np.bool_], hosts: list[npt.NDArray[np.uint32]]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Source and destination of every packet as numbers of 32 bits: the host's, then the port."""
    ports = [
        np.where(ipv4, _word(rows, RECORD_HEADER + 34 + at), _word(rows, RECORD_HEADER + 54 + at))
        for at in (0, 2)
    ]
    source, destination = (
        hosts[at].astype(np.uint64) << np.uint64(16) | ports[at] for at in (0, 1)
    )
    return source, destination


def _count_long(
    pairs: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]], original: npt.NDArray[np.uint32]
) -> int:
    with_payload = original > LARGEST_EMPTY_FRAME
    directions = (pairs[0] << np.uint64(32) | pairs[1])[with_payload]
    return int((np.unique(directions, return_counts=True)[1] > EXACT_VALUES).sum())
