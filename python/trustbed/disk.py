"""Files on the disk: where those are kept that can be made again, whole ones, flushing to it."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

_AT_ONCE = 8
_QUICK_SECONDS = 0.001
"""Of a flush: to begin a thread takes a third of it."""


def cache() -> Path:
    """The user's directory for what can be made again (XDG Base Directory Specification).

    It need not exist.
    """
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "trustbed"


def flush(path: Path) -> None:
    """Flushes a file, or the names in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_tree(path: Path) -> None:
    """Flushes everything in a directory to the disk.

    Where that takes long, several at once: a journal takes what comes together in one commit.
    """
    left = deque(_everything(path))
    started = time.monotonic()
    for flushed in range(1, len(left) + 1):
        flush(left.popleft())
        if time.monotonic() - started > flushed * _QUICK_SECONDS:
            break
    if left:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(flush, left):
                pass


def beside(path: Path, purpose: str) -> Path:
    """The temporary name of what becomes, or was, a path of this process."""
    return path.absolute().with_name(f".{path.name}.{purpose}-{os.getpid()}")


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """The name of a file that becomes ``path`` when the block ends without an error."""
    if (
        path.exists() and not path.is_file()
    ):  # /dev/stdout, a named pipe: there is nothing to rename
        yield path
        return
    target = path.resolve() if path.is_symlink() else path
    partial = beside(target, "partial")
    try:
        yield partial
        flush(partial)
        partial.replace(target)
        flush(target.absolute().parent)
    finally:
        partial.unlink(missing_ok=True)


def _everything(path: Path) -> Iterator[Path]:
    for inside, _, names in os.walk(path):
        yield from (Path(inside) / name for name in names)
        yield Path(inside)
