"""A container from its start to its end.

Its first process is the agent, so that no program of the image is needed: the agent is mounted into
it, and speaks with us over the standard streams of ``docker run``. When they are closed, as the
kernel does if we are killed, the agent ends, and with it the container, which the engine removes.

Commands, and the agents that are the ends of workloads, run inside: under the image's user, with
the engine's limits, capabilities and filter of system calls. What watches (captures, samples,
tracers) runs outside in the container's network namespace, and so does background traffic: none of
it counts against the container's limits.

Starting has two steps, so that several start at the same time: :meth:`Container.start` returns at
once, :meth:`Container.wait_until_ready` when commands can run in it and its network namespace can
be equipped.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trustbed.agent.client import START_SECONDS, Agent, binary, nameless_file
from trustbed.agent.control import Control, ControlledHost, Peer
from trustbed.agent.control.commands import AgentProcess, ControlledAgent, ControlledProcess
from trustbed.agent.control.files import MOST_ERRORS
from trustbed.agent.messages import Configuration
from trustbed.agent.processes import Process
from trustbed.errors import TestbedError
from trustbed.scenario.containers import Container as Description
from trustbed.testbed.container import engine, processes

START_LIMIT_SECONDS = 120.0
"""How long a container has until it can be used."""
_END_SECONDS = 10.0
"""How long it has to end by itself. It takes a second at most: the agent's grace for commands."""
_TIDY_SECONDS = 2.0
"""How long the engine has to remove it after that, before its command is ended."""
_POLL_SECONDS = 0.02
_TAIL_BYTES = 1500
_OWN_NETWORK = Path("/proc/self/ns/net")

INSIDE = frozenset({"bulk", "estimate", "fetch", "media", "serve", "video"})
"""The agents that run inside: the ends of workloads."""


