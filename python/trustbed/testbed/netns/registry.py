"""The registry: which testbeds exist, and which process made each.

A file each, written before anything is made, so that what a killed owner left can be found.

An owner is a process: its number and when it began, since numbers are used again. Where processes
have other numbers (in a container, or behind pasta) it is known by its hold on the file, which the
kernel ends with it (flock(2)). Its testbed may be removed when neither is there, and not before.

A testbed made as root leaves namespaces with a name; those of an ordinary user vanish with their
last process, so there only processes are left. Whatever runs in a testbed has its id in the
environment variable ``TRUSTBED_TESTBED``.

A record decides what is killed and removed, so none is read that another user may have written: the
directory must be this user's own, closed to others and no link, and every name in a record must be
one that a testbed gives.

Bias: a process that has cleared its environment and left its namespace is not found. None does so
by accident.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
import re
import secrets
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import msgspec

from trustbed.errors import TestbedError, reason
from trustbed.scenario.containers import ENGINES
from trustbed.testbed.netns import cgroups, namespaces

VARIABLE = "TRUSTBED_TESTBED"
_DIRECTORY_VARIABLE = "TRUSTBED_RUNTIME"
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_ID = re.compile(f"[{_LETTERS}]{{6}}")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
"""Wider than the names of hosts in scenarios and inventories: no slash, no dot at either end."""
_KILL_SECONDS = 30.0


def directory() -> Path:
    """The directory of the files.

    ``/run/trustbed`` for root, else in the user's runtime directory, else in the temporary one.
    """
    named = os.environ.get(_DIRECTORY_VARIABLE)
    if named:
        return Path(named)
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run/trustbed")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "trustbed"
    return Path(tempfile.gettempdir()) / f"trustbed-{os.getuid()}"


def settle() -> Path:
    """Fixes the directory for this process and its children, also in other user namespaces."""
    found = directory()
    os.environ[_DIRECTORY_VARIABLE] = str(found)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that made a testbed."""

    pid: int
    started_ticks: int
    command: str

    @classmethod
    def this_process(cls) -> Self:
        """The calling process."""
        pid = _own_number()
        began = _began(pid)
        assert began is not None, "this process lives"
        return cls(pid=pid, started_ticks=began, command=" ".join(sys.argv)[:200])

    def lives(self) -> bool:
        """Whether it still runs, as far as its process id is valid here."""
        return _began(self.pid) == self.started_ticks


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What a testbed with outside access made and changed in the host's own network."""

    network_namespace: int | None
    interface: str
    table: str
    forwarding_was: str
    iptables: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerName:
    """A container of a testbed, and the engine that runs it."""

    engine: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A testbed as its file describes it."""

    id: str
    purpose: str
    created: str
    owner: Owner
    rootless: bool
    hosts: tuple[str, ...]
    namespaces: tuple[str, ...]
    cgroups: tuple[str, ...] = ()
    outside: Outside | None = None
    containers: tuple[ContainerName, ...] = ()

    def validate(self) -> None:
        """Raises unless every name is one that a testbed of this id gives.

        Raises:
            ValueError: One is not; the error names it.
        """
        if _ID.fullmatch(self.id) is None:
            raise ValueError(f"{self.id!r} is no id of a testbed")
        for name in self.hosts:
            if _NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} is no name of a host")
        prefix = f"tb-{self.id}-"
        for name in self.namespaces:
            if not name.startswith(prefix) or _NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} is no namespace of this testbed")
        for one in self.containers:
            if one.engine not in ENGINES or one.name not in self.namespaces:
                raise ValueError(f"{one.name!r} of {one.engine} is no container of this testbed")
        for name in self.cgroups:
            path = Path(name)
            if not path.name.startswith(f"trustbed-{self.id}-"):
                raise ValueError(f"{name!r} is no control group of this testbed")
            if not cgroups.is_below_mount(path):
                raise ValueError(f"{name!r} lies below no mount of control groups")
        if self.outside is not None:
            own = f"tb-{self.id}"
            if (self.outside.interface, self.outside.table) != (own, own):
                raise ValueError(f"{self.outside.interface!r} is no interface of this testbed")
            if self.outside.forwarding_was not in ("0", "1"):
                raise ValueError(f"{self.outside.forwarding_was!r} is no value of ip_forward")

    def is_owned(self) -> bool:
        """Whether its owner lives, wherever."""
        return self.owner.lives() or is_held(directory() / f"{self.id}.json")

    def processes(self) -> list[int]:
        """The processes that belong to it, its owner excepted."""
        inodes = (
            {namespaces.inode(namespaces.path(name)) for name in self.namespaces} - {None}
            if not self.rootless
            else set()
        )
        found = [
            pid for pid, inode in namespaces.processes() if inode in inodes or _marked(pid, self.id)
        ]
        return [pid for pid in found if pid not in (_own_number(), self.owner.pid)]


class Entry:
    """The file of a testbed of this process, which holds it as long as it lives."""

    def __init__(self, path: Path, record: Record, hold: int) -> None:
        self.path = path
        self.record = record
        self._hold = hold

    def update(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of a record
        """Rewrites it, before the caller makes the changes that it records."""
        self.record = replace(self.record, **changes)
        before, self._hold = self._hold, _write(self.path, self.record)
        os.close(before)

    def drop(self) -> None:
        """The testbed is gone."""
        self.path.unlink(missing_ok=True)
        if self._hold >= 0:
            os.close(self._hold)
            self._hold = -1


def reserve(*, purpose: str, hosts: tuple[str, ...], switch: str, rootless: bool) -> Entry:
    """A new testbed's file, with an id that no other has.

    Raises:
        TestbedError: The directory cannot be written.
    """
    parent = _own_directory()
    created = (
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )
    while True:
        name = "".join(secrets.choice(_LETTERS) for _ in range(6))
        path = parent / f"{name}.json"
        if path.exists() or namespaces.path(f"tb-{name}-{switch}").exists():
            continue
        record = Record(
            id=name,
            purpose=purpose,
            created=created,
            owner=Owner.this_process(),
            rootless=rootless,
            hosts=hosts,
            namespaces=tuple(f"tb-{name}-{host}" for host in (switch, *hosts)),
        )
        with contextlib.suppress(FileExistsError):
            return Entry(path, record, _write(path, record, new=True))


def _own_directory() -> Path:
    parent = settle()
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise TestbedError(f"{parent} cannot be made: {reason(error)}", _HINT) from error
    os.close(open_directory())
    return parent


_HINT = "set XDG_RUNTIME_DIR to a directory of your own"


def open_directory() -> int:
    """A descriptor of the directory, which belongs to the caller.

    Raises:
        FileNotFoundError: There is none, hence no testbed either.
        TestbedError: Another user could have written into it.
    """
    parent = directory()
    try:
        descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        why = (
            "is no directory, or a link to one"
            if error.errno in (errno.ENOTDIR, errno.ELOOP)
            else f"cannot be opened: {reason(error)}"
        )
        raise TestbedError(f"{parent} {why}", _HINT) from error
    status = os.fstat(descriptor)
    if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return descriptor
    os.close(descriptor)
    if status.st_uid != os.geteuid():
        raise TestbedError(f"{parent} belongs to another user", _HINT)
    raise TestbedError(
        f"{parent} is open to other users (mode {stat.S_IMODE(status.st_mode):o})",
        f"if nothing of trustbed is running, remove it: rm -r {parent}",
    )


def _files(pattern: str) -> list[Path]:
    """The files of that pattern, in order, once the directory is known to be this user's own."""
    try:
        os.close(open_directory())
    except FileNotFoundError:
        return []
    return sorted(directory().glob(pattern))


