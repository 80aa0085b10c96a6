"""A campaign as one self-contained HTML page.

Shows the model that ``trustbed status --json`` prints, with a point for each round, and measures nothing. Weeks of rounds are drawn as the
means of stretches, so that the page stays small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trustbed.campaign import Point, thinned
from trustbed.report import campaign_text, words
from trustbed.report.charts import campaign as charts
from trustbed.report.charts.campaign import Span
from trustbed.report.html.campaign_definitions import DEFINITIONS
from trustbed.report.html.model import Provenance
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.html.run import Cell, Line, Table
from trustbed.report.placing import whole_file

Model = Mapping[str, Any]
MOST_POINTS = 400
"""Of a pair: as many as can be told apart on a screen."""
FEWEST_ROUNDS = 20
"""Without so many nothing that was not found means much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A pair of hosts."""

    anchor: str
    title: str
    statement: str
    notes: Sequence[str]
    charts: Sequence[tuple[int, str]]
    captions: Sequence[str]
    table: Table | None
    causes: Table | None


def render(model: Model, about: Mapping[str, Any], *, now_ns: int) -> str:
    """The page as a string. ``model`` has ``points``; ``about`` says which version made it, with which command, and when."""
    payload, campaign = Payload(), model["campaign"]
    lasts = (min(now_ns, campaign["ends_ns"]) - campaign["began_ns"]) / 1e9
    last = max((point["at"] for pair in model["pairs"] for point in pair["points"]), default=0.0)
    span = Span.of(max(lasts, last, 60.0))
    judged = sum(pair["judged"] for pair in model["pairs"])
    return fill(
        "campaign_page.html.j2",
        payload,
        title=campaign["name"],
        about=campaign["about"],
        summary=_summary(model),
        standing=" · ".join(campaign_text.standing(campaign, now_ns)),
        vitals=_vitals(model, judged),
        pairs=[_section(number, pair, campaign, span, payload) for number, pair in enumerate(model["pairs"], 1)],
        avoided=[text[0].upper() + text[1:] + "." for text in campaign_text.avoided(model["avoid"])],
        few="" if judged >= FEWEST_ROUNDS else f"; {words.counted(judged, 'round')} do not say much",
        shares=[table for name, kind in (("Sender", "hosts"), ("Hour (UTC)", "hours")) if (table := _shares(name, model["avoid"][kind]))],
        absent=list(campaign_text.absent(model)),
        definitions=DEFINITIONS,
        provenance=Provenance(version=about["version"], command=about.get("command"), started=about.get("started")),
    )


def _summary(model: Model) -> str:
    judged = sum(pair["judged"] for pair in model["pairs"])
    bad = sum(pair["statement"]["discarded"] for pair in model["pairs"])
    if not judged:
        return "No round has been judged yet."
    pairs = words.counted(len(model["pairs"]), "pair of hosts", "pairs of hosts")
    if not bad:
        return f"{pairs}, {words.counted(judged, 'round')}: none of them measured a host instead of the network."
    return f"{pairs}, {words.counted(judged, 'round')}: {words.count(bad)} of them measured a host instead of the network."


def _vitals(model: Model, judged: int) -> list[tuple[str, str, str]]:
    campaign = model["campaign"]
    uses = {name: sum(pair["uses"][name] for pair in model["pairs"]) for name in ("trust", "review", "discard")}
    lost = sum(len(pair["absent"]) for pair in model["pairs"])
    return [
        ("Rounds judged", words.count(judged), f"of {words.count(campaign['rounds_per_pair'] * len(model['pairs']))} planned"),
        ("To be trusted", words.count(uses["trust"]), ""),
        ("To be looked at", words.count(uses["review"]), ""),
        ("To be discarded", words.count(uses["discard"]), ""),
        ("Failed or skipped", words.count(lost), ""),
        ("Disk", words.size(campaign["disk_bytes"]), ""),
    ]


def _section(number: int, pair: Model, campaign: Model, span: Span, payload: Payload) -> Section:
    points = [asdict(one) for one in thinned([Point(**point) for point in pair["points"]], MOST_POINTS)]
    drawn = list(_charts(pair, points, span))
    captions = [caption for _, caption in drawn]
    if len(points) < len(pair["points"]):
        captions.append(f"{words.counted(len(pair['points']), 'round')}, drawn as the means of {MOST_POINTS} stretches.")
    return Section(
        anchor=f"pair-{number}",
        title=f"{pair['sender']} to {pair['receiver']}"
        + ("" if pair["pair"] == f"{pair['sender']}-{pair['receiver']}" else f" ({pair['pair']})"),
        statement=campaign_text.network(pair["statement"]) + ".",
        notes=list(_notes(pair, campaign)),
        charts=[(payload.add(spec), caption) for spec, caption in drawn],
        captions=captions,
        table=_aggregates(pair),
        causes=_causes(pair),
    )


def _charts(pair: Model, points: Sequence[Model], span: Span) -> Iterator[tuple[dict[str, Any], str]]:
    if points or pair["absent"]:
        yield charts.throughput(points, pair["absent"], span), "Above what a connection had, by what may be done with its round."
    if (spec := charts.withheld(points, span)) is not None:
        yield spec, "Below it the share of their time that the hosts did not have."
    if (spec := charts.waits(points, span)) is not None:
        yield spec, "Below that the round trip of the pings, and how late sleeping threads woke up."


def _notes(pair: Model, campaign: Model) -> Iterator[str]:
    yield f"Rounds: {campaign_text.rounds(pair['rounds'], campaign)}."
    if not pair["judged"]:
        return
    statement = pair["statement"]
    if statement["discarded"]:
        share = words.percent(statement["discarded"] / pair["judged"])
        bad = words.counted(statement["discarded"], "round")
        yield f"{bad} of {pair['judged']} ({share}) measured a host instead, and must not be used."
    for role in ("sender", "receiver"):
        yield campaign_text.host(role, pair["hosts"][role]).capitalize() + "."
    if pair["ends"] is not None:
        yield _ends(pair["ends"])
    if pair["flags"]:
        yield "Flags: " + ", ".join(f"{name} in {count}" for name, count in pair["flags"].items()) + "."
    for one in pair["predictions"]:
        if one["error_median"] is not None:
            yield f"Prediction, {campaign_text.prediction(one)}."


def _ends(ends: Model) -> str:
    lost = f"{words.count(ends['lost_between'])} packets were lost between the hosts"
    more = f"{words.count(ends['needless'])} sent again for nothing, {words.count(ends['reordered'])} overtaken"
    parts = [f"Both ends of {words.counted(ends['connections'], 'data connection')}: {lost}, {more}"]
    if ends["one_way_above_floor_p50_seconds"] is not None:
        p95 = words.duration(ends["one_way_above_floor_p95_seconds"])
        parts.append(f"one way took {words.duration(ends['one_way_above_floor_p50_seconds'])} (p50) and {p95} (p95) above its least")
    if ends["turnaround_p50_seconds"] is not None:
        parts.append(f"the receiver answered after {words.duration(ends['turnaround_p50_seconds'])} (p50)")
    return "; ".join(parts) + "."


def _aggregates(pair: Model) -> Table | None:
    if not pair["aggregates"]:
        return None
    columns = [("Connections", ""), ("Failed", ""), ("Ideal", "ideal"), ("Min", ""), ("Mean", "interval"), ("Max", ""), ("RTT", "rtt")]
    columns += [("Loss", "loss"), ("Spacing", "spacing"), ("More rounds", "more")]
    return Table(first="Index, role", columns=columns, lines=[_aggregate(one) for one in pair["aggregates"]])


def _aggregate(one: Model) -> Line:
    interval, base = one["throughput_interval"], one["rtt_base_mean"]
    reach = "" if interval is None else f"{words.rate(max(0.0, interval['low']))} to {words.rate(interval['high'])}"
    bound = " (above 1.1·X₁)" if one["exceeds_window_bound"] else ""
    cells = [
        Cell(str(one["connections"]), one["connections"]),
        Cell(str(one["failures"]), one["failures"]),
        Cell(words.rate(one["x0"]), one["x0"]),
        Cell(words.rate(one["throughput_min"]), one["throughput_min"]),
        Cell(words.rate(one["throughput_mean"]), one["throughput_mean"], reach + bound),
        Cell(words.rate(one["throughput_max"]), one["throughput_max"]),
        Cell(words.duration(one["rtt_mean"]), one["rtt_mean"], "" if base is None else f"pings {words.duration(base)}"),
        Cell(words.percent(one["loss_pooled"]), one["loss_pooled"]),
        Cell(words.duration(one["spacing_mean"]), one["spacing_mean"]),
        Cell(words.UNKNOWN if one["rounds_wanting"] is None else str(one["rounds_wanting"]), one["rounds_wanting"]),
    ]
    return Line(name=f"{one['index']}, {one['role']}", cells=cells)


def _causes(pair: Model) -> Table | None:
    if not pair["causes"]:
        return None
    lines = [
        Line(
            name=one["cause"],
            cells=[Cell(one["role"]), Cell(one["verdict"].replace("_", " ")), Cell(str(one["connections"]), one["connections"])],
            use="discard" if one["verdict"] == "discard" else "",
        )
        for one in pair["causes"]
    ]
    return Table(first="Cause", columns=[("Of", ""), ("Verdict", ""), ("Connections", "")], lines=lines)


def _shares(first: str, rows: Sequence[Model]) -> Table | None:
    if not rows:
        return None
    lines = []
    for one in rows:
        share, interval = one["discarded"] / one["rounds"], one["interval"]
        reach = "" if interval is None else f"{words.percent(interval['low'])} to {words.percent(interval['high'])}"
        cells = [
            Cell(str(one["rounds"]), one["rounds"]),
            Cell(str(one["discarded"]), one["discarded"]),
            Cell(words.percent(share), share, reach),
        ]
        lines.append(Line(name=one["what"], cells=cells, use="discard" if one["avoid"] else ""))
    return Table(first=first, columns=[("Rounds", ""), ("Discarded", ""), ("Share", "interval")], lines=lines)


def write(path: Path, model: Model, about: Mapping[str, Any], *, now_ns: int) -> None:
    """The page as a file, complete or not at all."""
    text = render(model, about, now_ns=now_ns)
    with whole_file(path) as stream:
        stream.write(text)
