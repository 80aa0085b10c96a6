"""The files of a store: published whole and once, listed, removed.

A name is created exclusively where the storage can do that: a local disk (``link``), Amazon S3 and
what speaks like it (``If-None-Match``). On others fsspec looks first and writes then, so that of
two writers of the same capture in the same moment the second one wins; both write the same rows.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.fs

from trustbed.disk import flush, flush_tree
from trustbed.store.errors import StoreError, explained

PARTIAL = ".partial"
"""Below a local store: what is being written. No documented pattern matches it."""
_TIMES = 10
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a store: its name below the store, its bytes, its time in seconds."""

    name: str
    size_bytes: int
    modified: float


class Files(ABC):
    """The files below a URL."""

    def __init__(self, url: str, system: Any, root: str) -> None:  # noqa: ANN401 - of fsspec
        self.url = url
        self.system = system
        self.root = root.rstrip("/")

    @property
    def arrow(self) -> Any:  # noqa: ANN401 - a file system of pyarrow or of fsspec
        """The file system as pyarrow takes it."""
        return self.system

    def path(self, name: str) -> str:
        """The path of a name as the file system of the URL has it."""
        return f"{self.root}/{name}"

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if there is none."""
        with explained(self.url):
            try:
                found: bytes = self.system.cat_file(self.path(name))
            except FileNotFoundError:
                return None
            return found

    def read_all(self, directory: str, ending: str) -> Mapping[str, bytes]:
        """The files of a directory with this ending, by their names without it."""
        names = [one.name for one in self.list(directory) if one.name.endswith(ending)]
        found = zip(names, self._read(names), strict=True)
        return {
            name.rsplit("/", 1)[1].removesuffix(ending): data
            for name, data in found
            if data is not None  # removed meanwhile
        }

    def _read(self, names: Sequence[str]) -> Iterable[bytes | None]:
        """The bytes of several files, in their order."""
        return map(self.read, names)

    def list(self, directory: str) -> list[Listed]:
        """All files below a directory, sorted by name; none if it does not exist."""
        with explained(self.url):
            self.system.invalidate_cache()
            try:
                found = self.system.find(self.path(directory), detail=True)
            except FileNotFoundError:
                return []
        start = len(self.root) + 1
        return [
            Listed(path[start:], int(about["size"] or 0), _modified(about))
            for path, about in sorted(found.items())
        ]

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Creates a file, whole; false if it exists already."""

    @abstractmethod
    def replace(self, name: str, data: bytes) -> None:
        """Creates a file, or replaces it in one step."""

    @abstractmethod
    def staging(self) -> contextlib.AbstractContextManager[Path]:
        """A local directory for files that are to be placed."""

    @abstractmethod
    def place(self, staged: Path, directory: str) -> None:
        """Publishes the files of a local directory; the same ones that exist already stay.

        Files that differ are replaced: their manifest was removed because they were damaged. (Two
        writers of one key at one moment write the same rows, perhaps under two names of a capture.)
        """

    @abstractmethod
    def fetched(self, directory: str) -> contextlib.AbstractContextManager[Path]:
        """The files of a directory as local ones, to be read."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Removes a file or a directory with all that is in it; nothing if there is none."""


def _modified(about: Mapping[str, Any]) -> float:
    when = about.get("mtime") or about.get("LastModified") or about.get("created") or 0.0
    return float(when) if isinstance(when, (int, float)) else float(when.timestamp())


def _unless_removed(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


class LocalFiles(Files):
    """On a disk of this machine, or one that it has mounted."""

    @property
    def arrow(self) -> Any:  # noqa: ANN401 - of pyarrow, which is not annotated
        """Its own for local files, which opens a thousand of them without any Python."""
        return pyarrow.fs.LocalFileSystem()

    def list(self, directory: str) -> list[Listed]:
        """What cannot be listed is an error: to fsspec it is empty."""
        found = []
        with explained(self.url):
            for where, _, names in os.walk(self.path(directory), onerror=_unless_removed):
                for name in names:
                    path = f"{where}/{name}"
                    with contextlib.suppress(FileNotFoundError):
                        about = Path(path).stat()
                        found.append(
                            Listed(path[len(self.root) + 1 :], about.st_size, about.st_mtime)
                        )
        return sorted(found, key=lambda one: one.name)

    def create(self, name: str, data: bytes) -> bool:
        """By a link, which exists at once and only if nothing else has its name."""
        with explained(self.url), self._written(data) as partial:
            target = Path(self.path(name))
            try:
                _in_its_directory(target, lambda: os.link(partial, target))
            except FileExistsError:
                return False
            return True

    def replace(self, name: str, data: bytes) -> None:
        """By a rename."""
        with explained(self.url), self._written(data) as partial:
            target = Path(self.path(name))
            _in_its_directory(target, lambda: partial.replace(target))

    @contextlib.contextmanager
    def _written(self, data: bytes) -> Iterator[Path]:
        partial = self._partial()
        try:
            _in_a_directory(partial, lambda: partial.write_bytes(data))
            flush(partial)
            yield partial
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)

    def _partial(self) -> Path:
        return Path(self.root) / PARTIAL / uuid.uuid4().hex

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """On the disk of the store, so that a rename publishes it."""
        directory = self._partial()
        with explained(self.url):
            directory.mkdir(parents=True)
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def place(self, staged: Path, directory: str) -> None:
        """In one step: a directory appears with all its files."""
        target = Path(self.path(directory))
        with explained(self.url):
            flush_tree(staged)
            try:
                _in_its_directory(target, lambda: staged.rename(target))
            except OSError:
                if not (staged.is_dir() and target.is_dir() and any(target.iterdir())):
                    raise
                for file in sorted(staged.iterdir()):
                    there = target / file.name
                    if not (there.is_file() and filecmp.cmp(file, there, shallow=False)):
                        file.replace(there)
                flush_tree(target)

    @contextlib.contextmanager
    def fetched(self, directory: str) -> Iterator[Path]:
        """Where they are."""
        yield Path(self.path(directory))

    def remove(self, name: str) -> None:
        """And the directories above it that are empty then."""
        target = Path(self.path(name))
        with explained(self.url):
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)
            for parent in target.parents:
                if parent == Path(self.root) or not parent.is_relative_to(self.root):
                    break
                try:
                    parent.rmdir()
                except OSError:
                    break