def _write(path: Path, record: Record, *, new: bool = False) -> int:
    """In one step.

    A reader sees the old file or the new one, held in either case, and a kill leaves no half of
    it. The new one's hold.
    """
    draft = path.with_suffix(f".{os.getpid()}.new")
    hold = -1
    try:
        hold = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        with contextlib.suppress(
            OSError
        ):  # of a file system without locks: then the process id must do
            fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open(hold, "w", encoding="utf-8", closefd=False) as file:
            file.write(json.dumps(asdict(record), indent=2) + "\n")
        if new:
            os.link(draft, path)
        else:
            draft.rename(path)
    except BaseException as error:
        if hold >= 0:
            os.close(hold)
        if not isinstance(error, OSError) or isinstance(error, FileExistsError):
            raise
        raise TestbedError(
            f"{path} cannot be written: {reason(error)}",
            "nothing was made; free some space there",
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return hold


def is_held(path: Path) -> bool:
    """Whether a process holds a file; checks again one that was replaced meanwhile."""
    while True:
        try:
            number = os.open(path, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if path.exists() and not os.path.samestat(os.fstat(number), path.stat()):
                continue
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(number)


def beside(record: Record, name: str) -> Path:
    """A file of a testbed's own, which is removed with it."""
    return directory() / f"{record.id}-{name}"


def records() -> list[Record]:
    """All recorded testbeds, the oldest first."""
    return sorted(
        (record for _, record in _entries()), key=lambda record: (record.created, record.id)
    )


def _entries() -> Iterator[tuple[Path, Record]]:
    for path in _files("*.json"):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=Record)
            record.validate()
            if path.stem != record.id:
                raise ValueError(f"it describes {record.id}")
            yield path, record
        except FileNotFoundError:  # removed by its owner just now
            continue
        except (OSError, ValueError, RecursionError) as error:
            raise TestbedError(
                f"{path} is no record of a testbed: {error}",
                "remove it if nothing of trustbed is running",
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The removed remains of a testbed."""

    record: Record
    processes: int
    namespaces: int


def clean() -> list[Removed]:
    """Removes what owners that do not live any more have left.

    Two that clean at once do not hinder each other.
    """
    removed = []
    for path, record in list(_entries()):
        if not record.is_owned():
            removed.append(remove(record))
            path.unlink(missing_ok=True)
    for draft in _files("*.new"):
        pid = draft.name.split(".")[-2]
        if pid.isdecimal() and not Path("/proc", pid).exists() and not is_held(draft):
            draft.unlink(missing_ok=True)
    return removed


def remove(record: Record) -> Removed:
    """Removes everything of a testbed.

    Processes first, since a namespace lives as long as they do.
    """
    from trustbed.testbed.container import remove as remove_container
    from trustbed.testbed.netns import address_translation

    ended = end_processes(record)
    for one in record.containers:
        remove_container(one.engine, one.name)
    # Those of an ordinary user are seen by its own processes only, and are nowhere for others.
    gone = sum(namespaces.remove(namespaces.path(name)) for name in record.namespaces)
    address_translation.undo(record.outside)
    for name in reversed(record.cgroups):
        cgroups.remove(Path(name))
    for left in _files(f"{record.id}-*"):
        left.unlink(missing_ok=True)
    return Removed(record=record, processes=ended, namespaces=gone)


def end_processes(record: Record) -> int:
    """Kills what still runs in a testbed; how many there were.

    Raises:
        TestbedError: One does not end.
    """
    ended: set[int] = set()
    deadline = time.monotonic() + _KILL_SECONDS
    while found := record.processes():
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
        if time.monotonic() > deadline:
            numbers = ", ".join(map(str, found))
            raise TestbedError(
                f"processes of the testbed {record.id} do not end: {numbers}",
                "they wait for the kernel; try again later",
            )
        time.sleep(0.01)
    return len(ended)


def _own_number() -> int:
    """Of this process, as /proc knows it.

    The mounted /proc may belong to another pid namespace.
    """
    return int(str(Path("/proc/self").readlink()))


def _marked(pid: int, name: str) -> bool:
    try:
        variables = Path("/proc", str(pid), "environ").read_bytes()
    except OSError:
        return False
    return f"{VARIABLE}={name}".encode() in variables.split(b"\0")


def _began(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine did (proc(5)).

    None if it has ended.
    """
    try:
        text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])
