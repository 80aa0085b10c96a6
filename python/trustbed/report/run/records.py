"""The records of a run's report, and their JSON.

Numbers are in base units, unknown is ``None``. Findings, sessions, inputs, factors and the host are
JSON as their files hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field, to_builtins

from trustbed.report.records import Json, Row


class Estimate(Struct, frozen=True, kw_only=True):
    """A mean or median, its interval, and what the interval is from: repetitions or requests."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    basis: str | None = None

    def json(self, name: str, unit: str) -> Json:
        """Its keys: ``NAME_UNIT``, ``NAME_low_UNIT``, ``NAME_high_UNIT``, ``NAME_basis``."""
        return {
            f"{name}_{unit}": self.value,
            f"{name}_low_{unit}": self.low,
            f"{name}_high_{unit}": self.high,
            f"{name}_basis": self.basis,
        }


class Slowdown(Struct, frozen=True, kw_only=True):
    """A quantile (of the mean: ``None``) over the baseline's median, with its interval."""

    share: float | None
    ratio: float | None
    low: float | None
    high: float | None
    basis: str | None


class Increase(Struct, frozen=True, kw_only=True):
    """How much longer requests take than the mean of the baseline, and the baseline itself."""

    increase_mean_percent: float | None
    increase_sd_percent: float | None
    baseline_median_seconds: float | None
    baseline_requests: int


class MeanAndDeviation(Struct, frozen=True, kw_only=True):
    """Mean and standard deviation over repetitions, and how many had a value."""

    mean: float | None = None
    sd: float | None = None
    count: int = 0


class Bandwidth(Struct, frozen=True, kw_only=True):
    """An estimator of available bandwidth: its error in percent, and rates in bit/s.

    ``low`` and ``high`` are the bounds of pathload, ``available`` is that of the ledger.
    """

    error: MeanAndDeviation
    low: MeanAndDeviation
    high: MeanAndDeviation
    estimate: MeanAndDeviation
    available: MeanAndDeviation

    def json(self) -> Json:
        """Its keys: ``NAME_mean_UNIT``, ``NAME_sd_UNIT``, ``NAME_repetitions``."""
        found: Json = {}
        for name in self.__struct_fields__:
            one, unit = getattr(self, name), "percent" if name == "error" else "bits_per_second"
            found[f"{name}_mean_{unit}"] = one.mean
            found[f"{name}_sd_{unit}"] = one.sd
            found[f"{name}_repetitions"] = one.count
        return found


class RepetitionResult(Struct, frozen=True, kw_only=True):
    """The result of one repetition; ``mean`` is in the unit of the result."""

    directory: str
    requests: int | None = None
    failed: int = 0
    median: float | None = None
    mean: float | None = None


class Limit(Struct, frozen=True, kw_only=True):
    """A cause and verdict, and the number of transfers that have them."""

    cause: str
    verdict: str
    count: int


_UNITS = {
    "throughput": "bits_per_second",
    "video_rate": "bits_per_second",
    "estimation_error": "percent",
}
"""The units of measures that are no times."""


class PlayoutResult(Struct, frozen=True, kw_only=True):
    """What a player showed, as means over the repetitions.

    Frames, parts and the share of seconds with at least the media's rate are those of media
    streams, switches and missing chunks those of videos; each is ``None`` for the other.
    """

    start_up_seconds: float | None
    stalls: float | None
    stall_seconds: float | None
    rebuffer_ratio: float | None
    lost_frames_share: float | None = None
    late_parts_share: float | None = None
    adequate_share: float | None = None
    switches: float | None = None
    missing_chunks: float | None = None


