"""Whether a guest can be reached through its network card.

An echo request (RFC 792) from the switch namespace, and its answer.

A card's link comes up when its driver reports it, up to two seconds after the request; packets
before that are lost silently. The greeting tries both directions, so that an experiment begins on a
veth link that carries.
"""

from __future__ import annotations

import ipaddress
import select
import socket
import struct
import time
from pathlib import Path

from trustbed.testbed.netns import namespaces
from trustbed.testbed.netns.plan import GATEWAY_MAC, VethLink

_IPV4 = 0x0800
_ECHO_REQUEST, _ECHO_REPLY, _ICMP = 8, 0, 1
_IDENTIFIER = 0x7462
_AGAIN_SECONDS = 0.1
_LAST_SECONDS = 2.0
"""How long to wait for the last answer before another request."""


def answers(switch: Path, veth: VethLink, sender: ipaddress.IPv4Address, seconds: float) -> bool:
    """Whether the host at the end of a veth link answers ``sender`` within the time."""
    own = next(address for address in veth.addresses if isinstance(address, ipaddress.IPv4Address))
    deadline = time.monotonic() + seconds
    with namespaces.inside(switch):
        port = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.htons(_IPV4)
        )
    with port:
        port.bind((veth.port, _IPV4))
        number = 0
        while time.monotonic() < deadline:
            try:
                port.send(echo_request(veth.mac, sender, own, number + 1))
            except OSError:  # no carrier yet
                time.sleep(_AGAIN_SECONDS)
                continue
            number = number + 1 & 0x7FFF
            found = _received(port, own.packed, _AGAIN_SECONDS)
            # Requests that waited for the card are answered one after the other now; an experiment
            # shall not see the last of them.
            while found is not None and found != number:
                found = _received(port, own.packed, _LAST_SECONDS)
            if found is not None:
                return True
    return False


def _received(port: socket.socket, source: bytes, seconds: float) -> int | None:
    """The number of the next answer, if there is one within the time."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([port], [], [], left)[0]:
            return None
        frame, about = port.recvfrom(2048)
        if about[2] != socket.PACKET_OUTGOING and (number := answered(frame, source)) is not None:
            return number
    return None


def echo_request(
    mac: str, sender: ipaddress.IPv4Address, receiver: ipaddress.IPv4Address, number: int
) -> bytes:
    """A whole frame."""
    message = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, _IDENTIFIER, number)
    message = message[:2] + struct.pack("!H", _checksum(message)) + message[4:]
    header = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        0,
        20 + len(message),
        0,
        0,
        64,
        _ICMP,
        0,
        sender.packed,
        receiver.packed,
    )
    header = header[:10] + struct.pack("!H", _checksum(header)) + header[12:]
    return _hardware(mac) + _hardware(GATEWAY_MAC) + struct.pack("!H", _IPV4) + header + message


def answered(frame: bytes, source: bytes) -> int | None:
    """The number of the request that a frame from that address answers.

    Nothing if it is no answer to ours.
    """
    if len(frame) < 42 or frame[26:30] != source or frame[23] != _ICMP:
        return None
    at = 14 + (frame[14] & 15) * 4
    if len(frame) < at + 8:
        return None
    kind, identifier, number = struct.unpack_from("!B3xHH", frame, at)
    return int(number) if (kind, identifier) == (_ECHO_REPLY, _IDENTIFIER) else None


def _hardware(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _checksum(data: bytes) -> int:
    """The checksum of RFC 1071; the length is even."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
