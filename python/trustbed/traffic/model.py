"""A model of background traffic, and its file.

The file is a ZIP archive: ``model.json`` (what it is, where it came from, what was assumed, how it
was varied), three Parquet tables, ``connections``, ``units`` and ``hosts``
(docs/tables.md#tables-of-a-traffic-model), and where it is known ``profiles.json``, what the
traffic looked like on the link (:mod:`trustbed.traffic.profile`). None of them has an address, a
payload or a date: a model may be published where its capture may not.
"""

from __future__ import annotations

import functools
import hashlib
import io
import math
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trustbed.disk import whole_path
from trustbed.errors import TrustbedError
from trustbed.traffic import archive
from trustbed.traffic import profile as link_profile
from trustbed.traffic.profile import Profile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT = "trustbed traffic model"
VERSION = 1
TABLES = ("connections", "units", "hosts")
TCP, UDP = 6, 17
_MOST_PORT = 65_535
_HEADER = "model.json"
_OWN = "model"
"""The name of the header's own sum among those of its parts."""
_PROFILES = "profiles"
_MOST = {
    _HEADER: 16 << 20,
    **{f"{name}.parquet": 1 << 30 for name in TABLES},
    f"{_PROFILES}.json": 64 << 20,
}
"""Bytes of each member, at most: a million connections fit, and memory is not filled by others."""
_MOST_ROWS = {"connections": 1_000_000, "units": 4_000_000, "hosts": 2_000_000}
"""Rows of each table, at most: what an extraction keeps (``crates/traffic``), and both its ends."""
_LONGEST_TEXT = 1000
"""Bytes of the name of a class, or of another text in a table, at most."""
_MOST_UNPACKED = 4 << 30
"""Bytes of a table's columns, at most, as its Parquet states them: 4 million units have 0.3 GB."""
_LATER = frozenset(
    (
        "client_window_bytes",
        "server_window_bytes",
        "client_round_trip_ns",
        "server_round_trip_ns",
        "server_toward_loss",
        "server_from_loss",
        "toward_carried_bits_per_second",
    )
)
"""Columns that files of before do not have: nothing is known there."""
_LARGEST = 2.0**62
"""What a number can be at most: the generator's clock has nanoseconds in 64 bits."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every member: the same model is the same file."""
_ANEW = "vary a model with trustbed model edit, or write it anew with Model.save"
"""The hint for what was changed by hand."""
_SMALLER = "extract the model again, of a shorter part of the capture"
SECOND = 1_000_000_000


class ModelError(TrustbedError):
    """A model that cannot be read, or says nothing."""


class ClassRule(msgspec.Struct, frozen=True):
    """A class of applications: its protocol, and the ports of its servers.

    The first port is the one on which generated servers listen. Without ports: all that no other
    class of the protocol has.
    """

    name: str
    protocol: int
    ports: tuple[int, ...] = ()


