"""How bursty the traffic of a capture is: measured, judged and shown.

Measuring is the engine's (what is measured at which rates is decided in
``trustbed.analysis.burst_study``), showing is ``trustbed.report``'s. The traffic is taken as it was
(open loop): a sender that would have slowed down in front of a slower link does not slow down here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_args

from trustbed import _core
from trustbed.analysis.burst_study import ALL, FASTEST, MOST_LOST, Model, Studied, TooManyLost
from trustbed.analysis.options import (
    MEASURES,
    Basis,
    BurstOptions,
    By,
    Measure,
    Mode,
    Offload,
    Wavelet,
    available_cores,
    files_of,
)
from trustbed.diagnose.burst_findings import burst_findings
from trustbed.diagnose.facts import CaptureFacts
from trustbed.findings import Finding
from trustbed.report import columns
from trustbed.report.moments import for_text_mapping
from trustbed.report.records import Json, Row

if TYPE_CHECKING:
    import altair
    import pyarrow as pa

PathLike = str | os.PathLike[str]


def burst(
    captures: PathLike | Sequence[PathLike],
    *,
    mode: Mode | None = None,
    rate: str | float | None = None,
    window: str | float = "100ms",
    basis: Basis = "frame",
    align: Literal["epoch", "first"] = "epoch",
    by: By | None = None,
    filter: str | None = None,
    offload: Offload = "stacked",
    link_rate: str | float | None = None,
    buffers: Sequence[str | int] | None = None,
    rates: Sequence[str | float] | None = None,
    bin: str | float = "1ms",
    count: Literal["bytes", "packets"] = "bytes",
    wavelet: Wavelet = "daubechies3",
    octaves: tuple[int | None, int | None] = (None, None),
    only: Sequence[Measure] | None = None,
    top: int = 20,
    inner: bool = False,
    lost: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Burstiness:
    """Reads a capture and measures how bursty its traffic is.

    ``captures`` is one file, or the files of a rotated one; ``-`` is standard input.

    ``rate`` is that of the virtual bottleneck, in front of which the queue is measured
    (``mode="static"``); without it every window is measured at its own average
    (``"dynamic-same"``). ``window`` is how long each is. ``basis`` defines what counts as the
    length of a packet, ``by`` what separates streams that are measured on their own beside the
    whole (the ``top`` largest), ``filter`` which packets count, in the language of tcpdump,
    ``offload`` what becomes of super-packets (``"spread"`` needs ``link_rate``). ``buffers`` and
    ``rates`` are swept for losses; without them they follow from the traffic. ``bin``, ``count``
    and ``wavelet`` are those of the energy, and ``octaves`` the first and last one that the Hurst
    parameter is fitted to. ``only`` leaves out what is not named. ``lost`` makes it possible to
    name the packets that every queue loses (:attr:`Burstiness.lost`). Rates are written
    ``"20Mbit/s"`` or in bit/s, times ``"20ms"`` or in seconds, sizes ``"64KiB"`` or in bytes.
    ``workers`` threads (default: one per core) give the same result for any number.

    Raises ``CaptureError`` when nothing can be read, and ``ValueError`` for options that mean
    nothing.
    """
    options = BurstOptions(
        files=files_of(captures),
        mode=_one_of("mode", mode, Mode)
        if mode
        else "static"
        if rate is not None
        else "dynamic-same",
        rate=None if rate is None else bits_per_second("rate", rate),
        window=nanoseconds("window", window),
        basis=_one_of("basis", basis, Basis),
        align=_one_of("align", align, Literal["epoch", "first"]),
        by=_one_of("by", by, By) if by else None,
        filter=filter,
        offload=_one_of("offload", offload, Offload),
        link_rate=None if link_rate is None else bits_per_second("link_rate", link_rate),
        buffers=None
        if buffers is None
        else tuple(sorted({octets("buffers", size) for size in buffers})),
        rates=None
        if rates is None
        else tuple(sorted({bits_per_second("rates", rate) for rate in rates})),
        bin=nanoseconds("bin", bin),
        count=_one_of("count", count, Literal["bytes", "packets"]),
        wavelet=_one_of("wavelet", wavelet, Wavelet),
        octaves=octaves,
        measures=frozenset(
            MEASURES if only is None else (_one_of("only", name, Measure) for name in only)
        ),
        top=top,
        inner=inner,
        lost=lost,
        workers=available_cores() if workers is None else workers,
    )
    return analyse(options, progress=progress)


def analyse(
    options: BurstOptions, *, progress: Callable[[int, int | None], object] | None = None
) -> Burstiness:
    """Runs an analysis with complete options."""
    if options.mode == "static" and options.rate is None:
        raise ValueError("mode='static' needs the rate of the bottleneck")
    if options.offload == "spread" and options.link_rate is None:
        raise ValueError("offload='spread' needs the link_rate at which frames follow each other")
    if options.filter is not None:
        _core.check_filter(options.filter)
    arrivals = _core.arrivals(
        list(options.files),
        basis=options.basis,
        by=options.by,
        filter=options.filter,
        offload=options.offload,
        link_rate=options.link_rate,
        inner=options.inner,
        numbered=options.lost,
        progress=progress,
    )
    return Burstiness(arrivals, options, progress=progress)


def bits_per_second(name: str, rate: str | float) -> int:
    """A rate above 0 and up to 10 Tbit/s."""
    given = _core.parse_rate(rate) if isinstance(rate, str) else round(rate)
    if given <= 0:
        raise ValueError(f"{name}={rate!r}: a link with a rate of 0 never sends a packet")
    if given > FASTEST:
        raise ValueError(f"{name}={rate!r}: beyond 10 Tbit/s, the largest rate that is measured")
    return int(given)


def nanoseconds(name: str, time: str | float) -> int:
    """A time above 0; numbers are seconds."""
    given = _core.parse_span(time) if isinstance(time, str) else round(time * 1e9)
    if given <= 0:
        raise ValueError(f"{name}={time!r}: a length of time above 0")
    return int(given)


def octets(name: str, size: str | int) -> int:
    """A size above 0."""
    given = _core.parse_size(size) if isinstance(size, str) else size
    if given <= 0:
        raise ValueError(f"{name}={size!r}: a buffer of 0 bytes holds nothing")
    return int(given)


def _one_of(name: str, value: Any, kind: Any) -> Any:  # noqa: ANN401 - any literal of any type
    if value not in get_args(kind):
        raise ValueError(f"{name}={value!r}: one of {', '.join(get_args(kind))}")
    return value


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Burstiness:
    """The burstiness of a capture.

    Made by :func:`burst` and :meth:`trustbed.Capture.burstiness`.
    """

    options: BurstOptions
    _arrivals: _core.Arrivals
    _all: Model
    _streams: Sequence[Model]
    _studied: Sequence[tuple[Studied, Model]]

    def __init__(
        self,
        arrivals: _core.Arrivals,
        options: BurstOptions,
        *,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> None:
        named = enumerate(name for name, _, _ in arrivals.streams[: options.top])
        whole = Studied(arrivals, options, progress=progress)
        parts = {
            name: Studied(arrivals, options, stream=index, progress=progress)
            for index, name in named
        }
        models = [one.model(name) for name, one in ((ALL, whole), *parts.items())]
        lost = sum(queue["lost_packets"] for model in models for queue in model["queue"])
        if options.lost and lost > MOST_LOST:
            raise TooManyLost(lost)
        vars(self).update(
            options=options,
            _arrivals=arrivals,
            _all=models[0],
            _streams=models[1:],
            _studied=list(zip((whole, *parts.values()), models, strict=True)),
        )

    @cached_property
    def facts(self) -> CaptureFacts:
        """Facts about the capture as a whole.

        Files, interfaces, clock, damage; times as integer nanoseconds.
        """
        facts: CaptureFacts = {**self._arrivals.capture, "problems": self._arrivals.problems}  # type: ignore[typeddict-item]
        return facts

    @cached_property
    def model(self) -> Model:
        """Everything that ``trustbed burst --json`` prints, except the command."""
        findings = [asdict(finding) for finding in self.findings]
        return {**self._measured, "findings": findings}

    @cached_property
    def _measured(self) -> Model:
        facts = for_text_mapping(self.facts)
        model = {"capture": facts, **self._all}
        model["expanded_packets"] = facts["super_packets"]
        model["steps_back"] = facts["clock_steps"]
        model["left_out"] = {
            "filtered": facts["filtered_records"],
            "without_ip": facts["records_without_ip"],
        }
        if self.options.by:
            counts = {name: model[name] for name in ("expanded_packets", "steps_back")}
            model["streams"] = [{**counts, **stream} for stream in self._streams]
            model["streams_left_out"] = max(0, len(self._arrivals.streams) - self.options.top)
            model["streams_not_told_apart"] = dict(
                zip(("packets", "bytes"), self._arrivals.beyond, strict=True)
            )
        return model

    @property
    def summary(self) -> Json:
        """Mean and maximum of the average rate and of the burstiness.

        Over all windows, and under ``active`` over those with packets.
        """
        return dict(self._all["summary"] or {})

    @property
    def streams(self) -> dict[str, Model]:
        """The models of the streams that ``by`` separates, by name, the largest first."""
        return {stream["name"]: stream for stream in self._streams}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that :meth:`table` returns."""
        from trustbed.report.burst.tables import TABLES

        return TABLES

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Findings that limit the meaning of these numbers."""
        return tuple(burst_findings(self.facts, self._measured))

    def rows(self, table: str = "windows") -> Iterator[Row]:
        """The rows of a table as JSON carries them."""
        for batch in self.table(table).to_batches():
            yield from columns.text_rows(batch)

    @property
    def windows(self) -> pa.Table:
        """One row per window; consecutive windows without packets are one row."""
        return self.table("windows")

    @property
    def sigma(self) -> pa.Table:
        """One row per rate: the buffer that loses nothing."""
        return self.table("sigma")

    @property
    def queue(self) -> pa.Table:
        """One row per rate and buffer: what is lost, and how long the rest waits."""
        return self.table("queue")

    @property
    def delay(self) -> pa.Table:
        """One row per rate: how long packets wait where nothing is lost."""
        return self.table("delay")

    @property
    def energy(self) -> pa.Table:
        """One row per octave: how much the traffic varies at that time scale."""
        return self.table("energy")

    @property
    def rates(self) -> pa.Table:
        """Rate over time."""
        return self.table("rates")

    @property
    def lost(self) -> pa.Table:
        """One row per queue and packet that it loses: which record of the capture, when, how long.

        Present with ``lost=True``.
        """
        import pyarrow as pa

        from trustbed.report.burst import tables as burst_tables

        if not self.options.lost:
            raise ValueError("lost packets are named only on request: trustbed.burst(…, lost=True)")
        return pa.concat_tables([burst_tables.SCHEMAS["lost"].empty_table(), *self._lost()])

    def _lost(self) -> Iterator[pa.Table]:
        """The rows of one queue after the other."""
        from trustbed.report.burst import tables as burst_tables

        for one, model in self._studied:
            for queue in model["queue"]:
                if queue["lost_packets"]:
                    yield burst_tables.lost(model, queue, one.lost(queue))

    def table(self, name: str) -> pa.Table:
        """One of the tables, with the streams' rows behind those of all packets."""
        from trustbed.report.burst import tables as burst_tables

        return burst_tables.table(name, [self._all, *self._streams])

    @property
    def damage(self) -> tuple[str, ...]:
        """What could not be read, one line each."""
        damaged = [
            (
                f"{problem['file']} at byte {problem['offset']}: "
                f"{problem.get('detail') or problem['code']}"
            )
            for problem in self._arrivals.problems
        ]
        left_out = sum((self.facts.get("problems_left_out") or {}).values())
        return (*damaged, *([f"{left_out} more damaged positions"] if left_out else []))

    def chart(self, kind: str = "burstiness") -> altair.TopLevelMixin:
        """A chart for a notebook (needs altair: ``pip install trustbed[notebook]``)."""
        from trustbed.report.burst.charts import CHARTS
        from trustbed.report.transfer.charts import as_altair

        if kind not in CHARTS:
            raise KeyError(f"no chart {kind!r}: {', '.join(CHARTS)}")
        return as_altair(CHARTS[kind](self.model))

    def report(self, path: PathLike, *, about: Row | None = None) -> None:
        """One self-contained page for the browser."""
        from trustbed.report.burst import page as burst_page

        burst_page.write(Path(path), [self.model], self.about(about))

    def write(
        self,
        directory: PathLike,
        *,
        csv: bool = False,
        force: bool = False,
        about: Row | None = None,
    ) -> None:
        """Writes every table as Parquet (and CSV) into a directory, completely or not at all."""
        from trustbed.report import tables_directory as tables

        manifest = {
            "trustbed": self.about(about),
            "summary": self.summary,
            "capture": self.model["capture"],
        }
        tables.write(Path(directory), self.readers(), manifest=manifest, csv=csv, force=force)

    def readers(self) -> dict[str, pa.RecordBatchReader]:
        """Every table that is written, under the name of its file."""
        import pyarrow as pa

        from trustbed.report.burst import tables as burst_tables

        readers = {f"burst_{name}": self.table(name).to_reader() for name in burst_tables.TABLES}
        if self.options.lost:
            batches = (batch for table in self._lost() for batch in table.to_batches())
            readers["burst_lost"] = pa.RecordBatchReader.from_batches(
                burst_tables.SCHEMAS["lost"], batches
            )
        return readers

    def document(self, about: Row | None = None) -> Model:
        """What ``--json`` prints: the model, and its origin."""
        return {"trustbed": self.about(about), **self.model}

    def write_json(self, stream: TextIO, *, about: Row | None = None) -> None:
        """The JSON document of ``docs/json.md``."""
        from trustbed.report.burst.json import write

        write(stream, self.document(about))

    def about(self, about: Row | None = None) -> Json:
        """Which tool measured, how it was called, and when."""
        from trustbed import __version__
        from trustbed.report.burst.json import SCHEMA_VERSION

        return {
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
            "command": None,
            "started": None,
            **(about or {}),
        }

    def __repr__(self) -> str:
        from trustbed.report import words

        most = self.summary.get("max_q_max_bytes")
        return (
            f"<Burstiness {self.options.name}: {words.counted(self._all['packets'], 'packet')}, "
            f"at most {words.size(most)} waiting>"
        )

    def _repr_html_(self) -> str:
        from trustbed.report.transfer import notebook

        return notebook.burstiness(self.model)
