"""Converts the samples of every second from JSON lines to Parquet.

The samples are of the machine, its CPU quotas, and the interfaces and sockets of each host; sockets
may be sampled more often. All namespaces share one machine, so its rows are taken from the first
host. What a kernel does not report is null.

A host decides what its lines hold. One whose values are not of the columns' types is malformed: it
is counted, and none of it is used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet

from trustbed.run import former
from trustbed.run.throttling import throttled_share
from trustbed.workload.tables import column, table

_TIMES = (
    column("at_ns", pa.int64(), "ns", "time of the sample, since the epoch"),
    column("after_ns", pa.int64(), "ns", "time of the sample, since the sampling began"),
)
_SHARES = {
    "user_share": "of the processors: in programs",
    "nice_share": "of the processors: in programs of low priority",
    "system_share": "of the processors: in the kernel",
    "interrupt_share": "of the processors: in interrupts",
    "steal_share": "of the processors: taken by the hypervisor",
    "idle_share": "of the processors: idle",
    "iowait_share": "of the processors: idle while a task waited for a disk (iowait)",
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
        column("late_ns", pa.int64(), "ns", "how late the sample was taken"),
        column("interval_ns", pa.int64(), "ns", "since the previous sample"),
        *(
            column(name, pa.float64(), "1", meaning)
            for name, meaning in (_SHARES | _PRESSURES).items()
        ),
        column("context_switches", pa.int64(), "1", "since the previous sample"),
        column("interrupts", pa.int64(), "1", "since the previous sample"),
        column("running", pa.int64(), "1", "runnable tasks"),
        column("tasks", pa.int64(), "1", "tasks"),
        column("load_1min", pa.float64(), "1", "load average of one minute"),
        column("memory_total_bytes", pa.int64(), "B", "total memory"),
        column("memory_available_bytes", pa.int64(), "B", "memory available without swapping"),
        column("memory_free_bytes", pa.int64(), "B", "free memory"),
    ]
)
CGROUPS = pa.schema(
    [
        *_TIMES,
        column("interval_ns", pa.int64(), "ns", "since the previous sample"),
        column("cgroup", pa.string(), "", "directory of the control group"),
        column("periods", pa.int64(), "1", "periods of the quota since the previous sample"),
        column("throttled_periods", pa.int64(), "1", "periods in which it was used up"),
        column("throttled_ns", pa.int64(), "ns", "how long tasks were throttled"),
        column("used_ns", pa.int64(), "ns", "processor time used"),
    ]
)
PROCESSES = pa.schema(
    [
        *_TIMES,
        column("interval_ns", pa.int64(), "ns", "since the previous sample"),
        column("process", pa.int64(), "", "process ID; repetition.json has its host"),
        column("state", pa.string(), "", "its state, as in proc_pid_stat(5)"),
        column("ran_ns", pa.int64(), "ns", "how long its tasks ran since the previous sample"),
        column("waited_ns", pa.int64(), "ns", "how long they were runnable and did not run"),
        column("resident_bytes", pa.int64(), "B", "resident memory"),
    ]
)
INTERFACES = pa.schema(
    [
        *_TIMES,
        column("name", pa.string(), "", "the interface"),
        *(
            column(
                f"{direction}_{what}",
                pa.int64(),
                unit,
                f"{what} {direction} since the previous sample",
            )
            for direction in ("received", "sent")
            for what, unit in (("bytes", "B"), ("packets", "1"), ("errors", "1"), ("drops", "1"))
        ),
    ]
)
_TCP = {
    "congestion_state": ("1", "0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss"),
    "rto_ns": ("ns", "retransmission time-out"),
    "rtt_ns": ("ns", "smoothed RTT"),
    "rtt_variance_ns": ("ns", "RTT variation"),
    "rtt_min_ns": ("ns", "minimum RTT"),
    "send_mss_bytes": ("B", "largest segment"),
    "snd_cwnd": ("1", "congestion window"),
    "slow_start_threshold_segments": ("1", "slow-start threshold; null before the first loss"),
    "unacknowledged_segments": ("1", "segments in flight"),
    "lost_segments": ("1", "segments considered lost"),
    "retransmitted_segments": ("1", "retransmissions so far"),
    "sent_bytes": ("B", "payload sent so far, retransmissions included"),
    "acknowledged_bytes": ("B", "payload acknowledged so far"),
    "received_bytes": ("B", "payload received so far"),
    "not_sent_bytes": ("B", "written, not yet sent"),
    "send_window_bytes": ("B", "the peer's advertised window"),
    "receive_window_bytes": ("B", "the own advertised window"),
    "delivery_rate_bytes_per_second": ("B/s", "delivery rate"),
    "pacing_rate_bytes_per_second": ("B/s", "pacing rate; null without pacing"),
    "busy_ns": ("ns", "time busy sending data"),
    "receive_window_limited_ns": ("ns", "of that: limited by the receiver's window"),
    "send_buffer_limited_ns": ("ns", "of that: limited by the send buffer"),
}
SOCKETS = pa.schema(
    [
        *_TIMES,
        column("local", pa.string(), "", "the host's address and port"),
        column("peer", pa.string(), "", "the peer's address and port"),
        column("congestion_control", pa.string(), "", "congestion control algorithm"),
        column("receive_queue_bytes", pa.int64(), "B", "received, not yet read by the application"),
        column("send_queue_bytes", pa.int64(), "B", "sent or queued, not yet acknowledged"),
        *(column(name, pa.int64(), unit, meaning) for name, (unit, meaning) in _TCP.items()),
    ]
)

WHOLE = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
TIME = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_NUMBER = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
_TYPES: Mapping[pa.DataType, Any] = {
    pa.int64(): WHOLE,
    pa.float64(): _NUMBER,
    pa.string(): str,
    pa.bool_(): bool,
}
Shape = type[msgspec.Struct]
"""The types of an object's values by their keys. Other keys are left out."""


