"""Commands on a host.

Each beside a process of the agent that ends everything the command has started.

``trustbed-agent exec`` joins the host's namespace and stays the command's parent. Between it and us
is a socket: it reports what happened, and when our end is closed (the kernel does that if we are
killed) it ends the command with all descendants. Standard streams are the command's own.
"""

from __future__ import annotations

import contextlib
import json
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, Self, TypeAlias

from trustbed.agent import client as agent
from trustbed.agent.messages import Event
from trustbed.errors import TestbedError, reason

Stream: TypeAlias = int | IO[Any] | None

_START_SECONDS = 60.0
_END_SECONDS = 40.0
"""More than exec grants a command before it kills what is left."""


class Process:
    """A command on a host. As a context it is ended when the block is left."""

    def __init__(
        self, command: Sequence[str], helper: subprocess.Popen[bytes], control: socket.socket
    ) -> None:
        self.command = tuple(command)
        self.pid = 0
        self._helper = helper
        self._control = control
        self._output = b""

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        namespace: Path,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        foreground: bool = False,
        descriptors: Sequence[int] = (),
    ) -> Self:
        """Starts a command in a network namespace, and returns once it runs.

        Args:
            command: The command and its arguments; nothing is read by a shell.
            namespace: The file of the namespace.
            stdin: As for :class:`subprocess.Popen`; nothing if not given.
            stdout: As for :class:`subprocess.Popen`; ours if not given.
            stderr: As for :class:`subprocess.Popen`; ours if not given.
            environment: Its environment; ours if not given.
            directory: Its working directory; ours if not given.
            foreground: It gets our terminal, if there is one and it is ours: Ctrl-C goes to the
                command.
            descriptors: More that it gets, under the same numbers.

        Raises:
            TestbedError: There is no such command, or it may not be executed.
        """
        ours, its = socket.socketpair()
        try:
            helper = subprocess.Popen(
                agent.words(
                    command, namespace=namespace, control=its.fileno(), foreground=foreground
                ),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=None if environment is None else dict(environment),
                cwd=directory,
                pass_fds=(its.fileno(), *descriptors),
                # In the foreground it stays in our group: a shell that stops or continues us means
                # the command too.
                process_group=None if foreground else 0,
            )
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                message = reason(error)
                raise TestbedError(
                    f"{command[0]} cannot be started: {message}, {error.filename}",
                    "check the directory it is started in",
                ) from error
            raise
        finally:
            its.close()
        process = cls(command, helper, ours)
        try:
            process._read_start()
        except BaseException:
            process.end()
            raise
        return process

    def _read_start(self) -> None:
        event = self._event(_START_SECONDS)
        if event is None:
            raise TestbedError(
                f"{self.command[0]} did not start within {_START_SECONDS:g} s",
                "the machine may be overloaded; try again",
            )
        if event["event"] == "error":
            raise TestbedError(event["message"], event["hint"])
        self.pid = int(event.get("pid", 0))

    def _event(self, seconds: float) -> Event | None:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._output:
            readable, _, _ = select.select(
                [self._control], [], [], max(0.0, deadline - time.monotonic())
            )
            if not readable:
                return None
            piece = self._control.recv(4096)
            if not piece:
                hint = "the agent ended without a word; see what it wrote on standard error"
                raise TestbedError(f"{self.command[0]} cannot be started", hint)
            self._output += piece
        line, self._output = self._output.split(b"\n", 1)
        found: Event = json.loads(line)
        return found

    def poll(self) -> int | None:
        """Its exit code (128 and the signal's number if one killed it), or None while it runs."""
        return _code(self._helper.poll())

    def wait(self, seconds: float | None = None) -> int | None:
        """Waits until it has ended, and all it started with it.

        None if it has not within the time.
        """
        try:
            return _code(self._helper.wait(seconds))
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number: int) -> None:
        """Sends the command's group a signal: one of those that exec passes on.

        SIGTERM ends it and all it started.
        """
        with contextlib.suppress(ProcessLookupError):
            self._helper.send_signal(number)

    def end(self) -> None:
        """Ends it and all it started, by force if necessary; does nothing if it has ended."""
        if self._control.fileno() >= 0:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
        if self.wait(_END_SECONDS) is None:
            # exec itself hangs or was stopped; the command dies with it.
            self._helper.send_signal(signal.SIGKILL)
            self._helper.wait()
        self._control.close()
        for stream in (self._helper.stdin, self._helper.stdout, self._helper.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it writes, if started with ``PIPE``."""
        return self._helper.stdout

    def output(self, seconds: float) -> tuple[bytes, bytes]:
        """Reads both streams to their ends.

        Standard output and standard error, as far as they are pipes.

        Raises:
            subprocess.TimeoutExpired: It has not ended within the time.
        """
        out, err = self._helper.communicate(timeout=seconds)
        return out or b"", err or b""


class Runs(Protocol):
    """A command on a host of any kind."""

    command: tuple[str, ...]

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""

    def output(self, seconds: float) -> tuple[bytes, bytes]:
        """What it writes, to the end."""


def finished(process: Runs, host: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Reads what a command writes until it has ended.

    Raises:
        TestbedError: It has not within the time.
    """
    try:
        out, err = process.output(seconds)
    except subprocess.TimeoutExpired:
        raise TestbedError(
            f"{process.command[0]} on {host} did not end within {seconds:g} s",
            "it was ended; give it longer",
        ) from None
    code = process.poll()
    assert code is not None, "its output has ended"
    return subprocess.CompletedProcess(
        process.command, code, out.decode(errors="replace"), err.decode(errors="replace")
    )


def _code(code: int | None) -> int | None:
    """As a shell reports it.

    Of a process beside the command that was itself killed, the command died too.
    """
    return code if code is None or code >= 0 else 128 - code
