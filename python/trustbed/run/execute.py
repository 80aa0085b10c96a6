"""One repetition, carried out: network, servers, captures, background, workload, and back again.

Every phase has a deadline. What belongs to the experiment and ends early (the emulator, background, a capture) makes the repetition a
failed one, which is kept with its evidence; what cannot even begin is an error that ends the run. Reads clocks and starts processes; what
they are told is decided in :mod:`trustbed.run.configurations` and :mod:`trustbed.run.commands`.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from trustbed.agent import Agent, AgentError
from trustbed.run import configurations
from trustbed.run.clock import Clock
from trustbed.run.commands import command_of, filled
from trustbed.run.configurations import MIDDLE, Flow
from trustbed.run.faults import Bed as FaultyBed
from trustbed.run.faults import Faults, NotMade
from trustbed.run.matrix import Repetition
from trustbed.scenario import Scenario, Service, Workload
from trustbed.testbed import TestbedError
from trustbed.workload import Prepared, prepare

SECOND = 1_000_000_000
_AHEAD_NS = 300_000_000
"""How long ahead a common start is said, so that everybody hears of it in time."""
_TURN_SECONDS = 0.02
_END_SECONDS = 30.0

Record = dict[str, Any]
T = TypeVar("T")


class RunError(Exception):
    """A run that cannot go on. What was measured so far is complete."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Process(Protocol):
    """A program on a host."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""

    def end(self) -> None:
        """Ends it and all it started."""


class Bed(FaultyBed, Protocol):
    """The hosts of a repetition."""

    def start(
        self,
        host: str,
        command: tuple[str, ...],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        environment: Mapping[str, str] | None,
    ) -> Process:
        """A program on a host."""

    def listens(self, host: str, port: int) -> bool:
        """Whether somebody waits for connections."""


@dataclass(slots=True)
class Assistant:
    """An agent that runs as long as the repetition does."""

    verb: str
    where: str
    agent: Agent
    report: Record | None = None
    failed: bool = False
    point: str | None = None  # of a capture


@dataclass(slots=True)
class Measured:
    """A workload while it is carried out."""

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
    report: Record | None = None


class Execution:
    """One repetition from its first packet to its last record. :meth:`carry_out` is called once."""

    def __init__(
        self,
        bed: Bed,
        scenario: Scenario,
        repetition: Repetition,
        *,
        folder: Path,
        clock: Clock,
        emulator: Mapping[str, Any],
        on_phase: Callable[[str], object] = lambda name: None,
    ) -> None:
        self._bed = bed
        self._scenario = scenario
        self._repetition = repetition
        self._folder = folder
        self._logs = folder / "logs"
        self._clock = clock
        self._emulator_configuration = emulator
        self._on_phase = on_phase
        self._stack = ExitStack()
        self._assistants: list[Assistant] = []
        self._servers: list[tuple[str, str, Process]] = []
        self._failures: list[dict[str, str]] = []
        self._faults = Faults(bed, scenario)
        self._not_made: NotMade | None = None
        self._at_work: list[tuple[str, Agent | Process]] = []  # what a fault disturbs, with its host
        self._phases: list[dict[str, Any]] = []
        self._measured = [Measured(workload) for workload in scenario.workloads]
        self._epoch_ns = 0
        self._zero = 0.0

    def carry_out(self) -> Record:
        """What happened, as ``repetition.json`` holds it."""
        started = datetime.datetime.fromtimestamp(self._clock.realtime_ns() / 1e9, datetime.UTC).isoformat(timespec="milliseconds")
        begun = self._clock.monotonic()
        senders: list[tuple[Flow, Assistant, Assistant]] = []
        with self._stack:
            emulator = self._phase("network", self._start_emulator)
            try:
                self._faults.prepare(emulator.agent)
                flows = self._phase("servers", self._start_servers)
                self._phase("captures", self._start_recorders)
                self._phase("background", lambda: self._start_background(flows, senders))
                self._phase("workload", self._measure)
            except NotMade as refused:
                self._give_up(refused)
            self._phase("end", self._stop_all)
            guests = {host.name: self._bed.guest(host.name).facts() for host in self._scenario.guests}
        return {
            "number": self._repetition.number,
            "cell": self._repetition.cell,
            "round": self._repetition.round,
            "seed": self._repetition.seed,
            "outcome": self._outcome(),
            "started": started.replace("+00:00", "Z"),
            "seconds": self._clock.monotonic() - begun,
            "epoch_ns": self._epoch_ns,
            "workload_start_ns": self._epoch_ns + self._scenario.warm_up_ns,
            "phases": self._phases,
            "workloads": [self._told(measured) for measured in self._measured],
            "faults": self._faults.told(),
            "processes": [{"host": host, "process": one.pid} for host, one in self._at_work],
            "guests": guests,
            "backgrounds": [self._told_flow(flow, sink, sender) for flow, sink, sender in senders],
            "emulator": emulator.report,
            "emulator_ready": emulator.agent.ready,
            "captures": [{"point": one.point, "report": one.report} for one in self._assistants if one.verb == "capture"]
            + [{"point": tap["router"], "report": tap} for tap in (emulator.report or {}).get("taps") or ()],
            "samples": [{"where": one.where, "report": one.report} for one in self._assistants if one.verb == "sample"],
            "services": [
                {"verb": one.verb, "where": one.where, "report": one.report} for one in self._assistants if one.verb in ("serve", "bulk")
            ],
            "failures": self._failures,
        }

    def _phase(self, name: str, work: Callable[[], T]) -> T:
        """Carries out a phase and notes how long it took."""
        self._on_phase(name)
        begun = self._clock.monotonic()
        try:
            return work()
        except (AgentError, TestbedError) as error:
            raise RunError(f"{name}: {error.message}", error.hint) from error
        finally:
            self._phases.append({"name": name, "seconds": self._clock.monotonic() - begun})

    # What must stand before the first packet.

    def _start_emulator(self) -> Assistant:
        emulator = self._assist("emulate", MIDDLE, self._emulator_configuration)
        emulator.agent.begin()
        return emulator

    def _assist(self, verb: str, where: str, configuration: Mapping[str, Any]) -> Assistant:
        agent = self._bed.start_agent(verb, configuration, where=where)
        self._stack.callback(agent.close)
        assistant = Assistant(verb, where, agent)
        self._assistants.append(assistant)
        return assistant

    def _start_servers(self) -> dict[Flow, Assistant]:
        for service in self._scenario.services:
            self._start_service(service)
        for measured in self._measured:
            part = configurations.listener(measured.workload)
            if part is not None:
                listener = self._assist(part.verb, part.where, part.configuration).agent
                listener.begin()
                self._at_work.append((part.where, listener))
            if measured.workload.kind == "iperf3" and measured.workload.to is not None:
                command = ("iperf3", "-s", "-p", str(measured.workload.port))
                self._serve(f"{measured.workload.name}.server", measured.workload.to, command, {}, measured.workload.port, 10 * SECOND)
        return {flow: self._assist("sink", flow.to, configurations.sink(flow)) for flow in configurations.flows(self._scenario)}

    def _start_service(self, service: Service) -> None:
        command = tuple(filled(word, self._scenario) for word in service.command)
        self._serve(service.name, service.host, command, dict(service.environment), service.port, service.ready_ns)

    def _serve(self, name: str, host: str, command: tuple[str, ...], environment: Mapping[str, str], port: int, ready_ns: int) -> None:
        out, err = self._log(name)
        process = self._bed.start(host, command, stdout=out, stderr=err, environment=_with(environment))
        self._stack.callback(process.end)
        self._servers.append((name, host, process))
        self._at_work.append((host, process))
        deadline = self._clock.monotonic() + ready_ns / SECOND
        while not self._bed.listens(host, port):
            code = process.poll()
            if code is not None:
                raise RunError(f"{name} ended with exit code {code} before it listened on port {port}", f"read {self._logs / name}.err")
            if self._clock.monotonic() > deadline:
                hint = f"read {self._logs / name}.err; give it longer with ready, or another port"
                raise RunError(f"{name} does not listen on port {port} after {ready_ns / SECOND:g} s", hint)
            self._clock.sleep(_TURN_SECONDS)

    def _log(self, name: str) -> tuple[IO[bytes], IO[bytes]]:
        """Where a program's output goes; both are closed with the repetition."""
        out = self._stack.enter_context((self._logs / f"{name}.out").open("wb"))
        err = self._stack.enter_context((self._logs / f"{name}.err").open("wb"))
        return out, err

    def _start_recorders(self) -> None:
        for point in self._scenario.capture.points:
            if point in self._scenario.routers:
                continue  # the emulator's
            part = configurations.capture(self._scenario, point, self._folder / "captures")
            recorder = self._assist(part.verb, part.where, part.configuration)
            recorder.point = point
            recorder.agent.begin()

    def _start_samplers(self) -> None:
        """Behind the workloads' agents, whose processes they look at; guests are processes of this machine too."""
        guests = {host.name for host in self._scenario.guests}
        machines = [self._bed.guest(host.name).pid for host in self._scenario.guests]
        machines += [one.pid for host, one in self._at_work if host not in guests]
        for number, host in enumerate(configurations.sampled(self._scenario)):
            configuration = configurations.sample(host, self._folder / "samples", machines if number == 0 else ())
            self._assist("sample", host, configuration).agent.begin()

    # Traffic.

    def _start_background(self, sinks: Mapping[Flow, Assistant], senders: list[tuple[Flow, Assistant, Assistant]]) -> None:
        """Senders connect before they are ready, so sinks stand by now. All begin at the same moment: second 0."""
        for flow, sink in sinks.items():
            configuration = configurations.send(flow, self._scenario, self._repetition)
            senders.append((flow, sink, self._assist("send", flow.source, configuration)))
        for measured in self._measured:
            part = configurations.client(measured.workload, self._scenario, self._logs)
            if part is not None:
                measured.agent = self._bed.start_agent(part.verb, part.configuration, where=part.where)
                self._stack.callback(measured.agent.close)
                self._at_work.append((part.where, measured.agent))
            else:
                measured.command, measured.prepared = self._command(measured.workload)
        self._start_samplers()
        self._stack.callback(self._faults.end)  # before anything that it disturbs is to end
        self._faults.stand_by([(host, one.pid) for host, one in self._at_work] if self._scenario.faults else ())
        self._epoch_ns = self._clock.realtime_ns() + _AHEAD_NS
        self._zero = self._clock.monotonic() + _AHEAD_NS / SECOND
        if configurations.has_times(self._scenario):
            emulator = next(one for one in self._assistants if one.verb == "emulate")
            emulator.agent.begin_times(self._epoch_ns + self._scenario.warm_up_ns)
        for _, sink, sender in senders:
            sink.agent.begin(at_ns=self._epoch_ns)
            sender.agent.begin(at_ns=self._epoch_ns)
        self._faults.begin(self._epoch_ns + self._scenario.warm_up_ns)

    def _command(self, workload: Workload) -> tuple[tuple[str, ...], Prepared | None]:
        command = command_of(workload, self._scenario)
        prepared = prepare(command, self._logs)
        return (command if prepared is None else prepared.command), prepared

    def _measure(self) -> None:
        """Every workload from its start to its end or its limit. Ends all of them when a part of the experiment has failed."""
        while any(measured.outcome is None for measured in self._measured):
            now = self._clock.monotonic() - self._zero
            for measured in self._measured:
                if measured.outcome is None:
                    self._turn(measured, now)
            self._look_after_assistants()
            if self._failures:
                why = f"the experiment around it fell apart: {self._failures[0]['message']}"
                for measured in self._measured:
                    if measured.outcome is None:
                        self._end(measured, now, "failed", why)
                return
            self._clock.sleep(_TURN_SECONDS)

    def _turn(self, measured: Measured, now: float) -> None:
        workload = measured.workload
        due = (self._scenario.warm_up_ns + workload.start_ns) / SECOND
        if measured.begun is None:
            if now >= due - _TURN_SECONDS * 2:
                self._begin(measured, due)
            return
        if measured.agent is not None:
            self._ask(measured, now)
        elif measured.process is not None:
            code = measured.process.poll()
            if code is not None:
                measured.exit_code = code
                self._end(measured, now, "complete" if code == 0 else "failed", None if code == 0 else _exit_words(code))
        if measured.outcome is None and now >= due + workload.limit_ns / SECOND:
            self._end(measured, now, "time_limit", f"still running after {workload.limit_ns / SECOND:g} s")

    def _begin(self, measured: Measured, due: float) -> None:
        measured.begun = due
        if measured.agent is not None:
            at_ns = self._epoch_ns + self._scenario.warm_up_ns + measured.workload.start_ns
            measured.agent.begin(at_ns=at_ns)
            return
        measured.begun = self._clock.monotonic() - self._zero
        out, err = self._log(measured.workload.name)
        environment = dict(measured.workload.environment)
        measured.process = self._bed.start(measured.workload.host, measured.command, stdout=out, stderr=err, environment=_with(environment))
        self._stack.callback(measured.process.end)
        if self._scenario.faults:
            self._faults.join(measured.workload.host, measured.process.pid)

    def _give_up(self, refused: NotMade) -> None:
        """A fault cannot be made here: what would be measured without it is another experiment, so nothing is."""
        self._not_made = refused
        for measured in self._measured:
            self._end(measured, self._clock.monotonic() - self._zero, "not made", str(refused))

    def _ask(self, measured: Measured, now: float) -> None:
        assert measured.agent is not None, "the caller saw to it"
        try:
            while (event := measured.agent.poll()) is not None:
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
                measured.report = measured.agent.stop(_END_SECONDS)
        if measured.agent is not None:
            measured.agent.close()

    def _look_after_assistants(self) -> None:
        """Agents that have ended: playback that is over may, nothing else."""
        for assistant in self._assistants:
            if assistant.failed or assistant.report is not None:
                continue
            try:
                while (event := assistant.agent.poll()) is not None:
                    if event["event"] == "report":
                        assistant.report = event
                        if assistant.verb != "send":
                            self._fail(assistant, "it ended before the workload")
                        break
            except AgentError as error:
                self._fail(assistant, error.message)
        for name, host, process in self._servers:
            code = process.poll()
            if code is not None and not any(failure["message"].startswith(f"{name} ") for failure in self._failures):
                self._failures.append(
                    {"verb": "service", "where": host, "message": f"{name} ended before the workload, {_exit_words(code)}"}
                )
        self._note_troubles(self._faults.look())

    def _note_troubles(self, troubles: Sequence[str]) -> None:
        self._failures += [{"verb": "disturb", "where": MIDDLE, "message": message} for message in troubles]

    def _fail(self, assistant: Assistant, message: str) -> None:
        assistant.failed = True
        self._failures.append({"verb": assistant.verb, "where": assistant.where, "message": message})

    # The end.

    def _stop_all(self) -> None:
        """Faults and senders first, the emulator last: what is under way shall arrive and be written down."""
        self._note_troubles(self._faults.end())
        order = ("send", "sink", "serve", "bulk", "sample", "capture", "emulate")
        for verb in order:
            if verb == "sink":
                self._clock.sleep(self._drain_seconds())
            for assistant in self._assistants:
                if assistant.verb == verb and assistant.report is None and not assistant.failed:
                    self._stop(assistant)

    def _drain_seconds(self) -> float:
        """How long packets that were sent may still be under way: the delays of all links, and a little for queues."""
        delays = sum(way.longest_delay_ns for link in self._scenario.links for way in (link.forward, link.backward) if way is not None)
        return min(delays / SECOND + 0.1, 2.0) if self._scenario.backgrounds else 0.0

    def _stop(self, assistant: Assistant) -> None:
        try:
            assistant.report = assistant.agent.stop(_END_SECONDS)
            captures = [assistant.report, *(assistant.report.get("taps") or ())]
            for trouble in (one for capture in captures for one in capture.get("troubles") or ()):
                self._fail(assistant, trouble["message"])
        except AgentError as error:
            self._fail(assistant, error.message)
        assistant.agent.close()

    def _outcome(self) -> str:
        if self._not_made is not None:
            return "not made"
        well = not self._failures and all(measured.outcome == "complete" for measured in self._measured)
        return "complete" if well else "failed"

    def _told(self, measured: Measured) -> Record:
        workload = measured.workload
        return {
            "name": workload.name,
            "kind": workload.kind,
            "host": workload.host,
            "to": workload.to,
            "outcome": measured.outcome,
            "reason": measured.reason,
            "exit_code": measured.exit_code,
            "seconds": measured.seconds,
            "limit_seconds": workload.limit_ns / SECOND,
            "command": list(measured.command),
            "tool": None if measured.prepared is None else measured.prepared.tool,
            "files": {} if measured.prepared is None else {name: path.name for name, path in measured.prepared.files.items()},
            "log": f"logs/{workload.name}.err" if measured.command else None,
            "report": measured.report,
        }

    @staticmethod
    def _told_flow(flow: Flow, sink: Assistant, sender: Assistant) -> Record:
        return {
            "name": flow.name,
            "background": flow.background.name,
            "heading": flow.heading,
            "from": flow.source,
            "to": flow.to,
            "port": flow.port,
            "send": sender.report,
            "sink": sink.report,
        }


def _with(environment: Mapping[str, str]) -> Mapping[str, str] | None:
    """Our environment and more; ``None`` where there is no more."""
    return {**os.environ, **environment} if environment else None


def _exit_words(code: int) -> str:
    return f"exit code {code}" + (f" (killed by signal {code - 128})" if 128 < code < 160 else "")


def _faults(report: Mapping[str, Any]) -> str | None:
    """Why a workload of ours did not end well, by its own report."""
    transfers = [one for one in report.get("transfers") or () if one.get("outcome") not in ("complete", None)]
    if transfers:
        return f"{len(transfers)} of {len(report['transfers'])} transfers: {transfers[0].get('error') or transfers[0]['outcome']}"
    if report.get("requests") and not report.get("good_requests"):
        return f"none of {report['requests']} requests was answered well"
    return None
