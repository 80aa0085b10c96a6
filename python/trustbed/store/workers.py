"""Which workers a cluster has, and which of them may have a task.

Workers of another version get none; one that is full, or that does not reach the store, no more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from typing import Any

from trustbed.store.captures import DEFAULT_MEMORY, Outcome
from trustbed.store.errors import StoreError

TICK = 0.5
"""Seconds between looks at the cluster."""
ANSWERED = 5.0
"""Seconds in which workers that have just come may say their version, before others begin."""
PATIENCE = 300.0
"""Seconds in which a worker must connect where there is none."""
FAILURES = 3
"""Captures that a worker could not store, after which it gets no more."""

Reporter = Callable[[str], object]


class Workers:
    """The workers of a cluster, as they were when :meth:`look` last looked."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 - Dask
        where: str,
        version: str,
        report: Reporter,
    ) -> None:
        """Knows none yet; only those of this ``version`` are to have tasks."""
        self.client, self.where, self.report = client, where, report
        self._version = version
        self._known: Mapping[str, Any] = {}
        self._looked = -TICK
        self._versions: dict[str, str] = {}
        self._asked: dict[str, Future[str | Exception | None]] = {}
        self._unable: dict[str, str] = {}
        self._failures: dict[str, int] = {}
        self._deserted: float | None = None

    def __contains__(self, address: str) -> bool:
        return address in self._known

    def __len__(self) -> int:
        return len(self._known)

    def look(self, *, at_once: bool = False) -> bool:
        """Learns which workers there are, if it is time to; whether it was.

        Raises:
            OSError, RuntimeError: The scheduler does not answer.
        """
        if not at_once and time.monotonic() - self._looked < TICK:
            return False
        try:
            self._known = self.client.scheduler_info(n_workers=-1)["workers"]
            fresh = [
                address
                for address in self._known
                if address not in self._versions and address not in self._asked
            ]
            if fresh:
                self._ask(fresh)
            self._take_answers()
        except (ValueError, KeyError) as error:  # an answer without workers
            raise RuntimeError(str(error)) from error
        if self.client.status != "running":
            raise RuntimeError(self.client.status)
        self._looked = time.monotonic()
        return True

    def _ask(self, addresses: Sequence[str]) -> None:
        """Asks for their versions; one that hangs keeps no other waiting."""
        for address in addresses:
            answer: Future[str | Exception | None] = Future()
            self._asked[address] = answer
            # A thread that nobody waits for: it may take until the scheduler gives the worker up.
            asking = (self.client, address, answer)
            threading.Thread(target=_ask_version, args=asking, daemon=True).start()
        wait([self._asked[address] for address in addresses], timeout=ANSWERED)

    def _take_answers(self) -> None:
        for address, found in list(self._asked.items()):
            if not found.done():
                if address not in self._known:
                    del self._asked[address]
                continue
            del self._asked[address]
            answer = found.result()
            if answer is None:
                continue  # it went meanwhile; or the scheduler did, which the next look finds
            self._versions[address] = answer if isinstance(answer, str) else ""
            if answer != self._version:
                has = f"trustbed {answer}" if isinstance(answer, str) else f"no trustbed ({answer})"
                self.report(f"worker {address} has {has}, not {self._version}: it gets no captures")

    def fit(self) -> list[str]:
        """Those that may have tasks, by their addresses.

        Raises:
            StoreError: There are workers, and none will ever be fit.
        """
        found = [
            address
            for address in self._known
            if self._versions.get(address) == self._version and address not in self._unable
        ]
        if not found:
            self._check_hope()
        return found

    def _check_hope(self) -> None:
        self._check_presence()
        if self._unable and all(one in self._unable for one in self._known):
            raise StoreError(
                next(reversed(self._unable.values())),
                "mend that and repeat the command: what is stored is not done twice",
            )
        if self._known and all(
            self._versions.get(one) not in (None, self._version) for one in self._known
        ):
            raise StoreError(
                f"no worker has trustbed {self._version}, {self.where}",
                "install the same version on every host, with the extra [cluster]",
            )

    def _check_presence(self) -> None:
        """Says that nobody is there, and gives up after a while."""
        if self._known:
            self._deserted = None
        elif self._deserted is None:
            self._deserted = time.monotonic()
            self.report(f"no worker is connected, {self.where}: waiting for one")
        elif time.monotonic() - self._deserted > PATIENCE:
            raise StoreError(
                f"no worker has been connected for {PATIENCE:.0f} s, {self.where}",
                "start one (dask worker HOST:PORT) and repeat the command: what is stored is not "
                "done twice",
            )

    def threads(self, addresses: Sequence[str]) -> int:
        """How many tasks these have at a time."""
        return sum(self._known[address]["nthreads"] for address in addresses)

    def least_memory(self, addresses: Sequence[str]) -> int:
        """Bytes that a task of the smallest of these may use: each of its threads has one."""
        limits = [
            limit // self._known[address]["nthreads"]
            for address in addresses
            if (limit := self._known[address].get("memory_limit"))
        ]
        return min(limits, default=DEFAULT_MEMORY)

    def note(self, future: Any, found: Outcome) -> bool:  # noqa: ANN401 - Dask
        """Learns of a worker from what it failed by; whether that was the worker's own fault.

        One whose disk is full or that is of another version gets no more captures; nor does one
        that could not store several.
        """
        if found.problem not in ("full", "version", "store"):
            return False
        addresses = self.client.who_has([future]).get(future.key, ())
        for address in addresses:
            if address in self._unable or not self._versions.get(address, self._version):
                continue  # it was said
            if found.problem == "store":
                self._failures[address] = self._failures.get(address, 0) + 1
                if self._failures[address] < FAILURES:
                    continue
            if found.problem == "version":
                self._versions[address] = ""
            else:
                self._unable[address] = found.message
            self.report(f"{found.message}: it gets no more captures")
        return bool(addresses) and found.problem != "version"


def _ask_version(
    client: Any,  # noqa: ANN401 - Dask
    address: str,
    answer: Future[str | Exception | None],
) -> None:
    """Sets the version of a worker, why it has none, or None if it did not answer."""

    def version() -> str:  # within a function: it travels by value, to workers without trustbed
        import trustbed

        return trustbed.__version__

    found: str | Exception | None = None
    try:
        with suppress(OSError, TimeoutError, RuntimeError, ValueError, KeyError, CancelledError):
            found = client.run(version, workers=[address], on_error="return")[address]
    finally:  # whatever it was, the worker is asked again
        answer.set_result(None if isinstance(found, OSError) else found)
