"""Traces of system calls as a testbed: a directory of files, each of which is one repetition.

A file is a table of ``trustbed trace``, or what ``strace -f -tt -T``, ``perf script``, ``sysdig``
or ``bpftrace`` printed. What the traced program did is not known, so calls are counted for a whole
trace: repetitions have to do the same work, or to last as long.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from trustbed.calls.errors import CallsError
from trustbed.calls.importing import format_of, import_trace
from trustbed.calls.summary import architecture, by_call, complete
from trustbed.compare.calls import READS, WrittenCalls
from trustbed.compare.imported import beside, in_order
from trustbed.compare.observing import Observation
from trustbed.compare.sources import Observed, Source, SourceCell
from trustbed.compare.workloads import Asked

TABLE = "trustbed trace"
"""The program that writes tables."""
TRACES = "traces of system calls (trustbed trace, strace -f -tt, perf script, sysdig, bpftrace)"
"""What can be read, in words."""
TRACE = "calls"
"""What the trace of every repetition is called."""
PER = "trace"
_ABSENT = "only traces of system calls are there"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    """A file, and the table of its calls, or why there is none."""

    name: str
    program: str
    table: Path | None
    invalid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class TracedPart:
    """The traces of a directory, one per repetition."""

    traces: Sequence[_Trace]
    workloads: Mapping[str, Asked]
    preferred: Sequence[str] = ()
    dropped: str = ""

    @property
    def planned(self) -> int:
        """As of :class:`~trustbed.compare.sources.Part`."""
        return len(self.traces)

    def points(self, workloads: Collection[str], warm_up: int) -> frozenset[str]:
        """There are no captures."""
        return frozenset()

    def observed(self, called: Mapping[str, str], point: str | None) -> list[Observed]:
        """As of :class:`~trustbed.compare.sources.Part`."""
        return [
            Observed(one.name, number, _observation(one)) for number, one in enumerate(self.traces)
        ]

    def written(self, kept: Collection[str]) -> list[Mapping[str, WrittenCalls]]:
        """As of :class:`~trustbed.compare.sources.Part`."""
        return [
            {
                TRACE: WrittenCalls(
                    repetition=one.name,
                    is_whole=True,
                    architecture=architecture(one.table),
                    read=partial(pyarrow.parquet.read_table, one.table, columns=["call", "tid"]),
                )
            }
            for one in self.traces
            if one.name in kept and one.table is not None
        ]


def read_traces(path: Path, name: str) -> Source | None:
    """A directory of traces, or a single one; ``None`` if there is none in it."""
    files = [path] if path.is_file() else in_order(one for one in path.iterdir() if one.is_file())
    programs = {file: program for file in files if (program := _program(file)) is not None}
    if not programs:
        return None
    place = Path(tempfile.mkdtemp(prefix="trustbed-"))
    traces: list[_Trace] = []
    part = TracedPart(traces=traces, workloads={TRACE: {}})
    # Text becomes tables, which are there as long as what is read from them.
    weakref.finalize(part, shutil.rmtree, place, ignore_errors=True)
    for number, (file, program) in enumerate(programs.items()):
        traces.append(_read(file, program, place / f"{number}.parquet"))
    others = [file.name for file in files if file not in programs]
    notes = [beside(name, "traces", others)] if others else []
    if len({file.stem for file in programs if file.suffix[1:].isdecimal()}) < sum(
        file.suffix[1:].isdecimal() for file in programs
    ):
        notes.append(
            f"{name}: every file is taken for a repetition; strace -ff writes one for each thread, "
            "and those of -f -o FILE can be compared"
        )
    return Source(
        name=name,
        path=path,
        cells=[SourceCell(levels={}, label="", part=part)],
        facts={"traced by": ", ".join(sorted(set(programs.values())))},
        notes=notes,
    )


def _program(file: Path) -> str | None:
    """What traced, if a file is a trace."""
    with file.open("rb") as stream:
        is_parquet = stream.read(4) == b"PAR1"
    if not is_parquet:
        return format_of(file)
    try:
        found = pyarrow.parquet.read_schema(file)
    except (pa.ArrowException, OSError):
        return None
    return TABLE if {"call", "tid", "entered_ns"} <= set(found.names) else None


def _read(file: Path, program: str, target: Path) -> _Trace:
    """A table as it is; anything else becomes one first."""
    if program == TABLE:
        return _judged(file.name, program, file)
    try:
        import_trace(file, target)
    except CallsError as error:
        return _Trace(name=file.name, program=program, table=None, invalid=error.message)
    return _judged(file.name, program, target)


def _judged(name: str, program: str, table: Path) -> _Trace:
    why = None
    if not pyarrow.parquet.read_metadata(table).num_rows:
        why = "there is no call in it"
    elif complete(table) is False:
        why = "calls were lost, so nothing can be counted"
    return _Trace(name=name, program=program, table=table, invalid=why)


def _observation(one: _Trace) -> Observation:
    if one.invalid is not None or one.table is None:
        return Observation(invalid=one.invalid)
    counts = by_call(one.table)
    values = {
        "system_calls": float(sum(counts.values())),
        "reads": float(sum(counts.get(name, 0) for name in READS)),
    }
    return Observation(
        values=values,
        per=dict.fromkeys(values, PER),
        absent=dict.fromkeys(("application", "network", "delay"), _ABSENT),
        traced=True,
        calls={"": {call: float(count) for call, count in counts.items()}},
    )
