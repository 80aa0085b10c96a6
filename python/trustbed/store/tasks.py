"""What there is to do for many captures, and what the outcome of a task means.

A capture is a task. One that is more than a worker's share of all of them is several: one that
begins, its parts, one that finishes (:mod:`trustbed.store.parts`). Small ones are handed out by the
handful, as Dask needs longer to hand one out than it takes to analyse. A task that is lost with its
worker is done again, by itself; one that takes far longer than its size explains runs on a second
worker as well, and the first to end counts.
"""

from __future__ import annotations

import itertools
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from trustbed.store import parts, workers
from trustbed.store.captures import (
    READ_TOPIC,
    Division,
    How,
    Job,
    Outcome,
    Reading,
    budget,
    store_capture,
    store_captures,
)
from trustbed.store.errors import StoreError
from trustbed.store.workers import Workers

ATTEMPTS = 3
"""How often a task is begun that was lost with its worker; Dask repeats each of them thrice."""
SLOW_SECONDS = 60.0
SLOW_TIMES = 8.0
"""A task is slow after both: seconds, and times the median pace of the others."""
DIVIDED_BYTES = 64 << 20
"""A smaller capture is not divided."""
HANDFUL, HANDFUL_BYTES = 16, 4 << 20
"""Captures that are handed out together at most, and their bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a task is slow, and the least size of a capture that several workers share."""

    slow_seconds: float = SLOW_SECONDS
    slow_times: float = SLOW_TIMES
    divided_bytes: int = DIVIDED_BYTES


@dataclass(slots=True, eq=False)
class _Capture:
    """A capture that has no outcome yet.

    Attributes:
        division: Of one that several workers share.
        left: Its parts that have not been measured, or 1 if it is not divided.
        count: How often it was begun.
    """

    job: Job
    division: Division | None = None
    left: int = 1
    count: int = 0


@dataclass(slots=True, eq=False)
class _Task:
    """Something that a worker does for a capture.

    Attributes:
        work: Takes the capture, the store, how, and the arguments.
        futures: Those that do it, each with the workers that it was restricted to (none: it was
            not).
        started: When the first of them was handed out.
        count: How many there have been that did not fail by their workers.
        avoided: Workers on which it was too slow, or that do not see the capture.
    """

    capture: _Capture
    work: Callable[..., Outcome]
    arguments: tuple[object, ...] = ()
    futures: dict[Any, frozenset[str]] = field(default_factory=dict)
    started: float = 0.0
    count: int = 0
    avoided: set[str] = field(default_factory=set)


