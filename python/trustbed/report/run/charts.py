"""The charts of a run.

Slowdown, distributions, a result against a factor, the queue over time beside the application.

Each takes parts of the model that ``trustbed report --json`` prints and returns a plain dictionary.
Nothing here measures.
"""

from __future__ import annotations

from collections.abc import Sequence

from trustbed.report import words
from trustbed.report.burst.chart_axes import in_colours
from trustbed.report.charts.drawing import (
    RATE_LABEL,
    SECONDS_LABEL,
    SHARE_LABEL,
    coloured_by_word,
    frame,
    layer,
    quantity_axis,
    time_axis,
    tooltip,
)
from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Json, Row, Spec
from trustbed.report.run.records import Application, OverTime, Slowdown

LINES = 7
"""The largest number of lines in a chart: the number of colours."""
SHARES = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]
"""The ticks of axes of shares."""
QUANTILES = {0.05: "5 %", 0.5: "median", 0.9: "90 %", 0.95: "95 %", None: "mean"}
_ROLES = {
    "5 %": "allowed",
    "median": "data",
    "90 %": "silence",
    "95 %": "retransmission",
    "mean": "data",
}
_SHAPES = {
    "5 %": "triangle-left",
    "median": "circle",
    "90 %": "diamond",
    "95 %": "triangle-right",
    "mean": "circle",
}
_DOT = {"type": "point", "filled": True, "size": 62, "opacity": 1}
_RULE = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.3}
_CELLS = {
    "field": "cell",
    "type": "nominal",
    "sort": None,
    "title": None,
    "axis": {"labelLimit": 190, "grid": True, "domain": False, "ticks": False},
}
_TIMES_LABEL = "format(datum.value, '~r') + ' ×'"


def _ends(point: Slowdown) -> Json:
    """The interval; none where it says nothing, since it would hide every other one."""
    low, high = point.low, point.high
    if low is None or high is None or words.is_open(low, high):
        return {"low": point.ratio, "high": point.ratio}
    return {"low": low, "high": high}


def slowdown(
    cells: Sequence[tuple[str, Sequence[Slowdown]]],
    *,
    title: str = "response time over the baseline's median",
) -> Spec:
    """Slowdown per cell at its quantiles, with intervals.

    A row per cell, 1 where there is no slowdown.

    ``cells`` holds the label and the ``slowdown`` of each.
    """
    rows = [
        {
            "cell": label,
            "word": QUANTILES[point.share],
            "ratio": point.ratio,
            **_ends(point),
        }
        for label, points in cells
        for point in points
        if point.ratio is not None
    ]
    seen = [word for word in _ROLES if any(row["word"] == word for row in rows)]
    labels = [label for label, _ in cells]
    vertical = {**_CELLS, "scale": {"domain": labels}}
    beside = {"field": "word", "type": "nominal", "sort": None, "scale": {"domain": seen}}
    horizontal = {
        **quantity_axis("ratio", title=title, label=_TIMES_LABEL),
        "scale": {"zero": False, "nice": True, "padding": 8},
    }
    colour = coloured_by_word({word: _ROLES[word] for word in seen})
    shape = {
        "field": "word",
        "type": "nominal",
        "scale": {"domain": seen, "range": [_SHAPES[word] for word in seen]},
    }
    tips = [
        {"field": "cell", "title": "cell"},
        {"field": "word", "title": "at"},
        *tooltip(("ratio", "times", ".3f"), ("low", "interval from", ".3f"), ("high", "to", ".3f")),
    ]
    legend = {"title": None, "orient": "top"}
    both: Json = {
        "color": {**colour, "legend": legend},
        "shape": {**shape, "legend": legend},
    }
    spec = frame(
        description="Slowdown against no background",
        datasets={"marks": [{"ratio": 1.0}], "points": rows},
        layers=[
            layer(
                "marks",
                _RULE,
                x={**horizontal, "field": "ratio"},
                color={"value": LIGHT["reference"]},
            ),
            layer(
                "points",
                {"type": "rule", "strokeWidth": 1.6},
                x={**horizontal, "field": "low"},
                x2={"field": "high"},
                y=vertical,
                yOffset=beside,
                color={**colour, "legend": legend},
            ),
            layer("points", _DOT, x=horizontal, y=vertical, yOffset=beside, tooltip=tips, **both),
        ],
        params={},
        height=max(220, 24 + 46 * len(labels)),
    )
    return spec if rows else {**spec, "datasets": {}}


