"""The agent.

The one program that runs on every host of an experiment, and the conversation with it.

An agent takes its configuration as one line of JSON and answers in lines of JSON; here those become
calls and exceptions, each with a deadline. It ends when its standard input ends, so the process
that started it cannot die and leave it behind; it also ends with the thread that started it, so
start it from one that lives on.

Times of the conversation are measured on the monotonic clock. Nothing is decided here about what an
agent does.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, Self

from trustbed.agent.messages import Configuration, Event, event_of
from trustbed.errors import TrustbedError, reason

START_SECONDS = 60.0
"""How long an agent may take until it is ready.

A configuration of some thousand hosts takes it a second; a busy machine takes many.

One that ends is noticed at once: this only bounds the waiting for one that hangs."""
END_SECONDS = 60.0
"""How long it has to write its records and report."""
_CODE_SECONDS = 10.0
"""How long to wait for its exit code once its output has ended."""

LONGEST_LINE = 16 << 20
"""The longest line that an agent may write, in bytes."""
MOST_UNREAD = 100_000
"""Events that may wait until somebody reads them."""
MOST_UNREAD_BYTES = 64 << 20
"""Bytes of their lines."""

_TAIL_BYTES = 4000
_SHOWN_BYTES = 80
"""How much of a malformed answer an error shows."""
_STRANGE = "the agent there may be of another version, or something else writes to its output"


class AgentError(TrustbedError):
    """An agent cannot execute a request.

    ``message`` states what failed and where, ``hint`` how to fix it, ``code`` is the exit code.
    """

    def __init__(self, message: str, hint: str, code: int | None = None) -> None:
        super().__init__(message, hint)
        self.code = code


class MalformedAnswerError(AgentError):
    """An agent answers what no agent answers. What its host reports cannot be used."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name}: {what}", _STRANGE)


def binary() -> Path:
    """The agent's program: the one in the package, or the one that ``TRUSTBED_AGENT`` names.

    Raises:
        AgentError: There is none.
    """
    named = os.environ.get("TRUSTBED_AGENT")
    path = Path(named) if named else Path(__file__).parents[1] / "bin" / "trustbed-agent"
    if not path.is_file():
        hint = (
            "TRUSTBED_AGENT names it"
            if named
            else "install trustbed again (pip install .), or run `make setup` in the checkout"
        )
        raise AgentError(f"there is no agent at {path}", hint)
    if not os.access(path, os.X_OK):
        raise AgentError(f"the agent at {path} may not be executed", f"chmod +x {path}")
    return path


class Running(Protocol):
    """The process of an agent, as far as the conversation needs it.

    Of this machine, or of a guest.
    """

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    pid: int

    def poll(self) -> int | None:
        """How it exited, if it has."""

    def wait(self, timeout: float | None = None) -> int:
        """Waits until it has; :class:`subprocess.TimeoutExpired` if that takes longer."""

    def kill(self) -> None:
        """Ends it by force."""


