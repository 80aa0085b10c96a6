"""What the URL names: stores, runs and campaigns, with the transfers of all of them.

A name from a request is looked up here and never becomes a part of a path. What changes on the disk
is read again, at most every two seconds; entries that are known stay. Bias: a store that is no
directory is looked at once a minute.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from msgspec.structs import asdict

from trustbed.errors import TrustbedError, reason
from trustbed.run.directory import SCENARIO, RunDirectory
from trustbed.run.owned_directory import kind_of
from trustbed.store.directories import read as read_directory
from trustbed.store.entry import MANIFESTS, SCHEMA_VERSION, Entry, TableFile, distinct_names
from trustbed.store.files import LocalFiles
from trustbed.store.store import MARKER, Store, open_store
from trustbed.store.tables import PARTITIONS, VERDICTS, store_schemas
from trustbed.store.view import View

LOOK_SECONDS, LOOK_FAR_SECONDS = 2.0, 60.0
COLUMNS = (*PARTITIONS.names, *VERDICTS)
"""The columns of the table of all transfers."""

_SUBJECT = 32
"""Characters of a key that name the subject."""


class UiError(TrustbedError):
    """The URL names nothing that can be shown, or the address cannot be used."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A capture, run, campaign or result of other programs.

    Attributes:
        entry: What a store's manifest says of it.
        path: The directory of a run or campaign, where the URL names it.
        store: The store that it is in.
        name: As lists show it; captures of one name have their directories in it.
    """

    entry: Entry
    path: Path | None = None
    store: Store | None = None
    name: str = ""
    _tables: Mapping[str, pa.Table] = field(default_factory=dict)

    def table(self, name: str, where: pads.Expression | None = None) -> pa.Table:
        """One of its tables as a store has it; without rows if it has none."""
        if self.store is not None and name in self.entry.tables:
            return View(name, [self.entry], self.store.files).table(where=where)
        own = self._tables.get(name)
        if own is None:
            return store_schemas()[name].empty_table()
        return own if where is None else own.filter(where)


@dataclass(frozen=True)
class Holdings:
    """Everything at one moment.

    Attributes:
        items: By key.
        transfers: The columns ``COLUMNS`` of all transfers, words encoded as dictionaries, the
            latest first.
        problems: What could not be read, one line each.
    """

    items: Mapping[str, Item]
    transfers: pa.Table
    problems: Sequence[str] = ()

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The names of all items by their keys."""
        return {key: item.name for key, item in self.items.items()}

    def item(self, key: str) -> Item | None:
        """The item of a key; of a key that another analysis replaced, or a run outgrew, today's."""
        found = self.items.get(key)
        if found is None and len(key) > _SUBJECT:
            now = (one for name, one in self.items.items() if name[:_SUBJECT] == key[:_SUBJECT])
            found = next(now, None)
        return found

    def of_kind(self, kind: str) -> list[Item]:
        """The items of a kind, the latest first."""
        found = (item for item in self.items.values() if item.entry.kind == kind)
        return sorted(found, key=lambda item: (-(item.entry.first_ns or 0), item.entry.name))


