"""What a store's manifests hold: one object per capture, run, campaign or result.

It is written last, and has the version of the schema that it and its tables were written with. What
an earlier version wrote is read as today's: :data:`RENAMED` has the columns that have had other
names, and a column that did not exist is null. What a later version wrote is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

import msgspec

from trustbed.store.errors import StoreError

SCHEMA_VERSION = 1
"""Raised when a column or a key is renamed or means something else; not when one is added."""
RENAMED: Mapping[int, Mapping[str, Mapping[str, str]]] = {}
"""Version that was the last with them → table → former name → the name after it."""
UPGRADE = "install the trustbed that wrote it, or a later one: pip install --upgrade trustbed"
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A label becomes a part of paths and of Hive partitions."""
UNDATED = "undated"
MANIFESTS, ENDING, TABLES = "manifests", ".json", "tables"
"""Below a store: the directory of manifests, how their names end, and that of tables."""

PARTITION = "/capture="
"""Before the key in the directory of an entry's tables."""

Kind: TypeAlias = Literal["capture", "run", "campaign", "result"]


class TableFile(msgspec.Struct, frozen=True, kw_only=True):
    """A table of an entry: its rows, and the bytes of its file."""

    rows: int
    size_bytes: int


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an entry before its tables are written.

    Attributes:
        key: Names it: its subject and its analysis.
        subject: What was analysed: of captures the SHA-256 of their bytes.
        version: The version of trustbed that analysed it.
        options: What the analysis depends on beside the subject.
        testbed: The label that the user gave.
        paper: The label of the study that a run belongs to.
        date: Of its first packet or its beginning (UTC), or ``undated``.
        files: The names of its files.
        size_bytes: Of its files.
        verdicts: Transfers, repetitions or rounds by verdict.
        damage: What could not be read, one line each.
    """

    kind: Kind
    key: str
    subject: str
    name: str
    version: str
    options: dict[str, str]
    testbed: str
    paper: str | None = None
    date: str
    first_ns: int | None = None
    last_ns: int | None = None
    files: tuple[str, ...] = ()
    size_bytes: int = 0
    verdicts: dict[str, int]
    damage: tuple[str, ...] = ()


class Entry(About, frozen=True, kw_only=True):
    """A capture, run or campaign in a store.

    Attributes:
        state: ``removing`` while it is being removed; it no longer counts then.
        schema_version: The version that its tables were written with.
        directory: Of its tables, below the store.
        tables: By name.
        stored_ns: When it was stored, since the epoch.
        stored_by: Host and process.
    """

    state: Literal["stored", "removing"] = "stored"
    schema_version: int
    directory: str
    tables: dict[str, TableFile]
    stored_ns: int
    stored_by: str

    @property
    def rank(self) -> tuple[tuple[int, ...], int, str]:
        """Of several analyses of a subject that with the highest rank is shown."""
        return (version_number(self.version), self.stored_ns, self.key)


def distinct_names(entries: Iterable[Entry]) -> dict[str, str]:
    """The name of every entry by its key; captures of one name have directories that part them."""
    found: dict[str, str] = {}
    of_name: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.key] = entry.name
        if entry.kind == "capture" and entry.files:
            of_name[entry.name].append(entry)
    for name, equal in of_name.items():
        above = {entry.key: PurePosixPath(entry.files[0]).parts[1:-1] for entry in equal}
        several = len(set(above.values()))
        depth = 0
        while len({parts[-depth:] if depth else () for parts in above.values()}) < several:
            depth += 1
        if depth:
            found |= {key: "/".join((*parts[-depth:], name)) for key, parts in above.items()}
    return found


def version_number(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def key_of(subject: str, version: str, options: Mapping[str, str]) -> str:
    """The key of an analysis: the same subject, version and options have the same one."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()
    return f"{subject[:32]}-{version}-{digest[:8]}"


def directory_of(testbed: str, date: str, key: str) -> str:
    """The partition of an entry."""
    return f"testbed={testbed}/date={date}{PARTITION}{key}"


def label(text: str, what: str) -> str:
    """A label that can be a part of a path.

    Raises:
        StoreError: It cannot.
    """
    if not LABEL.fullmatch(text):
        raise StoreError(
            f"{what} {text!r} cannot be a part of a path",
            "use letters, digits, full stops, hyphens and underscores, 64 at most",
        )
    return text


def manifest_of(key: str) -> str:
    """The name of an entry's manifest, below the store."""
    return f"{MANIFESTS}/{key}{ENDING}"


def encoded(entry: Entry) -> bytes:
    """A manifest's bytes."""
    return msgspec.json.format(msgspec.json.encode(entry), indent=1) + b"\n"


def decoded(data: bytes, key: str, where: str) -> Entry:
    """The entry of a manifest, which is that of a key and names tables of the store.

    Raises:
        StoreError: It is of a later version, damaged, or names something else.
    """
    check_version(data, where)
    try:
        entry = msgspec.json.decode(data, type=Entry)
        parts = PurePosixPath(entry.directory).parts
        is_ours = parts[:1] == (TABLES,) and ".." not in parts
        if entry.key != key or not is_ours or not entry.directory.endswith(PARTITION + key):
            raise ValueError(f"it names {entry.key} and {entry.directory}")
        return entry
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"manifest is damaged, {where}: {error}",
            "remove it and repeat the command that stored it; its tables are removed by "
            "trustbed store gc",
        ) from None


class _Version(msgspec.Struct):
    schema_version: int


def check_version(data: bytes, where: str) -> None:
    """Refuses what a later version wrote.

    Raises:
        StoreError: It was.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
    except (ValueError, RecursionError):
        return  # damaged, which whoever reads it whole finds out
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"written by a later version of trustbed (schema {version}, this one reads up to "
            f"{SCHEMA_VERSION}), {where}",
            UPGRADE,
        )


def renamed(table: str, schema_version: int) -> dict[str, str]:
    """Today's name → the name that a version's tables have for it, where the two differ."""
    names: dict[str, str] = {}
    for version in sorted(RENAMED):
        if version >= schema_version:
            for former, current in RENAMED[version].get(table, {}).items():
                names[current] = names.pop(former, former)
    return names
