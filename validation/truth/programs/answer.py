"""A server that keeps connections open: every request gets the same number of bytes.

Usage: ``answer.py PORT BYTES THINK_MS CONGESTION_CONTROL``. It thinks before every answer, then
writes it at once. Standard library only: the interpreter is whichever the host has.
"""

from __future__ import annotations

import socket
import sys
import threading
import time

REQUEST_BYTES = 4096


def serve(connection: socket.socket, body: bytes, think_seconds: float) -> None:
    """Answers until the peer closes. A request fits into one segment."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while connection.recv(REQUEST_BYTES):
            if think_seconds:
                time.sleep(think_seconds)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)


def listen(port: int, congestion_control: str) -> socket.socket:
    """A listening socket; its connections inherit the congestion control."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_CONGESTION"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
    listener.bind(("", port))
    listener.listen()
    return listener


def main(words: list[str]) -> None:
    """Serves until it is ended."""
    port, size, think_ms, congestion_control = words
    body, think_seconds = bytes(int(size)), float(think_ms) / 1e3
    listener = listen(int(port), congestion_control)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, body, think_seconds), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1:])
