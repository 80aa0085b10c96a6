"""A scenario, read and checked.

Frozen, complete, free of text that would still have to be understood.

Rates are in bit/s, times in nanoseconds, depths in bytes or packets, probabilities shares of one.
Every default has been put in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from trustbed.scenario.containers import Container
from trustbed.scenario.egress import Egress
from trustbed.scenario.guests import INSIDE, Guest
from trustbed.scenario.inventory import Inventory, InventoryHost
from trustbed.scenario.players import Media, Video
from trustbed.traffic.offer import Draw

SECOND = 1_000_000_000

Discipline: TypeAlias = Literal["drop-tail", "codel", "red", "unlimited"]
Distribution: TypeAlias = Literal["uniform", "normal", "pareto", "paretonormal"]
Judgement: TypeAlias = Literal["bulk", "interactive"]
WorkloadKind: TypeAlias = Literal[
    "command",
    "bulk",
    "http",
    "media",
    "video",
    "iperf3",
    "ab",
    "wrk",
    "httperf",
    "curl",
    "pathload",
    "pathchirp",
]
BackgroundModel: TypeAlias = Literal["none", "cbr", "poisson", "playback", "users"]
Transport: TypeAlias = Literal["udp", "tcp"]
Heading: TypeAlias = Literal["forward", "reverse", "both"]
FaultKind: TypeAlias = Literal["none", "cpu-quota", "spinner", "freeze", "nic-stall"]
Policy: TypeAlias = Literal["normal", "realtime"]
DelayedAck: TypeAlias = Literal["always", "never"]
TraceMode: TypeAlias = Literal["calls", "count", "off"]

DISCIPLINES: tuple[Discipline, ...] = ("drop-tail", "codel", "red", "unlimited")
DISTRIBUTIONS: tuple[Distribution, ...] = ("uniform", "normal", "pareto", "paretonormal")
JUDGEMENTS: tuple[Judgement, ...] = ("bulk", "interactive")
WORKLOAD_KINDS: tuple[WorkloadKind, ...] = (
    "command",
    "bulk",
    "http",
    "media",
    "video",
    "iperf3",
    "ab",
    "wrk",
    "httperf",
    "curl",
    "pathload",
    "pathchirp",
)
BACKGROUND_MODELS: tuple[BackgroundModel, ...] = ("none", "cbr", "poisson", "playback")
TRANSPORTS: tuple[Transport, ...] = ("udp", "tcp")
HEADINGS: tuple[Heading, ...] = ("forward", "reverse", "both")
FAULT_KINDS: tuple[FaultKind, ...] = ("none", "cpu-quota", "spinner", "freeze", "nic-stall")
POLICIES: tuple[Policy, ...] = ("normal", "realtime")
DELAYED_ACKS: tuple[DelayedAck, ...] = ("always", "never")
TRACE_MODES: tuple[TraceMode, ...] = ("calls", "count", "off")
HTTP_KINDS: frozenset[WorkloadKind] = frozenset({"http", "ab", "wrk", "httperf", "curl"})
"""Workloads that fetch objects: the built-in server answers them unless a service is named."""
ESTIMATORS: frozenset[WorkloadKind] = frozenset({"pathload", "pathchirp"})
"""Workloads that estimate the available bandwidth from ``host`` to ``to``."""
TOOLS: frozenset[WorkloadKind] = frozenset({"iperf3", "ab", "wrk", "httperf", "curl"})
"""Workloads that are programs of others, whose results are read."""
BUILT_IN: frozenset[WorkloadKind] = frozenset(
    {"bulk", "http", "media", "video", "pathload", "pathchirp"}
)
"""Workloads that the agent carries out itself."""


OPPORTUNITY_BYTES = 1514
"""What one opportunity of a rate trace carries (mahimahi)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What waits in front of a link.

    ``None``: not limited in that unit, or the discipline's own default. ``bytes`` of a queue that
    is given as a time is what the link sends in ``duration_ns``.
    """

    discipline: Discipline = "drop-tail"
    packets: int | None = None
    bytes: int | None = None
    duration_ns: int | None = None
    target_ns: int | None = None  # codel: the standing delay that is accepted (RFC 8289)
    interval_ns: int | None = None  # codel
    low_packets: int | None = None  # red: the average depth from which on packets are dropped
    high_packets: int | None = None  # red: the average depth from which on all are
    probability: float | None = None  # red: the share dropped at the high mark
    weight: float | None = None  # red: of the newest depth in the average


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Numbers from a file.

    Milliseconds of opportunities to send, delays in nanoseconds, or numbers of lost packets.
    """

    file: Path
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jitter:
    """What varies a delay: by at most its spread (uniform), or with a standard deviation."""

    distribution: Distribution
    spread_ns: int
    keep_order: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDelay:
    """Delays one after the other: per packet, or per step of time."""

    delays: Recorded
    step_ns: int | None = None
    keep_order: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStep:
    """What a rate is from a moment on, in bit/s, counted from the beginning of the workloads."""

    at_ns: int
    rate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayStep:
    """What a delay is from a moment on, counted from the beginning of the workloads."""

    at_ns: int
    delay_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelaySteps:
    """A delay that changes: a route that becomes longer or shorter."""

    steps: tuple[DelayStep, ...]
    keep_order: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """An interval in which nothing passes, counted from the beginning of the workloads.

    Packets sent meanwhile are lost, or held until its end if ``keeps``.
    """

    at_ns: int
    lasts_ns: int
    keeps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A token bucket: the sustained rate, and the largest burst."""

    rate: int
    burst_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Packets that a link loses for no reason of its queue."""

    model: Literal["independent", "gilbert-elliott", "periodic", "recorded"]
    probability: float | None = None
    every: int | None = None
    first: int | None = None
    to_bad: float | None = None
    to_good: float | None = None
    in_good: float | None = None
    in_bad: float | None = None
    lost: Recorded | None = None
    period_packets: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder:
    """Packets that are held back, so that later ones overtake them."""

    probability: float
    delay_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """One direction of a link.

    At most one of ``rate``, ``rate_steps`` and ``rate_trace`` is given.
    """

    rate: int | None = None
    rate_steps: tuple[RateStep, ...] = ()
    rate_trace: Recorded | None = None
    delay_ns: int = 0
    delay_steps: DelaySteps | None = None
    jitter: Jitter | None = None
    delay_trace: RecordedDelay | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    reorder: Reorder | None = None
    duplicate: float = 0.0
    policer: Bucket | None = None
    shaper: Bucket | None = None
    outages: tuple[Outage, ...] = ()

    @property
    def fastest_rate(self) -> int | None:
        """The rate, or the highest of its steps, in bit/s; ``None`` without either."""
        return max((step.rate for step in self.rate_steps), default=self.rate)

    @property
    def drain_rate(self) -> float | None:
        """At which rate a queue empties, in bit/s; ``None`` if nothing waits.

        That of the link, of its first step, or in the mean of its trace; or that of its shaper.
        """
        rates: list[float] = [] if self.shaper is None else [self.shaper.rate]
        if self.rate is not None:
            rates.append(self.rate)
        elif self.rate_steps:
            rates.append(self.rate_steps[0].rate)
        elif self.rate_trace is not None:
            rates.append(trace_rate(self.rate_trace))
        return min(rates, default=None)

    @property
    def shortest_delay_ns(self) -> int:
        """The delay, or the shortest of its steps."""
        return min(self._delays_ns)

    @property
    def longest_delay_ns(self) -> int:
        """The delay, or the longest of its steps."""
        return max(self._delays_ns)

    @property
    def _delays_ns(self) -> tuple[int, ...]:
        steps = self.delay_steps
        return (self.delay_ns,) if steps is None else tuple(one.delay_ns for one in steps.steps)


