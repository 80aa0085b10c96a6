"""What an application completed in a repetition: the unit that packets and calls are counted by."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from trustbed.report.records import Row
from trustbed.report.run.reading import Measured, Repetition

MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Work:
    """So many requests that were answered, or so many MB (10⁶ B) of payload."""

    count: float
    unit: str


def completed(one: Repetition, name: str, measured: Measured | None) -> Work | None:
    """Requests of the whole repetition, warm-up included; MB where there are no requests.

    ``None`` if nothing is known of it.
    """
    requests = one.table(f"{name}.requests")
    if requests is not None:
        return Work(len(requests) - requests["response_ns"].null_count, "request")
    found = summary(one, name)
    for key in ("replies", "requests"):
        if found.get(key) is not None:
            return Work(max(0, int(found[key]) - int(found.get("failed_requests") or 0)), "request")
    return None if measured is None else _payload(one, name)


def summary(one: Repetition, name: str) -> Row:
    """The summary that a workload's program printed; empty without one."""
    table = one.table(f"{name}.summary")
    return table.to_pylist()[0] if table is not None and table.num_rows else {}


def _payload(one: Repetition, name: str) -> Work | None:
    table = one.table("transfers")
    if table is None or "workload" not in table.column_names:
        return None
    own = table.filter(pc.fill_null(pc.equal(table["workload"], name), False))
    sums = own.group_by("capture").aggregate([("unique_bytes", "sum")]).to_pylist()
    # Several captures hold the same bytes: those of the one that saw most.
    octets = max((row["unique_bytes_sum"] or 0 for row in sums), default=0)
    return Work(octets / MEGABYTE, "MB") if sums else None
