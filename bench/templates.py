"""Reads small captures whose connections serve as templates for the large ones.

Reads classic pcap files (both byte orders, micro- and nanoseconds, plain or gzip) of Ethernet
frames and keeps the TCP packets over IPv4 without options and over IPv6 without extension headers,
because those have every header at a fixed place. It is no capture reader: what does not fit is left
out of the bench.
"""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

SNAP_LENGTH = 128
# Packets later than this after a template's first are left out: one slow capture must not stretch
# the whole bench.
LONGEST_NS = 60 * 1_000_000_000

_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_ETHERNET = 1
_SMALLEST_FRAME = 54


@dataclass(frozen=True, kw_only=True)
class Template:
    """The TCP packets of one capture.

    Attributes:
        name: The file's name.
        since_start_ns: Time since the template's first packet, one per packet, ascending.
        original_length: Length on the wire, one per packet.
        captured_length: Length stored, at most the snap length, one per packet.
        frames: The stored bytes, one row of `SNAP_LENGTH` per packet, zero-padded.
        ipv6: Whether the packet is IPv6, one per packet.
    """

    name: str
    since_start_ns: npt.NDArray[np.int64]
    original_length: npt.NDArray[np.uint32]
    captured_length: npt.NDArray[np.uint32]
    frames: npt.NDArray[np.uint8]
    ipv6: npt.NDArray[np.bool_]


def read_template(path: Path, longest_ns: int = LONGEST_NS) -> Template | None:
    """The template in a file, or None unless it is a classic pcap file with TCP over Ethernet.

    Without what comes `longest_ns` after its first packet or later.
    """
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if content[:4] not in _MAGICS or len(content) < 24:
        return None
    order, nanoseconds = _MAGICS[content[:4]]
    if struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF != _ETHERNET:
        return None
    rows = _rows(content, order, nanoseconds)
    if not rows:
        return None
    table = np.array([row[:3] for row in rows], dtype=np.int64)
    frames = np.frombuffer(
        b"".join(row[3].ljust(SNAP_LENGTH, b"\0") for row in rows), dtype=np.uint8
    ).reshape(-1, SNAP_LENGTH)
    order_in_time = np.argsort(table[:, 0], kind="stable")
    table, frames = table[order_in_time], frames[order_in_time]
    since_start = table[:, 0] - table[0, 0]
    kept = since_start < longest_ns
    table, frames = table[kept], frames[kept]
    return Template(
        name=path.name,
        since_start_ns=since_start[kept],
        original_length=table[:, 1].astype(np.uint32),
        captured_length=table[:, 2].astype(np.uint32),
        frames=frames,
        ipv6=frames[:, 12] == 0x86,
    )


def _rows(content: bytes, order: str, nanoseconds: int) -> list[tuple[int, int, int, bytes]]:
    """(timestamp, length on the wire, length stored, bytes) of every record that can serve."""
    header = struct.Struct(order + "IIII")
    rows = []
    at = 24
    while at + 16 <= len(content):
        seconds, fraction, captured, original = header.unpack_from(content, at)
        frame = content[at + 16 : at + 16 + min(captured, SNAP_LENGTH)]
        at += 16 + captured
        if at <= len(content) and _serves(frame):
            rows.append(
                (seconds * 1_000_000_000 + fraction * nanoseconds, original, len(frame), frame)
            )
    return rows


def _serves(frame: bytes) -> bool:
    """Whether the frame is TCP with every header at its usual place."""
    if len(frame) < _SMALLEST_FRAME:
        return False
    if frame[12:15] == b"\x08\x00\x45":
        fragment = int.from_bytes(frame[20:22], "big") & 0x3FFF
        return frame[23] == 6 and fragment == 0
    return frame[12:14] == b"\x86\xdd" and frame[20] == 6 and len(frame) >= 74


def read_templates(directories: list[Path], longest_ns: int = LONGEST_NS) -> list[Template]:
    """Every template under `directories`, in the order of directory and file name."""
    paths = [
        path
        for directory in directories
        for path in sorted(directory.rglob("*"))
        if path.name.endswith((".pcap", ".pcap.gz", ".cap"))
    ]
    # Both ends of one transfer would be one connection twice: the sender's side stands for it.
    templates = (read_template(path, longest_ns) for path in paths if ".receiver" not in path.name)
    return [template for template in templates if template is not None]
