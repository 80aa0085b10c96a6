"""The records of a pcap file, as they are, for tests that make other captures of them."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path


def records(path: Path) -> tuple[bytes, list[bytes]]:
    """The head of a capture that is compressed by gzip, and its records."""
    data = gzip.decompress(path.read_bytes())
    found, at = [], 24
    while at < len(data):
        (kept,) = struct.unpack_from("<I", data, at + 8)
        found.append(data[at : at + 16 + kept])
        at += 16 + kept
    return data[:24], found
