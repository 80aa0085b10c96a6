"""Many captures into a store by the workers of a Dask cluster.

A capture is a task. One that is more than a worker's share of all of them is several: one that
begins, its parts, one that finishes (:mod:`trustbed.store.parts`). Dask schedules, moves and
restarts; this module decides which worker may have a task and what an outcome means. A task has no
effect but a new entry in the store, or a part of one, which exists at once or not at all: it can be
killed and repeated at any moment. Workers of another version get none, a full one no more; a task
that takes far longer than its size explains runs on a second worker as well, and the first to end
counts. What a scheduler that dies had not finished, the same command does.

Bias: captures and store must have the same paths or URLs on every worker.
"""

from __future__ import annotations

import logging
import queue
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from trustbed.analysis.options import available_cores
from trustbed.scenario.inventory import Ssh, load
from trustbed.store import parts
from trustbed.store.captures import (
    DEFAULT_MEMORY,
    Division,
    How,
    Job,
    Outcome,
    budget,
    store_capture,
)
from trustbed.store.errors import StoreError

ATTEMPTS = 3
"""How often a task is begun that was lost with its worker; Dask repeats each of them thrice."""
SLOW_SECONDS = 60.0
SLOW_TIMES = 8.0
"""A task is slow after both: seconds, and times the median pace of the others."""
DIVIDED_BYTES = 64 << 20
"""A smaller capture is not divided."""
_TICK = 0.5
"""Seconds between looks at the cluster."""

_NO_DASHBOARD = "127.0.0.1:0"
"""Dask always serves its health by HTTP: at any free port, and to this machine only."""

Reporter = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where tasks run.

    Attributes:
        where: ``local``, the address of a scheduler, or ``ssh:`` and an inventory.
        processes: Workers of a local cluster (default: one per core).
        memory: Bytes that each worker of a local or SSH cluster may have (default: its share).
        divided_bytes: The least size of a capture that several workers share.
    """

    where: str
    processes: int | None = None
    memory: int | None = None
    slow_seconds: float = SLOW_SECONDS
    slow_times: float = SLOW_TIMES
    divided_bytes: int = DIVIDED_BYTES


def carry_out(
    jobs: Sequence[Job],
    url: str,
    how: How,
    cluster: Cluster,
    *,
    report: Reporter = lambda line: None,
) -> Iterator[Outcome]:
    """Stores captures by the workers of a cluster, in the order in which they end.

    Raises:
        StoreError: The cluster cannot be reached or goes away, or the store cannot be written.
    """
    with _client(cluster) as client:
        yield from _Driver(client, jobs, url, how, cluster, report).outcomes()


@contextmanager
def _client(cluster: Cluster) -> Iterator[Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise StoreError(
            "Dask, which runs clusters, is not installed", "pip install 'trustbed[cluster]'"
        ) from error
    for name in ("client", "deploy.ssh"):  # what matters of it is reported as our own errors
        logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
    settings = {"distributed.scheduler.worker-ttl": "60s", "distributed.admin.tick.limit": "1h"}
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        try:
            if cluster.where == "local":
                where = stack.enter_context(_local(distributed, cluster, stack))
            elif cluster.where.startswith("ssh:"):
                where = stack.enter_context(_over_ssh(distributed, cluster))
            else:
                where = cluster.where
            connected: Any = distributed.Client
            client = stack.enter_context(connected(where, timeout=30, set_as_default=False))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise StoreError(
                f"no cluster, {cluster.where}: {error}",
                "start one with: dask scheduler, and dask worker HOST:PORT on each host",
            ) from error
        yield client


def _local(distributed: Any, cluster: Cluster, stack: ExitStack) -> Any:  # noqa: ANN401 - Dask
    """Processes of this machine, which prove to each other that they belong together (TLS)."""
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="trustbed-cluster-"))
    return distributed.LocalCluster(
        n_workers=cluster.processes or available_cores(),
        threads_per_worker=1,
        memory_limit=cluster.memory or "auto",
        local_directory=directory,
        dashboard_address=_NO_DASHBOARD,
        scheduler_kwargs={"dashboard": False},
        security=distributed.Security.temporary(),
        protocol="tls://",
        silence_logs="ERROR",
    )


def _over_ssh(distributed: Any, cluster: Cluster) -> Any:  # noqa: ANN401 - Dask
    """A scheduler on the first host of an inventory, workers on all of them."""
    file = Path(cluster.where.removeprefix("ssh:"))
    inventory = load(file)
    reached = [host.transport for host in inventory.hosts if isinstance(host.transport, Ssh)]
    if len(reached) < len(inventory.hosts):
        raise StoreError(
            f"not every host is reached by SSH, {file}",
            "name an inventory of hosts that are, or start Dask's workers there yourself",
        )
    known = None if inventory.known_hosts is None else str(inventory.known_hosts)
    options = [_connection(one, known) for one in reached]
    return distributed.SSHCluster(
        [reached[0].address, *(one.address for one in reached)],
        connect_options=[options[0], *options],
        worker_options={"nthreads": 1, "memory_limit": cluster.memory or "auto"},
        scheduler_options={"dashboard_address": _NO_DASHBOARD, "dashboard": False},
    )


def _connection(host: Ssh, known_hosts: str | None) -> Mapping[str, object]:
    """What asyncssh is told; OpenSSH's configuration decides the rest, and keys are checked."""
    given: Mapping[str, object] = {
        "username": host.user,
        "port": host.port,
        "client_keys": list(map(str, host.keys)) or None,
        "tunnel": ",".join(map(str, host.jumps or ())) or None,
        "known_hosts": known_hosts,
    }
    return {name: value for name, value in given.items() if value is not None}


