"""Counts of a table of calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet

from trustbed.calls.table import ARCHITECTURE, COMPLETE


def by_call(table: Path) -> dict[str, int]:
    """How often each call was made, the most frequent first."""
    counts: dict[str, int] = {}
    file = pyarrow.parquet.ParquetFile(table)
    for batch in file.iter_batches(columns=["call"]):
        for one in batch.column(0).value_counts().to_pylist():
            name = one["values"] or "unknown"
            counts[name] = counts.get(name, 0) + one["counts"]
    return most_first(counts)


def most_first(counts: dict[str, int]) -> dict[str, int]:
    """Counts in descending order, equal ones by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def architecture(table: Path) -> str | None:
    """What a table's calls were numbered by; ``None`` if it does not say."""
    found = _metadata(table).get(ARCHITECTURE)
    return None if found is None else found.decode()


def complete(table: Path) -> bool | None:
    """Whether no call of a table was lost; ``None`` if it does not say."""
    return {b"yes": True, b"no": False}.get(_metadata(table).get(COMPLETE, b""))


def _metadata(table: Path) -> Mapping[bytes, bytes]:
    found: Mapping[bytes, bytes] = pyarrow.parquet.read_metadata(table).metadata or {}
    return found
