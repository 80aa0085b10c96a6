"""Burstiness on a page: a section of a capture's report, or all of ``burst --report``.

One section per measured stream, with its table, its charts and their words. Takes the models as
``trustbed burst --json`` prints them. Decides what is shown and in which order; measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trustbed.report import definitions, words
from trustbed.report.burst import captions as burst_captions
from trustbed.report.burst import charts as charts
from trustbed.report.burst import words as burst_words
from trustbed.report.burst.chart_axes import ALL, Stream, names, whole_names
from trustbed.report.html.elements import Figure, Provenance, inputs
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file
from trustbed.report.records import Json, Row
from trustbed.report.transfer.selection import BUDGET

TITLES = {
    "burstiness": "Burstiness, window by window",
    "sigma": "Buffer needed against the link's rate",
    "loss": "Loss against buffer",
    "delay": "Delay against the link's rate",
    "energy": "Energy against time scale",
    "logscale": "Logscale diagram",
    "rate": "Rate over time",
    "gaps": "Time between packets",
}

DEFINITIONS = {
    "burstiness": "burstiness",
    "sigma": "buffer-needed",
    "loss": "drop-tail",
    "delay": "open-loop",
    "energy": "energy",
    "logscale": "logscale",
    "rate": "average-rate",
    "gaps": "train",
}

WIDE = frozenset({"burstiness"})

COMPARED = ("energy", "sigma", "loss", "delay", "gaps")
"""The charts that show several captures in one; charts over time would be unreadable."""

TOGETHER = 7
"""At most so many streams in one picture: as many as there are colours."""

ROOM = 400_000
"""Bytes of chart data that burstiness may add to a page beyond the budget of its transfers."""

LARGEST = 110_000
"""Bytes of chart data that one section takes at most, nearly."""

NOT_AGAIN = (
    "Not measured: what came from standard input or a pipe cannot be read a second time. Save it "
    "to a file and ask again."
)

_NO_FINDING = dict.fromkeys(("evidence", "meaning", "next_step", "value", "threshold", "unit"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Averages:
    """A row of the table.

    Four columns over a set of windows, each with its name, value, and the backlog with the
    packet itself.
    """

    over: str
    cells: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stream as a row of a table: each cell as it reads, and the number that it is sorted by."""

    name: str
    cells: Sequence[tuple[str, float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One stream with all its results; ``missing`` gives the reason why there are none."""

    anchor: str
    title: str
    headline: str
    facts: str = ""
    pacing: str = ""
    bottleneck: str = ""
    windowed: bool = False
    averages: Sequence[Averages] = ()
    quantities: Sequence[tuple[str, str, str, str]] = ()
    figures: Sequence[Figure] = ()
    without_charts: str = ""
    parts: Sequence[Part] = ()
    parts_left_out: int = 0
    part_figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    findings: Sequence[Row] = ()
    missing: str = ""


def section(stream: Stream, payload: Payload, *, anchor: str, title: str) -> Section:
    """The section of a capture, or of a part of it. Adds its charts to the payload."""
    if not stream.get("packets"):
        return Section(
            anchor=anchor,
            title=title,
            headline="There are no packets.",
            missing="There are no packets to measure.",
        )
    parts = list(stream.get("streams") or ())
    room = payload.size_bytes + LARGEST <= BUDGET + ROOM
    drawn = _figures(stream, payload) if room else []
    return Section(
        anchor=anchor,
        title=title,
        headline=burst_words.headline(stream),
        facts=facts(stream),
        pacing=burst_words.pacing(stream),
        bottleneck=burst_words.bottleneck(stream),
        windowed=stream.get("summary") is not None,
        averages=averages(stream),
        quantities=burst_words.quantities(stream),
        figures=drawn,
        without_charts="" if room else "they would have made this page too large",
        parts=[
            Part(name=name, cells=_cells(part))
            for name, part in zip(whole_names(parts), parts, strict=True)
        ],
        parts_left_out=stream.get("streams_left_out") or 0,
        part_figures=compared(parts, payload) if len(parts) > 1 and room else [],
        notes=burst_words.notes(stream),
        findings=[{**_NO_FINDING, **finding} for finding in stream.get("findings") or ()],
    )


def missing(reason: str, *, anchor: str, title: str) -> Section:
    """The section of a capture whose burstiness could not be measured."""
    return Section(anchor=anchor, title=title, headline=reason, missing=reason)


def facts(stream: Stream) -> str:
    """The measurement, in one line."""
    parts = [
        "" if stream.get("name") in (None, ALL) else str(stream["name"]),
        words.counted(stream["packets"], "packet"),
        words.size(stream.get("bytes")),
        words.duration(stream.get("duration_seconds")),
        f"mean rate {words.bits(stream.get('mean_rate_bits_per_second'))}"
        if stream.get("mean_rate_bits_per_second")
        else "",
    ]
    return " · ".join(part for part in parts if part)


def _averages(over: str, found: Json, maxima: Json) -> Averages:
    def beside(value: float | None) -> str:
        return "" if value is None else f"{words.size(value)} with the packet itself"

    return Averages(
        over=over,
        cells=[
            ("ABW mean", words.bits(found.get("abw_mean_bits_per_second")), ""),
            ("ABW max", words.bits(maxima.get("abw_max_bits_per_second")), ""),
            (
                "Burstiness mean",
                words.size(found.get("max_q_mean_bytes")),
                beside(found.get("max_q_sys_mean_bytes")),
            ),
            (
                "Burstiness max",
                words.size(maxima.get("max_q_max_bytes")),
                beside(maxima.get("max_q_sys_max_bytes")),
            ),
        ],
    )


def averages(stream: Stream) -> list[Averages]:
    """The paper's four columns.

    Over all windows, and over those with packets where that is another number.
    """
    summary = stream.get("summary") or {}
    windows, active = summary.get("windows") or 0, summary.get("active_windows") or 0
    if not windows:
        return []
    rows = [
        _averages(
            f"All {words.counted(windows, 'window')}" if windows > 1 else "The one window",
            summary,
            summary,
        )
    ]
    if 0 < active < windows and summary.get("active"):
        rows.append(
            _averages(f"The {words.count(active)} with packets", summary["active"], summary)
        )
    return rows


def _figure(
    kind: str,
    spec: Json,
    payload: Payload,
    caption: str,
    reading: str,
    *,
    wide: bool = False,
) -> Figure:
    return Figure(
        chart=payload.add(spec),
        title=TITLES[kind],
        caption=caption,
        definition=DEFINITIONS[kind],
        wide=wide,
        reading=reading,
    )


def _figures(stream: Stream, payload: Payload) -> list[Figure]:
    captions, readings = burst_captions.captions(stream), burst_captions.readings(stream)
    drawn = charts.drawn(stream).items()
    return [
        _figure(kind, spec, payload, captions[kind], readings[kind], wide=kind in WIDE)
        for kind, spec in drawn
    ]


def compared(streams: Sequence[Stream], payload: Payload) -> list[Figure]:
    """Several streams in the same pictures."""
    held = list(streams)[:TOGETHER]
    left = len(streams) - len(held)
    more = (
        f" {words.counted(left, 'more stream')} {'is' if left == 1 else 'are'} not drawn."
        if left
        else ""
    )
    message = burst_captions.compared(held, names(held))
    drawn = charts.drawn(held, kinds=COMPARED).items()
    return [
        _figure(kind, spec, payload, message[kind] + more, burst_captions.COMPARED[kind])
        for kind, spec in drawn
    ]


def _cells(stream: Stream) -> list[tuple[str, float | None]]:
    """A stream as a row of a comparison, in the order of :data:`COLUMNS`."""
    summary = stream.get("summary") or {}
    packets, mean, fastest = (
        stream.get("packets"),
        stream.get("mean_rate_bits_per_second"),
        summary.get("abw_max_bits_per_second"),
    )
    typical, most = summary.get("max_q_mean_bytes"), summary.get("max_q_max_bytes")
    found, peak = burst_words.buffering(stream), _fastest_millisecond(stream)
    fit = (stream.get("logscale") or {}).get("fit") or {}
    hurst = None if fit.get("rejected") else fit.get("hurst")
    return [
        (words.count(packets), packets),
        (words.bits(mean), mean),
        (words.bits(fastest), fastest),
        (words.size(typical), typical),
        (words.size(most), most),
        (
            f"{words.size(found.enough_bytes)} at {words.bits(found.rate_bits_per_second)}",
            found.enough_bytes,
        )
        if found
        else (words.UNKNOWN, None),
        (burst_words.times(peak, mean), peak / mean) if peak and mean else (words.UNKNOWN, None),
        ("none" if hurst is None else f"{hurst:.2f}", hurst),
    ]


def _fastest_millisecond(stream: Stream) -> float | None:
    peaks = (stream.get("rates") or {}).get("peaks") or ()
    return next(
        (peak["bits_per_second"] for peak in peaks if abs(peak["width_seconds"] - 0.001) < 1e-9),
        None,
    )


COLUMNS = (
    "Packets",
    "Mean rate",
    "ABW max",
    "Burstiness mean",
    "Burstiness max",
    "Buffer needed",
    "Fastest 1 ms",
    "Hurst",
)


def row(name: str, stream: Stream) -> Part:
    """A capture as a row of the comparison."""
    return Part(name=name, cells=_cells(stream))


def render(models: Sequence[Stream], about: Row) -> str:
    """The page as a string; ``about`` is what :func:`trustbed.cli.analyze.describe` returns.

    Version, command, started.
    """
    payload, called = Payload(), whole_names(models)
    files = [file for model in models for file in (model.get("capture") or {}).get("files") or ()]
    several = len(models) > 1
    figures = compared(models, payload) if several else []
    bursts = [
        section(
            model,
            payload,
            anchor=f"burst-{number}",
            title=name if several else "How bursty is the traffic?",
        )
        for number, (model, name) in enumerate(zip(models, called, strict=True), start=1)
    ]
    return fill(
        "burst_page.html.j2",
        payload,
        title=", ".join(called[:3]) + (f" and {len(called) - 3} more" if len(called) > 3 else ""),
        summary=_summary(models),
        bursts=bursts,
        columns=COLUMNS,
        rows=[row(name, model) for name, model in zip(called, models, strict=True)],
        figures=figures,
        definitions=definitions.of("burst"),
        provenance=Provenance.of(about, inputs(files)),
    )


def _summary(models: Sequence[Stream]) -> str:
    """The page in one sentence."""
    if len(models) == 1:
        return burst_words.headline(models[0])
    if all(model.get("summary") is None for model in models):
        return f"{words.counted(len(models), 'capture')}, whose buffers were not measured."
    known = [
        (value, name)
        for name, model in zip(whole_names(models), models, strict=True)
        if (value := (model.get("summary") or {}).get("max_q_mean_bytes")) is not None
    ]
    if len(known) < 2:
        return f"{words.counted(len(models), 'capture')}, and too few packets to compare them."
    (least, calm), (most, wild) = min(known), max(known)
    if least == most:
        return (
            f"{words.counted(len(models), 'capture')}, equally bursty: {words.size(most)} on "
            "average."
        )
    return (
        f"Burstiness is between {words.size(least)} ({calm}) and {words.size(most)} ({wild}) "
        "on average."
    )


def write(path: Path, models: Sequence[Stream], about: Row) -> None:
    """The page as a file, complete or not at all."""
    text = render(models, about)
    with whole_file(path) as stream:
        stream.write(text)
