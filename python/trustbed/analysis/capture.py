"""The library's face: a capture, analysed and judged, as Arrow tables.

Reading and measuring are the engine's, judging is ``trustbed.diagnose``'s, showing is
``trustbed.report``'s; this module joins the three.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc

from trustbed import _core
from trustbed.analysis.judged_transfers import JudgedTransfers
from trustbed.analysis.options import (
    LEAST_MEMORY,
    CapturePoint,
    Options,
    Workload,
    available_cores,
    files_of,
)
from trustbed.analysis.transfer import Transfer
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.judge import HostOf, Judgement
from trustbed.report import columns, json_lines, moments, schemas
from trustbed.report.records import Json, Row
from trustbed.report.transfer import phases
from trustbed.report.transfer.overview import VERDICTS, Overview

if TYPE_CHECKING:
    from trustbed.analysis.annotations import Annotated
    from trustbed.analysis.burst import Burstiness
    from trustbed.report.transfer import html
    from trustbed.report.transfer.json import Lines as JsonLines

#: A report describes this many transfers one by one; files and tables hold all of them.
SHOWN = 400

CHARTS_KEPT = 32
"""The engine keeps what so many transfers' charts are drawn from at most."""

_TABLES = ("connections", "transfers", "phases", "exchanges", "findings", "skips")
_SAMPLES = ("rtt", "spacing", "segments")
_DAMAGED = frozenset(
    {"truncated", "bad_header", "fragment_without_first", "unsupported_link", "empty"}
)
"""Reasons for skipping that mean that something is missing.

The others are traffic that trustbed does not measure.
"""


def analyze(
    captures: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    at: CapturePoint | None = None,
    workload: Workload | None = None,
    capacity: str | float | None = None,
    inner: bool = False,
    dedup: bool = False,
    samples: bool = False,
    series: bool = False,
    annotations: bool = False,
    memory: str | int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    host_of: HostOf | None = None,
) -> Capture:
    """Reads a capture, measures and judges every transfer in it.

    ``captures`` is one file, or the files of a rotated one; ``-`` is standard input.

    ``at`` names the capture point (found per connection if not given), ``workload`` what the sender
    did (``bulk``: it always had data to send), ``capacity`` how fast the narrowest link is
    (``"20Mbit/s"``, or bit/s). ``inner`` judges the packets inside tunnels, ``dedup`` drops packets
    that were captured twice, ``samples`` keeps a row per RTT sample, spacing sample and segment,
    ``series`` what the charts of the 32 largest transfers are drawn from (for others, and without
    it, charts read the capture again), ``annotations`` what :meth:`Capture.annotate` needs (which
    reads it again otherwise). ``memory`` is the budget of connection state (``"1GiB"``, or
    bytes; default: 1 GiB): connections beyond it are evicted and counted. ``workers`` threads
    (default: one per core) give the same result for any number. ``progress`` is called with bytes
    read and bytes in total (``None`` = unknown). ``host_of`` returns, for a row of the transfers
    table, the evidence of its sending host (``None``: nothing).

    Raises ``CaptureError`` when nothing can be read, and ``ValueError`` for options that mean
    nothing. What is merely damaged is analysed as far as it goes, and ``findings`` names what is
    missing.
    """
    if at not in (None, "sender", "receiver", "middle"):
        raise ValueError(f"at={at!r}: sender, receiver, middle or None")
    if workload not in (None, "bulk", "interactive"):
        raise ValueError(f"workload={workload!r}: bulk, interactive or None")
    options = Options(
        files=files_of(captures),
        at=at,
        workload=workload,
        capacity=_bits_per_second(capacity),
        inner=inner,
        dedup=dedup,
        samples=samples,
        memory=_bytes(memory),
        workers=available_cores() if workers is None else workers,
    )
    return Capture(
        _ask_engine(options, series=series, samples=annotations or samples, progress=progress),
        options,
        series=series,
        host_of=host_of,
    )