class Step(msgspec.Struct, frozen=True):
    """A change of the model, as it stands in its file."""

    change: str
    value: float


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says of itself."""

    format: str = FORMAT
    version: int = VERSION
    trustbed: str = ""
    name: str = ""
    about: str = ""
    source: str = ""
    licence: str = ""
    duration_ns: int
    session_gap_ns: int
    exchange_gap_ns: int
    classes: tuple[ClassRule, ...]
    counts: dict[str, int] = {}
    assumed: tuple[str, ...] = ()
    recipe: tuple[Step, ...] = ()
    sha256: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model of background traffic.

    Attributes:
        header: What it says of itself.
        connections: Its connections, in their sessions and exchanges.
        units: What was said in them.
        hosts: The hosts at both ends.
        profiles: What its traffic looked like on a link; none in files of before there were any.
        path: The file that it was read from.
    """

    header: Header
    connections: pa.Table
    units: pa.Table
    hosts: pa.Table
    profiles: tuple[Profile, ...] = ()
    path: Path | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What it is called: its own name, or that of its file."""
        return self.header.name or (self.path.stem if self.path is not None else "model")

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """Its three tables by name."""
        return {name: getattr(self, name) for name in TABLES}

    def with_steps(self, *steps: Step) -> Model:
        """The same with further changes."""
        return replace(
            self, header=msgspec.structs.replace(self.header, recipe=(*self.header.recipe, *steps))
        )

    def as_learned(self) -> Model:
        """The same without its changes."""
        return replace(self, header=msgspec.structs.replace(self.header, recipe=()))

    def with_profile(self, profile: Profile) -> Model:
        """The same with a profile, in place of an earlier one of the same origin."""
        others = tuple(one for one in self.profiles if one.origin != profile.origin)
        return replace(self, profiles=(*others, profile))

    def save(self, path: Path | str) -> Path:
        """Writes the file, at once or not at all.

        Raises:
            ModelError: It is larger than a file of a model can be.
            OSError: It cannot be written.
        """
        path = Path(path)
        for name, table in self.tables.items():
            _check_rows(path, name, table.num_rows, "extract a shorter part of the capture")
        parts = {name: _parquet(table) for name, table in self.tables.items()}
        for name, part in parts.items():
            if len(part) > (most := _MOST[f"{name}.parquet"]):
                raise ModelError(
                    f"{path}: the table {name} has {len(part):,} bytes, and a model's has "
                    f"{most:,} at most",
                    "extract a shorter part of the capture",
                )
        profiles = link_profile.encoded(self.profiles) if self.profiles else b""
        summed = {**parts, **({_PROFILES: profiles} if profiles else {})}
        sums = {name: hashlib.sha256(part).hexdigest() for name, part in summed.items()}
        header = _summed(msgspec.structs.replace(self.header, sha256=sums))
        with (
            whole_path(path) as partial,
            zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as members,
        ):
            text = msgspec.json.format(msgspec.json.encode(header), indent=1)
            members.writestr(zipfile.ZipInfo(_HEADER, _EPOCH), text)
            for name, part in parts.items():
                members.writestr(zipfile.ZipInfo(f"{name}.parquet", _EPOCH), part)
            if profiles:
                members.writestr(zipfile.ZipInfo(f"{_PROFILES}.json", _EPOCH), profiles)
        return path


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


@functools.cache
def _schemas() -> Mapping[str, pa.Schema]:
    import pyarrow as pa

    from trustbed import _core

    return {
        name.removeprefix("model_"): pa.RecordBatchReader.from_stream(table).schema
        for name, table in _core.model_schemas().items()
    }


def schemas() -> Mapping[str, pa.Schema]:
    """The schemas of the three tables, with units and meanings."""
    return _schemas()


def load(path: Path | str) -> Model:
    """Reads a model.

    Raises:
        ModelError: It is none, of another version, damaged, or changed by hand.
    """
    path = Path(path)
    members = _members(path)
    header = _header(path, members[_HEADER])
    tables = {name: _table(path, header, name, members[f"{name}.parquet"]) for name in TABLES}
    known = _profiles(path, header, members.get(f"{_PROFILES}.json"))
    return checked(Model(header=header, path=path, profiles=known, **tables))


def _members(path: Path) -> dict[str, bytes]:
    """The members of the archive by name; profiles may be missing."""
    hint = f"make one: trustbed model extract CAPTURE -o {path.stem}.model"
    try:
        found = archive.read(path, _MOST)
    except FileNotFoundError:
        raise ModelError(
            f"{path}: there is no such file",
            "trustbed model list names those that come with trustbed",
        ) from None
    except (archive.ArchiveError, OSError) as error:
        raise ModelError(f"{path}: not a traffic model: {error}", hint) from None
    for name in (_HEADER, *(f"{table}.parquet" for table in TABLES)):
        if name not in found:
            raise ModelError(f"{path}: not a traffic model: it has no {name}", hint)
    return found


def _profiles(path: Path, header: Header, text: bytes | None) -> tuple[Profile, ...]:
    """Profiles are optional: a file of before there were any has none, and no sum of them."""
    if text is None and _PROFILES not in header.sha256:
        return ()
    hint = "extract the model again, or measure it: trustbed model measure --keep"
    if text is None or hashlib.sha256(text).hexdigest() != header.sha256.get(_PROFILES):
        raise ModelError(
            f"{path}: {_PROFILES}.json is not the one that its header names: it was changed by "
            "hand",
            hint,
        )
    try:
        return link_profile.decoded(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: {_PROFILES}.json: {error}", hint) from None


def _summed(header: Header) -> Header:
    """The header with the sum of itself."""
    own = _sum_of_header(msgspec.to_builtins(header))
    return msgspec.structs.replace(header, sha256={**header.sha256, _OWN: own})


def _sum_of_header(about: Mapping[str, Any]) -> str:
    """The sum of a header's values, but for the sum itself, whatever their order and layout."""
    sums = {name: one for name, one in about["sha256"].items() if name != _OWN}
    text = msgspec.json.encode({**about, "sha256": sums}, order="sorted")
    return hashlib.sha256(text).hexdigest()


