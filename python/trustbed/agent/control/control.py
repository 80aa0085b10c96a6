"""The control channel of a host: commands start there, their streams move, its clock is read.

A thread of its own serves the one socket that carries all of it, so that a caller may wait for a
command or not. :mod:`trustbed.agent.control.streams` moves what commands write.

A host may vanish without closing anything (a cut network, a power failure), so it owes a sign of
life as often as its :class:`Peer` specifies; the same requests are signs of life to the host.

Where the other end outlives its transport (:class:`Control` with ``keep_seconds``), losing it ends
nothing: frames wait until :meth:`Control.resume` brings another, no byte is lost, and every wait is
longer by that time.

It decides nothing about what runs. Bias: a reading of the other clock is in error by at most
half the time between request and answer; the shortest of several is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from trustbed.agent.control import frames
from trustbed.agent.control.channel import Channel, Sink
from trustbed.agent.control.frames import Kind
from trustbed.agent.control.link import Link, Loss
from trustbed.agent.control.peer import Clock, Peer, Reading
from trustbed.agent.control.streams import Streams
from trustbed.agent.messages import Event
from trustbed.errors import HostLostError, TestbedError

SIGNS = 4
"""How many signs of life a host may owe.

The controller requests them evenly over the time that it may be silent.
"""
_MARK = struct.Struct("<Q")
_TIME = struct.Struct("<q16x")
"""A host's answer: its time, then the question's mark and when that was asked."""

_UNAWAITED = frozenset({Kind.TIME, Kind.ROOM, Kind.OUTPUT, Kind.ERRORS})
"""Frames that nobody waits for: most of them."""


class Control:
    """The socket to a host.

    :meth:`close` ends the thread; what runs there then ends by itself.
    """

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
            peer: The host at its other end.
            explain: Turns the reason of a loss into a better one, as far as the maker of the socket
                knows it; may block for a moment.
            keep_seconds: How long the other end outlives the loss of its socket; it ends with it if
                this is not given.
        """
        self.peer = peer
        self.hello: Event | None = None
        self._link = Link(link, lasts=keep_seconds is not None)
        self._explain = explain
        self._keep_seconds = keep_seconds
        self._trying = False
        self._given_up: str | None = None
        self._lost_at = 0.0
        self._owed = 0
        self._due = time.monotonic()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._changed = threading.Condition()
        self._streams = Streams(self._changed, self._queue)
        self._next = 1
        self._opening: dict[int, Channel] = {}
        self._orders: deque[Callable[[], None]] = deque()
        self._clocks: dict[bytes, Clock] = {}
        self._marks = 0
        self._gone: str | None = None
        self._closing = False
        self._thread = threading.Thread(
            target=self._serve, name=f"control of {peer.title}", daemon=True
        )
        self._thread.start()

    # For other threads.

    @property
    def is_gone(self) -> bool:
        """Whether the host is gone for good."""
        return self._gone is not None

    @property
    def is_away(self) -> bool:
        """Whether the transport is lost, and another may come."""
        return self._gone is None and self._link.is_lost

    @property
    def losses(self) -> Sequence[Loss]:
        """The times without a transport, in order."""
        return self._link.losses

    def resume(self, link: socket.socket, explain: Callable[[str], str], seconds: float) -> bool:
        """Goes on over another socket, which belongs to the channel from now on.

        Whether that has succeeded within the time.

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
        """Declares the host gone for good; ``why`` is what the caller found out."""
        with self._changed:
            self._given_up = why
        self._notify()
        self._thread.join()

    def open(
        self,
        words: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int,
        environment: Mapping[str, str],
        directory: str | None = None,
        terminal: tuple[int, int] | None = None,
        most_bytes: int | None = None,
    ) -> Channel:
        """Starts a command.

        The descriptors belong to the channel from now on, which closes them; -1 is none. A file
        among them takes at most ``most_bytes``; a command that writes more is ended.

        Raises:
            TestbedError: The host is gone, or the command is too long.
        """
        channel = Channel(self, self._numbered(), words)
        channel.source = stdin
        channel.sinks = {
            number: Sink(descriptor, most_bytes)
            for number, descriptor in ((1, stdout), (2, stderr))
        }
        size = None if terminal is None else {"rows": terminal[0], "columns": terminal[1]}
        order = {
            "words": list(words),
            "environment": dict(environment),
            "directory": directory,
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
            self._streams.add(self._opening.pop(channel.number))
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
        """Waits until something holds that a frame can bring about.

        False if it does not within the time.

        The time begins anew when the transport was lost meanwhile and has returned.

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
                if not self.wait_for_return(losses):
                    return False

    def wait_for_return(self, losses: int) -> bool:
        """Blocks while the transport is lost; whether it was lost since ``losses`` were counted.

        A host that is gone for good returns too. The caller grants its time anew afterwards.
        """
        with self._changed:
            # One sign of life is owed just after its request; a transport that was cut in
            # silence shows by the next.
            if in_doubt := self._keep_seconds is not None and self._owed > 1:
                self._changed.wait_for(lambda: self._owed <= 1 or self.is_away or self.is_gone)
            if not in_doubt and not self.is_away and len(self.losses) == losses:
                return False
            self._changed.wait_for(lambda: not self.is_away)
            return True

    def _lost(self, why: str) -> HostLostError:
        return HostLostError(f"{self.peer.title} is gone: {why}", self.peer.when_gone)

    def read_clock(self, rounds: int = 20, seconds: float = 30.0) -> Reading:
        """Compares its real-time clock with ours: the round that took the shortest time counts.

        It ends before so many rounds when the last few of them were not shorter, or after the time.

        Raises:
            TestbedError: It does not answer.
        """
        clock = Clock(rounds)
        self._order(lambda: self._ask_time(clock))
        try:
            self.wait(lambda: clock.is_read, seconds)
        finally:
            with self._changed:
                self._clocks = {mark: one for mark, one in self._clocks.items() if one is not clock}
        if clock.best is None:
            raise TestbedError(
                f"{self.peer.title} does not answer with its time",
                "the machine may be overloaded; try again",
            )
        return clock.best

    def shift_clock(self, nanoseconds: int) -> None:
        """Moves its real-time clock."""
        self.send(0, Kind.SHIFT, struct.pack("<q", nanoseconds))

    def close(self) -> None:
        """Ends the thread and closes the socket."""
        with self._changed:
            self._closing = True
        self._notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # The thread.

    def _order(self, order: Callable[[], None]) -> None:
        with self._changed:
            self._orders.append(order)
        self._notify()

    def _notify(self) -> None:
        # The descriptor is closed with the thread; its number may be another file's by then.
        with self._changed, contextlib.suppress(OSError):
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def _ask_time(self, clock: Clock) -> None:
        self._marks += 1
        mark = _MARK.pack(self._marks)
        self._clocks[mark] = clock
        now = time.time_ns()
        clock.ask(now)
        self._queue(0, Kind.CLOCK, mark + _MARK.pack(now))

    def _queue(self, channel: int, kind: Kind, content: bytes = b"") -> None:
        self._link.send(channel, kind, content)

    def _serve(self) -> None:
        why = "it has closed its control channel"
        try:
            while True:
                reason = why
                try:
                    if self._turn():
                        continue
                except OSError as error:
                    reason = str(error)
                # An end that has not sent its hello has never been connected.
                if (
                    self._closing
                    or self._keep_seconds is None
                    or self._link.transport is None
                    or self._given_up is not None
                    or self.hello is None
                ):
                    why = reason
                    break
                self._lose(reason)
        except frames.Malformed as error:
            why = str(error)
        finally:
            if self._closing:
                self._link.leave()
            elif self._link.transport is not None and self._given_up is None:
                why = self._explain(why)
            with self._changed:
                self._gone = "it was ended" if self._closing else why
                for channel in (*self._streams, *self._opening.values()):
                    self._drop(channel)
                os.close(self._wake)
                self._wake = -1
                self._changed.notify_all()
            self._link.close()

    def _lose(self, why: str) -> None:
        """The transport is lost."""
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
            OSError: The link is broken, or its other end is closed.
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
        poller.register(self._wake, select.POLLIN)
        transport = self._link.transport
        if transport is not None:
            poller.register(transport, self._link.awaited)
        readers, writers = self._streams.register(poller)
        found = dict(poller.poll(self._until_sign()))
        if self._wake in found:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._wake)
            # Send queued requests before reading answers.
            return True
        for number, events in found.items():
            if transport is not None and number == transport.fileno():
                if events & ~select.POLLOUT and not self._receive():
                    return False
            elif number in readers:
                self._streams.read(readers[number])
            elif number in writers:
                self._streams.write(*writers[number])
        return True

    def _until_sign(self) -> float | None:
        """Asks for a sign of life if it is time; the milliseconds until the next one is due.

        Raises:
            OSError: There was none for too long, or no transport for as long as the other end
                outlives that.
        """
        now = time.monotonic()
        if self._link.transport is None:
            assert self._keep_seconds is not None, "without that, no link is the end"
            left = self._lost_at + self._keep_seconds - now
            if left <= 0:
                raise OSError(
                    f"{self._link.losses[-1].why}; it could not be reached again within "
                    f"{self._keep_seconds:g} s"
                )
            return left * 1000
        silence = self.peer.silence_seconds
        if silence is None or not self._link.is_synchronized:
            return None
        if now >= self._due:
            if self._owed == SIGNS:
                raise OSError(f"it has been silent for {silence:g} s")
            # Counted, not timed: a process that was suspended first reads what has come meanwhile.
            self._owed += 1
            self._due = now + silence / SIGNS
            self._queue(0, Kind.CLOCK)
            self._link.flush()
        return (self._due - now) * 1000

    def _receive(self) -> bool:
        if not self._link.receive():
            return False
        came = time.time_ns()
        awaited = self._owed > 1
        self._owed = 0
        with self._changed:
            for frame in self._link.frames():
                try:
                    awaited |= self._handle(frame, came)
                except (ValueError, KeyError, struct.error, RecursionError) as error:
                    raise frames.Malformed(
                        f"malformed frame ({frame.kind.name}: {error})"
                    ) from None
            if self._trying and self._link.is_synchronized:
                self._trying, awaited = False, True
            if awaited:
                self._changed.notify_all()
        return True

    def _handle(self, frame: frames.Frame, came: int) -> bool:
        """Takes a frame; whether somebody may have waited for it."""
        number, kind, content = frame
        if kind is Kind.HELLO:
            hello = json.loads(content)
            if not isinstance(hello, dict):
                raise ValueError("no object")
            self.hello = hello
        elif kind is Kind.TIME:
            # Any other was a sign of life, or came too late.
            if (clock := self._clocks.pop(content[8:16], None)) is not None:
                (its,) = _TIME.unpack(content)
                clock.take(its, came)
                if not clock.is_read:
                    self._ask_time(clock)  # here, so that nobody has to be woken in between
                return clock.is_read
        elif (channel := self._streams[number]) is not None:
            self._streams.receive(channel, kind, content)
        return kind not in _UNAWAITED

    def _drop(self, channel: Channel) -> None:
        self._streams.drop(channel)
        self._opening.pop(channel.number, None)
