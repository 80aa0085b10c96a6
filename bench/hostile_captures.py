"""Captures that are made to cost as much as they can, of any number of packets.

Each generator is one way in which somebody who chooses every byte could make an analysis slow or
large. The same number gives the same bytes. Packets are the smallest that do it: headers without
payload bytes, whose lengths the headers declare.
"""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

MILLISECOND, SECOND = 1_000_000, 1_000_000_000
START = 1_700_000_000 * SECOND
ACK, PSH, SYN, FIN = 0x10, 0x08, 0x02, 0x01
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101)
"""Nanoseconds, little-endian, raw IP."""
SWALLOWING_NETWORK = 0x243F6A8885A308D3
"""The /64 that a flow hash of multiplied halves would make one bucket of."""

SMALLEST_MSS, FRAMES = 48, 1024
"""The smallest MSS that is believed, and the frames into which a super-packet is cut at most."""

Record: TypeAlias = bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A hostile capture, or two of the same traffic.

    ``make`` gives the files by the number of packets; ``unit`` is what the number counts.
    """

    name: str
    make: Callable[[int], list[bytes]]
    unit: str = "packet"
    suffix: str = ".pcap"


def record(at_ns: int, packet: bytes, length: int | None = None) -> Record:
    """A record of a capture; ``length`` where the packet was longer than what is there."""
    seconds, nanoseconds = divmod(START + at_ns, SECOND)
    size = len(packet)
    return struct.pack("<IIII", seconds, nanoseconds, size, length or size) + packet


def tcp(
    source: tuple[int, int],
    destination: tuple[int, int],
    *,
    seq: int = 0,
    ack: int = 0,
    flags: int = ACK,
    payload: int = 0,
    options: bytes = b"",
    number: int = 0,
) -> bytes:
    """Headers of IPv4 and TCP; addresses are numbers, ``number`` is the identification."""
    head = 20 + len(options)
    network = struct.pack(
        "!BBHHHBBHII",
        0x45,
        0,
        20 + head + payload,
        number & 0xFFFF,
        0,
        64,
        6,
        0,
        source[0],
        destination[0],
    )
    transport = struct.pack(
        "!HHIIBBHHH",
        source[1],
        destination[1],
        seq & 0xFFFFFFFF,
        ack & 0xFFFFFFFF,
        head // 4 << 4,
        flags,
        65_535,
        0,
        0,
    )
    return network + transport + options


def pcap(records: Iterator[Record] | Sequence[Record]) -> bytes:
    """A file of records."""
    return PCAP_HEADER + b"".join(records)


CLIENT, SERVER = (0x0A000001, 40_000), (0x0A000002, 443)


def _segment(at_ns: int, number: int, *, payload: int = 100, seq: int | None = None) -> Record:
    """A data packet of the one connection that many cases have."""
    seq = number * payload if seq is None else seq
    packet = tcp(CLIENT, SERVER, seq=seq, payload=payload, flags=ACK | PSH, number=number)
    return record(at_ns, packet, len(packet) + payload)


def _exchange(delay: int) -> list[Record]:
    """Five hundred segments and their answers, by which the clocks of two points compare."""
    ordinary = [_segment(n * MILLISECOND + delay, n) for n in range(500)]
    answers = [
        record(n * MILLISECOND + 14 * MILLISECOND - delay, tcp(SERVER, CLIENT, ack=n * 100))
        for n in range(500)
    ]
    return sorted(ordinary + answers, key=_time)


def identical_frames(packets: int) -> list[bytes]:
    """One frame again and again, at both points, behind an exchange by which clocks compare."""
    files = []
    for delay in (0, 7 * MILLISECOND):
        same = [_segment(SECOND + n * 1000 + delay, 7777) for n in range(packets)]
        files.append(pcap(_exchange(delay) + same))
    return files


def super_packets(frames: int) -> list[bytes]:
    """Super-packets of as many frames as are cut, at both points, and nobody acknowledges them."""
    client, payload = (CLIENT[0], CLIENT[1] + 1), SMALLEST_MSS * FRAMES
    opening = tcp(
        client, SERVER, seq=-1, flags=SYN, options=struct.pack("!BBH", 2, 4, SMALLEST_MSS)
    )
    files = []
    for delay in (0, 7 * MILLISECOND):
        records = [*_exchange(delay), record(SECOND + delay, opening)]
        for n in range(frames // FRAMES):
            packet = tcp(client, SERVER, seq=n * payload, payload=payload, number=n)
            at = SECOND + (n + 1) * MILLISECOND + delay
            records.append(record(at, packet, len(packet) + payload))
        files.append(pcap(records))
    return files


def _time(one: Record) -> tuple[int, int]:
    seconds, nanoseconds = struct.unpack_from("<II", one)
    return seconds, nanoseconds


def alternating_times(packets: int) -> list[bytes]:
    """Times that jump by 61 s and back, with many connections open."""
    return [
        pcap(
            record(
                n % 2 * 61 * SECOND + n, tcp((0x0A010000 + n % 8191, 1000 + n % 7), SERVER, seq=n)
            )
            for n in range(packets)
        )
    ]


def syn_flood(packets: int) -> list[bytes]:
    """A connection a packet."""
    return [
        pcap(
            record(n * 1000, tcp((0x0B000000 + n, 1024 + n % 60_000), SERVER, seq=n, flags=SYN))
            for n in range(packets)
        )
    ]


def one_network(packets: int) -> list[bytes]:
    """Flows of one IPv6 network that a weak hash would put into one bucket."""

    def packet(n: int) -> bytes:
        source = struct.pack("!QQ", SWALLOWING_NETWORK, n % 8192)
        destination = struct.pack("!QQ", 0x20010DB8 << 32, 1)
        transport = struct.pack("!HHIIBBHHH", 40_000, 443, n, 0, 0x50, ACK, 65_535, 0, 0)
        return struct.pack("!IHBB", 6 << 28, 20, 6, 64) + source + destination + transport

    return [pcap(record(n * 1000, packet(n)) for n in range(packets))]


def one_flow(packets: int) -> list[bytes]:
    """Small segments of one connection that nobody acknowledges."""
    return [pcap(_segment(n * 1000, n, payload=1) for n in range(packets))]


def retransmissions(packets: int) -> list[bytes]:
    """A window of segments sent again and again, in a random order."""
    source = random.Random(1)
    return [pcap(_segment(n * 10_000, source.randrange(2000)) for n in range(packets))]


def covering(packets: int) -> list[bytes]:
    """Every other byte in a segment, and then one segment over all of them, again and again."""
    small = min(packets // 2, 30_000)
    opening = [
        tcp(CLIENT, SERVER, flags=SYN),
        tcp(SERVER, CLIENT, ack=1, flags=SYN | ACK),
        tcp(SERVER, CLIENT, seq=1, ack=1),
    ]
    records = [record(n, packet) for n, packet in enumerate(opening[:packets])]
    for n in range(len(records), packets):
        payload, seq = (1, 2 * n) if n <= small else (2 * small, 1)
        records.append(_segment(n * 1000, n, payload=payload, seq=seq))
    return [pcap(records)]


def out_of_order(packets: int) -> list[bytes]:
    """Every other packet is stamped 8 ms later, with thousands in between."""
    return [
        pcap(_segment(n // 2 * 500 + n % 2 * 8 * MILLISECOND, n, payload=1) for n in range(packets))
    ]


def timeless(packets: int) -> list[bytes]:
    """One time for all."""
    return [pcap(_segment(0, n) for n in range(packets))]


def holes(packets: int) -> list[bytes]:
    """Every other segment is missing, then all of them come from behind."""
    half = packets // 2
    order = [*range(0, 2 * half, 2), *range(2 * half - 1, 0, -2)]
    return [pcap(_segment(n * 10_000, one) for n, one in enumerate(order))]


def sack_storm(packets: int) -> list[bytes]:
    """Selective acknowledgements of four random blocks each, under outstanding data."""
    source = random.Random(2)
    records = [_segment(n * 1000, n) for n in range(1000)]
    for n in range(packets - 1000):
        edges = sorted(source.sample(range(1, 1000), 8))
        blocks = struct.pack("!BBBB8I", 1, 1, 5, 34, *(edge * 100 for edge in edges))
        answer = tcp(SERVER, CLIENT, ack=100, options=blocks)
        records.append(record(MILLISECOND + n * 1000, answer))
    return [pcap(records)]


def stalls(packets: int) -> list[bytes]:
    """Transfers of one host, each with a silence while data are outstanding."""
    records: list[Record] = []
    for transfer in range(packets // 50):
        client, begin = (CLIENT[0], 1024 + transfer % 60_000), transfer * 20 * MILLISECOND
        server = (SERVER[0] + transfer // 60_000, SERVER[1])
        records.append(record(begin, tcp(client, server, flags=SYN, seq=2**32 - 1)))
        records.append(
            record(begin + MILLISECOND, tcp(server, client, flags=SYN | ACK, seq=2**32 - 1))
        )
        for n in range(24):
            at = begin + 2 * MILLISECOND + n * 10 * MILLISECOND + (3 * SECOND if n > 11 else 0)
            data = tcp(client, server, seq=n * 1000, payload=1000, number=n)
            records.append(record(at, data, len(data) + 1000))
            if n != 11:
                answer = tcp(server, client, ack=(n + 1) * 1000)
                records.append(record(at + MILLISECOND, answer))
    return [pcap(sorted(records, key=_time))]


def exchanges(packets: int) -> list[bytes]:
    """One connection whose ends take turns, a byte each: an exchange every other packet."""
    records = []
    for n in range(packets):
        ends = (CLIENT, SERVER) if n % 2 == 0 else (SERVER, CLIENT)
        packet = tcp(*ends, seq=n // 2, ack=(n + 1) // 2, payload=1, flags=ACK | PSH, number=n)
        records.append(record(n * MILLISECOND, packet, len(packet) + 1))
    return [pcap(records)]


def fragments(packets: int) -> list[bytes]:
    """First fragments of datagrams whose rest never comes."""

    def packet(n: int) -> bytes:
        whole = bytearray(tcp((0x0C000000 + (n >> 16), 40_000), SERVER, seq=n, number=n))
        whole[6:8] = struct.pack("!H", 0x2000)
        return bytes(whole)

    return [pcap(record(n * 1000, packet(n)) for n in range(packets))]


def clock_steps(packets: int) -> list[bytes]:
    """A clock that is set back again and again, while many segments of one flow are outstanding."""
    sent = packets // 2
    records = [record(0, tcp(SERVER, CLIENT, ack=0))]
    records += [_segment(n * 1000, n, payload=1) for n in range(1, sent)]
    for n in range(max(sent, 1), packets):
        records.append(_segment(SECOND + n % 2 * 61 * SECOND + n, n, payload=1))
    return [pcap(records[:packets])]


def interfaces(packets: int) -> list[bytes]:
    """A pcapng file with an interface a packet, up to 65,536."""
    return _described(packets, min(packets, 65_536))


def texts(packets: int) -> list[bytes]:
    """The same with 8,192 at most, each with texts and a comment as long as are kept."""
    options = [(code, b"\xff" * 256) for code in (2, 3, 12, 15)] + [(1, b"\xff" * 900)]
    packed = b"".join(struct.pack("<HH", code, len(value)) + value for code, value in options)
    return _described(packets, min(packets, 8192), packed + bytes(4))


def _described(packets: int, count: int, options: bytes = b"") -> list[bytes]:
    """A pcapng file with so many interfaces, whose options these are."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = 12 + len(body)
        return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

    packet = tcp(CLIENT, SERVER)
    parts = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts += [block(1, struct.pack("<HHI", 101, 0, 0) + options) for _ in range(count)]
    for n in range(packets):
        head = struct.pack("<IIIII", n % count, 0, n, len(packet), len(packet))
        parts.append(block(6, head + packet))
    return [b"".join(parts)]


