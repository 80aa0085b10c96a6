"""A capture once more, as pcapng, with comments on the packets at which something happened.

What is said comes from the tables of the analysis: phases, and with the samples of every packet
pauses (those that ``idle_open_window_samples`` counts), retransmissions and what a policer dropped.
The engine then copies the capture in one pass. Kept in memory are some 40 bytes per comment; texts
are made as the copy needs them.

Bias: a segment's class is what was known when it was sent. A phase begins at the first packet of
its connection from then on; away from the sender its time is an estimate. A drop is marked only in
transfers whose cause is ``policed``, at the copy of the bytes that was sent last before they were
sent again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trustbed import _core
from trustbed.analysis.options import Options
from trustbed.disk import whole_path
from trustbed.report import columns, placing, words
from trustbed.report.records import Row
from trustbed.report.transfer import comments

#: Texts that exist at a time.
_AT_ONCE = 4096

_PACKETS = pa.schema([("index", pa.uint64()), ("text", pa.string())])
_ENDS = pa.schema(
    [
        ("src", pa.string()),
        ("src_port", pa.uint16()),
        ("dst", pa.string()),
        ("dst_port", pa.uint16()),
    ]
)
_MOMENTS = pa.schema([("ts_ns", pa.int64()), *_ENDS, ("text", pa.string())])
_EVENTS = pa.schema(
    [
        ("index", pa.uint64()),
        ("transfer", pa.string()),
        # What happened: a subclass of the table segments, or "drop".
        ("event", pa.string()),
        ("bytes", pa.int64()),
        ("time_ns", pa.int64()),
    ]
)
_BEGINS = pa.schema(
    [
        ("transfer", pa.string()),
        # What begins: a state of the table phases, or "pause".
        ("state", pa.string()),
        ("mixed", pa.bool_()),
        ("start_ns", pa.int64()),
        ("time_ns", pa.int64()),
    ]
)
_PAUSE, _DROP = "pause", "drop"

Stream: TypeAlias = Callable[[str], pa.RecordBatchReader]
Progress: TypeAlias = Callable[[int, int | None], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """What an annotated capture holds.

    Attributes:
        packets: Packets, as many as in the capture.
        comments: Comments on them.
        unplaced: Comments for which no packet was left: phases that begin behind the last one.
    """

    packets: int
    comments: int
    unplaced: int


def check(path: Path, options: Options) -> None:
    """Finds out before a long analysis whether ``path`` can become the annotated capture.

    Raises:
        OutputError: It cannot be written, is one of the inputs, or these cannot be read twice.
    """
    placing.check_file(path)
    for file in options.files:
        with suppress(OSError):
            if path.exists() and path.samefile(file):
                raise placing.OutputError(
                    f"is the capture itself, which stays as it is, {path}",
                    f"give the annotated one another name, as {path.stem}-annotated.pcapng",
                )
    if not options.repeatable:
        raise placing.OutputError(
            "what comes from standard input or a pipe cannot be read again to be annotated",
            "save it to a file first",
        )


def write(
    path: Path,
    stream: Stream,
    analysis: _core.Analysis,
    options: Options,
    progress: Progress | None,
) -> Annotated:
    """Writes the annotated capture, completely or not at all.

    Args:
        path: Where to.
        stream: Gives the tables ``transfers`` (with verdicts), ``phases``, ``segments`` and
            ``spacing``.
        analysis: Of this capture.
        options: Those of the analysis.
        progress: Called with bytes read and bytes in total.
    """
    from trustbed import __version__

    check(path, options)
    thresholds, policed = _of_transfers(stream("transfers"))
    again = _again(stream("segments"))
    events = pa.concat_tables([again, _drops(stream, again, policed)]).sort_by("index")
    begins = pa.concat_tables(
        [_phases(stream("phases")), _pauses(stream("spacing"), thresholds)]
    ).sort_by("start_ns")
    both = pa.concat_tables([events.select(["transfer"]), begins.select(["transfer"])])
    named = pc.unique(both.column("transfer"))
    ends = _Ends(stream("transfers"), named)
    try:
        with whole_path(path) as partial:
            packets, placed, unplaced = _core.annotate(
                analysis,
                list(options.files),
                partial,
                application=f"trustbed {__version__}",
                packets=_packet_texts(events, ends, policed),
                moments=_moment_texts(begins, ends),
                inner=options.inner,
                progress=progress,
            )
    except OSError as error:
        raise placing.OutputError(
            f"cannot be written: {(error.strerror or str(error)).lower()}, {path}",
            "make room there or write elsewhere; nothing is left of it",
        ) from error
    return Annotated(packets=packets, comments=placed, unplaced=unplaced)


def _of_transfers(transfers: pa.RecordBatchReader) -> tuple[pa.Table, frozenset[str]]:
    """From when on the sender of each transfer counts as idle, and the transfers policed."""
    kept, policed = [], set()
    for batch in transfers:
        least = pc.is_valid(batch.column("idle_open_window_threshold_ns"))
        kept.append(batch.select(["transfer", "idle_open_window_threshold_ns"]).filter(least))
        causes = pc.equal(batch.column("cause"), "policed")
        policed.update(batch.column("transfer").filter(causes).to_pylist())
    schema = transfers.schema
    fields = [schema.field(name) for name in ("transfer", "idle_open_window_threshold_ns")]
    return pa.Table.from_batches(kept, pa.schema(fields)), frozenset(policed)


def _events(parts: Iterable[pa.Array | Sequence[object]]) -> pa.Table:
    held = [part if isinstance(part, pa.Array) else pa.array(part) for part in parts]
    return pa.table(held, names=_EVENTS.names).cast(_EVENTS)


def _again(segments: pa.RecordBatchReader) -> pa.Table:
    """Segments that repeat bytes or fill holes."""
    kept = [_EVENTS.empty_table()]
    for batch in segments:
        found = batch.filter(pc.not_equal(batch.column("class"), "new"))
        repeated = pc.equal(found.column("class"), "retransmission")
        octets = pc.if_else(repeated, found.column("overlap"), found.column("length"))
        cause = pc.fill_null(found.column("subclass"), "")
        zero = pa.array([0] * found.num_rows, pa.int64())
        kept.append(_events([found.column("index"), found.column("transfer"), cause, octets, zero]))
    return pa.concat_tables(kept)


def _pauses(spacing: pa.RecordBatchReader, thresholds: pa.Table) -> pa.Table:
    """Pauses with an open window, from the arrival that opened it on.

    How long one is at least depends on the transfer.
    """
    names = thresholds.column("transfer").combine_chunks()
    least = thresholds.column("idle_open_window_threshold_ns").combine_chunks()
    kept = [_BEGINS.empty_table()]
    for batch in spacing:
        waited = batch.filter(
            pc.and_(
                pc.is_valid(batch.column("response_ns")),
                pc.not_equal(batch.column("category"), "recovery_wait"),
            )
        )
        bound = least.take(pc.index_in(waited.column("transfer"), value_set=names))
        longer = pc.greater(waited.column("response_ns").cast(pa.float64()), bound)
        found = waited.filter(longer)
        lengths = found.column("response_ns").cast(pa.int64())
        held = [
            found.column("transfer"),
            pa.array([_PAUSE] * found.num_rows, pa.string()),
            pa.array([False] * found.num_rows, pa.bool_()),
            pc.subtract(found.column("ts_ns").cast(pa.int64()), lengths),
            lengths,
        ]
        kept.append(pa.table(held, names=_BEGINS.names).cast(_BEGINS))
    return pa.concat_tables(kept)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A segment of a policed transfer: bytes ``start`` to ``end`` at ``ts``."""

    index: int
    ts: int
    start: int
    end: int


