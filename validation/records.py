"""Records of a capture file, read slowly and simply: the oracle's own eyes.

Reads pcap (both byte orders, microseconds and nanoseconds, and the old modified formats that only
change the magic) and pcapng (sections, interfaces, any resolution, simple and obsolete packet
blocks), plain or gzip. Stops at the first fault and names it: unlike trustbed it never looks for
the next good record, because neither tcptrace nor tshark does.

Not read: snoop, ERF and other formats. Nothing is shared with trustbed: no code, no tables.
"""

import gzip
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PCAP_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
SECTION_HEADER = 0x0A0D0D0A
INTERFACE_DESCRIPTION = 1
OBSOLETE_PACKET = 2
SIMPLE_PACKET = 3
ENHANCED_PACKET = 6
# Neither libpcap nor wiretap accepts a longer record.
LONGEST_RECORD = 262_144


class NotACaptureError(Exception):
    """The file is neither pcap nor pcapng."""


class DamagedError(Exception):
    """The file stops making sense; `frame` records were read before that."""

    def __init__(self, detail: str, frame: int) -> None:
        super().__init__(f"{detail} after record {frame}")
        self.frame = frame


@dataclass(frozen=True, slots=True)
class Record:
    """One captured frame.

    `frame` counts from 1, as Wireshark does; `time_ns` is 0 in a simple packet block, which has
    no time.
    """

    frame: int
    time_ns: int
    link_type: int
    original_length: int
    data: bytes
    interface: int


def contents(path: Path) -> bytes:
    """The bytes of a capture, taken out of gzip."""
    raw = path.read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def records(data: bytes) -> Iterator[Record]:
    """Every record of a capture in file order.

    Raises:
        NotACaptureError: The first bytes belong to no known format.
        DamagedError: A record cannot be read; those before it were yielded.
    """
    if data[:4] in PCAP_MAGICS:
        yield from _pcap(data)
    elif data[:4] == struct.pack("<I", SECTION_HEADER):
        yield from _pcapng(data)
    else:
        raise NotACaptureError(data[:4].hex() or "empty file")


def _pcap(data: bytes) -> Iterator[Record]:
    order, unit = PCAP_MAGICS[data[:4]]
    if len(data) < 24:
        raise DamagedError("file header cut short", 0)
    major, minor, _zone, _digits, _snap, network = struct.unpack(order + "HHiIII", data[4:24])
    if major != 2:
        raise DamagedError(f"file version {major}", 0)
    offset, frame = 24, 0
    while offset < len(data):
        if offset + 16 > len(data):
            raise DamagedError("record header cut short", frame)
        seconds, fraction, captured, original = struct.unpack(
            order + "IIII", data[offset : offset + 16]
        )
        offset += 16
        # Files of version 2.2 and older have the two lengths in reverse order; 2.3 has both orders
        # (libpcap, sf-pcap.c).
        if minor < 3 or (minor == 3 and captured > original):
            captured, original = original, captured
        if captured > LONGEST_RECORD:
            raise DamagedError(f"record of {captured} bytes", frame)
        if offset + captured > len(data):
            raise DamagedError("record cut short", frame)
        if fraction * unit >= 10**9:
            raise DamagedError(f"fraction of a second of {fraction}", frame)
        frame += 1
        yield Record(
            frame,
            seconds * 10**9 + fraction * unit,
            network & 0xFFFF,
            original,
            data[offset : offset + captured],
            0,
        )
        offset += captured


@dataclass(slots=True)
class _Interface:
    link_type: int
    snap_length: int
    ticks_per_second: int
    offset_seconds: int

    def time_ns(self, high: int, low: int) -> int:
        return self.offset_seconds * 10**9 + ((high << 32) | low) * 10**9 // self.ticks_per_second


def _interface(order: str, body: bytes) -> _Interface:
    link_type, _, snap_length = struct.unpack(order + "HHI", body[:8])
    interface = _Interface(link_type, snap_length, 10**6, 0)
    offset = 8
    while offset + 4 <= len(body):
        code, length = struct.unpack(order + "HH", body[offset : offset + 4])
        value = body[offset + 4 : offset + 4 + length]
        if code == 0:
            break
        if code == 9 and length == 1:
            interface.ticks_per_second = (
                2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
            )
        if code == 14 and length == 8:
            interface.offset_seconds = struct.unpack(order + "q", value)[0]
        offset += 4 + (length + 3) // 4 * 4
    return interface


def _packet(order: str, kind: int, body: bytes, interfaces: list[_Interface], frame: int) -> Record:
    if kind == SIMPLE_PACKET:
        if not interfaces:
            raise DamagedError("simple packet without an interface", frame)
        (original,) = struct.unpack(order + "I", body[:4])
        captured = min(original, interfaces[0].snap_length or original, len(body) - 4)
        return Record(frame + 1, 0, interfaces[0].link_type, original, body[4 : 4 + captured], 0)
    if kind == ENHANCED_PACKET:
        number, high, low, captured, original = struct.unpack(order + "IIIII", body[:20])
    else:
        number, _drops, high, low, captured, original = struct.unpack(order + "HHIIII", body[:20])
    if number >= len(interfaces):
        raise DamagedError(f"interface {number} is not described", frame)
    if captured > len(body) - 20 or captured > LONGEST_RECORD:
        raise DamagedError(f"record of {captured} bytes in a block of {len(body)}", frame)
    interface = interfaces[number]
    return Record(
        frame + 1,
        interface.time_ns(high, low),
        interface.link_type,
        original,
        body[20 : 20 + captured],
        number,
    )


def _pcapng(data: bytes) -> Iterator[Record]:
    order, offset, frame = "<", 0, 0
    interfaces: list[_Interface] = []
    while offset < len(data):
        if offset + 12 > len(data):
            raise DamagedError("block header cut short", frame)
        kind, length = struct.unpack(order + "II", data[offset : offset + 8])
        if kind == SECTION_HEADER:
            order = "<" if data[offset + 8 : offset + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            (length,) = struct.unpack(order + "I", data[offset + 4 : offset + 8])
            interfaces = []
        if length < 12 or length % 4 or offset + length > len(data):
            raise DamagedError(f"block length {length}", frame)
        if struct.unpack(order + "I", data[offset + length - 4 : offset + length])[0] != length:
            raise DamagedError("the two lengths of a block differ", frame)
        body = data[offset + 8 : offset + length - 4]
        if kind == SECTION_HEADER and struct.unpack(order + "H", body[4:6])[0] != 1:
            raise DamagedError("section version", frame)
        if kind == INTERFACE_DESCRIPTION:
            interfaces.append(_interface(order, body))
        elif kind in (OBSOLETE_PACKET, SIMPLE_PACKET, ENHANCED_PACKET):
            record = _packet(order, kind, body, interfaces, frame)
            frame = record.frame
            yield record
        offset += length
