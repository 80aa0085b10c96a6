"""Judges a repetition: its captures and its record; writes the tables of its results.

Everything here is derived from the raw part of a run directory and can be computed again. Captures
are judged like any other, with what the scenario states about them: the capture point, the kind of
workload, the rate of the narrowest link, and the capture at the other end.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from trustbed import __version__, _core
from trustbed.analysis.burst import burst
from trustbed.analysis.capture import Capture, analyze
from trustbed.analysis.options import CapturePoint
from trustbed.diagnose.judge import HostOf
from trustbed.diagnose.run_findings import run_findings, use
from trustbed.findings import Finding
from trustbed.report.moments import for_text_mapping
from trustbed.report.schemas import column, from_rows
from trustbed.run import available_bandwidth, calls
from trustbed.run import workload_results as results
from trustbed.run.directory import RunDirectory
from trustbed.run.generated_starts import measured
from trustbed.run.host_evidence import host_of
from trustbed.run.two_point import JoinedCaptures
from trustbed.scenario import Scenario
from trustbed.scenario.bottleneck import path
from trustbed.scenario.model import Workload
from trustbed.scenario.owners import owner
from trustbed.workload.estimates import Available

_ETHERNET_BYTES = 14
_PACKET_BYTES = 1500


def judge(directory: RunDirectory, repetition: str, scenario: Scenario) -> dict[str, Any]:
    """Writes the tables and findings of a complete repetition; returns the findings."""
    record = directory.record(repetition)
    path = directory.repetition(repetition)
    with directory.judging(repetition) as tables:
        files = _files(path)
        joined = JoinedCaptures(files, scenario)
        hosts = host_of(record, path, scenario)
        captures = [
            _Judged(point, file, scenario, joined.host_of(point, hosts))
            for point, file in files.items()
        ]
        _write_tables(captures, tables)
        _write_burstiness(captures, scenario, tables / "burstiness.parquet")
        joined.write(tables / "two_point.parquet")
        unread = _write_results(record, path, tables, scenario)
        calls.offer(record, path, tables)
    findings = run_findings(measured(record, path / "logs", scenario.warm_up_ns))
    verdicts = Counter({"trust": 0, "review": 0, "discard": 0, "not_judged": 0})
    for capture in captures:
        verdicts.update(capture.verdicts)
    judged = {verdict: count for verdict, count in verdicts.items() if verdict != "not_judged"}
    may, why = use(
        [*findings, *(finding for capture in captures for finding in capture.grave)], judged
    )
    found = {
        "trustbed": {"version": __version__},
        "use": may,
        "why": why,
        "verdicts": dict(verdicts),
        "findings": [asdict(finding) for finding in findings]
        + [row for capture in captures for row in capture.findings],
        "captures": [capture.description for capture in captures],
        "unread_results": unread,
        "unjoined_captures": joined.unjoined,
        "malformed_samples": record.get("malformed_samples", {}),
    }
    directory.write_findings(repetition, found)
    return found


def capture_of(directory: RunDirectory, repetition: str, scenario: Scenario, point: str) -> Capture:
    """One capture of a complete repetition, judged as :func:`judge` does; writes nothing.

    Raises:
        CaptureError: The capture cannot be read.
        KeyError: There is no capture of that point.
    """
    path = directory.repetition(repetition)
    files = _files(path)
    hosts = host_of(directory.record(repetition), path, scenario)
    joined = JoinedCaptures(files, scenario)
    return _analyzed(point, files[point], scenario, joined.host_of(point, hosts))


def _files(path: Path) -> dict[str, Path]:
    """The captures of a repetition by their points."""
    captures = sorted((path / "captures").glob("*.pcapng"))
    return {file.name.removesuffix(".pcapng"): file for file in captures}


def _analyzed(point: str, file: Path, scenario: Scenario, hosts: HostOf) -> Capture:
    return analyze(
        str(file),
        at=_capture_point(point, scenario),
        workload=_judged_as(scenario),
        capacity=capacity(scenario),
        workers=1,
        host_of=hosts,
    )


class _Judged:
    """A capture of a repetition, judged with what the scenario states about it."""

    def __init__(self, point: str, file: Path, scenario: Scenario, hosts: HostOf) -> None:
        self.point = point
        self.file = file
        self._scenario = scenario
        self._capture: Capture | None = None
        self._error: str | None = None
        try:
            self._capture = _analyzed(point, file, scenario, hosts)
            self._transfers = self._capture.transfers
        except _core.CaptureError as error:
            self._error = error.message

    @property
    def table(self) -> pa.Table | None:
        """Its transfers, each with its capture and its workload."""
        if self._capture is None:
            return None
        return self._named(self._transfers.add_column(0, _workload_field(), [self._owners]))

    @property
    def connections(self) -> pa.Table | None:
        """Its connections, each with its capture and its workload: packets of both directions."""
        if self._capture is None:
            return None
        table = self._capture.connections
        columns = ("initiator", "initiator_port", "responder", "responder_port")
        return self._named(
            table.add_column(0, _workload_field(), [self._owners_of(table, columns)])
        )

    def part(self, name: str) -> pa.Table | None:
        """Another table of its transfers, each row with its capture."""
        return None if self._capture is None else self._named(self._capture.stream(name).read_all())

    def _named(self, table: pa.Table) -> pa.Table:
        points = pa.array([self.point] * len(table), pa.string())
        return table.add_column(
            0, _field("capture", "host beside which it was captured, or router"), [points]
        )

    @property
    def _owners(self) -> pa.Array:
        return self._owners_of(self._transfers, ("src", "src_port", "dst", "dst_port"))

    def _owners_of(self, table: pa.Table, columns: Sequence[str]) -> pa.Array:
        rows = zip(*(table.column(name).to_pylist() for name in columns), strict=True)
        return pa.array([owner(self._scenario, *row) for row in rows], pa.string())

    @property
    def verdicts(self) -> Mapping[str, int]:
        """The number of transfers of workloads with each verdict."""
        if self._capture is None:
            return {}
        names = zip(
            self._owners.to_pylist(), self._transfers.column("verdict").to_pylist(), strict=True
        )
        return Counter(verdict for name, verdict in names if name is not None)

    @property
    def grave(self) -> list[Finding]:
        """The errors that concern the whole capture."""
        if self._capture is None:
            return []
        return [
            one
            for one in self._capture.judgement.findings
            if one.scope == "capture" and one.severity == "error"
        ]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """All its findings, with the name of the capture."""
        if self._capture is None:
            return []
        return [
            {"capture": self.point, **asdict(finding)}
            for finding in self._capture.judgement.findings
        ]

    @property
    def description(self) -> dict[str, Any]:
        """Its capture point, file and extent, for ``findings.json``."""
        facts = {} if self._capture is None else for_text_mapping(self._capture.facts)
        keys = ("records", "packets", "first", "last")
        return {
            "point": self.point,
            "file": f"captures/{self.file.name}",
            "bytes": self.file.stat().st_size,
            "sha256": _sha256(self.file),
            "error": self._error,
            **{key: facts.get(key) for key in keys},
        }


def _capture_point(point: str, scenario: Scenario) -> CapturePoint | None:
    """The capture point relative to the workload's data, if it is the same for all of it."""
    point = scenario.beside(point)
    if any(workload.estimator is not None for workload in scenario.workloads):
        return None  # its control connection is the only transfer, with data in both directions
    if any(
        one.transport == "tcp" and not one.silent and point in (one.source, one.to)
        for one in scenario.backgrounds
    ):
        return None  # TCP data of the background may flow in the other direction
    if point in scenario.routers:
        return "middle"
    senders = {workload.data_from for workload in scenario.workloads}
    ends = {name for workload in scenario.workloads for name in (workload.host, workload.to)}
    if senders == {point}:
        return "sender"
    if (
        None not in senders
        and point not in senders
        and point in ends
        and len(scenario.workloads) == 1
    ):
        return "receiver"
    return None


