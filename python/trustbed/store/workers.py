"""Which workers a cluster has, and which of them may have a task.

Workers of another version get none, a full one no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trustbed.store.captures import DEFAULT_MEMORY, Outcome
from trustbed.store.errors import StoreError

TICK = 0.5
"""Seconds between looks at the cluster."""

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
        self._full: dict[str, str] = {}

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
            fresh = [address for address in self._known if address not in self._versions]
            if fresh:
                self._ask(fresh)
        except (ValueError, KeyError) as error:  # an answer without workers
            raise RuntimeError(str(error)) from error
        if self.client.status != "running":
            raise RuntimeError(self.client.status)
        self._looked = time.monotonic()
        return True

    def _ask(self, addresses: list[str]) -> None:
        def version() -> str:  # within a function: it travels by value, to workers without trustbed
            import trustbed

            return trustbed.__version__

        for address in addresses:
            try:
                found = self.client.run(version, workers=[address], on_error="return")
                answer = found[address]
            except (OSError, TimeoutError, RuntimeError, ValueError, KeyError):
                continue  # it went meanwhile; or the scheduler did, which the next look finds
            if isinstance(answer, OSError):
                continue
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
            if self._versions.get(address) == self._version and address not in self._full
        ]
        if not found:
            self._check_hope()
        return found

    def _check_hope(self) -> None:
        if self._full and all(one in self._full for one in self._known):
            raise StoreError(
                next(iter(self._full.values())),
                "free some space and repeat the command: what is stored is not done twice",
            )
        if self._known and all(
            self._versions.get(one) not in (None, self._version) for one in self._known
        ):
            raise StoreError(
                f"no worker has trustbed {self._version}, {self.where}",
                "install the same version on every host, with the extra [cluster]",
            )

    def threads(self, addresses: Sequence[str]) -> int:
        """How many tasks these have at a time."""
        return sum(self._known[address]["nthreads"] for address in addresses)

    def least_memory(self, addresses: Sequence[str]) -> int:
        """Bytes that the smallest of these may use."""
        limits = [self._known[address].get("memory_limit") for address in addresses]
        return min((limit for limit in limits if limit), default=DEFAULT_MEMORY)

    def note(self, future: Any, found: Outcome) -> None:  # noqa: ANN401 - Dask
        """A worker whose disk is full, or that is of another version, gets no more captures."""
        if found.problem not in ("full", "version"):
            return
        for address in self.client.who_has([future]).get(future.key, ()):
            if address in self._full or not self._versions.get(address, self._version):
                continue  # it was said
            if found.problem == "full":
                self._full[address] = found.message
            else:
                self._versions[address] = ""
            self.report(f"{found.message}: it gets no more captures")
