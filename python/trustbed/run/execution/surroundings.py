"""What stands around the workloads of a repetition.

The emulator, servers, recorders, background traffic, samplers.

Everything stands before the first packet, is looked after while the workloads last, and ends in the
opposite order. What ends early is a failure, which is noted and not raised: it makes the repetition
a failed one. What cannot even begin is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trustbed.agent.client import Agent, AgentError
from trustbed.agent.messages import Event
from trustbed.run.error import RunError
from trustbed.run.execution import configurations
from trustbed.run.execution.clock import Clock
from trustbed.run.execution.commands import filled
from trustbed.run.execution.configurations import MIDDLE, Flow
from trustbed.run.execution.testbed import Hosts, Process, exit_words, unwritten_words
from trustbed.run.matrix import Repetition
from trustbed.run.record import (
    AgentRecord,
    CaptureRecord,
    FailureRecord,
    FlowRecord,
    SamplesRecord,
    SurroundingsRecord,
)
from trustbed.scenario import Scenario

SECOND = 1_000_000_000
END_SECONDS = 60.0
"""How long an agent has to write its records and report."""
_LISTEN_NS = 60 * SECOND
"""How long a server of our own choice has until it listens; one that ends is noticed at once."""
_TURN_SECONDS = 0.02
_MOST_DRAIN_SECONDS = 2.0


@dataclass(slots=True)
class Assistant:
    """An agent that runs as long as the repetition does."""

    verb: str
    where: str
    agent: Agent
    report: Event | None = None
    failed: bool = False
    point: str | None = None  # of a capture
    watches: bool = False  # a host, as one of its processes


class Surroundings:
    """In this order.

    The methods that start something as they stand here, :meth:`look` at will, :meth:`stop`,
    :meth:`record`.
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
        self.at_work: list[tuple[str, Agent | Process]] = []
        """What answers workloads, each with its host: what a fault disturbs."""
        self.watching: list[tuple[str, Agent]] = []
        """What watches hosts as one of their processes: what a fault of theirs disturbs too."""
        self._hosts = hosts
        self._scenario = scenario
        self._repetition = repetition
        self._directory = directory
        self._clock = clock
        self._assistants: list[Assistant] = []
        self._servers: list[tuple[str, str, Process]] = []
        self._sinks: dict[Flow, Assistant] = {}
        self._senders: dict[Flow, Assistant] = {}

    # What must stand before the first packet.

    def start_emulator(self, configuration: Mapping[str, Any]) -> Agent:
        """Links pass packets from now on."""
        emulator = self._assist("emulate", MIDDLE, configuration).agent
        emulator.begin()
        return emulator

    def _assist(self, verb: str, where: str, configuration: Mapping[str, Any]) -> Assistant:
        assistant = Assistant(verb, where, self._hosts.agent(verb, where, configuration))
        self._assistants.append(assistant)
        return assistant

    def start_servers(self) -> None:
        """Services, what answers workloads, and what takes background traffic."""
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
            part = configurations.listener(workload)
            if part is not None:
                listener = self._assist(part.verb, part.where, part.configuration).agent
                listener.begin()
                self.at_work.append((part.where, listener))
            if workload.kind == "iperf3" and workload.to is not None:
                command = ("iperf3", "-s", "-p", str(workload.port))
                self._serve(
                    f"{workload.name}.server", workload.to, command, {}, workload.port, _LISTEN_NS
                )
        for flow in configurations.flows(self._scenario):
            self._sinks[flow] = self._assist("sink", flow.to, configurations.sink(flow))

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
        self._servers.append((name, host, process))
        self.at_work.append((host, process))
        said = f"{self._hosts.logs / name}.err"
        deadline = self._clock.monotonic() + ready_ns / SECOND
        while not self._hosts.bed.listens(host, port):
            code = process.poll()
            if code is not None:
                raise RunError(
                    f"{name} ended with exit code {code} before it listened on port {port}",
                    f"read {said}",
                )
            if self._clock.monotonic() > deadline:
                hint = f"read {said}; give it longer with ready, or another port"
                raise RunError(
                    f"{name} does not listen on port {port} after {ready_ns / SECOND:g} s", hint
                )
            self._clock.sleep(_TURN_SECONDS)

    def start_recorders(self) -> None:
        """Captures beside hosts; those at routers are the emulator's."""
        for point in self._scenario.capture.points:
            if point not in self._scenario.routers:
                part = configurations.capture(self._scenario, point, self._directory / "captures")
                recorder = self._assist(part.verb, part.where, part.configuration)
                recorder.point = point
                recorder.agent.begin()

    def start_senders(self) -> None:
        """Senders of background traffic, which connect before they are ready.

        What takes it stands by now.
        """
        for flow in self._sinks:
            configuration = configurations.send(flow, self._scenario, self._repetition)
            self._senders[flow] = self._assist("send", flow.source, configuration)

    def start_samplers(self, processes: Sequence[tuple[str, int]]) -> None:
        """What looks at this machine, at hosts, and at these processes, each named with its host.

        Guests are processes of this machine.
        """
        guests = {host.name for host in self._scenario.guests}
        machines = [self._hosts.bed.guest(host.name).pid for host in self._scenario.guests]
        machines += [pid for host, pid in processes if host not in guests]
        for number, host in enumerate(configurations.sampled(self._scenario)):
            configuration = configurations.sample(
                host, self._directory / "samples", machines if number == 0 else ()
            )
            self._assist("sample", host, configuration).agent.begin()

    def start_watchers(self, quotas: Callable[[str], Sequence[Path]]) -> None:
        """What sleeps or spins on hosts.

        ``quotas`` says of a host which control groups will hold its processes.
        """
        for host in self._scenario.watch.hosts:
            seed = self._repetition.seed_of(f"spin {host}")
            for part in configurations.watchers(
                self._scenario, host, self._directory / "samples", quotas=quotas(host), seed=seed
            ):
                watcher = self._assist(part.verb, part.where, part.configuration)
                watcher.watches = True
                self.watching.append((part.where, watcher.agent))

    # While the workloads last.

    def begin(self, epoch_ns: int) -> None:
        """Says the moment of second 0, at which all background begins.

        Times of links count from the end of the warm-up.
        """
        if configurations.has_times(self._scenario):
            emulator = next(one for one in self._assistants if one.verb == "emulate")
            emulator.agent.begin_times(epoch_ns + self._scenario.warm_up_ns)
        for flow, sender in self._senders.items():
            self._sinks[flow].agent.begin(at_ns=epoch_ns)
            sender.agent.begin(at_ns=epoch_ns)
        for _, watcher in self.watching:
            watcher.begin(at_ns=epoch_ns)

    def look(self) -> None:
        """Notes what has ended: playback that is over may, nothing else."""
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
            if code is not None and not any(
                failure.message.startswith(f"{name} ") for failure in self.failures
            ):
                message = f"{name} ended before the workload, {exit_words(code)}"
                self.failures.append(FailureRecord(verb="service", where=host, message=message))

    def note_troubles(self, troubles: Sequence[str]) -> None:
        """What went wrong with faults."""
        self.failures += [
            FailureRecord(verb="inject", where=MIDDLE, message=message) for message in troubles
        ]

    def _fail(self, assistant: Assistant, message: str) -> None:
        assistant.failed = True
        self.failures.append(
            FailureRecord(verb=assistant.verb, where=assistant.where, message=message)
        )

    # The end.

    def stop(self) -> None:
        """Senders first, the emulator last: what is under way shall arrive and be written down."""
        order = ("send", "sink", "serve", "bulk", "spin", "sample", "capture", "emulate")
        for verb in order:
            if verb == "sink":
                self._clock.sleep(self._drain_seconds())
            for assistant in self._assistants:
                if assistant.verb == verb and assistant.report is None and not assistant.failed:
                    self._stop(assistant)

    def _drain_seconds(self) -> float:
        """How long packets that were sent may still be under way.

        The delays of all links, and a little for queues.
        """
        delays = sum(
            way.longest_delay_ns
            for link in self._scenario.links
            for way in (link.forward, link.backward)
            if way is not None
        )
        return (
            min(delays / SECOND + 0.1, _MOST_DRAIN_SECONDS) if self._scenario.backgrounds else 0.0
        )

    def _stop(self, assistant: Assistant) -> None:
        try:
            assistant.report = assistant.agent.stop(END_SECONDS)
            captures = [assistant.report, *(assistant.report.get("taps") or ())]
            for trouble in (one for capture in captures for one in capture.get("troubles") or ()):
                self._fail(assistant, trouble["message"])
            if (unwritten := unwritten_words(assistant.report)) is not None:
                self._fail(assistant, unwritten)
        except AgentError as error:
            self._fail(assistant, error.message)
        assistant.agent.close()

    def record(self) -> SurroundingsRecord:
        """What each did."""
        (emulator,) = self._of("emulate")
        taps = (emulator.report or {}).get("taps") or ()
        return SurroundingsRecord(
            backgrounds=[self._flow(flow, sender) for flow, sender in self._senders.items()],
            emulator=emulator.report,
            emulator_ready=emulator.agent.ready,
            captures=[
                *(CaptureRecord(point=one.point, report=one.report) for one in self._of("capture")),
                *(CaptureRecord(point=tap["router"], report=tap) for tap in taps),
            ],
            samples=[
                SamplesRecord(where=one.where, report=one.report)
                for one in self._of("sample")
                if not one.watches
            ],
            watchers=[_agent(one) for one in self._assistants if one.watches],
            services=[_agent(one) for one in self._of("serve", "bulk")],
            failures=self.failures,
        )

    def _of(self, *verbs: str) -> list[Assistant]:
        return [one for one in self._assistants if one.verb in verbs]

    def _flow(self, flow: Flow, sender: Assistant) -> FlowRecord:
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


def _agent(one: Assistant) -> AgentRecord:
    return AgentRecord(verb=one.verb, where=one.where, report=one.report)
