"""One capture into a store: hashed, analysed unless it is there, published.

The same function runs in this process and on a worker of a cluster. It never raises for what is
wrong with a capture, a disk or a host: an outcome says what happened, so that one bad capture costs
nothing but itself. Bias: a file that is written to in place, with its old size and times restored,
is not noticed.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from trustbed.analysis.options import LEAST_MEMORY, CapturePoint, Workload, name_of
from trustbed.errors import TrustbedError, reason
from trustbed.store.entry import UNDATED, About, Entry, key_of
from trustbed.store.errors import FULL, StoreError, StoreFull

if TYPE_CHECKING:
    import pyarrow as pa

    from trustbed.analysis.capture import Capture
    from trustbed.store.store import Store

ENDINGS = re.compile(r"\.(?:pcap|pcapng|cap)\d*(?:\.(?:gz|zst))?$", re.IGNORECASE)
"""Names that are taken for captures below a directory."""
_DUMPCAP = re.compile(r"^(?P<stem>.+)_(?P<number>\d{5,})_(?P<time>\d{14})(?P<ending>\.\w.*)$")
"""``dumpcap -b``: NAME_00001_20260105120000.pcapng."""
_TCPDUMP = re.compile(r"^(?P<stem>.+\.(?:pcap|pcapng|cap))(?P<number>\d+)(?P<ending>(?:\.\w+)?)$")
"""``tcpdump -C``: NAME.pcap, NAME.pcap1, NAME.pcap2."""
DEFAULT_MEMORY = 1 << 30
"""The engine's default budget of connection state in bytes."""
STORED_TABLES = ("transfers", "phases", "findings")
READ_TOPIC = "trustbed-read"
"""The events of a worker that reads a capture: the key of its task, and the bytes read so far."""
READ_SECONDS = 0.5
"""Time between two of them."""

State: TypeAlias = Literal["stored", "present", "failed", "begun", "measured"]
Reading: TypeAlias = Callable[[int], object]
Problem: TypeAlias = Literal["", "capture", "absent", "store", "full", "memory", "version", "lost"]