class Library:
    """What the URL names.

    Raises:
        UiError: Nothing.
        StoreError: The store cannot be read.
        RunDirectoryError: The run or campaign is damaged.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._sources = _sources(url)
        self._lock = threading.Lock()
        self._looked = 0.0
        self._holdings: Holdings | None = None

    @property
    def stores(self) -> Sequence[Store]:
        """The stores, as they were when they were last looked at."""
        return [one.store for one in list(self._sources.values()) if isinstance(one, _OfStore)]

    def holdings(self) -> Holdings:
        """What there is now, or was when it was last looked at: nobody waits for a second look."""
        known = self._holdings
        if not self._lock.acquire(blocking=known is None):
            assert known is not None
            return known
        try:
            now = time.monotonic()
            if self._holdings is None or now - self._looked >= LOOK_SECONDS:
                changed = [self._holdings is not None and self._look_around()]
                sources = list(self._sources.values())
                first = self._holdings is None
                changed += [
                    one.look(now, first=first) for one in sources if isinstance(one, _OfStore)
                ]
                labels = _labels(sources)
                changed += [one.look(labels) for one in sources if isinstance(one, _OfDirectory)]
                if self._holdings is None or any(changed):
                    self._holdings = _together(sources)
                # What takes long to read is read less often: a tenth of the time at most.
                ended = time.monotonic()
                self._looked = ended + 9 * (ended - now)
            return self._holdings
        finally:
            self._lock.release()

    def _look_around(self) -> bool:
        """Whether something began in the directory that the URL names, or went."""
        if self.url in self._sources:
            return False
        with suppress(OSError):  # else it is gone itself, at this moment
            there = _directories(Path(self.url))
            gone = self._sources.keys() - map(str, there)
            for place in gone:
                del self._sources[place]
            new: dict[str, _OfStore | _OfDirectory] = {}
            for path in there:
                if str(path) not in self._sources:
                    with suppress(TrustbedError, OSError):  # half made: at the next look
                        new |= _source(path)
            self._sources |= new
            return bool(gone or new)
        return False


def _sources(url: str) -> dict[str, _OfStore | _OfDirectory]:
    """Where it is → what it is: the URL itself, or what is in its directory."""
    if "://" in url:
        return {url: _OfStore(url)}
    path = Path(url)
    if found := _source(path):
        (source,) = found.values()
        return {url: source}
    if not path.is_dir():
        raise UiError(f"no store, run or campaign, {path}", "name a directory that has one")
    for one in _directories(path):
        with suppress(OSError, TrustbedError):  # of others: lost+found, for one
            found |= _source(one)
    if not found:
        raise UiError(
            f"no store, run or campaign in {path}",
            "trustbed analyze CAPTURES… --store lab.store makes a store",
        )
    return found


def _directories(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if one.is_dir())


def _source(path: Path) -> dict[str, _OfStore | _OfDirectory]:
    """What is there, if it is something of ours."""
    if (path / MARKER).is_file():
        return {str(path): _OfStore(str(path))}
    is_ours = kind_of(path) == "campaign" or (
        RunDirectory(path).exists and (path / SCENARIO).exists()
    )
    return {str(path): _OfDirectory(path)} if is_ours else {}


class _OfStore:
    """The items of a store."""

    def __init__(self, url: str) -> None:
        self.store = open_store(url)
        self.items: dict[str, Item] = {}
        self.parts: list[pa.Table] = []
        self.problem = ""
        self._known: set[str] = set()
        self._seen: object = None
        self._looked = 0.0

    def look(self, now: float, *, first: bool) -> bool:
        """Reads what is new; whether anything was. At the first look it has to succeed."""
        files, seen = self.store.files, None
        if isinstance(files, LocalFiles):
            with suppress(FileNotFoundError):
                seen = (Path(files.root) / MANIFESTS).stat().st_mtime_ns
            if seen is not None and seen == self._seen:
                return False
        elif self.items and now - self._looked < LOOK_FAR_SECONDS:
            return False
        self._looked = now
        former = self.problem
        try:
            self._read()
        except (TrustbedError, OSError) as error:
            if first:
                raise
            self.problem = f"{error}; what was there before is shown"
            return self.problem != former
        self._seen = seen
        return True

    def _read(self) -> None:
        store = open_store(self.store.url)
        new = [
            one for one in store.entries if one.key not in self._known and "verdicts" in one.tables
        ]
        if new:
            self.parts.append(_encoded(View("verdicts", new, store.files).table(COLUMNS)))
            self._known |= {entry.key for entry in new}
        self.store = store
        self.problem = ""
        self.items = {entry.key: Item(entry=entry, store=store) for entry in store.entries}


class _Labels(TypedDict, total=False):
    """What a user called the testbed of a run, and the study that it belongs to."""

    testbed: str
    paper: str | None


def _labels(sources: Iterable[_OfStore | _OfDirectory]) -> dict[tuple[str, str], _Labels]:
    """The labels of what is in stores, by kind and subject."""
    return {
        (item.entry.kind, item.entry.subject): {
            "testbed": item.entry.testbed,
            "paper": item.entry.paper,
        }
        for source in sources
        if isinstance(source, _OfStore)
        for item in source.items.values()
        if item.entry.kind != "capture"
    }


class _OfDirectory:
    """A run or a campaign in its directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.items: dict[str, Item] = {}
        self.parts: list[pa.Table] = []
        self.problem = ""
        self._seen: object = None
        self._own: _Labels = {}

    def look(self, labels: Mapping[tuple[str, str], _Labels]) -> bool:
        """Reads it again if it has changed, with the labels that a store has; whether it had."""
        try:
            seen = [_time(file) for file in self._telling()]
        except OSError as error:  # it is gone
            changed, self.items, self.parts = bool(self.items), {}, []
            self._seen, self.problem = None, f"{reason(error)}, {self.path}"
            return changed
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            found = read_directory(self.path, **self._own)
            own = labels.get((found.about.kind, found.about.subject), self._own)
            if own != self._own:
                self._own = own
                found = read_directory(self.path, **own)
        except (TrustbedError, OSError) as error:
            self.items, self.parts, self.problem = {}, [], str(error)
            return True
        about = found.about
        entry = Entry(
            **asdict(about),
            schema_version=SCHEMA_VERSION,
            directory="",
            tables={
                name: TableFile(rows=table.num_rows, size_bytes=0)
                for name, table in found.tables.items()
            },
            stored_ns=0,
            stored_by="",
        )
        partitions = [about.testbed, about.date, about.key]
        tables = {name: _with_partitions(table, partitions) for name, table in found.tables.items()}
        self.items = {about.key: Item(entry=entry, path=self.path, _tables=tables)}
        verdicts = tables.get("verdicts")
        self.parts = [] if verdicts is None else [_encoded(verdicts.select(COLUMNS))]
        self.problem = ""
        return True

    def _telling(self) -> Iterator[Path]:
        """The files and directories that change when it does."""
        yield from (self.path / name for name in ("manifest.json", "journal.jsonl"))
        is_ours = RunDirectory(self.path).is_ours
        yield from (one for one in self.path.iterdir() if one.is_dir() and is_ours(one.name))


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _with_partitions(table: pa.Table, values: Sequence[str]) -> pa.Table:
    for field_, value in zip(reversed(PARTITIONS), reversed(values), strict=True):
        column = pa.repeat(pa.scalar(value, pa.string()), table.num_rows)
        table = table.add_column(0, field_, column)
    return table