class Tasks:
    """Hands out tasks and takes outcomes, until every capture has one."""

    def __init__(
        self,
        workers: Workers,
        jobs: Sequence[Job],
        url: str,
        how: How,
        limits: Limits,
        reading: Reading,
    ) -> None:
        """Begins nothing yet."""
        self._workers, self._client = workers, workers.client
        self._url, self._how, self._limits, self._reading = url, how, limits, reading
        # The largest first: what comes last keeps one worker busy while the others are idle.
        by_size = sorted(jobs, key=lambda job: -job.size_bytes)
        self._waiting = deque(_Capture(job) for job in by_size)
        self._pending: deque[_Task] = deque()
        self._running: dict[Any, list[_Task]] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._read: dict[str, int] = {}
        self._paces: dict[Callable[..., Outcome], list[float]] = {}
        self._done, self._whole = 0, len(jobs)
        self._left = sum(job.size_bytes for job in jobs)

    def outcomes(self) -> Iterator[Outcome]:
        """One per capture."""
        self._client.subscribe_topic(READ_TOPIC, lambda event: self._read.update([event[1]]))
        while self._waiting or self._pending or self._running:
            self._reading(self._being_read())
            self._look()
            self._hand_out()
            try:
                future = self._ended.get(timeout=workers.TICK)
            except queue.Empty:
                self._repeat_slow()
                continue
            # None if it was taken back, or the other of two was first.
            if tasks := self._running.pop(future, None):
                for one in self._taken(future, tasks):
                    self._done += 1
                    self._left -= one.size_bytes
                    yield one

    def _look(self, *, at_once: bool = False) -> None:
        """Looks which workers there are, and takes back what waits for those that are gone."""
        try:
            if not self._workers.look(at_once=at_once):
                return
        except (OSError, TimeoutError, RuntimeError) as error:
            raise self._lost() from error
        for future, tasks in list(self._running.items()):
            waiting = [task for task in tasks if future in task.futures]
            restricted = waiting[0].futures[future]
            if restricted and not any(address in self._workers for address in restricted):
                for task in waiting:
                    self._drop(future, task)
                    if not task.futures:
                        self._pending.append(task)

    def _lost(self) -> StoreError:
        return StoreError(
            f"the scheduler went away after {self._done} of {self._whole} captures, "
            f"{self._workers.where}",
            "start it again and repeat the command: what is stored is not done twice",
        )

    def _being_read(self) -> int:
        """Bytes that were read of captures that have no outcome yet, each counted once."""
        found: dict[_Capture, int] = {}
        for task in {*self._pending, *itertools.chain(*self._running.values())}:
            capture, size = task.capture, task.capture.job.size_bytes
            shared_by = 1 if capture.division is None else capture.division.parts
            if capture not in found:
                found[capture] = size * (shared_by - capture.left) // shared_by
            # What is read for a handful may be of any of them, and is little.
            own = [one for one in task.futures if len(self._running.get(one, ())) < 2]
            read = max((self._read.get(future.key, 0) for future in own), default=0)
            found[capture] += min(read, size) // shared_by
        return sum(found.values())

    # Handing out.

    def _hand_out(self) -> None:
        fit = self._workers.fit()
        room = 2 * self._workers.threads(fit) - len(self._running)
        while (self._pending or self._waiting) and room > 0:
            self._submit([self._pending.popleft()] if self._pending else self._handful(fit), fit)
            room -= 1

    def _handful(self, fit: Sequence[str]) -> list[_Task]:
        """What is handed out next: a task, or several small ones that nobody has begun before."""
        found = [self._first(self._waiting.popleft(), fit)]
        most = min(HANDFUL, len(self._waiting) // (4 * self._workers.threads(fit)))
        most_bytes = min(HANDFUL_BYTES, self._limits.divided_bytes)
        size = found[0].capture.job.size_bytes
        while (
            len(found) < most
            and found[0].capture.count == 1
            and not self._waiting[0].count
            and (size := size + self._waiting[0].job.size_bytes) <= most_bytes
        ):
            found.append(self._first(self._waiting.popleft(), fit))
        return found

    def _first(self, capture: _Capture, fit: Sequence[str]) -> _Task:
        """The first task of a capture, which is divided if it is more than a worker's share."""
        capture.count += 1
        size, threads = capture.job.size_bytes, self._workers.threads(fit)
        count = min(threads, parts.MOST_PARTS, round(size * threads / max(self._left, 1)))
        if count < 2 or size < self._limits.divided_bytes:
            return _Task(capture, store_capture)
        memory = self._how.memory or budget(self._workers.least_memory(fit), count)
        return _Task(capture, parts.begin, (Division(parts=count, memory=memory),))

    def _submit(self, tasks: list[_Task], fit: Sequence[str]) -> None:
        first = tasks[0]
        chosen = [address for address in fit if address not in first.avoided] or fit
        # Where every worker will do, one that replaces a killed one will, too.
        restricted = frozenset(chosen if len(chosen) < len(self._workers) else ())
        jobs = [task.capture.job for task in tasks]
        future = self._client.submit(
            *((store_captures, jobs) if len(jobs) > 1 else (first.work, jobs[0])),
            self._url,
            self._how,
            *first.arguments,
            # Names of captures are not always text that can be sent.
            key=f"capture-{uuid.uuid4().hex}",
            pure=False,
            workers=sorted(restricted) or None,
        )
        for task in tasks:
            task.count += 1
            task.started = task.started or time.monotonic()
            task.futures[future] = restricted
        self._running[future] = tasks
        future.add_done_callback(self._ended.put)

    def _drop(self, future: Any, task: _Task) -> None:  # noqa: ANN401 - Dask
        """Nobody waits for this of what a future does; it ends if nobody waits for any of it."""
        del task.futures[future]
        # Its list stays whole: what the future returns has one outcome for each.
        if not any(future in other.futures for other in self._running.get(future, ())):
            self._running.pop(future, None)
            future.cancel()

    def _repeat_slow(self) -> None:
        """Begins slow tasks a second time, on another worker, once nothing else waits."""
        if self._pending or self._waiting:
            return
        now, known = time.monotonic(), self._limits
        slow = [
            task
            for task in set(itertools.chain(*self._running.values()))
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
            fit = [address for address in self._workers.fit() if address not in task.avoided]
            if fit:
                self._workers.report(f"slow, and begun on a second worker: {task.capture.job.name}")
                self._submit([task], fit)

    # Taking.

    def _taken(self, future: Any, tasks: Sequence[_Task]) -> Iterator[Outcome]:  # noqa: ANN401
        """The outcomes of captures, where they are the last word."""
        found = self._result(future) or [self._failed(future, task) for task in tasks]
        # Nobody waits for what another worker did sooner.
        waiting = [
            (task, one) for task, one in zip(tasks, found, strict=True) if future in task.futures
        ]
        for task, _ in waiting:
            del task.futures[future]
        for task, one in waiting:
            if self._workers.note(future, one):
                task.count -= 1  # there is no end of it: such workers get no more
            if one.problem == "absent":
                task.avoided.update(self._client.who_has([future]).get(future.key, ()))
            if (last := self._last_word(task, one)) is not None:
                yield last

    def _last_word(self, task: _Task, one: Outcome) -> Outcome | None:
        """What came of a task, unless there is more to do for its capture."""
        capture = task.capture
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
            self._waiting.append(replace(task.capture, division=None, left=1))
            return True
        if task.count < ATTEMPTS:
            self._pending.append(task)
        return task.count < ATTEMPTS

    def _go_on(self, capture: _Capture, one: Outcome) -> None:
        """Hands out the parts of a capture that has begun, and its end after the last of them."""
        if one.division is not None:
            capture.division, capture.left = one.division, one.division.parts
            self._workers.report(f"divided among {capture.left} workers: {capture.job.name}")
            for part in range(capture.left):
                self._pending.append(_Task(capture, parts.measure, (one.division, part)))
            return
        capture.left -= 1
        if not capture.left:
            self._pending.append(_Task(capture, parts.finish, (capture.division,)))

    def _take_back(self, capture: _Capture) -> None:
        """Nothing more is done for a capture that has its outcome."""
        self._pending = deque(task for task in self._pending if task.capture is not capture)
        for future, tasks in list(self._running.items()):
            for task in tasks:
                if task.capture is capture and future in task.futures:
                    self._drop(future, task)

    def _result(self, future: Any) -> list[Outcome] | None:  # noqa: ANN401 - Dask
        """What tasks that have ended returned; None if they failed, or went with all workers."""
        if future.status == "finished":
            try:
                found: Outcome | list[Outcome] = future.result()
            except CancelledError:
                pass
            else:
                return found if isinstance(found, list) else [found]
        if future.status in ("cancelled", "lost"):
            self._look(at_once=True)  # unless it was the scheduler that went
        return None

    def _failed(self, future: Any, task: _Task) -> Outcome:  # noqa: ANN401 - Dask
        job = task.capture.job
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