@dataclass(frozen=True, slots=True)
class Job:
    """One capture: a file, or the files of a rotated one in their order."""

    files: tuple[str, ...]
    size_bytes: int

    @property
    def name(self) -> str:
        """The capture in a word or two."""
        return name_of(self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How captures are analysed and stored; see :func:`trustbed.analyze`.

    ``version`` is the trustbed that asks: a worker of another one refuses.
    """

    version: str
    testbed: str = "unnamed"
    at: CapturePoint | None = None
    workload: Workload | None = None
    capacity: int | None = None
    inner: bool = False
    dedup: bool = False
    memory: int | None = None
    workers: int = 1

    @property
    def options(self) -> dict[str, str]:
        """What the tables depend on beside the capture and the version."""
        names = ("at", "workload", "capacity", "inner", "dedup", "memory")
        return {name: str(value) for name in names if (value := getattr(self, name))}

    @classmethod
    def of(cls, entry: Entry) -> How:
        """How an entry was analysed, from what :attr:`options` wrote.

        Raises:
            StoreError: That makes no sense.
        """
        try:
            return msgspec.convert({**entry.options, "version": entry.version}, cls, strict=False)
        except msgspec.ValidationError as error:
            raise StoreError(
                f"options of {entry.name} make no sense: {error}",
                "trustbed analyze CAPTURE --store URL stores it again",
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A capture that several tasks share; see :mod:`trustbed.store.parts`.

    Attributes:
        parts: How many.
        memory: Bytes of connection state of all of them together.
        key: Of the entry that comes of it, and the hash of its bytes; once they are known.
        signatures: Size and time of each file when it was hashed.
    """

    parts: int
    memory: int
    key: str = ""
    subject: str = ""
    signatures: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a capture.

    Attributes:
        state: ``present``: it was in the store already. ``begun`` and ``measured``: a task of one
            that several share has done its work.
        division: Of one that has begun.
        problem: What it failed by: the capture, a capture that this worker does not see, the store,
            a full disk, memory, a worker of another version, or workers that were lost.
        worker: The host and process that did it.
    """

    name: str
    state: State
    size_bytes: int
    seconds: float = 0.0
    key: str = ""
    verdicts: Mapping[str, int] | None = None
    damage: tuple[str, ...] = ()
    problem: Problem = ""
    message: str = ""
    hint: str = ""
    worker: str = ""
    division: Division | None = None


def jobs_of(paths: Sequence[str | os.PathLike[str]]) -> list[Job]:
    """The captures of files and directories, those with the names of a rotated one together.

    Files that do not exist are jobs as well, which fail on their own.
    """
    files: list[str] = []
    for path in map(Path, paths):
        if path.is_dir():
            found = [file for file in path.rglob("*") if ENDINGS.search(file.name)]
            files += sorted(str(file.absolute()) for file in found if file.is_file())
        else:
            files.append(str(path.absolute()))
    return [Job(group, sum(map(_size, group))) for group in _rotated(dict.fromkeys(files))]


def _rotated(files: Iterable[str]) -> Iterator[tuple[str, ...]]:
    groups: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for file in files:
        directory, _, name = file.rpartition("/")
        found = _DUMPCAP.match(name) or _TCPDUMP.match(name)
        if found is None:
            groups[directory, name].append((0, file))
        else:
            groups[directory, found["stem"] + found["ending"]].append((int(found["number"]), file))
    for group in groups.values():
        files = tuple(file for _, file in sorted(group))
        # A file that its writer has just begun, or that was left empty, holds nothing back.
        yield tuple(file for file in files if _size(file)) or files


def _size(file: str) -> int:
    try:
        return Path(file).stat().st_size
    except OSError:
        return 0


class Changed(Exception):
    """A file is not what it was when it was hashed."""


class Lost(Exception):
    """What other tasks had left is gone or damaged."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a task has to say of its work; see :class:`Outcome`."""

    state: State
    key: str = ""
    verdicts: Mapping[str, int] | None = None
    damage: Sequence[str] = ()
    division: Division | None = None


def store_capture(job: Job, url: str, how: How, reading: Reading | None = None) -> Outcome:
    """Analyses a capture into the store at a URL, unless it is there.

    ``reading`` is called with the bytes read so far; on a worker of a cluster the scheduler is told
    instead.
    """
    return attempted(job, how, lambda: _stored(job, url, how, reading))


def store_captures(jobs: Sequence[Job], url: str, how: How) -> list[Outcome]:
    """The same for several, one after the other."""
    return [store_capture(job, url, how) for job in jobs]


def attempted(job: Job, how: How, work: Callable[[], Done]) -> Outcome:
    """The outcome of some work on a capture, whatever goes wrong."""
    started, worker = time.monotonic(), f"{socket.gethostname()}:{os.getpid()}"

    def outcome(state: State, problem: Problem = "", **more: object) -> Outcome:
        seconds = time.monotonic() - started
        return Outcome(
            name=job.name,
            state=state,
            problem=problem,
            size_bytes=job.size_bytes,
            seconds=seconds,
            worker=worker,
            **more,  # type: ignore[arg-type]
        )

    def failed(problem: Problem, message: str, hint: str) -> Outcome:
        return outcome("failed", problem, message=message, hint=hint)

    from trustbed import __version__, _core

    if how.version != __version__:
        message = f"worker {worker} has trustbed {__version__}, not {how.version}"
        return failed("version", message, "install the same version on every host")
    try:
        done = work()
    except _core.CaptureError as error:
        return failed("capture", error.message, error.hint)
    except Changed:
        return failed(
            "capture",
            f"changed while it was read, {job.name}",
            "wait until its writer has finished, and repeat the command",
        )
    except Lost as error:
        return failed("lost", f"a part is lost, {job.name}: {error}", "repeat the command")
    except StoreFull as error:
        return failed("full", error.message, error.hint)
    except TrustbedError as error:
        where = "" if _worker() is None else f", on worker {worker}"
        return failed("store", f"{error.message}{where}", error.hint)
    except MemoryError:
        return failed("memory", f"out of memory, {job.name}", "give workers more memory")
    except OSError as error:
        if error.errno in FULL:
            return failed("full", f"no space left on worker {worker}", "free some space there")
        where = error.filename or job.name
        if _worker() is None:
            return failed("capture", f"{reason(error)}, {where}", "check the file, and repeat")
        return failed(
            "absent",
            f"{reason(error)}, {where}, on worker {worker}",
            "every worker must see the captures under the same names; repeat the command then",
        )
    except Exception as error:  # whatever it is, thousands of others are waiting
        what = f"{type(error).__name__}: {error}"
        return failed("capture", f"{what}, {job.name}", "this is a bug: report it with the capture")
    return outcome(
        done.state,
        key=done.key,
        verdicts=None if done.verdicts is None else dict(done.verdicts),
        damage=tuple(done.damage),
        division=done.division,
    )


def _stored(job: Job, url: str, how: How, reading: Reading | None) -> Done:
    from trustbed.store.store import open_store

    store = open_store(url)
    before = signatures(job.files)
    subject = content_of(job.files)
    key = key_of(subject, how.version, how.options)
    if (there := present(store, key)) is not None:
        return there
    if signatures(job.files) != before:
        raise Changed
    capture = _analysed(job, how, reading)
    if signatures(job.files) != before:
        raise Changed
    size_bytes = sum(size for *_, size, _ in before)
    return publish(store, capture, job, how, subject=subject, key=key, size_bytes=size_bytes)


def present(store: Store, key: str) -> Done | None:
    """What the store has under a key, if it has it."""
    there = store.entry(key)
    return None if there is None else Done("present", key, there.verdicts, there.damage)


def signatures(files: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Device, inode, size and time of each file: what changes when somebody writes."""
    found = [Path(file).stat() for file in files]
    return [(one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns) for one in found]


def content_of(files: Sequence[str | os.PathLike[str]]) -> str:
    """The subject of a capture: the SHA-256 of a file, or of the digests of several."""
    digests = []
    for file in files:
        with Path(file).open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").digest())
    return (digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(digests)).digest()).hex()


def _analysed(job: Job, how: How, reading: Reading | None) -> Capture:
    from trustbed.analysis.capture import analyze

    options = asdict(how)
    del options["version"], options["testbed"]
    options["memory"] = how.memory or _budget()
    return analyze(job.files, **options, progress=progress_of(reading))


def progress_of(reading: Reading | None = None) -> Callable[[int, int | None], object] | None:
    """What an analysis calls with the bytes that it has read: ``reading``, or the scheduler."""
    if reading is not None:
        return lambda read, total: reading(read)
    worker = _worker()
    if worker is None:
        return None
    key, due = worker.get_current_task(), time.monotonic() + READ_SECONDS

    def tell(read: int, total: int | None) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + READ_SECONDS
            worker.log_event(READ_TOPIC, (key, read))

    return tell


def _worker() -> Any:  # noqa: ANN401 - of Dask
    """The worker of a cluster that this thread works for, if it does."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.get_worker()
    except ValueError:
        return None  # Dask is there, and this is none of its workers


def _budget() -> int | None:
    """The budget of connection state where a worker's memory is bounded: half of it at most.

    What does not fit is evicted, counted and reported as in any analysis.
    """
    worker = _worker()
    limit = None if worker is None else worker.memory_manager.memory_limit
    # Each of its threads may have a capture.
    return None if not limit else budget(limit // worker.state.nthreads)


def budget(limit: int, parts: int = 1) -> int:
    """Bytes of connection state for a capture that so many workers share, each with a limit."""
    return max(LEAST_MEMORY, min(DEFAULT_MEMORY, parts * limit // 2))


def publish(
    store: Store,
    capture: Capture,
    job: Job,
    how: How,
    *,
    subject: str,
    key: str,
    size_bytes: int,
) -> Done:
    """Puts an analysed capture into the store; ``size_bytes`` of it were read."""
    from trustbed.store.tables import with_source

    first, last = capture.facts.get("first_ns"), capture.facts.get("last_ns")
    about = About(
        kind="capture",
        key=key,
        subject=subject,
        name=_written(job.name),
        version=how.version,
        options=how.options,
        testbed=how.testbed,
        date=date_of(first),
        first_ns=first,
        last_ns=last,
        files=tuple(map(_written, job.files)),
        size_bytes=size_bytes,
        verdicts=dict(capture.verdicts),
        damage=capture.damage,
    )

    def read(table: str) -> pa.RecordBatchReader:
        return with_source(capture.stream(table), _written(job.name))

    is_new = store.publish(about, {table: read(table) for table in STORED_TABLES}) is not None
    return Done("stored" if is_new else "present", key, capture.verdicts, capture.damage)


def _written(name: str) -> str:
    """A file's name as tables can hold it: bytes that are no UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def date_of(moment_ns: int | None) -> str:
    """The day of a moment since the epoch, in UTC."""
    if moment_ns is None:
        return UNDATED
    try:
        return datetime.fromtimestamp(moment_ns // 10**9, UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return UNDATED
