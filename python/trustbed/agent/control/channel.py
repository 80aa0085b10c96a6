"""A command on a host, as its caller sees it, and where its streams go.

What passes between the two belongs to the thread of
:class:`~trustbed.agent.control.control.Control`.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Sequence
from typing import Protocol

from trustbed.agent.control import frames
from trustbed.agent.control.frames import Kind
from trustbed.agent.control.link import Loss
from trustbed.agent.control.peer import Peer

_SHARED_PIECE = 4096
"""How much a ready pipe takes without blocking (PIPE_BUF).

For streams of others, which we must not make non-blocking.
"""


class Session(Protocol):
    """What a command needs of the session with its host."""

    peer: Peer

    @property
    def is_gone(self) -> bool:
        """Whether the host is gone for good."""

    @property
    def is_away(self) -> bool:
        """Whether the transport is lost, and another may come."""

    @property
    def losses(self) -> Sequence[Loss]:
        """The times without a transport."""

    def wait_for_return(self, losses: int) -> bool:
        """Blocks while the transport is lost; whether it was lost since ``losses`` were counted."""

    def send(self, channel: int, kind: Kind, content: bytes = b"") -> None:
        """Sends a frame."""

    def wait(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Waits until something holds."""


class Sink:
    """The sink of a command's stream: a descriptor of ours, and the bytes not yet written to it.

    ``taken`` are those written since room was last given back.
    """

    def __init__(self, descriptor: int, most_bytes: int | None = None) -> None:
        """For a descriptor, or -1; one of a file takes at most ``most_bytes``."""
        self.descriptor = descriptor
        is_file = descriptor >= 0 and stat.S_ISREG(os.fstat(descriptor).st_mode)
        # A file takes as much as there is, without blocking.
        self.piece = frames.WINDOW_BYTES if is_file else _SHARED_PIECE
        self.left = most_bytes if is_file else None
        self.waiting = bytearray()
        self.taken = 0
        self.ended = False

    def close(self) -> None:
        """Releases the descriptor. Has no effect if it is released already."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class Channel:
    """A command on the host."""

    def __init__(self, control: Session, number: int, words: Sequence[str]) -> None:
        self.number = number
        self.words = tuple(words)
        self.pid: int | None = None
        self.code: int | None = None
        self.refusal: tuple[int, str] | None = None
        self.unwritten: int | None = None
        self.exceeds = False
        self._control = control
        # Of the control's thread alone.
        self.source = -1
        self.source_room = frames.WINDOW_BYTES
        self.sinks: dict[int, Sink] = {}

    @property
    def drained(self) -> bool:
        """Whether it has ended, and all it wrote has arrived where it was to go."""
        return self.code is not None and not self.sinks

    @property
    def title(self) -> str:
        """The name of its host."""
        return self._control.peer.title

    @property
    def is_lost(self) -> bool:
        """Whether it has gone with the host."""
        return self.code is None and self._control.is_gone

    @property
    def is_away(self) -> bool:
        """Whether the transport to its host is lost, and another may come."""
        return self._control.is_away

    @property
    def losses(self) -> int:
        """How often the transport to its host was lost."""
        return len(self._control.losses)

    def wait_for_return(self, losses: int) -> bool:
        """As :meth:`Control.wait_for_return`."""
        return self._control.wait_for_return(losses)

    def signal(self, number: int) -> None:
        """Sends its group a signal."""
        self._control.send(self.number, Kind.SIGNAL, bytes([number]))

    def resize(self, rows: int, columns: int) -> None:
        """Resizes its terminal."""
        self._control.send(self.number, Kind.SIZE, struct.pack("<HH", rows, columns))

    def wait(self, condition: Callable[[Channel], bool], seconds: float | None) -> bool:
        """Waits until something holds of it; false if it does not within the time.

        Raises:
            TestbedError: The host is gone.
        """
        return self._control.wait(lambda: condition(self), seconds)
