"""Tiny captures, written packet by packet: two endpoints and their packets.

Sequence numbers are relative: 0 is the sender's first payload byte, its SYN is -1. Times are
milliseconds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16}
ISN = {"a": 1_000_000, "b": 5_000_000}
MSS = b"\x02\x04\x05\xb4"
DSS = b"\x1e\x08\x20\x01\0\0\0\0"


def sack(*blocks: tuple[int, int]) -> bytes:
    """A SACK option (raw sequence numbers)."""
    edges = b"".join(
        struct.pack(">II", left & 0xFFFFFFFF, right & 0xFFFFFFFF) for left, right in blocks
    )
    return b"\x01\x01\x05" + bytes([2 + len(edges)]) + edges


def checksum(data: bytes) -> int:
    """The Internet checksum."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Talk:
    """A connection between `a` (client) and `b` (server), or several by changing `port`.

    Their addresses are those of a network.
    """

    port: int = 40_000
    isn: dict[str, int] = field(default_factory=lambda: dict(ISN))
    records: list[tuple[float, bytes, int]] = field(default_factory=list)
    ident: int = 0
    network: int = 0

    def send(
        self,
        who: str,
        at: float,
        seq: int,
        ack: int | None = 0,
        flags: str = "A",
        length: int = 0,
        *,
        window: int = 60_000,
        options: bytes = b"",
        tags: bytes = b"",
        kind: int = 0x0800,
        zero_length: bool = False,
        captured: int | None = None,
        on_wire: int | None = None,
        fragment: int = 0,
        data_offset: int | None = None,
    ) -> int:
        """Adds a packet and returns its number.

        `tags` go between the MAC addresses' type field and the IP header, `kind` is that
        type.
        """
        peer = "b" if who == "a" else "a"
        tcp = self.segment(
            who, seq, ack, flags, length, window=window, options=options, data_offset=data_offset
        )
        ip = self.datagram(who, peer, tcp, zero_length=zero_length, fragment=fragment)
        return self.frame(
            at, struct.pack(">H", kind) + tags + ip, captured=captured, on_wire=on_wire
        )

    def data(self, at: float, seq: int, **options: Any) -> Talk:  # noqa: ANN401 - as for send
        """A segment of 100 bytes from `a`."""
        self.send("a", at, seq, length=100, **options)
        return self

    def ack(self, at: float, number: int, flags: str = "A", **options: Any) -> Talk:  # noqa: ANN401
        """An ACK without data from `b`."""
        self.send("b", at, 0, number, flags, **options)
        return self

    def segment(
        self,
        who: str,
        seq: int,
        ack: int | None,
        flags: str,
        length: int,
        *,
        window: int,
        options: bytes = b"",
        data_offset: int | None = None,
    ) -> bytes:
        """A TCP header and payload."""
        peer = "b" if who == "a" else "a"
        options += b"\0" * (-len(options) % 4)
        ports = (self.port, 80) if who == "a" else (80, self.port)
        number = (self.isn[who] + 1 + seq) & 0xFFFFFFFF
        answer = 0 if ack is None else (self.isn[peer] + 1 + ack) & 0xFFFFFFFF
        offset = (5 + len(options) // 4) if data_offset is None else data_offset
        bits = sum(FLAGS[flag] for flag in flags)
        return (
            struct.pack(">HHIIBBHHH", *ports, number, answer, offset << 4, bits, window, 0, 0)
            + options
            + b"x" * length
        )

    def datagram(
        self,
        who: str,
        peer: str,
        body: bytes,
        *,
        protocol: int = 6,
        zero_length: bool = False,
        fragment: int = 0,
    ) -> bytes:
        """An IPv4 header and its body. `fragment` is the header's flags-and-offset field."""
        addresses = {"a": bytes((10, 0, self.network, 1)), "b": bytes((10, 0, self.network, 2))}
        if not fragment & 0x1FFF:
            self.ident += 1
        total = 0 if zero_length else 20 + len(body)
        header = (
            struct.pack(">BBHHHBBH", 0x45, 0, total, self.ident, fragment, 64, protocol, 0)
            + addresses[who]
            + addresses[peer]
        )
        return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + body

    def frame(
        self, at: float, rest: bytes, *, captured: int | None = None, on_wire: int | None = None
    ) -> int:
        """Adds a frame; `rest` begins with the type field."""
        data = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02" + rest
        self.records.append((at, data[:captured], len(data) if on_wire is None else on_wire))
        return len(self.records)

    def hello(self, at: float = 0, options: bytes = MSS) -> Talk:
        """The three packets of a handshake, 10 ms apart."""
        self.send("a", at, -1, None, "S", options=options)
        self.send("b", at + 10, -1, 0, "SA", options=options)
        self.send("a", at + 20, 0, 0)
        return self

    def write(self, path: Path) -> Path:
        """A pcap file with microsecond timestamps."""
        path.write_bytes(self.capture())
        return path

    def capture(self) -> bytes:
        """The content of this file."""
        parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)]
        for at, data, length in self.records:
            micros = 1_700_000_000_000_000 + round(at * 1000)
            seconds, rest = divmod(micros, 1_000_000)
            parts += struct.pack("<IIII", seconds, rest, len(data), length), data
        return b"".join(parts)
