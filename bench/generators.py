"""Whether the senders send when they should, seen from outside.

Between two namespaces on a veth link, by the kernel's timestamps.

Constant rate, 40 Mbit/s in packets of 1500 bytes, paced and released by timers. tcpdump captures
the packets as they come out of the veth link; each datagram carries its number. What the sender
says of
its own departure_error is kept beside that, and decides nothing.

Bias: a packet is seen a few microseconds after it was given to the socket, and sender, sink and
tcpdump share the cores, so on two of them errors are over-, never under-estimated.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.namespaces import Host, NoNamespaces, veth
from bench.process import ProgramFailed
from bench.speed import Target
from bench.tcpdump import capturing
from trustbed.agent.client import AgentError, binary

RATE = 40_000_000
PACKET = 1500
GAP_NS = 8 * PACKET * 1_000_000_000 // RATE
HERTZ = (100, 250, 1000)
_KEPT = 64
"""Bytes of a frame that are captured: headers and the number are within them."""
_NUMBER_AT = 14 + 20 + 8 + 4
_SETTLE_SECONDS = 0.3
_FLUSH_SECONDS = 1.3
"""tcpdump has the kernel hand over what it captured after a second at the latest."""
_ENDS = 1000
"""Packets at either end of a run whose median tells where it began and ended."""
_MISSED = 0.01
"""Share of the packets that tcpdump may miss."""
Stamps = npt.NDArray[np.float64]


class Agent:
    """A verb of the agent that runs in a namespace and is conversed with."""

    def __init__(self, host: Host, verb: str, configuration: dict[str, Any]) -> None:
        try:
            command = host.enter([str(binary()), verb])
        except AgentError as error:
            raise ProgramFailed(error.message) from error
        self._verb = verb
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._say(configuration)
        self.ready = self._hear("ready")

    def start(self) -> None:
        """Has it begin."""
        self._say({"do": "start"})
        self._hear("started")

    def report(self) -> dict[str, Any]:
        """Waits for its report."""
        return self._hear("report")

    def stop(self) -> dict[str, Any]:
        """Has it end; its report."""
        self._say({"do": "stop"})
        return self.report()

    def end(self) -> None:
        """Ends it, whatever it was doing."""
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()
        self._child.wait(timeout=10)

    def _say(self, line: dict[str, Any]) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(line) + "\n")
        self._child.stdin.flush()

    def _hear(self, wanted: str) -> dict[str, Any]:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            event: dict[str, Any] = json.loads(line)
            if event["event"] == wanted:
                return event
            if event["event"] != "progress":
                break
        raise ProgramFailed(f"trustbed-agent {self._verb} did not come to {wanted}")


@dataclass(frozen=True, kw_only=True)
class Paced:
    """Packets at their times.

    Attributes:
        gap_p50_us: Error of the gaps between packets, without sign.
        gap_p99_us: The same.
        gap_worst_us: The same.
        drift_us: By how much the end of the run is later against the schedule than its beginning.
        own_p99_us: How late the sender says that it was.
        seconds: How long the run was.
    """

    gap_p50_us: float
    gap_p99_us: float
    gap_worst_us: float
    drift_us: float
    own_p99_us: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Packets at the ticks of a timer.

    Attributes:
        hertz: Of the timer.
        packets_per_tick: Mean; between the two whole numbers next to what the rate asks for.
        odd_share: Ticks with another number of packets.
        tick_p99_us: Error of the distance between ticks, without sign.
        own_p99_us: How late the sender says that packets were: those behind others of their tick
            have to be.
    """

    hertz: int
    packets_per_tick: float
    odd_share: float
    tick_p99_us: float
    own_p99_us: float


