"""The charts of a campaign: what its rounds gave over time, and what its hosts and the path were like meanwhile, on the same time axis.

Takes points as :mod:`trustbed.campaign.timeline` makes them. Nothing here measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trustbed.report.charts.drawing import (
    RATE_LABEL,
    SHARE_LABEL,
    Spec,
    coloured_by_word,
    frame,
    layer,
    logarithmic_axis,
    quantity_axis,
    tooltip,
)

Point = Mapping[str, Any]

USES = {"trust": ("data, to be trusted", "allowed", "circle"), "review": ("data, to be looked at", "silence", "diamond")}
USES |= {"discard": ("data, measured a host", "retransmission", "cross"), "": ("data, not judged", "acknowledgement", "square")}
"""Of each use the word, the role of its colour, and the shape."""
PROBE, ABSENT = "probes", "no round, or it failed"
_EVIDENCE = {
    "sender_throttled": ("sender throttled", "retransmission"),
    "sender_stolen": ("sender's time stolen", "timeout"),
    "receiver_throttled": ("receiver throttled", "silence"),
    "receiver_stolen": ("receiver's time stolen", "window"),
}
_WAITING = {
    "ping": ("round trip before", "data", "circle"),
    "sender_late": ("sender woke up late by", "retransmission", "triangle-up"),
    "receiver_late": ("receiver woke up late by", "silence", "triangle-down"),
}
_LEGEND = {"title": None, "orient": "top"}
_EXTENT = {"minExtent": 62, "maxExtent": 62}
"""The labels of axes that stand above each other take the same room, so that their times do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time axis that all charts of a campaign share: its length in ``unit``, and how many seconds one is."""

    unit: str
    seconds: float
    length: float

    @classmethod
    def of(cls, lasts: float) -> Span:
        """For so many seconds."""
        unit, seconds = next(
            ((name, each) for name, each in (("days", 86400.0), ("hours", 3600.0)) if lasts >= 2 * each), ("minutes", 60.0)
        )
        return cls(unit=unit, seconds=seconds, length=max(lasts / seconds, 0.1))

    def axis(self) -> Spec:
        """From the campaign's beginning on."""
        return {
            "field": "t",
            "type": "quantitative",
            "title": f"{self.unit} since the campaign began",
            "scale": {"domainMin": 0, "domainMax": self.length, "nice": False},
            "axis": {"grid": False, "labelOverlap": True, "tickCount": {"expr": "width / 90"}},
        }


def throughput(points: Sequence[Point], absent: Sequence[float], span: Span) -> Spec:
    """What each round's data and probes had per connection, by what may be done with it; ``absent`` are moments without a round."""
    rows = [_data(point, span) for point in points if point["data"] is not None]
    seen = [word for word, _, _ in USES.values() if any(row["word"] == word for row in rows)]
    probes = [{"t": point["at"] / span.seconds, "rate": 8 * point["probe"]} for point in points if point["probe"] is not None]
    roles = {word: role for word, role, _ in USES.values() if word in seen} | ({PROBE: "window"} if probes else {})
    roles |= {ABSENT: "timeout"} if absent else {}
    colour = {**coloured_by_word(roles), "legend": _LEGEND}
    marks = {word: shape for word, _, shape in USES.values()} | {PROBE: "circle", ABSENT: "stroke"}
    shape = _shape({word: marks[word] for word in roles})
    vertical = _aligned(quantity_axis("rate", title="per connection", label=RATE_LABEL))
    tips = [{"field": "word", "title": "what"}, *tooltip(("t", span.unit, ".3f"), ("rate", "bit/s", ".3s"), ("rounds", "rounds", "d"))]
    dot = {"type": "point", "filled": True, "size": 34, "opacity": 0.9}
    return frame(
        description="Throughput of the rounds over time",
        datasets={"probes": probes, "rounds": rows, "absent": [{"t": at / span.seconds} for at in absent]},
        layers=[
            layer(
                "absent",
                {"type": "tick", "thickness": 1, "size": 9, "yOffset": -4},
                x=span.axis(),
                y={"value": "height"},
                word=ABSENT,
                color=colour,
            ),
            layer(
                "probes",
                {"type": "point", "filled": False, "size": 16, "opacity": 0.8},
                x=span.axis(),
                y=vertical,
                word=PROBE,
                color=colour,
            ),
            layer("rounds", dot, x=span.axis(), y=vertical, color=colour, shape=shape, tooltip=tips),
        ],
        params={},
        height=230,
    )


def _data(point: Point, span: Span) -> dict[str, Any]:
    word, _, _ = USES.get(point["use"] or "", USES[""])
    return {"t": point["at"] / span.seconds, "rate": 8 * point["data"], "word": word, "rounds": point["rounds"]}


def withheld(points: Sequence[Point], span: Span) -> Spec | None:
    """Shares of the hosts' time that they did not have; nothing where none was missing."""
    shown = {name: told for name, told in _EVIDENCE.items() if any((point[name] or 0) >= 0.001 for point in points)}
    rows = [
        {"t": point["at"] / span.seconds, "share": point[name], "word": word}
        for name, (word, _) in shown.items()
        for point in points
        if point[name] is not None
    ]
    if not rows:
        return None
    vertical = _aligned({**quantity_axis("share", title="of the host's time", label=SHARE_LABEL, ticks=4)})
    tips = [{"field": "word", "title": "what"}, *tooltip(("t", span.unit, ".3f"), ("share", "share", ".2%"))]
    return frame(
        description="What the hosts were withheld",
        datasets={"rows": rows},
        layers=[
            layer(
                "rows",
                {"type": "line", "strokeWidth": 1.3, "point": {"size": 16}},
                x=span.axis(),
                y=vertical,
                color=coloured_by_word({word: role for word, role in shown.values()}),
                tooltip=tips,
            )
        ],
        params={},
        height=120,
    )


def waits(points: Sequence[Point], span: Span) -> Spec | None:
    """Round trips before the rounds, and how late sleeping threads of both hosts woke up during them."""
    shown = {name: told for name, told in _WAITING.items() if any(point[name] for point in points)}
    rows = [
        {"t": point["at"] / span.seconds, "seconds": point[name], "word": word}
        for name, (word, _, _) in shown.items()
        for point in points
        if point[name]
    ]
    if not rows:
        return None
    vertical = _aligned(logarithmic_axis("seconds", title="time"))
    tips = [{"field": "word", "title": "what"}, *tooltip(("t", span.unit, ".3f"), ("seconds", "seconds", ".3s"))]
    return frame(
        description="Round trips, and late awakenings",
        datasets={"rows": rows},
        layers=[
            layer(
                "rows",
                {"type": "point", "filled": True, "size": 22, "opacity": 0.9},
                x=span.axis(),
                y=vertical,
                color={**coloured_by_word({word: role for word, role, _ in shown.values()}), "legend": _LEGEND},
                shape=_shape({word: mark for word, _, mark in shown.values()}),
                tooltip=tips,
            )
        ],
        params={},
        height=130,
    )


def _shape(marks: Mapping[str, str]) -> Spec:
    return {"field": "word", "type": "nominal", "scale": {"domain": list(marks), "range": list(marks.values())}, "legend": _LEGEND}


def _aligned(axis: Spec) -> Spec:
    return {**axis, "axis": {**axis["axis"], **_EXTENT}}
