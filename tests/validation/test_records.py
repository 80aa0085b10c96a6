"""The oracle's reader of files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from tests.validation.talk import Talk
from validation.records import DamagedError, NotACaptureError, contents, records


def block(kind: int, body: bytes) -> bytes:
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(resolution: int, offset: int) -> bytes:
    options = (
        struct.pack("<HHBxxx", 9, 1, resolution)
        + struct.pack("<HHq", 14, 8, offset)
        + struct.pack("<HH", 0, 0)
    )
    return block(1, struct.pack("<HHI", 1, 0, 0) + options)


def test_pcap_in_both_orders_and_both_units() -> None:
    for order, magic, unit in (
        ("<", 0xA1B2C3D4, 1_000),
        (">", 0xA1B2C3D4, 1_000),
        ("<", 0xA1B23C4D, 1),
        (">", 0xA1B23C4D, 1),
    ):
        data = (
            struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 96, 1)
            + struct.pack(order + "IIII", 5, 7, 3, 60)
            + b"abc"
        )
        (record,) = records(data)
        assert (record.time_ns, record.original_length, record.data) == (
            5_000_000_000 + 7 * unit,
            60,
            b"abc",
        )


def test_old_pcap_has_its_lengths_in_reverse_order() -> None:
    data = (
        struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 2, 0, 0, 96, 1)
        + struct.pack("<IIII", 5, 7, 60, 3)
        + b"abc"
    )
    assert [(record.original_length, record.data) for record in records(data)] == [(60, b"abc")]


def test_pcapng_with_resolution_offset_and_two_sections() -> None:
    body = struct.pack("<IIIII", 0, 0, 1 << 10, 3, 60) + b"abc"
    data = (
        SECTION
        + interface(0x8A, 100)
        + block(6, body)
        + block(0xBAD, b"unknown")
        + SECTION
        + interface(3, 0)
        + block(6, body)
    )
    first, second = records(data)
    assert first.time_ns == 101_000_000_000
    assert second.time_ns == 1_024_000_000
    assert [first.frame, second.frame] == [1, 2]


def test_gzip_is_taken_off(tmp_path: Path) -> None:
    plain = Talk().hello().write(tmp_path / "talk.pcap").read_bytes()
    packed = tmp_path / "talk.pcap.gz"
    packed.write_bytes(gzip.compress(plain))
    assert contents(packed) == plain


def test_damage_is_named_after_the_records_before_it(tmp_path: Path) -> None:
    data = Talk().hello().write(tmp_path / "talk.pcap").read_bytes()
    reader = records(data[:-1])
    assert [next(reader).frame, next(reader).frame] == [1, 2]
    with pytest.raises(DamagedError, match="after record 2"):
        next(reader)
    with pytest.raises(NotACaptureError):
        list(records(b"this is text"))
    with pytest.raises(DamagedError, match="not described"):
        list(records(SECTION + block(6, bytes(24))))