def _header(path: Path, text: bytes) -> Header:
    hint = "extract it again with this version: trustbed model extract CAPTURE -o FILE"
    try:
        about = msgspec.json.decode(text, type=dict[str, Any])
        if about.get("format") != FORMAT:
            raise ModelError(f"{path}: {_HEADER} is not that of a traffic model", hint)
        if about.get("version") != VERSION:
            raise ModelError(
                f"{path}: a model of version {about.get('version')}, and this is trustbed for "
                f"{VERSION}",
                hint,
            )
        header = msgspec.convert(about, Header)
    except (ValueError, RecursionError) as error:  # ValueError: also bytes that are no UTF-8
        raise ModelError(f"{path}: {_HEADER}: {error}", hint) from None
    # Files of before headers had a sum have none.
    if _OWN in header.sha256 and header.sha256[_OWN] != _sum_of_header(about):
        raise ModelError(f"{path}: {_HEADER} was changed by hand", _ANEW)
    return header


def _table(path: Path, header: Header, name: str, part: bytes) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if hashlib.sha256(part).hexdigest() != header.sha256.get(name):
        raise ModelError(
            f"{path}: the table {name} is not the one that its header names: it was changed by "
            "hand",
            _ANEW,
        )
    schema = _schemas()[name]
    try:
        about = pq.read_metadata(io.BytesIO(part))
        _check_size(path, name, about)
        # Texts that repeat stay one, until it is known how long they are.
        texts = [column.name for column in schema if pa.types.is_string(column.type)]
        found = pq.read_table(io.BytesIO(part), read_dictionary=texts)
        _check_texts(path, name, found)
        for place, column in enumerate(schema):
            if column.name in _LATER and column.name not in found.column_names:
                nothing = pa.nulls(found.num_rows, column.type)
                found = found.add_column(place, column, nothing)
        return found.cast(schema)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise ModelError(f"{path}: the table {name}: {error}", "extract the model again") from None


def _check_size(path: Path, name: str, about: pq.FileMetaData) -> None:
    """What Parquet states of a table before it is read: few bytes can be many rows.

    Raises:
        ModelError: It has more than a model's table can have.
    """
    known = _schemas()[name].names
    strange = next((one for one in about.schema.to_arrow_schema().names if one not in known), None)
    if strange is not None:
        raise ModelError(
            f"{path}: the table {name} has a column {strange[:40]!r}, and no model has one",
            "extract the model again",
        )
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    _check_rows(path, name, rows, _SMALLER)
    unpacked = sum(group.total_byte_size for group in groups)
    if unpacked > _MOST_UNPACKED:
        raise ModelError(
            f"{path}: the table {name} has {unpacked:,} bytes unpacked, and a model's has "
            f"{_MOST_UNPACKED:,} at most",
            _SMALLER,
        )


def _check_rows(path: Path, name: str, rows: int, hint: str) -> None:
    if rows > (most := _MOST_ROWS[name]):
        raise ModelError(
            f"{path}: the table {name} has {rows:,} rows, and a model's has {most:,} at most", hint
        )


def _check_texts(path: Path, name: str, table: pa.Table) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in table.schema:
        if not pa.types.is_dictionary(column.type):
            continue
        for chunk in table[column.name].chunks:
            longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
            if longest > _LONGEST_TEXT:
                raise ModelError(
                    f"{path}: a {column.name} of the table {name} has {longest:,} bytes, and a "
                    f"model's has {_LONGEST_TEXT} at most",
                    "extract the model again",
                )


