"""A small HTTP server for objects of one size, quick enough that the network is what limits.

Run by the bench inside a namespace: ``python -m bench.server ADDRESS PORT SIZE``. One thread; every
request gets the same answer and the connection is closed, as in the published measurements with
``ab``. It reads no request closer than to see where it ends.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import sys


def serve(address: str, port: int, size: int) -> None:
    """Serves until it is killed; says ``ready`` first."""
    answer = memoryview(f"HTTP/1.0 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + bytes(size))
    door = socket.create_server((address, port), backlog=1024)
    door.setblocking(False)
    waiting = selectors.EpollSelector()
    waiting.register(door, selectors.EVENT_READ)
    left: dict[socket.socket, memoryview] = {}
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select():
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            if peer is door:
                _accept(door, waiting)
                continue
            try:
                done = _advance(peer, left, answer, waiting)
            except OSError:
                done = True
            if done:
                left.pop(peer, None)
                waiting.unregister(peer)
                peer.close()


def _accept(door: socket.socket, waiting: selectors.BaseSelector) -> None:
    while True:
        try:
            peer, _ = door.accept()
        except BlockingIOError:
            return
        peer.setblocking(False)
        waiting.register(peer, selectors.EVENT_READ)


def _advance(
    peer: socket.socket,
    left: dict[socket.socket, memoryview],
    answer: memoryview,
    waiting: selectors.BaseSelector,
) -> bool:
    """Reads the request or writes some of the answer; true when it is through."""
    rest = left.get(peer)
    if rest is None:
        if not peer.recv(65536):
            return True
        rest = answer
        waiting.modify(peer, selectors.EVENT_WRITE)
    with contextlib.suppress(BlockingIOError):
        rest = rest[peer.send(rest) :]
    left[peer] = rest
    return not rest


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