def _judged_as(scenario: Scenario) -> Any:  # noqa: ANN401 - a literal or nothing
    """The kind of workload to assume in the judgement, if all workloads share it."""
    kinds = {workload.judged_as for workload in scenario.workloads}
    return kinds.pop() if len(kinds) == 1 else None


def capacity(scenario: Scenario) -> int | None:
    """The rate of the narrowest link on the way of the workloads' data, in full IP packets.

    ``None`` where a rate changes, where there are several paths or no rate, and where data flow on
    several ways of different rates, or it is not known which way they flow.
    """
    # With several links the emulator chooses the path.
    if len(scenario.links) != 1:
        return None
    rates = {
        _narrowest(scenario, source, target)
        for workload in scenario.workloads
        for source, target in _ways(scenario, workload)
    }
    narrowest = rates.pop() if len(rates) == 1 else None
    if narrowest is None:
        return None
    return narrowest * _PACKET_BYTES // (_PACKET_BYTES + _ETHERNET_BYTES)


def _ways(scenario: Scenario, workload: Workload) -> list[tuple[str, str]]:
    """Where data may flow; a command's, which names no other end, to any host and back."""
    others = [host.name for host in scenario.hosts if host.name != workload.host]
    ends = others if workload.to is None else [workload.to]
    ways = [way for end in ends for way in ((workload.host, end), (end, workload.host))]
    return [way for way in ways if workload.data_from in (None, way[0])]