def checked(model: Model, where: str = "") -> Model:
    """The model, if something can be drawn of it; ``where`` it comes from, for the message.

    Raises:
        ModelError: No connection, a class that cannot be or has no connection, an unknown class
            or host, numbers that cannot be.
    """
    import pyarrow.compute as pc

    where = where or str(model.path or model.name)
    if model.connections.num_rows == 0:
        raise ModelError(
            f"{where}: a model without connections", "extract it from a capture that holds some"
        )
    if model.header.duration_ns <= 0:
        raise ModelError(f"{where}: a model of no duration", "extract it from a longer capture")
    _check_classes(model, where)
    hosts = model.hosts.num_rows
    for side in ("client", "server"):
        most = pc.max(model.connections[side]).as_py()
        if most is None or most >= hosts:
            raise ModelError(
                f"{where}: a {side} is host {most}, and there are {hosts}",
                "extract the model again",
            )
    for name in ("client_bytes", "server_bytes"):
        if (pc.max(model.units[name]).as_py() or 0) > 1 << 50:
            raise ModelError(
                f"{where}: a unit of {name} is beyond all bounds", "extract the model again"
            )
    _check_numbers(model, where)
    return model


def _check_numbers(model: Model, where: str) -> None:
    """Shares are shares, rates are above 0, times are not negative, and hosts are on their side.

    Raises:
        ModelError: One is not; its column is named.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, table in (
        ("connections", model.connections),
        ("units", model.units),
        ("hosts", model.hosts),
    ):
        for column in table.schema:
            if not pa.types.is_floating(column.type) and not pa.types.is_signed_integer(
                column.type
            ):
                continue
            values = table[column.name].drop_null()
            if not len(values):
                continue
            if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(values)).as_py():
                least = most = math.nan
            else:
                least, most = pc.min(values).as_py(), pc.max(values).as_py()
            above = 1.0 if column.name.endswith("_loss") else _LARGEST
            if not 0 <= least <= most <= above:
                raise ModelError(
                    f"{where}: {column.name} of the table {name} is {least:g} to {most:g}, and "
                    f"must be 0 to {above:g}",
                    "extract the model again",
                )
    sides = model.hosts["side"].to_pylist() if "side" in model.hosts.column_names else []
    for side in ("client", "server") if sides else ():
        used = pc.unique(model.connections[side]).to_pylist()
        wrong = next((host for host in used if sides[host] != side), None)
        if wrong is not None:
            raise ModelError(f"{where}: host {wrong} is no {side}", "extract the model again")


def _check_classes(model: Model, where: str) -> None:
    """Every class can be generated, and has connections, which are of its protocol.

    Raises:
        ModelError: One has not; it is named.
    """
    import pyarrow.compute as pc

    rules = {rule.name: rule for rule in model.header.classes}
    for rule, count in Counter(model.header.classes).items():
        if count > 1 or rules[rule.name] != rule:
            raise ModelError(
                f"{where}: two classes are called {rule.name}", "give one of them another name"
            )
        _check_rule(rule, where)
    of = pc.if_else(pc.equal(model.connections["kind"], "datagrams"), UDP, TCP)
    found = model.connections.select(["class"]).append_column("protocol", of)
    used = found.group_by(["class", "protocol"], use_threads=False).aggregate([]).to_pylist()
    for one in used:
        name, protocol = one["class"], one["protocol"]
        if name not in rules:
            raise ModelError(
                f"{where}: the class {name} has no rule", "name its ports in the header's classes"
            )
        if protocol not in (None, rules[name].protocol):
            raise ModelError(
                f"{where}: the class {name} is of protocol {rules[name].protocol}, and has "
                f"connections of {protocol}",
                "extract the model again",
            )
    empty = next((name for name in rules if name not in {one["class"] for one in used}), None)
    if empty is not None:
        raise ModelError(
            f"{where}: the class {empty} has no connection",
            "leave it out of the header's classes, or extract the model again",
        )


def _check_rule(rule: ClassRule, where: str) -> None:
    if not rule.name:
        raise ModelError(f"{where}: a class has no name", "name it in the header's classes")
    if rule.protocol not in (TCP, UDP):
        raise ModelError(
            f"{where}: the class {rule.name} is of IP protocol {rule.protocol}",
            f"a class is of TCP ({TCP}) or UDP ({UDP})",
        )
    for port in rule.ports:
        if not 1 <= port <= _MOST_PORT:
            raise ModelError(
                f"{where}: the class {rule.name} has the port {port}",
                f"ports are 1 to {_MOST_PORT}",
            )
