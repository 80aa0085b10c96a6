"""A directory to which one program at a time writes: its manifest, its lock, atomic writes of text.

Its further contents are defined in :mod:`trustbed.run.directory` and
:mod:`trustbed.campaign.runner.directory`.
"""

from __future__ import annotations

import fcntl
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar

from trustbed.disk import flush
from trustbed.errors import TrustbedError
from trustbed.run import former

MANIFEST, REPORT = "manifest.json", "report.html"
_LOCK = ".lock"
_PARTIAL = ".partial"


def kind_of(path: Path) -> str | None:
    """The kind of contents that the manifest of a directory states; None without one."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest.get("kind") if isinstance(manifest, dict) else None


class RunDirectoryError(TrustbedError):
    """A run directory that cannot be used as requested."""


class OwnedDirectory(ABC):
    """A directory with a manifest, or one that will get it.

    ``kind`` names its contents, ``maker`` the command that writes it.
    """

    kind: ClassVar[str]
    maker: ClassVar[str]
    again: ClassVar[str]
    """The hint for a damaged directory that cannot be restored."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def is_ours(self, name: str) -> bool:
        """Whether a file or directory of that name belongs to it, beside manifest and lock."""

    @property
    def exists(self) -> bool:
        """Whether it has been created. The manifest is the last file of its creation."""
        return (self.path / MANIFEST).is_file()

    def begin_directory(self, manifest: Mapping[str, Any], files: Mapping[str, str]) -> None:
        """Creates the directory with its first files, the manifest last.

        Files that do not belong to it are an error.
        """
        self._check_free()
        self.path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(self.path / name, text)
        self.write_manifest(manifest)

    def _check_free(self) -> None:
        """Raises an error if the directory has files of others; changes nothing."""
        if self.path.exists() and not self.path.is_dir():
            raise RunDirectoryError(
                f"exists and is not a directory, {self.path}", "give --out another name"
            )
        strange = (
            [entry.name for entry in self.path.iterdir() if not self._known(entry.name)]
            if self.path.exists()
            else []
        )
        if strange:
            raise RunDirectoryError(
                f"directory holds something else, {self.path} ({sorted(strange)[0]})",
                "give --out another name",
            )

    def _known(self, name: str) -> bool:
        return name.removesuffix(_PARTIAL) in (MANIFEST, REPORT, _LOCK) or self.is_ours(
            name.removesuffix(_PARTIAL)
        )

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replaces the earlier manifest."""
        write_whole(self.path / MANIFEST, as_text(manifest))

    def manifest(self) -> dict[str, Any]:
        """Its contents, under today's keys."""
        hint = f"restore it, or {self.again}"
        try:
            found = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunDirectoryError(
                f"no {self.kind} directory, {self.path}",
                f"name a directory that {self.maker} has made",
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise RunDirectoryError(
                f"manifest cannot be read, {self.path / MANIFEST}: {error}", hint
            ) from None
        if not isinstance(found, dict):
            raise RunDirectoryError(f"manifest is no object, {self.path / MANIFEST}", hint)
        current: dict[str, Any] = former.keys(found)
        return current

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the directory for this process, until the block or the process ends.

        A directory that was created for the lock, and in which nothing else was written, is
        removed.
        """
        if not self.exists:
            self._check_free()
        is_new = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        lock = self.path / _LOCK
        with lock.open("a") as stream:
            if not _held(stream, lock):
                raise RunDirectoryError(
                    f"another {self.kind} is at work here, {self.path}",
                    "wait for it, or give --out another name",
                )
            try:
                yield
            finally:
                if is_new and [entry.name for entry in self.path.iterdir()] == [_LOCK]:
                    lock.unlink()
                    self.path.rmdir()

    @property
    def is_held(self) -> bool:
        """Whether a process has locked the directory."""
        try:
            # Asking creates nothing, needs no right to write, and holds nobody else who asks up.
            with (self.path / _LOCK).open() as stream:
                return not _held(stream, self.path / _LOCK, fcntl.LOCK_SH)
        except OSError:
            return False


def write_whole(path: Path, text: str) -> None:
    """Writes a text file completely or not at all, even if the machine crashes."""
    partial = path.with_name(path.name + _PARTIAL)
    with partial.open("w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)
    flush(path.absolute().parent)


def as_text(content: Mapping[str, Any]) -> str:
    """JSON as it is written to files."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _held(stream: IO[str], lock: Path, kind: int = fcntl.LOCK_EX) -> bool:
    """Takes a lock; false if another process has it, or has just removed it."""
    try:
        fcntl.flock(stream, kind | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(stream.fileno()), lock.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
