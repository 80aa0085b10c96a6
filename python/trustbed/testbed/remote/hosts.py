"""Many hosts at once.

trustbed connects them in parallel, up to a limit; none blocks the others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Self

from trustbed.errors import TestbedError
from trustbed.scenario.inventory import ALL, Inventory
from trustbed.testbed.remote.host import RemoteHost
from trustbed.testbed.remote.loop import Loop
from trustbed.testbed.remote.program import Keep, Program

AT_ONCE = 8
"""How many connections are made at a time.

Sshd drops some of those beyond ten that have not logged in yet (MaxStartups).
"""
_AGAIN_SECONDS = 0.05
"""How often the connecting thread is interrupted, until it has given up.

Between two steps there is nothing to interrupt.
"""
_SIGNAL_SECONDS = 0.5
"""How often a caller that waits looks for a signal.

One that arrives in the instant before the wait begins does not end it.
"""


class Hosts(Mapping[str, RemoteHost]):
    """The hosts of an inventory that are connected, by name. As a context it ends them all.

    :meth:`connect` may be called again: it takes up those that are not connected, or no longer, and
    resumes those whose transport was lost. A thread may do that while others use those that are
    connected; :meth:`close` makes it give up.
    """

    def __init__(
        self,
        inventory: Inventory,
        names: Sequence[str] = (ALL,),
        *,
        at_once: int = AT_ONCE,
        keep: Keep | None = None,
    ) -> None:
        """Connects to nothing yet.

        Args:
            inventory: Which hosts there are.
            names: The hosts to connect, or groups of them.
            at_once: How many are connected to at the same time.
            keep: How long what runs on a host outlives the loss of its transport; without it, it
                ends with the transport.

        Raises:
            AgentError: There is no agent to be copied.
            ScenarioError: There is no host of such a name.
        """
        self.described = {host.name: host for host in inventory.select(names)}
        self._program = Program.read()
        self._known_hosts = inventory.known_hosts
        self._at_once = at_once
        self._keep = keep
        self._connected: dict[str, RemoteHost] = {}
        self._changing = threading.Lock()
        self._connecting = threading.Lock()
        self._closed = False
        self._loop = Loop()

    def __getitem__(self, name: str) -> RemoteHost:
        return self._connected[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the inventory."""
        return (name for name in self.described if name in self._connected)

    def __len__(self) -> int:
        return len(self._connected)

    def connect(self) -> dict[str, TestbedError]:
        """Connects to all that are not connected, and returns why the others could not be.

        Raises:
            CancelledError: They were closed meanwhile.
        """
        with self._connecting:
            gone = [name for name, host in self._connected.items() if host.is_gone]
            self._end(gone)
            due = [
                name
                for name in self.described
                if name not in self._connected or self._connected[name].is_away
            ]
            with ThreadPoolExecutor(self._at_once, thread_name_prefix="connect") as pool:
                futures = {name: pool.submit(self._connect, name) for name in due}
                try:
                    failed = {
                        name: error
                        for name, future in futures.items()
                        if (error := _failure(future)) is not None
                    }
                except BaseException:
                    for future in futures.values():
                        future.cancel()
                    while wait(futures.values(), _AGAIN_SECONDS).not_done:
                        self._loop.interrupt()
                    raise
        if self._closed:
            raise CancelledError
        return failed

    def _connect(self, name: str) -> None:
        away = self._connected.get(name)
        if away is not None:
            if away.resume(self._loop, self._known_hosts):
                return
            self._end([name])
        host = RemoteHost.connect(
            self._loop, self.described[name], self._program, self._known_hosts, self._keep
        )
        with self._changing:
            self._connected[name] = host

    def remove_programs(self) -> dict[str, TestbedError]:
        """Ends all that are connected, and removes from each what was copied there.

        Returns why that was not possible on some.
        """
        with ThreadPoolExecutor(self._at_once, thread_name_prefix="stop") as pool:
            # Several may be one machine, whose program the last of them takes away.
            list(pool.map(RemoteHost.stop, self._connected.values()))
        return self._end(list(self._connected), remove=True)

    def _end(self, names: Sequence[str], *, remove: bool = False) -> dict[str, TestbedError]:
        """Ends hosts side by side: each may take its time."""
        failed: dict[str, TestbedError] = {}
        with ThreadPoolExecutor(self._at_once, thread_name_prefix="end") as pool:
            futures = {
                name: pool.submit(self._connected.pop(name).end, remove=remove) for name in names
            }
            for name, future in futures.items():
                try:
                    future.result()
                except TestbedError as error:
                    failed[name] = error
        return failed

    def close(self) -> None:
        """Ends all of them. A second call does nothing."""
        self._closed = True
        while not self._connecting.acquire(timeout=_AGAIN_SECONDS):
            self._loop.interrupt()
        try:
            self._end(list(self._connected))
        finally:
            self._loop.close()
            self._connecting.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _failure(future: Future[None]) -> TestbedError | None:
    """Why a task failed, if it did; waits for its end."""
    while wait([future], _SIGNAL_SECONDS).not_done:
        pass
    try:
        future.result()
    except TestbedError as error:
        return error
    return None