EACH, TOGETHER = "one repetition", "all that count"


def values(cells: Sequence[tuple[str, Row]], *, title: str, label: str) -> Spec:
    """A result per cell with its interval, and what each repetition gave; a row per cell.

    ``cells`` holds the label of each, and its ``value``, ``low``, ``high`` and ``each``.
    """
    labels = [name for name, _ in cells]
    wholes = [
        {
            "cell": name,
            "value": row["value"],
            "low": row["value"] if row["low"] is None else row["low"],
            "high": row["value"] if row["high"] is None else row["high"],
        }
        for name, row in cells
        if row["value"] is not None
    ]
    singles = [
        {"cell": name, "value": value}
        for name, row in cells
        for value in row["each"]
        if value is not None
    ]
    vertical = {**_CELLS, "scale": {"domain": labels}}
    horizontal = quantity_axis("value", title=title, label=label)
    colour = coloured_by_word({TOGETHER: "data", EACH: "silence"})
    tips = [{"field": "cell", "title": "cell"}, *tooltip(("value", title, ".4s"))]
    ends = [*tips, *tooltip(("low", "interval from", ".4s"), ("high", "to", ".4s"))]
    tick = {"type": "tick", "thickness": 1.6, "size": 16}
    return frame(
        description=f"{title}, cell by cell",
        datasets={"wholes": wholes, "singles": singles},
        layers=[
            layer("singles", tick, x=horizontal, y=vertical, word=EACH, color=colour, tooltip=tips),
            layer(
                "wholes",
                {"type": "rule", "strokeWidth": 1.8},
                x={**horizontal, "field": "low"},
                x2={"field": "high"},
                y=vertical,
                word=TOGETHER,
                color=colour,
            ),
            layer(
                "wholes", _DOT, x=horizontal, y=vertical, word=TOGETHER, color=colour, tooltip=ends
            ),
        ],
        params={},
        height=max(270, 24 + 34 * len(labels)),
    )


def distributions(
    cells: Sequence[tuple[str, Sequence[Sequence[float]]]],
    *,
    logarithmic: bool = False,
    what: str = "response time",
    of: str = "requests",
) -> Spec:
    """The cumulative distribution of each cell's response times, or other durations.

    ``cells`` holds the label and the steps of each, ``what`` a duration is and what it is ``of``.
    """
    shown = [(label, steps) for label, steps in cells if steps][:LINES]
    rows = [
        {"seconds": value, "share": share, "word": label}
        for label, steps in shown
        for value, share in _from_zero(steps)
    ]
    horizontal = {
        "field": "seconds",
        "type": "quantitative",
        "title": what,
        "scale": {"type": "log", "nice": False, "padding": 6}
        if logarithmic
        else {"zero": False, "nice": False, "padding": 6},
        "axis": {
            "labelExpr": SECONDS_LABEL,
            "labelOverlap": True,
            "tickCount": {"expr": "width / 80"},
        },
    }
    vertical = {
        **quantity_axis("share", title=f"share of the {of}", label=SHARE_LABEL),
        "scale": {"domain": [0, 1]},
    }
    tips = [
        {"field": "word", "title": "cell"},
        *tooltip(("seconds", "seconds", ".4f"), ("share", "share", ".1%")),
    ]
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8}
    return frame(
        description=f"Cumulative distributions: {what}",
        datasets={"steps": rows},
        layers=[
            layer(
                "steps",
                line,
                x=horizontal,
                y=vertical,
                tooltip=tips,
                **in_colours([label for label, _ in shown]),
            )
        ],
        params={},
        height=270,
    )


