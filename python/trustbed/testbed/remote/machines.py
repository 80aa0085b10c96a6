"""The machines of a run: hosts that exist, on a network that exists.

A repetition treats them as it treats the hosts of an emulated network: agents and programs are
started on each, and their files are here once they have ended. Nothing about the machines or what
lies between them is changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, NoReturn, Self

from trustbed.agent.client import Agent
from trustbed.agent.control import ControlledProcess
from trustbed.agent.messages import Configuration
from trustbed.errors import HostLostError, HostNotStartedError, TestbedError
from trustbed.scenario import Scenario
from trustbed.scenario.inventory import Inventory
from trustbed.testbed.remote.host import RemoteHost
from trustbed.testbed.remote.hosts import Hosts

MOST_AHEAD_SECONDS = 0.5
"""Times of a run are those of this machine's clock: from here on they would mean other moments."""


class Machines:
    """The machines of a scenario, connected within the ``with`` block."""

    def __init__(self, scenario: Scenario, *, logs: Path | None = None) -> None:
        """Connects to nothing yet.

        Args:
            scenario: Whose hosts are all machines.
            logs: Programs are told to write files there; those of a machine are fetched.
        """
        assert scenario.inventory is not None, "reading saw to it"
        self._addresses = {host.name: host.addresses[0] for host in scenario.machines}
        known = {host.name: host.machine for host in scenario.machines if host.machine is not None}
        self._inventory = Inventory(
            file=scenario.inventory.file,
            hosts=tuple(replace(one, name=name) for name, one in known.items()),
            known_hosts=scenario.inventory.known_hosts,
        )
        self._logs = logs
        self._hosts: Hosts | None = None
        self._ahead_ns: dict[str, int] = {}
        self._interfaces: dict[str, str] = {}
        self._running: list[Agent | Program] = []

    def __enter__(self) -> Self:
        self._hosts = Hosts(self._inventory)
        try:
            for name, error in self._hosts.connect().items():
                raise HostNotStartedError(name, error.message, error.hint)
            for name, host in self._hosts.items():
                try:
                    self._ahead_ns[name] = _ahead_ns(host)
                except HostLostError as error:
                    raise HostNotStartedError(name, error.message, error.hint) from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends what runs there, and removes what was copied for this session."""
        if self._hosts is None:
            return
        with contextlib.ExitStack() as stack:
            stack.callback(self._hosts.close)
            self._hosts = None
            while self._running:
                one = self._running.pop(0)
                stack.callback(one.close if isinstance(one, Agent) else one.end)

    def machine(self, host: str) -> RemoteHost:
        """A machine, which is connected."""
        assert self._hosts is not None, "inside the block"
        return self._hosts[host]

    def start_agent(self, verb: str, config: Configuration, *, where: str) -> Agent:
        """Starts an agent on a machine; a capture without an interface gets that of the address."""
        if verb == "capture" and "interface" not in config:
            config = {**config, "interface": self._interface(where)}
        started = self.machine(where).start_agent(verb, config, name=f"{verb} on {where}")
        started.ahead_ns = self._ahead_ns[where]
        self._running.append(started)
        return started

    def _interface(self, host: str) -> str:
        """The interface that has the machine's address on the measured network."""
        if host not in self._interfaces:
            own = self._addresses[host]
            peer = next((one for one in self._addresses.values() if one != own), own)
            asked = {"to": peer, "from": own, "count": 0}
            with self.machine(host).start_agent("ping", asked, name=f"ping on {host}") as agent:
                found = agent.ready.get("interface")
            if not isinstance(found, str):
                raise TestbedError(
                    f"no interface of {host} has the address {own}",
                    "give the machine's own address: address, or measure in the inventory",
                )
            self._interfaces[host] = found
        return self._interfaces[host]

    def start(
        self,
        host: str,
        command: Sequence[str],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        environment: Mapping[str, str] | None,
    ) -> Program:
        """Starts a program there; files in the logs that it is told to write are fetched."""
        machine = self.machine(host)
        files = {
            word: machine.remote_path(Path(word))
            for word in command
            if self._logs is not None and Path(word).is_relative_to(self._logs)
        }
        process = machine.start_command(
            [files.get(word, word) for word in command],
            stdout=stdout,
            stderr=stderr,
            environment=environment,
        )
        started = Program(machine, process, {there: Path(here) for here, there in files.items()})
        self._running.append(started)
        return started

    def listens(self, host: str, port: int) -> bool:
        """Whether a process listens for TCP connections on a port of a machine."""
        return ("tcp", port) in self.machine(host).listening()

    def machine_facts(self) -> Mapping[str, Mapping[str, object]]:
        """Every machine: how it is reached, its system, its clock against ours."""
        return {
            name: {**self.machine(name).facts(), "address": address}
            for name, address in self._addresses.items()
        }

    def namespace(self, host: str) -> NoReturn:
        """A machine has none of ours."""
        raise TestbedError(f"{host} is a machine", "reading saw to it that nothing asks for this")

    group = guest = container = namespace
    """Neither is anything else on it ours."""


class Program:
    """A program on a machine; the files that it wrote are fetched at its end."""

    def __init__(
        self, machine: RemoteHost, process: ControlledProcess, files: Mapping[str, Path]
    ) -> None:
        self.pid = process.pid
        self._machine = machine
        self._process = process
        self._files = dict(files)

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._process.poll()

    def end(self) -> None:
        """Ends it. A file that it was to write and did not is missing here as well."""
        self._process.end()
        while self._files:
            there, here = self._files.popitem()
            with contextlib.suppress(TestbedError):
                self._machine.fetch(there, here)


def survey(scenarios: Sequence[Scenario]) -> Mapping[str, object] | None:
    """Facts about the machines of all cells, each connected once; ``None`` without machines.

    Raises:
        TestbedError: One cannot be reached, or its clock is too far from ours.
    """
    found: Mapping[str, Mapping[str, object]] = {}
    for scenario in scenarios:
        if {host.name for host in scenario.machines} - found.keys():
            with Machines(scenario) as machines:
                found = {**found, **machines.machine_facts()}
    return found or None


def _ahead_ns(host: RemoteHost) -> int:
    """How far its clock is ahead of ours.

    Raises:
        HostNotStartedError: Too far.
    """
    reading = host.read_clock()
    if abs(reading.ahead_ns) > MOST_AHEAD_SECONDS * 1e9:
        where = "ahead of" if reading.ahead_ns > 0 else "behind"
        raise HostNotStartedError(
            host.name,
            f"its clock is {abs(reading.ahead_ns) / 1e9:.1f} s {where} this machine's",
            "synchronise both, for example with chrony: times of a run are those of one clock",
        )
    return reading.ahead_ns
