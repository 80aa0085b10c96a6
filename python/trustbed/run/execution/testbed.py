"""What a repetition needs of its hosts: agents, programs with their logs, control groups, guests.

A testbed has all of it.

Whatever is started is put on a stack, which ends it whatever happens in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Protocol

from trustbed.agent.client import Agent
from trustbed.testbed.netns.cgroups import Group


class Process(Protocol):
    """A program on a host."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""

    def end(self) -> None:
        """Ends it and all it started."""


class Guest(Protocol):
    """A host that is a machine of its own."""

    @property
    def pid(self) -> int:
        """The process that is the machine."""

    def facts(self) -> Mapping[str, object]:
        """What it is."""


class RunTestbed(Protocol):
    """The hosts of a repetition."""

    def start_agent(self, verb: str, config: Mapping[str, Any], *, where: str) -> Agent:
        """An agent that stands."""

    def start(
        self,
        host: str,
        command: tuple[str, ...],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        environment: Mapping[str, str] | None,
    ) -> Process:
        """A program on a host, with more in its environment."""

    def listens(self, host: str, port: int) -> bool:
        """Whether somebody waits for connections."""

    def group(self, name: str) -> Group:
        """A control group of processor time."""

    def guest(self, host: str) -> Guest:
        """A guest."""


class Hosts:
    """A bed of one repetition.

    What is started there ends with it, and what programs write is kept.
    """

    def __init__(self, bed: RunTestbed, stack: ExitStack, logs: Path) -> None:
        self.bed = bed
        self.logs = logs
        self._stack = stack

    def agent(self, verb: str, where: str, configuration: Mapping[str, Any]) -> Agent:
        """An agent that stands."""
        agent = self.bed.start_agent(verb, configuration, where=where)
        self._stack.callback(agent.close)
        return agent

    def program(
        self, name: str, host: str, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> Process:
        """A program that runs; ``NAME.out`` and ``NAME.err`` have what it writes."""
        out, err = (
            self._stack.enter_context((self.logs / f"{name}.{ending}").open("wb"))
            for ending in ("out", "err")
        )
        process = self.bed.start(host, command, stdout=out, stderr=err, environment=environment)
        self._stack.callback(process.end)
        return process


def exit_words(code: int) -> str:
    """How a program ended, for people."""
    return f"exit code {code}" + (f" (killed by signal {code - 128})" if 128 < code < 160 else "")


def unwritten_words(report: Mapping[str, Any]) -> str | None:
    """Why the file of an agent is not whole, by what it reports of it; nothing if it is."""
    error = report.get("error")
    return None if error is None else f"its file cannot be written: {error}"
