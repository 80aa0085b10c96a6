"""The agents and servers around the workloads of a repetition.

The emulator, servers, captures, background traffic, samplers and indicators.

All of them run before the first packet, are polled during the workloads, and are stopped in an
order that loses no packet in flight. One that ends early is recorded as a failure, not raised: the
outcome of the repetition is then ``failed``. One that cannot start raises an error, which ends the
run unless a host failed (:class:`~trustbed.run.execution.execute.HostFailedError`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trustbed.agent.client import Agent, AgentError
from trustbed.agent.messages import Event
from trustbed.run.error import RunError
from trustbed.run.execution import configurations, tracing
from trustbed.run.execution.clock import Clock
from trustbed.run.execution.commands import filled, iperf3_server
from trustbed.run.execution.configurations import Flow
from trustbed.run.execution.testbed import Hosts, Process, exit_words, unwritten_words
from trustbed.run.matrix import Repetition
from trustbed.run.record import (
    AgentRecord,
    CaptureRecord,
    FailureRecord,
    FlowRecord,
    InfrastructureRecord,
    ProbeRecord,
    SamplesRecord,
    TraceRecord,
)
from trustbed.scenario import Background, Scenario, Trace
from trustbed.scenario.model import Direction, Probe
from trustbed.testbed.netns.plan import SWITCH

SECOND = 1_000_000_000
END_SECONDS = 60.0
"""How long an agent may take to write its files and its report."""
_LISTEN_NS = 60 * SECOND
"""How long the server of a workload may take until it listens."""
_POLL_SECONDS = 0.02
_NAMED = re.compile(r"(\w+) on (\S+): (.+)", re.DOTALL)
_MOST_DRAIN_SECONDS = 4.0
_FULL_FRAME = 1514


@dataclass(slots=True)
class StartedAgent:
    """An agent that runs throughout a repetition."""

    verb: str
    where: str
    agent: Agent
    report: Event | None = None
    failed: bool = False
    point: str | None = None
    """The capture point, of a capture."""
    is_indicator: bool = False


class Infrastructure:
    """The agents and servers around the workloads of one repetition.

    Call the ``start_`` methods in the order of their definition, then :meth:`begin`, :meth:`poll`
    during the workloads, at last :meth:`stop` and :meth:`record`.
    """

    def __init__(
        self,
        hosts: Hosts,
        scenario: Scenario,
        repetition: Repetition,
        *,
        directory: Path,
        clock: Clock,
    ) -> None:
        self.failures: list[FailureRecord] = []
        self.servers: list[tuple[str, Agent | Process]] = []
        """The agents and programs that serve workloads, each with its host: targets of faults."""
        self.indicators: list[tuple[str, Agent]] = []
        """The indicators, each with the host on which it runs: targets of faults as well."""
        self.running: dict[tuple[str, str], int] = {}
        """The processes that answer, by workload or service and host."""
        self._hosts = hosts
        self._scenario = scenario
        self._repetition = repetition
        self._directory = directory
        self._clock = clock
        self._started: list[StartedAgent] = []
        self._server_processes: list[tuple[str, str, Process]] = []
        self._sinks: dict[Flow, StartedAgent] = {}
        self._senders: dict[Flow, StartedAgent] = {}
        self._generators: dict[Background, StartedAgent] = {}
        self._tracers: dict[Trace, StartedAgent] = {}
        self._probers: dict[Probe, StartedAgent] = {}

    # Before the first packet.

    def start_emulator(self, configuration: Mapping[str, Any]) -> Agent:
        """Starts the emulator, which forwards packets from now on."""
        emulator = self._start("emulate", SWITCH, configuration).agent
        emulator.begin()
        return emulator

    def _start(self, verb: str, where: str, configuration: Mapping[str, Any]) -> StartedAgent:
        started = StartedAgent(verb, where, self._hosts.agent(verb, where, configuration))
        self._started.append(started)
        return started

    def start_servers(self) -> None:
        """Starts services, the servers of workloads, and the receivers of background traffic."""
        for service in self._scenario.services:
            command = tuple(filled(word, self._scenario) for word in service.command)
            self._serve(
                service.name,
                service.host,
                command,
                dict(service.environment),
                service.port,
                service.ready_ns,
            )
        for workload in self._scenario.workloads:
            spec = configurations.listener(workload, self._scenario)
            if spec is not None:
                listener = self._start(spec.verb, spec.where, spec.configuration).agent
                listener.begin()
                self.servers.append((spec.where, listener))
                self.running[workload.name, spec.where] = listener.pid
            if workload.kind == "iperf3" and workload.to is not None:
                command = iperf3_server(workload, self._scenario)
                self._serve(
                    f"{workload.name}.server", workload.to, command, {}, workload.port, _LISTEN_NS
                )
                self.running[workload.name, workload.to] = self.servers[-1][1].pid
        for flow in configurations.flows(self._scenario):
            self._sinks[flow] = self._start(
                "sink", flow.to, configurations.sink(flow, self._scenario)
            )

    def _serve(
        self,
        name: str,
        host: str,
        command: tuple[str, ...],
        environment: Mapping[str, str],
        port: int,
        ready_ns: int,
    ) -> None:
        process = self._hosts.program(name, host, command, environment)
        self._server_processes.append((name, host, process))
        self.servers.append((host, process))
        self.running[name, host] = process.pid
        log = f"{self._hosts.logs / name}.err"
        deadline = self._clock.monotonic() + ready_ns / SECOND
        while not self._hosts.testbed.listens(host, port):
            code = process.poll()
            if code is not None:
                raise RunError(
                    f"{name} ended with exit code {code} before it listened on port {port}",
                    f"read {log}",
                )
            if self._clock.monotonic() > deadline:
                hint = f"read {log}; give it longer with ready, or another port"
                raise RunError(
                    f"{name} does not listen on port {port} after {ready_ns / SECOND:g} s", hint
                )
            self._clock.sleep(_POLL_SECONDS)

    def start_captures(self) -> None:
        """Starts the captures at hosts; the emulator captures at routers."""
        for point in self._scenario.capture.points:
            if point not in self._scenario.routers:
                spec = configurations.capture(self._scenario, point, self._directory / "captures")
                capture = self._start(spec.verb, spec.where, spec.configuration)
                capture.point = point
                capture.agent.begin()

    def start_senders(self) -> None:
        """Starts the senders of background traffic, which connect to their receivers at once."""
        for flow in self._sinks:
            configuration = configurations.send(flow, self._scenario, self._repetition)
            self._senders[flow] = self._start("send", flow.source, configuration)
        for background in configurations.populations(self._scenario):
            configuration = configurations.generate(
                background,
                self._scenario,
                self._repetition,
                directory=self._hosts.logs,
                server_namespace=self._hosts.testbed.namespace(background.to),
            )
            self._generators[background] = self._start("generate", background.source, configuration)

    def start_probes(self) -> None:
        """Starts the reflectors and the probers, which wait to begin."""
        for number, probe in enumerate(self._scenario.probes, start=1):
            ends = configurations.probe_ends(
                probe,
                self._scenario,
                session=number,
                seed=self._repetition.seed_of(f"probe {probe.name}"),
            )
            reflector = self._start("reflect", probe.to, ends.reflector)
            reflector.agent.begin()
            to = str(reflector.agent.ready["listening"])
            self._probers[probe] = self._start("probe", probe.source, {**ends.prober, "to": to})

    def start_tracers(
        self, running: Mapping[tuple[str, str], int], commands: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Starts the tracers of system calls.

        ``running`` are the processes of workloads, ``commands`` the programs that start later.
        """
        for trace in self._scenario.traces:
            configuration = tracing.configuration(
                trace,
                self._scenario,
                self._directory / "samples",
                running={**self.running, **running},
                commands=commands,
                first=self._first_process(trace.host),
            )
            tracer = self._start("trace", trace.host, configuration)
            self._tracers[trace] = tracer
            tracer.agent.begin()

    def _first_process(self, host: str) -> int:
        """The process below which all programs of a host start that is no guest or machine."""
        is_container = self._scenario.host(host).container is not None
        return self._hosts.testbed.container(host).pid if is_container else os.getpid()

    def start_samplers(self, processes: Sequence[tuple[str, int]]) -> None:
        """Starts the samplers of this machine, of hosts, and of ``processes``, each with its host.

        Instead of the processes within a guest, the process of its virtual machine is sampled.
        Machines sample their own.
        """
        machines = {host.name for host in self._scenario.machines}
        guests = {host.name for host in self._scenario.guests}
        pids = [self._hosts.testbed.guest(host.name).pid for host in self._scenario.guests]
        pids += [pid for host, pid in processes if host not in guests]
        for number, host in enumerate(configurations.sampled(self._scenario)):
            own = [pid for where, pid in processes if where == host]
            theirs = own if host in machines else pids if number == 0 else ()
            configuration = configurations.sample(
                self._scenario, host, self._directory / "samples", theirs
            )
            self._start("sample", host, configuration).agent.begin()

    def start_indicators(self, quotas: Callable[[str], Sequence[Path]]) -> None:
        """Starts the indicators (wake-up latency, spin monitor) on hosts.

        ``quotas`` returns the control groups that the processes of a host will join.
        """
        for host in self._scenario.watch.hosts:
            seed = self._repetition.seed_of(f"spin {host}")
            for spec in configurations.indicators(
                self._scenario, host, self._directory / "samples", quotas=quotas(host), seed=seed
            ):
                indicator = self._start(spec.verb, spec.where, spec.configuration)
                indicator.is_indicator = True
                self.indicators.append((spec.where, indicator.agent))

    # During the workloads.

    def begin(self, epoch_ns: int) -> None:
        """Starts the background traffic at second 0 (``epoch_ns``), or when it has a start.

        Starts of background traffic and the events of links count from the end of the warm-up.
        """
        if configurations.has_events(self._scenario):
            emulator = next(one for one in self._started if one.verb == "emulate")
            emulator.agent.begin_times(epoch_ns + self._scenario.warm_up_ns)
        for flow, sender in self._senders.items():
            self._sinks[flow].agent.begin(at_ns=epoch_ns)
            start = flow.background.start_ns
            later = 0 if start is None else self._scenario.warm_up_ns + start
            sender.agent.begin(at_ns=epoch_ns + later)
        for background, generator in self._generators.items():
            start = background.start_ns
            later = 0 if start is None else self._scenario.warm_up_ns + start
            generator.agent.begin(at_ns=epoch_ns + later)
        for prober in self._probers.values():
            prober.agent.begin(at_ns=epoch_ns + self._scenario.warm_up_ns)
        for _, indicator in self.indicators:
            indicator.begin(at_ns=epoch_ns)

    def poll(self) -> None:
        """Records what has ended: only senders may, after a recording or their duration."""
        for started in self._started:
            if started.failed or started.report is not None:
                continue
            try:
                while (event := started.agent.poll()) is not None:
                    if event["event"] == "report":
                        started.report = event
                        if started.verb not in ("send", "generate"):
                            self._fail(started, "it ended before the workload")
                        break
            except AgentError as error:
                self._fail(started, error.message)
        for name, host, process in self._server_processes:
            code = process.poll()
            if code is not None and not any(
                failure.message.startswith(f"{name} ") for failure in self.failures
            ):
                message = f"{name} ended before the workload, {exit_words(code)}"
                self.failures.append(FailureRecord(verb="service", where=host, message=message))

    def add_host_error(self, message: str) -> None:
        """Records why a host could not take part: ``VERB on HOST: MESSAGE``, or a message."""
        named = _NAMED.fullmatch(message)
        verb, where, rest = ("agent", "a host", message) if named is None else named.groups()
        self.failures.append(FailureRecord(verb=verb, where=where, message=rest))

    def add_missing_host(self, host: str, message: str) -> None:
        """Records why a host did not start."""
        self.failures.append(FailureRecord(verb="start", where=host, message=message))

    def add_fault_errors(self, messages: Sequence[str]) -> None:
        """Records errors of faults as failures."""
        self.failures += [
            FailureRecord(verb="inject", where=SWITCH, message=message) for message in messages
        ]

    def _fail(self, started: StartedAgent, message: str) -> None:
        started.failed = True
        self.failures.append(FailureRecord(verb=started.verb, where=started.where, message=message))

    # The end of the repetition.

    def stop(self) -> None:
        """Stops senders first and the emulator last, so that packets in flight still arrive."""
        order = (
            "trace",
            "probe",
            "reflect",
            "send",
            "generate",
            "sink",
            "serve",
            "media",
            "bulk",
            "estimate",
            "spin",
            "sample",
            "capture",
            "emulate",
        )
        for verb in order:
            if verb == "sink":
                self._clock.sleep(self._drain_seconds())
            for started in self._started:
                if started.verb == verb and started.report is None and not started.failed:
                    self._stop(started)

    def _drain_seconds(self) -> float:
        """How long sent packets may still be in flight: delays and queues of all links, 0.1 s."""
        if not self._scenario.backgrounds:
            return 0.0
        directions = [
            *(one for link in self._scenario.links for one in (link.forward, link.backward)),
            *(one for host in self._scenario.hosts for one in (host.access_up, host.access_down)),
        ]
        seconds = sum(_transit_seconds(one) for one in directions if one is not None)
        return min(seconds + 0.1, _MOST_DRAIN_SECONDS)

    def _stop(self, started: StartedAgent) -> None:
        try:
            started.report = started.agent.stop(END_SECONDS)
            captures = [started.report, *(started.report.get("taps") or ())]
            for problem in (one for capture in captures for one in capture.get("troubles") or ()):
                self._fail(started, problem["message"])
            if (unwritten := unwritten_words(started.report)) is not None:
                self._fail(started, unwritten)
        except AgentError as error:
            self._fail(started, error.message)
        started.agent.close()

    def record(self) -> InfrastructureRecord:
        """The reports of all agents, and the failures."""
        emulator = next(iter(self._of("emulate")), None)  # there is none without all hosts
        report = None if emulator is None else emulator.report
        taps = (report or {}).get("taps") or ()
        return InfrastructureRecord(
            backgrounds=[
                *(self._flow(flow, sender) for flow, sender in self._senders.items()),
                *(self._users(one, generator) for one, generator in self._generators.items()),
            ],
            emulator=report,
            emulator_ready={} if emulator is None else emulator.agent.ready,
            captures=[
                *(CaptureRecord(point=one.point, report=one.report) for one in self._of("capture")),
                *(CaptureRecord(point=tap["router"], report=tap) for tap in taps),
            ],
            samples=[
                SamplesRecord(where=one.where, report=one.report)
                for one in self._of("sample")
                if not one.is_indicator
            ],
            watchers=[_agent(one) for one in self._started if one.is_indicator],
            services=[_agent(one) for one in self._of("serve", "media", "bulk", "estimate")],
            failures=self.failures,
            traces=[
                TraceRecord(
                    name=trace.name,
                    host=trace.host,
                    of=trace.of,
                    mode=trace.mode,
                    report=tracer.report,
                )
                for trace, tracer in self._tracers.items()
            ],
            probes=[
                ProbeRecord(name=probe.name, source=probe.source, to=probe.to, report=prober.report)
                for probe, prober in self._probers.items()
            ],
        )

    def _of(self, *verbs: str) -> list[StartedAgent]:
        return [one for one in self._started if one.verb in verbs]

    def _flow(self, flow: Flow, sender: StartedAgent) -> FlowRecord:
        return FlowRecord(
            name=flow.name,
            background=flow.background.name,
            heading=flow.heading,
            source=flow.source,
            to=flow.to,
            port=flow.port,
            send=sender.report,
            sink=self._sinks[flow].report,
        )

    def _users(self, background: Background, generator: StartedAgent) -> FlowRecord:
        return FlowRecord(
            name=background.name,
            background=background.name,
            heading="both",
            source=background.source,
            to=background.to,
            port=0,
            send=generator.report,
            sink=None,
        )


def _agent(one: StartedAgent) -> AgentRecord:
    return AgentRecord(verb=one.verb, where=one.where, report=one.report)


def _transit_seconds(direction: Direction) -> float:
    """How long a packet takes at most: the delay, and a full queue, if it has a limit."""
    waits, queue, rate = 0.0, direction.queue, direction.drain_rate
    if queue is not None and rate:
        limits = [queue.bytes, None if queue.packets is None else queue.packets * _FULL_FRAME]
        waits = min((8 * one / rate for one in limits if one is not None), default=0.0)
    return direction.longest_delay_ns / SECOND + waits
