"""Carries out one repetition: network, servers, captures, background, workload, and their end.

This module has the order of the phases. What each phase does is in
:mod:`trustbed.run.execution.infrastructure`, :mod:`trustbed.run.execution.foreground` and
:mod:`trustbed.run.execution.faults`; the configurations of agents and the command lines of programs
are in :mod:`trustbed.run.execution.configurations` and :mod:`trustbed.run.execution.commands`.

Every phase has a deadline. If a part of the experiment ends early (the emulator, background, a
capture) or a host answers what no agent answers, the outcome of the repetition is ``failed`` and
its directory stays as evidence; so it is where a guest or container does not start. If another
part cannot start, the run ends with an error.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import asdict

from trustbed.agent.client import AgentError, MalformedAnswerError
from trustbed.errors import HostLostError
from trustbed.run.error import RunError
from trustbed.run.execution.clock import Clock
from trustbed.run.execution.faults import Faults, NotApplied
from trustbed.run.execution.foreground import POLL_SECONDS, Foreground
from trustbed.run.execution.infrastructure import Infrastructure
from trustbed.run.execution.testbed import Hosts, RunTestbed
from trustbed.run.matrix import Repetition
from trustbed.run.record import PhaseRecord, ProcessRecord, RepetitionRecord
from trustbed.scenario import Scenario
from trustbed.testbed import TestbedError

__all__ = ["Execution", "RunError"]

SECOND = 1_000_000_000
_AHEAD_NS, _AHEAD_AFAR_NS = 300_000_000, 1_500_000_000
"""How far ahead a common start is announced, so that every agent receives it in time: they are told
one after the other, which takes a round trip each where they are on machines afar."""

_MOST_OWN_CODE = 128
"""An exit code beyond it, or below 0, is that of a process which a signal ended."""

T = TypeVar("T")
Facts = dict[str, Mapping[str, object]]


class HostFailedError(Exception):
    """A host is gone, or answers what none answers: the repetition has failed, the run goes on."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Execution:
    """One repetition from its first packet to its last record. :meth:`carry_out` is called once."""

    def __init__(
        self,
        testbed: RunTestbed,
        scenario: Scenario,
        repetition: Repetition,
        *,
        directory: Path,
        clock: Clock,
        emulator: Mapping[str, Any] | None,
        on_phase: Callable[[str], object] = lambda name: None,
    ) -> None:
        self._testbed = testbed
        self._scenario = scenario
        self._repetition = repetition
        self._clock = clock
        self._emulator = emulator
        self._on_phase = on_phase
        self._stack = ExitStack()
        hosts = Hosts(testbed, self._stack, directory / "logs")
        self._faults = Faults(testbed, scenario)
        self._infrastructure = Infrastructure(
            hosts, scenario, repetition, directory=directory, clock=clock
        )
        self._workloads = Foreground(hosts, scenario, clock=clock, on_program=self._join_faults)
        self._not_applied: NotApplied | None = None
        self._phases: list[PhaseRecord] = []
        self._epoch_ns = 0
        self._started_ns = clock.realtime_ns()
        self._begun = clock.monotonic()

    def carry_out(self) -> RepetitionRecord:
        """Carries out all phases; returns the record of the repetition."""
        with self._stack:
            configuration = self._emulator
            emulator = (
                None
                if configuration is None  # between machines nothing is emulated
                else self._phase(
                    "network", lambda: self._infrastructure.start_emulator(configuration)
                )
            )
            try:
                if emulator is not None:
                    self._faults.prepare(emulator)
                self._phase("servers", self._infrastructure.start_servers)
                self._phase("captures", self._infrastructure.start_captures)
                self._phase("background", self._start_background)
                self._phase("workload", self._measure)
            except NotApplied as refused:
                # Without the fault it would be another experiment, so nothing is measured.
                self._not_applied = refused
                self._workloads.invalidate("not made", str(refused))
            except HostFailedError as failed:
                self._infrastructure.add_host_error(failed.message)
                self._workloads.end_all("failed", failed.message)
            self._phase("end", self._stop)
            guests = {
                host.name: self._testbed.guest(host.name).facts() for host in self._scenario.guests
            }
            containers = {
                host.name: self._testbed.container(host.name).facts()
                for host in self._scenario.containers
            }
            machines = self._phase("facts", self._testbed.machine_facts)
        return self._record(guests, containers, dict(machines))

    def not_begun(self, host: str, message: str) -> RepetitionRecord:
        """The record of a repetition without measurements, since a host did not start."""
        self._infrastructure.add_missing_host(host, message)
        self._workloads.invalidate("failed", message)
        return self._record({}, {}, {})

    def lost(self, message: str) -> RepetitionRecord:
        """The record of a repetition of which a host was lost while it ended."""
        self._infrastructure.add_host_error(message)
        self._workloads.invalidate("failed", message)
        return self._record({}, {}, {})

    def _record(self, guests: Facts, containers: Facts, machines: Facts) -> RepetitionRecord:
        started = datetime.datetime.fromtimestamp(self._started_ns / 1e9, datetime.UTC).isoformat(
            timespec="milliseconds"
        )
        return RepetitionRecord(
            number=self._repetition.number,
            cell=self._repetition.cell,
            round=self._repetition.round,
            seed=self._repetition.seed,
            outcome=self._outcome(),
            started=started.replace("+00:00", "Z"),
            seconds=self._clock.monotonic() - self._begun,
            epoch_ns=self._epoch_ns,
            workload_start_ns=self._epoch_ns + self._scenario.warm_up_ns,
            phases=self._phases,
            workloads=self._workloads.records(),
            faults=self._faults.records(),
            processes=[ProcessRecord(host=host, process=pid) for host, pid in self._processes()],
            guests=guests,
            containers=containers,
            machines=machines,
            **asdict(self._infrastructure.record()),
        )

    def _phase(self, name: str, work: Callable[[], T]) -> T:
        """Carries out a phase and records its duration."""
        self._on_phase(name)
        begun = self._clock.monotonic()
        try:
            return work()
        except (AgentError, TestbedError) as error:
            if self._is_failure_of_host(error):
                raise HostFailedError(error.message) from error
            raise RunError(f"{name}: {error.message}", error.hint) from error
        finally:
            self._phases.append(PhaseRecord(name=name, seconds=self._clock.monotonic() - begun))

    def _is_failure_of_host(self, error: AgentError | TestbedError) -> bool:
        """A machine's connection ends a moment after what ran there was killed.

        So does that of a guest or a container, which may die by itself.
        """
        apart = any(
            one.machine is not None or one.guest is not None or one.container is not None
            for one in self._scenario.hosts
        )
        code = error.code if isinstance(error, AgentError) and apart else None
        return (
            isinstance(error, MalformedAnswerError | HostLostError)
            or isinstance(error.__cause__, HostLostError)
            or (code is not None and not 0 <= code <= _MOST_OWN_CODE)
        )

    def _processes(self) -> list[tuple[str, int]]:
        """The targets of faults: the agents and servers of workloads, each with its host."""
        return [
            (host, one.pid)
            for host, one in (*self._infrastructure.servers, *self._workloads.agents)
        ]

    def _start_background(self) -> None:
        """Sets second 0 for all agents: background begins then, and workloads count from it."""
        self._infrastructure.start_senders()
        self._infrastructure.start_probes()
        self._workloads.prepare()
        self._infrastructure.start_tracers(self._workloads.running, self._workloads.commands)
        self._infrastructure.start_samplers(self._processes())
        self._stack.callback(self._end_faults)  # before its targets end
        self._infrastructure.start_indicators(self._faults.quotas)
        indicators = [(host, one.pid) for host, one in self._infrastructure.indicators]
        self._faults.start_injectors(
            [*self._processes(), *indicators] if self._scenario.faults else ()
        )
        ahead = _AHEAD_AFAR_NS if self._scenario.machines else _AHEAD_NS
        self._epoch_ns = self._clock.realtime_ns() + ahead
        self._workloads.begin(self._epoch_ns, self._clock.monotonic() + ahead / SECOND)
        self._infrastructure.begin(self._epoch_ns)
        self._faults.begin(self._epoch_ns + self._scenario.warm_up_ns)

    def _measure(self) -> None:
        """Polls all parts until the workloads have ended; ends them if another part has failed."""
        while not self._workloads.is_over:
            self._workloads.poll()
            self._infrastructure.poll()
            self._infrastructure.add_fault_errors(self._faults.poll())
            if self._infrastructure.failures:
                self._workloads.end_all(
                    "failed",
                    "another part of the experiment failed: "
                    f"{self._infrastructure.failures[0].message}",
                )
                return
            self._clock.sleep(POLL_SECONDS)

    def _join_faults(self, host: str, pid: int) -> None:
        if self._scenario.faults:
            self._faults.join(host, pid)

    def _stop(self) -> None:
        """Ends the faults first, then the infrastructure."""
        self._infrastructure.add_fault_errors(self._end_faults())
        self._infrastructure.stop()

    def _end_faults(self) -> list[str]:
        return self._faults.end(self._clock.realtime_ns())

    def _outcome(self) -> str:
        if self._not_applied is not None:
            return "not made"
        return (
            "complete"
            if not self._infrastructure.failures and self._workloads.is_well
            else "failed"
        )
