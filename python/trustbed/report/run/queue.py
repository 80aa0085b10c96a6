"""One repetition over time: the queue of each pipe (from the ledger) and the results of workloads.

Time is divided into slices. Each slice has the deepest queue that an arriving packet found, the
mean over all packets, and the number of lost packets. A slice without packets has no row, since the
depth of the queue is unknown then. The ledger is read in batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from trustbed.report.records import Json, Row
from trustbed.report.run.reading import SECOND, Repetition
from trustbed.report.run.records import Application, OverTime, PipeOverTime

_MOMENT = 1e-6
SLICES = 300
"""The number of slices of a repetition."""
PIPES = 3
"""The number of pipes shown per repetition: those with the deepest queues."""
POINTS = 900
"""The number of requests shown over time."""
LEDGER = "packets.parquet"
PASSED = frozenset({"passed", "inside"})
_COLUMNS = ("arrived_ns", "pipe", "found_packets", "fate")


def over_time(repetition: Repetition) -> OverTime | None:
    """The queues and the workloads' numbers of a repetition, in seconds since its beginning.

    To the end of the workloads: then hundreds of connections of a background are closed at once,
    and their packets queue where nothing else did. ``None`` if neither is known.
    """
    path = repetition.path / "ledger" / LEDGER
    extent = _extent(path) if path.is_file() else None
    begin = repetition.record.get("epoch_ns") or (extent[0] if extent else None)
    applications = [
        found
        for one in repetition.workloads
        if (found := _application(repetition, one, begin)) is not None
    ]
    ends = [found.t[-1] for found in applications if found.t]
    if begin is not None:
        ends += _ends(repetition, begin)
    if begin is not None and extent is not None:
        ledger = (extent[1] - begin) / SECOND
        # A moment more: the last packet of a ledger is at its end.
        ends = [min(ledger + _MOMENT, max(ends, default=ledger + _MOMENT))] if ledger > 0 else ends
    duration = max(ends, default=0.0)
    pipes = (
        _pipes(path, begin, duration)
        if begin is not None and extent is not None and duration > 0
        else []
    )
    if not pipes and not applications:
        return None
    return OverTime(
        directory=repetition.directory,
        duration_seconds=duration,
        pipes=pipes,
        applications=applications,
    )


def _ends(repetition: Repetition, begin: int) -> list[float]:
    """When workloads ended, in seconds since the beginning."""
    start = repetition.record.get("workload_start_ns")
    if start is None:
        return []
    return [
        (start - begin) / SECOND + float(one["seconds"])
        for one in repetition.workloads
        if one.get("seconds")
    ]


# The ledger.


def _batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pyarrow.parquet.ParquetFile(path) as file:
        known = [name for name in columns if name in file.schema_arrow.names]
        if len(known) == len(columns):
            yield from file.iter_batches(columns=known)


def _extent(path: Path) -> tuple[int, int] | None:
    """The arrival times of the first and the last packet."""
    ends: list[tuple[int, int]] = []
    for batch in _batches(path, ("arrived_ns",)):
        found = pc.min_max(batch.column(0)).as_py()
        if found["min"] is not None:
            ends.append((found["min"], found["max"]))
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None


def _pipes(path: Path, begin: int, duration: float) -> list[PipeOverTime]:
    width = max(1, math.ceil(duration * SECOND / SLICES))
    by_pipe: dict[str, dict[int, list[int]]] = {}
    for batch in _batches(path, _COLUMNS):
        for row in _sliced(batch, begin, width):
            if row["slice"] >= SLICES:
                continue
            totals = by_pipe.setdefault(str(row["pipe"]), {}).setdefault(row["slice"], [0] * 4)
            totals[0] = max(totals[0], row["found_packets_max"])
            totals[1] += row["found_packets_sum"]
            totals[2] += row["found_packets_count"]
            totals[3] += row["lost_sum"] or 0
    found = [_pipe(name, slices, width) for name, slices in sorted(by_pipe.items())]
    queued = [pipe for pipe in found if max(pipe.packets_max) > 1 or any(pipe.lost)]
    return sorted(queued, key=lambda pipe: (-max(pipe.packets_max), pipe.name))[:PIPES]


def _sliced(batch: pa.RecordBatch, begin: int, width: int) -> list[Json]:
    fate = batch.column("fate")
    words = fate.cast(pa.string()) if pa.types.is_dictionary(fate.type) else fate
    passed = (
        pc.is_in(words, value_set=pa.array(sorted(PASSED)))
        if pa.types.is_string(words.type)
        else pc.equal(words, 0)
    )
    pipe = batch.column("pipe")
    table = pa.table(
        {
            "pipe": pipe.cast(pa.string()),
            "slice": pc.cast(
                pc.divide(pc.subtract(batch.column("arrived_ns"), begin), width), pa.int64()
            ),
            "found_packets": batch.column("found_packets").cast(pa.int64()),
            "lost": pc.cast(pc.invert(passed), pa.int64()),
        }
    )
    aggregates = [
        ("found_packets", "max"),
        ("found_packets", "sum"),
        ("found_packets", "count"),
        ("lost", "sum"),
    ]
    rows: list[Json] = table.group_by(["pipe", "slice"]).aggregate(aggregates).to_pylist()
    return rows


def _pipe(name: str, slices: Mapping[int, Sequence[int]], width: int) -> PipeOverTime:
    occupied = sorted(slices)
    return PipeOverTime(
        name=name,
        slice_seconds=width / SECOND,
        t=[point * width / SECOND for point in occupied],
        packets_max=[slices[point][0] for point in occupied],
        packets_mean=[slices[point][1] / slices[point][2] for point in occupied],
        lost=[slices[point][3] for point in occupied],
    )


# The application.


def _application(repetition: Repetition, workload: Row, begin: int | None) -> Application | None:
    name = workload["name"]
    requests = repetition.table(f"{name}.requests")
    if (
        requests is not None
        and requests.num_rows
        and requests["started"].null_count < requests.num_rows
        and begin is not None
    ):
        return _thinned_requests(name, requests, begin)
    intervals = repetition.table(f"{name}.intervals")
    if intervals is not None and intervals.num_rows and "bits_per_second" in intervals.column_names:
        started = workload.get("started_ns") or repetition.record.get("workload_start_ns")
        return _rates(
            name,
            intervals,
            ((started - begin) / SECOND) if started is not None and begin is not None else 0.0,
        )
    return _seconds(repetition, workload, begin)


def _seconds(repetition: Repetition, workload: Row, begin: int | None) -> Application | None:
    """The throughput of a bulk workload in each second.

    It is the receiver's if there is only one bulk workload, otherwise the sender's.
    """
    bulk = [one for one in repetition.workloads if one.get("kind") == "bulk"]
    received = [
        one.get("report")
        for one in repetition.record.get("services") or ()
        if one.get("verb") == "bulk"
    ]
    report = (received[0] if len(bulk) == len(received) == 1 else workload.get("report")) or {}
    series = [
        one["payload_bytes_per_second"]
        for one in report.get("transfers") or ()
        if one.get("payload_bytes_per_second")
    ]
    started = report.get("start_ns") if workload.get("kind") == "bulk" else None
    if not series or started is None or begin is None:
        return None
    length = max(len(one) for one in series)
    return Application(
        name=workload["name"],
        measure="throughput",
        t=[(started - begin) / SECOND + second for second in range(length)],
        bits_per_second=[
            8 * sum(one[second] for one in series if second < len(one)) for second in range(length)
        ],
    )


def _thinned_requests(name: str, requests: pa.Table, begin: int) -> Application:
    """The response time of every request, at the time when it began; failed ones apart.

    If there are too many, the shortest and the longest of each slice.
    """
    starts = requests["started"].cast(pa.int64()).to_pylist()
    rows = sorted(
        ((start - begin) / SECOND, took)
        for start, took in zip(starts, requests["response_ns"].to_pylist(), strict=True)
        if start is not None
    )
    completed = [(moment, took / SECOND) for moment, took in rows if took is not None]
    shown = _extremes(completed) if len(completed) > POINTS else completed
    return Application(
        name=name,
        measure="response_time",
        t=[moment for moment, _ in shown],
        seconds=[took for _, took in shown],
        failed_t=[moment for moment, took in rows if took is None][:POINTS],
        requests=len(completed),
    )


def _extremes(rows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    width = -(-2 * len(rows) // POINTS)
    extremes: set[int] = set()
    for first in range(0, len(rows), width):
        indices = range(first, min(first + width, len(rows)))
        extremes |= {
            min(indices, key=lambda point: rows[point][1]),
            max(indices, key=lambda point: rows[point][1]),
        }
    return [rows[point] for point in sorted(extremes)]


def _rates(name: str, intervals: pa.Table, offset: float) -> Application:
    """The rate of each interval, streams of the same interval and direction summed.

    Of a test in both directions the first is shown, which is the result's.
    """
    rates: dict[tuple[int, int], float] = {}
    rows = intervals.to_pylist()
    sending = rows[0].get("sending") if rows else None
    for row in rows:
        if row.get("omitted") or row["bits_per_second"] is None or row.get("sending") != sending:
            continue
        span = (round(row["start_ns"] / 1e8), round(row["end_ns"] / 1e8))
        rates[span] = rates.get(span, 0.0) + row["bits_per_second"]
    spans = sorted(rates)
    return Application(
        name=name,
        measure="throughput",
        t=[offset + start / 10 for start, _ in spans],
        bits_per_second=[rates[span] for span in spans],
    )
