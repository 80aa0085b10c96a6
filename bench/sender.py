"""Sends the smallest frames as fast as one core can: what a capture has to keep up with.

Run by the bench inside a namespace: ``python -m bench.sender INTERFACE SECONDS [SOURCE
DESTINATION]``; prints how many frames left, and in how many seconds. Their IPv4 header has no
checksum, so that whoever receives them throws them away at once; without addresses they are also
for a host that does not exist.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import time

FRAME = (
    bytes.fromhex("020000000099020000000001")
    + b"\x08\x00"
    + bytes.fromhex("4500002e0001000040110000")
    + bytes(34)
)
"""60 bytes: Ethernet, the beginning of an IPv4 header, zeros."""
BATCH = 512
_SOL_PACKET, _PACKET_QDISC_BYPASS = 263, 20


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """``struct mmsghdr``."""

    _fields_ = (("header", _Header), ("sent", ctypes.c_uint))


def addressed(source: str, destination: str) -> bytes:
    """A frame of the same length between two IPv4 addresses."""
    return FRAME[:26] + socket.inet_aton(source) + socket.inet_aton(destination) + FRAME[34:]


def flood(interface: str, seconds: float, content: bytes = FRAME) -> tuple[int, float]:
    """Frames that left, and the time that took."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((interface, 0))
    out.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
    frame = ctypes.create_string_buffer(content, len(content))
    vector = _Vector(ctypes.addressof(frame), len(content))
    messages = (_Message * BATCH)()
    for message in messages:
        message.header.vectors = ctypes.pointer(vector)
        message.header.vector_count = 1
    sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
    sent, begun = 0, time.perf_counter()
    while (lasted := time.perf_counter() - begun) < seconds:
        done = sendmmsg(out.fileno(), messages, BATCH, 0)
        if done < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        sent += done
    return sent, lasted


if __name__ == "__main__":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    count, lasted = flood(
        sys.argv[1], float(sys.argv[2]), addressed(*sys.argv[3:5]) if sys.argv[3:] else FRAME
    )
    print(count, lasted)