@contextlib.contextmanager
def hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts on a veth link that know each other, or why there are none."""
    if shutil.which("tcpdump") is None:
        raise ProgramFailed("no tcpdump")
    try:
        with veth() as (near, far):
            near.run(
                "ping", "-c", "1", "-W", "2", "10.0.0.2", check=False
            )  # so that no packet waits for an address
            yield near, far
    except NoNamespaces as error:
        raise ProgramFailed(str(error)) from error


def observe(
    near: Host, far: Host, release: object, seconds: float, *, priority: str = "fifo"
) -> tuple[Stamps, dict[str, Any]]:
    """When each packet of a run came out of the veth link, in nanoseconds.

    And what the sender says of itself.
    """
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as directory:
        sink = Agent(far, "sink", {"listen": [{"transport": "udp", "address": "10.0.0.2:9"}]})
        stack.callback(sink.end)
        model = {"kind": "cbr", "rate_bits_per_second": RATE, "packet_bytes": PACKET}
        source = {
            "name": "cbr",
            "transport": "udp",
            "to": "10.0.0.2:9",
            "model": model,
            "release": release,
            "duration_ns": int(seconds * 1e9),
        }
        sender = Agent(near, "send", {"sources": [source], "priority": priority})
        stack.callback(sender.end)
        file = Path(directory) / "capture"
        with _tcpdump(far, file):
            sink.start()
            sender.start()
            report = sender.report()
            time.sleep(_FLUSH_SECONDS)
        lost = sink.stop()["sources"][0]["lost_packets"]
        stamps = _read(file)
    sent: int = report["sources"][0]["sent_packets"]
    # What tcpdump missed the sink has counted; a few gaps of two packets change no quantile.
    if lost or len(stamps) > sent or np.isnan(stamps).sum() + sent - len(stamps) > _MISSED * sent:
        raise ProgramFailed(
            f"{sent} packets were sent, {np.isfinite(stamps).sum()} captured, {lost} lost"
        )
    return stamps, report


@contextlib.contextmanager
def _tcpdump(host: Host, file: Path) -> Iterator[None]:
    looker = capturing(host, "right", file, snap=_KEPT)
    try:
        time.sleep(_SETTLE_SECONDS)
        yield
    finally:
        looker.send_signal(signal.SIGINT)
        looker.communicate(timeout=30)


def _read(file: Path) -> Stamps:
    """Packet times in a nanosecond pcap file of equally long frames, indexed by packet number.

    Times are relative to the first packet; a packet missing from the file has none (NaN).
    """
    names = ("seconds", "nanoseconds", "kept", "length")
    record = np.dtype([*((name, "<u4") for name in names), ("frame", "u1", (_KEPT,))])
    records = np.frombuffer(file.read_bytes(), dtype=record, offset=24)
    numbers = (
        np.ascontiguousarray(records["frame"][:, _NUMBER_AT : _NUMBER_AT + 4])
        .view(">u4")
        .reshape(-1)
    )
    if len(np.unique(numbers)) != len(numbers) or not len(numbers):
        raise ProgramFailed("the capture holds a packet twice, or none")
    times = records["seconds"].astype(np.int64) * 1_000_000_000 + records["nanoseconds"]
    stamps: Stamps = np.full(int(numbers.max()) + 1, np.nan)
    # Within the hours of a run a float holds nanoseconds exactly.
    stamps[numbers] = times - times.min()
    return stamps


def judge_paced(stamps: Stamps, own_p99_ns: float) -> Paced:
    """Gaps and drift against the schedule, which has equal gaps."""
    gaps = np.abs(np.diff(stamps) - GAP_NS) / 1e3
    gaps = gaps[np.isfinite(gaps)]
    error = stamps - np.arange(len(stamps)) * GAP_NS
    error = error[np.isfinite(error)]
    ends = min(_ENDS, len(error) // 2)
    return Paced(
        gap_p50_us=float(np.median(gaps)),
        gap_p99_us=float(np.quantile(gaps, 0.99)),
        gap_worst_us=float(gaps.max()),
        drift_us=float(np.median(error[-ends:]) - np.median(error[:ends])) / 1e3,
        own_p99_us=own_p99_ns / 1e3,
        seconds=len(stamps) * GAP_NS / 1e9,
    )


def judge_timed(stamps: Stamps, hertz: int, own_p99_ns: float) -> Timed:
    """Bursts.

    A packet begins one when it comes more than half a tick behind the one in front of it.
    """
    tick = 1_000_000_000 // hertz
    if not np.isfinite(stamps).all():
        raise ProgramFailed("the capture does not hold every packet")
    begins = np.flatnonzero(np.diff(stamps, prepend=stamps[0] - tick) > tick // 2)
    # What was due in the first tick and in the last one is a part of a tick.
    sizes = np.diff(begins)[1:]
    if len(sizes) == 0:
        raise ProgramFailed(f"no packets were held back for a timer of {hertz} Hz")
    asked = RATE / 8 / PACKET / hertz
    odd = np.count_nonzero((sizes != int(asked)) & (sizes != int(asked) + 1))
    # A tick without packets, where there should be some, is an error of a whole tick.
    errors = np.abs(np.diff(stamps[begins]) - tick) / 1e3
    return Timed(
        hertz=hertz,
        packets_per_tick=float(sizes.mean()),
        odd_share=float(odd / len(sizes)),
        tick_p99_us=float(np.quantile(errors, 0.99)),
        own_p99_us=own_p99_ns / 1e3,
    )


def measure_paced(near: Host, far: Host, seconds: float, *, priority: str = "fifo") -> Paced:
    """One run of paced packets."""
    stamps, report = observe(near, far, "paced", seconds, priority=priority)
    return judge_paced(stamps, report["departure_error"]["p99_ns"])


def measure_timed(near: Host, far: Host, hertz: int, seconds: float) -> Timed:
    """One run of packets at the ticks of a timer."""
    stamps, report = observe(near, far, {"timer_hz": hertz}, seconds)
    return judge_timed(stamps, hertz, report["departure_error"]["p99_ns"])


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Every run.

    Attributes:
        paced: By priority, one for each round.
        timed: By frequency, one for each round.
        long: The run that shows drift.
    """

    paced: dict[str, list[Paced]]
    timed: dict[int, list[Timed]]
    long: Paced


