"""Judges a repetition: its captures as any capture is judged, its record by the findings about runs, its workload's results as tables.

Everything here is derived from the raw part of a run directory and can be made again. What is known of a capture in a testbed is used:
where it was taken, what the workload did, how fast the narrowest link is.
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
from trustbed.burstiness import burst
from trustbed.capture import Capture, analyze
from trustbed.diagnose.findings import Finding
from trustbed.diagnose.judge import HostOf
from trustbed.diagnose.run_findings import run_findings, use
from trustbed.ends import join
from trustbed.question import Place
from trustbed.report.moments import for_text_mapping
from trustbed.report.schemas import column, from_rows
from trustbed.run import results
from trustbed.run.directory import RunDirectory
from trustbed.scenario import Direction, Scenario
from trustbed.scenario.description import BACKGROUND_PORT
from trustbed.sending import host_of

_ETHERNET_BYTES = 14
_PACKET_BYTES = 1500


def judge(directory: RunDirectory, folder: str, scenario: Scenario) -> dict[str, Any]:
    """Writes the tables and findings of a complete repetition; returns the findings."""
    record = directory.record(folder)
    path = directory.repetition(folder)
    with directory.judging(folder) as tables:
        hosts = host_of(record, path, scenario)
        captures = [_Judged(file, scenario, hosts) for file in sorted((path / "captures").glob("*.pcapng"))]
        _write_transfers(captures, tables / "transfers.parquet")
        _write_burstiness(captures, scenario, tables / "burstiness.parquet")
        unjoined = _write_crossings(captures, scenario, tables / "crossings.parquet")
        unread = _write_results(record, path, tables)
    findings = run_findings(record)
    verdicts = Counter({"trust": 0, "review": 0, "discard": 0, "not_judged": 0})
    for capture in captures:
        verdicts.update(capture.verdicts)
    judged = {verdict: count for verdict, count in verdicts.items() if verdict != "not_judged"}
    may, why = use([*findings, *(finding for capture in captures for finding in capture.grave)], judged)
    found = {
        "trustbed": {"version": __version__},
        "use": may,
        "why": why,
        "verdicts": dict(verdicts),
        "findings": [asdict(finding) for finding in findings] + [row for capture in captures for row in capture.findings],
        "captures": [capture.told for capture in captures],
        "unread_results": unread,
        "unjoined_captures": unjoined,
    }
    directory.write_findings(folder, found)
    return found


class _Judged:
    """A capture of a repetition, judged with what the scenario knows of it."""

    def __init__(self, file: Path, scenario: Scenario, hosts: HostOf) -> None:
        self.file = file
        self.point = file.name.removesuffix(".pcapng")
        self._scenario = scenario
        self._capture: Capture | None = None
        self._error: str | None = None
        try:
            self._capture = analyze(
                str(file),
                at=_place(self.point, scenario),
                workload=_judged_as(scenario),
                capacity=capacity(scenario),
                workers=1,
                host_of=hosts,
            )
            self._transfers = self._capture.transfers
        except _core.CaptureError as error:
            self._error = error.message

    @property
    def table(self) -> pa.Table | None:
        """Its transfers, each with the capture it is from and the workload it belongs to."""
        if self._capture is None:
            return None
        owners = self._owners
        table = self._transfers.add_column(0, _field("workload", "name of the workload that it belongs to; null for others"), [owners])
        points = pa.array([self.point] * len(table), pa.string())
        return table.add_column(0, _field("capture", "host beside which it was captured, or router"), [points])

    @property
    def _owners(self) -> pa.Array:
        columns = ("src", "src_port", "dst", "dst_port")
        rows = zip(*(self._transfers.column(name).to_pylist() for name in columns), strict=True)
        return pa.array([owner(self._scenario, *row) for row in rows], pa.string())

    @property
    def verdicts(self) -> Mapping[str, int]:
        """Of the workloads' transfers."""
        if self._capture is None:
            return {}
        names = zip(self._owners.to_pylist(), self._transfers.column("verdict").to_pylist(), strict=True)
        return Counter(verdict for name, verdict in names if name is not None)

    @property
    def grave(self) -> list[Finding]:
        """What makes the capture itself worth less."""
        if self._capture is None:
            return []
        return [one for one in self._capture.examination.findings if one.scope == "capture" and one.severity == "error"]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Everything found in it, with its name."""
        if self._capture is None:
            return []
        return [{"capture": self.point, **asdict(finding)} for finding in self._capture.examination.findings]

    @property
    def told(self) -> dict[str, Any]:
        """What it is, in a few words."""
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


def _place(point: str, scenario: Scenario) -> Place | None:
    """Where the capture stands towards the workload's data, where that is the same for all of it."""
    point = scenario.beside(point)
    if any(one.transport == "tcp" and not one.silent and point in (one.source, one.to) for one in scenario.backgrounds):
        return None  # TCP of the background may flow the other way
    if point in scenario.routers:
        return "middle"
    senders = {workload.data_from for workload in scenario.workloads}
    ends = {name for workload in scenario.workloads for name in (workload.host, workload.to)}
    if senders == {point}:
        return "sender"
    if None not in senders and point not in senders and point in ends and len(scenario.workloads) == 1:
        return "receiver"
    return None


def _judged_as(scenario: Scenario) -> Any:  # noqa: ANN401 - a literal or nothing
    """What the senders did, where all workloads did the same."""
    kinds = {workload.judged_as for workload in scenario.workloads}
    return kinds.pop() if len(kinds) == 1 else None


