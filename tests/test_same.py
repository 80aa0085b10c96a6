"""The same packets give the same tables, byte for byte.

Whole or in rotated parts, pcap or pcapng, plain or compressed.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import trustbed

ROOT = Path(__file__).resolve().parent.parent
RECORDING = ROOT / "recordings" / "random-loss.sender.pcap.gz"


def records(pcap: bytes) -> Iterator[bytes]:
    """Every record of a little-endian pcap file, header included."""
    at = 24
    while at < len(pcap):
        length = struct.unpack_from("<I", pcap, at + 8)[0]
        yield pcap[at : at + 16 + length]
        at += 16 + length


def block(kind: int, body: bytes) -> bytes:
    padded = body + bytes(-len(body) % 4)
    length = struct.pack("<I", len(padded) + 12)
    return struct.pack("<I", kind) + length + padded + length


def pcapng(pcap: bytes) -> bytes:
    """The same packets as nanosecond pcapng (section, interface, enhanced packet blocks)."""
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    interface = block(
        1, struct.pack("<HHI", 1, 0, struct.unpack_from("<I", pcap, 16)[0]) + resolution
    )
    packets = []
    for record in records(pcap):
        seconds, nanoseconds, captured, original = struct.unpack_from("<IIII", record)
        stamp = seconds * 10**9 + nanoseconds
        packets.append(
            block(
                6,
                struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, captured, original)
                + record[16:],
            )
        )
    return section + interface + b"".join(packets)


@pytest.fixture(scope="module")
def pcap() -> bytes:
    return gzip.decompress(RECORDING.read_bytes())


def tables(directory: Path, files: dict[str, bytes], workers: int = 1) -> dict[str, bytes]:
    directory.mkdir()
    for name, content in files.items():
        (directory / name).write_bytes(content)
    capture = trustbed.analyze([directory / name for name in files], samples=True, workers=workers)
    capture.write(directory / "tables")
    return {
        name: (directory / "tables" / f"{name}.parquet").read_bytes()
        for name in (
            "connections",
            "transfers",
            "phases",
            "exchanges",
            "skips",
            "rtt",
            "spacing",
            "segments",
        )
    }


@pytest.fixture(scope="module")
def whole(pcap: bytes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return tables(tmp_path_factory.mktemp("whole") / "it", {"whole.pcap": pcap})


@pytest.mark.parametrize("workers", [2, 7])
def test_any_number_of_workers(
    pcap: bytes, whole: dict[str, bytes], tmp_path: Path, workers: int
) -> None:
    assert tables(tmp_path / "it", {"whole.pcap": pcap}, workers) == whole


@pytest.mark.parametrize("parts", [2, 3, 8])
def test_rotated_parts_in_any_order(
    pcap: bytes, whole: dict[str, bytes], tmp_path: Path, parts: int
) -> None:
    all_records = list(records(pcap))
    size = -(-len(all_records) // parts)
    cuts = [all_records[at : at + size] for at in range(0, len(all_records), size)]
    files = {
        f"part{n}.pcap": pcap[:24] + b"".join(cut) for n, cut in reversed(list(enumerate(cuts)))
    }
    assert tables(tmp_path / "it", files) == whole


def test_pcapng(pcap: bytes, whole: dict[str, bytes], tmp_path: Path) -> None:
    assert tables(tmp_path / "it", {"whole.pcapng": pcapng(pcap)}) == whole


def test_compressed(pcap: bytes, whole: dict[str, bytes], tmp_path: Path) -> None:
    assert tables(tmp_path / "it", {"whole.pcap.gz": gzip.compress(pcap)}) == whole