class Agent:
    """One agent.

    In this order: :meth:`start`, :meth:`begin`, :meth:`progress` or :meth:`poll` at will,
    :meth:`stop`, :meth:`close`.

    As a context manager it ends the agent at the end of the block.
    """

    def __init__(self, process: Running, errors: int, name: str) -> None:
        self.name = name
        self.ready: Event = {}
        self._process = process
        self._errors = errors
        self._read = bytearray()
        self._unread: list[tuple[int, Event]] = []
        self._unread_bytes = 0
        self._line_bytes = 0
        self._complaint: AgentError | None = None
        self.ahead_ns = 0
        """How far the clock of its host is ahead of ours: moments are told in its time."""

    @classmethod
    def start(
        cls,
        verb: str,
        config: Configuration,
        *,
        namespace: Path | None = None,
        name: str | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = START_SECONDS,
    ) -> Self:
        """Starts an agent, in a network namespace if one is named, and waits until it is ready.

        Args:
            verb: What it is to be, for example ``emulate``.
            config: Its configuration.
            namespace: The file of the network namespace to run in.
            name: What errors call it; the verb if not given.
            environment: Its environment; that of this process if not given.
            seconds: How long it may take until it is ready.

        Raises:
            AgentError: It refused, died, or did not answer.
        """
        program = str(binary())
        command = [program, verb]
        if namespace is not None:
            command = [program, "exec", "--namespace", str(namespace), "--replace", "--", *command]
        errors = nameless_file()
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                env=None if environment is None else dict(environment),
                # Ctrl-C goes to the process that started it, which then ends it in order.
                start_new_session=True,
            )
        except OSError as error:
            os.close(errors)
            message = reason(error)
            raise AgentError(
                f"the agent at {program} cannot be run: {message}",
                "install trustbed again, for this machine",
            ) from error
        agent = cls(process, errors, name or verb)
        agent.configure(config, seconds)
        return agent

    def configure(self, config: Configuration, seconds: float = START_SECONDS) -> None:
        """Sends its configuration and waits until it is ready; closes it if it is not.

        :meth:`start` has called this.
        """
        try:
            self._send(config, time.monotonic() + seconds)
            self.ready = self._expect("ready", seconds)
        except BaseException:
            self.close(seconds=0)
            raise

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def is_away(self) -> bool:
        """Whether it cannot be reached for the moment, and goes on all the same.

        An agent of this machine always can.
        """
        return False

    def begin(self, *, at_ns: int | None = None, seconds: float = START_SECONDS) -> Event:
        """Starts it, at once or at a moment of the real-time clock, and waits for it."""
        order: Event = {"do": "start"}
        if at_ns is not None:
            order["at_ns"] = at_ns + self.ahead_ns
        deadline = time.monotonic() + seconds
        self._send(order, deadline)
        return self._expect("started", deadline - time.monotonic())

    def begin_times(self, at_ns: int, seconds: float = START_SECONDS) -> None:
        """Sets the real-time moment from which the times of an emulator's links count."""
        self._send({"do": "times", "at_ns": at_ns}, time.monotonic() + seconds)

    def poll(self, seconds: float = 0.0) -> Event | None:
        """Its next event, or nothing within the time.

        Raises:
            AgentError: It reports an error, or has died.
        """
        if self._unread:
            return self._taken(0)
        return self._next(time.monotonic() + seconds)

    def report(self, seconds: float) -> Event:
        """Waits for the report of an agent that ends by itself."""
        return self._expect("report", seconds)

    def stop(self, seconds: float = END_SECONDS) -> Event:
        """Stops it in order; returns its report."""
        with contextlib.suppress(
            AgentError
        ):  # it may have ended just now; its last line gives the reason
            self._send({"do": "stop"}, time.monotonic() + seconds)
        return self._expect("report", seconds)

    def close(self, seconds: float = END_SECONDS) -> None:
        """Ends it.

        By the end of its standard input, or, if that does not help within the time, by
        force.
        """
        if self._errors < 0:
            return
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            # There is no reader any more; without this it would wait for one.
            self._process.stdout.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        finally:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
            os.close(self._errors)
            self._errors = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The conversation.

    def _send(self, order: Mapping[str, Any], deadline: float) -> None:
        """Writes a line. Reading it may take the agent longer than the pipe is long."""
        assert self._process.stdin is not None
        left = memoryview(json.dumps(order).encode() + b"\n")
        number = self._process.stdin.fileno()
        os.set_blocking(number, False)
        poller = select.poll()
        poller.register(number, select.POLLOUT)
        while left:
            if not poller.poll(_milliseconds(deadline)):
                raise AgentError(
                    f"{self.name}: the agent does not read its input",
                    "the machine may be overloaded; try again",
                )
            try:
                left = left[os.write(number, left) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                # It has ended; its last line is better than any message of ours, and may be its
                # report.
                while (event := self._next(deadline)) is not None:
                    self._put_off(event)
                raise self._death() from None

    def _expect(self, kind: str, seconds: float) -> Event:
        """The event of that kind; others wait for a later call."""
        deadline = time.monotonic() + seconds
        for index, (_, unread) in enumerate(self._unread):
            if unread["event"] == kind:
                return self._taken(index)
        while True:
            event = self._next(deadline)
            if event is None:
                raise AgentError(
                    f"{self.name}: the agent sent no {kind} within {seconds:g} s",
                    "the machine may be overloaded; try again",
                )
            if event["event"] == kind:
                return event
            self._put_off(event)

    def _put_off(self, event: Event) -> None:
        """Keeps an event for a later call."""
        if len(self._unread) >= MOST_UNREAD:
            raise self._malformed(f"more than {MOST_UNREAD} answers came unasked")
        self._unread_bytes += self._line_bytes
        if self._unread_bytes > MOST_UNREAD_BYTES:
            raise self._malformed(f"more than {MOST_UNREAD_BYTES} bytes of answers came unasked")
        self._unread.append((self._line_bytes, event))

    def _taken(self, index: int) -> Event:
        size, event = self._unread.pop(index)
        self._unread_bytes -= size
        return event

    def _next(self, deadline: float) -> Event | None:
        for line in self._lines(deadline):
            event, self._line_bytes = self._validated(line), len(line)
            if event["event"] == "error":
                self._complaint = AgentError(
                    f"{self.name}: {event['message']}", event["hint"], self._code()
                )
                raise self._complaint
            return event
        return None

    def _validated(self, line: bytes) -> Event:
        """An event by its line (:func:`~trustbed.agent.messages.event_of`).

        Raises:
            MalformedAnswerError: The line is something else.
        """
        try:
            return event_of(line)
        except (ValueError, RecursionError):
            shown = line[:_SHOWN_BYTES].decode(errors="replace")
            raise self._malformed(f"malformed answer {shown!r}") from None

    def _malformed(self, what: str) -> MalformedAnswerError:
        return MalformedAnswerError(self.name, what)

    def _lines(self, deadline: float) -> Iterator[bytes]:
        assert self._process.stdout is not None
        number = self._process.stdout.fileno()
        poller = select.poll()
        poller.register(number, select.POLLIN)
        searched = 0
        while True:
            end = self._read.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._read[:end])
                del self._read[: end + 1]
                searched = 0
                yield line
                continue
            searched = len(self._read)
            if searched > LONGEST_LINE:
                raise self._malformed(f"an answer of more than {LONGEST_LINE >> 20} MiB")
            if not poller.poll(_milliseconds(deadline)):
                return
            piece = os.read(number, 1 << 16)
            if not piece:
                raise self._death()
            self._read += piece

    def _code(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_CODE_SECONDS)
        return None

    def _death(self) -> AgentError:
        """The error for an agent that ended unexpectedly.

        It ended silently, or its last message was missed during a write to it.
        """
        if self._complaint is not None:
            return self._complaint
        code = self._code()
        output = (
            os.pread(
                self._errors, _TAIL_BYTES, max(0, os.fstat(self._errors).st_size - _TAIL_BYTES)
            )
            .decode(errors="replace")
            .strip()
        )
        how = (
            "has closed its output"
            if code is None
            else f"was killed by signal {-code}"
            if code < 0
            else f"has ended with code {code}"
        )
        # exec's own error messages are already readable.
        message, _, hint = output.rpartition("hint: ")
        if message.startswith("error: "):
            return AgentError(f"{self.name}: {message.removeprefix('error: ').strip()}", hint, code)
        return AgentError(
            f"{self.name}: the agent {how}{f': {output}' if output else ''}",
            "its work is lost; start it again",
            code,
        )


def nameless_file() -> int:
    """A file for a program's standard error: read back only if it dies."""
    number, name = tempfile.mkstemp(prefix="trustbed-")
    Path(name).unlink()
    return number


def _milliseconds(deadline: float) -> int:
    return max(0, round((deadline - time.monotonic()) * 1000))


def words(
    command: Sequence[str], *, namespace: Path, control: int | None = None, foreground: bool = False
) -> list[str]:
    """The command line of a command in a network namespace, all of which ends with its agent."""
    options = ["--namespace", str(namespace)]
    options += [] if control is None else ["--control", str(control)]
    options += ["--foreground"] if foreground else []
    return [str(binary()), "exec", *options, "--", *command]