class Container(ControlledHost):
    """A host of an experiment.

    In this order: :meth:`start`, :meth:`wait_until_ready`, anything else, :meth:`end`.
    """

    program = engine.AGENT

    def __init__(
        self,
        host: str,
        description: Description,
        *,
        name: str,
        chosen: engine.Engine,
        environment: Mapping[str, str],
        mark: tuple[str, str],
        logs: Path | None,
        pin: Sequence[int] = (),
    ) -> None:
        """A container that is not started.

        Args:
            host: The name of the host.
            description: The image and its limits.
            name: The container's name.
            chosen: What runs it.
            environment: Of the engine's command.
            mark: The variable of processes that belong to the testbed, and its value.
            logs: A directory that it sees under the same name.
            pin: The processors on which its processes may run; none: all.
        """
        super().__init__(host)
        self.started_seconds: float | None = None
        self._order = engine.Order(
            name=name,
            host=host,
            engine=chosen,
            described=description,
            agent=binary().resolve(),
            mark=mark,
            logs=None if logs is None else logs.resolve(),
            pin=tuple(pin),
        )
        self._environment = environment
        self._process: Process | None = None
        self._control: Control | None = None
        self._errors = -1
        self._begun = time.monotonic()
        self._facts: Mapping[str, Any] = {}

    # Start.

    def start(self) -> None:
        """Has the engine start it.

        Raises:
            TestbedError: The engine cannot be run.
        """
        ours, its = socket.socketpair()
        try:
            self._begun = time.monotonic()
            self._errors = nameless_file()
            self._process = Process.start(
                engine.words(self._order),
                namespace=_OWN_NETWORK,
                stdin=its.fileno(),
                stdout=its.fileno(),
                stderr=self._errors,
                environment=self._environment,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            its.close()
        peer = Peer(
            title=f"the container {self.name}",
            when_gone="its first process has ended; see the engine's log",
            when_missing=f"the image {self._order.described.image} has to contain it",
            when_unread="see whether the container may write there",
        )
        self._control = Control(ours, peer)

    def wait_until_ready(self, seconds: float = START_LIMIT_SECONDS) -> None:
        """Waits until commands can run in it.

        Raises:
            TestbedError: It ended, or is not ready in time.
        """
        deadline = self._begun + seconds
        try:
            while not self.control.wait(lambda: self.control.hello is not None, 0.1):
                if time.monotonic() > deadline:
                    raise TestbedError(
                        f"it is not ready after {seconds:g} s", "the machine may be overloaded"
                    )
        except TestbedError as error:
            why = self._output() or error.message
            raise TestbedError(
                f"the container {self.name} does not start: {why}",
                f"try the image by hand: {self._order.engine.name} run --rm "
                f"{self._order.described.image}",
            ) from error
        self._facts = engine.inspect(self._order.engine, self._order.name)
        self.started_seconds = time.monotonic() - self._begun

    def _output(self) -> str:
        """What the engine wrote last, once it has ended."""
        if self._process is not None:
            self._process.wait(_END_SECONDS)
        size = os.fstat(self._errors).st_size
        text = os.pread(self._errors, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        lines = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
        # Docker ends with a line on its --help.
        told = [line for line in lines if "--help" not in line]
        return "".join(one for one in (told or [""])[-1] if one.isprintable())

    # Its life.

    @property
    def control(self) -> Control:
        """Its control channel."""
        assert self._control is not None, "it was started"
        return self._control

    @property
    def pid(self) -> int:
        """The number here of its first process."""
        return int(self._facts["State"]["Pid"])

    @property
    def network(self) -> Path:
        """The file of its network namespace, as long as it runs."""
        return Path("/proc", str(self.pid), "ns", "net")

    def remote_path(self, file: Path) -> str:
        """The same: it sees the directory of the run's logs under its own name."""
        return str(file)

    def start_command(self, words: Sequence[str], **options: Any) -> ControlledProcess:  # noqa: ANN401 - as ControlledHost
        """Starts a command inside; its process has the number that it has here."""
        started = super().start_command(words, **options)
        started.pid = processes.outside(self.pid, started.pid)
        return started

    def start_agent(
        self, verb: str, config: Configuration, *, name: str, seconds: float = START_SECONDS
    ) -> Agent:
        """Starts an agent inside: see :meth:`ControlledHost.start_agent`. Its files are here."""
        errors = nameless_file()
        try:
            process = self.start_command(
                [self.program, verb],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                most_bytes=MOST_ERRORS,
            )
        except BaseException:
            os.close(errors)
            raise
        agent = ControlledAgent(AgentProcess(process), errors, name, lambda: None)
        agent.configure(config, seconds)
        return agent

    def facts(self) -> Mapping[str, object]:
        """Its entry in the record of a run."""
        described = self._order.described
        settings = self._facts.get("HostConfig") or {}
        return {
            "engine": self._order.engine.name,
            "engine_version": self._order.engine.version,
            "image": described.image,
            "image_id": self._facts.get("Image"),
            "runtime": self._facts.get("OCIRuntime") or settings.get("Runtime"),
            "storage": (self._facts.get("GraphDriver") or {}).get("Name"),
            "cpus": described.cpus,
            "memory_bytes": described.memory_bytes,
            "volumes": described.volumes,
            "options": described.options,
            "start_seconds": self.started_seconds,
            "pid": self.pid,
        }

    def _lives(self) -> bool:
        """Whether its first process runs, or the engine's command where that is not known."""
        assert self._process is not None, "it was started"
        return self._process.poll() is None and (not self._facts or self.network.exists())

    # Its end.

    def end(self) -> None:
        """Ends it at any time; does nothing if it has ended.

        The engine removes it then. Where that fails, the testbed does (:func:`engine.remove`).
        """
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            deadline = time.monotonic() + _END_SECONDS
            while self._lives() and time.monotonic() < deadline:
                self._process.wait(_POLL_SECONDS)
            # Some engines' commands outlast the container by many seconds.
            self._process.wait(_TIDY_SECONDS)
            self._process.end()
            self._process = None
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1
