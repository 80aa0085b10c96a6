"""Reads a run directory: its repetitions, their records and findings, the results of workloads.

What is missing is ``None`` or empty (a killed run, a repetition that was not judged, a workload
that crashed); a damaged file is an error that names it. Large tables are read on demand and not
cached.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from trustbed.report.records import Row
from trustbed.run import former
from trustbed.run.directory import FINDINGS, HOST, RECORD, TABLES, RunDirectory, RunDirectoryError
from trustbed.workload import Responses, steady_rows

SECOND = 1e9
_RATES = (
    "received_bits_per_second",
    "goodput_bits_per_second",
    "bits_per_second",
    "sent_bits_per_second",
)
_BANDWIDTH = ("low", "high", "estimate", "available")
_MEANS = ("response_mean_ns", "latency_mean_ns", "connection_mean_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The results of one workload in one repetition.

    It has response times, percentiles, a rate, a mean, a jitter or a video rate, depending on what
    its program reports.

    Attributes:
        responses: Response times, request by request.
        percentiles: Shares of the requests and the response times that they do not exceed.
        rate: Throughput in bit/s.
        mean: Mean response time in seconds, of programs that print nothing finer.
        requests: How many requests were completed, as far as it is known.
        failed: How many failed.
        error: Error of an estimator of available bandwidth in percent.
        bandwidth: Its bounds, its estimate and the available bandwidth, as far as they are known.
        jitter: 95th percentile of the one-way delay minus its median, in seconds, of media streams.
        video_rate: Mean rate of the chunks of a video, in bit/s.
        playout: The row of what was shown, of media streams and videos.
        gaps: The time between each packet of a media stream and the one before, in seconds.
    """

    responses: Responses | None = None
    percentiles: Mapping[float, float] = field(default_factory=dict)
    rate: float | None = None
    mean: float | None = None
    requests: int | None = None
    failed: int = 0
    error: float | None = None
    bandwidth: Mapping[str, float] = field(default_factory=dict)
    jitter: float | None = None
    video_rate: float | None = None
    playout: Row | None = None
    gaps: Sequence[float] = ()


class Repetition:
    """One repetition of a run: its position in the order, and what is in its subdirectory."""

    def __init__(self, directory: RunDirectory, point: Row, *, is_baseline: bool = False) -> None:
        self._directory = directory
        self._cache: dict[str, Measured | None] = {}
        self.is_baseline = is_baseline
        self.directory: str = point["directory"]
        self.cell: int = point["cell"]
        self.round: int = point["round"]
        self.seed: int = point["seed"]
        self.number: int = point["number"]
        self.complete = directory.is_complete(self.directory)
        self.judged = self.complete and directory.is_judged(self.directory)

    @property
    def path(self) -> Path:
        """Its subdirectory."""
        return self._directory.repetition(self.directory)

    @cached_property
    def record(self) -> Row:
        """The record of the repetition; empty if it is not complete."""
        return _json(self.path / RECORD) if self.complete else {}

    @cached_property
    def findings(self) -> Row:
        """The findings; empty if it was not judged."""
        return _json(self.path / FINDINGS) if self.judged else {}

    @property
    def use(self) -> str:
        """``trust``, ``review`` or ``discard``.

        ``not_judged`` and ``missing`` where no verdict was possible.
        """
        return "missing" if not self.complete else str(self.findings.get("use") or "not_judged")

    @property
    def counts(self) -> bool:
        """Whether its numbers count in results."""
        return self.complete and self.use != "discard"

    @property
    def workloads(self) -> Sequence[Row]:
        """The results of every workload, in the order of the scenario."""
        return self.record.get("workloads") or ()

    def workload(self, name: str) -> Row:
        """The record of one workload; empty if it did not run."""
        return next((one for one in self.workloads if one["name"] == name), {})

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table | None:
        """A derived table by its name, or these columns of it; ``None`` if there is none."""
        path = self.path / TABLES / f"{name}.parquet"
        if not path.is_file():
            return None
        try:
            return pa.parquet.read_table(path, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, error) from None

    @cached_property
    def transfers(self) -> list[Row]:
        """Verdict, cause and mean RTT of every transfer of a workload that was judged."""
        table = self.table("transfers")
        columns = ("workload", "verdict", "cause")
        if table is None or not set(columns) <= set(table.column_names):
            return []
        known = [name for name in (*columns, "rtt_mean_ns") if name in table.column_names]
        rows: list[Row] = table.select(known).to_pylist()
        return [
            row for row in rows if row["workload"] is not None and row["verdict"] != "not_judged"
        ]

    def measured(self, workload: str) -> Measured | None:
        """The results of a workload; ``None`` if it has none.

        Cached for baselines, which many cells are compared with.
        """
        if workload in self._cache:
            return self._cache[workload]
        found = self._measured(workload)
        if self.is_baseline:
            self._cache[workload] = found
        return found

    def _measured(self, workload: str) -> Measured | None:
        shown = self.table(f"{workload}.playout")
        if shown is not None:
            return _played(shown.to_pylist(), self.table(f"{workload}.packets"))
        summary = self.table(f"{workload}.summary")
        reported = summary.to_pylist() if summary is not None and summary.num_rows else []
        first = reported[0] if reported else {}
        if "error_percent" in first:
            return _estimated(first)
        requests = self.table(f"{workload}.requests")
        if requests is not None and requests.num_rows:
            return _requests(requests, first, self._discarded_seconds(workload))
        percentiles = self.table(f"{workload}.percentiles")
        if percentiles is not None and percentiles.num_rows:
            known = {
                row["share"]: row["response_ns"] / SECOND
                for row in percentiles.to_pylist()
                if row["response_ns"] is not None
            }
            return Measured(
                percentiles=known, requests=first.get("requests"), failed=_failed(first)
            )
        rate = _rate(reported)
        if rate is not None:
            return Measured(rate=rate)
        mean = next((first[name] / SECOND for name in _MEANS if first.get(name) is not None), None)
        return (
            None
            if mean is None
            else Measured(mean=mean, requests=first.get("replies"), failed=_failed(first))
        )

    def _discarded_seconds(self, workload: str) -> float:
        return float(self.workload(workload).get("discard_seconds") or 0.0)


