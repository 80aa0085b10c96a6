"""What frames pass over: a socket, or one after another where what is at the other end outlives the way to it.

In the second case (``crates/agent/src/control/kept.rs`` has the other half) both sides count the frames that came whole. The first frame on
a way says how many those are, and what lies behind them is sent again; in between the same number lets the other side forget what it keeps.
What is kept is bounded by the windows of the streams.

Used by one thread, but for what is looked at: when a way was lost, and whether there is one.
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
from typing import Any

from trustbed.testbed.control import frames
from trustbed.testbed.control.frames import Frame, Kind

EVERY = 16
"""After so many frames the other side is told that they have come."""
_LEAVE_SECONDS = 5.0
"""What taking leave may take."""


@dataclass(slots=True)
class Loss:
    """A time without a way, by the real-time clock of this machine; ``until_ns`` is missing while there is none."""

    why: str
    from_ns: int
    until_ns: int | None = None

    def told(self) -> dict[str, Any]:
        """For records."""
        return {"from_ns": self.from_ns, "until_ns": self.until_ns, "why": self.why}


class Link:
    """The way of the moment. What is said while there is none goes over the next, if ways may be lost."""

    def __init__(self, way: socket.socket, *, lasts: bool) -> None:
        """Over a socket, which belongs to it from now on; ``lasts`` says whether another may come when it is lost."""
        self.losses: list[Loss] = []
        """The times without a way, in order."""
        self.way: socket.socket | None = None
        self._lasts = lasts
        self._stands = not lasts
        self._in = bytearray()
        self._out = bytearray()
        self._kept: deque[bytes] = deque()
        self._forgotten = 0
        self._came = 0
        self.take(way)

    @property
    def is_lost(self) -> bool:
        """Whether there was a way, and there is none."""
        return bool(self.losses) and self.losses[-1].until_ns is None

    @property
    def stands(self) -> bool:
        """Whether both sides know what the other has, so that something may be said."""
        return self._stands

    @property
    def awaited(self) -> int:
        """What is to be waited for on the way, as :func:`select.poll` has it."""
        return select.POLLIN | (select.POLLOUT if self._out else 0)

    def take(self, way: socket.socket) -> None:
        """Another way, which belongs to it from now on."""
        way.setblocking(False)
        self.way = way
        if self._lasts:
            self._out += frames.pack(0, Kind.RESUME, struct.pack("<Q", self._came))

    def lose(self, why: str) -> None:
        """There is no way any more; what was under way on it is sent again over the next."""
        self.close()
        self._stands = False
        self._in.clear()
        self._out.clear()
        if not self.is_lost:
            self.losses.append(Loss(why, time.time_ns()))

    def close(self) -> None:
        """Closes the way if there is one."""
        if self.way is not None:
            self.way.close()
            self.way = None

    def leave(self) -> None:
        """Tells an end that outlives its way that nobody comes back."""
        if not self._lasts or self.way is None:
            return
        self._out += frames.pack(0, Kind.LEAVE)
        with contextlib.suppress(OSError):
            self.way.settimeout(_LEAVE_SECONDS)
            self.way.sendall(self._out)

    def say(self, channel: int, kind: Kind, content: bytes = b"") -> None:
        """Sends a frame as soon as it can be sent."""
        packed = frames.pack(channel, kind, content)
        if self._lasts:
            self._kept.append(packed)
        if self._stands:
            self._out += packed

    def flush(self) -> None:
        """Sends as much as can be sent now.

        Raises:
            OSError: The way is broken.
        """
        while self._out and self.way is not None:
            try:
                sent = self.way.send(self._out)
            except BlockingIOError:
                return
            del self._out[:sent]

    def hear(self) -> bool:
        """Takes what has come, of which :meth:`frames` makes frames; false at the end of the way.

        Raises:
            OSError: The way is broken.
        """
        assert self.way is not None, "something came over it"
        try:
            piece = self.way.recv(1 << 18)
        except BlockingIOError:
            return True
        self._in += piece
        return bool(piece)

    def frames(self) -> Iterator[Frame]:
        """Those that came whole, but for what is said of the way itself.

        Raises:
            Torn: What came is none of our frames.
        """
        for frame in frames.unpack(self._in):
            if self._lasts and frame.kind in (Kind.RESUME, Kind.KEPT):
                self._forget(frame)
                continue
            self._came += 1
            if self._lasts and self._came % EVERY == 0:
                self._out += frames.pack(0, Kind.KEPT, struct.pack("<Q", self._came))
            yield frame

    def _forget(self, frame: Frame) -> None:
        """The other side has some of what is kept; at the beginning of a way it gets the rest."""
        try:
            (count,) = struct.unpack("<Q", frame.content)
        except struct.error:
            count = -1
        if not self._forgotten <= count <= self._forgotten + len(self._kept):
            raise frames.Torn(f"it says that it has {count} frames, which is impossible")
        for _ in range(count - self._forgotten):
            self._kept.popleft()
        self._forgotten = count
        if frame.kind is Kind.RESUME:
            self._stands = True
            self._out += b"".join(self._kept)
            if self.is_lost:
                self.losses[-1].until_ns = time.time_ns()
