"""How long the sender stayed silent.

Packet spacing and the response to an open window, over time and as distributions.

*Spacing* counts from the last packet received before a send, *response* from the first one that
opened the window. A host that stalls while acknowledgements keep arriving shows in the
response and not in the spacing; both are drawn so that the difference can be seen.
"""

from __future__ import annotations

from trustbed.report.charts.drawing import (
    SHARE_LABEL,
    coloured_by_word,
    extent,
    frame,
    layer,
    logarithmic_axis,
    quantity_axis,
    rows,
    time_axis,
    tooltip,
)
from trustbed.report.records import Row, Rows, Spec

RESPONSE, SPACING = "silence after the window opened", "packet spacing"
WINDOW_WAIT, RECOVERY_WAIT = "waiting for the window", "repairing loss"
BASE, LIMIT = "base RTT", "idle above"
ROUND_TRIP, BESIDE = "RTT", "silence: "

SHORTEST = 1e-6
"""Logarithmic axes start here: what took less is drawn at one microsecond."""

_CATEGORIES = {"spacing": SPACING, "window_wait": WINDOW_WAIT, "recovery_wait": RECOVERY_WAIT}
_ROLES = {
    RESPONSE: "silence",
    SPACING: "data",
    WINDOW_WAIT: "window",
    RECOVERY_WAIT: "retransmission",
    BASE: "reference",
    LIMIT: "allowed",
}


def _marks(base_seconds: float | None, limit_seconds: float | None) -> Rows:
    """The yardsticks that are known, with their words."""
    return [
        {"seconds": value, "word": word}
        for word, value in ((BASE, base_seconds), (LIMIT, limit_seconds))
        if value
    ]


def spacing(
    series: Row,
    *,
    base_seconds: float | None = None,
    limit_seconds: float | None = None,
    height: int = 240,
) -> Spec:
    """Spacing by category and responses over time (logarithmic).

    Lines mark the base RTT and the length above which a silence counts as idle with open
    window, as far as they are known.
    """
    samples = [
        {
            "t": row["t"],
            "seconds": max(row["seconds"], SHORTEST),
            "word": _CATEGORIES[row["category"]],
        }
        for row in rows(series.get("spacing"))
    ]
    samples += [
        {"t": row["t"], "seconds": max(row["seconds"], SHORTEST), "word": RESPONSE}
        for row in rows(series.get("response"))
    ]
    marks = _marks(base_seconds, limit_seconds)
    occurring = {row["word"] for row in (*samples, *marks)}
    colour = coloured_by_word({word: role for word, role in _ROLES.items() if word in occurring})
    vertical = logarithmic_axis("seconds", title="the sender was silent for")
    dots = {"type": "point", "filled": True, "size": 10, "opacity": 0.7}
    tips = [
        *tooltip(("t", "time (s)", ".6f"), ("seconds", "silent for (s)", ".6f")),
        {"field": "word", "title": "what"},
    ]
    dashed = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.3}
    return frame(
        description=(
            "Silences of the sender over time: packet spacing by category and responses to an "
            "open window"
        ),
        datasets={"samples": samples, "marks": marks},
        layers=[
            layer("samples", dots, x=time_axis(), y=vertical, color=colour, tooltip=tips),
            layer("marks", dashed, y=vertical, color=colour),
        ],
        params={"duration": extent(series)},
        height=height,
    )


def distributions(
    series: Row,
    *,
    beside: tuple[str, Row] | None = None,
    height: int = 240,
) -> Spec:
    """Cumulative distributions of spacing, response and RTT on one logarithmic time axis.

    ``beside`` adds, dashed, the responses of another transfer with its name: an undisturbed control
    makes a disturbed sender plain.
    """
    curves = [
        (SPACING, series.get("spacing_cdf"), "data"),
        (RESPONSE, series.get("response_cdf"), "silence"),
        (ROUND_TRIP, series.get("rtt_cdf"), "reference"),
    ]
    words = {word: role for word, columns, role in curves if columns and columns["seconds"]}
    datasets = {
        "curves": [
            {"seconds": max(row["seconds"], SHORTEST), "share": row["share"], "word": word}
            for word, columns, _ in curves
            for row in rows(columns)
        ]
    }
    if beside:
        other = BESIDE + beside[0]
        words[other] = "allowed"
        datasets["beside"] = [
            {"seconds": max(row["seconds"], SHORTEST), "share": row["share"]}
            for row in rows(beside[1].get("response_cdf"))
        ]
    colour = coloured_by_word(words)
    horizontal = logarithmic_axis("seconds", title="time")
    vertical = quantity_axis(
        "share", title="share of all samples", label=SHARE_LABEL, scale={"domain": [0, 1]}
    )
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8}
    tips = [
        *tooltip(("seconds", "at most (s)", ".6f"), ("share", "share", ".1%")),
        {"field": "word", "title": "what"},
    ]
    layers = [layer("curves", line, x=horizontal, y=vertical, color=colour, tooltip=tips)]
    if beside:
        layers.append(
            layer(
                "beside",
                {**line, "strokeDash": [6, 3]},
                x=horizontal,
                y=vertical,
                word=other,
                color=colour,
            )
        )
    return frame(
        description=(
            "Cumulative distributions of packet spacing, of silences after the window opened and "
            "of round-trip times"
        ),
        datasets=datasets,
        layers=layers,
        params={},
        height=height,
    )