class Run:
    """A run directory, complete or not."""

    def __init__(self, path: Path) -> None:
        self.directory = RunDirectory(path)
        self.manifest = self.directory.manifest()
        try:
            self.cells: Sequence[Row] = [dict(cell) for cell in self.manifest["cells"]]
            quiet = {cell.get("baseline") for cell in self.cells}
            self.repetitions = [
                Repetition(self.directory, point, is_baseline=point["cell"] in quiet)
                for point in self.manifest["order"]
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise RunDirectoryError(
                f"manifest is incomplete, {path}: {error}",
                "restore it, or run into a new directory",
            ) from None

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    @cached_property
    def host(self) -> Row:
        """The facts about the machine."""
        path = self.path / HOST
        return _json(path) if path.is_file() else {}

    def of(self, cell: int) -> list[Repetition]:
        """The repetitions of a cell, in the order in which they were carried out."""
        return [one for one in self.repetitions if one.cell == cell]


def _requests(table: pa.Table, summary: Row, discarded_seconds: float) -> Measured:
    started = table["started"].null_count == 0 if "started" in table.column_names else False
    responses = steady_rows(table, warm_up=discarded_seconds if started else 0.0)
    failed = max(responses.failed, _failed(summary))
    return Measured(responses=responses, requests=len(responses.seconds), failed=failed)


def _played(playouts: Sequence[Row], packets: pa.Table | None) -> Measured | None:
    """What a player showed, and the number by which cells are compared.

    ``None`` where nothing of it came.
    """
    row = playouts[0] if playouts else {}
    spread, rate = row.get("delay_spread_ns"), row.get("mean_rate_bits_per_second")
    if spread is not None:
        known = [] if packets is None else packets["gap_ns"].drop_null().to_pylist()
        gaps = tuple(gap / SECOND for gap in known)
        return Measured(jitter=spread / SECOND, playout=row, gaps=gaps)
    if rate is not None:
        return Measured(video_rate=rate, failed=row.get("failed_requests") or 0, playout=row)
    return None


def _failed(summary: Row) -> int:
    columns = (
        "failed_requests",
        "failed_connect",
        "failed_read",
        "failed_write",
        "timeouts",
        "errors",
    )
    if summary.get("failed_requests") is not None:
        return int(summary["failed_requests"])
    return sum(int(summary.get(name) or 0) for name in columns)


def _estimated(summary: Row) -> Measured | None:
    """The error of an estimator; ``None`` if it estimated nothing."""
    known = {
        name: value
        for name in _BANDWIDTH
        if (value := summary.get(f"{name}_bits_per_second")) is not None
    }
    return (
        Measured(error=summary["error_percent"], bandwidth=known) if summary["estimates"] else None
    )


def _rate(rows: Sequence[Row]) -> float | None:
    """The throughput: the sum of several connections, or the first of two directions."""
    column = next((name for name in _RATES if rows and rows[0].get(name) is not None), None)
    if column is None:
        return None
    parts = rows if "connection" in rows[0] else rows[:1]
    return float(sum(row.get(column) or 0.0 for row in parts))


def _json(path: Path) -> Row:
    try:
        found = former.keys(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    if not isinstance(found, dict):
        raise _damaged(path, "it is no object")
    return found


def _damaged(path: Path, why: object) -> RunDirectoryError:
    hint = (
        "remove the subdirectory of this repetition and let trustbed run continue"
        if path.name == RECORD
        else "judge the repetition again"
    )
    return RunDirectoryError(f"cannot be read, {path}: {why}", hint)
