"""Variation of the delay in one repetition: one-way where it was measured, else of the RTT.

One-way jitter is p95 − p50 of the one-way delays, which no clock offset changes (Crussell et al.):
of a media stream its packets', else of the data's direction between two captures. Of a transfer
that was captured at one end only, the RTT's p90 − p50 is all there is, and it is a metric of its
own: both directions and the receiver's delays are in it.

Probes between the ends of a workload (``[probe.NAME]``) are metrics of their own as well, one of
each direction: they are small, and wait where the workload's packets do.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.report.records import Row
from trustbed.report.run.reading import SECOND, Measured, Repetition

_DELAYS = ("sender", "data_frames_delivered", "owd_increase_p50_ns", "owd_increase_p95_ns")
_MANY = 20
"""Connections from which on their medians are a sample of the delay."""
_SHORT = 20
"""Frames of a connection, on average, from which on it has a 95th percentile of its own."""


def of(
    one: Repetition,
    workload: str,
    measured: Measured | None,
    point: str | None,
    absent: MutableMapping[str, str],
) -> dict[str, float]:
    """The values at the level of delay; why there are none goes into ``absent``."""
    found = _own(one, workload, measured, point) | _probed(one, workload)
    if not found:
        absent["delay"] = "no captures at both ends, no probes, and no round trips"
    return found


def _own(
    one: Repetition, workload: str, measured: Measured | None, point: str | None
) -> dict[str, float]:
    """Of the workload's own packets."""
    if measured is not None and measured.jitter is not None:
        return {"jitter_seconds": measured.jitter}
    jitter = _two_point(one.table("two_point"), workload)
    if jitter is not None:
        return {"jitter_seconds": jitter}
    spread = _round_trips(one.table("transfers"), workload, point)
    return {} if spread is None else {"rtt_spread_seconds": spread}


def _probed(one: Repetition, workload: str) -> dict[str, float]:
    """Of the first session of probes between the ends of the workload whose clocks were steady."""
    own = one.workload(workload)
    host, server = own.get("host"), own.get("to")
    for probe in one.record.get("probes") or ():
        report: Mapping[str, Any] = probe.get("report") or {}
        delays, clocks = report.get("delays"), report.get("clocks") or {}
        if not delays or clocks.get("uneven") or clocks.get("clock_steps"):
            continue
        there, back = ("forward", "backward")
        if (probe.get("from"), probe.get("to")) == (server, host):
            there, back = back, there
        elif (probe.get("from"), probe.get("to")) != (host, server):
            continue
        return {
            "probe_jitter_to_server_seconds": delays[there]["jitter_ns"] / SECOND,
            "probe_jitter_from_server_seconds": delays[back]["jitter_ns"] / SECOND,
        }
    return {}


def _two_point(table: pa.Table | None, workload: str) -> float | None:
    """The jitter of the direction in which most data frames went."""
    if table is None or "workload" not in table.column_names:
        return None
    own = table.filter(pc.fill_null(pc.equal(table["workload"], workload), False))
    # Moments have nanoseconds, which Python's own do not: only what is needed becomes rows.
    rows = [row for row in own.select(_DELAYS).to_pylist() if row[_DELAYS[-1]] is not None]
    by_sender: dict[str, list[Row]] = {}
    for row in rows:
        by_sender.setdefault(row["sender"], []).append(row)
    if not by_sender:
        return None
    busiest = max(by_sender.values(), key=lambda held: (_frames(held), held[0]["sender"]))
    # Of long connections each has a spread of its own; of short ones only their medians have.
    if len(busiest) >= _MANY and _frames(busiest) < _SHORT * len(busiest):
        medians = [(row["owd_increase_p50_ns"], row["data_frames_delivered"]) for row in busiest]
        return (_weighted(medians, 0.95) - _weighted(medians, 0.5)) / SECOND
    frames = _frames(busiest)
    spreads = sum(
        (row["owd_increase_p95_ns"] - row["owd_increase_p50_ns"]) * row["data_frames_delivered"]
        for row in busiest
    )
    return spreads / frames / SECOND if frames else None


def _frames(rows: Sequence[Row]) -> int:
    return sum(row["data_frames_delivered"] or 0 for row in rows)


def _weighted(values: Sequence[tuple[float, float]], share: float) -> float:
    """The value below which this share of the weight lies."""
    total, below = sum(weight for _, weight in values), 0.0
    for value, weight in sorted(values):
        below += weight
        if below >= share * total:
            return value
    return max(value for value, _ in values)


def _round_trips(table: pa.Table | None, workload: str, point: str | None) -> float | None:
    """Mean over the transfers of p90 − p50 of their RTT, each by its samples."""
    columns = ("capture", "workload", "rtt_samples", "rtt_p50_ns", "rtt_p90_ns")
    if table is None or point is None or not set(columns) <= set(table.column_names):
        return None
    rows = [
        row
        for row in table.select(columns).to_pylist()
        if row["workload"] == workload and row["capture"] == point and row["rtt_p90_ns"] is not None
    ]
    samples = sum(row["rtt_samples"] for row in rows)
    if not samples:
        return None
    spreads = sum((row["rtt_p90_ns"] - row["rtt_p50_ns"]) * row["rtt_samples"] for row in rows)
    return float(spreads / samples / SECOND)
