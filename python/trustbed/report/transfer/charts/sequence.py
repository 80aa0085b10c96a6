"""Time–sequence graphs.

Which byte was sent when, which was acknowledged when (after Jacobson's and tcptrace's graphs).

``time_sequence`` shows a whole transfer, ``close_up`` a fraction of a second of it, packet by
packet, with the edge of the receiver's window and the stretches in which the sender could have sent
and did not. Both draw the columns as given: what was thinned before stays thinned.
"""

from __future__ import annotations

from trustbed.diagnose.time_budget import STATES
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
from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Json, Row, Rows, Spec

SENT, RETRANSMITTED, FILLED = "sent", "sent again", "filled a gap"
ACKNOWLEDGED, ALLOWED = "acknowledged", "what window, RTT and loss allow"
WINDOW, SILENCE = "edge of the receiver's window", "window open, sender silent"

FLATTENED = 5
"""A line or edge that lies more than this many times above the data is left out.

It would press the data flat.
"""

_ROLES = {
    SENT: "data",
    ACKNOWLEDGED: "acknowledgement",
    RETRANSMITTED: "retransmission",
    FILLED: "window",
    ALLOWED: "allowed",
    WINDOW: "window",
    SILENCE: "silence",
}
_KINDS = {"retransmission": RETRANSMITTED, "fill": FILLED}
_SENT_TIPS = (("t", "time (s)", ".6f"), ("low", "first byte", ",d"), ("high", "up to byte", ",d"))


def _segments(columns: Row | None) -> tuple[Rows, Rows]:
    """Segments with new data, and the others with the word of their kind."""
    every = rows(columns)
    new = [
        {"t": row["t"], "low": row["low"], "high": row["high"]}
        for row in every
        if row["kind"] == "new"
    ]
    again = [
        {"t": row["t"], "low": row["low"], "word": _KINDS[row["kind"]]}
        for row in every
        if row["kind"] != "new"
    ]
    return new, again


def _colour(again: Rows, *others: str) -> Spec:
    """The words that occur, in the order of the legend."""
    occurring = {SENT, ACKNOWLEDGED, *others, *(row["word"] for row in again)}
    return coloured_by_word({word: role for word, role in _ROLES.items() if word in occurring})


def _packets(colour: Spec, horizontal: Spec, vertical: Spec, *, width: float) -> list[Spec]:
    """Acknowledgements as steps, new data as strokes, everything else as triangles."""
    strokes = {"type": "rule", "strokeWidth": width, "strokeCap": "square"}
    steps = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.3}
    triangles = {"type": "point", "shape": "triangle-up", "filled": True, "size": 55, "opacity": 1}
    low = {**vertical, "field": "low"}
    return [
        layer("acks", steps, x=horizontal, y=vertical, word=ACKNOWLEDGED, color=colour),
        layer(
            "segments",
            strokes,
            x=horizontal,
            y=low,
            y2={"field": "high"},
            word=SENT,
            color=colour,
            tooltip=tooltip(*_SENT_TIPS),
        ),
        layer(
            "again", triangles, x=horizontal, y=low, color=colour, tooltip=tooltip(*_SENT_TIPS[:2])
        ),
    ]


BAND_PIXELS = 18
"""Height of the band of states between the graph and its time axis."""
_GAP_PIXELS = 5


def _band(columns: Row | None, *, height: int, last: float) -> Rows:
    """The phases as rectangles below the graph: states in words, heights in pixels."""
    top = height + _GAP_PIXELS
    return [
        {
            "t": row["t"],
            "end": min(row["end"], last),
            "state": STATES[row["state"]],
            "top": round(top + BAND_PIXELS * row["low"], 2),
            "bottom": round(top + BAND_PIXELS * row["high"], 2),
        }
        for row in rows(columns)
        if row["t"] < last
    ]


def _coloured_by_state(band: Rows) -> Spec:
    """Colour and legend of the states that occur, in one order everywhere."""
    occurring = {row["state"] for row in band}
    states = {word: f"share_{state}" for state, word in STATES.items() if word in occurring}
    return {
        "field": "state",
        "type": "nominal",
        "scale": {"domain": list(states), "range": [LIGHT[role] for role in states.values()]},
        "legend": {"title": None, "orient": "bottom", "symbolType": "square", "offset": 10},
    }


def _states(band: Rows, horizontal: Spec) -> Spec:
    """The layer of the band: positions down the page are pixels, so no axis stretches for it."""
    tips = [
        {"field": "state", "type": "nominal", "title": "state"},
        *tooltip(("t", "from (s)", ".6f"), ("end", "to (s)", ".6f")),
    ]
    drawn = layer(
        "phases",
        {"type": "rect"},
        x=horizontal,
        x2={"field": "end"},
        y={"field": "top", "type": "quantitative", "scale": None, "axis": None},
        y2={"field": "bottom"},
        fill=_coloured_by_state(band),
        tooltip=tips,
    )
    return {**drawn, "mark": {**drawn["mark"], "clip": False}}


