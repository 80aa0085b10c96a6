"""The rows of a model's tables, typed, and grouped as they belong together.

What the columns mean stands in docs/tables.md#tables-of-a-traffic-model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec

from trustbed.traffic.model import ClassRule, Model, ModelError, schemas

if TYPE_CHECKING:
    import pyarrow as pa

Side: TypeAlias = Literal["client", "server"]


class ConnectionRow(msgspec.Struct, frozen=True, kw_only=True, rename={"class_name": "class"}):
    """A connection of a model."""

    connection: int
    class_name: str
    session: int
    exchange: int
    exchange_gap_ns: int | None = None
    start_gap_ns: int | None = None
    start_ns: int
    duration_ns: int = 0
    client: int
    server: int
    kind: Literal["pairs", "streams", "datagrams"]
    client_bytes: int
    server_bytes: int
    client_packet_bytes: int | None = None
    server_packet_bytes: int | None = None
    client_window_bytes: int | None = None
    server_window_bytes: int | None = None
    client_round_trip_ns: int | None = None
    server_round_trip_ns: int | None = None
    server_toward_loss: float | None = None
    server_from_loss: float | None = None
    partial: bool = False
    incomplete: bool = False


class UnitRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was said in a connection: a request and its response, or what one side sent."""

    connection: int
    side: Literal["client", "server", "both"]
    client_bytes: int | None = None
    server_bytes: int | None = None
    client_wait_ns: int | None = None
    server_wait_ns: int | None = None
    packets: int | None = None
    gap_ns: int | None = None


class HostRow(msgspec.Struct, frozen=True, kw_only=True):
    """A host at one end of the link."""

    host: int
    side: Side
    connections: int
    latency_ns: int | None = None
    toward_bits_per_second: float | None = None
    from_bits_per_second: float | None = None
    toward_carried_bits_per_second: float | None = None
    toward_loss: float | None = None
    from_loss: float | None = None
    round_trips: int = 0
    toward_pairs: int = 0
    from_pairs: int = 0


Row = TypeVar("Row", ConnectionRow, UnitRow, HostRow)
_KINDS: dict[type[msgspec.Struct], str] = {
    ConnectionRow: "connections",
    UnitRow: "units",
    HostRow: "hosts",
}


@dataclass(frozen=True, slots=True)
class Member:
    """A connection of a class, with what was said in it."""

    row: ConnectionRow
    units: Sequence[UnitRow]


def members(model: Model) -> dict[ClassRule, list[Member]]:
    """The connections of a model by their class, in the order of the header; none is empty.

    Raises:
        ModelError: A row lacks what it must have.
    """
    units: dict[int, list[UnitRow]] = defaultdict(list)
    for unit in _rows(model, UnitRow):
        units[unit.connection].append(unit)
    found: dict[str, list[Member]] = defaultdict(list)
    for row in _rows(model, ConnectionRow):
        found[row.class_name].append(Member(row, units.get(row.connection, ())))
    return {rule: found[rule.name] for rule in model.header.classes if rule.name in found}


def hosts(model: Model, side: Side) -> list[HostRow]:
    """The hosts of one side.

    Raises:
        ModelError: A row lacks what it must have.
    """
    return [row for row in _rows(model, HostRow) if row.side == side]


def _rows(model: Model, kind: type[Row]) -> list[Row]:
    name = _KINDS[kind]
    try:
        return msgspec.convert(model.tables[name].to_pylist(), list[kind])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise ModelError(
            f"{model.path or model.name}: the table {name}: {error}", "extract the model again"
        ) from None


def table(rows: Sequence[Row], kind: type[Row]) -> pa.Table:
    """The table of rows that were written down."""
    import pyarrow as pa

    return pa.Table.from_pylist(msgspec.to_builtins(rows), schema=schemas()[_KINDS[kind]])