@dataclass(slots=True, eq=False)
class _Capture:
    """A capture that has no outcome yet.

    Attributes:
        division: Of one that several workers share.
        left: Its parts that have not been measured.
        count: How often it was begun.
    """

    job: Job
    division: Division | None = None
    left: int = 0
    count: int = 0


@dataclass(slots=True, eq=False)
class _Task:
    """Something that a worker does for a capture.

    Attributes:
        work: Takes the capture, the store, how, and the arguments.
        futures: Those that do it, each with the workers that it was restricted to (none: it was
            not).
        started: When the first of them was handed out.
        count: How many there have been.
        avoided: Workers on which it was too slow.
    """

    capture: _Capture
    work: Callable[..., Outcome]
    arguments: tuple[object, ...] = ()
    futures: dict[Any, frozenset[str]] = field(default_factory=dict)
    started: float = 0.0
    count: int = 0
    avoided: set[str] = field(default_factory=set)


class _Driver:
    """Hands out tasks and takes outcomes, until every capture has one."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 - Dask
        jobs: Sequence[Job],
        url: str,
        how: How,
        cluster: Cluster,
        report: Reporter,
    ) -> None:
        self._client, self._url, self._how, self._report = client, url, how, report
        self._cluster = cluster
        self._waiting = deque(_Capture(job) for job in jobs)
        self._pending: deque[_Task] = deque()
        self._running: dict[Any, _Task] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._known: Mapping[str, Any] = {}
        self._looked = -_TICK
        self._versions: dict[str, str] = {}
        self._full: dict[str, str] = {}
        self._paces: dict[Callable[..., Outcome], list[float]] = {}
        self._done, self._whole = 0, len(jobs)
        self._size = sum(job.size_bytes for job in jobs)

    def outcomes(self) -> Iterator[Outcome]:
        """One per capture."""
        while self._waiting or self._pending or self._running:
            self._look()
            self._hand_out()
            try:
                future = self._ended.get(timeout=_TICK)
            except queue.Empty:
                self._repeat_slow()
                continue
            task = self._running.pop(future, None)
            if task is None:
                continue  # it was taken back, or the other of two was first
            one = self._taken(future, task)
            if one is not None:
                self._done += 1
                yield one

    # Which workers there are.

    def _look(self) -> None:
        """Learns which workers there are, and takes back what waits for those that are gone."""
        if time.monotonic() - self._looked < _TICK:
            return
        try:
            self._known = self._client.scheduler_info(n_workers=-1)["workers"]
            fresh = [address for address in self._known if address not in self._versions]
            if fresh:
                self._ask(fresh)
        except (OSError, TimeoutError, RuntimeError, ValueError, KeyError) as error:
            raise self._lost() from error
        if self._client.status != "running":
            raise self._lost()
        self._looked = time.monotonic()
        for future, task in list(self._running.items()):
            restricted = task.futures[future]
            if restricted and not restricted & self._known.keys():
                self._drop(future, task)
                if not task.futures:
                    self._pending.append(task)

    def _ask(self, addresses: list[str]) -> None:
        def version() -> str:  # within a function: it travels by value, to workers without trustbed
            import trustbed

            return trustbed.__version__

        for address in addresses:
            try:
                found = self._client.run(version, workers=[address], on_error="return")
                answer = found[address]
            except (OSError, TimeoutError, RuntimeError, ValueError, KeyError):
                continue  # it went meanwhile; or the scheduler did, which the next look finds
            if isinstance(answer, OSError):
                continue
            self._versions[address] = answer if isinstance(answer, str) else ""
            if answer != self._how.version:
                has = f"trustbed {answer}" if isinstance(answer, str) else f"no trustbed ({answer})"
                self._report(
                    f"worker {address} has {has}, not {self._how.version}: it gets no captures"
                )

    def _fit(self) -> list[str]:
        """Workers that may have tasks, by their addresses."""
        return [
            address
            for address in self._known
            if self._versions.get(address) == self._how.version and address not in self._full
        ]

    def _lost(self) -> StoreError:
        return StoreError(
            f"the scheduler went away after {self._done} of {self._whole} captures, "
            f"{self._cluster.where}",
            "start it again and repeat the command: what is stored is not done twice",
        )

    # Handing out.

    def _hand_out(self) -> None:
        fit = self._fit()
        if not fit:
            self._check_hope()
        room = 2 * self._threads(fit) - len(self._running)
        while (self._pending or self._waiting) and room > 0:
            if not self._pending:
                self._pending.append(self._first(self._waiting.popleft(), fit))
            self._submit(self._pending.popleft(), fit)
            room -= 1

    def _threads(self, fit: Sequence[str]) -> int:
        return sum(self._known[address]["nthreads"] for address in fit)

    def _first(self, capture: _Capture, fit: Sequence[str]) -> _Task:
        """The first task of a capture, which is divided if it is more than a worker's share."""
        capture.count += 1
        size, threads = capture.job.size_bytes, self._threads(fit)
        count = min(threads, parts.MOST_PARTS, round(size * threads / max(self._size, 1)))
        if count < 2 or size < self._cluster.divided_bytes:
            return _Task(capture, store_capture)
        limits = [self._known[address].get("memory_limit") for address in fit]
        least = min((limit for limit in limits if limit), default=DEFAULT_MEMORY)
        memory = self._how.memory or budget(least, count)
        return _Task(capture, parts.begin, (Division(parts=count, memory=memory),))

    def _check_hope(self) -> None:
        """Raises an error if there are workers, and none may have a task."""
        if self._full and all(one in self._full for one in self._known):
            raise StoreError(
                next(iter(self._full.values())),
                "free some space and repeat the command: what is stored is not done twice",
            )
        if self._known and all(
            self._versions.get(one) not in (None, self._how.version) for one in self._known
        ):
            raise StoreError(
                f"no worker has trustbed {self._how.version}, {self._cluster.where}",
                "install the same version on every host, with the extra [cluster]",
            )

    def _submit(self, task: _Task, fit: Sequence[str]) -> None:
        chosen = [address for address in fit if address not in task.avoided] or fit
        # Where every worker will do, one that replaces a killed one will, too.
        restricted = frozenset(chosen if len(chosen) < len(self._known) else ())
        task.count += 1
        task.started = task.started or time.monotonic()
        future = self._client.submit(
            task.work,
            task.capture.job,
            self._url,
            self._how,
            *task.arguments,
            key=f"{task.capture.job.name}-{uuid.uuid4().hex}",
            pure=False,
            workers=sorted(restricted) or None,
        )
        task.futures[future] = restricted
        self._running[future] = task
        future.add_done_callback(self._ended.put)

    def _drop(self, future: Any, task: _Task) -> None:  # noqa: ANN401 - Dask
        self._running.pop(future, None)
        del task.futures[future]
        future.cancel()

    def _repeat_slow(self) -> None:
        """Begins slow tasks a second time, on another worker, once nothing else waits."""
        if self._pending or self._waiting:
            return
        now, known = time.monotonic(), self._cluster
        slow = [
            task
            for task in {id(one): one for one in self._running.values()}.values()
            if len(task.futures) == 1
            and task.count < ATTEMPTS
            and (paces := self._paces.get(task.work))
            and now - task.started
            > max(
                known.slow_seconds,
                known.slow_times * median(paces) * task.capture.job.size_bytes,
            )
        ]
        processing = self._client.processing() if slow else {}
        for task in slow:
            keys = {future.key for future in task.futures}
            task.avoided |= {one for one, tasks in processing.items() if keys & set(tasks)}
            fit = [address for address in self._fit() if address not in task.avoided]
            if fit:
                self._report(f"slow, and begun on a second worker: {task.capture.job.name}")
                self._submit(task, fit)

    # Taking.

    def _taken(self, future: Any, task: _Task) -> Outcome | None:  # noqa: ANN401 - Dask
        """The outcome of a capture; None if it is not the last word."""
        capture = task.capture
        one = self._outcome(future, capture.job)
        del task.futures[future]
        if one.state == "failed" and task.futures:
            return None  # a second worker is at it
        if one.problem not in ("", "capture") and self._again(task):
            return None
        if one.problem in ("store", "full"):
            raise StoreError(one.message, one.hint)
        for other in list(task.futures):
            self._drop(other, task)
        if one.state != "failed" and one.state != "present" and one.size_bytes:
            self._paces.setdefault(task.work, []).append(one.seconds / one.size_bytes)
        if one.state in ("begun", "measured"):
            self._go_on(capture, one)
            return None
        self._take_back(capture)
        return one

    def _again(self, task: _Task) -> bool:
        """Puts off a task that was lost, unless that was tried often enough."""
        if task.work is parts.finish:  # what it needs may be lost as well
            if task.capture.count >= ATTEMPTS:
                return False
            self._waiting.append(replace(task.capture, division=None, left=0))
            return True
        if task.count < ATTEMPTS:
            self._pending.append(task)
        return task.count < ATTEMPTS

    def _go_on(self, capture: _Capture, one: Outcome) -> None:
        """Hands out the parts of a capture that has begun, and its end after the last of them."""
        if one.division is not None:
            capture.division, capture.left = one.division, one.division.parts
            self._report(f"divided among {capture.left} workers: {capture.job.name}")
            for part in range(capture.left):
                self._pending.append(_Task(capture, parts.measure, (one.division, part)))
            return
        capture.left -= 1
        if not capture.left:
            self._pending.append(_Task(capture, parts.finish, (capture.division,)))

    def _take_back(self, capture: _Capture) -> None:
        """Nothing more is done for a capture that has its outcome."""
        self._pending = deque(task for task in self._pending if task.capture is not capture)
        for future, task in list(self._running.items()):
            if task.capture is capture:
                self._drop(future, task)

    def _result(self, future: Any) -> Outcome | None:  # noqa: ANN401 - Dask
        """What a task that has ended returned; None if it failed, or went with all workers."""
        if future.status == "finished":
            try:
                found: Outcome = future.result()
            except CancelledError:
                pass
            else:
                return found
        if future.status in ("cancelled", "lost"):
            self._looked = -_TICK
            self._look()  # unless it was the scheduler that went
        return None

    def _outcome(self, future: Any, job: Job) -> Outcome:  # noqa: ANN401 - Dask
        if found := self._result(future):
            if found.problem in ("full", "version"):
                for address in self._client.who_has([future]).get(future.key, ()):
                    if found.problem == "full":
                        self._full[address] = found.message
                    else:
                        self._versions[address] = ""
                    self._report(f"{found.message}: it gets no more captures")
            return found
        error = None if future.status in ("cancelled", "lost") else future.exception()
        if error is None or type(error).__name__ == "KilledWorker":
            message = f"every worker that read it was killed, {job.name}"
            hint = "it may need more memory: --worker-memory, or fewer workers per host"
        else:
            message, hint = f"worker failed, {job.name}: {error!r}", "see the worker's log"
        return Outcome(
            name=job.name,
            state="failed",
            size_bytes=job.size_bytes,
            problem="lost",
            message=message,
            hint=hint,
        )
