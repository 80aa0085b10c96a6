"""A store: its entries and views, how an entry is published, and what is removed."""

from __future__ import annotations

import os
import socket
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import pyarrow as pa
from msgspec.structs import asdict, replace

from trustbed.report.tables_directory import write_table
from trustbed.store.entry import (
    ENDING,
    MANIFESTS,
    PARTITION,
    SCHEMA_VERSION,
    TABLES,
    About,
    Entry,
    Kind,
    TableFile,
    check_version,
    decoded,
    directory_of,
    encoded,
    manifest_of,
    version_number,
)
from trustbed.store.errors import FULL, StoreError, full
from trustbed.store.files import PARTIAL, Files, Listed, LocalFiles, files_of
from trustbed.store.tables import ABOUT, VERDICTS, bare
from trustbed.store.view import View

MARKER = "trustbed-store.json"
PARTS = "parts"
"""Below a store: what the parts of a divided capture leave until it is complete."""
GRACE_SECONDS = 86_400
"""How old something must be before it is removed: a writer or reader may still be at work."""


def open_store(url: str | os.PathLike[str], *, create: bool = False) -> Store:
    """Opens a store: a directory, or any URL that fsspec knows (``s3://bucket/path``).

    ``create`` makes it if there is none.

    Raises:
        StoreError: There is none, it cannot be reached, or a later version wrote it.
    """
    files = files_of(os.fspath(url))
    marker = files.read(MARKER)
    if marker is None:
        if not create:
            raise StoreError(
                f"no store, {files.url}", "trustbed analyze CAPTURE… --store URL makes one"
            )
        if isinstance(files, LocalFiles) and _others(Path(files.root)):
            raise StoreError(
                f"directory holds something else, {files.url}", "give --store another name"
            )
        marker = msgspec.json.encode({"kind": "trustbed-store", "schema_version": SCHEMA_VERSION})
        files.create(MARKER, marker)
    check_version(marker, files.url)
    return Store(files)


def _others(path: Path) -> bool:
    """Whether a directory has files, and none of them is a store's."""
    ours = {MARKER, MANIFESTS, TABLES, PARTS, PARTIAL}
    return path.exists() and (not path.is_dir() or any(p.name not in ours for p in path.iterdir()))


