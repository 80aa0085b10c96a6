"""Distributions of a model as charts."""

from __future__ import annotations

from trustbed.report.charts.drawing import (
    BYTES_LABEL,
    RATE_LABEL,
    SECONDS_LABEL,
    SHARE_LABEL,
    coloured_by_word,
    frame,
    layer,
    quantity_axis,
    tooltip,
)
from trustbed.report.records import Spec
from trustbed.traffic.summary import Distribution

MOST = 120
"""Points of a curve."""
_LABELS = {"s": SECONDS_LABEL, "B": BYTES_LABEL, "bit/s": RATE_LABEL}


def cumulative(found: Distribution, *, height: int = 240) -> Spec:
    """The share of values that are not above each one; logarithmic where values span decades."""
    positive = [one for one in found.values if one > 0]
    wide = bool(positive) and positive[-1] > 50 * positive[0]
    values = positive if wide else list(found.values)
    below = len(found.values) - len(values)
    count = len(values)
    kept = (
        range(count)
        if count <= MOST
        else sorted({i * (count - 1) // (MOST - 1) for i in range(MOST)})
    )
    rows = [
        {"x": values[place], "share": (below + place + 1) / len(found.values), "word": found.name}
        for place in kept
    ]
    label = _LABELS.get(found.unit, "format(datum.value, '~s')")
    axis = quantity_axis("x", title="", label=label)
    axis = {**axis, "scale": {"type": "log"} if wide else {"zero": False}}
    return frame(
        description=f"Cumulative distribution of {found.name}",
        datasets={"values": rows},
        layers=[
            layer(
                "values",
                {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
                x=axis,
                y=quantity_axis("share", title="share of values", label=SHARE_LABEL),
                color={**coloured_by_word({found.name: "data"}), "legend": None},
                tooltip=tooltip(("x", found.name, ".4~g"), ("share", "share", ".1%")),
            )
        ],
        params={},
        height=height,
    )
