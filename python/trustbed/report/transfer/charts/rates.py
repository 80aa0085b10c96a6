"""Throughput over time, and the shares of a transfer's time that each limit took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from trustbed.report.charts.drawing import (
    RATE_LABEL,
    coloured_by_word,
    extent,
    frame,
    layer,
    quantity_axis,
    rows,
    time_axis,
    tooltip,
)
from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Row, Spec
from trustbed.report.transfer.charts.sequence import ALLOWED, FLATTENED

MEASURED, MEAN = "throughput", "mean"

LIMITS: Mapping[str, str] = MappingProxyType(
    {
        "share_path": "path",
        "share_receiver_window": "receiver's window",
        "share_loss_recovery": "loss recovery",
        "share_application": "application",
        "share_host": "host",
    }
)
"""The five limits in the order in which they are drawn, with their words."""


def throughput(
    series: Row,
    *,
    allowed_bytes_per_second: float | None = None,
    mean_bytes_per_second: float | None = None,
    height: int = 240,
) -> Spec:
    """Unique payload acknowledged per second, its mean, and what window, RTT and loss allow."""
    samples = [
        {"t": row["t"], "bits": row["bytes_per_second"] * 8}
        for row in rows(series.get("throughput"))
    ]
    most = max((row["bits"] for row in samples), default=0.0)
    lines = [
        (MEAN, mean_bytes_per_second, "reference"),
        (ALLOWED, allowed_bytes_per_second, "allowed"),
    ]
    marks = [
        {"bits": value * 8, "word": word}
        for word, value, _ in lines
        if value and value * 8 <= FLATTENED * most
    ]
    colour = coloured_by_word(
        {MEASURED: "data"}
        | {word: role for word, _, role in lines if any(mark["word"] == word for mark in marks)}
    )
    vertical = quantity_axis("bits", title="throughput", label=RATE_LABEL)
    area = {
        "type": "area",
        "interpolate": "step",
        "opacity": 0.3,
        "line": {"strokeWidth": 1.4, "opacity": 1},
    }
    tips = tooltip(("t", "time (s)", ".3f"), ("bits", "bit/s", ".3s"))
    dashed = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5}
    return frame(
        description="Throughput over time",
        datasets={"samples": samples, "marks": marks},
        layers=[
            layer(
                "samples",
                area,
                x=time_axis(),
                y={**vertical, "stack": None},
                word=MEASURED,
                color=colour,
                tooltip=tips,
            ),
            layer("marks", dashed, y=vertical, color=colour),
        ],
        params={"duration": extent(series)},
        height=height,
    )


def shares(transfers: Iterable[Row]) -> Spec:
    """One bar per transfer.

    The shares of its time in each limiting state, from ``share_*`` of the transfers table.
    """
    pieces = [
        {"transfer": transfer["transfer"], "limit": word, "share": transfer[column], "order": index}
        for transfer in transfers
        for index, (column, word) in enumerate(LIMITS.items())
        if transfer.get(column) is not None
    ]
    return {
        "$schema": frame(description="", datasets={}, layers=[], params={}, height=0)["$schema"],
        "description": "Shares of each transfer's time by what limited it",
        "width": "container",
        "height": {"step": 26},
        "datasets": {"shares": pieces},
        "data": {"name": "shares"},
        "mark": {"type": "bar", "height": 16},
        "encoding": {
            "y": {"field": "transfer", "type": "nominal", "title": None, "sort": None},
            "x": {
                "field": "share",
                "type": "quantitative",
                "title": "share of the transfer's time",
                "axis": {"format": ".0%"},
                "scale": {"domain": [0, 1]},
            },
            "color": {
                "field": "limit",
                "type": "nominal",
                "scale": {
                    "domain": list(LIMITS.values()),
                    "range": [LIGHT[column] for column in LIMITS],
                },
                "legend": {"title": None, "orient": "top"},
            },
            "order": {"field": "order"},
            "tooltip": [{"field": "limit"}, {"field": "share", "format": ".1%"}],
        },
    }
