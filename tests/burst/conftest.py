"""Captures made of times and lengths, and the command that measures them."""

from __future__ import annotations

import contextlib
import io
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trustbed.cli import main

Packets = Iterable[tuple[int, int]]
"""(nanoseconds since the epoch, bytes on the wire)."""

ETHERNET = 1


def pcap(packets: Packets, *, frames: Sequence[bytes] | None = None) -> bytes:
    """A pcap file with nanosecond times.

    Of a frame only what ``frames`` says is kept, or nothing at all.
    """
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, ETHERNET)]
    for index, (time, length) in enumerate(packets):
        kept = frames[index] if frames else b""
        parts.append(struct.pack("<IIII", time // 10**9, time % 10**9, len(kept), length) + kept)
    return b"".join(parts)


def ethernet(
    source: int,
    destination: int,
    *,
    protocol: int = 6,
    port: int = 80,
    length: int = 60,
    vlan: int | None = None,
) -> bytes:
    """The headers of an Ethernet frame of ``length`` bytes between two hosts of 10.0.0.0/24."""
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    total = length - 14 - len(tag)
    ip = struct.pack(
        ">BBHHHBBHBBBBBBBB",
        0x45,
        0,
        total,
        1,
        0,
        64,
        protocol,
        0,
        10,
        0,
        0,
        source,
        10,
        0,
        0,
        destination,
    )
    transport = (
        struct.pack(">HHIIBBHHH", 1000, port, 1, 1, 0x50, 0x10, 1000, 0, 0)
        if protocol == 6
        else struct.pack(">HHHH", 1000, port, 8, 0)
    )
    return bytes(12) + tag + b"\x08\x00" + ip + transport


@dataclass(frozen=True)
class Ended:
    """How a run of the command ended."""

    code: int
    out: str
    err: str

    @property
    def model(self) -> dict[str, Any]:
        """What ``--json`` printed."""
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs ``trustbed burst`` on a capture, made if it is given as bytes or packets."""

    def runs(capture: bytes | Packets | Path, *words: str) -> Ended:
        if not isinstance(capture, Path):
            contents = capture if isinstance(capture, bytes) else pcap(capture)
            capture = tmp_path / "made.pcap"
            capture.write_bytes(contents)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["burst", str(capture), *words])
        return Ended(code, out.getvalue(), err.getvalue())

    return runs
