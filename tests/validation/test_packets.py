"""The oracle's own decoding of link layers and tunnels."""

from __future__ import annotations

import struct

import pytest

from validation.packets import Packet, sight
from validation.records import Record

TCP = bytes.fromhex("9c4001bb010203040a0b0c0d501801f6beef0000") + b"hello"


def ipv4(protocol: int, payload: bytes) -> bytes:
    ends = bytes([10, 1, 2, 3, 192, 0, 2, 9])
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0x4000, 64, protocol, 0)
    return header + ends + payload


SEGMENT = ipv4(6, TCP)


def sighted(link: int, data: bytes) -> Packet:
    (packet,) = sight(Record(1, 0, link, len(data), data, 0)).packets
    return packet


@pytest.mark.parametrize(
    ("link", "framing", "wrapping"),
    [
        (9, "0021", ("ppp",)),
        (9, "21", ("ppp",)),
        (9, "ff030021", ("ppp",)),
        (50, "ff0321", ("ppp",)),
        (9, "028100010140", ("ppp", "mpls")),
        (50, "8f000800", ()),
    ],
)
def test_ppp(link: int, framing: str, wrapping: tuple[str, ...]) -> None:
    packet = sighted(link, bytes.fromhex(framing) + SEGMENT)
    assert (packet.payload, packet.seq, packet.wrapping) == (5, 0x01020304, wrapping)


@pytest.mark.parametrize(
    ("number", "header"),
    [
        (0x8200, b"\x08\x01" + bytes(22)),
        (0x8370, b"\x88\x02" + bytes(24)),
        (0x83F0, b"\x88\x83" + bytes(34)),
    ],
)
def test_frames_of_access_points_in_gre(number: int, header: bytes) -> None:
    snap = b"\xaa\xaa\x03\0\0\0\x08\0"
    gre = struct.pack(">HH", 0, number) + header + snap + SEGMENT
    packet = sighted(101, ipv4(47, gre))
    assert (packet.payload, packet.wrapping) == (5, ("gre", "wifi", "llc"))


@pytest.mark.parametrize("header", [b"\x08\x41" + bytes(22), b"\x48\x01" + bytes(22)])
def test_what_cannot_be_read_is_noted(header: bytes) -> None:
    gre = struct.pack(">HH", 0, 0x8200) + header + SEGMENT
    data = ipv4(47, gre)
    seen = sight(Record(1, 0, 101, len(data), data, 0))
    assert (seen.packets, seen.notes) == ([], ["not_ip"])
