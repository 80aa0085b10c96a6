"""The faults of a repetition.

Made by agents beside the processes that they disturb, and undone whatever happens.

An agent of the verb ``inject`` does it on time and ends with the runner; here is decided who is
disturbed by whom. A host that is a guest is disturbed as a whole. Stalled interfaces are links that
pass nothing (:mod:`trustbed.scenario.description`): here they are only told of.

A fault counts as made when it has begun while there was something to disturb, not when it was asked
for.

Bias: a program is disturbed from when it was started, some milliseconds after the moment that its
fault's begin may be.
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
from trustbed.run.execution.configurations import MIDDLE, disturb
from trustbed.run.execution.testbed import RunTestbed
from trustbed.run.record import FaultRecord
from trustbed.scenario import Fault, Scenario
from trustbed.testbed import TestbedError
from trustbed.testbed.netns.cgroups import Group

_END_SECONDS = 60.0
_NAMES = ("name", "kind", "host")
_EARLIER = "let it begin earlier, or the workloads last longer"


class NotApplied(Exception):
    """A fault cannot be made on this machine.

    An outcome of a repetition, not an error of the run.
    """

    def __init__(self, fault: str, message: str, hint: str) -> None:
        super().__init__(f"{fault}: {message}")
        self.fault = fault
        self.message = message
        self.hint = hint


@dataclass(slots=True)
class _Made:
    """A fault while it is made."""

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
    """In this order.

    :meth:`prepare`, :meth:`stand_by`, :meth:`begin`, :meth:`join` and :meth:`look` at will,
    :meth:`end`, :meth:`records`.
    """

    def __init__(self, bed: RunTestbed, scenario: Scenario) -> None:
        self._bed = bed
        self._scenario = scenario
        self._made = [_Made(fault) for fault in scenario.faults]
        self._origin_ns: int | None = None
        self._ended_ns: int | None = None
        self._shared = False

    @property
    def _disturbing(self) -> list[_Made]:
        """Those that disturb processes."""
        return [made for made in self._made if made.fault.kind != "nic-stall"]

    def _is_guest(self, host: str) -> bool:
        return self._scenario.host(host).guest is not None

    # What must stand before the first packet.

    def prepare(self, emulator: Agent) -> None:
        """Makes what needs no process yet: control groups, and a processor without the emulator.

        Raises:
            NotApplied: One cannot be made here.
        """
        allowed = sorted(os.sched_getaffinity(0))
        spinners = [made for made in self._made if made.fault.kind == "spinner"]
        for place, made in enumerate(spinners):
            made.processor = allowed[-1 - place % len(allowed)]
        if spinners:
            others = {one for one in allowed if all(made.processor != one for made in spinners)}
            self._shared = not others
            _hold(emulator.pid, others or set(allowed))
        for made in self._disturbing:
            if made.fault.kind == "cpu-quota":
                try:
                    made.group = self._bed.group(made.fault.name)
                except TestbedError as error:
                    raise self._not_made(made, error) from error

    def quotas(self, host: str) -> list[Path]:
        """The control groups that will hold the processes of a host."""
        return [
            made.group.path
            for made in self._made
            if made.group is not None and made.fault.host == host
        ]

    def stand_by(self, processes: Sequence[tuple[str, int]]) -> None:
        """Starts what disturbs these processes, each named with its host.

        Faults start with :meth:`begin`.

        Raises:
            NotApplied: One cannot be made here.
        """
        for made in self._disturbing:
            targets = [pid for host, pid in processes if host == made.fault.host]
            if self._is_guest(made.fault.host):
                targets = [self._bed.guest(made.fault.host).pid]
            if targets:
                self._disturb(made, targets)

    def begin(self, origin_ns: int) -> None:
        """Says when the workloads begin, on the real-time clock."""
        self._origin_ns = origin_ns
        for made in self._disturbing:
            for agent in made.agents:
                agent.begin(at_ns=origin_ns + made.fault.start_ns)

    def join(self, host: str, pid: int) -> None:
        """Adds the process of a started program: faults apply to it from now on, in step.

        Raises:
            NotApplied: One cannot be made here.
        """
        assert self._origin_ns is not None, "workloads begin after begin()"
        for made in self._disturbing:
            if made.fault.host != host or self._is_guest(host):
                continue
            if made.processor is not None and made.agents:
                _hold(pid, {made.processor})
                continue
            before = len(made.agents)
            self._disturb(made, [pid])
            for agent in made.agents[before:]:
                agent.begin(at_ns=self._origin_ns + made.fault.start_ns)

    def _disturb(self, made: _Made, targets: list[int]) -> None:
        try:
            if made.group is not None:
                for pid in targets:
                    made.group.join(pid)
            made.targets += targets
            made.agents.append(
                self._bed.start_agent(
                    "inject",
                    disturb(made.fault, targets, group=made.group, processor=made.processor),
                    where=MIDDLE,
                )
            )
        except (AgentError, TestbedError) as error:
            if any(_lives(pid) for pid in targets):
                raise self._not_made(made, error) from error
            made.missed = "its target had ended before it could be injected"

    @staticmethod
    def _not_made(made: _Made, error: AgentError | TestbedError) -> NotApplied:
        made.reason, made.hint = error.message, error.hint
        return NotApplied(made.fault.name, error.message, error.hint)

    # While it lasts, and its end.

    def look(self) -> list[str]:
        """What went wrong with faults since the look before.

        Takes the reports of those that are over.
        """
        troubles = []
        for made in self._disturbing:
            for agent in list(made.agents):
                try:
                    while (event := agent.poll()) is not None:
                        if event["event"] == "report":
                            made.reports.append(event)
                            self._drop(made, agent)
                            break
                except AgentError as error:
                    self._drop(made, agent)
                    made.missed = error.message
                    troubles.append(f"{made.fault.name}: {error.message}")
        return troubles

    def end(self, now_ns: int) -> list[str]:
        """Undoes everything; what went wrong with it.

        The first call's moment is when stalled interfaces are of no consequence any more.
        """
        if self._ended_ns is None:
            self._ended_ns = now_ns
        troubles = []
        for made in self._disturbing:
            for agent in list(made.agents):
                try:
                    made.reports.append(agent.stop(_END_SECONDS))
                except AgentError as error:
                    made.missed = error.message
                    troubles.append(f"{made.fault.name}: {error.message}")
                self._drop(made, agent)
            if made.group is not None:
                try:
                    made.group.leave()
                except TestbedError as error:
                    troubles.append(f"{made.fault.name}: {error.message}")
                made.group = None
        return troubles

    @staticmethod
    def _drop(made: _Made, agent: Agent) -> None:
        """It has ended. It lets nobody stand; if it was killed, this does it in its place."""
        agent.close()
        made.agents.remove(agent)
        if made.fault.kind == "freeze":
            for pid in (one for target in made.targets for one in family(target)):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGCONT)

    def records(self) -> list[FaultRecord]:
        """What was asked for and what was done."""
        return [self._record(made) for made in self._made]

    def _record(self, made: _Made) -> FaultRecord:
        fault = made.fault
        begun, ended = self._stalled(fault) if fault.kind == "nic-stall" else _moments(made.reports)
        reason, hint = made.reason, made.hint
        if reason is None and begun is None:
            reason, hint = made.missed, _EARLIER
        elif (
            reason is None
            and fault.kind == "freeze"
            and not any(one.get("stops") for one in made.reports)
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
                {key: value for key, value in one.items() if key != "event"} for one in made.reports
            ],
        )

    def _stalled(self, fault: Fault) -> tuple[int | None, int | None]:
        """When an interface was stalled, while the repetition went on."""
        if self._origin_ns is None or self._ended_ns is None or fault.duration_ns is None:
            return None, None
        begun = self._origin_ns + fault.start_ns
        return (
            (begun, min(begun + fault.duration_ns, self._ended_ns))
            if begun < self._ended_ns
            else (None, None)
        )


def _moments(reports: Sequence[Event]) -> tuple[int | None, int | None]:
    """From the first begin to the last end that was reported."""
    begun, ended = (
        [one[key] for one in reports if one.get(key) is not None]
        for key in ("begun_ns", "ended_ns")
    )
    return min(begun, default=None), max(ended, default=None)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _hold(pid: int, processors: set[int]) -> None:
    """Has all threads of a process and of what descends from it run on these processors."""
    for one in family(pid):
        for thread in Path("/proc", str(one), "task").glob("[0-9]*"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), processors)
