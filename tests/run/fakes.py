"""A fake testbed: scripted agents and programs, under a clock that only sleeping advances."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from trustbed.agent.client import AgentError, MalformedAnswerError
from trustbed.testbed import TestbedError

Event = dict[str, Any]
_PIDS = itertools.count(1 << 23)
"""Process IDs that no process has."""


@dataclass
class FakeClock:
    """A clock that only sleeping advances."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def realtime_ns(self) -> int:
        return round(self.now * 1e9) + 1_700_000_000_000_000_000

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class FakeAgent:
    """Ends by itself some time after its start, or dies; its report is given."""

    verb: str
    where: str
    config: Mapping[str, Any]
    clock: FakeClock
    log: list[tuple[str, str]]
    report_with: Event = field(default_factory=dict)
    lasts: float | None = None
    dies_after: float | None = None
    ready: Event = field(default_factory=lambda: {"event": "ready"})
    begun: float | None = None
    closed: bool = False
    refuses: str | None = None
    answers_wrongly: str | None = None
    """Whether its answer to ``start``, ``begin``, ``poll`` or ``stop`` is none."""
    pid: int = field(default_factory=lambda: next(_PIDS))
    times_ns: int | None = None

    def begin_times(self, at_ns: int) -> None:
        assert self.times_ns is None, "times begin once"
        self.times_ns = at_ns
        self.log.append((f"times {self.verb}", self.where))

    def answers(self, request: str) -> None:
        if self.answers_wrongly == request:
            raise MalformedAnswerError(f"{self.verb} on {self.where}", "malformed answer '[1]'")

    def begin(self, *, at_ns: int | None = None) -> Event:
        self.answers("begin")
        self.begun = self.clock.now if at_ns is None else (at_ns - 1_700_000_000_000_000_000) / 1e9
        self.log.append((f"begin {self.verb}", self.where))
        return {"event": "started"}

    def poll(self, seconds: float = 0.0) -> Event | None:
        self.answers("poll")
        after = -1.0 if self.begun is None else self.clock.now - self.begun
        if self.dies_after is not None and after >= self.dies_after:
            raise AgentError(
                f"{self.verb} on {self.where}: was killed by signal 9", "start it again"
            )
        if self.lasts is not None and after >= self.lasts:
            return {"event": "report", **self.report_with}
        return None

    def stop(self, seconds: float = 0.0) -> Event:
        assert not self.closed, "stop after close"
        self.log.append((f"stop {self.verb}", self.where))
        self.answers("stop")
        if self.dies_after is not None:
            raise AgentError(
                f"{self.verb} on {self.where}: was killed by signal 9", "start it again"
            )
        return {"event": "report", **self.report_with}

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeProcess:
    """Ends with a code after some time."""

    clock: FakeClock
    begun: float
    lasts: float | None
    code: int
    ended: bool = False
    pid: int = field(default_factory=lambda: next(_PIDS))

    def poll(self) -> int | None:
        return (
            self.code
            if self.lasts is not None and self.clock.now - self.begun >= self.lasts
            else None
        )

    def end(self) -> None:
        self.ended = True


@dataclass
class FakeGroup:
    """A control group that records which processes joined it."""

    path: Path
    version: int = 1
    joined: list[int] = field(default_factory=list)
    left: bool = False

    def join(self, pid: int) -> None:
        self.joined.append(pid)

    def leave(self) -> None:
        self.left = True


@dataclass
class FakeTestbed:
    """Agents by their verb, programs by their first word."""

    clock: FakeClock = field(default_factory=FakeClock)
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    programs: Mapping[str, tuple[float | None, int]] = field(default_factory=dict)
    listening: Callable[[str, int], bool] = lambda host, port: True
    log: list[tuple[str, str]] = field(default_factory=list)
    started: list[FakeAgent] = field(default_factory=list)
    processes: list[FakeProcess] = field(default_factory=list)
    groups: Path | None = None
    created_groups: list[FakeGroup] = field(default_factory=list)

    def start_agent(self, verb: str, config: Mapping[str, Any], *, where: str) -> FakeAgent:
        self.log.append((f"start {verb}", where))
        role = f"{verb} {config['role']}" if "role" in config else verb
        agent = FakeAgent(verb, where, config, self.clock, self.log, **self.agents.get(role, {}))
        self.started.append(agent)
        if agent.refuses is not None:
            agent.closed = True
            raise AgentError(f"{verb} on {where}: {agent.refuses}", "run it elsewhere")
        if agent.answers_wrongly == "start":
            agent.closed = True
        agent.answers("start")
        return agent

    def group(self, name: str) -> FakeGroup:
        if self.groups is None:
            raise TestbedError("no control groups of processor time are mounted here", "mount them")
        self.created_groups.append(FakeGroup(self.groups / name))
        return self.created_groups[-1]

    def start(
        self,
        host: str,
        command: tuple[str, ...],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        environment: Mapping[str, str] | None,
    ) -> FakeProcess:
        self.log.append((f"run {command[0]}", host))
        stdout.write(" ".join(command).encode())
        lasts, code = self.programs.get(command[0], (0.5, 0))
        process = FakeProcess(self.clock, self.clock.now, lasts, code)
        self.processes.append(process)
        return process

    def machine_facts(self) -> Mapping[str, Mapping[str, object]]:
        return {}

    def listens(self, host: str, port: int) -> bool:
        return self.listening(host, port)
