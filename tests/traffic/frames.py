"""Captures of connections that are written down, packet by packet."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, SERVER = "10.0.0.1", "10.9.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A TCP packet: when (milliseconds), from which side, its flags, offsets and bytes.

    Or a UDP packet, or one of another protocol, with bytes alone.
    """

    ms: float
    by_server: bool
    flags: int = 0
    sequence: int = 0
    acknowledges: int = 0
    is_datagram: bool = False
    protocol: int = 6
    payload: int = 0
    client: str = CLIENT
    server: str = SERVER
    ports: tuple[int, int] = (40_000, 80)


def pcap(path: Path, frames: Iterable[Frame], *, snap: int = 96) -> Path:
    """A capture of them (raw IPv4), whose packets are cut to their headers."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 101)]
    for frame in sorted(frames, key=lambda one: one.ms):
        packet = _packet(frame)
        nanoseconds = round(frame.ms * 1e6)
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        kept = packet[:snap]
        out.append(struct.pack("<IIII", 1_000_000 + seconds, rest // 1000, len(kept), len(packet)))
        out.append(kept)
    path.write_bytes(b"".join(out))
    return path


def _packet(frame: Frame) -> bytes:
    ends = [(frame.client, frame.ports[0]), (frame.server, frame.ports[1])]
    source, target = ends[::-1] if frame.by_server else ends
    if frame.is_datagram:
        body = struct.pack("!HHHH", source[1], target[1], 8 + frame.payload, 0)
        return _ip(source[0], target[0], 17, body + bytes(frame.payload))
    if frame.protocol != 6:
        return _ip(source[0], target[0], frame.protocol, bytes(frame.payload))
    options = b"\x02\x04\x05\xa8" if frame.flags & SYN else b""
    header = struct.pack(
        "!HHIIBBHHH",
        source[1],
        target[1],
        frame.sequence,
        frame.acknowledges,
        (5 + len(options) // 4) << 4,
        frame.flags,
        65_535,
        0,
        0,
    )
    return _ip(source[0], target[0], 6, header + options + bytes(frame.payload))


def _ip(source: str, target: str, protocol: int, body: bytes) -> bytes:
    outer = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, protocol, 0)
    return outer + socket.inet_aton(source) + socket.inet_aton(target) + body


def connection(rows: Iterable[tuple[float, str, str, int | None, int, int | None]]) -> list[Frame]:
    """A connection as golden values write it: ms, side, flags, relative numbers, payload."""
    first = {False: 1000, True: 5000}
    bits = {"S": SYN, "F": FIN, "A": ACK}
    frames = []
    for ms, side, letters, sequence, payload, acknowledges in rows:
        by_server = side == "S"
        flags = sum(bits[letter] for letter in letters)
        begins = flags & SYN
        frames.append(
            Frame(
                ms=ms,
                by_server=by_server,
                flags=flags,
                sequence=first[by_server] + (0 if begins else 1 + (sequence or 0)),
                acknowledges=first[not by_server] + 1 + (acknowledges or 0) if flags & ACK else 0,
                payload=payload,
            )
        )
    return frames
