"""The charts of a campaign.

Throughput over time with the hosts' load below it, causes, hours of the day.

Each takes parts of a campaign's model and returns a Vega-Lite specification. Nothing here measures.
The charts of a pair of hosts are above each other on one axis of time, in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from trustbed.report.charts.drawing import (
    RATE_LABEL,
    SECONDS_LABEL,
    SHARE_LABEL,
    coloured_by_word,
    frame,
    layer,
    quantity_axis,
    tooltip,
)
from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Rows, Spec

if TYPE_CHECKING:
    from trustbed.campaign.statistics.avoidance import Hour
    from trustbed.campaign.statistics.timeline import Timeline
    from trustbed.scenario.campaign_model import Role

USES = {
    "trust": "allowed",
    "review": "silence",
    "discard": "retransmission",
    "not_judged": "acknowledgement",
}
"""Verdicts of rounds with the roles of their colours."""
_SHAPES = {"trust": "circle", "review": "triangle-up", "discard": "cross", "not_judged": "square"}
SENDER, RECEIVER = "sender", "receiver"
_BOTH = {SENDER: "data", RECEIVER: "window"}
_EXTENT = {"minExtent": 78, "maxExtent": 78, "labelLimit": 74}
"""Axis labels of stacked charts have the same width, so that their time axes line up."""
_TALL, _PANEL, _STEP = 190, 74, 17
_SHORT = 600_000
_WHEN = (
    f"last - first < {_SHORT} ? utcFormat(datum.value, '%H:%M:%S') : utchours(datum.value) == 0 "
    "&& utcminutes(datum.value) == 0 ? utcFormat(datum.value, '%-d %b') : utcFormat(datum.value, "
    "'%H:%M')"
)
_MS = 1_000_000
_POINT_SHARE = 0.004
"""Intervals shorter than this share of the time are drawn as a stroke.

