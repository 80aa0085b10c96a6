"""The workloads of a repetition, from their start to their end or their time limit.

A workload is carried out by an agent or by an external program. One that fails is recorded with its
reason, and the others continue. Agents begin at the scheduled time; programs are started up to two
poll intervals before it, since starting takes time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trustbed.agent.client import Agent, AgentError
from trustbed.agent.messages import Event
from trustbed.run.execution import configurations
from trustbed.run.execution.clock import Clock
from trustbed.run.execution.commands import command_of
from trustbed.run.execution.infrastructure import END_SECONDS
from trustbed.run.execution.testbed import Hosts, Process, exit_words, unwritten_words
from trustbed.run.record import WorkloadRecord
from trustbed.scenario import Scenario, Workload
from trustbed.workload import Prepared, prepare

SECOND = 1_000_000_000
POLL_SECONDS = 0.02
_ANNOUNCED_SECONDS = 1.0
"""How far ahead of its moment an agent is told: hosts are told one after the other."""


@dataclass(slots=True)
class RunningWorkload:
    """A workload while it is carried out. Times are in seconds since second 0."""

    workload: Workload
    command: tuple[str, ...] = ()
    prepared: Prepared | None = None
    agent: Agent | None = None
    process: Process | None = None
    begun: float | None = None
    seconds: float | None = None
    outcome: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    report: Event | None = None


class Foreground:
    """The workloads of one repetition.

    Call :meth:`prepare`, :meth:`begin`, then :meth:`poll` until :attr:`is_over`, or :meth:`end_all`
    if another part of the experiment has failed.
    """

    def __init__(
        self,
        hosts: Hosts,
        scenario: Scenario,
        *,
        clock: Clock,
        on_program: Callable[[str, int], object],
    ) -> None:
        """Workloads that have not been started.

        Args:
            hosts: The hosts of the repetition.
            scenario: The scenario with the workloads.
            clock: The clock of the run.
            on_program: Called with host and process ID of every program that has been started.
        """
        self.agents: list[tuple[str, Agent]] = []
        """The workloads' own agents, each with its host."""
        self.running: dict[tuple[str, str], int] = {}
        """The processes of these agents, by workload and host."""
        self._hosts = hosts
        self._scenario = scenario
        self._clock = clock
        self._on_program = on_program
        self._workloads = [RunningWorkload(workload) for workload in scenario.workloads]
        self._epoch_ns = 0
        self._zero = 0.0

    def prepare(self) -> None:
        """Starts agents, which wait to begin, and composes the command lines of programs."""
        for running in self._workloads:
            spec = configurations.client(running.workload, self._scenario, self._hosts.logs)
            if spec is not None:
                running.agent = self._hosts.agent(spec.verb, spec.where, spec.configuration)
                self.agents.append((spec.where, running.agent))
                self.running[running.workload.name, spec.where] = running.agent.pid
            else:
                command = command_of(running.workload, self._scenario)
                running.prepared = prepare(command, self._hosts.logs)
                running.command = command if running.prepared is None else running.prepared.command

    def begin(self, epoch_ns: int, zero: float) -> None:
        """Sets second 0, on the real-time clock (``epoch_ns``) and on the monotonic one."""
        self._epoch_ns = epoch_ns
        self._zero = zero

    @property
    def commands(self) -> dict[str, tuple[str, ...]]:
        """The command lines of workloads that are programs."""
        return {one.workload.name: one.command for one in self._workloads if one.command}

    @property
    def is_over(self) -> bool:
        """Whether every workload has ended."""
        return all(running.outcome is not None for running in self._workloads)

    @property
    def is_well(self) -> bool:
        """Whether every workload is complete: none failed or reached its limit."""
        return all(running.outcome == "complete" for running in self._workloads)

    def poll(self) -> None:
        """Starts workloads that are due, ends those at their limit, records those that ended."""
        now = self._now()
        for running in self._workloads:
            if running.outcome is None:
                self._poll(running, now)

    def _now(self) -> float:
        return self._clock.monotonic() - self._zero

    def _poll(self, running: RunningWorkload, now: float) -> None:
        workload = running.workload
        due = (self._scenario.warm_up_ns + workload.start_ns) / SECOND
        if running.begun is None:
            # An agent waits for the moment by itself; a program begins when it is started.
            ahead = POLL_SECONDS * 2 if running.agent is None else _ANNOUNCED_SECONDS
            if now >= due - ahead:
                self._begin(running, due)
            return
        if running.agent is not None:
            self._poll_agent(running.agent, running, now)
        elif running.process is not None:
            code = running.process.poll()
            if code is not None:
                running.exit_code = code
                self._end(
                    running,
                    now,
                    "complete" if code == 0 else "failed",
                    None if code == 0 else exit_words(code),
                )
        if running.outcome is None and now >= due + workload.limit_ns / SECOND:
            self._end(
                running, now, "time_limit", f"still running after {workload.limit_ns / SECOND:g} s"
            )

    def _begin(self, running: RunningWorkload, due: float) -> None:
        workload = running.workload
        if running.agent is not None:
            running.begun = due
            running.agent.begin(
                at_ns=self._epoch_ns + self._scenario.warm_up_ns + workload.start_ns
            )
            return
        running.begun = self._now()
        running.process = self._hosts.program(
            workload.name, workload.host, running.command, dict(workload.environment)
        )
        self._on_program(workload.host, running.process.pid)

    def _poll_agent(self, agent: Agent, running: RunningWorkload, now: float) -> None:
        try:
            while (event := agent.poll()) is not None:
                if event["event"] == "report":
                    running.report = event
                    failure = _failure(event)
                    self._end(running, now, "failed" if failure else "complete", failure)
                    return
        except AgentError as error:
            self._end(running, now, "failed", error.message)

    def _end(self, running: RunningWorkload, now: float, outcome: str, reason: str | None) -> None:
        """Ends a workload, and records its outcome."""
        running.outcome, running.reason = outcome, reason
        if running.begun is not None:
            running.seconds = now - running.begun
        if running.process is not None:
            running.process.end()
        if running.agent is not None and running.report is None and running.begun is not None:
            with contextlib.suppress(AgentError):
                running.report = running.agent.stop(END_SECONDS)
        if running.agent is not None:
            running.agent.close()

    def end_all(self, outcome: str, reason: str) -> None:
        """Ends all running workloads with a common outcome and reason."""
        now = self._now()
        for running in self._workloads:
            if running.outcome is None:
                self._end(running, now, outcome, reason)

    def invalidate(self, outcome: str, reason: str) -> None:
        """Ends all workloads and gives this outcome to those that had ended, too."""
        self.end_all(outcome, reason)
        for running in self._workloads:
            running.outcome, running.reason = outcome, reason

    def records(self) -> list[WorkloadRecord]:
        """The records of all workloads."""
        return [_record(running, self._epoch_ns) for running in self._workloads]


