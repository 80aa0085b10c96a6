"""Commands and agents in a guest, with the faces that those on any other host have.

A command's standard streams are descriptors of this machine; what it reads and writes passes the control channel. An agent's configuration
names files of this machine: it writes them under the same names in the guest, and they are here once it has reported.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal as signals
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self, TypeAlias

from trustbed.agent import Agent, AgentError, Event
from trustbed.testbed.error import TestbedError
from trustbed.testbed.qemu.control import Channel, Control

Stream: TypeAlias = int | IO[Any] | None

OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "bulk": ("samples",),
    "capture": ("path",),
    "fetch": ("rows",),
    "sample": ("path",),
    "send": ("departures",),
}
"""The keys of an agent's configuration that name files it writes, by verb."""
_START_SECONDS = 20.0
_END_SECONDS = 5.0
_FETCH_SECONDS = 60.0
_WHAT_THERE_IS = "a guest has busybox (sh, ping, nc, wget, …: `busybox --list`) and trustbed-agent; nothing of this machine's"


class GuestProcess:
    """A command in a guest: :class:`~trustbed.testbed.processes.Process` elsewhere. As a context it is ended when the block is left."""

    def __init__(self, channel: Channel, stdin: IO[bytes] | None, stdout: IO[bytes] | None, stderr: IO[bytes] | None) -> None:
        self.command = channel.words
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.pid = 0
        """Its number in the guest, which means nothing outside."""
        self._channel = channel

    @classmethod
    def start(
        cls,
        control: Control,
        words: Sequence[str],
        *,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
        environment: Mapping[str, str],
        folder: str | None = None,
        terminal: tuple[int, int] | None = None,
    ) -> Self:
        """Starts a command, and returns once it runs.

        Args:
            control: The guest's control channel.
            words: The command and its arguments; nothing is read by a shell.
            stdin: As for :class:`subprocess.Popen`; nothing if not given.
            stdout: As for :class:`subprocess.Popen`; ours if not given.
            stderr: As for :class:`subprocess.Popen`; ours if not given.
            environment: All of its environment.
            folder: Its working directory, a folder of the guest's.
            terminal: It gets a terminal of so many rows and columns; standard error goes there too.

        Raises:
            TestbedError: There is no such command in the guest, or the guest is gone.
        """
        its_input, our_input = _reading(stdin)
        its_output, our_output = _writing(stdout, 1)
        its_errors, our_errors = _writing(stderr, 2)
        channel = control.open(
            words, stdin=its_input, stdout=its_output, stderr=its_errors, environment=environment, folder=folder, terminal=terminal
        )
        process = cls(channel, our_input, our_output, our_errors)
        try:
            if not channel.wait(lambda one: one.pid is not None or one.refusal is not None, _START_SECONDS):
                hint = "the machine may be overloaded; try again"
                raise TestbedError(f"{words[0]} did not start on {control.name} within {_START_SECONDS:g} s", hint)
            if channel.refusal is not None:
                raise _refused(words[0], control.name, *channel.refusal)
            process.pid = channel.pid or 0
        except BaseException:
            process._close_streams()
            raise
        return process

    def poll(self) -> int | None:
        """Its exit code (128 and the signal's number if one killed it), or None while it runs or what it wrote is still on its way."""
        if self._channel.drained:
            return self._channel.code
        return 128 + signals.SIGKILL if self._channel.is_lost else None

    def wait(self, seconds: float | None = None) -> int | None:
        """Waits until it has ended, and what it wrote has arrived; None if it has not within the time."""
        self._channel.wait(lambda one: one.drained, seconds)
        return self.poll()

    def signal(self, number: int) -> None:
        """Sends the command's group a signal."""
        self._channel.signal(number)

    def resize(self, rows: int, columns: int) -> None:
        """Tells its terminal another size."""
        self._channel.resize(rows, columns)

    def end(self) -> None:
        """Ends it, whatever it takes; nothing happens if it has ended."""
        self._close_streams()
        with contextlib.suppress(TestbedError):  # with the guest, everything in it is gone
            for number in (signals.SIGTERM, signals.SIGKILL):
                if self._channel.code is None:
                    self.signal(number)
                    self._channel.wait(lambda one: one.code is not None, _END_SECONDS)

    def _close_streams(self) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def output(self, seconds: float, content: bytes = b"") -> tuple[bytes, bytes]:
        """Feeds it, and reads both streams to their ends: standard output and standard error, as far as they are pipes.

        Raises:
            subprocess.TimeoutExpired: It has not ended within the time.
        """
        deadline = time.monotonic() + seconds
        if self.stdin is not None:
            self.stdin.write(content)
            self.stdin.close()
        streams = [stream for stream in (self.stdout, self.stderr) if stream is not None]
        found = {stream.fileno(): bytearray() for stream in streams}
        poller = select.poll()
        for number in found:
            poller.register(number, select.POLLIN)
        left = len(found)
        while left:
            ready = poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready:
                raise subprocess.TimeoutExpired(self.command, seconds)
            for number, _ in ready:
                piece = os.read(number, 1 << 16)
                found[number] += piece
                if not piece:
                    poller.unregister(number)
                    left -= 1
        if self.wait(max(0.0, deadline - time.monotonic())) is None:
            raise subprocess.TimeoutExpired(self.command, seconds)
        out, err = (b"" if stream is None else bytes(found[stream.fileno()]) for stream in (self.stdout, self.stderr))
        return out, err


class AgentProcess:
    """The same for the conversation with an agent."""

    def __init__(self, process: GuestProcess) -> None:
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.pid = process.pid
        self._process = process

    def poll(self) -> int | None:
        """How it exited, if it has."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Waits until it has."""
        try:
            code = self._process.wait(timeout)
        except TestbedError:
            return 128 + signals.SIGKILL
        if code is None:
            raise subprocess.TimeoutExpired(self._process.command, timeout or 0.0)
        return code

    def kill(self) -> None:
        """Ends it by force."""
        self._process.signal(signals.SIGKILL)


class GuestAgent(Agent):
    """An agent in a guest: before its report is handed out, the files that it wrote are fetched."""

    def __init__(self, process: AgentProcess, errors: int, name: str, fetch: Callable[[], None]) -> None:
        super().__init__(process, errors, name)
        self._fetch = fetch

    def _next(self, deadline: float) -> Event | None:
        event = super()._next(deadline)
        if event is not None and event["event"] == "report":
            try:
                self._process.wait(_END_SECONDS)
                self._fetch()
            except subprocess.TimeoutExpired:
                raise AgentError(f"{self.name}: the agent has reported and does not end", "its files are lost; start it again") from None
            except TestbedError as error:
                raise AgentError(f"{self.name}: {error.message}", error.hint) from error
        return event


def outputs(verb: str, config: Mapping[str, Any]) -> list[Path]:
    """The files that an agent will write: absolute, as they are here and there."""
    return [Path(config[key]).absolute() for key in OUTPUTS.get(verb, ()) if config.get(key) is not None]


def there(verb: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """An agent's configuration with the names that its files have in the guest."""
    names = {key: str(Path(config[key]).absolute()) for key in OUTPUTS.get(verb, ()) if config.get(key) is not None}
    return json.loads(json.dumps({**config, **names}, default=str))  # type: ignore[no-any-return] # an object stays one


def _refused(word: str, name: str, number: int, said: str) -> TestbedError:
    if number == errno.ENOENT:
        return TestbedError(f"{word} is not in the guest {name}", _WHAT_THERE_IS)
    return TestbedError(f"{word} cannot be run in the guest {name}: {said.partition(' (os error')[0].lower()}", _WHAT_THERE_IS)


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
