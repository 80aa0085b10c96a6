"""Puts finished output under its name, or nothing at all.

A file or directory is written beside its destination under a temporary name and renamed when it is
complete and on the disk, so that the requested name always holds a complete result, even after a
power failure. A directory that exists
already is replaced only when it is one of ours; files of other people in it are never removed. Does
not lock: two runs into one directory at the same time end with the tables of one of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from trustbed.disk import beside, flush, flush_tree, whole_path
from trustbed.errors import TrustbedError

#: A directory that holds this file is one of ours. It is written last.
MANIFEST = "trustbed.json"


class OutputError(TrustbedError):
    """Output cannot be written to the requested path."""


def check_file(path: Path, inputs: Sequence[str | Path] = ()) -> None:
    """Finds out before a long analysis whether ``path`` can be written.

    It is none of the inputs, which would be lost.
    """
    for one in inputs:
        if path.is_file() and Path(one).exists() and path.samefile(one):
            raise OutputError(f"is the input, {path}", "give the output another name")
    if path.is_dir():
        raise OutputError(
            f"is a directory, not a file, {path}",
            f"name a file in it, for example {path / 'report.html'}",
        )
    _check_parent(path)


def check_directory(path: Path, *, force: bool) -> None:
    """Finds out before a long analysis whether ``path`` can become a directory of tables."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"exists and is not a directory, {path}", "give --out another name")
    _check_parent(path)
    if path.is_dir() and not force and not (path / MANIFEST).is_file() and any(path.iterdir()):
        raise OutputError(
            f"directory is not empty and holds no earlier result of trustbed, {path}",
            "give --out another name, or --force to put the tables among the files there "
            "(none of them is removed)",
        )


def _check_parent(path: Path) -> None:
    parent = path.absolute().parent
    if not parent.is_dir():
        raise OutputError(f"directory does not exist, {parent}", f"mkdir -p {parent}")
    if path.exists() and not path.is_file() and not path.is_dir():
        return  # /dev/stdout, a named pipe: nothing is put beside it
    parent = path.resolve().parent
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write here, {parent}", "name a directory that you may write to")


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A text file that appears under ``path`` only when the block ends without an error."""
    with (
        whole_path(path) as partial,
        partial.open("w", encoding="utf-8", errors="replace") as stream,
    ):
        yield stream


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """An empty directory that becomes ``path`` when the block ends well, and vanishes otherwise."""
    target = path.resolve()
    partial = beside(target, "partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        flush_tree(partial)
        _move(partial, target)
        flush(target)
        flush(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _move(partial: Path, target: Path) -> None:
    if not target.exists() or not any(target.iterdir()):
        partial.replace(target)  # rename(2) takes an empty directory's place in one step
        return
    earlier = _earlier_files(target)
    if all(entry.name in earlier for entry in target.iterdir()):
        old = beside(target, "old")
        try:
            target.rename(old)
            partial.rename(target)
        finally:  # after an interruption, too
            if target.exists():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.rename(target)
        return
    (target / MANIFEST).unlink(missing_ok=True)
    new = {entry.name for entry in partial.iterdir()}
    for name in sorted(earlier - new):
        (target / name).unlink(missing_ok=True)
    for name in sorted(new - {MANIFEST}):
        (partial / name).replace(target / name)
    (partial / MANIFEST).replace(target / MANIFEST)


def _earlier_files(directory: Path) -> set[str]:
    """The names that an earlier result in ``directory`` lists as its own."""
    import json

    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        return {MANIFEST, *(str(name) for name in manifest["files"] if "/" not in str(name))}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
