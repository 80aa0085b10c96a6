"""Run directories of testbeds whose differences are known, written through the run's own interface.

A repetition has the requests of a closed loop, the connections and transfers of one capture, and
delays between two; its noise is drawn from the testbed's name and the repetition's number.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tests.begun_runs import EPOCH, begun_run
from trustbed.run.directory import RunDirectory
from trustbed.run.matrix import Repetition
from trustbed.workload.tables import PERCENTILES, REQUESTS, table

REQUESTS_EACH = 100
REPETITIONS = 4
"""Of a testbed, where a test needs no more of them."""
MS = 1_000_000

SCENARIO = """
name = "pages"
seed = 3
repetitions = {repetitions}
duration = "{duration}"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "10ms"
[workload.fetch]
kind = "http"
host = "client"
to = "server"
object = "{size}"
"""


@dataclass(frozen=True, kw_only=True)
class Made:
    """How a testbed differs from the plain one.

    Attributes:
        slower: Factor of the response times.
        grain_ns: What its tool states them in.
        packets: Factor of the packets to the server.
        merged: How many segments the card takes at once.
        jitter_ns: What is added to the jitter.
        reads: Reads per request of the traced server; ``None``: it was not traced.
        calls: What it does for a request, over and over; empty: its calls are only counted.
        starts: What each of its threads does first.
        noise: Standard deviation of all of these, as a share.
    """

    slower: float = 1.0
    grain_ns: int = 1
    packets: float = 1.0
    merged: int = 1
    jitter_ns: float = 0.0
    reads: float | None = None
    calls: Sequence[str] = ()
    starts: Sequence[str] = ("execve", "socket", "listen")
    tool: str | None = None
    noise: float = 0.01


def make_testbed(
    path: Path,
    made: Made | None = None,
    *,
    repetitions: int = REPETITIONS,
    size: str = "500B",
    duration: str = "20s",
    factors: str = "",
    by_level: Mapping[str, Made] | None = None,
    changed: Mapping[int, Mapping[str, Any]] | None = None,
    findings: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    leave_out: int = 0,
    machine: str = "x86_64",
    points: Sequence[str] = ("server",),
) -> Path:
    """A run; ``changed`` replaces keys of the records of repetitions, by number."""
    text = SCENARIO.format(repetitions=repetitions, size=size, duration=duration) + factors
    with begun_run(path, text, leave_out=leave_out, machine=machine) as run:
        for one in run.repetitions:
            levels = list(run.cells[one.cell].levels.values())
            own = next(
                (each for level, each in (by_level or {}).items() if level in levels),
                made or Made(),
            )
            _write(
                run.directory,
                one,
                own,
                f"{path.name} {one.number}",
                (changed or {}).get(one.number, {}),
                (findings or {}).get(one.number, ()),
                points,
            )
    return path


def _write(
    directory: RunDirectory,
    one: Repetition,
    made: Made,
    seed: str,
    changed: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    points: Sequence[str],
) -> None:
    chosen = random.Random(seed)
    directory.begin_repetition(one.directory)
    workload: dict[str, Any] = {"name": "fetch", "kind": "http", "host": "client", "to": "server"}
    workload |= {"outcome": "complete", "seconds": 20.0, "tool": made.tool}
    mode = "calls" if made.calls else "count"
    reads = (made.reads or 0.0) * (1 + chosen.gauss(0, made.noise))
    traces = [] if made.reads is None else [{**trace(reads), "mode": mode}]
    record = {"outcome": "complete", "workloads": [workload], "traces": traces, **changed}
    directory.finish_repetition(one.directory, record)
    with directory.judging(one.directory) as tables:
        took = 20 * MS * made.slower * (1 + chosen.gauss(0, made.noise))
        if made.tool is not None:  # one that states percentiles to the microsecond
            exact = [{"share": 0.5, "response_ns": round(took)}]
            _store(tables / "fetch.percentiles.parquet", table(PERCENTILES, exact))
        took -= took % made.grain_ns
        _store(tables / "fetch.requests.parquet", requests(round(took), record))
        acks = 3.0 * made.packets * (1 + chosen.gauss(0, made.noise))
        _store(tables / "connections.parquet", connections(acks, made.merged, points))
        _store(tables / "transfers.parquet", transfers(made.merged, points))
        if made.calls:
            _store(tables / "fetch.calls.parquet", calls(made, chosen))
        spread = (300_000 + made.jitter_ns) * (1 + chosen.gauss(0, 5 * made.noise))
        _store(tables / "two_point.parquet", two_point(round(spread)))
    directory.write_findings(
        one.directory,
        {
            "use": "trust",
            "why": "",
            "verdicts": {},
            "findings": list(findings),
            "captures": [{"point": point, "error": None} for point in points],
        },
    )


def _store(path: Path, rows: pa.Table) -> None:
    pa.parquet.write_table(rows, path)


def trace(reads: float) -> dict[str, Any]:
    """The report of a tracer of the server: reads beside ten other calls per request."""
    count = round(reads * REQUESTS_EACH)
    others = 10 * REQUESTS_EACH
    return {
        "name": "fetch",
        "host": "server",
        "of": "fetch",
        "mode": "count",
        "report": {
            "architecture": "x86_64",
            "complete": True,
            "calls": count + others,
            "lost": 0,
            "by_call": {"read": count - 1, "recvfrom": 1, "write": others},
            "context_switches": 2 * REQUESTS_EACH,
            "block_requests": 0,
        },
    }


def calls(made: Made, chosen: random.Random) -> pa.Table:
    """The calls of two threads, each of which retries a read now and then."""
    names, threads = [], []
    for thread in (7, 8):
        own = list(made.starts)
        for _ in range(200):
            own += made.calls
            if chosen.random() < 0.1:
                own.append("read")
        names += own
        threads += [thread] * len(own)
    return pa.table(
        {"call": pa.array(names).dictionary_encode(), "tid": pa.array(threads, pa.uint32())}
    )


def requests(took: int, record: Mapping[str, Any]) -> pa.Table:
    """A closed loop of requests that all take as long; none where the record says so."""
    count = record.get("requests", REQUESTS_EACH)
    return table(
        REQUESTS,
        [
            {
                "started": EPOCH + number * took,
                "connect_ns": 0,
                "response_ns": took,
                "total_ns": took,
                "bytes": 500,
                "status": 200,
            }
            for number in range(count)
        ],
    )


SEGMENTS = 4
"""Segments of a response on the wire."""


def connections(acks: float, merged: int, points: Sequence[str]) -> pa.Table:
    """One connection of all requests, seen at every capture point."""
    rows = [
        {
            "capture": point,
            "workload": "fetch",
            "connection": 1,
            "initiator": "10.0.0.1",
            "initiator_port": 40_000,
            "responder": "10.0.0.2",
            "responder_port": 80,
            "packets_initiator": round(acks * REQUESTS_EACH),
            "packets_responder": SEGMENTS // merged * REQUESTS_EACH,
            "payload_bytes_initiator": 100 * REQUESTS_EACH,
            "payload_bytes_responder": 5000 * REQUESTS_EACH,
        }
        for point in points
    ]
    return pa.Table.from_pylist(rows)


def transfers(merged: int, points: Sequence[str]) -> pa.Table:
    """Its two directions: requests of one segment, responses of four."""
    ends = [("10.0.0.1", 40_000, "10.0.0.2", 80), ("10.0.0.2", 80, "10.0.0.1", 40_000)]
    rows = [
        {
            "capture": point,
            "workload": "fetch",
            "connection": 1,
            "src": end[0],
            "src_port": end[1],
            "dst": end[2],
            "dst_port": end[3],
            "data_packets": REQUESTS_EACH * (1 if not side else SEGMENTS // merged),
            "segments_wire": REQUESTS_EACH * (1 if not side else SEGMENTS),
            "unique_bytes": REQUESTS_EACH * (100 if not side else 5000),
            "retransmitted_packets": 0,
            "verdict": "trust",
            "cause": "network_limited",
            "rtt_samples": 100,
            "rtt_p50_ns": 20e6,
            "rtt_p90_ns": 21e6,
        }
        for point in points
        for side, end in enumerate(ends)
    ]
    return pa.Table.from_pylist(rows)


def two_point(spread: int) -> pa.Table:
    """The delays of responses: jitter is ``spread``. Moments have nanoseconds, as real ones."""
    rows = pa.Table.from_pylist(
        [
            {
                "workload": "fetch",
                "sender": "10.0.0.2",
                "data_frames_delivered": 1600,
                "owd_increase_p50_ns": 1_000_000,
                "owd_increase_p95_ns": 1_000_000 + spread,
            },
            {
                "workload": "fetch",
                "sender": "10.0.0.1",
                "data_frames_delivered": 400,
                "owd_increase_p50_ns": 5_000,
                "owd_increase_p95_ns": 9_000_000,
            },
        ]
    )
    moments = pa.array([EPOCH + 403] * len(rows), pa.timestamp("ns", tz="UTC"))
    return rows.append_column("start_ns", moments)
