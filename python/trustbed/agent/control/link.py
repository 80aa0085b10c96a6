"""The transport of frames: a socket, or one after another where the other end outlives its loss.

In the second case (``crates/agent/src/control/replay_buffer.rs`` has the other half) both sides
count the frames that came whole. The first frame on a new transport carries that count, and what
lies behind it is sent again; in between the same count lets the other side shorten its replay
buffer, which the windows of the streams bound.

Used by one thread, except :attr:`Link.losses` and :attr:`Link.is_lost`, which any thread may read.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from trustbed.agent.control import frames
from trustbed.agent.control.frames import Frame, Kind

EVERY = 16
"""A count of what has arrived is sent after so many frames."""
MOST_FRAMES = 1 << 20
"""Frames that the other end may owe an acknowledgement for."""
MOST_BYTES = 256 << 20
"""Bytes that may wait until the other end reads them."""
_LEAVE_SECONDS = 5.0
"""How long the last frames may take."""


@dataclass(slots=True)
class Loss:
    """A time without a transport, by the real-time clock of this host.

    ``until_ns`` is missing while it lasts.
    """

    why: str
    from_ns: int
    until_ns: int | None = None


class Link:
    """The current transport; frames sent while there is none go over the next."""

    def __init__(self, transport: socket.socket, *, lasts: bool) -> None:
        """Over a socket, which belongs to it from now on.

        ``lasts``: whether another may come when it is lost.
        """
        self.losses: list[Loss] = []
        """The times without a transport, in order."""
        self.transport: socket.socket | None = None
        self._lasts = lasts
        self._synchronized = not lasts
        self._in = bytearray()
        self._out = bytearray()
        self._replay: deque[bytes] = deque()
        self._forgotten = 0
        self._received = 0
        self.take(transport)

    @property
    def is_lost(self) -> bool:
        """Whether the transport is lost."""
        return bool(self.losses) and self.losses[-1].until_ns is None

    @property
    def is_synchronized(self) -> bool:
        """Whether both sides know what the other has, so that frames may be sent."""
        return self._synchronized

    @property
    def awaited(self) -> int:
        """The events of :func:`select.poll` to wait for."""
        return select.POLLIN | (select.POLLOUT if self._out else 0)

    def take(self, transport: socket.socket) -> None:
        """Goes on over another socket, which belongs to it from now on."""
        transport.setblocking(False)
        self.transport = transport
        if self._lasts:
            self._out += frames.pack(0, Kind.RESUME, struct.pack("<Q", self._received))

    def lose(self, why: str) -> None:
        """The transport is lost; what was in flight on it is sent again over the next."""
        self.close()
        self._synchronized = False
        self._in.clear()
        self._out.clear()
        if not self.is_lost:
            self.losses.append(Loss(why, time.time_ns()))

    def close(self) -> None:
        """Closes the transport if there is one."""
        if self.transport is not None:
            self.transport.close()
            self.transport = None

    def leave(self) -> None:
        """Announces to an end that outlives its transport that no other comes."""
        if not self._lasts or self.transport is None:
            return
        self._out += frames.pack(0, Kind.LEAVE)
        with contextlib.suppress(OSError):
            self.transport.settimeout(_LEAVE_SECONDS)
            self.transport.sendall(self._out)

    def send(self, channel: int, kind: Kind, content: bytes = b"") -> None:
        """Sends a frame as soon as it can be sent.

        Raises:
            Malformed: The other end writes, and neither reads nor acknowledges.
        """
        packed = frames.pack(channel, kind, content)
        if len(self._replay) >= MOST_FRAMES or len(self._out) > MOST_BYTES:
            raise frames.Malformed("it does not read what it is sent")
        if self._lasts:
            self._replay.append(packed)
        if self._synchronized:
            self._out += packed

    def flush(self) -> None:
        """Sends as much as can be sent now.

        Raises:
            OSError: The transport is broken.
        """
        while self._out and self.transport is not None:
            try:
                sent = self.transport.send(self._out)
            except BlockingIOError:
                return
            del self._out[:sent]

    def receive(self) -> bool:
        """Takes what has come, of which :meth:`frames` makes frames; false at its end.

        Raises:
            OSError: The transport is broken.
        """
        assert self.transport is not None, "something came over it"
        try:
            piece = self.transport.recv(1 << 18)
        except BlockingIOError:
            return True
        self._in += piece
        return bool(piece)

    def frames(self) -> Iterator[Frame]:
        """Those that came whole, except those about the transport itself.

        Raises:
            Malformed: What came is no frame.
        """
        for frame in frames.unpack(self._in):
            if self._lasts and frame.kind in (Kind.RESUME, Kind.RECEIVED):
                self._forget(frame)
                continue
            self._received += 1
            if self._lasts and self._received % EVERY == 0:
                self._out += frames.pack(0, Kind.RECEIVED, struct.pack("<Q", self._received))
            yield frame

    def _forget(self, frame: Frame) -> None:
        """Shortens the replay buffer; over a new transport the rest of it is sent again."""
        try:
            (count,) = struct.unpack("<Q", frame.content)
        except struct.error:
            count = -1
        if not self._forgotten <= count <= self._forgotten + len(self._replay):
            raise frames.Malformed(f"impossible count of frames: {count}")
        for _ in range(count - self._forgotten):
            self._replay.popleft()
        self._forgotten = count
        if frame.kind is Kind.RESUME:
            self._synchronized = True
            if len(self._out) > MOST_BYTES:
                raise frames.Malformed("it resumes again and again")
            self._out += b"".join(self._replay)
            if self.is_lost:
                self.losses[-1].until_ns = time.time_ns()