def _from_zero(steps: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    return [(steps[0][0], 0.0), *steps] if steps[0][1] > 0 else list(steps)


def against_factor(
    lines: Sequence[tuple[str, Sequence[Row]]],
    *,
    title: str,
    unit: str,
    measure: str,
    label: str,
    baseline: float | None = None,
    shares: bool = False,
) -> Spec:
    """A result against the numbers of a factor, a line per combination of the others.

    ``lines`` holds rows of ``x``, ``value``, ``low`` and ``high``. ``baseline`` is the result
    without background; ``shares`` are drawn so that one in a thousand can be seen beside a half.
    """
    shown = list(lines)[:LINES]
    rows = [
        {
            "x": row["x"],
            "value": row["value"],
            "low": row["value"] if row["low"] is None else row["low"],
            "high": row["value"] if row["high"] is None else row["high"],
            "word": word,
        }
        for word, each in shown
        for row in each
    ]
    positions = sorted({row["x"] for row in rows})
    wide = len(positions) > 1 and positions[0] > 0 and positions[-1] / positions[0] >= 12
    horizontal = {
        "field": "x",
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "nice": False, "padding": 14}
        if wide
        else {"zero": False, "nice": False, "padding": 14},
        "axis": {
            "values": positions,
            "labelExpr": _label(unit),
            "labelOverlap": "greedy",
            "labelFlush": 8,
        },
    }
    vertical = quantity_axis("value", title=measure, label=label)
    if shares:
        most = max((row["high"] for row in rows), default=0.0)
        vertical["scale"] = {
            "type": "symlog",
            "constant": 0.001,
            "domainMin": 0,
            "domainMax": max(1.1 * most, 0.002),
            "nice": False,
        }
        vertical["axis"] = {**vertical["axis"], "values": SHARES, "labelOverlap": "greedy"}
    tips = [
        {"field": "word", "title": "cell"},
        *tooltip(
            ("x", title, ".4s"),
            ("value", measure, ".4s"),
            ("low", "interval from", ".4s"),
            ("high", "to", ".4s"),
        ),
    ]
    apart = in_colours([word for word, _ in shown])
    whisker = {"type": "rule", "strokeWidth": 1.4}
    return frame(
        description=f"{measure} against {title}",
        datasets={
            "rows": rows,
            "marks": [] if baseline is None or not rows else [{"value": baseline}],
        },
        layers=[
            layer("marks", _RULE, y=vertical, color={"value": LIGHT["reference"]}),
            layer(
                "rows",
                whisker,
                x=horizontal,
                y={**vertical, "field": "low"},
                y2={"field": "high"},
                color=apart["color"],
            ),
            layer(
                "rows",
                {"type": "line", "strokeWidth": 1.8, "point": {"size": 34}},
                x=horizontal,
                y=vertical,
                tooltip=tips,
                **apart,
            ),
        ],
        params={},
        height=250,
    )


def _label(unit: str) -> str:
    if unit in ("", "p", "packets", "%"):
        return "format(datum.value, '~r')" + (" + ' %'" if unit == "%" else "")
    return f"replace(format(datum.value, '~s'), regexp('([^0-9.]?)$'), ' $1') + '{unit}'"


DEEPEST, AVERAGE, LOST = "deepest queue", "mean queue", "packets lost"
REQUEST, FAILED, THROUGHPUT = "request", "failed request", "throughput"
_EXTENT = {"minExtent": 62, "maxExtent": 62}
"""The same width for the axis labels of stacked charts, so that their time axes align."""


