"""The chart of a cause over time: its share by day, and the changes that were found."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from trustbed.report.charts.drawing import (
    SHARE_LABEL,
    coloured_by_word,
    frame,
    layer,
    quantity_axis,
    tooltip,
)
from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Rows, Spec

if TYPE_CHECKING:
    from trustbed.store.questions.causes import CauseHistory, CausesAnswer

_MS = 1_000_000
DAY, LEVEL, CHANGE = "a day", "share between changes", "interval of a change"


def share(answer: CausesAnswer, history: CauseHistory) -> Spec:
    """The share of a cause by day, its level between changes, and when these were."""
    first, last = answer.first_ns or 0, max(answer.last_ns or 0, (answer.first_ns or 0) + _MS)
    days: Rows = [
        {
            "t": _noon(one.date),
            "share": one.with_cause / one.transfers,
            "transfers": one.transfers,
            "word": DAY,
        }
        for one in history.days
        if one.transfers and one.date[0].isdigit()
    ]
    bounds = [first, *(one.at_ns for one in history.changes), last]
    levels = [history.share]
    if history.changes:
        levels = [history.changes[0].before, *(one.after for one in history.changes)]
    steps: Rows = [
        {"t": begin // _MS, "end": end // _MS, "share": level, "word": LEVEL}
        for begin, end, level in zip(bounds, bounds[1:], levels, strict=False)
    ]
    spans: Rows = [
        {"t": one.at_low_ns // _MS, "end": max(one.at_high_ns, one.at_low_ns) // _MS, "share": 0.0}
        for one in history.changes
    ]
    moments: Rows = [{"t": one.at_ns // _MS, "word": CHANGE} for one in history.changes]
    begin = min(first // _MS, *(row["t"] for row in days)) if days else first // _MS
    end = max(last // _MS, *(row["t"] for row in days)) if days else last // _MS
    vertical = quantity_axis("share", title="of judged transfers", label=SHARE_LABEL)
    colour = coloured_by_word({DAY: "data", LEVEL: "reference", CHANGE: "retransmission"})
    red = {"value": LIGHT["retransmission"]}
    tips = [
        {"field": "t", "title": "day", "type": "temporal", "timeUnit": "utcyearmonthdate"},
        *tooltip(("share", "share", ".1%"), ("transfers", "of judged transfers", ",d")),
    ]
    band = {"type": "rule", "strokeWidth": 7, "opacity": 0.75}
    return frame(
        description=f"Share of {history.cause} over time",
        datasets={"days": days, "steps": steps, "spans": spans, "moments": moments},
        layers=[
            layer("moments", {"type": "rule", "strokeDash": [4, 3]}, x=_time(), color=colour),
            layer("spans", band, x=_time(), x2={"field": "end"}, y=vertical, color=red),
            layer(
                "days",
                {"type": "point", "filled": True, "size": 26, "opacity": 0.8},
                x=_time(),
                y=vertical,
                color=colour,
                tooltip=tips,
            ),
            layer(
                "steps",
                {"type": "rule", "strokeWidth": 2.2},
                x=_time(),
                x2={"field": "end"},
                y=vertical,
                color=colour,
            ),
        ],
        params={"first": begin, "last": max(end, begin + 1)},
        height=170,
    )


def _time() -> Spec:
    return {
        "field": "t",
        "type": "temporal",
        "title": "UTC",
        "scale": {
            "type": "utc",
            "domainMin": {"expr": "first"},
            "domainMax": {"expr": "last"},
            "nice": False,
        },
        "axis": {"labelOverlap": "greedy", "labelFlush": 8, "tickCount": {"expr": "width / 90"}},
    }


def _noon(date: str) -> int:
    """A day in milliseconds since the epoch."""
    day = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.UTC, hour=12)
    return int(day.timestamp() * 1000)
