"""A running testbed.

Entering the block makes it; leaving the block removes it, whatever happens in between.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from trustbed.agent import listening
from trustbed.agent.client import Agent
from trustbed.agent.control import ControlledProcess
from trustbed.agent.messages import Configuration
from trustbed.agent.processes import Process, Stream, finished
from trustbed.errors import HostNotStartedError, TestbedError
from trustbed.testbed import container, qemu
from trustbed.testbed.netns import address_translation as outside
from trustbed.testbed.netns import apply, cgroups, namespaces, registry, rootless
from trustbed.testbed.netns.pinning import pinned
from trustbed.testbed.netns.plan import SWITCH, Plan


class Testbed:
    """Hosts on veth links, with what runs on them.

    ``with Testbed(plan) as testbed`` makes it, and ends and removes everything at the end of the
    block. It first removes what killed processes have left, so that nothing accumulates. An
    ordinary user calls :func:`trustbed.testbed.prepare` before.
    """

    __test__ = False  # no test, whatever pytest makes of the name

    def __init__(
        self, plan: Plan, *, purpose: str = "testbed", consoles: Path | None = None
    ) -> None:
        """Prepares a testbed of a plan.

        Args:
            plan: What it consists of.
            purpose: What it is for, in a list of testbeds.
            consoles: A directory for the console output of guests, ``HOST.console``; without it,
                trustbed does not keep the output. Containers see it under the same name.
        """
        self.plan = plan
        self._purpose = purpose
        self._consoles = consoles
        self._guests: dict[str, qemu.Guest] = {}
        self._containers: dict[str, container.Container] = {}
        self._entry: registry.Entry | None = None
        self._running: list[Agent | Process | ControlledProcess] = []

    def __enter__(self) -> Self:
        if not rootless.may_make_networks():
            raise TestbedError(
                "no network can be made here",
                "run as root, or call trustbed.testbed.prepare() first",
            )
        registry.clean()
        hosts = tuple(veth.host.name for veth in self.plan.veths)
        self._entry = registry.reserve(
            purpose=self._purpose, hosts=hosts, switch=SWITCH, rootless=rootless.is_rootless()
        )
        try:
            self._start_containers()
            networks = {host: one.network for host, one in self._containers.items()}
            apply.make(self.plan, self._name, SWITCH, networks)
            for veth in self.plan.veths:
                if veth.host.outside:
                    outside.connect(
                        self.entry, self.plan, veth.host.name, self.namespace(veth.host.name)
                    )
            self._boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def entry(self) -> registry.Entry:
        """Its file."""
        if self._entry is None:
            raise TestbedError("the testbed does not exist", "use it inside its `with` block")
        return self._entry

    @property
    def id(self) -> str:
        """Its name among others."""
        return self.entry.record.id

    def _name(self, host: str) -> str:
        return f"tb-{self.id}-{host}"

    def namespace(self, host: str) -> Path:
        """The file of a host's namespace, or of the switch namespace."""
        if host != SWITCH:
            self.plan.veth(host)
        return namespaces.path(self._name(host))

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of what runs here.

        Ours and more, with the mark by which it is found again.
        """
        return {**os.environ, **(more or {}), registry.VARIABLE: self.id}

    def _start_containers(self) -> None:
        """Starts all containers, then waits for each: they start side by side."""
        engines: dict[str, container.Engine] = {}
        for veth in self.plan.containers:
            described, host = veth.host.container, veth.host.name
            assert described is not None, "the plan saw to it"
            if described.engine not in engines:
                engines[described.engine] = container.choose(described.engine)
            chosen = engines[described.engine]
            named = registry.ContainerName(engine=chosen.name, name=self._name(host))
            self.entry.update(containers=(*self.entry.record.containers, named))
            self._containers[host] = one = container.Container(
                host,
                described,
                name=named.name,
                chosen=chosen,
                environment=self.environment(),
                mark=(registry.VARIABLE, self.id),
                logs=self._consoles,
                pin=veth.host.pin,
            )
            with _starting(host):
                one.start()
        for host, one in self._containers.items():
            with _starting(host):
                one.wait_until_ready()

    def _boot(self) -> None:
        """Starts all guests, then waits for each: they boot side by side."""
        for veth in self.plan.guests:
            self._guests[veth.host.name] = guest = qemu.Guest(
                veth, self._surroundings(veth.host.name)
            )
            with pinned(veth.host.pin), _starting(veth.host.name):
                guest.start()
        for host, guest in self._guests.items():
            with _starting(host):
                guest.wait_until_ready()

    def _surroundings(self, host: str) -> qemu.Surroundings:
        directory = self._consoles
        return qemu.Surroundings(
            plan=self.plan,
            namespace=self.namespace(host),
            switch=self.namespace(SWITCH),
            environment=self.environment(),
            console=registry.beside(self.entry.record, f"{host}.console")
            if directory is None
            else directory / f"{host}.console",
            keep_console=directory is not None,
        )

    def guest(self, host: str) -> qemu.Guest:
        """A host that is a virtual machine.

        Raises:
            TestbedError: There is no such guest.
        """
        found = self._guests.get(host)
        if found is None:
            self.plan.veth(host)
            raise TestbedError(f"{host} is no guest", "its processes are processes of this machine")
        return found

    def container(self, host: str) -> container.Container:
        """A host that is a container.

        Raises:
            TestbedError: There is no such container.
        """
        found = self._containers.get(host)
        if found is None:
            self.plan.veth(host)
            raise TestbedError(f"{host} is no container", "its processes are started here")
        return found

    def machine_facts(self) -> Mapping[str, Mapping[str, object]]:
        """No host is a machine: all are made."""
        return {}

    def start_agent(
        self,
        verb: str,
        config: Configuration,
        *,
        where: str,
        **options: Any,  # noqa: ANN401
    ) -> Agent:
        """Starts an agent on a host or in the switch namespace; waits until it reports ready."""
        name = f"{verb} on {where}"
        inside: qemu.Guest | container.Container | None = self._guests.get(where)
        if verb in container.INSIDE:
            inside = inside or self._containers.get(where)
        if inside is not None:
            found = inside.start_agent(verb, config, name=name, **options)
            self._running.append(found)
            return found
        # What watches, and the emulator, is not of the host.
        with pinned(self.plan.veth(where).host.pin if verb in container.INSIDE else ()):
            started = Agent.start(
                verb,
                config,
                namespace=self.namespace(where),
                name=name,
                environment=self.environment(),
                **options,
            )
        self._running.append(started)
        return started

    def start(
        self,
        host: str,
        command: Sequence[str],
        *,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        foreground: bool = False,
    ) -> Process | ControlledProcess:
        """Starts a command on a host: see :meth:`Process.start`.

        Its environment is ours, or a guest's or image's own, with these additions.
        """
        elsewhere = self._guests.get(host) or self._containers.get(host)
        if elsewhere is not None:
            inside = elsewhere.start_command(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                environment=environment,
                directory=None if directory is None else str(directory),
            )
            self._running.append(inside)
            return inside
        with pinned(self.plan.veth(host).host.pin):
            started = Process.start(
                command,
                namespace=self.namespace(host),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                environment=self.environment(environment),
                directory=directory,
                foreground=foreground,
            )
        self._running.append(started)
        return started

    def group(self, name: str) -> cgroups.Group:
        """A control group of processor time, which is removed with the testbed if it is not before.

        Raises:
            TestbedError: None can be made here; the error gives the reason.
        """
        where = cgroups.parent()
        full = f"trustbed-{self.id}-{name}"
        self.entry.update(cgroups=(*self.entry.record.cgroups, str(where[1] / full)))
        return cgroups.make(full, where)

    def run(
        self, host: str, command: Sequence[str], *, seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command on a host to its end, and reads what it writes.

        Raises:
            TestbedError: It did not end within the time; it is ended then.
        """
        with self.start(host, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            return finished(process, host, seconds)

    def listens(self, host: str, port: int) -> bool:
        """Whether a process listens for TCP connections on a port of a host."""
        return ("tcp", port) in self.listening(host)

    def listening(self, host: str) -> set[tuple[listening.Transport, int]]:
        """The listening ports of a host, each with its transport protocol."""
        if host in self._guests:
            return self._guests[host].listening()
        with namespaces.inside(self.namespace(host)):
            return listening.ports(_socket_table)

    def close(self) -> None:
        """Ends what runs and removes the testbed. Does nothing if there is none."""
        if self._entry is None:
            return
        with _undisturbed(), contextlib.ExitStack() as stack:
            stack.callback(self._remove)
            while self._guests:
                stack.callback(self._guests.popitem()[1].end)
            while self._containers:
                stack.callback(self._containers.popitem()[1].end)
            while self._running:
                one = self._running.pop(0)
                stack.callback(one.close if isinstance(one, Agent) else one.end)

    def _remove(self) -> None:
        assert self._entry is not None
        registry.remove(self._entry.record)
        self._entry.drop()
        self._entry = None


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Delays signals that request an end until the removal is complete.

    An interrupted removal would leave something behind.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _socket_table(name: str) -> str | None:
    """A table of sockets of the calling thread's network namespace (proc_net(5)), if there."""
    path = Path("/proc/thread-self/net", name)
    return path.read_text(encoding="ascii") if path.exists() else None


@contextlib.contextmanager
def _starting(host: str) -> Iterator[None]:
    """Names the host that does not start."""
    try:
        yield
    except TestbedError as error:
        raise HostNotStartedError(host, error.message, error.hint) from error
