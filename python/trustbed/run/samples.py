"""Samples of every second, from lines of JSON to Parquet.

The machine, its quotas, and the interfaces and connections of each host.

The machine is the same for all hosts of a testbed of namespaces, so its rows are taken from the
first. What a kernel does not report is null.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from trustbed.run.throttling import throttled_share
from trustbed.workload.tables import column, table

_TIMES = (
    column("at_ns", pa.int64(), "ns", "when it was looked, since the epoch"),
    column("after_ns", pa.int64(), "ns", "the same, since the sampling began"),
)
_SHARES = {
    "user_share": "of the processors: in programs",
    "nice_share": "of the processors: in programs of low priority",
    "system_share": "of the processors: in the kernel",
    "interrupt_share": "of the processors: in interrupts",
    "steal_share": "of the processors: taken by the hypervisor",
    "idle_share": "of the processors: nothing to do",
    "iowait_share": "of the processors: nothing to do but wait for a disk",
}
_PRESSURES = {
    "processor_some_share": "of the time: some task waited for a processor (PSI)",
    "memory_some_share": "of the time: some task waited for memory",
    "memory_full_share": "of the time: all tasks waited for memory",
    "disk_some_share": "of the time: some task waited for a disk",
    "disk_full_share": "of the time: all tasks waited for a disk",
}
MACHINE = pa.schema(
    [
        *_TIMES,
        column("late_ns", pa.int64(), "ns", "how late the look was"),
        column("interval_ns", pa.int64(), "ns", "since the look before"),
        *(
            column(name, pa.float64(), "1", meaning)
            for name, meaning in (_SHARES | _PRESSURES).items()
        ),
        column("context_switches", pa.int64(), "1", "since the look before"),
        column("interrupts", pa.int64(), "1", "since the look before"),
        column("running", pa.int64(), "1", "tasks that run or could"),
        column("tasks", pa.int64(), "1", "tasks"),
        column("load_1min", pa.float64(), "1", "tasks that run or could, averaged over a minute"),
        column("memory_total_bytes", pa.int64(), "B", "memory that there is"),
        column(
            "memory_available_bytes", pa.int64(), "B", "memory that could be had without swapping"
        ),
        column("memory_free_bytes", pa.int64(), "B", "memory that nothing is in"),
    ]
)
CGROUPS = pa.schema(
    [
        *_TIMES,
        column("interval_ns", pa.int64(), "ns", "since the look before"),
        column("cgroup", pa.string(), "", "its directory"),
        column("periods", pa.int64(), "1", "periods of the quota since the look before"),
        column("throttled_periods", pa.int64(), "1", "those in which it was used up"),
        column("throttled_ns", pa.int64(), "ns", "how long tasks waited for the next one"),
        column("used_ns", pa.int64(), "ns", "processor time used"),
    ]
)
PROCESSES = pa.schema(
    [
        *_TIMES,
        column("interval_ns", pa.int64(), "ns", "since the look before"),
        column("process", pa.int64(), "", "its number; repetition.json has whose it is"),
        column("state", pa.string(), "", "what it was doing then, as in proc_pid_stat(5)"),
        column("ran_ns", pa.int64(), "ns", "how long its tasks ran since the look before"),
        column("waited_ns", pa.int64(), "ns", "how long they could have run and did not"),
        column("resident_bytes", pa.int64(), "B", "memory that it holds"),
    ]
)
INTERFACES = pa.schema(
    [
        *_TIMES,
        column("name", pa.string(), "", "the interface"),
        *(
            column(f"{way}_{what}", pa.int64(), unit, f"{what} {way} since the look before")
            for way in ("received", "sent")
            for what, unit in (("bytes", "B"), ("packets", "1"), ("errors", "1"), ("drops", "1"))
        ),
    ]
)
_TCP = {
    "congestion_state": ("1", "0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss"),
    "rto_ns": ("ns", "retransmission time-out"),
    "rtt_ns": ("ns", "smoothed RTT"),
    "rtt_variance_ns": ("ns", "its variation"),
    "rtt_min_ns": ("ns", "least RTT of late"),
    "send_mss_bytes": ("B", "largest segment"),
    "snd_cwnd": ("1", "congestion window"),
    "slow_start_threshold_segments": ("1", "slow-start threshold; null before the first loss"),
    "unacknowledged_segments": ("1", "segments under way"),
    "lost_segments": ("1", "segments that are taken for lost"),
    "retransmitted_segments": ("1", "retransmissions so far"),
    "sent_bytes": ("B", "payload sent so far, retransmissions included"),
    "acknowledged_bytes": ("B", "payload acknowledged so far"),
    "received_bytes": ("B", "payload received so far"),
    "not_sent_bytes": ("B", "written and not sent yet"),
    "send_window_bytes": ("B", "the receiver's window"),
    "receive_window_bytes": ("B", "the own window"),
    "delivery_rate_bytes_per_second": ("B/s", "rate of delivery"),
    "pacing_rate_bytes_per_second": ("B/s", "rate of pacing; null where nothing paces"),
    "busy_ns": ("ns", "how long there was something to send"),
    "receive_window_limited_ns": ("ns", "of that: limited by the receiver's window"),
    "send_buffer_limited_ns": ("ns", "of that: limited by the own buffer"),
}
SOCKETS = pa.schema(
    [
        *_TIMES,
        column("local", pa.string(), "", "the host's end"),
        column("peer", pa.string(), "", "the other end"),
        column("congestion_control", pa.string(), "", "its name"),
        column("receive_queue_bytes", pa.int64(), "B", "not read yet by the application"),
        column("send_queue_bytes", pa.int64(), "B", "not acknowledged yet"),
        *(column(name, pa.int64(), unit, meaning) for name, (unit, meaning) in _TCP.items()),
    ]
)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a repetition's samples.

    Attributes:
        machine: Shares of the machine's processors over the whole time (:func:`summary`).
        malformed: Lines that are no samples, by file, where there are any.
    """

    machine: Row
    malformed: Mapping[str, int]


