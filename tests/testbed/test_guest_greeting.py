"""The echo request by which a guest's card is tried."""

from __future__ import annotations

import ipaddress

from trustbed.testbed.qemu import greeting

HERE, THERE = ipaddress.IPv4Address("10.77.0.2"), ipaddress.IPv4Address("10.77.0.1")


def answer(frame: bytes) -> bytes:
    """What a host makes of it."""
    turned = frame[:26] + frame[30:34] + frame[26:30] + frame[34:]
    return turned[:34] + b"\0" + turned[35:]


def test_the_frame_is_whole() -> None:
    frame = greeting.echo_request("02:74:62:00:00:01", HERE, THERE, 3)
    assert frame[:14] == bytes.fromhex("027462000001027462fffffe0800")
    assert (frame[26:30], frame[30:34]) == (HERE.packed, THERE.packed)
    # A sum over what holds its own checksum is zero (RFC 1071).
    assert greeting._checksum(frame[14:34]) == 0
    assert greeting._checksum(frame[34:]) == 0


def test_only_the_answer_is_one() -> None:
    frame = greeting.echo_request("02:74:62:00:00:01", HERE, THERE, 3)
    assert greeting.answered(answer(frame), THERE.packed) == 3
    assert greeting.answered(frame, HERE.packed) is None, "our own"
    assert greeting.answered(answer(frame), HERE.packed) is None, "of another host"
    assert greeting.answered(answer(frame)[:40], THERE.packed) is None, "cut"
