"""Requests to a host at the other end of a control channel.

Commands, agents and their files, its clock, its ports.
"""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from trustbed.agent import listening
from trustbed.agent.client import START_SECONDS, Agent, nameless_file
from trustbed.agent.control import files
from trustbed.agent.control.commands import AgentProcess, ControlledAgent, ControlledProcess
from trustbed.agent.control.control import Control
from trustbed.agent.control.peer import Reading
from trustbed.agent.messages import Configuration
from trustbed.agent.processes import finished

COMMAND_SECONDS = 60.0
"""The time limit of a command that only reads something."""
CLOCK_ROUNDS = 20


class ControlledHost(ABC):
    """A host that is another machine, or is treated as one.

    ``program`` is the agent there; ``fetch_seconds`` how long the transfer of a file may take.
    """

    program = "trustbed-agent"
    fetch_seconds = 120.0

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @abstractmethod
    def control(self) -> Control:
        """Its control channel."""

    @abstractmethod
    def remote_path(self, file: Path) -> str:
        """The name that a file of this machine, not made yet, gets there."""

    @property
    def existing(self) -> frozenset[str]:
        """Directories there that need not be made."""
        return frozenset()

    def start_command(self, words: Sequence[str], **options: Any) -> ControlledProcess:  # noqa: ANN401 - as ControlledProcess.start
        """Starts a command there, with the host's own environment and these additions.

        See :meth:`ControlledProcess.start`.
        """
        return ControlledProcess.start(self.control, words, **options)

    def run(
        self,
        words: Sequence[str],
        *,
        seconds: float,
        **options: Any,  # noqa: ANN401
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command there to its end.

        Raises:
            TestbedError: It did not end within the time.
        """
        with self.start_command(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        ) as process:
            return finished(process, self.name, seconds)

    def start_agent(
        self, verb: str, config: Configuration, *, name: str, seconds: float = START_SECONDS
    ) -> Agent:
        """Starts an agent there, and waits until it reports ready.

        The files that it writes are here once it has reported.

        Raises:
            AgentError: It refused, died, or did not answer.
            TestbedError: The host is gone.
        """
        written = files.written(verb, config, self.remote_path)
        directories = {str(PurePosixPath(file.there).parent) for file in written}
        if missing := sorted(directories - self.existing):
            self.run(["mkdir", "-p", *missing], seconds=COMMAND_SECONDS)
        errors = nameless_file()
        try:
            process = self.start_command(
                [self.program, verb],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                most_bytes=files.MOST_ERRORS,
            )
        except BaseException:
            os.close(errors)
            raise
        agent = ControlledAgent(AgentProcess(process), errors, name, lambda: self._fetch(written))
        agent.configure(files.there(config, written), seconds)
        return agent

    def _fetch(self, written: Sequence[files.Written]) -> None:
        for file in written:
            self.fetch(file.there, file.here, most_bytes=file.most_bytes)

    def fetch(self, path: str, to: Path, *, most_bytes: int = files.MOST_BYTES) -> None:
        """Copies one of its files here, and removes it there once it is here.

        Raises:
            TestbedError: It is not there, is larger than that, cannot be written here, or takes too
                long.
        """
        files.fetch(self.control, path, to, seconds=self.fetch_seconds, most_bytes=most_bytes)

    def read_clock(self) -> Reading:
        """Compares its real-time clock with ours.

        Raises:
            TestbedError: It does not answer.
        """
        return self.control.read_clock(CLOCK_ROUNDS)

    def listening(self) -> set[tuple[listening.Transport, int]]:
        """The listening ports there, each with its transport protocol."""
        transports: tuple[listening.Transport, ...] = ("tcp", "udp")
        found: set[tuple[listening.Transport, int]] = set()
        for transport in transports:
            tables = self.run(
                [
                    "sh",
                    "-c",
                    f"cat /proc/net/{transport}; tail -n +2 /proc/net/{transport}6 2>/dev/null",
                ],
                seconds=COMMAND_SECONDS,
            )
            found |= {(transport, port) for port in listening.parse(tables.stdout, transport)}
        return found
