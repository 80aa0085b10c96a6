"""What earlier versions called the keys and columns of a run directory.

Raw data are written once and outlive the version that wrote them, so they are read under today's
names. ``docs/glossary.md`` and the changelog have the reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pyarrow starts threads, and a testbed without root is prepared before any
    import pyarrow as pa

_KEYS = {
    "folder": "directory",
    "lateness": "departure_error",
    "not_told": "unavailable",
    "congestion_window_segments": "snd_cwnd",
    "late_most_ns": "late_max_ns",
}
_COLUMNS = {
    "done_ns": "actual_ns",
    "congestion_window_segments": "snd_cwnd",
    "waiting_for_disk_share": "iowait_share",
}


def keys(found: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """JSON under today's keys."""
    if isinstance(found, dict):
        return {_KEYS.get(key, key): keys(value) for key, value in found.items()}
    return [keys(one) for one in found] if isinstance(found, list) else found


def columns(table: pa.Table) -> pa.Table:
    """A table under today's columns."""
    return table.rename_columns([_COLUMNS.get(name, name) for name in table.column_names])
