"""The pictures of the page, as Vega-Lite, rendered to SVG.

Confusion, confidence, doses, F1 by cause, the kernel's counters.

Draws only what `result` computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from validation.truth import kernel as kernel_side
from validation.truth.result import VIEWS, Result, View

Specification = dict[str, Any]

RIGHT, WRONG, QUIET, INK = "#2a7f62", "#c8443a", "#8a8f98", "#22262c"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_CONFIG = {
    "background": "white",
    "font": "DejaVu Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "grid": False,
        "domainColor": QUIET,
        "tickColor": QUIET,
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
    },
    "title": {"anchor": "start", "fontSize": 13, "color": INK, "fontWeight": "bold"},
}


def pictures(result: Result, half: str) -> dict[str, Specification]:
    """Every picture that there is something to draw for, by the name of its file."""
    views = [view for view in VIEWS if result.cases(view, half)]
    found = {f"truth-confusion-{view.name}": confusion(result, view, half) for view in views}
    return found | {
        "truth-confidence": confidence(result, views, half),
        "truth-causes": causes(result, views, half),
        "truth-doses": doses(result, half),
        "truth-kernel": kernel(result, half),
    }


def write(specifications: Mapping[str, Specification], directory: Path) -> None:
    """As SVG files; those of an earlier result are replaced or removed."""
    import vl_convert

    directory.mkdir(parents=True, exist_ok=True)
    for earlier in directory.glob("truth-*.svg"):
        earlier.unlink()
    for name, specification in specifications.items():
        drawn: str = vl_convert.vegalite_to_svg(specification)
        (directory / f"{name}.svg").write_text(drawn + "\n", encoding="utf-8")


def _words(cause: str) -> str:
    return cause.replace("_", " ")


def _chart(title: str, rows: list[dict[str, Any]], **more: Any) -> Specification:  # noqa: ANN401 - Vega-Lite
    return {"$schema": _SCHEMA, "config": _CONFIG, "title": title, "data": {"values": rows}, **more}


def confusion(result: Result, view: View, half: str) -> Specification:
    """Rows: injected causes. Columns: answers. Shade: the share of the row."""
    found = result.score(view, half)
    made = [each.cause for each in found.causes]
    answered = [*made, *sorted({name for _, name in found.confusion} - set(made))]
    of = {each.cause: each.recall.of for each in found.causes}
    rows = [
        {
            "injected": f"{_words(cause)} ({of[cause]})",
            "answered": _words(name),
            "transfers": count,
            "share": count / of[cause],
            "kind": "right" if cause == name else "wrong",
        }
        for (cause, name), count in sorted(found.confusion.items())
    ]
    axes: Specification = {
        "x": {
            "field": "answered",
            "type": "nominal",
            "sort": [_words(name) for name in answered],
            "title": "answer",
        },
        "y": {
            "field": "injected",
            "type": "nominal",
            "sort": [f"{_words(name)} ({of[name]})" for name in made],
            "title": "injected cause",
        },
    }
    axes["x"]["axis"] = {"labelAngle": -40, "orient": "top"}
    axes["x"]["scale"] = {"domain": [_words(name) for name in answered]}
    shade = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, 1], "range": [0.12, 1]},
        "legend": None,
    }
    colour = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": ["right", "wrong"], "range": [RIGHT, WRONG]},
        "legend": None,
    }
    layers = [
        {"mark": {"type": "rect"}, "encoding": {**axes, "color": colour, "opacity": shade}},
        {
            "mark": {"type": "text", "fontSize": 11},
            "encoding": {
                **axes,
                "text": {"field": "transfers"},
                "color": {
                    "condition": {"test": "datum.share > 0.55", "value": "white"},
                    "value": INK,
                },
            },
        },
    ]
    return _chart(
        f"Injected cause and answer: {view.words}",
        rows,
        layer=layers,
        width={"step": 34},
        height={"step": 24},
    )


def confidence(result: Result, views: list[View], half: str) -> Specification:
    """Stated confidence against the share of right answers, with its interval."""
    rows = []
    for view in views:
        for each in result.calibration(view, half).bins:
            low, high = each.interval
            judged = {True: "holds", False: "does not hold", None: "fewer than 30 answers"}[
                each.holds
            ]
            rows.append(
                {
                    "view": view.words,
                    "stated": each.stated,
                    "right": each.observed,
                    "low": low,
                    "high": high,
                    "judged": judged,
                }
            )
    colour = {
        "field": "judged",
        "type": "nominal",
        "title": None,
        "scale": {
            "domain": ["holds", "does not hold", "fewer than 30 answers"],
            "range": [RIGHT, WRONG, QUIET],
        },
    }
    x = {
        "field": "stated",
        "type": "quantitative",
        "title": "stated confidence",
        "scale": {"domain": [0, 1]},
    }
    y = {"type": "quantitative", "title": "share of right answers", "scale": {"domain": [0, 1]}}
    layers: list[Specification] = [
        {
            "data": {"values": [{"at": 0}, {"at": 1}]},
            "mark": {"type": "line", "color": QUIET, "strokeDash": [4, 3]},
            "encoding": {
                "x": {"field": "at", "type": "quantitative"},
                "y": {"field": "at", "type": "quantitative"},
            },
        },
        {
            "mark": "rule",
            "encoding": {
                "x": x,
                "y": {**y, "field": "low"},
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 55},
            "encoding": {"x": x, "y": {**y, "field": "right"}, "color": colour},
        },
    ]
    facet = {
        "field": "view",
        "type": "nominal",
        "title": None,
        "sort": [view.words for view in views],
        "header": {"labelFontSize": 11},
    }
    specification = {"width": 190, "height": 190, "layer": layers}
    return _chart(
        "Is the stated confidence right?", rows, facet=facet, columns=4, spec=specification
    )


def causes(result: Result, views: list[View], half: str) -> Specification:
    """F1 of every cause with its interval, by view."""
    rows = []
    for view in views:
        for each in result.score(view, half).causes:
            if each.f1 is not None:
                low, high = each.f1_interval or (each.f1, each.f1)
                rows.append(
                    {
                        "view": view.words,
                        "cause": f"{_words(each.cause)}",
                        "f1": each.f1,
                        "low": low,
                        "high": high,
                    }
                )
    y = {"field": "cause", "type": "nominal", "title": None}
    x = {"type": "quantitative", "title": "F1", "scale": {"domain": [0, 1]}}
    layers: list[Specification] = [
        {
            "mark": {"type": "rule", "color": QUIET},
            "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 50, "color": INK},
            "encoding": {"y": y, "x": {**x, "field": "f1"}},
        },
    ]
    facet = {
        "field": "view",
        "type": "nominal",
        "title": None,
        "sort": [view.words for view in views],
        "header": {"labelFontSize": 11},
    }
    return _chart(
        "How well each cause is found",
        rows,
        facet=facet,
        columns=4,
        spec={"width": 170, "height": {"step": 18}, "layer": layers},
    )


def doses(result: Result, half: str) -> Specification:
    """Every disturbed transfer by what it cost.

    Where a cause stops mattering, and where it stops being recognised.
    """
    view = next(view for view in VIEWS if view.name == "sender-known")
    rows = [
        {
            "kind": _words(case.kind),
            "cost": max(-0.1, case.cost),
            "answer": "right"
            if case.is_right and case.verdict_is_right
            else "wrong verdict"
            if case.is_right
            else "wrong cause",
        }
        for case in result.cases(view, half)
        if case.cost is not None
    ]
    colour = {
        "field": "answer",
        "type": "nominal",
        "title": None,
        "scale": {
            "domain": ["right", "wrong verdict", "wrong cause"],
            "range": [RIGHT, "#d9a400", WRONG],
        },
    }
    x = {
        "field": "cost",
        "type": "quantitative",
        "title": "share of the throughput that it took",
        "axis": {"format": "%"},
    }
    y = {"field": "kind", "type": "nominal", "title": None}
    borders = {
        "data": {"values": [{"at": 0.05}, {"at": 0.15}]},
        "mark": {"type": "rule", "color": QUIET, "strokeDash": [3, 3]},
        "encoding": {"x": {"field": "at", "type": "quantitative"}},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.7},
        "encoding": {"x": x, "y": y, "color": colour},
    }
    title = f"What disturbances cost, and how they were judged: {view.words}"
    return _chart(title, rows, layer=[borders, points], width=620, height={"step": 18})


def kernel(result: Result, half: str) -> Specification:
    """Shares of time by the capture against those by the sending kernel."""
    rows = [
        {"what": pair.what, "kernel": pair.kernel, "capture": pair.capture}
        for one in result.chosen(half)
        for pair in kernel_side.pairs(one.stored)
    ]
    encoding = {
        "x": {
            "field": "kernel",
            "type": "quantitative",
            "title": "share of time, by the kernel",
            "scale": {"domain": [0, 1]},
        },
        "y": {
            "field": "capture",
            "type": "quantitative",
            "title": "share of time, by the capture",
            "scale": {"domain": [0, 1]},
        },
    }
    mark = {"type": "point", "filled": True, "size": 22, "opacity": 0.5, "color": INK}
    specification = {"width": 260, "height": 260, "mark": mark, "encoding": encoding}
    facet = {"field": "what", "type": "nominal", "title": None}
    return _chart(
        "The sender's capture against its kernel", rows, facet=facet, columns=2, spec=specification
    )
