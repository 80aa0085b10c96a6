"""Run directories written by hand, through the directory's own interface.

Response times that are known, ledgers of a few packets.

Nothing is random: the response times of a repetition are those of its cell, stretched by its round,
so that every result can be found with paper and pencil.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tests.begun_runs import EPOCH, BegunRun, begun_run
from trustbed.run.directory import RunDirectory
from trustbed.run.matrix import Repetition
from trustbed.workload.tables import REQUESTS, table

MS = 1_000_000

STUDY = """
name = "study"
about = "What does background traffic do to fetches?"
seed = 3
repetitions = 3
duration = "20s"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "10ms"
[workload.fetch]
kind = "http"
host = "client"
to = "server"
object = "1MB"
[background.cross]
model = "none"
from = "server"
to = "client"
rate = "3.3Mbit/s"
[factors]
"background.cross.model" = ["none", "poisson", "cbr"]
"background.cross.rate" = ["3.3Mbit/s", "6.6Mbit/s", "13.2Mbit/s"]
"""
"""Seven cells: none, and two models at three rates."""

TIMES: Mapping[str, Sequence[float]] = {
    "none": [0.40, 0.40, 0.40, 0.41, 0.42],
    "3.3Mbit/s": [0.48, 0.50, 0.50, 0.52, 0.56],
    "6.6Mbit/s": [0.60, 0.62, 0.64, 0.66, 0.80],
    "13.2Mbit/s": [1.00, 1.10, 1.20, 1.40, 2.00],
}
"""Response times in seconds, by the level that decides them."""
STRETCH = (1.0, 1.02, 0.99)
"""What a round does to the response times of the baseline.