def _bits_per_second(capacity: str | float | None) -> int | None:
    if capacity is None:
        return None
    rate = _core.parse_rate(capacity) if isinstance(capacity, str) else round(capacity)
    if rate <= 0:
        raise ValueError(f"capacity={capacity!r}: more than 0 bit/s")
    return int(rate)


def _bytes(memory: str | int | None) -> int | None:
    if memory is None:
        return None
    given = int(_core.parse_size(memory)) if isinstance(memory, str) else memory
    if given < LEAST_MEMORY:
        raise ValueError(f"memory={memory!r}: at least {LEAST_MEMORY >> 20} MiB")
    return given


def _ask_engine(
    options: Options,
    *,
    series: bool = False,
    samples: bool | None = None,
    charts_of: Collection[str] | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> _core.Analysis:
    return _core.analyze(
        list(options.files),
        workers=options.workers,
        inner=options.inner,
        dedup=options.dedup,
        at=options.at,
        capacity=options.capacity,
        samples=options.samples if samples is None else samples,
        series=series,
        charts_of=None if charts_of is None else set(charts_of),
        memory=options.memory,
        progress=progress,
    )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Capture:
    """An analysed capture. Made by :func:`analyze`.

    Tables are pyarrow Tables with the unit and meaning of every column in its field's metadata;
    polars, pandas and DuckDB take them as they are.
    """

    options: Options
    _analysis: _core.Analysis
    _judged: JudgedTransfers
    _has_series: bool

    def __init__(
        self,
        analysis: _core.Analysis,
        options: Options,
        *,
        series: bool = False,
        host_of: HostOf | None = None,
    ) -> None:
        judged = JudgedTransfers(analysis, options, host_of)
        vars(self).update(options=options, _analysis=analysis, _judged=judged, _has_series=series)

    # What the engine found.

    @cached_property
    def facts(self) -> CaptureFacts:
        """Facts about the capture as a whole.

        Files, interfaces, clock, damage; times as integer nanoseconds.
        """
        return self._judged.facts

    @cached_property
    def connections(self) -> pa.Table:
        """One row per connection."""
        return self.stream("connections").read_all()

    @cached_property
    def transfers(self) -> pa.Table:
        """One row per transfer, with its cause, confidence and verdict."""
        return self.stream("transfers").read_all()

    @cached_property
    def phases(self) -> pa.Table:
        """One row per phase of a transfer and state in it: where its time went, in order."""
        return self.stream("phases").read_all()

    @cached_property
    def exchanges(self) -> pa.Table:
        """One row per unit of a transfer's data: an answer to the peer's data before it."""
        return self.stream("exchanges").read_all()

    @cached_property
    def findings(self) -> pa.Table:
        """The findings about the capture, its hosts and its transfers."""
        return self.stream("findings").read_all()

    @cached_property
    def skips(self) -> pa.Table:
        """Records that were not measured, by reason."""
        return self.stream("skips").read_all()

    @cached_property
    def rtt(self) -> pa.Table:
        """One row per RTT sample (``samples=True``), of three kinds.

        The column ``kind`` names the method: ``syn`` (handshake), ``ack`` (data to
        acknowledgement), ``timestamp`` (echo of RFC 7323). Filter by it before averaging.
        """
        return self.stream("rtt").read_all()

    @cached_property
    def spacing(self) -> pa.Table:
        """One row per spacing sample (``samples=True``)."""
        return self.stream("spacing").read_all()

    @cached_property
    def segments(self) -> pa.Table:
        """One row per data segment (``samples=True``)."""
        return self.stream("segments").read_all()

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that this capture has."""
        return (*_TABLES, *(_SAMPLES if self.options.samples else ()))

    def stream(self, table: str) -> pa.RecordBatchReader:
        """A table as a stream of record batches, for captures whose tables do not fit in memory."""
        if table in ("findings", "skips"):
            found = (
                [asdict(finding) for finding in self.judgement.findings]
                if table == "findings"
                else self._analysis.skips
            )
            return schemas.from_rows(
                found, schemas.FINDINGS if table == "findings" else schemas.SKIPS
            ).to_reader()
        if table in _SAMPLES and not self.options.samples:
            raise ValueError(f"no table {table!r}: analyze(..., samples=True) keeps it")
        if table not in self.tables:
            raise ValueError(f"no table {table!r}: {', '.join(self.tables)}")
        if table == "transfers":
            return self._judged.stream()
        return schemas.ordered(pa.RecordBatchReader.from_stream(getattr(self._analysis, table)))

    # What it means.

    @property
    def judgement(self) -> Judgement:
        """What became of every transfer, in their order, and every finding."""
        return self._judged.judgement

    @cached_property
    def summary(self) -> Json:
        """Counts: connections, transfers, verdicts, causes, and the most severe verdict."""
        verdicts, outcomes = self.verdicts, self.judgement.outcomes
        not_judged = verdicts.get("not_judged", 0)
        return {
            "connections": len(self._analysis.connections),
            "transfers": len(outcomes),
            "judged": len(outcomes) - not_judged,
            "not_judged": not_judged,
            "verdicts": {verdict: verdicts.get(verdict, 0) for verdict in VERDICTS},
            "causes": self._judged.tally["causes"],
            "worst_verdict": next(
                (verdict for verdict in VERDICTS[:-1] if verdicts.get(verdict)), None
            ),
        }

    @property
    def verdicts(self) -> Mapping[str, int]:
        """How many transfers have each verdict; without those that did not occur."""
        return self._judged.tally["verdicts"]

    @cached_property
    def overview(self) -> Overview:
        """What a report shows: bounded, the most severe transfers first."""
        return Overview(
            name=self.options.name,
            facts=self._facts_shown,
            findings=self._findings_shown,
            skips=self._analysis.skips,
            transfers=list(self._judged.most_severe(SHOWN)),
            verdicts=self.verdicts,
            connections=len(self._analysis.connections),
        )

    @cached_property
    def _facts_shown(self) -> Row:
        shown = moments.for_text_mapping(self.facts)
        return {key: value for key, value in shown.items() if key != "skips"}

    @cached_property
    def _findings_shown(self) -> list[Json]:
        return [asdict(finding) for finding in self.judgement.findings]

    def rows(self, *, judged_only: bool = False) -> Iterator[Json]:
        """Transfers as JSON carries them, in the order of the capture."""
        return self._judged.rows(judged_only=judged_only)

    def transfer(self, name: str) -> Transfer:
        """One transfer by its name, for example ``"1.0"``."""
        found = self._judged.find(name)
        if found is None:
            raise KeyError(f"no transfer {name!r} in {self.options.name}")
        row, measured, host, diagnosis = found
        return Transfer(row, measured, diagnosis, host, self)

    def burstiness(self, **options: Any) -> Burstiness:  # noqa: ANN401 - any option of trustbed.burst
        """How bursty the traffic is.

        Takes what :func:`trustbed.burst` takes, and reads the capture again.
        """
        from trustbed.analysis.burst import burst

        if not self.options.repeatable:
            raise ValueError(
                "what came from standard input or a pipe cannot be read again for its burstiness: "
                "trustbed.burst('-')"
            )
        return burst(
            self.options.files,
            **{"inner": self.options.inner, "workers": self.options.workers, **options},
        )

    # Where it goes.

    def series(self, transfer: str) -> Json:
        """The columns that the charts of a transfer are drawn from.

        Those of the largest transfers are kept (``series=True``). For others the capture is read
        again; from a pipe, which cannot be, there are none.
        """
        found = self._drawn(transfer)
        if not found:
            return {}
        band = phases.columns(self._rows_of("phases", transfer), found["start_ns"])
        return {**found, "phases": band}

    def _rows_of(self, table: str, transfer: str) -> Iterator[Json]:
        """The rows of one transfer in a table, times as integer nanoseconds."""
        for batch in pa.RecordBatchReader.from_stream(getattr(self._analysis, table)):
            yield from columns.plain_rows(
                batch.filter(pc.equal(batch.column("transfer"), transfer))
            )

    def _drawn(self, transfer: str) -> Json | None:
        """What the engine keeps for the charts of a transfer; ``None`` where it keeps nothing."""
        repeatable = self.options.repeatable
        if self._has_series and (
            (found := self._analysis.series(transfer)) is not None or not repeatable
        ):
            return found
        if not repeatable:
            raise ValueError(
                "what came from standard input or a pipe cannot be read again for charts: "
                "analyze(..., series=True)"
            )
        if transfer not in self._read_again:
            self._read_again.clear()
            names = self._drawn_with(transfer)
            analysis = _ask_engine(self.options, series=True, charts_of=names)
            self._read_again.update(dict.fromkeys(names, analysis))
        return self._read_again[transfer].series(transfer)

    @cached_property
    def _read_again(self) -> dict[str, _core.Analysis]:
        """The last analysis for charts, by the transfers that it was asked for."""
        return {}

    def _drawn_with(self, transfer: str) -> list[str]:
        """Whose charts one more pass keeps: of this transfer and of the next most severe ones."""
        names = [row["transfer"] for row in self.overview.transfers]
        if transfer in names:
            start = names.index(transfer)
            return names[start : start + CHARTS_KEPT]
        return [transfer, *names[: CHARTS_KEPT - 1]]

    @property
    def damage(self) -> tuple[str, ...]:
        """What could not be read, one line each.

        Damage in files, and records that should have been measured and were not.
        """
        damaged = [
            (
                f"{problem['file']} at byte {problem['offset']}: "
                f"{problem.get('detail') or problem['code']}"
            )
            for problem in self._analysis.problems
        ]
        records = [
            (
                f"{skip['records']} records skipped from record {skip['first_index']} on: "
                f"{skip['reason']}"
            )
            for skip in self._analysis.skips
            if skip["reason"] in _DAMAGED and skip["records"]
        ]
        left_out = sum((self._analysis.capture.get("problems_left_out") or {}).values())
        more = [f"{left_out} more damaged positions"] if left_out else []
        return (*damaged, *more, *records)

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        csv: bool = False,
        force: bool = False,
        burst: bool = False,
        more: Mapping[str, pa.RecordBatchReader] | None = None,
        about: Row | None = None,
    ) -> None:
        """Writes every table as Parquet (and CSV) into a directory, completely or not at all.

        With ``burst`` those of burstiness too; ``more`` are further tables by name.

        Raises:
            OutputError: The directory holds other files; ``force`` puts the tables among them.
        """
        from trustbed.report import tables_directory as tables

        manifest = {
            "trustbed": self._about(about),
            "summary": self.summary,
            "capture": self._facts_shown,
        }
        readers = {name: self.stream(name) for name in self.tables}
        if burst:
            readers |= self.bursts.readers()
        readers |= more or {}
        tables.write(Path(directory), readers, manifest=manifest, csv=csv, force=force)

    def write_json(
        self,
        stream: TextIO,
        *,
        burst: bool = False,
        two_point: Row | None = None,
        about: Row | None = None,
    ) -> None:
        """Writes the JSON document of ``docs/json.md``, with ``burst`` its burstiness too.

        ``two_point`` is what :attr:`trustbed.analysis.two_point.Ends.model` has of it and the
        capture at its other end.
        """
        from trustbed.report.transfer import json

        json.write(
            stream,
            about=self._about(about),
            capture=self._facts_shown,
            findings=self._findings_shown,
            skips=self._analysis.skips,
            connections=(
                line for batch in self.stream("connections") for line in json_lines.objects(batch)
            ),
            transfers=self._judged.lines(),
            too_short=self._too_short(),
            summary=self.summary,
            burstiness=self.bursts.model if burst else None,
            two_point=two_point,
        )

    def _too_short(self) -> JsonLines:
        from trustbed.report.transfer.json import TOO_SHORT_COLUMNS, Lines

        reader = schemas.ordered(pa.RecordBatchReader.from_stream(self._analysis.transfers))
        wanted = list(TOO_SHORT_COLUMNS)
        lines = (
            line
            for batch in reader
            for line in json_lines.arrays(batch.select(wanted).filter(batch.column("too_short")))
        )
        return Lines(json_lines.names(pa.schema(map(reader.schema.field, wanted))), lines)

    def annotate(
        self,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> Annotated:
        """Writes the capture again as pcapng, with comments that Wireshark shows.

        Packets keep their number, order, times, bytes and earlier comments; where a phase begins,
        the sender goes on after a pause, something is sent again or a policer drops something, a
        comment says so. Completely or not at all; the capture itself is never overwritten.
        ``progress`` is called with bytes read and bytes in total.

        Raises:
            CaptureError: The capture changed since it was analysed.
            OutputError: It cannot be written there, or the capture came from a pipe.
        """
        from trustbed.analysis import annotations

        annotations.check(Path(path), self.options)
        analysis = self._analysis
        if analysis.segments is None:
            analysis = _ask_engine(self.options, samples=True)

        def stream(table: str) -> pa.RecordBatchReader:
            if table == "transfers":
                return self.stream(table)
            return pa.RecordBatchReader.from_stream(getattr(analysis, table))

        return annotations.write(Path(path), stream, analysis, self.options, progress)

    def report(self, path: str | os.PathLike[str], *, about: Row | None = None) -> None:
        """One self-contained page for the browser."""
        from trustbed.report.html.elements import inputs
        from trustbed.report.transfer import html

        html.write(
            Path(path),
            html.Page(
                captures=[self.for_page()],
                provenance=html.Provenance.of(
                    self._about(about),
                    inputs(self.facts.get("files", ()), self.options.name),
                ),
            ),
        )

    def for_page(
        self,
        *,
        name: str = "",
        story: str | None = None,
        beside: str | None = None,
        captures: int = 1,
    ) -> html.Capture:
        """This capture as part of a :class:`~trustbed.report.transfer.model.Page` of several."""
        from trustbed.report.burst.page import NOT_AGAIN
        from trustbed.report.transfer import html

        charted = html.charted(self.overview.transfers, captures=captures)
        series = {transfer: self.series(transfer) for transfer in charted}
        burst, why_not = (self.bursts.model, "") if self.options.repeatable else (None, NOT_AGAIN)
        return html.Capture(
            overview=self.overview,
            series=series,
            exchanges={
                transfer: list(self._rows_of("exchanges", transfer)) for transfer in charted
            },
            name=name,
            story=story,
            beside=beside,
            burst=burst,
            without_burst=why_not,
        )

    @cached_property
    def bursts(self) -> Burstiness:
        """How bursty the capture is, in windows of 100 ms, or longer ones for a capture of days."""
        from trustbed.analysis.burst_study import MOST_WINDOWS

        first, last, records = (
            self.facts.get("first_ns"),
            self.facts.get("last_ns"),
            self.facts.get("records") or 0,
        )
        seconds = 0.0 if first is None or last is None else (last - first) / 1e9
        window = 0.1
        while min(seconds / window + 2, 2 * records) > MOST_WINDOWS:
            window *= 10
        return self.burstiness(window=window)

    def _about(self, about: Row | None) -> Json:
        from trustbed import __version__
        from trustbed.report.transfer.json import SCHEMA_VERSION

        return {
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
            "command": None,
            "started": None,
            **(about or {}),
        }

    def __repr__(self) -> str:
        verdicts = (
            ", ".join(f"{count} {verdict}" for verdict, count in self.overview.verdicts.items())
            or "no transfers"
        )
        return f"<Capture {self.options.name}: {verdicts}>"

    def _repr_html_(self) -> str:
        from trustbed.report.transfer import notebook

        return notebook.table(self.overview)