def shape(*columns: pa.Field, needs: Mapping[str, Any] | None = None, **more: Any) -> Shape:  # noqa: ANN401 - types
    """An object of values for columns and of ``more``, which may all be missing.

    ``needs`` has the types of those that may not.
    """
    needs = needs or {}
    found = {field.name: _TYPES[field.type] for field in columns} | more
    optional = [(key, kind | None, None) for key, kind in found.items() if key not in needs]
    return msgspec.defstruct("Sampled", [*needs.items(), *optional], omit_defaults=True)


def listed(rows: Shape) -> Any:  # noqa: ANN401 - a type
    """A list of such objects."""
    return GenericAlias(list, (rows,))


def named(schema: pa.Schema, names: Iterable[str]) -> list[pa.Field]:
    """The columns of a table with these names."""
    return [schema.field(name) for name in names]


_PROCESSORS = shape(
    *named(MACHINE, (*_SHARES, "context_switches", "interrupts")), busy_shares=list[_NUMBER]
)
_MEMORY = shape(
    *(
        MACHINE.field(f"memory_{what}_bytes").with_name(f"{what}_bytes")
        for what in ("total", "available", "free")
    )
)
LINE = shape(
    *named(MACHINE, ("after_ns", "late_ns")),
    needs={"at_ns": TIME},
    interval_ns=TIME,
    processors=_PROCESSORS,
    pressure=shape(*named(MACHINE, _PRESSURES)),
    run_queue=shape(*named(MACHINE, ("running", "tasks", "load_1min"))),
    memory=_MEMORY,
    tcp=dict[str, WHOLE | None],
    cgroups=listed(shape(*CGROUPS, needs={"cgroup": str})),
    processes=listed(shape(*PROCESSES, needs={"process": WHOLE})),
    interfaces=listed(shape(*INTERFACES, needs={"name": str})),
    drivers=listed(
        shape(
            needs={
                "name": str,
                "interval_ns": Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)],
                "counters": dict[str, WHOLE],
            }
        )
    ),
    sockets=listed(
        shape(
            *(field for field in SOCKETS if field.name not in _TCP),
            tcp=shape(*named(SOCKETS, _TCP)),
        )
    ),
    sockets_left_out=WHOLE,
    wakeups=shape(
        count=WHOLE,
        missed=WHOLE,
        late=WHOLE,
        late_ns=WHOLE,
        late_max_ns=WHOLE,
        late_share=_NUMBER,
        used_ns=WHOLE,
    ),
)
"""A line of a host's samples."""

