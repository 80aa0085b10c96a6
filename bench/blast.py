"""Sends datagrams that carry their number, at a steady rate.

What the bench of the emulator looks for on the other side.

Run inside a namespace: ``python -m bench.blast TO PACKETS_PER_SECOND BYTES SECONDS [SOURCE…]``.
Each source (an address of the host; its first one if none is given) is used in turn. Wakes up every
200 µs and sends what is due by an absolute schedule; prints how many were sent.
"""

from __future__ import annotations

import socket
import sys
import time

NUMBER_BYTES = 8
_NAP_SECONDS = 0.0002


def blast(to: str, rate: float, size: int, seconds: float, sources: list[str]) -> int:
    """Sends; returns how many datagrams the kernel took."""
    doors = []
    for source in sources or [""]:
        door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        door.bind((source, 0))
        doors.append(door)
    padding = bytes(size - NUMBER_BYTES)
    begun, sent, total = time.perf_counter(), 0, int(rate * seconds)
    while sent < total:
        due = min(int((time.perf_counter() - begun) * rate) + 1, total)
        for number in range(sent, due):
            doors[number % len(doors)].sendto(
                number.to_bytes(NUMBER_BYTES, "big") + padding, (to, 9)
            )
        sent = due
        time.sleep(_NAP_SECONDS)
    return sent


if __name__ == "__main__":
    print(
        blast(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:])
    )
