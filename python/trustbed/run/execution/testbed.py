"""The hosts of a repetition: agents, programs with their logs, control groups, guests.

Every agent and program that is started goes onto an exit stack, which ends it in any case.
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
    """A host that is a virtual machine."""

    @property
    def pid(self) -> int:
        """The process of the virtual machine."""

    def facts(self) -> Mapping[str, object]:
        """Its kernel, model and resources."""


class Container(Protocol):
    """A host that is a container."""

    @property
    def pid(self) -> int:
        """Its first process."""

    def facts(self) -> Mapping[str, object]:
        """Its engine, image and limits."""


class RunTestbed(Protocol):
    """What a repetition requires of a testbed."""

    def start_agent(self, verb: str, config: Mapping[str, Any], *, where: str) -> Agent:
        """Starts an agent, which is ready and waits to begin."""

    def start(
        self,
        host: str,
        command: tuple[str, ...],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        environment: Mapping[str, str] | None,
    ) -> Process:
        """Starts a program on a host; ``environment`` is added to that of the host."""

    def listens(self, host: str, port: int) -> bool:
        """Whether a TCP port of a host is listening."""

    def namespace(self, host: str) -> Path:
        """The file of a host's network namespace."""

    def group(self, name: str) -> Group:
        """Creates a control group with a CPU controller."""

    def guest(self, host: str) -> Guest:
        """The guest that is this host."""

    def container(self, host: str) -> Container:
        """The container that is this host."""

    def machine_facts(self) -> Mapping[str, Mapping[str, object]]:
        """Facts about the hosts that are machines."""


class Hosts:
    """Starts agents and programs on the hosts of one repetition, and ends them with it.

    Attributes:
        testbed: The testbed of the repetition.
        logs: The directory of the programs' output.
    """

    def __init__(self, testbed: RunTestbed, stack: ExitStack, logs: Path) -> None:
        self.testbed = testbed
        self.logs = logs
        self._stack = stack

    def agent(self, verb: str, where: str, configuration: Mapping[str, Any]) -> Agent:
        """Starts an agent, which is ready and waits to begin."""
        agent = self.testbed.start_agent(verb, configuration, where=where)
        self._stack.callback(agent.close)
        return agent

    def program(
        self, name: str, host: str, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> Process:
        """Starts a program; its output goes to ``NAME.out`` and ``NAME.err`` in the logs."""
        out, err = (
            self._stack.enter_context((self.logs / f"{name}.{ending}").open("wb"))
            for ending in ("out", "err")
        )
        process = self.testbed.start(host, command, stdout=out, stderr=err, environment=environment)
        self._stack.callback(process.end)
        return process


def exit_words(code: int) -> str:
    """An exit code in words."""
    return f"exit code {code}" + (f" (killed by signal {code - 128})" if 128 < code < 160 else "")


def unwritten_words(report: Mapping[str, Any]) -> str | None:
    """Why the file of an agent is incomplete, from the agent's report; None if it is complete."""
    error = report.get("error")
    return None if error is None else f"its file cannot be written: {error}"
