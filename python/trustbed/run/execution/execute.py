"""One repetition, carried out: network, servers, captures, background, workload, and back again.

Here is the order of it. What is done in each phase stands in
:mod:`trustbed.run.execution.surroundings`, :mod:`trustbed.run.execution.foreground` and
:mod:`trustbed.run.execution.faults`; what agents and programs are told, in
:mod:`trustbed.run.execution.configurations` and :mod:`trustbed.run.execution.commands`.

Every phase has a deadline. What belongs to the experiment and ends early (the emulator, background,
a capture) makes the repetition a failed one, which is kept with its evidence; what cannot even
begin is an error that ends the run.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import asdict

from trustbed.agent.client import AgentError
from trustbed.run.error import RunError
from trustbed.run.execution.clock import Clock
from trustbed.run.execution.faults import Faults, NotApplied
from trustbed.run.execution.foreground import TURN_SECONDS, Foreground
from trustbed.run.execution.surroundings import Surroundings
from trustbed.run.execution.testbed import Hosts, RunTestbed
from trustbed.run.matrix import Repetition
from trustbed.run.record import PhaseRecord, ProcessRecord, RepetitionRecord
from trustbed.scenario import Scenario
from trustbed.testbed import TestbedError

__all__ = ["Execution", "RunError"]

SECOND = 1_000_000_000
_AHEAD_NS = 300_000_000
"""How far ahead a common start is announced, so that every agent receives it in time."""

T = TypeVar("T")


class Execution:
    """One repetition from its first packet to its last record. :meth:`carry_out` is called once."""

    def __init__(
        self,
        bed: RunTestbed,
        scenario: Scenario,
        repetition: Repetition,
        *,
        directory: Path,
        clock: Clock,
        emulator: Mapping[str, Any],
        on_phase: Callable[[str], object] = lambda name: None,
    ) -> None:
        self._bed = bed
        self._scenario = scenario
        self._repetition = repetition
        self._clock = clock
        self._emulator = emulator
        self._on_phase = on_phase
        self._stack = ExitStack()
        hosts = Hosts(bed, self._stack, directory / "logs")
        self._faults = Faults(bed, scenario)
        self._around = Surroundings(hosts, scenario, repetition, directory=directory, clock=clock)
        self._workloads = Foreground(hosts, scenario, clock=clock, on_program=self._join_faults)
        self._not_made: NotApplied | None = None
        self._phases: list[PhaseRecord] = []
        self._epoch_ns = 0

    def carry_out(self) -> RepetitionRecord:
        """What happened."""
        started = datetime.datetime.fromtimestamp(
            self._clock.realtime_ns() / 1e9, datetime.UTC
        ).isoformat(timespec="milliseconds")
        begun = self._clock.monotonic()
        with self._stack:
            emulator = self._phase("network", lambda: self._around.start_emulator(self._emulator))
            try:
                self._faults.prepare(emulator)
                self._phase("servers", self._around.start_servers)
                self._phase("captures", self._around.start_recorders)
                self._phase("background", self._start_background)
                self._phase("workload", self._measure)
            except NotApplied as refused:
                # What would be measured without the fault is another experiment, so nothing is.
                self._not_made = refused
                self._workloads.disown("not made", str(refused))
            self._phase("end", self._stop)
            guests = {
                host.name: self._bed.guest(host.name).facts() for host in self._scenario.guests
            }
        return RepetitionRecord(
            number=self._repetition.number,
            cell=self._repetition.cell,
            round=self._repetition.round,
            seed=self._repetition.seed,
            outcome=self._outcome(),
            started=started.replace("+00:00", "Z"),
            seconds=self._clock.monotonic() - begun,
            epoch_ns=self._epoch_ns,
            workload_start_ns=self._epoch_ns + self._scenario.warm_up_ns,
            phases=self._phases,
            workloads=self._workloads.records(),
            faults=self._faults.records(),
            processes=[ProcessRecord(host=host, process=pid) for host, pid in self._processes()],
            guests=guests,
            **asdict(self._around.record()),
        )

    def _phase(self, name: str, work: Callable[[], T]) -> T:
        """Carries out a phase and notes how long it took."""
        self._on_phase(name)
        begun = self._clock.monotonic()
        try:
            return work()
        except (AgentError, TestbedError) as error:
            raise RunError(f"{name}: {error.message}", error.hint) from error
        finally:
            self._phases.append(PhaseRecord(name=name, seconds=self._clock.monotonic() - begun))

    def _processes(self) -> list[tuple[str, int]]:
        """What a fault disturbs: the agents and services at work, each with its host."""
        return [(host, one.pid) for host, one in (*self._around.at_work, *self._workloads.at_work)]

    def _start_background(self) -> None:
        """Gives every agent second 0: background begins then, and workloads count from it."""
        self._around.start_senders()
        self._workloads.stand_by()
        self._around.start_samplers(self._processes())
        self._stack.callback(self._end_faults)  # before anything that it disturbs is to end
        self._around.start_watchers(self._faults.quotas)
        watching = [(host, one.pid) for host, one in self._around.watching]
        self._faults.stand_by([*self._processes(), *watching] if self._scenario.faults else ())
        self._epoch_ns = self._clock.realtime_ns() + _AHEAD_NS
        self._workloads.begin(self._epoch_ns, self._clock.monotonic() + _AHEAD_NS / SECOND)
        self._around.begin(self._epoch_ns)
        self._faults.begin(self._epoch_ns + self._scenario.warm_up_ns)

    def _measure(self) -> None:
        """Every workload from its start to its end or its limit.

        Ends all of them when a part of the experiment has failed.
        """
        while not self._workloads.is_over:
            self._workloads.turn()
            self._around.look()
            self._around.note_troubles(self._faults.look())
            if self._around.failures:
                self._workloads.end_all(
                    "failed",
                    f"the experiment around it fell apart: {self._around.failures[0].message}",
                )
                return
            self._clock.sleep(TURN_SECONDS)

    def _join_faults(self, host: str, pid: int) -> None:
        if self._scenario.faults:
            self._faults.join(host, pid)

    def _stop(self) -> None:
        """Faults first, then what stands around."""
        self._around.note_troubles(self._end_faults())
        self._around.stop()

    def _end_faults(self) -> list[str]:
        return self._faults.end(self._clock.realtime_ns())

    def _outcome(self) -> str:
        if self._not_made is not None:
            return "not made"
        return "complete" if not self._around.failures and self._workloads.is_well else "failed"