def trace_rate(trace: Recorded) -> float:
    """The mean rate of a trace of opportunities to send, in bit/s."""
    return len(trace.values) * OPPORTUNITY_BYTES * 8 * 1000 / trace.values[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Joins two nodes: hosts or routers.

    ``backward`` is ``None`` for a link of one direction.
    """

    name: str
    ends: tuple[str, str]
    forward: Direction
    backward: Direction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host of the experiment, or many alike: one per address.

    ``router`` is the router behind its own access link.

    ``guest`` describes the virtual machine if the host is one, ``container`` the container,
    ``egress`` what limits the host at its own interface, ``pin`` the processors on which its
    processes may run (none: all). ``machine`` is the host of an inventory that it is, if it is not
    made for the run.
    """

    name: str
    addresses: tuple[str, ...]
    router: str | None = None
    access_up: Direction | None = None
    access_down: Direction | None = None
    guest: Guest | None = None
    container: Container | None = None
    egress: Egress | None = None
    pin: tuple[int, ...] = ()
    machine: InventoryHost | None = None
    paths: tuple[tuple[Direction, Direction], ...] = ()
    """The access link of each address, up and down, where they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What answers on a host before any workload begins.

    Without a command it is the built-in HTTP server.
    """

    name: str
    host: str
    port: int
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    ready_ns: int = 60 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What an application does that does not write, or read, all the time.

    Bursts with pauses between them, or a rate in bit/s.
    """

    burst_bytes: int | None = None
    pause_ns: int | None = None
    rate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorOptions:
    """Options of pathload (``resolution``, ``majority``) and pathChirp (the others).

    Rates in bit/s, of pathChirp in UDP payload. ``None``: as the tool's authors have it.
    ``long_packets``: defaults for cross traffic of full-size packets.
    """

    long_packets: bool = False
    resolution: int | None = None
    majority: float | None = None
    lowest: int | None = None
    highest: int | None = None
    mean_rate: int | None = None
    averaged: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The traffic that is measured.

    ``command`` is a command or the arguments of a known program; ``object_bytes`` is the size that
    HTTP workloads fetch, and ``think_ns`` the time between a response and the next request;
    ``bytes`` is the size of a bulk transfer (``None``: as much as fits into the duration);
    ``media`` and ``video`` are what the workloads of these kinds play for the duration.
    """

    name: str
    kind: WorkloadKind
    host: str
    to: str | None
    start_ns: int
    duration_ns: int
    limit_ns: int
    judged_as: Judgement | None
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    service: str | None = None
    port: int = 0
    path: str | None = None
    object_bytes: int | None = None
    requests: int | None = None
    connections: int = 1
    reuse: bool = False
    think_ns: int = 0
    bytes: int | None = None
    congestion_control: str | None = None
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    window_clamp_bytes: int | None = None
    window_bytes: int | None = None
    write: Pace | None = None
    read: Pace | None = None
    delayed_ack: DelayedAck | None = None
    nagle: bool = False
    heading: Literal["forward", "reverse"] = "forward"
    discard_ns: int = 0
    estimator: EstimatorOptions | None = None
    media: Media | None = None
    video: Video | None = None

    @property
    def data_from(self) -> str | None:
        """The host that sends most of the data, where the kind defines it."""
        if self.kind == "command":
            return None
        if self.kind in ESTIMATORS:
            return self.host
        forward = self.heading == "forward" if self.kind in ("bulk", "iperf3") else False
        return self.host if forward else self.to


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Traffic that the workload competes with.

    ``timer_hz`` 0 is paced release, ``None`` unpaced. It flows from ``start_ns`` after the start of
    the workloads (``None``: from the beginning of the warm-up), for ``duration_ns`` (``None``: to
    the end).
    """

    name: str
    model: BackgroundModel
    source: str
    to: str
    heading: Heading = "forward"
    transport: Transport = "udp"
    rate: int | None = None
    packet_bytes: int = 1500
    sources: int = 1
    mode: Literal["packets", "bytes"] = "packets"
    release: str = "paced"
    file: Path | None = None
    filter: str | None = None
    reverse_filter: str | None = None
    start_ns: int | None = None
    duration_ns: int | None = None
    beside: tuple[str, str] | None = None
    """Of users: the hosts beside which the clients and the servers are."""
    sessions: float = 1.0
    """Of users: how many sessions for each one of the model."""
    draw: Draw = "independent"
    """Of users: what is drawn whole."""
    most_hosts: int = 1000
    """Of users: how many hosts of each side are emulated at most."""
    congestion_control: str | None = None
    """Of users: what both ends of connections use."""

    @property
    def silent(self) -> bool:
        """Whether it sends nothing."""
        return self.model == "none" or self.rate == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault injected into a host, from ``start_ns`` after the start of the workloads.

    ``duration_ns`` ``None``: to the end.

    A quota grants ``share`` of a processor in every period. A spinner wants the host's processor
    for ``busy_ns`` of every turn, a freeze stops the host's processes for ``stopped_ns`` of it.
    """

    name: str
    kind: FaultKind
    host: str
    start_ns: int = 0
    duration_ns: int | None = None
    share: float | None = None
    period_ns: int | None = None
    busy_ns: int | None = None
    stopped_ns: int | None = None
    every_ns: int | None = None
    policy: Policy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePlan:
    """Where packets are recorded, and how much of each."""

    points: tuple[str, ...]
    snap_bytes: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is sampled beyond what every run samples.

    How much of a processor a process has, by one on each of ``hosts`` (wake-up latency, and the
    spin monitor), and the TCP sockets of the ends of workloads, more often than every second.
    """

    hosts: tuple[str, ...] = ()
    wakeups_ns: int | None = None
    """How far apart the moments are for which a thread wakes up."""
    spin_ns: int | None = None
    """So much of every second a thread spins."""
    sockets_ns: int | None = None
    """How far apart samples of sockets are; every second by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """System calls that are recorded, or only counted, on a host.

    Those of the processes of a workload or service, or (``None``) of every process: in a guest of
    the guest, on a namespace of the whole machine.
    """

    name: str
    host: str
    of: str | None
    mode: TraceMode = "calls"
    descriptors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Delays that are probed from one host to another and back while workloads run (STAMP).

    Gaps between probes are exponential, ``mean_gap_ns`` on average.
    """

    name: str
    source: str
    to: str
    mean_gap_ns: int
    payload_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulator:
    """How the emulator runs, and what it writes down."""

    ledger: Literal["packets", "summary"] = "packets"
    priority: Literal["fifo", "normal"] = "fifo"
    idle: Literal["poll", "halt"] = "poll"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One experiment, or one cell of its matrix."""

    name: str
    about: str = ""
    seed: int = 1
    repetitions: int = 1
    duration_ns: int = 10 * SECOND
    warm_up_ns: int = SECOND
    hosts: tuple[Host, ...] = ()
    routers: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    services: tuple[Service, ...] = ()
    workloads: tuple[Workload, ...] = ()
    backgrounds: tuple[Background, ...] = ()
    faults: tuple[Fault, ...] = ()
    capture: CapturePlan = field(default_factory=lambda: CapturePlan(points=()))
    samples: bool = True
    watch: Watch = field(default_factory=Watch)
    traces: tuple[Trace, ...] = ()
    probes: tuple[Probe, ...] = ()
    emulator: Emulator = field(default_factory=Emulator)
    inventory: Inventory | None = None

    def host(self, name: str) -> Host:
        """A host by its name; it exists, or reading would have failed."""
        return next(host for host in self.hosts if host.name == name)

    @property
    def guests(self) -> tuple[Host, ...]:
        """The hosts that are virtual machines."""
        return tuple(host for host in self.hosts if host.guest is not None)

    @property
    def containers(self) -> tuple[Host, ...]:
        """The hosts that are containers."""
        return tuple(host for host in self.hosts if host.container is not None)

    @property
    def machines(self) -> tuple[Host, ...]:
        """The hosts that exist elsewhere: all, or none."""
        return tuple(host for host in self.hosts if host.machine is not None)

    def beside(self, point: str) -> str:
        """The host or router of a capture point.

        The point itself, or the guest that contains it.
        """
        return next((host.name for host in self.guests if point == f"{host.name}{INSIDE}"), point)

    @property
    def longest_ns(self) -> int:
        """From the start of the background until the last time limit."""
        return self.warm_up_ns + max(
            (workload.start_ns + workload.limit_ns for workload in self.workloads),
            default=self.duration_ns,
        )

    @property
    def expected_ns(self) -> int:
        """From the start of the background until the last workload should have ended."""
        return self.warm_up_ns + max(
            (workload.start_ns + workload.duration_ns for workload in self.workloads),
            default=self.duration_ns,
        )
