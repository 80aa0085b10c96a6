"""The faults of a repetition: injected into processes on schedule, and always undone.

An agent of the verb ``inject`` applies a fault at its scheduled time and ends with the runner; this
module chooses the target processes. A guest is a single target: the process of its virtual machine.
Stalled interfaces are outages of links (:mod:`trustbed.scenario.description`) and are only recorded
here.

A fault counts as applied if it began while a target process was running.

Bias: a program is affected from some milliseconds after its own start, even if its fault is
scheduled earlier.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trustbed.agent.client import Agent, AgentError
from trustbed.agent.messages import Event
from trustbed.agent.process_tree import family
from trustbed.run.execution.configurations import injection
from trustbed.run.execution.testbed import RunTestbed
from trustbed.run.record import FaultRecord
from trustbed.scenario import Fault, Scenario
from trustbed.testbed import TestbedError
from trustbed.testbed.netns.cgroups import Group
from trustbed.testbed.netns.plan import SWITCH

_END_SECONDS = 60.0
_NAMES = ("name", "kind", "host")
_EARLIER = "start it earlier, or let the workloads last longer"


class NotApplied(Exception):
    """A fault cannot be applied on this machine: an outcome of a repetition, not an error."""

    def __init__(self, fault: str, message: str, hint: str) -> None:
        super().__init__(f"{fault}: {message}")
        self.fault = fault
        self.message = message
        self.hint = hint


@dataclass(slots=True)
class _FaultState:
    """A fault and what became of it."""

    fault: Fault
    agents: list[Agent] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    reports: list[Event] = field(default_factory=list)
    group: Group | None = None
    processor: int | None = None
    reason: str | None = None
    hint: str | None = None
    missed: str = "the workloads were over before it began"


class Faults:
    """The faults of one repetition.

    Call :meth:`prepare`, :meth:`start_injectors`, :meth:`begin`, then :meth:`join` and :meth:`poll`
    as needed, at last :meth:`end` and :meth:`records`.
    """

    def __init__(self, testbed: RunTestbed, scenario: Scenario) -> None:
        self._testbed = testbed
        self._scenario = scenario
        self._states = [_FaultState(fault) for fault in scenario.faults]
        self._origin_ns: int | None = None
        self._ended_ns: int | None = None
        self._shared = False

    @property
    def _injected(self) -> list[_FaultState]:
        """The faults that agents inject into processes."""
        return [one for one in self._states if one.fault.kind != "nic-stall"]

    def _is_guest(self, host: str) -> bool:
        return self._scenario.host(host).guest is not None

    # Before the first packet.

    def prepare(self, emulator: Agent) -> None:
        """Creates control groups, and moves the emulator off the processors of spinners.

        Raises:
            NotApplied: A control group cannot be created on this machine.
        """
        allowed = sorted(os.sched_getaffinity(0))
        spinners = [one for one in self._states if one.fault.kind == "spinner"]
        for index, state in enumerate(spinners):
            state.processor = allowed[-1 - index % len(allowed)]
        if spinners:
            others = {one for one in allowed if all(state.processor != one for state in spinners)}
            self._shared = not others
            _pin(emulator.pid, others or set(allowed))
        for state in self._injected:
            if state.fault.kind == "cpu-quota":
                try:
                    state.group = self._testbed.group(state.fault.name)
                except TestbedError as error:
                    raise self._not_applied(state, error) from error

    def quotas(self, host: str) -> list[Path]:
        """The control groups that the processes of a host will join."""
        return [
            state.group.path
            for state in self._states
            if state.group is not None and state.fault.host == host
        ]

    def start_injectors(self, processes: Sequence[tuple[str, int]]) -> None:
        """Starts the agents that inject faults into these processes, each given with its host.

        Their faults begin with :meth:`begin`.

        Raises:
            NotApplied: A fault cannot be applied on this machine.
        """
        for state in self._injected:
            targets = [pid for host, pid in processes if host == state.fault.host]
            if self._is_guest(state.fault.host):
                targets = [self._testbed.guest(state.fault.host).pid]
            if targets:
                self._inject(state, targets)

    def begin(self, origin_ns: int) -> None:
        """Schedules the faults relative to the start of the workloads (real-time clock)."""
        self._origin_ns = origin_ns
        for state in self._injected:
            for agent in state.agents:
                agent.begin(at_ns=origin_ns + state.fault.start_ns)

    def join(self, host: str, pid: int) -> None:
        """Adds the process of a started program to the faults of its host, in phase with them.

        Raises:
            NotApplied: A fault cannot be applied on this machine.
        """
        assert self._origin_ns is not None, "workloads begin after begin()"
        for state in self._injected:
            if state.fault.host != host or self._is_guest(host):
                continue
            if state.processor is not None and state.agents:
                _pin(pid, {state.processor})
                continue
            before = len(state.agents)
            self._inject(state, [pid])
            for agent in state.agents[before:]:
                agent.begin(at_ns=self._origin_ns + state.fault.start_ns)

    def _inject(self, state: _FaultState, targets: list[int]) -> None:
        try:
            if state.group is not None:
                for pid in targets:
                    state.group.join(pid)
            state.targets += targets
            state.agents.append(
                self._testbed.start_agent(
                    "inject",
                    injection(state.fault, targets, group=state.group, processor=state.processor),
                    where=SWITCH,
                )
            )
        except (AgentError, TestbedError) as error:
            if any(_is_alive(pid) for pid in targets):
                raise self._not_applied(state, error) from error
            state.missed = "its target had ended before it could be injected"

    @staticmethod
    def _not_applied(state: _FaultState, error: AgentError | TestbedError) -> NotApplied:
        state.reason, state.hint = error.message, error.hint
        return NotApplied(state.fault.name, error.message, error.hint)

    # During the workloads, and at their end.

    def poll(self) -> list[str]:
        """Collects reports of faults that have ended; returns the errors since the last call."""
        errors = []
        for state in self._injected:
            for agent in list(state.agents):
                try:
                    while (event := agent.poll()) is not None:
                        if event["event"] == "report":
                            state.reports.append(event)
                            self._close(state, agent)
                            break
                except AgentError as error:
                    self._close(state, agent)
                    state.missed = error.message
                    errors.append(f"{state.fault.name}: {error.message}")
        return errors

    def end(self, now_ns: int) -> list[str]:
        """Undoes all faults; returns the errors.

        ``now_ns`` of the first call is when stalled interfaces end at the latest.
        """
        if self._ended_ns is None:
            self._ended_ns = now_ns
        errors = []
        for state in self._injected:
            for agent in list(state.agents):
                try:
                    state.reports.append(agent.stop(_END_SECONDS))
                except AgentError as error:
                    state.missed = error.message
                    errors.append(f"{state.fault.name}: {error.message}")
                self._close(state, agent)
            if state.group is not None:
                try:
                    state.group.leave()
                except TestbedError as error:
                    errors.append(f"{state.fault.name}: {error.message}")
                state.group = None
        return errors

    @staticmethod
    def _close(state: _FaultState, agent: Agent) -> None:
        """Closes an ended agent, and continues processes that a killed one left stopped."""
        agent.close()
        state.agents.remove(agent)
        if state.fault.kind == "freeze":
            for pid in (one for target in state.targets for one in family(target)):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGCONT)

    def records(self) -> list[FaultRecord]:
        """Each fault as configured and as applied."""
        return [self._record(state) for state in self._states]

    def _record(self, state: _FaultState) -> FaultRecord:
        fault = state.fault
        begun, ended = (
            self._stall_times(fault)
            if fault.kind == "nic-stall"
            else _injection_times(state.reports)
        )
        reason, hint = state.reason, state.hint
        if reason is None and begun is None:
            reason, hint = state.missed, _EARLIER
        elif (
            reason is None
            and fault.kind == "freeze"
            and not any(one.get("stops") for one in state.reports)
        ):
            reason, hint = "the workloads were over before its first stop", _EARLIER
        return FaultRecord(
            name=fault.name,
            kind=fault.kind,
            host=fault.host,
            parameters={
                key: value
                for key, value in asdict(fault).items()
                if value is not None and key not in _NAMES
            },
            made=reason is None,
            reason=reason,
            hint=hint,
            begun_ns=begun,
            ended_ns=ended,
            processor_shared_with_emulator=self._shared if fault.kind == "spinner" else None,
            reports=[
                {key: value for key, value in one.items() if key != "event"}
                for one in state.reports
            ],
        )

    def _stall_times(self, fault: Fault) -> tuple[int | None, int | None]:
        """When a stall of an interface began and ended, the latter at the end of the workloads."""
        if self._origin_ns is None or self._ended_ns is None or fault.duration_ns is None:
            return None, None
        begun = self._origin_ns + fault.start_ns
        return (
            (begun, min(begun + fault.duration_ns, self._ended_ns))
            if begun < self._ended_ns
            else (None, None)
        )


def _injection_times(reports: Sequence[Event]) -> tuple[int | None, int | None]:
    """The earliest begin and the latest end of the reports."""
    begun, ended = (
        [one[key] for one in reports if one.get(key) is not None]
        for key in ("begun_ns", "ended_ns")
    )
    return min(begun, default=None), max(ended, default=None)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _pin(pid: int, processors: set[int]) -> None:
    """Pins all threads of a process and of its descendants to these processors."""
    for one in family(pid):
        for thread in Path("/proc", str(one), "task").glob("[0-9]*"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), processors)