def _drops(stream: Stream, again: pa.Table, policed: frozenset[str]) -> pa.Table:
    """The segments of policed transfers whose bytes were sent again because they were lost."""
    if not policed:
        return _EVENTS.empty_table()
    named = pa.array(sorted(policed), pa.string())
    of_policed = pc.is_in(again.column("transfer"), value_set=named)
    lost = pc.is_in(
        again.column("event").cast(pa.string()), value_set=pa.array(["fast", "timeout"])
    )
    repeats = set(again.filter(pc.and_(of_policed, lost)).column("index").to_pylist())
    repeated: dict[str, list[_Sent]] = defaultdict(list)
    for name, one in _sent(stream("segments"), named):
        if one.index in repeats:
            repeated[name].append(one)
    ranges = {name: _Ranges(held) for name, held in repeated.items()}
    copies: dict[str, list[_Sent]] = defaultdict(list)
    for name, one in _sent(stream("segments"), named):
        if name in ranges and ranges[name].meet(one):
            copies[name].append(one)
    rows: list[tuple[int, str, str, int, int]] = []
    for name, held in repeated.items():
        rows += [
            (index, name, _DROP, octets, waited)
            for index, (octets, waited) in _dropped(held, copies[name]).items()
        ]
    return _events(zip(*rows, strict=True)) if rows else _EVENTS.empty_table()


def _sent(segments: pa.RecordBatchReader, named: pa.Array) -> Iterator[tuple[str, _Sent]]:
    for batch in segments:
        found = batch.filter(pc.is_in(batch.column("transfer"), value_set=named))
        held = [
            columns.values(found.column(name))
            for name in ("transfer", "index", "ts_ns", "offset", "length")
        ]
        for name, index, ts, offset, length in zip(*held, strict=True):
            yield name, _Sent(index, ts, offset, offset + length)


class _Ranges:
    """Ranges of bytes, joined where they overlap."""

    def __init__(self, held: Iterable[_Sent]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for one in sorted(held, key=lambda one: one.start):
            if self._ends and one.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], one.end)
            else:
                self._starts.append(one.start)
                self._ends.append(one.end)

    def meet(self, one: _Sent) -> bool:
        """Whether a segment has a byte in one of them."""
        before = bisect_left(self._starts, one.end)
        return before > 0 and self._ends[before - 1] > one.start


