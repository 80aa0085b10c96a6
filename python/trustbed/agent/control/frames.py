"""The frames between a host and this machine.

Frames of a channel, a kind and some bytes, as in ``crates/agent/src/control/frame.rs``.

A header of twelve bytes, little-endian: channel (4), kind (1), nothing (3), length of what follows
(4). A channel is a command; channel 0 is the host itself.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

WINDOW_BYTES = 256 << 10
"""How many unread bytes of one stream may be in flight (its window)."""
LONGEST_BYTES = 1 << 20
"""A longer frame is malformed."""

_HEADER = struct.Struct("<IB3xI")


class Kind(IntEnum):
    """What a frame is; the agent's file has what each holds."""

    OPEN = 1
    INPUT = 2
    INPUT_END = 3
    ROOM = 4
    SHUT = 5
    SIGNAL = 6
    SIZE = 7
    FORGET = 8
    CLOCK = 9
    SHIFT = 10
    LEAVE = 11
    RESUME = 12
    RECEIVED = 13
    HELLO = 16
    STARTED = 17
    REFUSED = 18
    OUTPUT = 19
    ERRORS = 20
    OUTPUT_END = 21
    ERRORS_END = 22
    ENDED = 23
    TIME = 24


class Frame(NamedTuple):
    """One frame."""

    channel: int
    kind: Kind
    content: bytes


class Malformed(Exception):
    """The received bytes are no frame of this protocol."""


def pack(channel: int, kind: Kind, content: bytes = b"") -> bytes:
    """A frame as it passes."""
    return _HEADER.pack(channel, kind, len(content)) + content


def unpack(buffer: bytearray) -> Iterator[Frame]:
    """Takes the frames that are whole out of what came in.

    Raises:
        Malformed: It holds something else.
    """
    at = 0
    try:
        while len(buffer) - at >= _HEADER.size:
            channel, number, length = _HEADER.unpack_from(buffer, at)
            if length > LONGEST_BYTES or number not in Kind._value2member_map_:
                raise Malformed(f"a frame of kind {number} and {length} bytes is impossible")
            end = at + _HEADER.size + length
            if len(buffer) < end:
                return
            content = bytes(buffer[at + _HEADER.size : end])
            at = end
            yield Frame(channel, Kind(number), content)
    finally:
        del buffer[:at]


def number(content: bytes) -> int:
    """The number in a frame: an exit code, an error, a process.

    Raises:
        struct.error: It is none of four bytes.
    """
    return int(struct.unpack("<i", content)[0])


def room(stream: int, count: int) -> bytes:
    """The content of a frame that grants room.

    So many more bytes of a stream (0 input, 1 output, 2 errors).
    """
    return struct.pack("<BI", stream, count)


def granted(content: bytes) -> int:
    """The bytes that a frame grants."""
    return int(struct.unpack("<BI", content)[1])