def _grown(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    """The keys of captures that were stored again when they had grown → the entry with more.

    It was stored later under the same label, begins at the same nanosecond and ends no earlier, has
    all of the files, and more bytes. Bias: a simulation that is repeated for longer, under the same
    name and with the same first time, replaces the shorter one.
    """
    captures = [entry for entry in entries if entry.kind == "capture" and entry.files]
    of_file: dict[tuple[str, int | None], list[Entry]] = defaultdict(list)
    for entry in captures:
        for file in entry.files:
            of_file[file, entry.first_ns].append(entry)
    grown = {}
    for entry in captures:
        files = frozenset(entry.files)
        more = [
            other
            for other in of_file[entry.files[0], entry.first_ns]
            if other.size_bytes > entry.size_bytes
            and other.testbed == entry.testbed
            and other.stored_ns > entry.stored_ns
            and (other.last_ns or 0) >= (entry.last_ns or 0)
            and files.issubset(other.files)
        ]
        if more:
            grown[entry.key] = max(more, key=lambda other: other.size_bytes)
    return grown


@dataclass(frozen=True, slots=True)
class Removed:
    """What ``gc`` removed, or would remove: a directory or file, why, and its bytes."""

    name: str
    why: str
    size_bytes: int


class Store:
    """A store as it was when it was opened; open it again to see what came later."""

    def __init__(self, files: Files) -> None:
        self.files = files

    @property
    def url(self) -> str:
        """Where it is."""
        return self.files.url

    @cached_property
    def manifests(self) -> Mapping[str, Entry]:
        """Every manifest by its key, also of entries that another analysis replaced."""
        found = self.files.read_all(MANIFESTS, ENDING)
        return {
            key: decoded(data, key, self.files.path(manifest_of(key)))
            for key, data in found.items()
        }

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """The current entries: of each subject the analysis of the latest version.

        Of a capture that grew, as rotated files do, that is the analysis of its most bytes.
        """
        return sorted(
            (entry for key, entry in self._current.items() if key == entry.key),
            key=lambda entry: (entry.testbed, entry.date, entry.name, entry.key),
        )

    @cached_property
    def _current(self) -> Mapping[str, Entry]:
        """The key of every stored entry → the entry that counts in its place, or itself."""
        stored = [entry for entry in self.manifests.values() if entry.state == "stored"]
        best: dict[tuple[Kind, str], Entry] = {}
        for entry in stored:
            at = (entry.kind, entry.subject)
            if at not in best or entry.rank > best[at].rank:
                best[at] = entry
        grown = _grown(best.values())
        found = {}
        for entry in stored:
            now = best[entry.kind, entry.subject]
            while now.key in grown:
                now = grown[now.key]
            found[entry.key] = now
        return found

    def renew(self, keys: Collection[str]) -> int:
        """Lets these analyses count again, where one with other options was stored after them.

        Returns how many did not count before.
        """
        former = [
            entry
            for key in keys
            if (entry := self.manifests.get(key)) is not None
            and (now := self._current.get(key, entry)).key != key
            and now.subject == entry.subject
            and version_number(now.version) == version_number(entry.version)
        ]
        for one in former:
            if (entry := self.entry(one.key)) is not None:  # not removed meanwhile
                newer = replace(entry, stored_ns=time.time_ns())
                self.files.replace(manifest_of(entry.key), encoded(newer))
        return len(former)

    def view(self, table: str) -> View:
        """A view by its name."""
        if table not in ABOUT:
            raise KeyError(table)
        return View(table, [entry for entry in self.entries if table in entry.tables], self.files)

    @property
    def transfers(self) -> View:
        """One row per transfer of every capture."""
        return self.view("transfers")

    @property
    def verdicts(self) -> View:
        """The columns of transfers that most questions are about; quick to read."""
        return self.view("verdicts")

    @property
    def phases(self) -> View:
        """One row per phase of a transfer and state in it."""
        return self.view("phases")

    @property
    def findings(self) -> View:
        """The findings about captures, hosts, transfers and repetitions."""
        return self.view("findings")

    @property
    def runs(self) -> View:
        """One row per repetition of a run."""
        return self.view("runs")

    @property
    def campaigns(self) -> View:
        """One row per judged round of a campaign."""
        return self.view("campaigns")

    @property
    def results(self) -> View:
        """One row per file, test and metric of what other programs measured."""
        return self.view("results")

    # Writing.

    def entry(self, key: str) -> Entry | None:
        """The entry of a key as it is now; None if there is none.

        Raises:
            StoreError: It is being removed.
        """
        data = self.files.read(manifest_of(key))
        if data is None:
            return None
        entry = decoded(data, key, self.files.path(manifest_of(key)))
        if entry.state == "removing":
            raise StoreError(
                f"is being removed at this moment, {self.files.path(entry.directory)}",
                "let trustbed store gc end (or repeat it, if it was killed), then repeat the "
                "command",
            )
        return entry

    def publish(self, about: About, tables: Mapping[str, pa.RecordBatchReader]) -> Entry | None:
        """Writes an entry: its tables, and then its manifest.

        None if its key is there already. Verdicts that are not among the tables are those of the
        transfers.

        Raises:
            StoreError: It cannot be written. What was begun does not count, and ``gc`` removes it.
        """
        if self.entry(about.key) is not None:
            return None
        directory = f"{TABLES}/{directory_of(about.testbed, about.date, about.key)}"
        with self._staged(tables) as (staged, written):
            entry = Entry(
                **asdict(about),
                schema_version=SCHEMA_VERSION,
                directory=directory,
                tables=written,
                stored_ns=time.time_ns(),
                stored_by=f"{socket.gethostname()}:{os.getpid()}",
            )
            self.files.place(staged, directory)
        if self.files.create(manifest_of(entry.key), encoded(entry)):
            return entry
        other = self.entry(entry.key)
        if other is not None and other.directory != directory:
            self.files.remove(directory)  # another writer was first, under another label
        return None

    @contextmanager
    def _staged(
        self, tables: Mapping[str, pa.RecordBatchReader]
    ) -> Iterator[tuple[Path, dict[str, TableFile]]]:
        with self.files.staging() as directory:
            written = {}
            try:
                for name, reader in tables.items():
                    has_verdicts = name != "transfers" or "verdicts" in tables
                    excerpts = {} if has_verdicts else {"verdicts": VERDICTS}
                    rows = write_table(directory, name, bare(reader), excerpts=excerpts)
                    for one in (name, *excerpts):
                        size = (directory / f"{one}.parquet").stat().st_size
                        written[one] = TableFile(rows=rows, size_bytes=size)
            except OSError as error:
                if error.errno in FULL:
                    raise full(str(directory)) from error
                raise
            yield directory, written

    # Removing.

    def gc(self, *, older_seconds: float = GRACE_SECONDS, dry_run: bool = False) -> list[Removed]:
        """Removes what no longer counts and is older.

        That is: what a killed writer left, and analyses that a later one of the same capture
        replaced.

        A manifest that says ``removing`` is created before anything is removed: nobody can publish
        under its key meanwhile, and the next call goes on where this one was killed.
        """
        before = time.time() - older_seconds
        found: dict[str, list[float]] = defaultdict(list)
        sizes: dict[str, int] = defaultdict(int)
        for listed in self.files.list(TABLES):
            directory = listed.name.rpartition("/")[0]
            found[directory].append(listed.modified)
            sizes[directory] += listed.size_bytes
        removed = [
            Removed(entry.directory, why, sizes[entry.directory])
            for entry, why in self._replaced(before)
            if dry_run or self._remove(entry)
        ]
        named = {entry.directory for entry in self.manifests.values()}
        for directory, times in sorted(found.items()):
            if directory in named or max(times) >= before or PARTITION not in directory:
                continue
            if dry_run or self._remove_orphan(directory):
                removed.append(Removed(directory, "no manifest", sizes[directory]))
        return [*removed, *self._unfinished(before, dry_run=dry_run)]

    def _replaced(self, before: float) -> Iterator[tuple[Entry, str]]:
        for entry in self.manifests.values():
            if entry.state == "removing":
                yield entry, "removal was interrupted"
                continue
            by = self._current[entry.key]
            if by.key != entry.key and by.stored_ns < before * 1e9:
                yield entry, f"replaced by {by.key}"

    def _remove(self, entry: Entry) -> bool:
        """Removes an entry, unless it counts again by now."""
        data = self.files.read(manifest_of(entry.key))
        if data is None:
            return False
        now = decoded(data, entry.key, self.files.path(manifest_of(entry.key)))
        if now.stored_ns != entry.stored_ns:
            return False
        self.files.replace(manifest_of(entry.key), encoded(replace(entry, state="removing")))
        self.files.remove(entry.directory)
        self.files.remove(manifest_of(entry.key))
        return True

    def _remove_orphan(self, directory: str) -> bool:
        """Removes tables without a manifest, unless they get one in this moment."""
        key = directory.rpartition(PARTITION)[2]
        data = self.files.read(manifest_of(key))
        if data is not None:
            entry = decoded(data, key, self.files.path(manifest_of(key)))
            if entry.directory != directory:
                self.files.remove(directory)  # its writer was second, and nobody publishes it
            return entry.directory != directory
        claim = Entry(
            state="removing",
            kind="capture",
            schema_version=SCHEMA_VERSION,
            key=key,
            subject="",
            name="",
            version="0",
            options={},
            testbed="",
            date="",
            directory=directory,
            tables={},
            verdicts={},
            stored_ns=time.time_ns(),
            stored_by=f"{socket.gethostname()}:{os.getpid()}",
        )
        if not self.files.create(manifest_of(key), encoded(claim)):
            return False
        self.files.remove(directory)
        self.files.remove(manifest_of(key))
        return True

    def _unfinished(self, before: float, *, dry_run: bool) -> Iterator[Removed]:
        """What killed writers were preparing: parts, and what only local stores have inside."""
        left: dict[str, list[Listed]] = defaultdict(list)
        for listed in self.files.list(PARTS):
            left["/".join(listed.name.split("/")[:2])].append(listed)
        for name, files in left.items():
            if max(file.modified for file in files) < before:
                if not dry_run:
                    self.files.remove(name)
                yield Removed(name, "never finished", sum(file.size_bytes for file in files))
        if not isinstance(self.files, LocalFiles):
            return
        partial = Path(self.files.root) / PARTIAL
        for path in sorted(partial.iterdir()) if partial.is_dir() else ():
            try:
                old = path.stat().st_mtime < before
                size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            except FileNotFoundError:
                continue  # its writer has finished
            if old:
                if not dry_run:
                    self.files.remove(f"{PARTIAL}/{path.name}")
                yield Removed(f"{PARTIAL}/{path.name}", "never finished", size)

    def __repr__(self) -> str:
        return f"<Store {self.url}: {len(self.entries)} entries>"
