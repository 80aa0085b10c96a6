"""A flood of connections that are never completed.

SYNs from ever new addresses, some of them answered.

What a scan or an attack leaves in a capture, and what an analyser that keeps something for every
connection must survive. The TCP checksums are zero, as offload leaves them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.captures import DIRECTORY, Capture, write_capture

FRAME = 54
RECORD = 16 + FRAME
# Every fourth SYN is answered, as by a host whose backlog is full most of the time.
ANSWER_EVERY = 4
GAP_NS = 10_000
FIRST_NS = 1_700_000_000 * 1_000_000_000
CHUNK = 500_000

_ETHERNET = bytes.fromhex("020000000002020000000001") + b"\x08\x00"
_IPV4 = bytes.fromhex("450000280000400040060000") + bytes(4) + bytes([198, 18, 0, 1])
_TCP = bytes.fromhex("0000 0050 00000000 00000000 5002 ffff 0000 0000")
_SYN_ACK = 0x12


def flood(connections: int) -> Capture:
    """The capture of that many half-open connections; built when it is not there."""
    packets = connections + connections // ANSWER_EVERY
    version = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:10]
    path = DIRECTORY / f"flood-{version}-{connections}.pcap"
    if not path.exists():
        write_capture(path, parts(connections), expected_bytes=packets * RECORD)
    return Capture(path=path, packets=packets, connections=connections)


def parts(connections: int) -> Iterator[npt.NDArray[np.uint8]]:
    """The records of the flood, a chunk at a time."""
    for first in range(0, connections, CHUNK):
        numbers = np.arange(first, min(first + CHUNK, connections), dtype=np.uint32)
        syns = _syns(numbers)
        answers = _answers(syns[ANSWER_EVERY - 1 :: ANSWER_EVERY])
        rows = np.empty((len(syns) + len(answers), RECORD), dtype=np.uint8)
        # An answer follows its SYN: every group of SYNs is one packet longer.
        place = np.arange(len(syns)) + np.arange(len(syns)) // ANSWER_EVERY
        rows[place] = syns
        rows[place[ANSWER_EVERY - 1 :: ANSWER_EVERY] + 1] = answers
        yield rows.reshape(-1)


def _syns(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """One SYN per number, each from an address and port of its own."""
    rows = np.tile(
        np.frombuffer(bytes(16) + _ETHERNET + _IPV4 + _TCP, dtype=np.uint8), (len(numbers), 1)
    )
    seconds, fraction = np.divmod(FIRST_NS + numbers.astype(np.int64) * GAP_NS, 1_000_000_000)
    _put(rows, 0, seconds, "<u4")
    _put(rows, 4, fraction, "<u4")
    _put(rows, 8, np.full(len(numbers), FRAME), "<u4")
    _put(rows, 12, np.full(len(numbers), FRAME), "<u4")
    _put(rows, 16 + 26, np.uint32(10 << 24) + numbers // 4, ">u4")
    _put(rows, 16 + 34, 1024 + numbers % 50_021, ">u2")
    # An initial sequence number that differs from its neighbours': Fibonacci hashing.
    _put(rows, 16 + 38, numbers * np.uint32(2_654_435_769), ">u4")
    _put(rows, 16 + 24, _header_checksum(rows), ">u2")
    return rows


def _header_checksum(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The IPv4 header's checksum (RFC 1071); exchanging the addresses does not change it."""
    words = rows[:, 16 + 14 : 16 + 34].copy().view(">u2").astype(np.uint32)
    total: npt.NDArray[np.uint32] = words.sum(axis=1, dtype=np.uint32)
    total = (total & 0xFFFF) + (total >> 16)
    total = total + (total >> 16)
    checksum: npt.NDArray[np.uint32] = np.bitwise_xor(total & 0xFFFF, 0xFFFF, dtype=np.uint32)
    return checksum


def _answers(syns: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The SYN-ACKs, a microsecond later."""
    rows = syns.copy()
    fraction = rows[:, 4:8].copy().view("<u4").reshape(-1) + 1000
    _put(rows, 4, fraction, "<u4")
    at = 16
    rows[:, at + 26 : at + 30], rows[:, at + 30 : at + 34] = (
        syns[:, at + 30 : at + 34],
        syns[:, at + 26 : at + 30],
    )
    rows[:, at + 34 : at + 36], rows[:, at + 36 : at + 38] = (
        syns[:, at + 36 : at + 38],
        syns[:, at + 34 : at + 36],
    )
    acknowledged = syns[:, at + 38 : at + 42].copy().view(">u4").reshape(-1).astype(np.uint32) + 1
    _put(rows, at + 42, acknowledged, ">u4")
    rows[:, at + 47] = _SYN_ACK
    return rows


def _put(
    rows: npt.NDArray[np.uint8], column: int, values: npt.NDArray[np.integer], kind: str
) -> None:
    width = int(kind[-1])
    rows[:, column : column + width] = values.astype(kind).view(np.uint8).reshape(-1, width)
