"""The charts of a sensitivity study: slowdowns, energies, and the effect of each time scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trustbed.report.charts.drawing import frame, layer, quantity_axis, tooltip
from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Json, Spec
from trustbed.sensitivity.model import Ratio, Sensitivity
from trustbed.sensitivity.words import span

_TIMES = "format(datum.value, '~g') + ' ×'"
_SCALES = (
    "datum.value < 1000 ? format(datum.value, '~g') + ' ms' "
    ": format(datum.value / 1000, '~g') + ' s'"
)
_BEYOND = 30.0
"""Intervals are drawn up to this factor beyond all that was measured."""
_ROW = 22
_LEAST = 280
_TIPS = tooltip(("times", "factor", ".3f"), ("low", "from", ".3f"), ("high", "to", ".3f"))
ROLES = (
    "data", "silence", "allowed", "window", "retransmission", "timeout", "share_growing",
    "reference",
)  # fmt: skip
"""The colours of backgrounds."""


def slowdowns(found: Sensitivity) -> Spec:
    """Times as slow beside each background, with intervals; one line per background."""
    rows = [
        {"name": one.label, **_ends(one.slowdown)}
        for one in found.treatments
        if one.load and one.slowdown is not None
    ]
    return _intervals(rows, "Beside each background over none", f"times {found.word}")


def bands(found: Sensitivity) -> Spec:
    """Times as slow with a band amplified instead of flattened, with intervals."""
    rows = [
        {"name": span(one.shortest_seconds, one.longest_seconds), **_ends(one.effect)}
        for one in found.bands
    ]
    return _intervals(rows, "Effect of each time scale", "amplified over flattened")


def _ends(found: Ratio) -> Json:
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    return {"times": found.value, "low": low, "high": high}


def _intervals(rows: Sequence[Json], description: str, title: str) -> Spec:
    # One interval of few rounds may be so wide that nothing else can be read: it leaves the chart.
    values = [row["times"] for row in rows] or [1.0]
    most = min(max((row["high"] for row in rows), default=1.0), _BEYOND * max(values))
    least = max(min((row["low"] for row in rows), default=1.0), min(values) / _BEYOND)
    names = {
        "field": "name",
        "type": "nominal",
        "title": None,
        "sort": None,
        "axis": {"labelLimit": 220, "grid": True},
    }
    wide = most > 4 * min(1.0, least)
    scale = {"type": "log"} if wide else {"zero": False}
    axis = quantity_axis("times", title=title, label=_TIMES)
    axis["scale"] = {**scale, "nice": not wide, "domain": [min(least, 0.98), max(most, 1.02)]}
    ends = {"x": {**axis, "field": "low"}, "x2": {"field": "high"}}
    dot = {"type": "point", "filled": True, "size": 50, "opacity": 1}
    return frame(
        description=description,
        datasets={"rows": list(rows), "one": [{"x": 1.0}] if rows else []},
        layers=[
            layer(
                "one",
                {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.2},
                x={"field": "x", "type": "quantitative"},
                color={"value": LIGHT["reference"]},
            ),
            layer(
                "rows",
                {"type": "rule", "strokeWidth": 2, "clip": True},
                y=names,
                color={"value": LIGHT["data"]},
                tooltip=_TIPS,
                x=ends["x"],
                x2=ends["x2"],
            ),
            layer("rows", dot, x=axis, y=names, color={"value": LIGHT["data"]}, tooltip=_TIPS),
        ],
        params={},
        height=max(_LEAST, _ROW * len(rows)),
    )


def energies(found: Sensitivity) -> Spec:
    """The energy of every background by time scale, at the highest load of each."""
    shown = {
        one.name: one for one in found.treatments if one.load and not one.reverse and one.energies
    }
    rows: list[Json] = [
        {"scale": 2.0**place, "energy": level, "word": name}
        for name, one in shown.items()
        for place, level in enumerate(one.energies)
        if level is not None
    ]
    names = list(shown)
    colour = {
        "field": "word",
        "type": "nominal",
        "scale": {
            "domain": names,
            "range": [LIGHT[ROLES[place % len(ROLES)]] for place in range(len(names))],
        },
        "legend": {"title": None, "orient": "top", "symbolType": "stroke", "symbolStrokeWidth": 3},
    }
    largest = max((row["scale"] for row in rows), default=1.0)
    x: Spec = {
        "field": "scale",
        "type": "quantitative",
        "title": "time scale",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {
            "values": [2.0**place for place in range(0, int(math.log2(largest)) + 1, 2)],
            "labelExpr": _SCALES,
            "grid": False,
        },
    }
    y = quantity_axis("energy", title="log₂ energy over mean²", label="format(datum.value, '~g')")
    y["scale"] = {"zero": False}
    tips = tooltip(("scale", "ms", ".0f"), ("energy", "log₂ energy over mean²", ".2f"))
    return frame(
        description="Energy by time scale",
        datasets={"rows": rows},
        layers=[
            layer("rows", {"type": "line", "strokeWidth": 1.6}, x=x, y=y, color=colour),
            layer(
                "rows",
                {"type": "point", "filled": True, "size": 26},
                x=x,
                y=y,
                color=colour,
                tooltip=tips,
            ),
        ],
        params={},
        height=280,
    )


def octaves(found: Sensitivity) -> Spec:
    """How the suite's slowdowns go with the energy of each octave, load given."""
    rows: list[Json] = [
        {
            "scale": one.seconds * 1e3,
            "times": one.correlation,
            "low": one.correlation if one.low is None else one.low,
            "high": one.correlation if one.high is None else one.high,
        }
        for one in found.octaves
    ]
    largest = max((row["scale"] for row in rows), default=1.0)
    x: Spec = {
        "field": "scale",
        "type": "quantitative",
        "title": "time scale",
        "scale": {"type": "log", "base": 2, "nice": False, "padding": 12},
        "axis": {
            "values": [2.0**place for place in range(0, int(math.log2(largest)) + 1, 2)],
            "labelExpr": _SCALES,
            "grid": False,
        },
    }
    y = quantity_axis("times", title="partial correlation", label="format(datum.value, '~g')")
    y["scale"] = {"domain": [-1, 1]}
    tips = tooltip(("times", "correlation", ".2f"), ("low", "from", ".2f"), ("high", "to", ".2f"))
    return frame(
        description="Correlation of slowdown and energy by octave",
        datasets={"rows": rows},
        layers=[
            layer(
                "rows",
                {"type": "rule", "strokeWidth": 2},
                x=x,
                y={**y, "field": "low"},
                y2={"field": "high"},
                color={"value": LIGHT["data"]},
            ),
            layer(
                "rows",
                {"type": "point", "filled": True, "size": 50, "opacity": 1},
                x=x,
                y=y,
                color={"value": LIGHT["data"]},
                tooltip=tips,
            ),
        ],
        params={},
        height=_LEAST,
    )