def time_sequence(
    series: Row, *, allowed_bytes_per_second: float | None = None, height: int = 240
) -> Spec:
    """Offsets sent and acknowledged over the whole transfer, and below them what its time went to.

    ``allowed_bytes_per_second`` adds the straight line of a transfer that ran as fast as its model
    allows; none is drawn when it is unknown or more than ``FLATTENED`` times as steep as the data.
    """
    new, again = _segments(series.get("segments"))
    duration = series["duration_seconds"]
    reached = max((row["high"] for row in new), default=0)
    line: Rows = []
    if allowed_bytes_per_second and allowed_bytes_per_second * duration <= FLATTENED * reached:
        line = [
            {"t": 0.0, "offset": 0},
            {"t": duration, "offset": round(allowed_bytes_per_second * duration)},
        ]
    colour = _colour(again, *([ALLOWED] if line else []))
    vertical = quantity_axis("offset", title="bytes since the start", label=BYTES_LABEL)
    band = _band(series.get("phases"), height=height, last=extent(series))
    horizontal = time_axis()
    if band:
        room = BAND_PIXELS + 2 * _GAP_PIXELS
        horizontal = {**horizontal, "axis": {**horizontal["axis"], "offset": room}}
    layers = _packets(colour, horizontal, vertical, width=1.6)
    if band:
        layers.append(_states(band, horizontal))
    if line:
        dashed = {"type": "line", "strokeDash": [6, 4], "strokeWidth": 1.6}
        layers.insert(
            0, layer("allowed", dashed, x=horizontal, y=vertical, word=ALLOWED, color=colour)
        )
    return frame(
        description=(
            "Time–sequence graph: bytes sent, acknowledged and sent again over time; below it the "
            "state of each moment"
        ),
        datasets={
            "segments": new,
            "acks": rows(series.get("acks")),
            "again": again,
            "allowed": line,
            "phases": band,
        },
        layers=layers,
        params={"duration": extent(series)},
        height=height,
    )


def _shifted(columns: Row, start: float, base: int, *offsets: str) -> Json:
    """Times counted from ``start``, offsets from ``base``."""
    moved = {**columns, "t": [t - start for t in columns["t"]]}
    return {**moved, **{name: [value - base for value in columns[name]] for name in offsets}}


def _held(steps: Rows, until: float) -> Rows:
    """Steps whose last level lasts to the end of the picture."""
    return [*steps, {**steps[-1], "t": until}] if steps else []


def _silences(part: Row) -> Rows:
    """From the opening of the window to the packet that ended the silence, cut at the edges."""
    start, duration = part["start_seconds"], part["duration_seconds"]
    ended = zip(part["silence"]["t"], part["silence"]["seconds"], strict=True)
    return [
        {"from": max(0.0, t - start - seconds), "to": min(t - start, duration)}
        for t, seconds in ended
    ]


def close_up(part: Row, *, height: int = 280) -> Spec:
    """A short stretch of the transfer (:func:`~trustbed.report.transfer.charts.stretch`).

    Times and offsets count from its start.
    """
    start = part["start_seconds"]
    base = min([*part["segments"]["low"][:1], *part["acks"]["offset"][:1]], default=0)
    new, again = _segments(_shifted(part["segments"], start, base, "low", "high"))
    acks = _held(rows(_shifted(part["acks"], start, base, "offset")), part["duration_seconds"])
    silence = _silences(part)
    reached = max((row["high"] for row in new), default=0)
    edge = _held(rows(_shifted(part["window"], start, base, "offset")), part["duration_seconds"])
    if max((row["offset"] for row in edge), default=0) > FLATTENED * reached:
        edge = []
    horizontal = time_axis(title="time in this stretch")
    colour = _colour(again, *([WINDOW] if edge else []), *([SILENCE] if silence else []))
    vertical = quantity_axis("offset", title="bytes", label=BYTES_LABEL)
    layers = _packets(colour, horizontal, vertical, width=2)
    if edge:
        steps = {
            "type": "line",
            "interpolate": "step-after",
            "strokeWidth": 1.5,
            "strokeDash": [5, 2],
        }
        layers.insert(0, layer("edge", steps, x=horizontal, y=vertical, word=WINDOW, color=colour))
    if silence:
        band = {"type": "rect", "opacity": 0.25}
        tips = tooltip(("from", "from (s)", ".6f"), ("to", "to (s)", ".6f"))
        start_of = {**horizontal, "field": "from"}
        layers.insert(
            0,
            layer(
                "silence",
                band,
                x=start_of,
                x2={"field": "to"},
                word=SILENCE,
                color=colour,
                tooltip=tips,
            ),
        )
    return frame(
        description=(
            "Time–sequence graph of a short stretch: packets, acknowledgements, the window's "
            "edge, the sender's silences"
        ),
        datasets={"segments": new, "acks": acks, "edge": edge, "again": again, "silence": silence},
        layers=layers,
        params={"duration": part["duration_seconds"]},
        height=height,
    )
