"""Many hosts at once.

Each is connected by itself, when it is its turn (:mod:`trustbed.testbed.remote.turns`); none blocks
the others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Self

from trustbed.errors import TestbedError
from trustbed.scenario.inventory import ALL, Inventory
from trustbed.testbed.remote.host import RemoteHost
from trustbed.testbed.remote.program import Keep, Program
from trustbed.testbed.remote.turns import AT_ONCE, Access, Limits

_ENDED_AT_ONCE = 32
"""How many hosts are ended at a time."""
_AGAIN_SECONDS = 0.05
"""How often a connecting thread is interrupted, until it has given up.

Between two steps there is nothing to interrupt.
"""
_SIGNAL_SECONDS = 0.5
"""How often a caller that waits looks for a signal.

One that arrives in the instant before the wait begins does not end it.
"""


class Hosts(Mapping[str, RemoteHost]):
    """The hosts of an inventory that are connected, by name. As a context it ends them all.

    :meth:`connect` may be called again: it takes up those that are not connected, or no longer, and
    resumes those whose transport was lost; :meth:`connect_one` does so with one. Threads may do
    that while others use those that are connected; :meth:`close` makes them give up.
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
            at_once: How many handshakes it is busy with at the same time.
            keep: How long what runs on a host outlives the loss of its transport; without it, it
                ends with the transport.

        Raises:
            AgentError: There is no agent to be copied.
            ScenarioError: There is no host of such a name.
        """
        self.described = {host.name: host for host in inventory.select(names)}
        self._program = Program.read()
        self._keep = keep
        self._connected: dict[str, RemoteHost] = {}
        self._changed = threading.Condition()
        self._connecting = threading.Lock()
        self._attempts = 0
        self._closed = False
        self._access = Access(known_hosts=inventory.known_hosts, limits=Limits(at_once))

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
        with self._connecting, ThreadPoolExecutor(len(self.described) or 1, "connect") as pool:
            futures = {name: pool.submit(self.connect_one, name) for name in self.described}
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
                    self._access.loop.interrupt()
                raise
        return failed

    def connect_one(self, name: str) -> None:
        """Connects to one, unless it is connected, or resumes it.

        Several threads may connect several hosts, each a host of its own.

        Raises:
            TestbedError: It failed.
            CancelledError: They were closed meanwhile.
        """
        with self._changed:
            if self._closed:
                raise CancelledError
            self._attempts += 1
        try:
            self._connect(name)
        except TestbedError:
            if self._closed:
                raise CancelledError from None
            raise
        finally:
            with self._changed:
                self._attempts -= 1
                self._changed.notify_all()
        if self._closed:
            raise CancelledError

    def _connect(self, name: str) -> None:
        known = self._connected.get(name)
        if known is not None:
            if not known.is_gone and (not known.is_away or known.resume(self._access)):
                return
            self._end([name])
        host = RemoteHost.connect(self._access, self.described[name], self._program, self._keep)
        with self._changed:
            self._connected[name] = host

    def remove_programs(self) -> dict[str, TestbedError]:
        """Ends all that are connected, and removes from each what was copied there.

        Returns why that was not possible on some.
        """
        with ThreadPoolExecutor(_ENDED_AT_ONCE, "stop") as pool:
            # Several may be one machine, whose program the last of them takes away.
            list(pool.map(RemoteHost.stop, self._connected.values()))
        return self._end(list(self._connected), remove=True)

    def _end(self, names: Sequence[str], *, remove: bool = False) -> dict[str, TestbedError]:
        """Ends hosts side by side: each may take its time."""
        failed: dict[str, TestbedError] = {}
        with ThreadPoolExecutor(_ENDED_AT_ONCE, "end") as pool:
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
        with self._changed:
            self._closed = True
            while self._attempts:
                self._access.loop.interrupt()
                self._changed.wait(_AGAIN_SECONDS)
        try:
            self._end(list(self._connected))
        finally:
            self._access.loop.close()

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