def _in_its_directory(target: Path, publish: Callable[[], object]) -> None:
    """Makes the directory of a name, publishes, and flushes the name to the disk."""

    def published() -> None:
        publish()
        flush(target.parent)

    _in_a_directory(target, published)


def _in_a_directory(target: Path, work: Callable[[], object]) -> None:
    """Works on a name, and makes its directory where it is missing.

    Whoever removes empties the directories above, so that one may vanish in between.
    """
    for left in reversed(range(_TIMES)):
        try:
            work()
        except FileNotFoundError:
            if not left:
                raise
            target.parent.mkdir(parents=True, exist_ok=True)
        else:
            return


class ObjectFiles(Files):
    """Where an object is written whole or not at all, and names cannot be changed."""

    def _read(self, names: Sequence[str]) -> Iterable[bytes | None]:
        """Several at a time: each costs a round trip."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            yield from threads.map(self.read, names)

    def create(self, name: str, data: bytes) -> bool:
        """With a condition, where the storage knows one."""
        with explained(self.url):
            try:
                self.system.pipe_file(self.path(name), data, mode="create")
            except FileExistsError:
                return False
            return True

    def replace(self, name: str, data: bytes) -> None:
        """By writing it."""
        with explained(self.url):
            self.system.pipe_file(self.path(name), data)

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """Among the temporary files of this machine."""
        with tempfile.TemporaryDirectory(prefix="trustbed-store-") as directory:
            yield Path(directory)

    def place(self, staged: Path, directory: str) -> None:
        """One after the other; the manifest behind them makes them count."""
        with explained(self.url):
            for file in sorted(staged.iterdir()):
                path = self.path(f"{directory}/{file.name}")
                try:
                    self.system.put_file(str(file), path, mode="create")
                except FileExistsError:
                    if self.system.cat_file(path) != file.read_bytes():
                        self.system.put_file(str(file), path)

    @contextlib.contextmanager
    def fetched(self, directory: str) -> Iterator[Path]:
        """Copies among the temporary files of this machine."""
        with self.staging() as local:
            for one in self.list(directory):
                target = local / one.name.removeprefix(f"{directory}/")
                target.parent.mkdir(parents=True, exist_ok=True)
                with explained(self.url):
                    self.system.get_file(self.path(one.name), str(target))
            yield local

    def remove(self, name: str) -> None:
        """All objects whose names begin like this."""
        with explained(self.url):
            self.system.invalidate_cache()
            for path in self.system.find(self.path(name)):
                self.system.rm_file(path)  # rm takes brackets for a pattern


def files_of(url: str) -> Files:
    """The files below a URL, or in a local directory.

    Raises:
        StoreError: No library for its scheme is installed, or nothing has that form.
    """
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    try:
        system, root = fsspec.core.url_to_fs(
            url, **({} if _is_local(url) else {"use_listings_cache": False})
        )
    except ImportError as error:
        scheme = url.partition(":")[0]
        package = "trustbed[s3]" if scheme in ("s3", "s3a") else str(error)
        raise StoreError(
            f"no library for {scheme}: is installed, {url}", f"pip install '{package}'"
        ) from error
    except ValueError as error:
        raise StoreError(
            f"not the URL of a store, {url}: {error}",
            "name a directory, or a URL like s3://bucket/path",
        ) from error
    if isinstance(system, LocalFileSystem):
        return LocalFiles(url, system, root)
    return ObjectFiles(url, system, root)


def _is_local(url: str) -> bool:
    return "://" not in url or url.startswith(("file://", "local://"))
