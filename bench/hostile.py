"""What captures cost that are made to cost much: CPU a packet, growth with the size, memory.

CPU a packet is the slope between a capture and one of twice its packets; the growth is the ratio of
their medians, both without the start, from runs that alternate. User time alone counts: what the
kernel does for the pages of a process depends on what else the machine does. The address space of
every run is limited: an analysis that wanted more would fail.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.captures import DIRECTORY
from bench.hostile_captures import CASES, Case
from bench.memory import FIXED_BYTES
from bench.process import Cost, program, run
from bench.speed import Target
from trustbed.store.captures import DEFAULT_MEMORY

MOST_MICROSECONDS = 20.0
"""CPU that a packet may cost, whatever it holds."""
MOST_GROWTH = 2.3
"""CPU of twice the packets against that of once, without the start."""
LEAST_SECONDS = 0.2
"""CPU below which a growth is that of the noise: starts differ by some hundredths of a second."""
MOST_PACKETS = 16
"""How many times as many packets a cheap case may have to reach that."""
SMALLEST = 2000
"""Packets of the captures that cost little more than the start."""
ADDRESS_SPACE = 4 << 30
"""Of the whole process, with its libraries and threads (RLIMIT_AS)."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A hostile capture of two sizes: median CPU seconds, without those of the start."""

    name: str
    packets: int
    once_seconds: float
    twice_seconds: float
    peak_bytes: int

    @property
    def microseconds(self) -> float:
        """CPU a packet."""
        return (self.twice_seconds - self.once_seconds) / self.packets * 1e6

    @property
    def growth(self) -> float:
        """How many times as long twice as much takes; under-estimated where both take little."""
        return self.twice_seconds / max(self.once_seconds, LEAST_SECONDS)


def measure(packets: int, rounds: int) -> Iterator[Measured]:
    """Every case, of so many packets and of twice as many; of more where those cost too little."""
    return (_measured(case, packets, rounds) for case in CASES)


def _measured(case: Case, packets: int, rounds: int) -> Measured:
    most = MOST_PACKETS * packets
    while True:
        found = _compared(case, packets, rounds)
        if found.once_seconds >= LEAST_SECONDS or packets >= most:
            return found
        packets = min(most, packets * max(2, round(LEAST_SECONDS / max(found.once_seconds, 0.01))))


def _compared(case: Case, packets: int, rounds: int) -> Measured:
    counts = (SMALLEST, packets, 2 * packets)
    costs: dict[int, list[Cost]] = {count: [] for count in counts}
    with _written(case, counts) as files:
        for _ in range(rounds):
            for count in counts:
                costs[count].append(_cost(files[count]))
    start, once, twice = (
        statistics.median(cost.user_seconds for cost in costs[count]) for count in counts
    )
    return Measured(
        name=case.name,
        packets=packets,
        once_seconds=once - start,
        twice_seconds=twice - start,
        peak_bytes=max(cost.peak_private_bytes or 0 for cost in costs[2 * packets]),
    )


@contextmanager
def _written(case: Case, counts: tuple[int, ...]) -> Iterator[dict[int, list[Path]]]:
    """The files of a case by the number of packets, removed at the end of the block."""
    files: dict[int, list[Path]] = {}
    try:
        for count in counts:
            files[count] = written(case, count, DIRECTORY)
        yield files
    finally:
        for file in (one for some in files.values() for one in some):
            file.unlink()


def written(case: Case, packets: int, directory: Path) -> list[Path]:
    """The files of a case."""
    name = case.name.replace(" ", "-")
    files = []
    for index, content in enumerate(case.make(packets)):
        path = directory / f"hostile-{name}-{packets}-{index}{case.suffix}"
        path.write_bytes(content)
        files.append(path)
    return files


def command(files: list[Path]) -> list[str]:
    """The analysis of the files of a case."""
    if len(files) == 1:
        return [program("trustbed"), "analyze", str(files[0]), "--workers", "1", "--quiet"]
    sender, receiver = map(str, files)
    ends = ["--sender", sender, "--receiver", receiver]
    return [program("trustbed"), "analyze", *ends, "--workers", "1", "--quiet"]


def _cost(files: list[Path]) -> Cost:
    """One analysis within the limit."""
    return run(["prlimit", f"--as={ADDRESS_SPACE}", "--", *command(files)], watch_memory=True)


def line(one: Measured) -> str:
    """A case in a line."""
    return (
        f"{one.name:<32} {one.microseconds:>6.2f} µs a packet; {one.packets:,} packets "
        f"{one.once_seconds:.2f} s, twice as many {one.twice_seconds:.2f} s: "
        f"{one.growth:.2f} times as long; {one.peak_bytes / 1e6:.0f} MB"
    )


def targets(found: list[Measured]) -> list[Target]:
    """The dearest packet, the steepest growth and the largest peak."""
    dearest = max(found, key=lambda one: one.microseconds)
    largest = max(found, key=lambda one: one.peak_bytes)
    steepest = max(found, key=lambda one: one.growth)
    return [
        Target(
            what=f"hostile captures: CPU a packet ({dearest.name})",
            value=dearest.microseconds,
            limit=MOST_MICROSECONDS,
            unit="µs",
        ),
        Target(
            what=f"hostile captures: twice against once ({steepest.name})",
            value=steepest.growth,
            limit=MOST_GROWTH,
        ),
        Target(
            what=f"hostile captures: peak private memory ({largest.name})",
            value=largest.peak_bytes / 1e6,
            limit=(DEFAULT_MEMORY + FIXED_BYTES) / 1e6,
            unit="MB",
        ),
    ]