def _narrowest(scenario: Scenario, source: str, target: str) -> int | None:
    passed = [
        available_bandwidth.direction(scenario, edge) for edge in path(scenario, source, target)
    ]
    if any(one.rate_steps or one.rate_trace is not None for one in passed):
        return None
    rates = [one.rate for one in passed if one.rate is not None]
    sender = next(host for host in scenario.hosts if host.name == source)
    if sender.egress is not None:
        rates.append(sender.egress.rate)
    return min(rates, default=None)


def _write_tables(captures: Sequence[_Judged], directory: Path) -> None:
    """Writes connections and transfers of all captures, and what the transfers' time went to."""
    held = {
        "connections": [capture.connections for capture in captures],
        "transfers": [capture.table for capture in captures],
        "phases": [capture.part("phases") for capture in captures],
        "exchanges": [capture.part("exchanges") for capture in captures],
    }
    for name, parts in held.items():
        tables = [table for table in parts if table is not None]
        if tables:
            pa.parquet.write_table(
                pa.concat_tables(tables),
                directory / f"{name}.parquet",
                compression="zstd",
                version="2.6",
            )


BURSTINESS = pa.schema(
    [
        column(
            "capture", pa.string(), "", "host beside which it was captured; what it sent counts"
        ),
        column("packets", pa.int64(), "1", "packets that it sent"),
        column("mean_rate_bits_per_second", pa.float64(), "bit/s", "their mean rate"),
        column(
            "abw_max_bits_per_second",
            pa.float64(),
            "bit/s",
            "the largest average rate of a window of 100 ms",
        ),
        column(
            "max_q_mean_bytes",
            pa.float64(),
            "B",
            "burstiness, mean over the windows: the longest queue at the window's own average rate",
        ),
        column("max_q_max_bytes", pa.float64(), "B", "burstiness, the largest of a window"),
    ]
)
"""The burstiness of the hosts that send background traffic."""


def _write_burstiness(captures: Sequence[_Judged], scenario: Scenario, path: Path) -> None:
    """One row per capture beside a UDP background source: the spacing is the generator's own."""
    sources = {
        one.source for one in scenario.backgrounds if not one.silent and one.transport == "udp"
    }
    rows = []
    for capture in captures:
        addresses = scenario.host(capture.point).addresses if capture.point in sources else ()
        if len(addresses) != 1 or capture.table is None:
            continue
        sent = burst(
            capture.file, only=("windows",), filter=f"src host {addresses[0]}", workers=1
        ).model
        known = {**sent, **(sent["summary"] or {})}
        rows.append(
            {
                **{field.name: known.get(field.name) for field in BURSTINESS},
                "capture": capture.point,
            }
        )
    if rows:
        pa.parquet.write_table(from_rows(rows, BURSTINESS), path, compression="zstd", version="2.6")


def _write_results(
    record: Mapping[str, Any], path: Path, target: Path, scenario: Scenario
) -> dict[str, str]:
    """Writes the tables of every workload; returns why results could not be read, by workload."""
    unread = {}
    for workload in record["workloads"]:
        planned = next((one for one in scenario.workloads if one.name == workload["name"]), None)
        available, unknown = _available(workload, planned, path, scenario)
        tables, why_not = results.tables_of(workload, path, available, planned)
        why_not = why_not or unknown
        for name, table in tables.items():
            pa.parquet.write_table(
                table,
                target / f"{workload['name']}.{name}.parquet",
                compression="zstd",
                version="2.6",
            )
        if why_not is not None:
            unread[workload["name"]] = why_not
    return unread


def _available(
    workload: Mapping[str, Any], planned: Workload | None, path: Path, scenario: Scenario
) -> tuple[Available | None, str | None]:
    """The bandwidth that an estimator should have found; if that is unknown, the reason."""
    report = workload.get("report") or {}
    # Moments of estimates count from the first run, which comes after connecting and sounding.
    begin = report.get("begun_ns") or report.get("start_ns")
    end = report.get("end_ns")
    if planned is None or planned.estimator is None or begin is None or end is None:
        return None, None
    try:
        return available_bandwidth.read(planned, scenario, path, begin_ns=begin, end_ns=end), None
    except available_bandwidth.BandwidthUnknownError as unknown:
        return None, f"the available bandwidth is not known: {unknown}"


def _workload_field() -> pa.Field:
    return _field("workload", "name of the workload that it belongs to; null for others")


def _field(name: str, meaning: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata={"unit": "", "meaning": meaning})


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
