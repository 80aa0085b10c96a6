"""What was seen every second, from lines of JSON to Parquet: the machine, its quotas, and the interfaces and connections of each host.

The machine is the same for all hosts of a testbed of namespaces, so its rows are taken from the first. What a kernel does not tell is null.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

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
    "waiting_for_disk_share": "of the processors: nothing to do but wait for a disk",
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
        column("cgroup", pa.string(), "", "its folder"),
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
    "congestion_window_segments": ("1", "congestion window"),
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


def convert(folder: Path, hosts: Sequence[str], guests: Collection[str] = ()) -> dict[str, Any]:
    """Turns ``HOST.jsonl`` into tables beside them and removes the former. Returns what the machine was like as a whole.

    A guest is a machine too: ``HOST.machine`` is what it saw of itself. How it was run is among the processes of this machine.
    """
    machine: dict[str, Any] = {}
    for place, host in enumerate(hosts):
        source = folder / f"{host}.jsonl"
        if not source.is_file():
            continue
        lines = list(lines_of(source))
        if place == 0:
            _write(folder / "machine.parquet", MACHINE, (_machine(line) for line in lines))
            _write(folder / "cgroups.parquet", CGROUPS, below(lines, "cgroups", ("interval_ns",)))
            machine = summary(lines)
            _write(
                folder / "processes.parquet", PROCESSES, below(lines, "processes", ("interval_ns",))
            )
        if host in guests:
            _write(folder / f"{host}.machine.parquet", MACHINE, (_machine(line) for line in lines))
        _write(folder / f"{host}.interfaces.parquet", INTERFACES, below(lines, "interfaces"))
        _write(folder / f"{host}.sockets.parquet", SOCKETS, _sockets(lines))
        source.unlink()
    return machine


def lines_of(source: Path) -> Iterator[Row]:
    """The samples; the first line says what they are, and a last one that was cut is left out."""
    for text in source.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if "at_ns" in line:
            yield line


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
    """The rows that every sample has under a key, each with its time and with more of what its sample says."""
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
    whole = sum(line.get("interval_ns") or 0 for line in lines)

    def mean(key: str) -> float | None:
        seen = [
            ((line.get("processors") or {}).get(key), line.get("interval_ns") or 0)
            for line in lines
        ]
        told = [(share, interval) for share, interval in seen if share is not None]
        weight = sum(interval for _, interval in told)
        return sum(share * interval for share, interval in told) / weight if weight else None

    throttled = [
        one.get("throttled_ns") or 0 for line in lines for one in line.get("cgroups") or ()
    ]
    idle = mean("idle_share")
    return {
        "samples": len(lines),
        "steal_share": mean("steal_share"),
        "busy_share": None if idle is None else 1 - idle - (mean("waiting_for_disk_share") or 0.0),
        # Kernels count it for each processor that a group may run on.
        "throttled_share": min(1.0, sum(throttled) / whole) if throttled and whole else None,
    }


def _write(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> None:
    pa.parquet.write_table(table(schema, list(rows)), path, compression="zstd", version="2.6")