class WorkloadResult(Struct, frozen=True, kw_only=True):
    """The results of a workload in a cell.

    ``measure`` is ``response_time``, ``mean_response_time``, ``throughput``, ``jitter`` (p95 − p50
    of the one-way delay), ``video_rate``, ``estimation_error`` (in percent), or ``None`` if nothing
    was measured. ``from_requests``: computed from single requests, not printed by the program.
    ``playout`` is what a player showed.
    """

    name: str
    kind: str
    measure: str | None = None
    repetitions: int = 0
    flags: Sequence[str] = ()
    from_requests: bool = False
    requests: int | None = None
    failed: int | None = None
    dropped_at_start: int | None = None
    quantiles: Mapping[float, float | None] = {}
    per_repetition: Sequence[RepetitionResult] = ()
    cdf: Sequence[Sequence[float]] = ()
    slowdown: Sequence[Slowdown] = ()
    median: Estimate | None = None
    mean: Estimate | None = None
    increase: Increase | None = None
    bandwidth: Bandwidth | None = None
    transfers: Sequence[Limit] = ()
    rtt_mean_seconds: float | None = None
    playout: PlayoutResult | None = None

    @property
    def is_rate(self) -> bool:
        """Whether the result is a rate."""
        return self.measure in ("throughput", "video_rate")

    @property
    def is_error(self) -> bool:
        """Whether the result is the error of an estimator in percent."""
        return self.measure == "estimation_error"

    @property
    def unit(self) -> str:
        """The unit of the result, as it ends the names of keys."""
        return _UNITS.get(self.measure or "", "seconds")

    @property
    def middle_name(self) -> str:
        """The estimate that represents the result: ``median`` or ``mean``."""
        return "median" if self.measure == "response_time" else "mean"

    @property
    def middle(self) -> Estimate:
        """That estimate; its value is ``None`` where there is none."""
        return (self.median if self.measure == "response_time" else self.mean) or Estimate()

    def json(self) -> Json:
        """The keys that this kind of result has."""
        found: Json = {
            "name": self.name,
            "kind": self.kind,
            "measure": self.measure,
            "repetitions": self.repetitions,
            "flags": list(self.flags),
        }
        if self.measure == "response_time":
            found |= self._response_times()
        elif self.measure is not None:
            found |= self._scalar(self.unit)
        if self.bandwidth is not None:
            found["bandwidth"] = self.bandwidth.json()
        found["transfers"] = _plain(self.transfers)
        found["rtt_mean_seconds"] = self.rtt_mean_seconds
        if self.playout is not None:
            found["playout"] = to_builtins(self.playout)
            if self.measure == "jitter":
                found["cdf"] = [list(step) for step in self.cdf]
        return found

    def _response_times(self) -> Json:
        found: Json = {"requests": self.requests, "failed": self.failed}
        quantiles = {share: _quantile(share, value) for share, value in self.quantiles.items()}
        if self.from_requests:
            found["dropped_at_start"] = self.dropped_at_start
            for one in quantiles.values():
                found |= one
        keys = ("median", "mean") if self.from_requests else ("median",)
        found["per_repetition"] = [
            {
                "directory": one.directory,
                "requests": one.requests,
                "failed": one.failed,
                **{f"{key}_seconds": getattr(one, key) for key in keys},
            }
            for one in self.per_repetition
        ]
        found["cdf"] = [list(step) for step in self.cdf]
        found["slowdown"] = _plain(self.slowdown)
        median = {} if self.median is None else self.median.json("median", "seconds")
        if not self.from_requests:
            quantiles |= {0.5: median}
            for share in sorted(quantiles):
                found |= quantiles[share]
            return found
        mean = {} if self.mean is None else self.mean.json("mean", "seconds")
        return found | median | mean | (to_builtins(self.increase) if self.increase else {})

    def _scalar(self, unit: str) -> Json:
        return {
            "failed": self.failed,
            "per_repetition": [
                {"directory": one.directory, f"mean_{unit}": one.mean}
                for one in self.per_repetition
            ],
            **(self.mean or Estimate()).json("mean", unit),
            "slowdown": _plain(self.slowdown),
        }


def _plain(records: Sequence[Struct]) -> list[Json]:
    return [to_builtins(one) for one in records]


def _quantile(share: float, value: float | None) -> Json:
    return {f"p{round(100 * share)}_seconds": value}


class Users(Struct, frozen=True, kw_only=True):
    """What the users of a traffic model did: sums over all repetitions, and mean rates.

    Attributes:
        sessions: Sessions begun, or going on at the start.
        connections: Connections opened.
        failed: Of these, refused or cut off.
        most_open: Open at the same time, at most.
        server_bits_per_second: Payload that servers sent, over the whole duration.
        client_bits_per_second: Payload that clients sent.
    """

    sessions: int
    connections: int
    failed: int
    most_open: int
    server_bits_per_second: float | None
    client_bits_per_second: float | None


class Background(Struct, frozen=True, kw_only=True):
    """Offered and received traffic of a background source, over all repetitions.

    ``users`` is what those of a model did, ``None`` for other sources.
    """

    name: str
    from_: str | None = field(name="from")
    to: str | None
    transport: str | None
    release: str | None
    repetitions: int
    offered_packets: int | None
    arrived_packets: int | None
    offered_bits_per_second: float | None
    loss_share: float | None
    loss_low: float | None
    loss_high: float | None
    late_p99_seconds: float | None
    late_max_seconds: float | None
    users: Users | None = None


class Pipe(Struct, frozen=True, kw_only=True):
    """A pipe of the emulator: means over the repetitions, and the deepest queue of all."""

    name: str
    from_: str | None = field(name="from")
    to: str | None
    packets: int
    carried_bits_per_second: float | None
    queue_p50_seconds: float | None
    queue_p99_seconds: float | None
    queue_max_seconds: float | None
    deepest_queue_packets: int | None
    dropped: Mapping[str, int]
    dropped_share: float | None