def application(shown: OverTime) -> Spec:
    """The numbers of a repetition's first workload over time.

    Every request where it began, or the rate of every interval.
    """
    first = next(iter(shown.applications), None)
    if first is not None and first.bits_per_second is not None:
        return _throughput(first, first.bits_per_second, shown.duration_seconds)
    begun, seconds, without = (
        ((), (), ()) if first is None else (first.t, first.seconds or (), first.failed_t or ())
    )
    requests = [{"t": t, "seconds": took} for t, took in zip(begun, seconds, strict=True)]
    failed = [{"t": t} for t in without]
    colour = coloured_by_word({REQUEST: "data"} | ({FAILED: "retransmission"} if failed else {}))
    vertical = _aligned(
        quantity_axis("seconds", title="response time", label=SECONDS_LABEL, ticks=4)
    )
    tips = tooltip(("t", "begun at (s)", ".3f"), ("seconds", "response time (s)", ".4f"))
    vertical["scale"] = {"domainMin": 0, "domainMax": {"expr": "most"}, "nice": False}
    dot = {"type": "point", "filled": False, "size": 20, "strokeWidth": 1.3, "opacity": 0.9}
    return frame(
        description="Response times over time",
        datasets={"requests": requests, "failed": failed},
        layers=[
            layer("requests", dot, x=_time(), y=vertical, word=REQUEST, color=colour, tooltip=tips),
            layer(
                "failed", {"type": "rule", "strokeWidth": 1}, x=_time(), word=FAILED, color=colour
            ),
        ],
        params={
            "duration": shown.duration_seconds,
            "most": 1.08 * max(seconds or (0.0,)) or 1.0,
        },
        height=_PANEL,
    )


def _throughput(first: Application, rates: Sequence[float], duration: float) -> Spec:
    rows = [{"t": t, "bits": bits} for t, bits in zip(first.t, rates, strict=True)]
    vertical = _aligned(quantity_axis("bits", title="throughput", label=RATE_LABEL, ticks=4))
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6}
    tips = tooltip(("t", "time (s)", ".1f"), ("bits", "bit/s", ".3s"))
    colour = coloured_by_word({THROUGHPUT: "data"})
    return frame(
        description="Throughput over time",
        datasets={"rates": rows},
        layers=[
            layer("rates", line, x=_time(), y=vertical, word=THROUGHPUT, color=colour, tooltip=tips)
        ],
        params={"duration": duration},
        height=_PANEL,
    )


def queue(shown: OverTime) -> Spec:
    """The queue of a repetition's deepest pipe over time.

    The deepest and the mean of each slice, and where packets were lost.
    """
    slices: list[Json] = []
    lost: list[Json] = []
    for first in shown.pipes[:1]:
        columns = zip(first.t, first.packets_max, first.packets_mean, strict=True)
        slices = [{"t": t, "most": most, "mean": average} for t, most, average in columns]
        lost = [
            {"t": t, "lost": count} for t, count in zip(first.t, first.lost, strict=True) if count
        ]
    colour = coloured_by_word(
        {DEEPEST: "window", AVERAGE: "allowed"} | ({LOST: "retransmission"} if lost else {})
    )
    vertical = _aligned(
        quantity_axis("most", title="queue in packets", label="format(datum.value, '~r')", ticks=4)
    )
    tips = tooltip(
        ("t", "time (s)", ".2f"),
        ("most", "deepest (packets)", "d"),
        ("mean", "mean (packets)", ".1f"),
    )
    area = {"type": "area", "interpolate": "step-after", "opacity": 0.3}
    stroke = {"type": "tick", "thickness": 1.4, "size": 12}
    lost_tips = tooltip(("t", "time (s)", ".2f"), ("lost", "packets lost", "d"))
    return frame(
        description="The queue over time",
        datasets={"slices": slices, "lost": lost},
        layers=[
            layer(
                "slices",
                area,
                x=_time(),
                y={**vertical, "stack": None},
                word=DEEPEST,
                color=colour,
                tooltip=tips,
            ),
            layer(
                "slices",
                {"type": "line", "strokeWidth": 1.3},
                x=_time(),
                y={**vertical, "field": "mean"},
                word=AVERAGE,
                color=colour,
            ),
            layer(
                "lost",
                stroke,
                x=_time(),
                y={"value": 6},
                word=LOST,
                color=colour,
                tooltip=lost_tips,
            ),
        ],
        params={"duration": shown.duration_seconds},
        height=_PANEL,
    )


_PANEL = 150


def _time() -> Spec:
    return time_axis(title="time since the traffic began")


def _aligned(axis: Spec) -> Spec:
    return {**axis, "axis": {**axis["axis"], **_EXTENT}}
