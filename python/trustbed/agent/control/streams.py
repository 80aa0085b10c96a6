"""The streams of the commands on a host: pipes and files here, windows of bytes there.

What a command writes waits here until it is taken: each stream has a window, so that none fills
memory or holds up the others. Used by the thread of
:class:`~trustbed.agent.control.control.Control` alone.
"""

from __future__ import annotations

import errno
import os
import select
import threading
from collections.abc import Callable, Iterator

from trustbed.agent.control import frames
from trustbed.agent.control.channel import Channel
from trustbed.agent.control.frames import Kind

_PIECE = 16 << 10
_GRANT = frames.WINDOW_BYTES // 4
"""Bytes that are taken before their room is given back; few commands write so many, and each frame
is a packet to a host."""
_STREAMS = {Kind.OUTPUT: 1, Kind.ERRORS: 2}
_ENDS = {Kind.OUTPUT_END: 1, Kind.ERRORS_END: 2}


class Streams:
    """The commands that run on a host, and what moves between their streams and the socket."""

    def __init__(
        self, changed: threading.Condition, send: Callable[[int, Kind, bytes], None]
    ) -> None:
        """None yet; ``changed`` is notified when a stream ends, ``send`` queues a frame."""
        self._changed = changed
        self._send = send
        self._open: dict[int, Channel] = {}

    def __iter__(self) -> Iterator[Channel]:
        return iter(tuple(self._open.values()))

    def __getitem__(self, number: int) -> Channel | None:
        return self._open.get(number)

    def add(self, channel: Channel) -> None:
        """A command begins."""
        self._open[channel.number] = channel

    def register(
        self, poller: select.poll
    ) -> tuple[dict[int, Channel], dict[int, tuple[Channel, int]]]:
        """Registers what may be read and written now: the channels by descriptor."""
        readers: dict[int, Channel] = {}
        writers: dict[int, tuple[Channel, int]] = {}
        for channel in self._open.values():
            if channel.source >= 0 and channel.source_room > 0 and channel.pid is not None:
                readers[channel.source] = channel
                poller.register(channel.source, select.POLLIN)
            for number, sink in channel.sinks.items():
                if sink.waiting:
                    writers[sink.descriptor] = (channel, number)
                    poller.register(sink.descriptor, select.POLLOUT)
        return readers, writers

    def receive(self, channel: Channel, kind: Kind, content: bytes) -> None:
        """Takes a frame of a command.

        Raises:
            ValueError: It is malformed.
        """
        if kind is Kind.STARTED:
            channel.pid = frames.number(content)
        elif kind is Kind.REFUSED:
            channel.refusal = (
                frames.number(content[:4]),
                content[4:].decode(errors="replace"),
            )
            self.drop(channel)
        elif kind is Kind.ROOM:
            channel.source_room += frames.granted(content)
        elif kind in _STREAMS:
            sink = channel.sinks.get(_STREAMS[kind])
            if sink is not None:
                if len(sink.waiting) + len(content) > frames.WINDOW_BYTES:
                    raise ValueError("more bytes than its window allows")
                sink.waiting += content
                if sink.descriptor < 0:  # it has no reader
                    self._taken(channel, _STREAMS[kind], len(content))
        elif kind in _ENDS:
            channel.sinks[_ENDS[kind]].ended = True
            self._close_if_ended(channel, _ENDS[kind])
        elif kind is Kind.ENDED:
            channel.code = frames.number(content)
            self._close_source(channel)
            self._forget_if_ended(channel)

    def read(self, channel: Channel) -> None:
        """Moves what the command reads from here to the host."""
        try:
            piece = os.read(channel.source, min(_PIECE, channel.source_room))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            piece = b""
        if piece:
            channel.source_room -= len(piece)
            self._send(channel.number, Kind.INPUT, piece)
        else:
            self._close_source(channel)
            self._send(channel.number, Kind.INPUT_END, b"")

    def write(self, channel: Channel, number: int) -> None:
        """Writes out what came from the command."""
        sink = channel.sinks.get(number)
        if sink is None or not sink.waiting:
            return
        piece = sink.waiting[: sink.piece]
        try:
            if sink.left is not None and len(piece) > sink.left:
                channel.exceeds = True
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            written = os.write(sink.descriptor, piece)
            if sink.left is not None:
                sink.left -= written
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            if error.errno != errno.EPIPE:
                channel.unwritten = error.errno
                self._send(channel.number, Kind.SIGNAL, bytes([15]))
            sink.close()
            self._send(channel.number, Kind.SHUT, bytes([number]))
            written = len(sink.waiting)
        self._taken(channel, number, written)

    def _taken(self, channel: Channel, number: int, count: int) -> None:
        sink = channel.sinks[number]
        del sink.waiting[:count]
        sink.taken += count
        if sink.taken >= _GRANT:
            self._send(channel.number, Kind.ROOM, frames.room(number, sink.taken))
            sink.taken = 0
        self._close_if_ended(channel, number)

    def _close_if_ended(self, channel: Channel, number: int) -> None:
        sink = channel.sinks[number]
        if sink.ended and not sink.waiting:
            sink.close()
            with self._changed:
                del channel.sinks[number]
                self._forget_if_ended(channel)
                self._changed.notify_all()

    def _close_source(self, channel: Channel) -> None:
        if channel.source >= 0:
            os.close(channel.source)
            channel.source = -1

    def _forget_if_ended(self, channel: Channel) -> None:
        if channel.drained:
            self._send(channel.number, Kind.FORGET, b"")
            self._open.pop(channel.number, None)

    def drop(self, channel: Channel) -> None:
        """Gives back what a command holds here."""
        self._close_source(channel)
        for sink in channel.sinks.values():
            sink.close()
        channel.sinks = {}
        self._open.pop(channel.number, None)
