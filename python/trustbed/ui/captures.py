"""Captures that are read again: for the points of a transfer, and for a report.

One at a time, in a thread; requests meanwhile learn how far it is. What was found stays in the
user's cache, 4 GiB at most, the longest unused removed first. A capture of a store is read from
where it was when it was stored, or beside the store, and only if its bytes have the SHA-256 that
the store has: a store that somebody made names no other file. Captures of a run are read below the
run that the URL names.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from trustbed import _core
from trustbed.analysis.capture import Capture, analyze
from trustbed.disk import cache
from trustbed.errors import TrustbedError, reason_and_file
from trustbed.store.captures import DEFAULT_MEMORY, How, content_of
from trustbed.store.files import LocalFiles
from trustbed.ui import points
from trustbed.ui.library import Item

KEPT_BYTES = 4 << 30
MOST_WAITING = 8
"""Captures that wait to be read; further requests are refused."""
MOST_REPORT_BYTES = 64 << 20

State: TypeAlias = Literal["reading", "missing", "failed"]


@dataclass(frozen=True, kw_only=True)
class Pending:
    """Why something is not there (yet).

    Attributes:
        state: ``reading``; ``missing``: the capture is out of reach; ``failed``.
        message: What happened, and to which file.
        hint: What to do about it.
        done: Bytes read.
        total: Bytes in all, if that is known.
    """

    state: State
    message: str = ""
    hint: str = ""
    done: int = 0
    total: int | None = None


@dataclass
class _Progress:
    """How far a job is, from the thread that does it to those that ask."""

    done: int = 0
    total: int | None = None
    failure: Pending | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    given_up: threading.Event = field(default_factory=threading.Event)

    def at(self, done: int, total: int | None) -> None:
        if self.given_up.is_set():
            raise CancelledError
        self.done, self.total = done, total


class Captures:
    """Reads captures again, and keeps what was found in ``directory``."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = cache() / "ui" if directory is None else directory
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="captures")
        self._jobs: dict[str, _Progress] = {}
        self._failures: dict[str, Pending] = {}  # until they are asked for
        self._lock = threading.Lock()
        self._last: tuple[str, Capture] | None = None

    def close(self) -> None:
        """Gives up what waits and what is being read."""
        with self._lock:
            for job in self._jobs.values():
                job.given_up.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def points(
        self, item: Item, source: str, transfer: str, start_ns: int
    ) -> points.Points | Pending:
        """The points of a transfer; asked for the first time, the capture is read for them."""
        place = self._place(item, source, transfer)
        found = points.load(place)
        if found is not None:
            return found

        def make(progress: _Progress) -> None:
            capture = self._capture(item, source, progress)
            names = ("segments", "rtt", "spacing")
            points.write(place, {name: capture.stream(name) for name in names}, transfer, start_ns)

        return self._begun(place.name, make) or points.load(place) or _LOST

    def report(self, item: Item, source: str, command: str) -> bytes | Pending:
        """The report of a capture as ``trustbed analyze --report`` writes it."""
        place = self._place(item, source, "report").with_suffix(".html")

        def make(progress: _Progress) -> None:
            about = {"command": command}
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._capture(item, source, progress).report(place, about=about)

        if not place.is_file():
            pending = self._begun(place.name, make)
            if pending is not None:
                return pending
        if place.stat().st_size > MOST_REPORT_BYTES:
            return Pending(
                state="failed", message="the report is too large to be shown here", hint=command
            )
        return place.read_bytes()

    def _place(self, item: Item, *words: str) -> Path:
        """Where something is kept; whatever a manifest calls it, below the cache."""
        name = "\0".join((item.entry.key, *words))
        return self._directory / hashlib.sha256(name.encode()).hexdigest()[:40]

    def _begun(self, name: str, make: Callable[[_Progress], None]) -> Pending | None:
        """Does a job, unless it is being done; ``None`` once it is done."""
        with self._lock:
            job, failure = self._jobs.get(name), self._failures.pop(name, None)
            if failure is not None:
                return failure
            if job is None:
                if len(self._jobs) >= MOST_WAITING:
                    return Pending(
                        state="failed",
                        message=f"{MOST_WAITING} captures are waiting to be read",
                        hint="try again when they have been",
                    )
                job = self._jobs[name] = _Progress()
                self._thread.submit(self._carry_out, name, job, make)
        if not job.ended.wait(_AT_ONCE_SECONDS):
            return Pending(state="reading", done=job.done, total=job.total)
        with self._lock:
            self._failures.pop(name, None)
        return job.failure

    def _carry_out(self, name: str, job: _Progress, make: Callable[[_Progress], None]) -> None:
        try:
            self._make_room()
            make(job)
        except _Absent as error:
            job.failure = Pending(state="missing", message=error.message, hint=error.hint)
        except (TrustbedError, _core.CaptureError) as error:
            job.failure = Pending(state="failed", message=error.message, hint=error.hint)
        except OSError as error:
            job.failure = Pending(state="failed", message=reason_and_file(error))
        except MemoryError:
            job.failure = Pending(state="failed", message="out of memory")
        except CancelledError:
            job.failure = Pending(state="failed", message="trustbed ui has ended")
        finally:
            with self._lock:
                self._jobs.pop(name, None)
                if job.failure is not None:
                    self._failures[name] = job.failure
            job.ended.set()

    def _capture(self, item: Item, source: str, progress: _Progress) -> Capture:
        """The analysed capture; the last one is kept."""
        name = f"{item.entry.key}\0{source}"
        if self._last is None or self._last[0] != name:
            self._last = None
            files, known = files_of(item, source)
            if known is not None and content_of(files) != known:
                raise _Absent(
                    f"capture has changed since it was stored, {files[0]}",
                    "trustbed analyze CAPTURE --store URL stores it as it is now",
                )
            how = How.of(item.entry) if item.entry.kind == "capture" else How(version="")
            capture = analyze(
                files,
                at=how.at,
                workload=how.workload,
                capacity=how.capacity,
                inner=how.inner,
                dedup=how.dedup,
                memory=min(how.memory or DEFAULT_MEMORY, DEFAULT_MEMORY),
                samples=True,
                series=True,
                progress=progress.at,
            )
            self._last = (name, capture)
        return self._last[1]

    def _make_room(self) -> None:
        """Removes what was not used for the longest time until the rest fits."""
        if not self._directory.is_dir():
            return
        held = sorted(
            (one.stat().st_mtime, _size(one), one)
            for one in self._directory.iterdir()
            if not one.name.startswith(".")
        )
        excess = sum(size for _, size, _ in held) - KEPT_BYTES
        for _, size, one in held:
            if excess <= 0:
                break
            shutil.rmtree(one) if one.is_dir() else one.unlink()
            excess -= size