def capacity(scenario: Scenario) -> int | None:
    """The rate of the narrowest link between the hosts of the workload, in IP packets of full size; where there is one way only."""
    rates: list[int] = []
    for link in scenario.links:
        ways: Sequence[Direction | None] = (link.forward, link.backward)
        rates += [way.rate for way in ways if way is not None and way.rate is not None]
    ends = {name for workload in scenario.workloads for name in (workload.host, workload.to)}
    for host in scenario.hosts:
        if host.name in ends:
            rates += [way.rate for way in (host.access_up, host.access_down) if way is not None and way.rate is not None]
    if not rates or len(scenario.links) != 1:
        return None  # with several links the way is the emulator's to choose
    return min(rates) * _PACKET_BYTES // (_PACKET_BYTES + _ETHERNET_BYTES)


def owner(scenario: Scenario, source: str, source_port: int, target: str, target_port: int) -> str | None:
    """The workload that a transfer belongs to, by its ends."""
    hosts = {address: host.name for host in scenario.hosts for address in host.addresses}
    ends = {hosts.get(source), hosts.get(target)}
    ports = {source_port, target_port}
    if _is_background(scenario, ports, ends):
        return None
    for workload in scenario.workloads:
        if workload.to is None:
            if workload.host in ends:
                return workload.name
        elif ends == {workload.host, workload.to} and (workload.kind == "command" or workload.port in ports):
            return workload.name
    return None


def _is_background(scenario: Scenario, ports: set[int], ends: set[str | None]) -> bool:
    last = BACKGROUND_PORT + 2 * len(scenario.backgrounds)
    known = any({one.source, one.to} == ends for one in scenario.backgrounds)
    return known and any(BACKGROUND_PORT <= port < last for port in ports)


def _write_transfers(captures: Sequence[_Judged], path: Path) -> None:
    tables = [table for capture in captures if (table := capture.table) is not None]
    if tables:
        pa.parquet.write_table(pa.concat_tables(tables), path, compression="zstd", version="2.6")


BURSTINESS = pa.schema(
    [
        column("capture", pa.string(), "", "host beside which it was captured; what it sent counts"),
        column("packets", pa.int64(), "1", "packets that it sent"),
        column("mean_rate_bits_per_second", pa.float64(), "bit/s", "their mean rate"),
        column("abw_max_bits_per_second", pa.float64(), "bit/s", "the largest average rate of a window of 100 ms"),
        column(
            "max_q_mean_bytes", pa.float64(), "B", "burstiness, mean over the windows: the longest queue at the window's own average rate"
        ),
        column("max_q_max_bytes", pa.float64(), "B", "burstiness, the largest of a window"),
    ]
)
"""How bursty the hosts sent that background comes from."""


def _write_burstiness(captures: Sequence[_Judged], scenario: Scenario, path: Path) -> None:
    """One row per capture beside a host that sends background over UDP, whose spacing is the generator's own."""
    sources = {one.source for one in scenario.backgrounds if not one.silent and one.transport == "udp"}
    rows = []
    for capture in captures:
        addresses = scenario.host(capture.point).addresses if capture.point in sources else ()
        if len(addresses) != 1 or capture.table is None:
            continue
        sent = burst(capture.file, only=("windows",), filter=f"src host {addresses[0]}", workers=1).model
        known = {**sent, **(sent["summary"] or {})}
        rows.append({**{field.name: known.get(field.name) for field in BURSTINESS}, "capture": capture.point})
    if rows:
        pa.parquet.write_table(from_rows(rows, BURSTINESS), path, compression="zstd", version="2.6")


def _write_crossings(captures: Sequence[_Judged], scenario: Scenario, path: Path) -> dict[str, str]:
    """What was lost and how long it took between the ends of each workload, where both were captured; why not, by pair of captures.

    One clock stamps everything on this machine, and a guest's cable beside it; what is captured inside of a guest is not joined.
    """
    held = {capture.point: capture.file for capture in captures}
    pairs = {(one.host, one.to) for one in scenario.workloads if one.host in held and one.to is not None and one.to in held}
    tables, unjoined = [], {}
    for pair in sorted(pairs):
        try:
            crossings = join(held[pair[0]], held[pair[1]], same_clock=True).crossings
        except _core.CaptureError as error:
            unjoined["-".join(pair)] = error.message
            continue
        owners = [_owner_of(scenario, row) for row in crossings.select(["sender", "sender_port", "receiver", "receiver_port"]).to_pylist()]
        table = crossings.add_column(
            0, _field("workload", "name of the workload that it belongs to; null for others"), [pa.array(owners, pa.string())]
        )
        for place, (name, end) in enumerate(zip(("first_capture", "second_capture"), pair, strict=True)):
            meaning = f"the {('first', 'second')[place]} of the two captures: the host beside which it was taken"
            table = table.add_column(place, _field(name, meaning), [pa.array([end] * len(table), pa.string())])
        tables.append(table)
    if tables:
        pa.parquet.write_table(pa.concat_tables(tables), path, compression="zstd", version="2.6")
    return unjoined


def _owner_of(scenario: Scenario, row: Mapping[str, Any]) -> str | None:
    return owner(scenario, row["sender"], row["sender_port"], row["receiver"], row["receiver_port"])


def _write_results(record: Mapping[str, Any], path: Path, folder: Path) -> dict[str, str]:
    """The tables of every workload; what could not be read, by workload."""
    unread = {}
    for workload in record["workloads"]:
        tables, why_not = results.tables_of(workload, path)
        for name, table in tables.items():
            pa.parquet.write_table(table, folder / f"{workload['name']}.{name}.parquet", compression="zstd", version="2.6")
        if why_not is not None:
            unread[workload["name"]] = why_not
    return unread


def _field(name: str, meaning: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata={"unit": "", "meaning": meaning})


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
