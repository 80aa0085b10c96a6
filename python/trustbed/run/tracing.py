"""Records system calls of this machine: of a command, of processes, of all.

The agent traces (``crates/agent/src/trace``); here it is started and ended, and its rows become the
table of calls.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from trustbed.agent.client import END_SECONDS, Agent
from trustbed.agent.messages import Event
from trustbed.calls.errors import CallsError
from trustbed.disk import whole_path
from trustbed.run import calls

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose calls are recorded; every process's without any of these."""

    processes: Sequence[int] = ()
    cgroup: Path | None = None
    command: str | None = None

    def selection(self) -> object:
        """As the agent takes it."""
        if self.processes:
            return {"processes": list(self.processes)}
        if self.cgroup is not None:
            return {"cgroup": str(self.cgroup)}
        if self.command is not None:
            return {"command": {"name": self.command, "below": None}}
        return "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A trace.

    Attributes:
        report: The tracer's report: calls, losses, markers, counts.
        exit_code: That of the command, if there was one.
    """

    report: Event
    exit_code: int | None = None


@dataclass(slots=True)
class _Tracer:
    """A running tracer, and the rows that it writes."""

    target: Path | None
    descriptors: bool = False
    directory: tempfile.TemporaryDirectory[str] | None = field(init=False)
    rows: Path | None = field(init=False)

    def __post_init__(self) -> None:
        self.directory = self.rows = None
        if self.target is not None:
            parent = self.target.parent
            if not parent.is_dir():
                raise CallsError(f"no such directory, {parent}", "create it first")
            self.directory = tempfile.TemporaryDirectory(prefix=".trustbed-", dir=parent)
            self.rows = Path(self.directory.name) / "calls.rows"

    def start(self, whose: Whose) -> Agent:
        path = {} if self.rows is None else {"path": str(self.rows)}
        more = {"descriptors": True} if self.descriptors else {}
        agent = Agent.start("trace", {"select": whose.selection(), **more, **path})
        agent.begin()
        return agent

    def finish(self, agent: Agent) -> Event:
        report = agent.stop(END_SECONDS)
        if self.rows is not None and self.target is not None:
            with whole_path(self.target) as partial:
                calls.convert(self.rows, partial, complete=bool(report["complete"]))
        return report

    def close(self) -> None:
        if self.directory is not None:
            self.directory.cleanup()


def record(
    whose: Whose, target: Path | None, *, seconds: float | None = None, descriptors: bool = False
) -> Recorded:
    """Records calls until the time is over, or Ctrl-C, which ends it early.

    Args:
        whose: Whose calls.
        target: The table; ``None``: calls are only counted.
        seconds: For how long; until interrupted by default.
        descriptors: Whether the table has the descriptor that a call is about, and its kind.

    Raises:
        AgentError: Calls cannot be traced here; the hint says what is missing.
    """
    tracer = _Tracer(target, descriptors)
    try:
        with tracer.start(whose) as agent:
            until = None if seconds is None else time.monotonic() + seconds
            with contextlib.suppress(KeyboardInterrupt):
                while until is None or time.monotonic() < until:
                    agent.poll(_POLL_SECONDS)
            return Recorded(report=tracer.finish(agent))
    finally:
        tracer.close()


def record_command(
    command: Sequence[str], target: Path | None, *, descriptors: bool = False
) -> Recorded:
    """Runs a command and records its calls and those of all it starts, from its ``execve`` on.

    Ctrl-C, SIGTERM and SIGHUP reach the command, which decides what they mean; its trace goes on to
    its end.

    Args:
        command: The command with its arguments.
        target: The table; ``None``: calls are only counted.
        descriptors: Whether the table has the descriptor that a call is about, and its kind.

    Raises:
        CallsError: There is no such program.
        AgentError: Calls cannot be traced here; the command was not run.
    """
    program = shutil.which(command[0])
    if program is None:
        raise CallsError(f"no such program, {command[0]}", "give its full path")
    tracer = _Tracer(target, descriptors)
    try:
        held = _Held.start(program, command)
        try:
            with tracer.start(Whose(processes=(held.pid,))) as agent:
                code = held.run()
                return Recorded(report=tracer.finish(agent), exit_code=code)
        finally:
            held.end()
    finally:
        tracer.close()


def _become(program: str, command: Sequence[str], waits: int, gate: int) -> NoReturn:
    """The held process: becomes the command once it is released, and is never anything else."""
    code = 127
    try:
        os.close(gate)
        # A command begins with what Python ignores as everybody else has it.
        for one in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(one, signal.SIG_DFL)
        if os.read(waits, 1):
            os.execv(program, list(command))
    except OSError as error:
        code = 126
        os.write(2, f"trustbed: cannot run {program}: {os.strerror(error.errno or 0)}\n".encode())
    finally:
        os._exit(code)


_HELD_SECONDS = 0.001
"""Between two looks whether a process waits."""


@dataclass(slots=True)
class _Held:
    """A process that waits until it is released, and then becomes the command."""

    pid: int
    gate: int | None
    code: int | None = None

    @classmethod
    def start(cls, program: str, command: Sequence[str]) -> _Held:
        # Not `subprocess`: it waits until the command has begun, which is what must not happen yet.
        waits, gate = os.pipe()
        pid = os.fork()
        if pid == 0:  # pragma: no cover - another process
            _become(program, command, waits, gate)
        os.close(waits)
        # What it calls before it waits is not the command's, and must be over when tracing begins.
        stat = Path(f"/proc/{pid}/stat")
        while stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "SZ":
            time.sleep(_HELD_SECONDS)
        return cls(pid, gate)

    def run(self) -> int:
        """Releases it, and returns its exit code.

        Before it can do anything, SIGTERM and SIGHUP are its own; Ctrl-C reaches it as it is.
        """

        def pass_on(number: int, _: object) -> None:
            os.kill(self.pid, number)

        def leave(_: int, __: object) -> None:
            pass

        descriptor = os.pidfd_open(self.pid)
        theirs = {signal.SIGTERM: pass_on, signal.SIGHUP: pass_on, signal.SIGINT: leave}
        before = {number: signal.signal(number, handler) for number, handler in theirs.items()}
        try:
            self._release()
            select.select([descriptor], [], [])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(descriptor)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.code = code if code >= 0 else 128 - code
        return self.code

    def _release(self) -> None:
        assert self.gate is not None, "released once"
        os.write(self.gate, b"x")
        os.close(self.gate)
        self.gate = None

    def end(self) -> None:
        if self.gate is not None:
            os.close(self.gate)
            self.gate = None
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.code = 128 + signal.SIGKILL