def _dropped(repeats: Iterable[_Sent], copies: Iterable[_Sent]) -> dict[int, tuple[int, int]]:
    """For each dropped segment, how many bytes were sent again, and after what time the first were.

    Dropped is the copy of a byte that was sent last before the byte was repeated.
    """
    found: dict[int, tuple[int, int]] = {}
    by_start = _ByStart(copies)
    for repeat in sorted(repeats, key=lambda one: one.index):
        start = repeat.start
        while start < repeat.end and (copy := by_start.last_before(repeat.index, start)):
            octets = min(copy.end, repeat.end) - start
            earlier, waited = found.get(copy.index, (0, repeat.ts - copy.ts))
            found[copy.index] = (earlier + octets, waited)
            start += octets
    return found


class _ByStart:
    """Segments by their first byte."""

    def __init__(self, copies: Iterable[_Sent]) -> None:
        self._held = sorted(copies, key=lambda one: (one.start, one.index))
        self._starts = [one.start for one in self._held]
        self._longest = max((one.end - one.start for one in self._held), default=0)

    def last_before(self, index: int, octet: int) -> _Sent | None:
        """The last copy of a byte before a packet."""
        first = bisect_left(self._starts, octet - self._longest)
        end = bisect_left(self._starts, octet + 1)
        holding = (one for one in self._held[first:end] if one.end > octet and one.index < index)
        return max(holding, key=lambda one: one.index, default=None)


def _phases(phases: pa.RecordBatchReader) -> pa.Table:
    """The phases, each once: of those that join several states, with the longest of these."""
    kept = [_BEGINS.empty_table()]
    for batch in phases:
        rows: list[Row] = []
        phase: tuple[str, int] | None = None
        longest = 0
        for row in columns.plain_rows(batch):
            same = (row["transfer"], row["phase"]) == phase
            if same and row["time_ns"] <= longest:
                continue
            phase, longest = (row["transfer"], row["phase"]), row["time_ns"]
            kept_row = {name: row[name] for name in ("transfer", "state", "mixed", "start_ns")}
            rows[len(rows) - same :] = [{**kept_row, "time_ns": row["end_ns"] - row["start_ns"]}]
        if rows:
            names = _BEGINS.names
            held = [pa.array([row[name] for row in rows]) for name in names]
            kept.append(pa.table(held, names=names).cast(_BEGINS))
    return pa.concat_tables(kept)


class _Ends:
    """Both ends of the transfers that comments are about."""

    def __init__(self, transfers: pa.RecordBatchReader, named: pa.Array) -> None:
        wanted = ["transfer", *_ENDS.names]
        kept = []
        for batch in transfers:
            is_named = pc.is_in(batch.column("transfer"), value_set=named)
            kept.append(batch.select(wanted).filter(is_named))
        schema = pa.schema([transfers.schema.field(name) for name in wanted])
        self._table = pa.Table.from_batches(kept, schema).combine_chunks()
        self._names = self._table.column("transfer").combine_chunks()

    def of(self, transfers: pa.Array) -> pa.Table:
        """A row of :data:`_ENDS` for each of the transfers."""
        rows = pc.index_in(transfers, value_set=self._names)
        return self._table.select(_ENDS.names).take(rows).cast(_ENDS)


def _packet_texts(events: pa.Table, ends: _Ends, policed: frozenset[str]) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        for batch in events.to_batches(max_chunksize=_AT_ONCE):
            endpoints = map(words.endpoints, ends.of(batch.column("transfer")).to_pylist())
            texts = [
                comments.of(_sentence(row, policed=row["transfer"] in policed), where)
                for row, where in zip(batch.to_pylist(), endpoints, strict=True)
            ]
            yield pa.record_batch([batch.column("index"), pa.array(texts, pa.string())], _PACKETS)

    return pa.RecordBatchReader.from_batches(_PACKETS, batches())


def _sentence(row: Row, *, policed: bool) -> str:
    if row["event"] == _DROP:
        return comments.drop(row["bytes"], row["time_ns"])
    return comments.again(row["event"], row["bytes"], policed=policed)


def _beginning(row: Row) -> str:
    if row["state"] == _PAUSE:
        return comments.pause(row["time_ns"])
    return comments.phase(row["state"], row["time_ns"], mixed=row["mixed"])


def _moment_texts(begins: pa.Table, ends: _Ends) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        for batch in begins.to_batches(max_chunksize=_AT_ONCE):
            both = ends.of(batch.column("transfer"))
            texts = [
                comments.of(_beginning(row), words.endpoints(where))
                for row, where in zip(batch.to_pylist(), both.to_pylist(), strict=True)
            ]
            held = [column.combine_chunks() for column in both.columns]
            yield pa.record_batch(
                [batch.column("start_ns"), *held, pa.array(texts, pa.string())], _MOMENTS
            )

    return pa.RecordBatchReader.from_batches(_MOMENTS, batches())