def convert(directory: Path, hosts: Sequence[str], guests: Collection[str] = ()) -> Converted:
    """Turns every ``HOST.jsonl`` into tables beside it, and removes it.

    A guest is a machine of its own: ``HOST.machine`` is what it sampled of itself. The process that
    runs it is among those of this machine.
    """
    machine: Row = {}
    malformed: dict[str, int] = {}
    for index, host in enumerate(hosts):
        source = directory / f"{host}.jsonl"
        if not source.is_file():
            continue
        read = read_lines(source)
        lines = read.rows
        if read.malformed:
            malformed[source.name] = read.malformed
        if index == 0:
            _write(directory / "machine.parquet", MACHINE, (_machine(line) for line in lines))
            _write(
                directory / "cgroups.parquet", CGROUPS, below(lines, "cgroups", ("interval_ns",))
            )
            machine = summary(lines)
            _write(
                directory / "processes.parquet",
                PROCESSES,
                below(lines, "processes", ("interval_ns",)),
            )
        if host in guests:
            _write(
                directory / f"{host}.machine.parquet", MACHINE, (_machine(line) for line in lines)
            )
        _write(directory / f"{host}.interfaces.parquet", INTERFACES, below(lines, "interfaces"))
        _write(directory / f"{host}.sockets.parquet", SOCKETS, _sockets(lines))
        source.unlink()
    return Converted(machine, malformed)


@dataclass(frozen=True, slots=True)
class SampleLines:
    """What a file of samples holds.

    Attributes:
        rows: The samples, in order.
        malformed: Lines that are neither a sample nor the header, a truncated last one included.
    """

    rows: Sequence[Row]
    malformed: int


def read_lines(source: Path) -> SampleLines:
    """Reads a file of samples: a header, then one JSON object with ``at_ns`` a line."""
    rows: list[Row] = []
    malformed = 0
    for number, text in enumerate(source.read_bytes().splitlines()):
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if isinstance(line, dict) and isinstance(line.get("at_ns"), int):
            rows.append(line)
        elif number > 0 or not isinstance(line, dict):
            malformed += 1
    return SampleLines(rows, malformed)


def _machine(line: Row) -> Row:
    memory = {f"memory_{name}": value for name, value in (line.get("memory") or {}).items()}
    return {
        **line,
        **(line.get("processors") or {}),
        **(line.get("pressure") or {}),
        **(line.get("run_queue") or {}),
        **memory,
    }


def below(lines: Iterable[Row], key: str, more: Sequence[str] = ()) -> Iterator[Row]:
    """The rows under a key of every sample, with its time and the fields ``more`` of the sample."""
    for line in lines:
        for one in line.get(key) or ():
            yield {**_when(line), **{name: line.get(name) for name in more}, **one}


def _sockets(lines: Iterable[Row]) -> Iterator[Row]:
    for line in lines:
        for one in line.get("sockets") or ():
            yield {**_when(line), **one, **(one.get("tcp") or {})}


def _when(line: Row) -> Row:
    return {"at_ns": line["at_ns"], "after_ns": line.get("after_ns")}


def summary(lines: Sequence[Row]) -> dict[str, Any]:
    """Shares over the whole time; null where the kernel does not say."""

    def mean(key: str) -> float | None:
        seen = [
            ((line.get("processors") or {}).get(key), line.get("interval_ns") or 0)
            for line in lines
        ]
        told = [(share, interval) for share, interval in seen if share is not None]
        weight = sum(interval for _, interval in told)
        return sum(share * interval for share, interval in told) / weight if weight else None

    idle = mean("idle_share")
    return {
        "samples": len(lines),
        "steal_share": mean("steal_share"),
        "busy_share": None if idle is None else 1 - idle - (mean("iowait_share") or 0.0),
        "throttled_share": throttled_share(below(lines, "cgroups", ("interval_ns",))),
    }


def _write(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> None:
    pa.parquet.write_table(table(schema, list(rows)), path, compression="zstd", version="2.6")