def bomb(packets: int) -> list[bytes]:
    """Empty records that gzip makes a thousand times smaller."""
    return [gzip.compress(pcap([record(0, b"")] * packets), 9, mtime=0)]


def zstd_bomb(packets: int) -> list[bytes]:
    """The same in a frame of zstd."""
    return [pa.compress(pcap([record(0, b"")] * packets), codec="zstd", asbytes=True)]


def damage(packets: int) -> list[bytes]:
    """Half of the records declare lengths that cannot be."""
    whole = [_segment(n * 1000, n) for n in range(packets)]
    for n in range(0, packets, 2):
        whole[n] = whole[n][:8] + struct.pack("<I", 0xFFFFFFF0) + whole[n][12:]
    return [pcap(whole)]


CASES = (
    Case(name="identical frames at two points", make=identical_frames),
    Case(name="super-packets at two points", make=super_packets, unit="frame"),
    Case(name="times that alternate by 61 s", make=alternating_times),
    Case(name="SYN flood", make=syn_flood),
    Case(name="one network", make=one_network),
    Case(name="one flow", make=one_flow),
    Case(name="retransmission storm", make=retransmissions),
    Case(name="retransmissions of many segments", make=covering),
    Case(name="times out of order by 8 ms", make=out_of_order),
    Case(name="one time for all", make=timeless),
    Case(name="clock set back", make=clock_steps),
    Case(name="holes", make=holes),
    Case(name="SACK storm", make=sack_storm),
    Case(name="stalls of one host", make=stalls),
    Case(name="exchanges", make=exchanges),
    Case(name="fragments", make=fragments),
    Case(name="interfaces", make=interfaces, suffix=".pcapng"),
    Case(name="texts of interfaces", make=texts, suffix=".pcapng"),
    Case(name="gzip bomb", make=bomb, suffix=".pcap.gz"),
    Case(name="zstd bomb", make=zstd_bomb, suffix=".pcap.zst"),
    Case(name="damaged records", make=damage),
)
