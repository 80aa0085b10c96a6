"""``repetition.json``: the record of a repetition, with the full reports of its agents."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from trustbed.agent.messages import Configuration, Event


class PhaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How long a phase took."""

    name: str
    seconds: float


class WorkloadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A workload and its outcome; ``seconds`` is its duration.

    ``started_ns`` is when it began, since the epoch: a program is started some milliseconds before
    it is due, and a short one may be over by then.
    """

    name: str
    kind: str
    host: str
    to: str | None
    outcome: str | None
    reason: str | None
    exit_code: int | None
    started_ns: int | None = None
    seconds: float | None
    limit_seconds: float
    command: list[str]
    tool: str | None
    files: dict[str, str]
    log: str | None
    report: Event | None


class FaultRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A fault: its configuration, and whether it was applied (``made``); if not, why and a hint."""

    name: str
    kind: str
    host: str
    parameters: Configuration
    made: bool
    reason: str | None
    hint: str | None
    begun_ns: int | None
    ended_ns: int | None
    processor_shared_with_emulator: bool | None
    reports: list[Event]


class ProcessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A process that is a target of faults."""

    host: str
    process: int


class FlowRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One source of background, and its receiver."""

    name: str
    background: str
    heading: str
    source: str = msgspec.field(name="from")
    to: str
    port: int
    send: Event | None
    sink: Event | None


class CaptureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a capture."""

    point: str | None
    report: Event | None


class SamplesRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a host's samples."""

    where: str
    report: Event | None


class AgentRecord(SamplesRecord, frozen=True, kw_only=True):
    """The report of another agent."""

    verb: str


class TraceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A trace of system calls: whose, and the tracer's report. ``of`` is null for all."""

    name: str
    host: str
    of: str | None
    mode: str
    report: Event | None


class ProbeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session of probes: between which hosts, and the prober's report."""

    name: str
    source: str = msgspec.field(name="from")
    to: str
    report: Event | None


class FailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the experiment that failed, other than a workload."""

    verb: str
    where: str
    message: str


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The emulator's ledger: complete rows, and bytes of a truncated last one."""

    rows: int
    cut_bytes: int


class InfrastructureRecord(msgspec.Struct, kw_only=True):
    """The reports of the agents around the workloads, and failures."""

    backgrounds: list[FlowRecord]
    emulator: Event | None
    emulator_ready: Event
    captures: list[CaptureRecord]
    samples: list[SamplesRecord]
    watchers: list[AgentRecord]
    services: list[AgentRecord]
    failures: list[FailureRecord]
    traces: list[TraceRecord] = msgspec.field(default_factory=list)
    probes: list[ProbeRecord] = msgspec.field(default_factory=list)


class RepetitionRecord(InfrastructureRecord, kw_only=True):
    """The whole record; unset fields follow from converting ledger and samples."""

    number: int
    cell: int
    round: int
    seed: int
    outcome: str
    started: str
    seconds: float
    epoch_ns: int
    workload_start_ns: int
    phases: list[PhaseRecord]
    workloads: list[WorkloadRecord]
    faults: list[FaultRecord]
    processes: list[ProcessRecord]
    guests: dict[str, Mapping[str, object]]
    containers: dict[str, Mapping[str, object]] = msgspec.field(default_factory=dict)
    machines: dict[str, Mapping[str, object]] = msgspec.field(default_factory=dict)
    ledger: LedgerRecord | msgspec.UnsetType = msgspec.UNSET
    machine: Mapping[str, object] | msgspec.UnsetType = msgspec.UNSET
    malformed_samples: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
