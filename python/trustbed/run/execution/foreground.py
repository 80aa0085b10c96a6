"""The workloads of a repetition, from their start to their end or their limit.

Agents of ours, and programs of others.

A workload that fails is recorded with its reason and ends nothing else. Agents start at the
scheduled time; programs up to two turns before it, since they take a while to begin.
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
from trustbed.run.execution.surroundings import END_SECONDS
from trustbed.run.execution.testbed import Hosts, Process, exit_words, unwritten_words
from trustbed.run.record import WorkloadRecord
from trustbed.scenario import Scenario, Workload
from trustbed.workload import Prepared, prepare

SECOND = 1_000_000_000
TURN_SECONDS = 0.02


@dataclass(slots=True)
class Measured:
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
    """In this order.

    :meth:`stand_by`, :meth:`begin`, :meth:`turn` until :attr:`is_over`, :meth:`end_all` if
    something else has failed.
    """

    def __init__(
        self,
        hosts: Hosts,
        scenario: Scenario,
        *,
        clock: Clock,
        on_program: Callable[[str, int], object],
    ) -> None:
        """Of a scenario.

        Args:
            hosts: Where it is carried out.
            scenario: What has the workloads.
            clock: What time it is.
            on_program: Is told the host and the number of every program that was started.
        """
        self.at_work: list[tuple[str, Agent | Process]] = []
        """The workloads' own agents, each with its host."""
        self._hosts = hosts
        self._scenario = scenario
        self._clock = clock
        self._on_program = on_program
        self._measured = [Measured(workload) for workload in scenario.workloads]
        self._epoch_ns = 0
        self._zero = 0.0

    def stand_by(self) -> None:
        """Starts agents, which wait to begin, and prepares the command lines of programs."""
        for measured in self._measured:
            part = configurations.client(measured.workload, self._scenario, self._hosts.logs)
            if part is not None:
                measured.agent = self._hosts.agent(part.verb, part.where, part.configuration)
                self.at_work.append((part.where, measured.agent))
            else:
                command = command_of(measured.workload, self._scenario)
                measured.prepared = prepare(command, self._hosts.logs)
                measured.command = (
                    command if measured.prepared is None else measured.prepared.command
                )

    def begin(self, epoch_ns: int, zero: float) -> None:
        """Says the moment of second 0, on the real-time clock and on the monotonic one."""
        self._epoch_ns = epoch_ns
        self._zero = zero

    @property
    def is_over(self) -> bool:
        """Whether every workload has come to its end."""
        return all(measured.outcome is not None for measured in self._measured)

    @property
    def is_well(self) -> bool:
        """Whether every workload has come to a good one."""
        return all(measured.outcome == "complete" for measured in self._measured)

    def turn(self) -> None:
        """Begins what is due, ends what has had its time, and notes what has ended."""
        now = self._now()
        for measured in self._measured:
            if measured.outcome is None:
                self._turn(measured, now)

    def _now(self) -> float:
        return self._clock.monotonic() - self._zero

    def _turn(self, measured: Measured, now: float) -> None:
        workload = measured.workload
        due = (self._scenario.warm_up_ns + workload.start_ns) / SECOND
        if measured.begun is None:
            if now >= due - TURN_SECONDS * 2:
                self._begin(measured, due)
            return
        if measured.agent is not None:
            self._ask(measured.agent, measured, now)
        elif measured.process is not None:
            code = measured.process.poll()
            if code is not None:
                measured.exit_code = code
                self._end(
                    measured,
                    now,
                    "complete" if code == 0 else "failed",
                    None if code == 0 else exit_words(code),
                )
        if measured.outcome is None and now >= due + workload.limit_ns / SECOND:
            self._end(
                measured, now, "time_limit", f"still running after {workload.limit_ns / SECOND:g} s"
            )

    def _begin(self, measured: Measured, due: float) -> None:
        workload = measured.workload
        if measured.agent is not None:
            measured.begun = due
            measured.agent.begin(
                at_ns=self._epoch_ns + self._scenario.warm_up_ns + workload.start_ns
            )
            return
        measured.begun = self._now()
        measured.process = self._hosts.program(
            workload.name, workload.host, measured.command, dict(workload.environment)
        )
        self._on_program(workload.host, measured.process.pid)

    def _ask(self, agent: Agent, measured: Measured, now: float) -> None:
        try:
            while (event := agent.poll()) is not None:
                if event["event"] == "report":
                    measured.report = event
                    faults = _faults(event)
                    self._end(measured, now, "failed" if faults else "complete", faults)
                    return
        except AgentError as error:
            self._end(measured, now, "failed", error.message)

    def _end(self, measured: Measured, now: float, outcome: str, reason: str | None) -> None:
        """Notes how a workload ended, after ending it if it has not."""
        measured.outcome, measured.reason = outcome, reason
        if measured.begun is not None:
            measured.seconds = now - measured.begun
        if measured.process is not None:
            measured.process.end()
        if measured.agent is not None and measured.report is None and measured.begun is not None:
            with contextlib.suppress(AgentError):
                measured.report = measured.agent.stop(END_SECONDS)
        if measured.agent is not None:
            measured.agent.close()

    def end_all(self, outcome: str, reason: str) -> None:
        """Ends those that have not ended, for a reason that is not theirs."""
        now = self._now()
        for measured in self._measured:
            if measured.outcome is None:
                self._end(measured, now, outcome, reason)

    def disown(self, outcome: str, reason: str) -> None:
        """The same, and those that have ended count for nothing either."""
        self.end_all(outcome, reason)
        for measured in self._measured:
            measured.outcome, measured.reason = outcome, reason

    def records(self) -> list[WorkloadRecord]:
        """What each did."""
        return [_record(measured) for measured in self._measured]


def _record(measured: Measured) -> WorkloadRecord:
    workload, prepared = measured.workload, measured.prepared
    files = {} if prepared is None else prepared.files
    return WorkloadRecord(
        name=workload.name,
        kind=workload.kind,
        host=workload.host,
        to=workload.to,
        outcome=measured.outcome,
        reason=measured.reason,
        exit_code=measured.exit_code,
        seconds=measured.seconds,
        limit_seconds=workload.limit_ns / SECOND,
        command=list(measured.command),
        tool=None if prepared is None else prepared.tool,
        files={name: path.name for name, path in files.items()},
        log=f"logs/{workload.name}.err" if measured.command else None,
        report=measured.report,
    )


def _faults(report: Mapping[str, Any]) -> str | None:
    """Why a workload of ours did not end well, by its own report."""
    transfers = [
        one for one in report.get("transfers") or () if one.get("outcome") not in ("complete", None)
    ]
    if transfers:
        return (
            f"{len(transfers)} of {len(report['transfers'])} transfers: "
            f"{transfers[0].get('error') or transfers[0]['outcome']}"
        )
    if report.get("requests") and not report.get("good_requests"):
        return f"none of {report['requests']} requests was answered well"
    return unwritten_words(report.get("rows") or {})
