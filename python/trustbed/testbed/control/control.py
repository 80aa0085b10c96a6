"""The control channel of a host: commands started there, their streams moved, the clock read, over one socket.

A thread of its own moves everything, so that whoever started a command may wait for it, or not look at it at all. What a command writes
waits there until it is read: each stream has a window, and none can fill memory or keep the others from the socket.

A host that may vanish without closing anything (a cut network, a machine that lost its power) is asked for a sign of life as often as its
:class:`Peer` says; the questions are at the same time what tells it that we are still here.

Where the other end outlives the way to it (:class:`Control` with ``keep_seconds``), the loss of the way ends nothing: what is said waits
until :meth:`Control.resume` brings another, and no byte is lost. Whoever waits for something waits longer for it.

Nothing is decided here about what runs. Bias: a reading of the other clock is in error by at most half the time between question and
answer, of which the other side's slowness, or the way there, is the larger part; the shortest of several is used.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trustbed.testbed.control import frames
from trustbed.testbed.control.channel import Channel, Sink
from trustbed.testbed.control.frames import Kind
from trustbed.testbed.control.link import Link, Loss
from trustbed.testbed.control.peer import Peer, Reading
from trustbed.testbed.error import TestbedError

_PIECE = 16 << 10
_STREAMS = {Kind.OUTPUT: 1, Kind.ERRORS: 2}
_ENDS = {Kind.OUTPUT_END: 1, Kind.ERRORS_END: 2}


SIGNS = 4
"""How many signs of life a host may owe; they are asked for evenly over the time that it may be silent."""


class Control:
    """The socket to a host. :meth:`close` ends the thread; what runs there ends itself when nobody is here any more."""

    def __init__(
        self,
        link: socket.socket,
        peer: Peer,
        explain: Callable[[str], str] = str,
        *,
        keep_seconds: float | None = None,
    ) -> None:
        """Over a socket.

        Args:
            link: The socket, which belongs to the channel from now on.
            peer: Who is at its other end.
            explain: Says better why the other end is gone, as far as whoever made the socket knows it; it may take a moment.
            keep_seconds: How long the other end outlives the loss of its socket; it ends with it if this is not given.
        """
        self.peer = peer
        self.hello: dict[str, Any] | None = None
        self._link = Link(link, lasts=keep_seconds is not None)
        self._explain = explain
        self._keep_seconds = keep_seconds
        self._trying = False
        self._given_up: str | None = None
        self._lost_at = 0.0
        self._owed = 0
        self._due = time.monotonic()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._changed = threading.Condition()
        self._channels: dict[int, Channel] = {}
        self._next = 1
        self._opening: dict[int, Channel] = {}
        self._orders: deque[Callable[[], None]] = deque()
        self._asked: set[bytes] = set()
        self._times: dict[bytes, tuple[int, bytes]] = {}
        self._gone: str | None = None
        self._closing = False
        self._thread = threading.Thread(
            target=self._serve, name=f"control of {peer.title}", daemon=True
        )
        self._thread.start()

    # For everybody else.

    @property
    def is_gone(self) -> bool:
        """Whether nobody is there any more."""
        return self._gone is not None

    @property
    def is_away(self) -> bool:
        """Whether the way there is lost, and another may come."""
        return self._gone is None and self._link.is_lost

    @property
    def losses(self) -> Sequence[Loss]:
        """The times without a way there, in order."""
        return self._link.losses

    def resume(self, link: socket.socket, explain: Callable[[str], str], seconds: float) -> bool:
        """Goes on over another socket, which belongs to the channel from now on; whether that has succeeded within the time.

        Raises:
            TestbedError: The host is gone.
        """

        def take() -> None:
            self._link.take(link)
            self._explain = explain
            self._owed, self._due = 0, time.monotonic()

        with self._changed:
            if self._gone is not None:
                link.close()
                raise self._lost(self._gone)
            self._trying = True
            self._order(take)
            self._changed.wait_for(lambda: not self._trying or self._gone is not None, seconds)
            if self._trying:
                self._order(
                    lambda: (
                        self._lose(f"nothing has come within {seconds:g} s")
                        if self._trying
                        else None
                    )
                )
            if self.is_gone:
                link.close()  # it may not have been taken
            return not self.is_gone and not self.is_away

    def give_up(self, why: str) -> None:
        """Nobody is there any more, as somebody knows who has looked."""
        with self._changed:
            self._given_up = why
        self._ring()
        self._thread.join()

    def open(
        self,
        words: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int,
        environment: Mapping[str, str],
        folder: str | None = None,
        terminal: tuple[int, int] | None = None,
    ) -> Channel:
        """Asks for a command. The descriptors belong to the channel from now on and are closed by it, whatever happens; -1 is none.

        Raises:
            TestbedError: The host is gone, or the command is too long.
        """
        channel = Channel(self, self._numbered(), words)
        channel.source = stdin
        channel.sinks = {
            number: Sink(descriptor) for number, descriptor in ((1, stdout), (2, stderr))
        }
        size = None if terminal is None else {"rows": terminal[0], "columns": terminal[1]}
        order = {
            "words": list(words),
            "environment": dict(environment),
            "folder": folder,
            "terminal": size,
        }
        content = json.dumps(order).encode()
        if len(content) > frames.LONGEST_BYTES:
            self._drop(channel)
            raise TestbedError(
                f"{words[0]}: arguments and environment of {len(content)} bytes are too long",
                "put them into a file",
            )

        def begin() -> None:
            self._channels[channel.number] = self._opening.pop(channel.number)
            self._queue(channel.number, Kind.OPEN, content)
            if channel.source < 0:
                self._queue(channel.number, Kind.INPUT_END)

        with self._changed:
            if self._gone is not None:
                self._drop(channel)
                raise self._lost(self._gone)
            self._opening[channel.number] = channel
            self._order(begin)
        return channel

    def _numbered(self) -> int:
        with self._changed:
            self._next += 1
            return self._next - 1

    def send(self, channel: int, kind: Kind, content: bytes = b"") -> None:
        """Sends a frame."""
        self._order(lambda: self._queue(channel, kind, content))

    def wait(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Waits until something holds that a frame can bring about; false if it does not within the time.

        The time begins anew when the way was lost meanwhile and is there again.

        Raises:
            TestbedError: The host is gone.
        """
        with self._changed:
            while True:
                losses = len(self.losses)
                self._changed.wait_for(lambda: condition() or self._gone is not None, seconds)
                if condition():
                    return True
                if self._gone is not None:
                    raise self._lost(self._gone)
                if not self.was_away(losses):
                    return False

    def was_away(self, losses: int) -> bool:
        """Whether the way was lost since it had been so many times; then waits until there is one again, or nobody is there any more.

        What a host was given time for is given it anew afterwards.
        """
        with self._changed:
            # One sign is owed whenever it was just asked for; a way that was cut in silence shows by the next.
            if in_doubt := self._keep_seconds is not None and self._owed > 1:
                self._changed.wait_for(lambda: self._owed <= 1 or self.is_away or self.is_gone)
            if not in_doubt and not self.is_away and len(self.losses) == losses:
                return False
            self._changed.wait_for(lambda: not self.is_away)
            return True

    def _lost(self, why: str) -> TestbedError:
        return TestbedError(f"{self.peer.title} is gone: {why}", self.peer.when_gone)

    def read_clock(self, rounds: int = 20, seconds: float = 30.0) -> Reading:
        """Compares its real-time clock with ours: the round that took the shortest time counts.

        Raises:
            TestbedError: It does not answer.
        """
        best: Reading | None = None
        for number in range(rounds):
            reading = self._ask_time(struct.pack("<Q", time.monotonic_ns() + number), seconds)
            if best is None or reading.error_ns < best.error_ns:
                best = reading
        assert best is not None, "there was a round"
        return best

    def _ask_time(self, mark: bytes, seconds: float) -> Reading:
        with self._changed:
            self._asked.add(mark)
        try:
            self._order(
                lambda: self._queue(0, Kind.CLOCK, mark + struct.pack("<Q", time.time_ns()))
            )
            if not self.wait(lambda: mark in self._times, seconds):
                raise TestbedError(
                    f"{self.peer.title} does not say what time it is",
                    "the machine may be overloaded; try again",
                )
            came, content = self._times[mark]
        finally:
            with self._changed:
                self._asked.discard(mark)
                self._times.pop(mark, None)
        its, asked = struct.unpack("<q8xQ", content)
        trip = came - asked
        return Reading(ahead_ns=its - (asked + trip // 2), error_ns=trip // 2, at_ns=came)

    def shift_clock(self, nanoseconds: int) -> None:
        """Moves its real-time clock."""
        self.send(0, Kind.SHIFT, struct.pack("<q", nanoseconds))

    def close(self) -> None:
        """Ends the thread and closes the socket."""
        with self._changed:
            self._closing = True
        self._ring()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # The thread.

    def _order(self, order: Callable[[], None]) -> None:
        with self._changed:
            self._orders.append(order)
        self._ring()

    def _ring(self) -> None:
        # The bell goes with the thread; its number may be another file's by then.
        with self._changed, contextlib.suppress(OSError):
            if self._bell >= 0:
                os.eventfd_write(self._bell, 1)

    def _queue(self, channel: int, kind: Kind, content: bytes = b"") -> None:
        self._link.say(channel, kind, content)

    def _serve(self) -> None:
        why = "it has closed its control channel"
        try:
            while True:
                said = why
                try:
                    if self._turn():
                        continue
                except OSError as error:
                    said = str(error)
                # An end that has not said what it is has never been there.
                if (
                    self._closing
                    or self._keep_seconds is None
                    or self._link.way is None
                    or self._given_up is not None
                    or self.hello is None
                ):
                    why = said
                    break
                self._lose(said)
        except frames.Torn as error:
            why = str(error)
        finally:
            if self._closing:
                self._link.leave()
            elif self._link.way is not None and self._given_up is None:
                why = self._explain(why)
            with self._changed:
                self._gone = "it was ended" if self._closing else why
                for channel in (*self._channels.values(), *self._opening.values()):
                    self._drop(channel)
                os.close(self._bell)
                self._bell = -1
                self._changed.notify_all()
            self._link.close()

    def _lose(self, why: str) -> None:
        """There is no way any more."""
        why = self._explain(why)
        with self._changed:
            if not self._link.is_lost:
                self._lost_at = time.monotonic()
            self._link.lose(why)
            self._trying = False
            self._changed.notify_all()

    def _turn(self) -> bool:
        """One wait for something, and what it brings; false at the end.

        Raises:
            OSError: The link is broken, or nobody is at its other end.
        """
        with self._changed:
            if self._closing:
                return False
            if self._given_up is not None:
                raise OSError(self._given_up)
            while self._orders:
                self._orders.popleft()()
        self._link.flush()
        poller = select.poll()
        poller.register(self._bell, select.POLLIN)
        way = self._link.way
        if way is not None:
            poller.register(way, self._link.awaited)
        readers, writers = self._register(poller)
        found = dict(poller.poll(self._until_sign()))
        if self._bell in found:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._bell)
            # What was ordered goes out before what is read here: it was said before that.
            return True
        for number, events in found.items():
            if way is not None and number == way.fileno():
                if events & ~select.POLLOUT and not self._hear():
                    return False
            elif number in readers:
                self._read(readers[number])
            elif number in writers:
                self._write(*writers[number])
        return True

    def _until_sign(self) -> float | None:
        """Asks for a sign of life if it is time; the milliseconds until the next one is due.

        Raises:
            OSError: There was none for too long, or no way for as long as the other end outlives that.
        """
        now = time.monotonic()
        if self._link.way is None:
            assert self._keep_seconds is not None, "without that, no link is the end"
            left = self._lost_at + self._keep_seconds - now
            if left <= 0:
                raise OSError(
                    f"{self._link.losses[-1].why}; it could not be reached again within {self._keep_seconds:g} s"
                )
            return left * 1000
        silence = self.peer.silence_seconds
        if silence is None or not self._link.stands:
            return None
        if now >= self._due:
            if self._owed == SIGNS:
                raise OSError(f"it has been silent for {silence:g} s")
            # Counted, not timed: whoever was suspended first looks at what has come meanwhile.
            self._owed += 1
            self._due = now + silence / SIGNS
            self._queue(0, Kind.CLOCK)
            self._link.flush()
        return (self._due - now) * 1000

    def _register(
        self, poller: select.poll
    ) -> tuple[dict[int, Channel], dict[int, tuple[Channel, int]]]:
        readers: dict[int, Channel] = {}
        writers: dict[int, tuple[Channel, int]] = {}
        for channel in self._channels.values():
            if channel.source >= 0 and channel.source_room > 0 and channel.pid is not None:
                readers[channel.source] = channel
                poller.register(channel.source, select.POLLIN)
            for number, sink in channel.sinks.items():
                if sink.waiting:
                    writers[sink.descriptor] = (channel, number)
                    poller.register(sink.descriptor, select.POLLOUT)
        return readers, writers

    def _hear(self) -> bool:
        if not self._link.hear():
            return False
        came = time.time_ns()
        self._owed = 0
        with self._changed:
            for frame in self._link.frames():
                try:
                    self._understand(frame, came)
                except (ValueError, KeyError, struct.error) as error:
                    raise frames.Torn(
                        f"it said what makes no sense ({frame.kind.name}: {error})"
                    ) from None
            if self._link.stands:
                self._trying = False
            self._changed.notify_all()
        return True

    def _understand(self, frame: frames.Frame, came: int) -> None:
        number, kind, content = frame
        if kind is Kind.HELLO:
            hello = json.loads(content)
            if not isinstance(hello, dict):
                raise ValueError("no object")
            self.hello = hello
        elif kind is Kind.TIME:
            if content[8:16] in self._asked:  # else it was a sign of life, or came too late
                self._times[content[8:16]] = (came, content)
        elif (channel := self._channels.get(number)) is not None:
            self._understand_channel(channel, kind, content)

    def _understand_channel(self, channel: Channel, kind: Kind, content: bytes) -> None:
        if kind is Kind.STARTED:
            channel.pid = int.from_bytes(content, "little")
        elif kind is Kind.REFUSED:
            channel.refusal = (
                int.from_bytes(content[:4], "little", signed=True),
                content[4:].decode(errors="replace"),
            )
            self._drop(channel)
        elif kind is Kind.ROOM:
            channel.source_room += frames.granted(content)
        elif kind in _STREAMS:
            sink = channel.sinks.get(_STREAMS[kind])
            if sink is not None:
                if len(sink.waiting) + len(content) > frames.WINDOW_BYTES:
                    raise ValueError("more than it was allowed to send")
                sink.waiting += content
                if sink.descriptor < 0:  # nobody wants to see it
                    self._taken(channel, _STREAMS[kind], len(content))
        elif kind in _ENDS:
            channel.sinks[_ENDS[kind]].ended = True
            self._close_if_done(channel, _ENDS[kind])
        elif kind is Kind.ENDED:
            channel.code = int.from_bytes(content, "little", signed=True)
            self._close_source(channel)
            self._forget_if_done(channel)

    def _read(self, channel: Channel) -> None:
        """What the command is to read."""
        try:
            piece = os.read(channel.source, min(_PIECE, channel.source_room))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            piece = b""
        if piece:
            channel.source_room -= len(piece)
            self._queue(channel.number, Kind.INPUT, piece)
        else:
            self._close_source(channel)
            self._queue(channel.number, Kind.INPUT_END)

    def _write(self, channel: Channel, number: int) -> None:
        """What the command has written."""
        sink = channel.sinks.get(number)
        if sink is None or not sink.waiting:
            return
        try:
            written = os.write(sink.descriptor, sink.waiting[: sink.piece])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            if error.errno != errno.EPIPE:
                channel.unwritten = error.errno
                self._queue(channel.number, Kind.SIGNAL, bytes([15]))
            sink.close()
            self._queue(channel.number, Kind.SHUT, bytes([number]))
            written = len(sink.waiting)
        self._taken(channel, number, written)

    def _taken(self, channel: Channel, number: int, count: int) -> None:
        sink = channel.sinks[number]
        del sink.waiting[:count]
        self._queue(channel.number, Kind.ROOM, frames.room(number, count))
        self._close_if_done(channel, number)

    def _close_if_done(self, channel: Channel, number: int) -> None:
        sink = channel.sinks[number]
        if sink.ended and not sink.waiting:
            sink.close()
            with self._changed:
                del channel.sinks[number]
                self._forget_if_done(channel)
                self._changed.notify_all()

    def _close_source(self, channel: Channel) -> None:
        if channel.source >= 0:
            os.close(channel.source)
            channel.source = -1

    def _forget_if_done(self, channel: Channel) -> None:
        if channel.drained:
            self._queue(channel.number, Kind.FORGET)
            self._channels.pop(channel.number, None)

    def _drop(self, channel: Channel) -> None:
        self._close_source(channel)
        for sink in channel.sinks.values():
            sink.close()
        channel.sinks = {}
        self._channels.pop(channel.number, None)
        self._opening.pop(channel.number, None)