class Burstiness(Struct, frozen=True, kw_only=True):
    """Burstiness at a capture point: means over the repetitions."""

    capture: str
    mean_rate_bits_per_second: float | None
    max_q_mean_bytes: float | None
    max_q_max_bytes: float | None
    abw_max_bits_per_second: float | None


class CellResults(Struct, frozen=True, kw_only=True):
    """A cell with its results; ``only_discarded``: no repetition of it may be used."""

    number: int
    label: str
    levels: Mapping[str, str]
    baseline: int | None
    planned: int = 0
    counted: int = 0
    only_discarded: bool = False
    uses: Mapping[str, int] = {}
    workloads: Sequence[WorkloadResult] = ()
    backgrounds: Sequence[Background] = ()
    pipes: Sequence[Pipe] = ()
    burstiness: Sequence[Burstiness] = ()

    @property
    def is_baseline(self) -> bool:
        """Whether it is its own baseline."""
        return self.number == self.baseline


class Emulator(Struct, frozen=True, kw_only=True):
    """The emulator's departure error."""

    p50_seconds: float | None
    p99_seconds: float | None
    max_seconds: float | None
    late_share: float | None
    overdue_share: float | None
    priority: Any


class WorkloadOutcome(Struct, frozen=True, kw_only=True):
    """How a workload of a repetition ended."""

    name: str | None
    outcome: str | None
    reason: str | None
    seconds: float | None


class RepetitionSummary(Struct, frozen=True, kw_only=True):
    """A repetition: its use and why, its findings, its emulator's departure error."""

    directory: str
    number: int
    cell: int
    label: str
    round: int
    seed: int
    complete: bool
    outcome: str | None
    use: str
    why: str
    verdicts: Mapping[str, int]
    findings: Sequence[Row]
    transfers: Sequence[Limit]
    started: str | None
    seconds: float | None
    emulator: Emulator
    workloads: Sequence[WorkloadOutcome]


class PipeOverTime(Struct, frozen=True, kw_only=True):
    """The queue of a pipe, slice by slice."""

    name: str
    slice_seconds: float
    t: Sequence[float]
    packets_max: Sequence[int]
    packets_mean: Sequence[float]
    lost: Sequence[int]


class Application(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workload over time: its requests, or its throughput (``bits_per_second``)."""

    name: str
    measure: str
    t: Sequence[float]
    seconds: Sequence[float] | None = None
    failed_t: Sequence[float] | None = None
    requests: int | None = None
    bits_per_second: Sequence[float] | None = None


class OverTime(Struct, frozen=True, kw_only=True):
    """A repetition over time, in seconds since its beginning."""

    directory: str
    duration_seconds: float
    pipes: Sequence[PipeOverTime]
    applications: Sequence[Application]


class CellOverTime(Struct, frozen=True, kw_only=True):
    """A cell, and its repetition that is shown over time."""

    cell: int
    label: str
    shown: OverTime


class RunSummary(Struct, frozen=True, kw_only=True):
    """The run: name, question, seed; how many repetitions are complete, judged, by use."""

    directory: str
    name: str | None
    about: str | None
    file: str | None
    sha256: str | None
    seed: int | None
    rounds: int | None
    planned: int
    complete: int
    judged: int
    uses: Mapping[str, int]
    inputs: Sequence[Row]
    sessions: Sequence[Row]
    failed_workloads: int


class RunModel(Struct, frozen=True, kw_only=True):
    """Everything that the reports of a run show."""

    schema_version: int
    run: RunSummary
    host: Row
    factors: Sequence[Row]
    cells: Sequence[CellResults]
    repetitions: Sequence[RepetitionSummary]
    queues: Sequence[CellOverTime]

    def json(self) -> Json:
        """What ``trustbed report --json`` prints."""
        return {
            "schema_version": self.schema_version,
            "run": to_builtins(self.run),
            "host": dict(self.host),
            "factors": list(self.factors),
            "cells": [cell_json(cell) for cell in self.cells],
            "repetitions": to_builtins(self.repetitions),
            "queues": [
                {"cell": one.cell, "label": one.label, **to_builtins(one.shown)}
                for one in self.queues
            ],
        }


def cell_json(cell: CellResults) -> Json:
    """A cell, its workloads with the keys that each has."""
    found: Json = {name: getattr(cell, name) for name in cell.__struct_fields__}
    found["workloads"] = [one.json() for one in cell.workloads]
    plain: Json = to_builtins(found)
    return plain
