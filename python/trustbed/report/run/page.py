"""The report of a run as one self-contained HTML page.

Shows the model that ``trustbed report --json`` prints, and measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trustbed.report import definitions, words
from trustbed.report.html.elements import Cell, Figure, Input, Line, Pair, Provenance, Table
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file
from trustbed.report.records import Row
from trustbed.report.run import figures as run_figures
from trustbed.report.run import playouts
from trustbed.report.run import words as run_words
from trustbed.report.run.charts import QUANTILES
from trustbed.report.run.factors import groups, shared, short
from trustbed.report.run.records import (
    Bandwidth,
    CellResults,
    Estimate,
    MeanAndDeviation,
    RepetitionSummary,
    RunModel,
    RunSummary,
    Slowdown,
    WorkloadResult,
)
from trustbed.report.run.words import Found, span, times

LISTED = 15
"""The number of repetitions listed with their findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A workload within a group of cells that share a baseline."""

    anchor: str
    title: str
    tables: Sequence[Table]
    notes: Sequence[str]
    figures: Sequence[Figure]


def sections(model: RunModel, payload: Payload) -> list[Section]:
    """A section per group of cells and workload. Adds their charts to the payload."""
    found: list[Section] = []
    every = groups(model.cells)
    for group in every:
        names = list(
            dict.fromkeys(one.name for cell in group for one in cell.workloads if one.measure)
        )
        for name in names:
            pairs = [
                (cell, one)
                for cell in group
                for one in cell.workloads
                if one.name == name and one.measure
            ]
            where = shared(group) if len(every) > 1 else ""
            found.append(
                Section(
                    anchor=f"result-{len(found) + 1}",
                    title=f"What {name} experienced" + (f": {where}" if where else ""),
                    tables=results(pairs, group),
                    notes=run_words.notes(group, name),
                    figures=run_figures.of_workload(model, pairs, group, payload),
                )
            )
    return found


def results(pairs: Sequence[Found], group: Sequence[CellResults]) -> list[Table]:
    """The numbers of a workload, a line per cell, and their comparison with the baseline."""
    if pairs[0][1].measure == "response_time":
        columns = [
            ("Repetitions", "cell"),
            ("Requests", ""),
            ("Failed", ""),
            ("Median", "response-time"),
            ("Mean", "interval"),
        ]
        columns += [("5 %", ""), ("90 %", ""), ("95 %", "")]
        shape = _timed
    else:
        measure = pairs[0][1].measure
        title = _PLAIN_TITLES.get(measure or "", ("Mean", "interval"))
        columns, shape = [("Repetitions", "cell"), title], _plain
    found = [
        Table(
            first="Cell",
            columns=columns,
            lines=[_line(cell, group, shape(cell, one)) for cell, one in pairs],
        )
    ]
    if any(one.slowdown for _, one in pairs):
        found.append(_compared(pairs, group))
    played = _played(pairs, group)
    if played is not None:
        found.insert(1, played)
    if any(one.bandwidth is not None for _, one in pairs):
        found[0] = _with_column(
            found[0], "SD", "", [_deviation(cell, one.bandwidth) for cell, one in pairs]
        )
        for heading, name in _BANDWIDTH.items():
            cells = [_rate_of(one.bandwidth, name) for _, one in pairs]
            found[0] = _with_column(found[0], heading, "", cells)
    if any(one.rtt_mean_seconds is not None for _, one in pairs):
        rtts = [one.rtt_mean_seconds for _, one in pairs]
        found[0] = _with_column(found[0], "RTT", "", [Cell.of(words.duration, rtt) for rtt in rtts])
    if any(one.transfers for _, one in pairs):
        limits = [_limited(one) for _, one in pairs]
        found[-1] = _with_column(found[-1], "Transfers mostly", "limit", limits)
    return found


_PLAIN_TITLES = {
    "estimation_error": ("Error", "interval"),
    "jitter": ("Jitter", "jitter"),
    "video_rate": ("Video rate", "video_rate"),
}
"""The column of a measure that is not a mean time or rate, and its definition."""
_BANDWIDTH = {"Low": "low", "High": "high", "Estimate": "estimate", "Available": "available"}
"""The columns of an estimator of available bandwidth, in the order of the page."""


def _deviation(cell: CellResults, found: Bandwidth | None) -> Cell:
    """The standard deviation of the error, and of how many where a repetition gave none."""
    if found is None:
        return Cell("–")
    count, deviation = found.error.count, found.error.sd
    said = "–" if deviation is None else run_words.percent_points(deviation)
    rest = "" if count == cell.counted else f"of {words.counted(count, 'estimate')}"
    return Cell(said, deviation, rest)


def _rate_of(found: Bandwidth | None, name: str) -> Cell:
    """The mean of a rate, below it the standard deviation over the repetitions."""
    one = MeanAndDeviation() if found is None else getattr(found, name)
    if one.mean is None:
        return Cell("–")
    return Cell(words.bits(one.mean), one.mean, "" if one.sd is None else f"± {words.bits(one.sd)}")


def _played(pairs: Sequence[Found], group: Sequence[CellResults]) -> Table | None:
    """What the player showed, a line per cell; ``None`` where nothing was played."""
    every = [one.playout for _, one in pairs if one.playout is not None]
    if not every:
        return None
    titles = playouts.columns(every)
    return Table(
        first="Playout",
        columns=[(title, "playout") for title in titles],
        lines=[
            _line(
                cell, group, [Cell(text, value) for text, value in playouts.texts(played, titles)]
            )
            for cell, one in pairs
            if (played := one.playout) is not None
        ],
    )


def _with_column(table: Table, title: str, definition: str, cells: Sequence[Cell]) -> Table:
    lines = [
        replace(line, cells=[*line.cells, cell])
        for line, cell in zip(table.lines, cells, strict=True)
    ]
    return replace(table, columns=[*table.columns, (title, definition)], lines=lines)


def _line(cell: CellResults, group: Sequence[CellResults], cells: Sequence[Cell]) -> Line:
    return Line(name=_name(cell, group), cells=cells, use="discard" if cell.only_discarded else "")


def _limited(one: WorkloadResult) -> Cell:
    """The cause of most transfers; below it the other causes, with counts and verdicts."""
    limited = run_words.limits(one.transfers)
    if not limited:
        return Cell("–")
    reported = [f"{words.count(count)} {what} ({verdict})" for what, verdict, count in limited]
    rest = len(reported) - 3
    more = f", {rest} more {'cause' if rest == 1 else 'causes'}" if rest > 0 else ""
    return Cell(limited[0][0], None, "; ".join(reported[:3]) + more)


def _compared(pairs: Sequence[Found], group: Sequence[CellResults]) -> Table:
    """The slowdown against the baseline, at each quantile."""
    shares = [
        share
        for share in QUANTILES
        if any(point.share == share for _, one in pairs for point in one.slowdown)
    ]
    grown = any(
        one.increase is not None and one.increase.increase_mean_percent is not None
        for _, one in pairs
    )
    what = "Increase" if pairs[0][1].measure == "jitter" else "Slowdown"
    columns = [(f"{what}, {QUANTILES[share]}", "slowdown") for share in shares] + (
        [("Increase", "increase")] if grown else []
    )
    lines = []
    for cell, one in pairs:
        by_share = {point.share: point for point in one.slowdown}
        cells = [
            _factor(by_share[share]) if share in by_share else Cell(words.UNKNOWN)
            for share in shares
        ]
        lines.append(_line(cell, group, [*cells, *([_increase(one)] if grown else [])]))
    return Table(first="Against the baseline", columns=columns, lines=lines)


def _name(cell: CellResults, group: Sequence[CellResults]) -> str:
    return short(cell, group) + (" (baseline)" if cell.is_baseline and len(group) > 1 else "")


def _used(cell: CellResults) -> Cell:
    left = "" if cell.counted == cell.planned and not cell.only_discarded else f"of {cell.planned}"
    return Cell(
        str(cell.counted),
        cell.counted,
        "all to be discarded" if cell.only_discarded else left,
    )


def _with_interval(
    value: float | None, of: Estimate | Slowdown, shape: Callable[[float | None], str]
) -> Cell:
    reach = span(of.low, of.high, shape)
    within = " within" if reach and of.basis == "requests" else ""
    return Cell(shape(value), value, reach + within)


def _plain(cell: CellResults, one: WorkloadResult) -> list[Cell]:
    mean = one.mean or Estimate()
    return [_used(cell), _with_interval(mean.value, mean, run_words.shape_of(one))]


def _factor(point: Slowdown) -> Cell:
    reach = run_words.factor_span(point.low, point.high)
    within = " within" if reach and point.basis == "requests" else ""
    return Cell(
        times(point.ratio),
        point.ratio,
        reach + within,
    )


def _timed(cell: CellResults, one: WorkloadResult) -> list[Cell]:
    requests, failed = one.requests, one.failed
    cells = [_used(cell), Cell.of(words.count, requests), Cell.of(words.count, failed)]
    for estimate in (one.median or Estimate(), one.mean or Estimate()):
        cells.append(_with_interval(estimate.value, estimate, words.duration))
    quantiles = [one.quantiles.get(share) for share in (0.05, 0.9, 0.95)]
    return cells + [Cell.of(words.duration, value) for value in quantiles]


def _increase(one: WorkloadResult) -> Cell:
    grown = one.increase
    mean = None if grown is None else grown.increase_mean_percent
    deviation = None if grown is None else grown.increase_sd_percent
    if mean is None:
        return Cell(words.UNKNOWN)
    text = f"{mean:.0f} %" if abs(mean) >= 9.5 else f"{mean:.1f} %" if abs(mean) >= 0.05 else "0 %"
    return Cell(text, mean, "" if deviation is None else f"± {deviation:.0f} %")


def users(model: RunModel) -> Table | None:
    """What the users of traffic models did, a line per cell and source."""
    lines = [
        Line(
            name=f"{cell.label}: {one.name}",
            cells=[
                Cell.of(words.count, found.sessions),
                Cell.of(words.count, found.connections),
                Cell.of(words.count, found.failed),
                Cell.of(words.count, found.most_open),
                Cell.of(words.bits, found.server_bits_per_second),
                Cell.of(words.bits, found.client_bits_per_second),
                Cell.of(words.duration, one.late_p99_seconds),
            ],
        )
        for cell in model.cells
        for one in cell.backgrounds
        if (found := one.users) is not None
    ]
    columns = [
        ("Sessions", "users"),
        ("Connections", ""),
        ("Failed", ""),
        ("Open at once, most", ""),
        ("From servers", "users"),
        ("From clients", ""),
        ("Begun late, p99", "users"),
    ]
    return Table(first="Users of models", columns=columns, lines=lines) if lines else None


def backgrounds(model: RunModel) -> Table | None:
    """The background traffic sent and received, a line per cell and source."""
    rows = [(cell, one) for cell in model.cells for one in cell.backgrounds if one.offered_packets]
    if not rows:
        return None
    bursts = any(cell.burstiness for cell, _ in rows)
    columns = [
        ("Offered", "background"),
        ("Packets", ""),
        ("Lost", "background"),
        ("Left late, p99", "departure_error"),
        ("Left late, most", ""),
    ]
    columns += (
        [("Burstiness mean", "burstiness"), ("Burstiness max", "burstiness")] if bursts else []
    )
    lines = []
    for cell, one in rows:
        cells = [
            Cell.of(
                words.bits,
                one.offered_bits_per_second,
                f"{one.from_} → {one.to}",
            ),
            Cell.of(words.count, one.offered_packets),
            Cell.of(
                words.percent,
                one.loss_share,
                span(one.loss_low, one.loss_high, words.percent),
            ),
            Cell.of(words.duration, one.late_p99_seconds),
            Cell.of(words.duration, one.late_max_seconds),
        ]
        if bursts:
            seen = next(
                (row for row in cell.burstiness if row.capture.split(".")[0] == one.from_),
                None,
            )
            sizes = (seen.max_q_mean_bytes, seen.max_q_max_bytes) if seen else (None, None)
            cells += [Cell.of(words.size, size) for size in sizes]
        lines.append(Line(name=f"{cell.label}: {one.name}", cells=cells))
    return Table(first="Cell and source", columns=columns, lines=lines)


def pipes(model: RunModel) -> Table | None:
    """Traffic, queue and drops of the emulated links, a line per cell and pipe."""
    columns = [
        ("Carried", ""),
        ("Packets", ""),
        ("Queue, half", ""),
        ("Queue, p99", ""),
        ("Queue, most", ""),
        ("Deepest", ""),
        ("Dropped", ""),
    ]
    lines = [
        Line(
            name=f"{cell.label}: {pipe.name}",
            cells=[
                Cell.of(
                    words.bits,
                    pipe.carried_bits_per_second,
                    f"{pipe.from_} → {pipe.to}",
                ),
                Cell.of(words.count, pipe.packets),
                *(
                    Cell.of(words.duration, late)
                    for late in (
                        pipe.queue_p50_seconds,
                        pipe.queue_p99_seconds,
                        pipe.queue_max_seconds,
                    )
                ),
                Cell(
                    words.counted(pipe.deepest_queue_packets or 0, "packet"),
                    pipe.deepest_queue_packets,
                ),
                Cell.of(
                    words.percent,
                    pipe.dropped_share,
                    _causes(pipe.dropped),
                ),
            ],
        )
        for cell in model.cells
        for pipe in cell.pipes
        if pipe.packets
    ]
    return Table(first="Cell and pipe", columns=columns, lines=lines) if lines else None


def _causes(dropped: Mapping[str, int]) -> str:
    return ", ".join(
        f"{words.count(count)} {cause.replace('_', ' ')}" for cause, count in dropped.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """A repetition that must not be used, or not before a person has reviewed it."""

    directory: str
    label: str
    use: str
    use_words: str
    why: str
    findings: Sequence[Row]


def unusable(model: RunModel) -> list[Unusable]:
    """The worst repetitions that must not be used; the table has all of them."""
    found = [
        Unusable(
            directory=one.directory,
            label=one.label,
            use="not_judged" if one.use == "missing" else one.use,
            use_words=run_words.USE_WORDS[one.use],
            why=""
            if one.why and one.why in {found["message"] for found in one.findings}
            else run_words.why(one) or _unsaid(one),
            findings=[finding for finding in one.findings if finding["severity"] != "info"],
        )
        for one in run_words.unusable(model)
        if one.use != "missing"
    ]
    return found[:LISTED]


def _unsaid(one: RepetitionSummary) -> str:
    return (
        "It was carried out and not judged." if one.use == "not_judged" else "No reason was given."
    )


def repetitions(model: RunModel) -> Table:
    """Every repetition in the order in which it was carried out."""
    columns = [
        ("Cell", "cell"),
        ("Use", "use"),
        ("Why", ""),
        ("Emulator late, p99", "departure_error"),
        ("most", ""),
        ("Began", ""),
        ("Lasted", ""),
    ]
    lines = []
    for one in model.repetitions:
        late, most = one.emulator.p99_seconds, one.emulator.max_seconds
        lines.append(
            Line(
                name=one.directory,
                cells=[
                    Cell(one.label),
                    Cell(run_words.USE_WORDS[one.use], float(run_words.USES.index(one.use))),
                    Cell(run_words.why(one) or "–"),
                    Cell.of(words.duration, late),
                    Cell.of(words.duration, most),
                    Cell((one.started or "–").replace("T", " ").removesuffix("Z")[:19]),
                    Cell.of(words.duration, one.seconds),
                ],
                use=one.use if one.use in ("discard", "review") else "",
            )
        )
    return Table(first="Repetition", columns=columns, lines=lines)


def queues(model: RunModel, payload: Payload) -> list[Pair]:
    """One repetition of each cell over time."""
    return [run_figures.over_time(shown, payload) for shown in model.queues]


def vitals(model: RunModel) -> list[tuple[str, str, str]]:
    """The numbers at the head of the page: what, how much, and what it means."""
    about, uses = model.run, model.run.uses
    late = run_words.departure_error(model)
    found = [
        (
            "Repetitions",
            f"{about.complete} of {about.planned}",
            f"{words.counted(len(model.cells), 'cell')}, "
            f"{words.counted(about.rounds or 0, 'round')}",
        ),
        (
            "To be discarded",
            str(uses.get("discard", 0)),
            f"{uses.get('review', 0)} to be looked at",
        ),
    ]
    if late is not None:
        found.append(
            ("Emulator late, p99", words.duration(late), "the worst repetition that counts")
        )
    return found


def render(model: RunModel, about: Row, *, scenario: str = "") -> str:
    """The page as a string.

    ``about`` states which version made it, with which command, and when; ``scenario`` is the
    scenario's text.
    """
    payload, reported = Payload(), model.run
    shown = sections(model, payload)
    losses = run_figures.losses(model, payload)
    charted, bad = queues(model, payload), unusable(model)
    return fill(
        "run_page.html.j2",
        payload,
        title=reported.name or reported.directory,
        about=reported.about,
        summary=run_words.headline(model),
        standing=" ".join(
            part for part in (run_words.assurance(model), run_words.standing(model)) if part
        ),
        complete=reported.complete,
        vitals=vitals(model),
        sections=shown,
        backgrounds=backgrounds(model),
        users=users(model),
        losses=losses,
        queues=charted,
        applied=any(pair.above is not None for pair in charted),
        queues_left_out=len(model.cells) - len(charted),
        unusable=bad,
        unusable_left_out=sum(one.use != "missing" for one in run_words.unusable(model)) - len(bad),
        gathered=run_words.gathered(model.repetitions),
        repetitions=repetitions(model),
        pipes=pipes(model),
        made=_made(reported),
        host=_host(model.host),
        scenario=scenario,
        file=reported.file or "scenario.toml",
        definitions=definitions.of("run"),
        titles=definitions.titles("run"),
        provenance=_provenance(reported, about),
    )


def _made(reported: RunSummary) -> str:
    sessions = reported.sessions
    began = (
        f", begun on {sessions[0]['started']}" if sessions and sessions[0].get("started") else ""
    )
    more = f", continued {words.counted(len(sessions) - 1, 'time')}" if len(sessions) > 1 else ""
    return (
        f"Seed {reported.seed}{began}{more}. The same scenario with the same seed carries out "
        "the same cells in the same order."
    )


def _host(host: Row) -> str:
    """The facts about the machine that affect emulation; none that identify it."""
    kernel = re.match(r"\d+\.\d+", str(host.get("kernel") or ""))
    cores, memory, load = (
        host.get("processors_allowed"),
        host.get("memory_bytes"),
        host.get("load_1min"),
    )
    parts = [
        f"{host.get('system') or 'kernel'} {kernel[0]}" if kernel else "",
        str(host.get("processor") or ""),
        words.counted(cores, "processor") if cores else "",
        f"{words.size(memory)} of memory" if memory else "",
        f"clock {host['clock_source']}" if host.get("clock_source") else "",
        f"load {load:.1f} at the beginning" if isinstance(load, float) else "",
    ]
    return " · ".join(part for part in parts if part)


def _provenance(reported: RunSummary, about: Row) -> Provenance:
    inputs = [Input(name=reported.file or "scenario.toml", sha256=reported.sha256)]
    inputs += [
        Input(name=one["file"], size_bytes=one.get("bytes"), sha256=one.get("sha256"))
        for one in reported.inputs
    ]
    return Provenance.of(about, inputs)


def write(path: Path, model: RunModel, about: Row, *, scenario: str = "") -> None:
    """Writes the page to a file atomically."""
    text = render(model, about, scenario=scenario)
    with whole_file(path) as stream:
        stream.write(text)
