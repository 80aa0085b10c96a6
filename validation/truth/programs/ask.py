"""A client that asks over one connection, reads the answer, thinks, and asks again.

Usage: ``ask.py ADDRESS PORT THINK_MS SECONDS``. Prints the number of answers.
"""

from __future__ import annotations

import socket
import sys
import time

PIECE_BYTES = 1 << 18
END_OF_HEAD = b"\r\n\r\n"
REQUEST = b"GET /object HTTP/1.1\r\nHost: truth\r\n\r\n"


def exchange(connection: socket.socket) -> None:
    """One request and its whole answer."""
    connection.sendall(REQUEST)
    seen = b""
    while END_OF_HEAD not in seen:
        seen += _some(connection)
    head, _, rest = seen.partition(END_OF_HEAD)
    left = int(head.rsplit(b" ", 1)[1]) - len(rest)
    while left > 0:
        left -= len(_some(connection))


def _some(connection: socket.socket) -> bytes:
    piece = connection.recv(PIECE_BYTES)
    if not piece:
        raise ConnectionError("the server closed before its answer was complete")
    return piece


def main(words: list[str]) -> None:
    """Asks until the time is over."""
    address, port, think_ms, seconds = words
    end, answers = time.monotonic() + float(seconds), 0
    with socket.create_connection((address, int(port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while time.monotonic() < end:
            exchange(connection)
            answers += 1
            time.sleep(float(think_ms) / 1e3)
    print(f"{answers} answers")


if __name__ == "__main__":
    main(sys.argv[1:])