def _record(running: RunningWorkload, epoch_ns: int) -> WorkloadRecord:
    workload, prepared = running.workload, running.prepared
    files = {} if prepared is None else prepared.files
    return WorkloadRecord(
        name=workload.name,
        kind=workload.kind,
        host=workload.host,
        to=workload.to,
        outcome=running.outcome,
        reason=running.reason,
        exit_code=running.exit_code,
        started_ns=None if running.begun is None else epoch_ns + round(running.begun * SECOND),
        seconds=running.seconds,
        limit_seconds=workload.limit_ns / SECOND,
        command=list(running.command),
        tool=None if prepared is None else prepared.tool,
        files={name: path.name for name, path in files.items()},
        log=f"logs/{workload.name}.err" if running.command else None,
        report=running.report,
    )


def _failure(report: Mapping[str, Any]) -> str | None:
    """Why an agent's workload failed, from its report; None if it did not."""
    transfers = [
        one for one in report.get("transfers") or () if one.get("outcome") not in ("complete", None)
    ]
    if transfers:
        return (
            f"{len(transfers)} of {len(report['transfers'])} transfers: "
            f"{transfers[0].get('error') or transfers[0]['outcome']}"
        )
    if report.get("error"):
        return str(report["error"])
    if report.get("requests") and not report.get("good_requests"):
        return f"none of {report['requests']} requests was answered well"
    if report.get("ending") == "receiver_lost":
        return f"the receiver of probes was lost: {report.get('receiver_lost')}"
    return unwritten_words(report.get("rows") or {})
