"""The parts that every chart is put together from: frame, axes, legend, rows.

A chart is a plain Vega-Lite dictionary with its data under ``datasets``. Its layers, scales and
texts do not depend on the data: what does is either a data set or a ``param``, so that the page can
hold one copy of each chart and hand it the data of many transfers. No theme is set: fonts and the
colours of axes are the reader's (page or notebook).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Row, Rows, Spec

Columns = Mapping[str, Sequence[Any]]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

# A number with its SI prefix, a space before the prefix: 20 ms, 1.5 MB.
_PREFIXED = "replace(format(datum.value, '~s'), regexp('([^0-9.]?)$'), ' $1')"
SECONDS_LABEL = f"{_PREFIXED} + 's'"
BYTES_LABEL = f"{_PREFIXED} + 'B'"
RATE_LABEL = f"{_PREFIXED} + 'bit/s'"
PERCENT_LABEL = "format(datum.value, '~g') + ' %'"
SHARE_LABEL = "format(datum.value * 100, '~g') + ' %'"

DECADES = [10.0**exponent for exponent in range(-6, 4)]
"""Where logarithmic time axes have their ticks: a microsecond to a quarter of an hour."""


def rows(columns: Columns | None) -> Rows:
    """One dictionary per position of equally long columns; no columns, no rows."""
    if not columns:
        return []
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def extent(series: Row) -> float:
    """The last moment that a series knows of.

    Packets may follow the acknowledgement of the last byte, which ends the transfer.
    """
    lines = ("segments", "acks", "rtt", "outstanding", "spacing", "response")
    last = [moments[-1] for name in lines if (moments := (series.get(name) or {}).get("t"))]
    return max(series["duration_seconds"], *last) if last else float(series["duration_seconds"])


def frame(
    *,
    description: str,
    datasets: Mapping[str, Rows],
    layers: Iterable[Spec],
    params: Mapping[str, float | None],
    height: int,
) -> Spec:
    """A layered chart as wide as its container; layers without data are left out."""
    return {
        "$schema": SCHEMA,
        "description": description,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {"legend": {"columns": 3}},
        "params": [{"name": name, "value": value} for name, value in params.items()],
        "datasets": {name: values for name, values in datasets.items() if values},
        "layer": [part for part in layers if datasets[part["data"]["name"]]],
    }


def layer(
    dataset: str, mark: Spec, *, word: str | None = None, **encoding: Spec | list[Spec]
) -> Spec:
    """One layer, drawn from the data set of that name.

    ``word`` is what the legend calls all of it.
    """
    named = (
        {}
        if word is None
        else {"transform": [{"calculate": json.dumps(word, ensure_ascii=False), "as": "word"}]}
    )
    return {
        "data": {"name": dataset},
        **named,
        "mark": {**mark, "clip": True},
        "encoding": encoding,
    }


def time_axis(
    field: str = "t", *, title: str = "time since the first data packet", last: str = "duration"
) -> Spec:
    """Seconds from 0 to the parameter ``last``."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domainMin": 0, "domainMax": {"expr": last}, "nice": False},
        "axis": {
            "labelExpr": SECONDS_LABEL,
            "grid": False,
            "labelOverlap": True,
            "tickCount": {"expr": "width / 90"},
        },
    }


def quantity_axis(
    field: str, *, title: str, label: str, scale: Spec | None = None, ticks: int = 5
) -> Spec:
    """A quantity from 0 on, its unit in every label."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"zero": True, **(scale or {})},
        "axis": {"labelExpr": label, "tickCount": ticks, "labelOverlap": True},
    }


def logarithmic_axis(field: str, *, title: str) -> Spec:
    """Seconds on a logarithmic axis with a tick per decade."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log"},
        "axis": {"labelExpr": SECONDS_LABEL, "values": DECADES, "labelOverlap": True},
    }


def coloured_by_word(roles: Mapping[str, str]) -> Spec:
    """Colour and legend of a chart: what is drawn, in words, with the role of its colour."""
    return {
        "field": "word",
        "type": "nominal",
        "scale": {"domain": list(roles), "range": [LIGHT[role] for role in roles.values()]},
        "legend": {"title": None, "orient": "top", "symbolType": "stroke", "symbolStrokeWidth": 3},
    }


def tooltip(*fields: tuple[str, str, str]) -> list[Spec]:
    """The tooltip of a mark: (field, title, d3 format)."""
    return [
        {"field": field, "title": title, "format": shape, "type": "quantitative"}
        for field, title, shape in fields
    ]


def small(
    spec: Spec, *, keep: tuple[str, ...], height: int = 92, largest: float | None = None
) -> Spec:
    """A chart without titles and legend for a row of many.

    Only the layers drawn from the data sets ``keep``.

    ``largest`` ends the vertical axis (parameter ``largest``), so that the charts of a row can be
    compared.
    """
    params = list(spec["params"])
    if largest is not None:
        params.append({"name": "largest", "value": largest})
    layers = []
    for part in spec["layer"]:
        if part["data"]["name"] not in keep:
            continue
        encoding = {
            channel: dict(value) if isinstance(value, dict) else value
            for channel, value in part["encoding"].items()
        }
        for channel, ticks in (("x", 4), ("y", 3)):
            if "axis" in encoding.get(channel, {}):
                encoding[channel]["title"] = None
                encoding[channel]["axis"] = {**encoding[channel]["axis"], "tickCount": ticks}
        if largest is not None and "y" in encoding:
            encoding["y"]["scale"] = {
                **encoding["y"]["scale"],
                "domainMin": 0,
                "domainMax": {"expr": "largest"},
                "nice": False,
            }
        if "color" in encoding:
            encoding["color"]["legend"] = None
        layers.append({**part, "encoding": encoding})
    datasets = {name: values for name, values in spec["datasets"].items() if name in keep}
    return {**spec, "height": height, "params": params, "layer": layers, "datasets": datasets}
