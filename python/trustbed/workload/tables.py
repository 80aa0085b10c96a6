"""The Arrow columns of the tables of results, with type, unit and meaning.

Times are integer nanoseconds (``response_ns``), rates floats in base units, unknown is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Mapping[str, Cell]
"""A row by its columns."""


def column(name: str, kind: pa.DataType, unit: str, meaning: str) -> pa.Field:
    """A column with its unit (empty for words) and meaning."""
    return pa.field(name, kind, metadata={"unit": unit, "meaning": meaning})


def nanoseconds(value: float | None, unit: float = 1.0) -> int | None:
    """Whole nanoseconds of a number of ``unit`` seconds."""
    return None if value is None else round(value * unit * 1e9)


def table(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    """Rows as a table; a column that a row lacks is null there."""
    return pa.table(
        {
            field.name: pa.array([row.get(field.name) for row in rows], field.type)
            for field in schema
        },
        schema=schema,
    )


REQUESTS = pa.schema(
    [
        column(
            "started",
            pa.timestamp("ns", tz="UTC"),
            "ns",
            "when the request began, if the program reports it",
        ),
        column(
            "connect_ns",
            pa.int64(),
            "ns",
            "time to open the connection; 0 if it was open already",
        ),
        column(
            "first_byte_ns",
            pa.int64(),
            "ns",
            "request sent to first byte of the response; null when it failed",
        ),
        column(
            "response_ns",
            pa.int64(),
            "ns",
            "request sent to last byte of the response: the response time; null when it failed",
        ),
        column(
            "total_ns",
            pa.int64(),
            "ns",
            "beginning of the connection to last byte; null when it failed",
        ),
        column("bytes", pa.int64(), "B", "received body"),
        column("status", pa.int64(), "1", "HTTP status; null when there was none"),
        column("error", pa.string(), "", "why it failed; null when it did not"),
    ]
)
"""One row per request."""

PERCENTILES = pa.schema(
    [
        column("share", pa.float64(), "1", "share of the requests that took at most this long"),
        column("response_ns", pa.int64(), "ns", "response time at this share"),
    ]
)
"""Percentiles of the response time, as printed by a program."""
