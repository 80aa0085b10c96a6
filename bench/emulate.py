"""Accuracy and speed of the emulator against the kernel's token bucket, observed from outside.

Two hosts on veth links to a middle, where either `trustbed-agent emulate` moves packets or the
kernel
routes them through tbf, in turns. When packets come to the middle and when they reach the other
host is captured on both interfaces with the kernel's timestamps; each datagram carries its number.
The ideal is computed from the capture at the entrance, so nothing that the agent says of itself is
used.

Bias: captures, senders and the agent share the cores, so on two of them the error is over-, never
under-estimated. While a hypervisor gives the cores to other guests nothing runs at all, and no
emulator is in time: how much it took is measured beside every figure.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from bench.blast import NUMBER_BYTES
from bench.namespaces import Host, NoNamespaces, address, mac, star
from bench.process import ROOT, ProgramFailed
from bench.speed import Target
from bench.tcpdump import capturing
from trustbed.agent.client import AgentError, binary

HEADERS = 14 + 20 + 8
"""Bytes of a datagram's frame in front of its content."""
FRAME = 1514
RATE = 20_000_000
OFFERED = 40_000_000
QUEUE_PACKETS = 50
DELAY_NS = 10_000_000
CROWD = 1000
CROWD_RATE = 20_000
"""Packets per second of all together."""
CROWD_FRAME = 500
CROWD_ACCESS_NS = 1_000_000
CROWD_LINK_RATE = 200_000_000
CROWD_DELAY_NS = 5_000_000
_SETTLE_SECONDS = 0.3
_FLUSH_SECONDS = 1.3
"""tcpdump has the kernel hand over what it captured after a second at the latest."""
Who: TypeAlias = Literal["agent", "agent, halting", "agent, unprivileged", "tbf", "tbf, halting"]
"""Who moves packets.

*Halting*: processors that nobody wants do what the machine does with them, else they poll.
"""
AGENTS: Mapping[Who, Mapping[str, str]] = {
    "agent": {"priority": "fifo", "idle": "poll"},
    "agent, halting": {"priority": "fifo", "idle": "halt"},
    "agent, unprivileged": {"priority": "normal", "idle": "halt"},
}
LATENCY = Path("/dev/cpu_dma_latency")
Stamps = dict[int, int]
"""Number of a datagram → nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How far something is from what it should be, in µs; early is negative.

    Attributes:
        p50: Half of the packets are at most so late.
        p99: The absolute error that 99 % stay below.
        worst: The largest absolute error.
        earliest: The smallest error, sign kept.
    """

    p50: float
    p99: float
    worst: float
    earliest: float


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """A 20 Mbit/s link under 40 Mbit/s.

    Attributes:
        departure: Error of each departure against the ideal link.
        gap: Error of each gap between departures.
        rate_error: Relative error of the rate over the run.
        packets: How many were observed.
    """

    departure: Spread
    gap: Spread
    rate_error: float
    packets: int


@contextlib.contextmanager
def box(addresses: int = 1) -> Iterator[tuple[Host, Host, Host]]:
    """The middle, the near and the far host."""
    for name in ("tcpdump", "iperf3", "tc"):
        if shutil.which(name) is None:
            raise ProgramFailed(f"no {name}")
    try:
        with star(["near", "far"], addresses) as (middle, (near, far)):
            yield middle, near, far
    except NoNamespaces as error:
        raise ProgramFailed(str(error)) from error