def _encoded(table: pa.Table) -> pa.Table:
    """Its words as dictionaries: a tenth of the memory, and searched word by word."""
    columns = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _together(sources: Iterable[_OfStore | _OfDirectory]) -> Holdings:
    """Everything of all sources; a run that a store has, too, is there once, as it is now."""
    items: dict[str, Item] = {}
    kept: list[tuple[pa.Table, set[str]]] = []
    problems = []
    for source in sorted(sources, key=lambda one: isinstance(one, _OfDirectory)):
        own = set(source.items)
        for key, item in source.items.items():
            if isinstance(source, _OfDirectory) and key in items:
                items[key] = replace(items[key], path=item.path)
                own.discard(key)
                continue
            if key in items:  # another store has it as well
                own.discard(key)
                continue
            if isinstance(source, _OfDirectory):
                former = [one for one in items if _same(items[one], item)]
                for one in former:
                    del items[one]
            items[key] = item
        kept += [(part, own) for part in source.parts]
        problems += [source.problem] if source.problem else []
    names = distinct_names(item.entry for item in items.values())
    items = {key: replace(item, name=names[key]) for key, item in items.items()}
    parts = [_of(part, own & items.keys()) for part, own in kept]
    empty = pa.schema([*PARTITIONS, *store_schemas()["verdicts"]]).empty_table().select(COLUMNS)
    table = pa.concat_tables(parts or [_encoded(empty)]).unify_dictionaries().combine_chunks()
    begins = table.column("start_ns").cast(pa.int64())
    order = pc.sort_indices(begins, sort_keys=[("", "descending")])
    return Holdings(items, table.take(order).combine_chunks(), problems)


def _same(one: Item, other: Item) -> bool:
    return (one.entry.kind, one.entry.subject) == (other.entry.kind, other.entry.subject)


def _of(part: pa.Table, keys: Collection[str]) -> pa.Table:
    """The rows of these entries."""
    mine = pc.is_in(part.column("capture"), pa.array(sorted(keys), pa.string()))
    return part if pc.all(mine).as_py() else part.filter(mine)
