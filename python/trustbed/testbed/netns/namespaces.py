"""Network namespaces: made, entered by the calling thread for a moment, removed.

As ip-netns(8) keeps them: a file each in /run/netns.

The system calls are made directly: a thread that goes into a namespace and back needs no other
process, and leaves other threads where they are.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trustbed.errors import TestbedError

DIRECTORY = Path("/run/netns")

NEWNS = 0x00020000
NEWUSER = 0x10000000
NEWNET = 0x40000000
_BIND, _REC, _PRIVATE, _SLAVE, _SHARED = 0x1000, 0x4000, 1 << 18, 1 << 19, 1 << 20
_DETACH = 2
_PARENT_DEATH_SIGNAL = 1
_OWN = "/proc/thread-self/ns/net"

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int) -> None:
    """Leaves namespaces of the given kinds for new ones (the system call of that name)."""
    _checked(_libc.unshare(flags), "unshare")


def end_with_parent() -> None:
    """The kernel kills this process when its parent ends (prctl(2), PR_SET_PDEATHSIG)."""
    _checked(_libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL), "prctl")


def mount_tmpfs(directory: Path) -> None:
    """Mounts an empty directory in memory over a directory."""
    _checked(
        _libc.mount(b"tmpfs", os.fsencode(directory), b"tmpfs", 0, b"mode=755"),
        f"mount {directory}",
    )


def mount_again(source: str | Path, target: Path) -> None:
    """Mounts a directory or file, with all mounts below it, at a second path (a bind mount)."""
    _checked(
        _libc.mount(os.fsencode(source), os.fsencode(target), None, _BIND | _REC, None),
        f"mount {target}",
    )


def keep_mounts_private() -> None:
    """Hides later mounts of this process from others. Theirs are still visible here."""
    _checked(_libc.mount(None, b"/", None, _REC | _SLAVE, None), "mount /")


def path(name: str) -> Path:
    """The file of a namespace."""
    return DIRECTORY / name


def make(name: str) -> Path:
    """Makes a network namespace.

    Raises:
        OSError: It exists, or this is not permitted.
    """
    _share_directory()
    with _new_file(name) as file, _coming_back():
        unshare(NEWNET)
        _bind(_OWN, file)
    return file


def adopt(name: str, existing: Path) -> Path:
    """Gives a namespace that exists, a process's, a name as well: it stays with either.

    Raises:
        OSError: The name exists, the namespace does not, or this is not permitted.
    """
    _share_directory()
    with _new_file(name) as file:
        _bind(existing, file)
    return file


@contextmanager
def _new_file(name: str) -> Iterator[Path]:
    """An empty file for a namespace, which is removed if the block fails."""
    file = path(name)
    file.touch(mode=0o444, exist_ok=False)
    try:
        yield file
    except BaseException:
        file.unlink()
        raise


def _bind(source: Path | str, file: Path) -> None:
    _checked(
        _libc.mount(os.fsencode(source), os.fsencode(file), None, _BIND, None), f"mount {file}"
    )


def _share_directory() -> None:
    """As ip-netns(8) does it.

    A namespace that is removed in one mount namespace shall not live on in another.
    """
    DIRECTORY.mkdir(mode=0o755, parents=True, exist_ok=True)
    if _libc.mount(None, os.fsencode(DIRECTORY), None, _SHARED | _REC, None) == 0:
        return
    if ctypes.get_errno() != errno.EINVAL:
        _checked(-1, f"mount {DIRECTORY}")
    mount_again(DIRECTORY, DIRECTORY)
    _checked(
        _libc.mount(None, os.fsencode(DIRECTORY), None, _SHARED | _REC, None), f"mount {DIRECTORY}"
    )


def remove(file: Path) -> bool:
    """Removes a namespace; it vanishes with its last process. False if there was none."""
    _libc.umount2(os.fsencode(file), _DETACH)
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    return True


def inode(file: Path | str) -> int | None:
    """The number by which the kernel knows the namespace; None if there is none."""
    try:
        found = Path(file).stat()
    except OSError:
        return None
    # An empty file without a mount is no namespace.
    return found.st_ino if found.st_dev == _device() else None


def _device() -> int:
    """The file system that namespaces are in."""
    return Path("/proc/self/ns/net").stat().st_dev


@contextmanager
def inside(file: Path | str) -> Iterator[None]:
    """The calling thread is in the namespace until the block ends.

    Sockets, /proc/sys/net and children that begin here belong to it.
    """
    number = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with _coming_back():
            _checked(_libc.setns(number, NEWNET), f"setns {file}")
            yield
    finally:
        os.close(number)


@contextmanager
def inside_of_number(number: int) -> Iterator[bool]:
    """As :func:`inside`, for the namespace with this inode number.

    ``False`` if there is none any more.
    """
    for candidate in (_OWN, *_keepers(number)):
        try:
            opened = os.open(candidate, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # ended meanwhile
            continue
        try:
            if os.fstat(opened).st_ino == number:
                with inside(f"/proc/self/fd/{opened}"):
                    yield True
                return
        finally:
            os.close(opened)
    yield False


def _keepers(number: int) -> Iterator[str]:
    """The paths that keep a namespace alive.

    Processes in it, and files that it is mounted on (proc(5), mountinfo).
    """
    yield from [f"/proc/{pid}/ns/net" for pid, inode in processes() if inode == number]
    for line in (
        Path("/proc/self/mountinfo")
        .read_text(encoding="utf-8", errors="surrogateescape")
        .splitlines()
    ):
        root, mount_point = line.split(" ")[3:5]
        if root == f"net:[{number}]":
            yield mount_point.replace("\\040", " ")


@contextmanager
def _coming_back() -> Iterator[None]:
    before = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        try:
            _checked(_libc.setns(before, NEWNET), "setns")
        except OSError as error:
            raise TestbedError(
                f"cannot return to the network of this host: {error.strerror}",
                "this process must end",
            ) from error
        finally:
            os.close(before)


def set_system_value(name: str, value: str) -> None:
    """Sets a value of /proc/sys (net.ipv4.ip_forward) in the calling thread's namespace."""
    Path("/proc/sys", *name.split(".")).write_text(value, encoding="ascii")


def system_value(name: str) -> str:
    """Reads one."""
    return Path("/proc/sys", *name.split(".")).read_text(encoding="ascii").strip()


def processes() -> Iterator[tuple[int, int]]:
    """The processes that we may inspect: id, and the inode of their network namespace."""
    device = _device()
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                found = Path("/proc", entry.name, "ns", "net").stat()
            except OSError:  # ended, or another user's
                continue
            if found.st_dev == device:
                yield int(entry.name), found.st_ino