def measure(seconds: float, rounds: int, long_seconds: float) -> Figures:
    """All of it, in turns."""
    paced: dict[str, list[Paced]] = {"fifo": [], "normal": []}
    timed: dict[int, list[Timed]] = {hertz: [] for hertz in HERTZ}
    with hosts() as (near, far):
        for _ in range(rounds):
            for priority, runs in paced.items():
                runs.append(measure_paced(near, far, seconds, priority=priority))
            for hertz, bursts in timed.items():
                bursts.append(measure_timed(near, far, hertz, seconds))
        return Figures(paced=paced, timed=timed, long=measure_paced(near, far, long_seconds))


def lines(figures: Figures) -> Iterator[str]:
    """The figures for a person, medians of the rounds."""
    for priority, runs in figures.paced.items():
        names = ("gap_p50_us", "gap_p99_us", "gap_worst_us", "own_p99_us")
        p50, p99, worst, own = (median(getattr(run, name) for run in runs) for name in names)
        yield (
            f"paced, {priority:<6}  gap error p50 {p50:.1f}, p99 {p99:.1f}, worst {worst:.0f} "
            f"µs; the sender says p99 {own:.1f} µs late"
        )
    for hertz, bursts in figures.timed.items():
        measured = ("packets_per_tick", "odd_share", "tick_p99_us")
        packets, odd, p99 = (median(getattr(run, name) for run in bursts) for name in measured)
        asked = RATE / 8 / PACKET / hertz
        ticks = f"{packets:.2f} packets a tick (asked {asked:.2f}), {odd:.1%} of ticks with others"
        yield f"timer of {hertz:>4} Hz  {ticks}; tick error p99 {p99:.1f} µs"
    yield (
        f"drift over {figures.long.seconds:.0f} s  {figures.long.drift_us:+.1f} µs; gap error "
        f"p99 {figures.long.gap_p99_us:.1f} µs"
    )


def targets(figures: Figures) -> list[Target]:
    """What should be."""
    p99 = median(run.gap_p99_us for run in figures.paced["fifo"])
    found = [
        Target(
            what="generators: gap error at 40 Mbit/s, paced, p99", value=p99, limit=50, unit="µs"
        )
    ]
    for hertz, bursts in figures.timed.items():
        odd, tick = (
            median(run.odd_share for run in bursts),
            median(run.tick_p99_us for run in bursts),
        )
        found.append(
            Target(
                what=f"generators: share of ticks at {hertz} Hz with another number of packets",
                value=odd,
                limit=0.01,
            )
        )
        found.append(
            Target(
                what=f"generators: error between ticks at {hertz} Hz, p99",
                value=tick,
                limit=50,
                unit="µs",
            )
        )
    drift = abs(figures.long.drift_us)
    return [
        *found,
        Target(
            what=f"generators: drift over {figures.long.seconds:.0f} s",
            value=drift,
            limit=20,
            unit="µs",
        ),
    ]
