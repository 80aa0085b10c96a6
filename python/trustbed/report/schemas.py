"""The tables that Python adds to the engine's: verdict columns, findings, skips.

One source for type, unit and meaning of each column.

The engine describes its own columns in the same way, in the ``unit`` and ``meaning`` of the Arrow
field's metadata; ``docs/tables.md`` is generated from both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

import pyarrow as pa

from trustbed.report.records import Row


def column(name: str, kind: pa.DataType, unit: str, meaning: str) -> pa.Field:
    """A column with its unit (empty for words) and meaning."""
    return pa.field(name, kind, metadata={"unit": unit, "meaning": meaning})


WORDS = pa.list_(pa.string())

VERDICT_FIELDS = (
    column("cause", pa.string(), "", "what limited the transfer; see docs/diagnosis.md"),
    column(
        "confidence",
        pa.float64(),
        "1",
        "probability that the cause is right, 0.05 to 0.99: how often its rule was on "
        "validated transfers; see docs/diagnosis.md",
    ),
    column(
        "verdict",
        pa.string(),
        "",
        "whether the number may be used: trust, review, discard or not_judged",
    ),
    column("rule", pa.string(), "", "the rule that decided; see docs/diagnosis.md"),
    column("verdict_flags", WORDS, "", "what the diagnosis noticed beside the cause"),
    column(
        "without_stalls_bytes_per_second",
        pa.float64(),
        "B/s",
        "an estimate, not a measurement: what the network would have given a transfer that is "
        "discarded for stalls of its host; null for all others and where no estimate is possible; "
        "see docs/diagnosis.md",
    ),
    column(
        "without_stalls_low_bytes_per_second",
        pa.float64(),
        "B/s",
        "lower end of that estimate's 95 % interval",
    ),
    column(
        "without_stalls_high_bytes_per_second",
        pa.float64(),
        "B/s",
        "upper end of that estimate's 95 % interval",
    ),
)

FINDINGS = pa.schema(
    [
        column("code", pa.string(), "", "name of the check; see docs/findings.md"),
        column("severity", pa.string(), "", "info, warning or error"),
        column("scope", pa.string(), "", "capture, a transfer, or the address of a host"),
        column("message", pa.string(), "", "what was found"),
        column("value", pa.float64(), "see unit", "the measured value"),
        column("threshold", pa.float64(), "see unit", "the value from which on it counts"),
        column("unit", pa.string(), "", "unit of value and threshold"),
        column("evidence", pa.string(), "", "where it was seen: file, byte, record, interface"),
        column("meaning", pa.string(), "", "why it matters for the verdicts"),
        column("next_step", pa.string(), "", "what to do about it"),
    ]
)

SKIPS = pa.schema(
    [
        column("reason", pa.string(), "", "why records were not measured"),
        column("records", pa.uint64(), "1", "how many"),
        column("first_index", pa.uint64(), "1", "number of the first one in the capture, from 1"),
    ]
)

ABOUT: Mapping[str, str] = {
    "connections": "One row per TCP or UDP connection, in the order of their first packets.",
    "transfers": (
        "One row per transfer: the data that one side of a TCP connection sends. The unit of "
        "diagnosis."
    ),
    "phases": (
        "One row per phase of a transfer and state in it, in the order of time: the time budget. "
        "Transfers that are too short to judge have none. At most 256 phases are kept of a "
        "transfer; beyond that the shortest neighbours are joined (`mixed`, with a row per state). "
        "The sum of `time_ns` over a transfer's rows is its whole time, handshake included."
    ),
    "exchanges": (
        "One row per unit of a transfer's data: what its sender sent between two units of its "
        "peer, for example a response. Transfers that are too short to judge have none, and the "
        "column `exchanges` of a transfer counts those beyond the ones kept, too."
    ),
    "findings": "Checked statements: about the capture, then hosts, then single transfers.",
    "skips": "Records that were not measured, by reason. Nothing is skipped without a row here.",
    "two_point": (
        "One row per direction of a connection that was seen at both ends (`--sender`, "
        "`--receiver`)."
    ),
    "rtt": (
        "One row per RTT sample (`--samples`). `kind` states how it was measured: handshake "
        "(`syn`), data to acknowledgement (`ack`) or timestamp echo (`timestamp`); do not mix "
        "kinds in one mean."
    ),
    "spacing": "One row per spacing sample: from receiving a packet to sending data (`--samples`).",
    "segments": "One row per data segment (`--samples`).",
}


def derived(make: Callable[[pa.Schema], pa.Schema]) -> Callable[[pa.Schema], pa.Schema]:
    """Makes a schema of another once for every table.

    Of a small capture, schemas of hundreds of columns take more time than its rows.
    """
    known: dict[tuple[str, ...], tuple[pa.Schema, pa.Schema]] = {}

    @wraps(make)
    def found(schema: pa.Schema) -> pa.Schema:
        names = tuple(schema.names)
        there = known.get(names)
        if there is None or not schema.equals(there[0], check_metadata=True):
            there = known[names] = (schema, make(schema))
        return there[1]

    return found


@derived
def in_order(schema: pa.Schema) -> pa.Schema:
    """The same columns, each field's metadata in one order.

    It arrives in any, and would make equal tables different files.
    """
    return pa.schema(
        field.with_metadata(dict(sorted((field.metadata or {}).items(), reverse=True)))
        for field in schema
    )


@derived
def with_verdicts(schema: pa.Schema) -> pa.Schema:
    """The columns of an engine's table of transfers, in order, and those of their verdicts."""
    return pa.schema([*in_order(schema), *VERDICT_FIELDS])


def ordered(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same rows with their schema in order."""
    return reader.cast(in_order(reader.schema))


def from_rows(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    """A table of plain rows; a missing key is null."""
    kept = list(rows)
    columns: Sequence[Any] = [
        pa.array([_fitting(row.get(field.name), field.type) for row in kept], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _fitting(value: object, kind: pa.DataType) -> object:
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return float(cast("float", value))
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else str(value)
    return value