@contextlib.contextmanager
def emulator(
    middle: Host,
    topology: dict[str, Any],
    *,
    who: Who = "agent",
    ledger: str | None = None,
    core: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Moves packets in the middle, on one core where that is said.

    What the agent reports is there afterwards.
    """
    ports = [
        {"host": name, "interface": name, "mac": mac(number)}
        for number, name in enumerate(("near", "far"), 1)
    ]
    configuration: dict[str, Any] = {"topology": topology, "ports": ports, **AGENTS[who]}
    if ledger is not None:
        configuration["ledger"] = {"path": ledger}
    pinned = [] if core is None else ["taskset", "--cpu-list", str(core)]
    child = subprocess.Popen(
        middle.enter([*pinned, _agent(), "emulate"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    report: dict[str, Any] = {}
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        for line, event in ((json.dumps(configuration), "ready"), ('{"do":"start"}', "started")):
            child.stdin.write(line + "\n")
            child.stdin.flush()
            said = json.loads(child.stdout.readline())
            if said["event"] != event:
                raise ProgramFailed(f"trustbed-agent emulate: {said}")
            report |= said
        yield report
    finally:
        child.stdin.close()
        for line in child.stdout:
            report |= json.loads(line)
        child.stdout.close()
        child.wait()


def _agent() -> str:
    try:
        return str(binary())
    except AgentError as error:
        raise ProgramFailed(error.message) from error


@contextlib.contextmanager
def token_bucket(middle: Host) -> Iterator[None]:
    """The kernel routes, with tbf on the way to the far host."""
    middle.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    for number, name in enumerate(("near", "far"), 1):
        middle.ip(f"route replace 10.{number}.0.0/16 dev {name}")
        middle.ip(
            f"neighbour replace {address(number, 0)} lladdr {mac(number)} dev {name} nud permanent"
        )
    words = (
        f"qdisc replace dev far root tbf rate {RATE} burst {FRAME + 14} limit "
        f"{QUEUE_PACKETS * FRAME}"
    )
    middle.run("tc", *words.split())
    try:
        yield
    finally:
        middle.run("tc", "qdisc", "delete", "dev", "far", "root")
        middle.run("sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward")


@contextlib.contextmanager
def polling(wanted: bool) -> Iterator[None]:
    """Has idle processors poll, as the agent does by itself.

    Where that is not permitted both sides go without.
    """
    with contextlib.ExitStack() as held:
        if wanted:
            with contextlib.suppress(OSError):
                held.enter_context(LATENCY.open("wb", buffering=0)).write(bytes(4))
        yield


@contextlib.contextmanager
def captured(middle: Host, far: Host) -> Iterator[tuple[Stamps, Stamps]]:
    """When each datagram came to the middle, and when it reached the far host."""
    entered: Stamps = {}
    left: Stamps = {}
    with tempfile.TemporaryDirectory() as directory:
        places = (
            (middle, "near", Path(directory) / "entered", entered),
            (far, "eth0", Path(directory) / "left", left),
        )
        lookers = [capturing(host, interface, file, snap=64) for host, interface, file, _ in places]
        try:
            time.sleep(_SETTLE_SECONDS)
            yield entered, left
            time.sleep(_FLUSH_SECONDS)
        finally:
            for looker in lookers:
                looker.send_signal(signal.SIGINT)
                looker.communicate(timeout=30)
        for _, _, file, stamps in places:
            stamps |= _read(file)


def _read(file: Path) -> Stamps:
    """The datagrams of a pcap file with nanoseconds, by the number that they carry."""
    found: Stamps = {}
    content = file.read_bytes()
    at = 24
    while at + 16 <= len(content):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", content, at)
        number = content[at + 16 + HEADERS : at + 16 + HEADERS + NUMBER_BYTES]
        found[int.from_bytes(number, "big")] = seconds * 1_000_000_000 + nanoseconds
        at += 16 + kept
    return found


def blast(
    near: Host, rate: float, frame: int, seconds: float, *, sources: Sequence[str] = ()
) -> None:
    """Sends datagrams from the near host to the far one."""
    words = (address(2, 0), str(rate), str(frame - HEADERS), str(seconds), *sources)
    near.run("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "bench.blast", *words)


def spread(errors: Sequence[float]) -> Spread:
    """The spread of errors in nanoseconds."""
    if not errors:
        raise ProgramFailed("no packet came through")
    size = sorted(abs(error) for error in errors)
    p99 = size[min(int(len(size) * 0.99), len(size) - 1)]
    return Spread(
        p50=statistics.median(errors) / 1e3,
        p99=p99 / 1e3,
        worst=size[-1] / 1e3,
        earliest=min(errors) / 1e3,
    )


def bottleneck_error(entered: Stamps, left: Stamps) -> Bottleneck:
    """Departures against an exact link.

    A packet's bits are sent when it has come and the one in front of it has left.
    """
    numbers = sorted(left)
    # Whole numbers: nanoseconds since 1970 have no room for their units in a float.
    gap = FRAME * 8 * 1_000_000_000 // RATE
    ideal, errors, gaps = 0, [], []
    for before, number in zip([None, *numbers], numbers, strict=False):
        ideal = max(ideal, entered[number]) + gap
        errors.append(left[number] - ideal)
        if before is not None:
            gaps.append(left[number] - left[before] - gap)
    lasted = left[numbers[-1]] - left[numbers[0]]
    return Bottleneck(
        departure=spread(errors),
        gap=spread(gaps),
        rate_error=(len(numbers) - 1) * gap / lasted - 1,
        packets=len(numbers),
    )


def measure_bottleneck(
    middle: Host, near: Host, far: Host, seconds: float, *, who: Who
) -> Bottleneck:
    """One run through the emulator, or through the kernel's tbf."""
    link = {
        "rate_bits_per_second": RATE,
        "queue": {"kind": "drop_tail", "limit_packets": QUEUE_PACKETS},
    }
    mover = emulator(middle, chain(link), who=who) if who in AGENTS else token_bucket(middle)
    with mover, polling(who == "tbf"), captured(middle, far) as (entered, left):
        blast(near, OFFERED / 8 / FRAME, FRAME, seconds)
    return bottleneck_error(entered, left)


def measure_delay(middle: Host, near: Host, far: Host, seconds: float, *, who: Who) -> Spread:
    """The error of a delay of 10 ms, 1000 packets a second."""
    with (
        emulator(middle, chain({"delay_ns": DELAY_NS}), who=who),
        captured(middle, far) as (entered, left),
    ):
        blast(near, 1000, 500, seconds)
    return spread([left[number] - entered[number] - DELAY_NS for number in left])


def crowd(hosts: int) -> dict[str, Any]:
    """Hosts with access links of their own on the left of a dumbbell, one on the right."""
    access = {"up": {"delay_ns": CROWD_ACCESS_NS}, "down": {"delay_ns": CROWD_ACCESS_NS}}
    left = {
        "name": "near",
        "addresses": [address(1, one) for one in range(hosts)],
        "access": access,
    }
    right = {"name": "far", "addresses": [address(2, 0)], "access": {"up": {}, "down": {}}}
    middle = {"rate_bits_per_second": CROWD_LINK_RATE, "delay_ns": CROWD_DELAY_NS}
    return {"dumbbell": {"left": [left], "right": [right], "up": middle, "down": middle}}


def measure_crowd(
    middle: Host, near: Host, far: Host, seconds: float
) -> tuple[Spread, dict[str, Any]]:
    """The error of arrivals from a thousand emulated hosts that share a bottleneck."""
    sources = [address(1, one) for one in range(CROWD)]
    with emulator(middle, crowd(CROWD)) as report, captured(middle, far) as (entered, left):
        blast(near, CROWD_RATE, CROWD_FRAME, seconds, sources=sources)
    gap = CROWD_FRAME * 8 * 1_000_000_000 // CROWD_LINK_RATE
    free, errors = 0, []
    for number in sorted(left):
        free = max(free, entered[number] + CROWD_ACCESS_NS) + gap
        errors.append(left[number] - free - CROWD_DELAY_NS)
    return spread(errors), report


@dataclass(frozen=True, kw_only=True)
class Forwarded:
    """What one direction carried.

    Attributes:
        packets_per_second: What the far host received.
        offered: What was sent to the emulator, per second.
        reported: What the agent says of it.
    """

    packets_per_second: float
    offered: float
    reported: dict[str, Any]


def measure_forwarding(middle: Host, near: Host, far: Host, seconds: float) -> Forwarded:
    """The smallest frames from one core, as fast as it can, through a link that has no limits."""
    # The sender takes the last core for itself.
    with emulator(middle, chain({}), core=min(os.sched_getaffinity(0))) as report:
        before, begun = _received(far), time.perf_counter()
        flooding = (
            "env",
            f"PYTHONPATH={ROOT}",
            sys.executable,
            "-m",
            "bench.sender",
            "eth0",
            str(seconds),
        )
        sent, lasted = near.run(*flooding, address(1, 0), address(2, 0)).stdout.split()
        received, took = _received(far) - before, time.perf_counter() - begun
    return Forwarded(
        packets_per_second=received / took, offered=int(sent) / float(lasted), reported=report
    )


def _received(host: Host) -> int:
    said = json.loads(host.run("ip", "-json", "-statistics", "link", "show", "dev", "eth0").stdout)
    packets: int = said[0]["stats64"]["rx"]["packets"]
    return packets


def measure_tcp(
    middle: Host, near: Host, far: Host, seconds: float
) -> tuple[float, dict[str, Any]]:
    """Throughput of one TCP connection through an unlimited link, and the agent's report.

    Bits per second, with frames of 1514 bytes.
    """
    with emulator(middle, chain({})) as report:
        server = far.start("iperf3", "--server", "--one-off", "--forceflush")
        assert server.stdout is not None
        while "listening" not in server.stdout.readline():
            if server.poll() is not None:
                raise ProgramFailed("iperf3 --server did not start")
        said = near.run(
            "iperf3",
            "--client",
            address(2, 0),
            "--time",
            str(seconds),
            "--congestion",
            "cubic",
            "--json",
            check=False,
        )
        server.communicate(timeout=30)
    found = json.loads(said.stdout)
    if "error" in found:
        raise ProgramFailed(f"iperf3: {found['error']}")
    return found["end"]["sum_received"]["bits_per_second"], report


def chain(link: dict[str, Any], back: dict[str, Any] | None = None) -> dict[str, Any]:
    """Two hosts and one link."""
    ends = [
        {"name": name, "addresses": [address(number, 0)]}
        for number, name in enumerate(("near", "far"), 1)
    ]
    return {"chain": {"ends": ends, "up": [link], "down": [{} if back is None else back]}}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One figure per round of everything.

    Attributes:
        bottleneck: By who moved.
        delay: By who moved.
        packets_per_second: Of 64 bytes (60 without the check sum that no capture has), one
            direction.
        tcp_bits_per_second: One connection, frames of 1514 bytes.
        crowd: A thousand hosts.
        stolen: By what was measured: the share of the processors' time that the hypervisor gave to
            others meanwhile.
    """

    bottleneck: dict[Who, list[Bottleneck]]
    delay: dict[Who, list[Spread]]
    packets_per_second: list[float]
    tcp_bits_per_second: list[float]
    crowd: list[Spread]
    stolen: dict[str, list[float]]


def measure(rounds: int, seconds: float) -> Figures:
    """Everything, in turns."""
    found = Figures(
        bottleneck={
            "agent": [],
            "tbf": [],
            "agent, halting": [],
            "tbf, halting": [],
            "agent, unprivileged": [],
        },
        delay={who: [] for who in AGENTS},
        packets_per_second=[],
        tcp_bits_per_second=[],
        crowd=[],
        stolen={},
    )
    with box(CROWD) as (middle, near, far):
        for _ in range(rounds):
            for who, errors in found.bottleneck.items():
                with _beside(found, f"20 Mbit/s, {who}"):
                    errors.append(measure_bottleneck(middle, near, far, seconds, who=who))
            for who, spreads in found.delay.items():
                with _beside(found, f"10 ms, {who}"):
                    spreads.append(measure_delay(middle, near, far, seconds, who=who))
            with _beside(found, "64 bytes"):
                found.packets_per_second.append(
                    measure_forwarding(middle, near, far, seconds).packets_per_second
                )
            with _beside(found, "TCP"):
                found.tcp_bits_per_second.append(measure_tcp(middle, near, far, seconds)[0])
            with _beside(found, "1000 hosts"):
                found.crowd.append(measure_crowd(middle, near, far, seconds)[0])
    return found


@contextlib.contextmanager
def _beside(found: Figures, what: str) -> Iterator[None]:
    """Notes what the hypervisor took while something is measured."""
    before = _processor_ticks()
    yield
    stolen, spent = (now - then for now, then in zip(_processor_ticks(), before, strict=True))
    found.stolen.setdefault(what, []).append(stolen / max(spent, 1))


def _processor_ticks() -> tuple[int, int]:
    """What was stolen from all processors, and what they spent in all (proc(5))."""
    ticks = [
        int(word)
        for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    ]
    return ticks[7], sum(ticks)


MAHIMAHI = (
    "mahimahi on such a machine: 20 Mbit/s, gap error p99 607 µs; 10 ms, error p99 42 µs and "
    "up to 512 µs early"
)


def lines(found: Figures) -> Iterator[str]:
    """The figures in words: the medians of the rounds."""
    for who, runs in found.bottleneck.items():
        departure, gap = ([getattr(run, name) for run in runs] for name in ("departure", "gap"))
        rate = statistics.median(abs(run.rate_error) for run in runs)
        yield (
            f"20 Mbit/s under 40, {who:<19}: departure {_words(departure)}, gap "
            f"{_words(gap)}, rate off by {rate:.4%}"
        )
    for who, spreads in found.delay.items():
        yield f"10 ms, {who:<19}: {_words(spreads)}"
    yield f"1000 hosts, 20 000 packets/s: {_words(found.crowd)}"
    packets, bits = (
        statistics.median(found.packets_per_second) / 1e3,
        statistics.median(found.tcp_bits_per_second) / 1e9,
    )
    yield f"forwarding: {packets:.0f} thousand packets/s of 64 bytes, TCP {bits:.2f} Gbit/s"
    shares = (
        f"{what} {statistics.median(stolen):.1%} ({max(stolen):.1%})"
        for what, stolen in found.stolen.items()
    )
    yield (
        f"processor time that the hypervisor gave to others meanwhile, median (worst round): "
        f"{', '.join(shares)}"
    )
    yield MAHIMAHI


def _words(spreads: Sequence[Spread]) -> str:
    p50, p99, worst, earliest = (
        statistics.median(getattr(one, name) for one in spreads)
        for name in ("p50", "p99", "worst", "earliest")
    )
    return f"p50 {p50:.1f} p99 {p99:.1f} worst {worst:.0f} earliest {earliest:.1f} µs"


def targets(found: Figures) -> list[Target]:
    """What should be."""
    runs = found.bottleneck["agent"]
    departure = statistics.median(run.departure.p99 for run in runs)
    rate = statistics.median(abs(run.rate_error) for run in runs)
    delay = statistics.median(one.p99 for one in found.delay["agent"])
    crowded = statistics.median(one.p99 for one in found.crowd)
    packets, bits = (
        statistics.median(found.packets_per_second),
        statistics.median(found.tcp_bits_per_second),
    )
    return [
        Target(
            what="emulate: departure error at 20 Mbit/s under 40 Mbit/s, p99",
            value=departure,
            limit=50,
            unit="µs",
        ),
        Target(what="emulate: rate error at 20 Mbit/s", value=rate, limit=0.0005),
        Target(
            what="emulate: error of a delay of 10 ms as root, p99", value=delay, limit=50, unit="µs"
        ),
        Target(
            what="emulate: error with 1000 hosts at 20 000 packets/s, p99",
            value=crowded,
            limit=50,
            unit="µs",
        ),
        Target(what="emulate: packets of 64 bytes per second", value=packets, lower=300_000),
        Target(
            what="emulate: TCP in frames of 1514 bytes", value=bits / 1e9, lower=2, unit="Gbit/s"
        ),
    ]