_AT_ONCE_SECONDS = 0.3
"""A small capture is read while its first request waits."""
_LOST = Pending(state="failed", message="the points could not be kept")


class _Absent(TrustbedError):
    """A capture is out of reach."""


def files_of(item: Item, source: str) -> tuple[tuple[Path, ...], str | None]:
    """The files of a capture, and the content that they must have; ``None``: any.

    Raises:
        TrustbedError: It is out of reach.
    """
    if item.entry.kind == "run":
        return (_of_run(item, source),), None
    recorded = [Path(file) for file in item.entry.files]
    beside = [[place / one.name for one in recorded] for place in _beside(item)]
    for files in (recorded, *beside):
        there = files and all(one.is_absolute() and one.is_file() for one in files)
        if there and sum(one.stat().st_size for one in files) == item.entry.size_bytes:
            return tuple(files), item.entry.subject
    names = ", ".join(item.entry.files[:2]) or item.entry.name
    raise _Absent(
        f"the capture is not here, {names}",
        "put it back, or beside the store, to see its packets",
    )


def _beside(item: Item) -> list[Path]:
    store = item.store
    local = store is not None and isinstance(store.files, LocalFiles)
    return [Path(store.files.root).resolve().parent] if store is not None and local else []


def _of_run(item: Item, source: str) -> Path:
    """The file of a capture of a run; looked up among those that are there."""
    if item.path is None:
        raise _Absent(
            f"the run's captures are not in the store, {item.entry.name}",
            "start trustbed ui with a directory that has the store and the run",
        )
    there = {
        f"{file.parent.parent.name}/{file.name.removesuffix('.pcapng')}": file
        for file in item.path.glob("rep-*/captures/*.pcapng")
        if file.resolve().is_relative_to(item.path.resolve())
    }
    if source not in there:
        raise _Absent(f"no capture {source} in {item.path}", "it may have been removed")
    return there[source]


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.iterdir())
