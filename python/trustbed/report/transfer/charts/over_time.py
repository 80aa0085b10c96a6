"""The charts of a transfer over time: throughput, round-trip times, outstanding data.

Also the shares of its time that each state took.

The RTO drawn is the raw one (SRTT + 4·RTTVAR of RFC 6298 without a lower bound): the one that shows
whether a delay was unusual. What Linux would have waited (at least 200 ms more than SRTT) is drawn
on request, because it presses short RTTs flat.

A transfer that its window limits runs along the window's line; one that something else limits stays
below it.
"""

from __future__ import annotations

from collections.abc import Iterable

from trustbed.diagnose.time_budget import STATES
from trustbed.report.charts.drawing import (
    BYTES_LABEL,
    RATE_LABEL,
    SECONDS_LABEL,
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

    The shares of its time in each state, from ``share_*`` of the transfers table.
    """
    pieces = [
        {"transfer": transfer["transfer"], "state": word, "share": share, "order": index}
        for transfer in transfers
        for index, (state, word) in enumerate(STATES.items())
        if (share := transfer.get(f"share_{state}"))
    ]
    occurring = {piece["state"] for piece in pieces}
    roles = {word: f"share_{state}" for state, word in STATES.items() if word in occurring}
    return {
        "$schema": frame(description="", datasets={}, layers=[], params={}, height=0)["$schema"],
        "description": "Shares of each transfer's time by state",
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
                "field": "state",
                "type": "nominal",
                "scale": {
                    "domain": list(roles),
                    "range": [LIGHT[role] for role in roles.values()],
                },
                "legend": {"title": None, "orient": "top"},
            },
            "order": {"field": "order"},
            "tooltip": [{"field": "state"}, {"field": "share", "format": ".1%"}],
        },
    }


SAMPLE, BASE = "RTT sample", "base RTT"
RAW, LINUX = "RTO without lower bound", "RTO as Linux has it"


def round_trip(
    series: Row,
    *,
    base_seconds: float | None = None,
    linux: bool = False,
    height: int = 240,
) -> Spec:
    """Every RTT sample over time, the RTO after it, and the base RTT as a line."""
    words = (
        {SAMPLE: "data", RAW: "timeout"}
        | ({LINUX: "window"} if linux else {})
        | ({BASE: "reference"} if base_seconds else {})
    )
    colour = coloured_by_word(words)
    vertical = quantity_axis("seconds", title="round-trip time", label=SECONDS_LABEL)
    steps = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.3}
    tips = tooltip(("t", "time (s)", ".6f"), ("seconds", "RTT (s)", ".6f"))
    layers = [
        layer(
            "rto",
            steps,
            x=time_axis(),
            y={**vertical, "field": "raw_seconds"},
            word=RAW,
            color=colour,
        )
    ]
    if linux:
        layers.append(
            layer(
                "rto",
                {**steps, "strokeDash": [2, 2]},
                x=time_axis(),
                y={**vertical, "field": "linux_seconds"},
                word=LINUX,
                color=colour,
            )
        )
    dots = {"type": "point", "filled": True, "size": 9, "opacity": 0.75}
    layers.append(
        layer("rtt", dots, x=time_axis(), y=vertical, word=SAMPLE, color=colour, tooltip=tips)
    )
    base = [{"seconds": base_seconds}] if base_seconds else []
    if base:
        layers.append(
            layer(
                "base",
                {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.2},
                y=vertical,
                word=BASE,
                color=colour,
            )
        )
    rto = series.get("rto") or {}
    return frame(
        description="Round-trip time samples and retransmission timeout over time",
        datasets={
            "rtt": rows(series.get("rtt")),
            "rto": rows(
                rto if linux else {name: rto[name] for name in rto if name != "linux_seconds"}
            ),
            "base": base,
        },
        layers=layers,
        params={"duration": extent(series)},
        height=height,
    )


OUTSTANDING, WINDOW = "outstanding data", "advertised window"


def outstanding(series: Row, *, height: int = 240) -> Spec:
    """Bytes sent and not yet acknowledged, beside the bytes that the receiver allowed.

    The axis ends a little above the largest outstanding value when the window lies far above it;
    the window's line is then out of sight, which the caption must state.
    """
    columns = series.get("outstanding") or {"t": [], "bytes": [], "window_bytes": []}
    most = max(columns["bytes"], default=0)
    within = max(columns["window_bytes"], default=0) <= FLATTENED * most
    shown = columns if within else {name: columns[name] for name in ("t", "bytes")}
    colour = coloured_by_word({OUTSTANDING: "data"} | ({WINDOW: "window"} if within else {}))
    vertical = quantity_axis("bytes", title="bytes", label=BYTES_LABEL)
    alone = {**vertical, "stack": None}  # two points at one time are two values, not a sum
    tips = tooltip(("t", "time (s)", ".6f"), ("bytes", "outstanding", ",d"))
    area = {
        "type": "area",
        "interpolate": "step-after",
        "opacity": 0.35,
        "line": {"strokeWidth": 1, "opacity": 1},
    }
    layers = [
        layer(
            "outstanding",
            area,
            x=time_axis(),
            y=alone,
            word=OUTSTANDING,
            color=colour,
            tooltip=tips,
        )
    ]
    if within:
        steps = {
            "type": "line",
            "interpolate": "step-after",
            "strokeWidth": 1.6,
            "strokeDash": [5, 2],
        }
        layers.append(
            layer(
                "outstanding",
                steps,
                x=time_axis(),
                y={**vertical, "field": "window_bytes"},
                word=WINDOW,
                color=colour,
            )
        )
    return frame(
        description="Outstanding data against the advertised window over time",
        datasets={"outstanding": rows(shown)},
        layers=layers,
        params={"duration": extent(series)},
        height=height,
    )