A bar would be too narrow to be seen.
"""


def _time(field: str = "t", *, labels: bool = False) -> Spec:
    """The moment in milliseconds since the epoch, from the parameter ``first`` to ``last``.

    Labels stand below the last chart only.
    """
    return {
        "field": field,
        "type": "temporal",
        "title": "UTC" if labels else None,
        "scale": {
            "type": "utc",
            "domainMin": {"expr": "first"},
            "domainMax": {"expr": "last"},
            "nice": False,
        },
        "axis": {
            "labelExpr": _WHEN,
            "labels": labels,
            "ticks": labels,
            "domain": labels,
            "grid": True,
            "gridOpacity": 0.6,
            "labelOverlap": "greedy",
            "labelFlush": 8,
            "tickCount": {"expr": "width / 90"},
        },
    }


def _quantity(field: str, *, title: str, label: str, ticks: int) -> Spec:
    axis = quantity_axis(field, title=title, label=label, ticks=ticks)
    return {**axis, "scale": {"zero": True, "nice": True}, "axis": {**axis["axis"], **_EXTENT}}


def _span(timeline: Timeline) -> dict[str, float | None]:
    return {
        "first": timeline.from_ns // _MS,
        "last": max(timeline.to_ns // _MS, timeline.from_ns // _MS + 1),
    }


_WHEN_TIP: Spec = {
    "field": "t",
    "title": "at (UTC)",
    "type": "temporal",
    "format": "%Y-%m-%d %H:%M:%S",
    "timeUnit": "utcyearmonthdatehoursminutesseconds",
}


def throughput(
    timeline: Timeline, *, role: Role, words: Mapping[str, str], mean: float | None = None
) -> Spec:
    """Throughput of the data connections or the probes by round or time slice, by verdict.

    ``words`` are the names of the verdicts that a page shows; ``mean`` is the network's throughput
    in B/s.
    """
    title = "data" if role == "data" else "probes"
    shown = timeline.points
    points: Rows = [
        {
            "t": point.at_ns // _MS,
            "word": words[point.use],
            "rounds": point.rounds,
            "bits": found.mean * 8,
            "low": found.low * 8,
            "high": found.high * 8,
        }
        for use in words
        for point in shown
        if point.use == use and (found := point.range(role)) is not None
    ]
    vertical = _quantity("bits", title=title, label=RATE_LABEL, ticks=5 if role == "data" else 3)
    legend = {"title": None, "orient": "top"} if role == "data" else None
    domain = list(words.values())
    named = {"field": "word", "type": "nominal"}
    colour = {
        **named,
        "scale": {"domain": domain, "range": [LIGHT[USES[use]] for use in words]},
        "legend": legend,
    }
    shape = {
        **named,
        "scale": {"domain": domain, "range": [_SHAPES[use] for use in words]},
        "legend": legend,
    }
    tips = [
        _WHEN_TIP,
        {"field": "word", "title": "verdict"},
        *tooltip(
            ("rounds", "rounds", "d"),
            ("bits", "bit/s, mean", ".3s"),
            ("low", "least", ".3s"),
            ("high", "most", ".3s"),
        ),
    ]
    dot = {"type": "point", "filled": True, "size": 30, "opacity": 0.85}
    spread = {"type": "rule", "strokeWidth": 1, "opacity": 0.45}
    dashed = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.3}
    return frame(
        description=f"Throughput of the {title} over time",
        datasets={
            "points": points,
            "spreads": [row for row in points if row["rounds"] > 1],
            "marks": [] if mean is None or not points else [{"bits": mean * 8}],
        },
        layers=[
            layer(
                "spreads",
                spread,
                x=_time(),
                y={**vertical, "field": "low"},
                y2={"field": "high"},
                color=colour,
            ),
            layer("marks", dashed, y=vertical, color={"value": LIGHT["reference"]}),
            layer("points", dot, x=_time(), y=vertical, color=colour, shape=shape, tooltip=tips),
        ],
        params=_span(timeline),
        height=_TALL if role == "data" else _PANEL,
    )


def evidence(timeline: Timeline, columns: Mapping[str, str], *, title: str, kind: str) -> Spec:
    """Measurements beside the connections, over time.

    One line per word of ``columns``, each with its column.

    ``kind`` is ``share`` or ``seconds``. A line ends where more than a few rounds are missing.
    """
    found = _with_gaps(timeline, columns)
    roles = _BOTH if set(columns) == set(_BOTH) else dict.fromkeys(columns, "data")
    vertical = _quantity(
        "value", title=title, label=SHARE_LABEL if kind == "share" else SECONDS_LABEL, ticks=3
    )
    colour = coloured_by_word(roles)
    colour["legend"] = None
    tips = [
        _WHEN_TIP,
        {"field": "word", "title": "of"},
        *tooltip(("rounds", "rounds", "d"), ("value", title, ".2%" if kind == "share" else ".4~s")),
    ]
    domain = list(roles)
    dash = {
        "field": "word",
        "type": "nominal",
        "scale": {"domain": domain, "range": [[1, 0], [4, 2]][: len(domain)]},
        "legend": None,
    }
    line = {
        "type": "line",
        "strokeWidth": 1.3,
        "interpolate": "linear",
        "invalid": "break-paths-filter-domains",
    }
    dot = {"type": "point", "filled": True, "size": 9, "opacity": 0.9, "invalid": "filter"}
    return frame(
        description=f"{title[0].upper()}{title[1:]} over time",
        datasets={"values": found},
        layers=[
            layer("values", line, x=_time(), y=vertical, color=colour, strokeDash=dash),
            layer("values", dot, x=_time(), y=vertical, color=colour, tooltip=tips),
        ],
        params=_span(timeline),
        height=_PANEL,
    )


def _with_gaps(timeline: Timeline, columns: Mapping[str, str]) -> Rows:
    """Rows of a line per word; where moments are missing, one without a value parts the line."""
    moments = timeline.moments
    steps = sorted(later.at_ns - earlier.at_ns for earlier, later in pairwise(moments))
    usual = timeline.slice_ns or (steps[len(steps) // 2] if steps else 0)
    found: Rows = []
    for word, column in columns.items():
        last: int | None = None
        for moment, value in zip(moments, timeline.values(column), strict=True):
            if value is None:
                continue
            if last is not None and moment.at_ns - last > 3 * usual:
                found.append({"t": last // _MS + 1, "word": word, "rounds": 0, "value": None})
            at = moment.at_ns // _MS
            found.append({"t": at, "word": word, "rounds": moment.rounds, "value": value})
            last = moment.at_ns
    return found


def absences(
    timeline: Timeline, down: Mapping[str, Sequence[tuple[int, int]]], words: Mapping[str, str]
) -> Spec:
    """Rounds that were skipped or not complete, and times when hosts were down.

    A row per kind, with the axis of time.

    ``words`` are the names of kinds; ``down`` has the beginning and end of each downtime. Without
    any of them the axis is drawn alone.
    """
    found: Rows = [
        {
            "kind": words.get(one.kind, one.kind),
            "t": one.from_ns // _MS,
            "end": max(one.to_ns, one.from_ns) // _MS,
            "rounds": one.rounds,
        }
        for one in timeline.stretches
    ]
    found += [
        {"kind": f"{host} down", "t": begin // _MS, "end": end // _MS, "rounds": None}
        for host, spans in down.items()
        for begin, end in spans
    ]
    kinds = list(dict.fromkeys(row["kind"] for row in found)) or [""]
    vertical = {
        "field": "kind",
        "type": "nominal",
        "sort": None,
        "title": " ",
        "scale": {"domain": kinds},
        "axis": {**_EXTENT, "grid": False, "domain": False, "ticks": False},
    }
    shortest = (timeline.to_ns - timeline.from_ns) // _MS * _POINT_SHARE
    short = [
        {**row, "middle": (row["t"] + row["end"]) // 2}
        for row in found
        if row["end"] - row["t"] < shortest
    ]
    tips = [
        _WHEN_TIP,
        {**_WHEN_TIP, "field": "end", "title": "until"},
        {"field": "kind", "title": "what"},
        *tooltip(("rounds", "rounds", "d")),
    ]
    red = {"value": LIGHT["retransmission"]}
    horizontal = _time(labels=True)
    bar = {"type": "rule", "strokeWidth": 9, "opacity": 0.6}
    stroke = {"type": "tick", "thickness": 1.8, "size": 10, "opacity": 0.9}
    return frame(
        description="What did not take place",
        datasets={
            "axis": [{"t": timeline.from_ns // _MS, "kind": kinds[0]}],
            "stretches": [row for row in found if row["end"] - row["t"] >= shortest],
            "moments": short,
        },
        layers=[
            layer("axis", {"type": "point", "opacity": 0}, x=horizontal, y=vertical),
            layer(
                "stretches",
                bar,
                x=horizontal,
                x2={"field": "end"},
                y=vertical,
                color=red,
                tooltip=tips,
            ),
            layer(
                "moments",
                stroke,
                x={**horizontal, "field": "middle"},
                y=vertical,
                color=red,
                tooltip=tips,
            ),
        ],
        params=_span(timeline),
        height=_STEP * len(kinds),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseBar:
    """A cause in words (or what else bars stand for), a verdict, and how many have it."""

    cause: str
    use: str
    connections: int


def causes(
    bars: Sequence[CauseBar],
    words: Mapping[str, str],
    *,
    what: str = "connections",
    of: str = "cause",
) -> Spec:
    """How often each cause was found: a bar per cause, coloured by verdict."""
    marks = [
        {"cause": bar.cause, "word": words[bar.use], "connections": bar.connections} for bar in bars
    ]
    labels = list(dict.fromkeys(bar.cause for bar in bars))
    vertical = {
        "field": "cause",
        "type": "nominal",
        "sort": None,
        "title": None,
        "scale": {"domain": labels},
        "axis": {"labelLimit": 210, "grid": False, "domain": False, "ticks": False},
    }
    horizontal = {
        **quantity_axis("connections", title=what, label="format(datum.value, ',~r')"),
        "stack": "zero",
    }
    seen = {words[use]: USES[use] for use in USES if use in words}
    colour = coloured_by_word(seen)
    colour["legend"] = {"title": None, "orient": "top", "symbolType": "square"}
    tips = [
        {"field": "cause", "title": of},
        {"field": "word", "title": "verdict"},
        *tooltip(("connections", what, ",d")),
    ]
    return frame(
        description=f"{what.capitalize()} by {of} and verdict",
        datasets={"marks": marks},
        layers=[
            layer(
                "marks",
                {"type": "bar", "height": {"band": 0.7}},
                x=horizontal,
                y=vertical,
                color=colour,
                tooltip=tips,
            )
        ],
        params={},
        height=max(90, 26 * len(labels) + 20),
    )


BAD, ORDINARY = "to be avoided", "as the others, or too few"


def hours(found: Sequence[Hour], overall: float | None, *, what: str = "rounds") -> Spec:
    """The share of rounds to be discarded by hour of the day; the dashed line is that of all."""
    marks = [
        {
            "hour": f"{one.hour:02}",
            "word": BAD if one.avoid else ORDINARY,
            "share": one.share,
            "low": one.share_low,
            "high": one.share_high,
            "rounds": one.rounds,
            "discarded": one.discarded,
            "days": one.days_discarded,
        }
        for one in found
        if one.rounds
    ]
    horizontal = {
        "field": "hour",
        "type": "nominal",
        "sort": None,
        "title": "hour of the day (UTC)",
        "scale": {"domain": [f"{hour:02}" for hour in range(24)]},
        "axis": {"labelAngle": 0, "labelOverlap": True, "ticks": False},
    }
    vertical = {
        **quantity_axis("share", title=f"{what} to be discarded", label=SHARE_LABEL),
        "stack": None,
    }
    words = {BAD: "retransmission", ORDINARY: "acknowledgement"}
    colour = coloured_by_word(words)
    colour["legend"] = {"title": None, "orient": "top", "symbolType": "square"}
    tips = [
        {"field": "hour", "title": "hour (UTC)"},
        *tooltip(("share", "share", ".1%"), ("low", "interval from", ".1%"), ("high", "to", ".1%")),
        *tooltip(
            ("discarded", "to be discarded", ",d"),
            ("rounds", f"of {what}", ",d"),
            ("days", "on days", "d"),
        ),
    ]
    dashed = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.3}
    return frame(
        description=f"{what.capitalize()} to be discarded by the hour of the day",
        datasets={
            "hours": marks,
            "marks": [] if overall is None or not marks else [{"share": overall}],
        },
        layers=[
            layer(
                "hours",
                {"type": "bar", "opacity": 0.75},
                x=horizontal,
                y=vertical,
                color=colour,
                tooltip=tips,
            ),
            layer(
                "hours",
                {"type": "rule", "strokeWidth": 1.2},
                x=horizontal,
                y={**vertical, "field": "low"},
                y2={"field": "high"},
                color={"value": LIGHT["reference"]},
            ),
            layer("marks", dashed, y=vertical, color={"value": LIGHT["reference"]}),
        ],
        params={},
        height=230,
    )
