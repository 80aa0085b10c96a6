"""Counts of a table of calls."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet

from trustbed.calls.table import ARCHITECTURE


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
    metadata = pyarrow.parquet.read_schema(table).metadata or {}
    found = metadata.get(ARCHITECTURE)
    return None if found is None else found.decode()