The other cells get that of the round behind it.
"""
PACKETS = 400


def make_run(
    subdirectory: Path,
    text: str = STUDY,
    *,
    repetitions: int | None = None,
    judged: bool = True,
    leave_out: int = 0,
) -> RunDirectory:
    """A run of every repetition but the last ``leave_out``.

    The last judged one of all has an emulator that was late.
    """
    with begun_run(subdirectory, text, repetitions=repetitions, leave_out=leave_out) as run:
        _fill(run, judged=judged)
    return run.directory


def _fill(run: BegunRun, *, judged: bool) -> None:
    for repetition in run.repetitions:
        cell = run.cells[repetition.cell]
        levels = list(cell.levels.values())
        stretch = STRETCH[(repetition.round + (repetition.cell > 0)) % 3]
        seconds = [
            took * stretch
            for took in next(
                (TIMES[level] for level in reversed(levels) if level in TIMES), TIMES["none"]
            )
        ]
        write_repetition(
            run.directory,
            repetition,
            seconds,
            late=repetition is run.repetitions[-1],
            judged=judged,
            background=levels[:1] != ["none"],
        )


def requests(
    seconds: Sequence[float | None], *, start: int = EPOCH, gap: int = 50 * MS
) -> pa.Table:
    """Requests one after the other; ``None`` is one that failed."""
    rows, moment = [], start
    for took in seconds:
        spent = round((took or 0.1) * 1e9)
        failed = took is None
        rows.append(
            {
                "started": moment,
                "connect_ns": 20 * MS,
                "response_ns": None if failed else spent,
                "first_byte_ns": None if failed else 25 * MS,
                "total_ns": None if failed else spent + 20 * MS,
                "bytes": 0 if failed else 1_000_000,
                "status": None if failed else 200,
                "error": "reset" if failed else None,
            }
        )
        moment += spent + gap
    return table(REQUESTS, rows)


def ledger(
    *, packets: int = PACKETS, gap: int = 10 * MS, names: Sequence[str] = ("up", "down")
) -> pa.Table:
    """A queue on ``down`` that grows to 20 packets and falls again, every hundredth of them lost.

    Nothing waits on ``up``.
    """
    numbers = range(packets)
    return pa.table(
        {
            "packet": pa.array([*numbers, *numbers], pa.uint64()),
            "arrived_ns": pa.array(
                [EPOCH + number * gap for _ in names for number in numbers], pa.int64()
            ),
            "found_packets": pa.array(
                [*(0 for _ in numbers), *(20 - abs(20 - number % 40) for number in numbers)],
                pa.uint32(),
            ),
            "pipe": pa.array([name for name in names for _ in numbers]).dictionary_encode(),
            "fate": pa.array(
                [
                    *("passed" for _ in numbers),
                    *("queue_full" if number % 100 == 99 else "passed" for number in numbers),
                ]
            ),
        }
    )


def record(repetition: Repetition, *, late: bool, background: bool) -> dict[str, Any]:
    """``repetition.json`` of a repetition that went well, or whose emulator was late."""
    departure_error = {
        "packets": 800,
        "p50_ns": 9_000,
        "p99_ns": 2_400_000 if late else 38_000,
        "max_ns": 3_000_000 if late else 90_000,
    }
    down = {
        "packets": 400,
        "carried_bits_per_second": 16.1e6,
        "dropped": {"queue_full": 4},
        "deepest_queue_packets": 20,
    }
    up = {
        "packets": 400,
        "carried_bits_per_second": 0.5e6,
        "dropped": {},
        "deepest_queue_packets": 1,
    }
    waits = {"p50_ns": 6 * MS, "p99_ns": 12 * MS, "max_ns": 13 * MS}
    sent = {
        "offered_packets": 1000,
        "offered_ip_bytes_per_second": [412_500, 412_500, 100],
        "departure_error": {
            "packets": 1000,
            "p99_ns": 30_000,
            "max_ns": 200_000,
            "over_1ms_share": 0.0,
        },
        "generator_late": False,
    }
    return {
        "outcome": "complete",
        "cell": repetition.cell,
        "round": repetition.round,
        "seed": repetition.seed,
        "started": "2026-01-01T00:00:00Z",
        "seconds": 21.5,
        "epoch_ns": EPOCH,
        "workload_start_ns": EPOCH,
        "workloads": [
            {
                "name": "fetch",
                "kind": "http",
                "outcome": "complete",
                "seconds": 20.0,
                "limit_seconds": 60.0,
            }
        ],
        "backgrounds": [
            {
                "name": "cross",
                "from": "server",
                "to": "client",
                "transport": "udp",
                "send": sent,
                "sink": {"sources": [{"packets": 990 - 10 * repetition.round}]},
            }
        ]
        if background
        else [],
        "emulator": {
            "departure_error": {
                **departure_error,
                "late_by_more_than_a_packet_time": 0.2 if late else 0.0,
            },
            "pipes": [
                {
                    "name": "up",
                    "from": "client",
                    "to": "server",
                    **up,
                    "queue_delay": {"p50_ns": 0, "p99_ns": 0, "max_ns": 1 * MS},
                },
                {"name": "down", "from": "server", "to": "client", **down, "queue_delay": waits},
            ],
        },
        "emulator_ready": {"priority": "fifo"},
        "failures": [],
    }


LATE = {
    "code": "run_emulator_late",
    "severity": "error",
    "scope": "emulator",
    "message": "the emulator's packets left late by 9.00 µs (p50), 2.40 ms (p99), 3.00 ms (most)",
    "value": 0.0024,
    "threshold": 0.001,
    "unit": "seconds",
    "evidence": "800 packets",
    "meaning": "What it was late by is part of every delay.",
    "next_step": "run on a machine with less else to do",
}


def write_repetition(
    directory: RunDirectory,
    repetition: Repetition,
    seconds: Sequence[float | None],
    *,
    late: bool = False,
    judged: bool = True,
    background: bool = True,
    changed: Mapping[str, Any] | None = None,
) -> None:
    """One repetition, raw part and judgement."""
    path = directory.begin_repetition(repetition.directory)
    pa.parquet.write_table(ledger(), path / "ledger" / "packets.parquet")
    directory.finish_repetition(
        repetition.directory,
        {**record(repetition, late=late, background=background), **(changed or {})},
    )
    if not judged:
        return
    with directory.judging(repetition.directory) as tables:
        pa.parquet.write_table(requests(seconds), tables / "fetch.requests.parquet")
    use, why = ("discard", LATE["message"]) if late else ("trust", "")
    found = {
        "use": use,
        "why": why,
        "verdicts": {"trust": len(seconds)},
        "findings": [LATE] if late else [],
    }
    directory.write_findings(repetition.directory, found)
