"""Outstanding data against the receiver's advertised window over time.

A transfer that its window limits runs along the window's line; one that something else limits stays
below it.
"""

from __future__ import annotations

from trustbed.report.charts.drawing import (
    BYTES_LABEL,
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
from trustbed.report.transfer.charts.sequence import FLATTENED

OUTSTANDING, WINDOW = "outstanding data", "advertised window"


def outstanding(series: Row, *, height: int = 240) -> Spec:
    """Bytes sent and not yet acknowledged, beside the bytes that the receiver allowed.

    The axis ends a little above the largest outstanding value when the window lies far above it;
    the window's line is then out of sight, which the caption has to say.
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
