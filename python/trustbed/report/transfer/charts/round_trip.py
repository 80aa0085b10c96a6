"""Round-trip times and the retransmission timer over time.

The RTO drawn is the raw one (SRTT + 4·RTTVAR of RFC 6298 without a lower bound): the one that says
whether a delay was unusual. What Linux would have waited (at least 200 ms more than SRTT) is drawn
on request, because it presses short RTTs flat.
"""

from __future__ import annotations

from trustbed.report.charts.drawing import (
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
from trustbed.report.records import Row, Spec

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
