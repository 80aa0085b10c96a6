"""CPU per packet of trustbed, tcpdump, tcptrace and tshark, and the speedup by a second worker.

All read the same captures.

CPU per packet is the slope between two sizes, so that start-up and the final report cancel. The
programs take turns, round by round, so that a machine that gets slower or warmer slows all of them;
each figure is the median of the rounds.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from dataclasses import dataclass

from bench.captures import Capture, Captures
from bench.process import program, run


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure, and what it should be.

    Attributes:
        what: Words for a person.
        value: The figure measured.
        limit: It should be at most this, where that is asked.
        lower: It should be at least this, where that is asked.
        unit: The figure's unit, empty for a ratio.
    """

    what: str
    value: float
    limit: float | None = None
    lower: float | None = None
    unit: str = ""

    @property
    def holds(self) -> bool:
        """Whether the figure is what it should be."""
        return (self.limit is None or self.value <= self.limit) and (
            self.lower is None or self.value >= self.lower
        )


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program under measurement.

    Attributes:
        name: What the tables call it.
        command: Its arguments; `FILE` stands for the capture.
        sizes: Packets of the captures it runs on, ascending.
    """

    name: str
    command: list[str]
    sizes: tuple[int, ...]

    def on(self, capture: Capture) -> list[str]:
        """The command for one capture."""
        return [str(capture.path) if word == "FILE" else word for word in self.command]


# Cost in seconds of CPU, per program and size.
Costs = dict[str, dict[int, float]]


def trustbed_command(workers: int) -> list[str]:
    """The full analysis without samples."""
    return [program("trustbed"), "analyze", "FILE", "--workers", str(workers), "--quiet"]


def programs(sizes: tuple[int, ...], tshark_sizes: tuple[int, ...]) -> list[Program]:
    """The programs that are here.

    Tshark gets smaller captures: it takes 10 µs and half a kilobyte of memory for every packet.
    """
    asked = [
        Program(name="trustbed", command=trustbed_command(1), sizes=sizes),
        Program(name="tcpdump", command=["tcpdump", "-r", "FILE", "-w", "/dev/null"], sizes=sizes),
        Program(name="tcptrace", command=["tcptrace", "-n", "-l", "-r", "FILE"], sizes=sizes),
        Program(
            name="tshark",
            command=["tshark", "-n", "-q", "-z", "conv,tcp", "-r", "FILE"],
            sizes=tshark_sizes,
        ),
    ]
    missing = [one.name for one in asked if shutil.which(one.command[0]) is None]
    if missing:
        print(f"not here, so not compared with: {', '.join(missing)}", file=sys.stderr)
    return [one for one in asked if one.name not in missing]


def measure_cpu(captures: Captures, asked: list[Program], rounds: int) -> Costs:
    """Median CPU seconds of every program on every size of its own."""
    seconds: dict[str, dict[int, list[float]]] = {
        one.name: {size: [] for size in one.sizes} for one in asked
    }
    for size in sorted({size for one in asked for size in one.sizes}):
        capture = captures.of(size)
        warm(capture)
        for number in range(rounds):
            print(
                f"  {size / 1e6:g} million packets, round {number + 1} of {rounds}", file=sys.stderr
            )
            for one in asked:
                if size in one.sizes:
                    seconds[one.name][size].append(run(one.on(capture)).cpu_seconds)
    return {
        name: {size: statistics.median(values) for size, values in by_size.items()}
        for name, by_size in seconds.items()
    }


def warm(capture: Capture) -> None:
    """Brings the file into the page cache: the disk is not under measurement."""
    with capture.path.open("rb") as file:
        while file.read(1 << 24):
            pass


def slope_ns(costs: dict[int, float], smaller: int, larger: int) -> float:
    """CPU per packet in nanoseconds between two sizes."""
    return (costs[larger] - costs[smaller]) / (larger - smaller) * 1e9


def slopes(costs: Costs) -> dict[str, float]:
    """CPU time per packet of each program, in ns, between its smallest and largest capture."""
    return {name: slope_ns(by_size, min(by_size), max(by_size)) for name, by_size in costs.items()}


def compare(costs: Costs) -> list[Target]:
    """The slope against the others', and against itself over the sizes."""
    per_packet = slopes(costs)
    limits = {"tcpdump": 1.5, "tcptrace": 0.5, "tshark": 0.02}
    found = [
        Target(
            what=f"CPU per packet against {name}",
            value=per_packet["trustbed"] / per_packet[name],
            limit=limit,
        )
        for name, limit in limits.items()
        if name in per_packet
    ]
    small, middle, large = sorted(costs["trustbed"])
    ours = costs["trustbed"]
    ratio = slope_ns(ours, middle, large) / slope_ns(ours, small, middle)
    sizes = (
        f"{middle / 1e6:g}–{large / 1e6:g} million packets against {small / 1e6:g}–{middle / 1e6:g}"
    )
    return [*found, Target(what=f"CPU per packet, {sizes}", value=ratio, limit=1.15, lower=0.85)]


def compare_workers(capture: Capture, rounds: int) -> tuple[float, float, Target]:
    """Median wall seconds of one and of two workers, in turns, and their ratio."""
    warm(capture)
    walls: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, seconds in walls.items():
            command = Program(name="trustbed", command=trustbed_command(workers), sizes=()).on(
                capture
            )
            seconds.append(run(command).wall_seconds)
    one, two = (statistics.median(walls[workers]) for workers in (1, 2))
    return one, two, Target(what="wall time, two workers against one", value=two / one, limit=0.6)


def start_up(rounds: int) -> Target:
    """CPU of `trustbed --help`."""
    run([program("trustbed"), "--help"])
    seconds = statistics.median(
        run([program("trustbed"), "--help"]).cpu_seconds for _ in range(rounds)
    )
    return Target(what="CPU of trustbed --help", value=seconds, limit=0.2, unit="s")
