"""Commands and agents at the other end of a control channel, used like those on this host.

A command's standard streams are descriptors of this machine; what it reads and writes passes the
control channel.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal as signals
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Self, TypeAlias

from trustbed.agent.client import Agent, AgentError
from trustbed.agent.control.channel import Channel
from trustbed.agent.control.control import Control
from trustbed.agent.messages import Event
from trustbed.errors import MOST_BYTES, TestbedError, wrote_too_much

Stream: TypeAlias = int | IO[Any] | None

_START_SECONDS = 60.0
_END_SECONDS = 40.0


class ControlledProcess:
    """A command on another host; see :class:`~trustbed.agent.processes.Process` for this one.

    As a context it is ended when the block is left.
    """

    def __init__(
        self,
        channel: Channel,
        stdin: IO[bytes] | None,
        stdout: IO[bytes] | None,
        stderr: IO[bytes] | None,
    ) -> None:
        self.command = channel.words
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.pid = 0
        """Its number on that host, which means nothing here."""
        self.channel = channel

    @classmethod
    def start(
        cls,
        control: Control,
        words: Sequence[str],
        *,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        terminal: tuple[int, int] | None = None,
        most_bytes: int | None = None,
    ) -> Self:
        """Starts a command, and returns once it runs.

        Args:
            control: The host's control channel.
            words: The command and its arguments; nothing is read by a shell.
            stdin: As for :class:`subprocess.Popen`; nothing if not given.
            stdout: As for :class:`subprocess.Popen`; ours if not given.
            stderr: As for :class:`subprocess.Popen`; ours if not given.
            environment: What it has around it besides what the other end of the channel has.
            directory: Its working directory, a directory of that host's.
            terminal: It gets a terminal of so many rows and columns; standard error goes there too.
            most_bytes: What a file takes of its output, and of its errors; one that writes more is
                ended, and :attr:`exceeds` is set.

        Raises:
            TestbedError: There is no such command there, or the host is gone.
        """
        its_input, our_input = _reading(stdin)
        its_output, our_output = _writing(stdout, 1)
        its_errors, our_errors = _writing(stderr, 2)
        try:
            channel = control.open(
                words,
                stdin=its_input,
                stdout=its_output,
                stderr=its_errors,
                environment=environment or {},
                directory=directory,
                terminal=terminal,
                most_bytes=most_bytes,
            )
        except BaseException:
            _close(our_input, our_output, our_errors)
            raise
        process = cls(channel, our_input, our_output, our_errors)
        try:
            if not channel.wait(
                lambda one: one.pid is not None or one.refusal is not None, _START_SECONDS
            ):
                hint = "the machine may be overloaded; try again"
                raise TestbedError(
                    f"{words[0]} did not start on {control.peer.title} within {_START_SECONDS:g} s",
                    hint,
                )
            if channel.refusal is not None:
                raise _refused(words[0], control, *channel.refusal)
            process.pid = channel.pid or 0
        except BaseException:
            with contextlib.suppress(TestbedError):
                channel.signal(signals.SIGKILL)  # should it still start, its caller is gone
            _close(our_input, our_output, our_errors)
            raise
        return process

    def poll(self) -> int | None:
        """Its exit code; None while it runs or its output is in flight.

        128 and the signal's number if one killed it.
        """
        if self.channel.drained:
            return self.channel.code
        return 128 + signals.SIGKILL if self.channel.is_lost else None

    @property
    def unwritten(self) -> int | None:
        """The error (errno) that stopped its output here, as of a full disk."""
        return self.channel.unwritten

    @property
    def exceeds(self) -> bool:
        """Whether it wrote more than the file here takes."""
        return self.channel.exceeds

    def wait(self, seconds: float | None = None) -> int | None:
        """Waits until it has ended, and what it wrote has arrived.

        None if it has not within the time.
        """
        self.channel.wait(lambda one: one.drained, seconds)
        return self.poll()

    def signal(self, number: int) -> None:
        """Sends the command's group a signal."""
        self.channel.signal(number)

    def resize(self, rows: int, columns: int) -> None:
        """Resizes its terminal."""
        self.channel.resize(rows, columns)

    def end(self) -> None:
        """Ends it, by force if necessary; does nothing if it has ended."""
        _close(self.stdin, self.stdout, self.stderr)
        with contextlib.suppress(TestbedError):  # with the host, everything on it is gone
            for number in (signals.SIGTERM, signals.SIGKILL):
                if self.channel.code is None:
                    self.signal(number)
                    self.channel.wait(lambda one: one.code is not None, _END_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def output(self, seconds: float) -> tuple[bytes, bytes]:
        """Reads standard output and standard error to their ends, as far as they are pipes.

        Closes its standard input.

        Raises:
            subprocess.TimeoutExpired: It has not ended within the time.
            TestbedError: It writes more than the limit.
        """
        deadline = time.monotonic() + seconds
        if self.stdin is not None:
            self.stdin.close()
        streams = [stream for stream in (self.stdout, self.stderr) if stream is not None]
        found = {stream.fileno(): bytearray() for stream in streams}
        poller = select.poll()
        for number in found:
            poller.register(number, select.POLLIN)
        left = len(found)
        losses = self.channel.losses
        while left:
            ready = poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready or time.monotonic() >= deadline:  # an endless writer is always ready
                if not self.channel.wait_for_return(losses):
                    raise subprocess.TimeoutExpired(self.command, seconds)
                losses, deadline = self.channel.losses, time.monotonic() + seconds
            for number, _ in ready:
                piece = os.read(number, 1 << 16)
                found[number] += piece
                if len(found[number]) > MOST_BYTES:
                    raise wrote_too_much(f"{self.command[0]} on {self.channel.title}")
                if not piece:
                    poller.unregister(number)
                    left -= 1
        if self.wait(max(0.0, deadline - time.monotonic())) is None:
            raise subprocess.TimeoutExpired(self.command, seconds)
        out, err = (
            b"" if stream is None else bytes(found[stream.fileno()])
            for stream in (self.stdout, self.stderr)
        )
        return out, err


class AgentProcess:
    """The same for the conversation with an agent."""

    def __init__(self, process: ControlledProcess) -> None:
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.pid = process.pid
        self._process = process
        self.channel = process.channel

    def poll(self) -> int | None:
        """How it exited, if it has."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Waits until it has, without a time for as long as a host needs that does not hang.

        On one that does, nothing ever ends.
        """
        try:
            code = self._process.wait(_END_SECONDS if timeout is None else timeout)
        except TestbedError:
            return 128 + signals.SIGKILL
        if code is None and timeout is not None:
            raise subprocess.TimeoutExpired(self._process.command, timeout)
        return 128 + signals.SIGKILL if code is None else code

    def kill(self) -> None:
        """Ends it by force."""
        self._process.signal(signals.SIGKILL)


class ControlledAgent(Agent):
    """An agent on another host.

    It fetches the files that the agent wrote before it returns the report.
    """

    def __init__(
        self, process: AgentProcess, errors: int, name: str, fetch: Callable[[], None]
    ) -> None:
        super().__init__(process, errors, name)
        self._fetch = fetch
        self._channel = process.channel

    @property
    def is_away(self) -> bool:
        """Whether its host is unreachable, and the command runs on there."""
        return self._channel.is_away

    def _expect(self, kind: str, seconds: float) -> Event:
        while True:
            losses = self._channel.losses
            try:
                return super()._expect(kind, seconds)
            except AgentError:
                if not self._channel.wait_for_return(losses):
                    raise

    def _next(self, deadline: float) -> Event | None:
        event = super()._next(deadline)
        if event is not None and event["event"] == "report":
            try:
                self._process.wait(_END_SECONDS)
                self._fetch()
            except subprocess.TimeoutExpired:
                raise AgentError(
                    f"{self.name}: the agent has reported and does not end",
                    "its files are lost; start it again",
                ) from None
            except TestbedError as error:
                raise AgentError(f"{self.name}: {error.message}", error.hint) from error
        return event


def _refused(word: str, control: Control, number: int, message: str) -> TestbedError:
    title, hint = control.peer.title, control.peer.when_missing
    if number == errno.ENOENT:
        return TestbedError(f"{word} is not on {title}", hint)
    return TestbedError(
        f"{word} cannot be run on {title}: {message.partition(' (os error')[0].lower()}", hint
    )


def _close(*streams: IO[bytes] | None) -> None:
    for stream in streams:
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _reading(stream: Stream) -> tuple[int, IO[bytes] | None]:
    """The descriptor that a command reads, and our end of a pipe to it."""
    if stream == subprocess.DEVNULL:
        return -1, None
    if stream == subprocess.PIPE:
        read, write = os.pipe()
        return read, os.fdopen(write, "wb", buffering=0)
    return _copied(stream, 0), None


def _writing(stream: Stream, standard: int) -> tuple[int, IO[bytes] | None]:
    if stream == subprocess.DEVNULL:
        return -1, None
    if stream == subprocess.PIPE:
        read, write = os.pipe()
        return write, os.fdopen(read, "rb", buffering=0)
    return _copied(stream, standard), None


def _copied(stream: Stream, standard: int) -> int:
    if stream is None:
        return os.dup(standard)
    if isinstance(stream, int):
        return os.dup(stream)
    stream.flush()
    return os.dup(stream.fileno())