_OF_SOCKETS = frozenset({"at_ns", "after_ns", "sockets", "sockets_left_out"})
"""Keys of a line between two intervals."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Converted:
    """The outcome of converting a repetition's samples.

    Attributes:
        machine: Shares of the machine's CPU time over all samples (:func:`summary`).
        malformed: The number of malformed lines by file, where there are any.
    """

    machine: Row
    malformed: Mapping[str, int]


def convert(
    directory: Path,
    hosts: Sequence[str],
    guests: Collection[str] = (),
    machines: Collection[str] = (),
) -> Converted:
    """Converts every ``HOST.jsonl`` to tables beside it, and removes it.

    A guest samples its virtual machine, in ``HOST.machine``; the process of the virtual machine is
    sampled with those of this machine. Machines sample themselves and their processes, in
    ``HOST.machine``, ``HOST.cgroups`` and ``HOST.processes``; the busiest stands for all.
    """
    machine: Row = {}
    malformed: dict[str, int] = {}
    for index, host in enumerate(hosts):
        source = directory / f"{host}.jsonl"
        if not source.is_file():
            continue
        read = read_lines(source)
        # Lines between those of every interval hold the connections only.
        lines = [line for line in read.rows if line.keys() - _OF_SOCKETS]
        if read.malformed:
            malformed[source.name] = read.malformed
        if host in machines:
            _write_machine(directory, f"{host}.", lines)
            machine = max(machine, summary(lines), key=lambda one: one.get("busy_share") or 0.0)
        elif index == 0:
            _write_machine(directory, "", lines)
            machine = summary(lines)
        if host in guests:
            _write(
                directory / f"{host}.machine.parquet", MACHINE, (_machine(line) for line in lines)
            )
        _write(directory / f"{host}.interfaces.parquet", INTERFACES, below(lines, "interfaces"))
        _write(directory / f"{host}.sockets.parquet", SOCKETS, _sockets(read.rows))
        source.unlink()
    return Converted(machine, malformed)


@dataclass(frozen=True, slots=True)
class SampleLines:
    """The contents of a file of samples.

    Attributes:
        rows: The samples, in order.
        malformed: Lines that are neither a sample nor the header, a truncated last one included.
    """

    rows: Sequence[Row]
    malformed: int


def read_lines(source: Path, line: Shape = LINE) -> SampleLines:
    """Reads a file of samples: a header, then one JSON object with ``at_ns`` a line."""
    rows: list[Row] = []
    malformed = 0
    for number, text in enumerate(source.read_bytes().splitlines()):
        found = None
        try:
            found = former.keys(msgspec.json.decode(text))
            rows.append(msgspec.to_builtins(msgspec.convert(found, line)))
        except (ValueError, RecursionError):
            is_header = number == 0 and isinstance(found, dict) and "at_ns" not in found
            malformed += not is_header
    return SampleLines(rows, malformed)


def _write_machine(directory: Path, prefix: str, lines: Sequence[Row]) -> None:
    """A machine, its quotas, and the processes that were sampled on it."""
    _write(directory / f"{prefix}machine.parquet", MACHINE, (_machine(line) for line in lines))
    for name, schema in (("cgroups", CGROUPS), ("processes", PROCESSES)):
        rows = below(lines, name, ("interval_ns",))
        _write(directory / f"{prefix}{name}.parquet", schema, rows)


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


def summary(lines: Sequence[Row]) -> Row:
    """Shares of CPU time over all samples; null where the kernel does not report them."""

    def mean(key: str) -> float | None:
        shares = [
            ((line.get("processors") or {}).get(key), line.get("interval_ns") or 0)
            for line in lines
        ]
        known = [(share, interval) for share, interval in shares if share is not None]
        weight = sum(interval for _, interval in known)
        return sum(share * interval for share, interval in known) / weight if weight else None

    idle = mean("idle_share")
    return {
        "samples": len(lines),
        "steal_share": mean("steal_share"),
        "busy_share": None if idle is None else 1 - idle - (mean("iowait_share") or 0.0),
        "throttled_share": throttled_share(below(lines, "cgroups", ("interval_ns",))),
    }


def _write(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> None:
    pa.parquet.write_table(table(schema, list(rows)), path, compression="zstd", version="2.6")
