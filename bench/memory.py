"""How much private memory an analysis needs.

On captures of several lengths, and on a flood of half-open connections.

What an analysis may need: a fixed part, something per open connection and per outstanding segment,
and the histograms of transfers with more samples than are kept exactly. How many connections of a
built capture are open at once is not counted here: the limit takes all of them for open, so it is
generous on long captures, and leaves out what is outstanding.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from bench.captures import Capture
from bench.process import Cost, run
from bench.speed import Program, Target, trustbed_command

FIXED_BYTES = 150_000_000
BYTES_PER_CONNECTION = 600
# RTT, timestamp echoes, spacing, response, both again for idle senders, delivery rate, outstanding
# data and window: nine histograms of 100 bins a decade over nine decades, 8 bytes a bin.
BYTES_PER_LONG_TRANSFER = 9 * 9 * 100 * 8
FLOOD_BYTES = 1_000_000_000

# Asks the library how many connections were evicted.
_COUNT = (
    "import sys, trustbed; print(trustbed.analyze(sys.argv[1], "
    "workers=int(sys.argv[2])).facts['evicted_connections'])"
)


@dataclass(frozen=True, kw_only=True)
class Flood:
    """What became of a flood.

    Attributes:
        peak: Private memory against its limit.
        cost: What the run cost.
        evicted: Connections that were evicted and counted, per number of workers.
    """

    peak: Target
    cost: Cost
    evicted: dict[int, int]


def measure_peaks(captures: list[Capture]) -> list[Target]:
    """Peak private memory of one worker per capture, and its limit for open connections."""
    targets = []
    for capture in captures:
        cost = run(
            Program(name="trustbed", command=trustbed_command(1), sizes=()).on(capture),
            watch_memory=True,
        )
        limit = (
            FIXED_BYTES
            + BYTES_PER_CONNECTION * capture.connections
            + BYTES_PER_LONG_TRANSFER * capture.long_transfers
        )
        what = (
            f"peak private memory, {capture.packets / 1e6:g} million packets, "
            f"{capture.connections} connections"
        )
        targets.append(
            Target(
                what=what, value=(cost.peak_private_bytes or 0) / 1e6, limit=limit / 1e6, unit="MB"
            )
        )
    return targets


def measure_flood(capture: Capture, workers: tuple[int, ...] = (1, 2)) -> Flood:
    """Peak private memory on a flood, and its evictions for several numbers of workers."""
    cost = run(
        Program(name="trustbed", command=trustbed_command(1), sizes=()).on(capture),
        watch_memory=True,
    )
    what = (
        f"peak private memory, flood of {capture.connections / 1e6:g} million half-open connections"
    )
    peak = Target(
        what=what, value=(cost.peak_private_bytes or 0) / 1e6, limit=FLOOD_BYTES / 1e6, unit="MB"
    )
    return Flood(
        peak=peak, cost=cost, evicted={number: count_evicted(capture, number) for number in workers}
    )


def count_evicted(capture: Capture, workers: int) -> int:
    """How many connections the analysis says it evicted."""
    answer = run([sys.executable, "-c", _COUNT, str(capture.path), str(workers)], keep_output=True)
    return int(answer.output)
