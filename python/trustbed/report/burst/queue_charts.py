"""The queue that traffic builds in front of a slower link, as charts.

Window by window, against rate, against buffer.

Every chart takes one stream or several (see :mod:`trustbed.report.burst.chart_axes`); of several,
each is one line, and what would make too many lines is left out. The traffic is drawn as it was
measured: open loop.
"""

from __future__ import annotations

from collections.abc import Callable

from trustbed.report import words
from trustbed.report.burst.chart_axes import (
    SHORTEST,
    Stream,
    Streams,
    bytes_axis,
    decades_axis,
    in_colours,
    listed,
    longest,
    names,
    rate_axis,
    since_first,
    since_first_axis,
    thinned,
)
from trustbed.report.charts.drawing import (
    BYTES_LABEL,
    RATE_LABEL,
    SHARE_LABEL,
    coloured_by_word,
    frame,
    layer,
    quantity_axis,
    tooltip,
)
from trustbed.report.records import Json, Rows, Spec

QUEUE, AVERAGE = "burstiness (left)", "average rate (right)"
NEEDED = "buffer needed"
MARKS = {
    "mean": "mean rate",
    "twice the mean": "twice the mean",
    "given": "rate given",
    "fastest millisecond": "fastest millisecond",
    "link": "link",
}
"""The rates that have a meaning, with their words."""
LONGEST_WAIT, MOST_WAIT, HALF_WAIT, MEAN_WAIT = (
    "longest wait",
    "99 % wait at most",
    "half wait at most",
    "mean wait",
)

LINES = 5
"""Loss is drawn for so many rates."""

_MARK_ROLES = {
    "mean rate": "reference",
    "twice the mean": "allowed",
    "rate given": "window",
    "fastest millisecond": "silence",
    "link": "timeout",
}
_DASHED = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.4}


def _windows(stream: Stream) -> Rows:
    """Steps from the start of each window, the last one held to its end.

    The window that the capture's end cuts is left out: its average is too low, and the queue at
    that rate too long.
    """
    length, every = stream["window_seconds"], stream.get("windows") or []
    held = [row for row in every if not row.get("partial")] or every
    rows = [
        {
            "t": max(0.0, since_first(stream, row["start_seconds"])),
            "bytes": row["max_q_bytes"],
            "bits": row["abw_bits_per_second"],
        }
        for row in held
    ]
    if not rows:
        return []
    end = since_first(stream, held[-1]["start_seconds"]) + length * held[-1].get("windows", 1)
    return [*thinned(rows, ("bytes", "bits")), {**rows[-1], "t": end}]


def burstiness(streams: Streams, *, height: int = 280) -> Spec:
    """The deepest queue of each window over time, and the window's average rate beneath it."""
    shown = listed(streams)
    vertical = quantity_axis("bytes", title="burstiness", label=BYTES_LABEL)
    horizontal = since_first_axis()
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}
    if len(shown) > 1:
        return _of_several(
            "Burstiness window by window",
            shown,
            _windows,
            line,
            horizontal,
            vertical,
            height=height,
            params={"duration": longest(shown)},
        )
    right = quantity_axis("bits", title="average rate", label=RATE_LABEL)
    right = {**right, "stack": None, "axis": {**right["axis"], "orient": "right", "grid": False}}
    area = {"type": "area", "interpolate": "step-after", "opacity": 0.22}
    colour = coloured_by_word({QUEUE: "data", AVERAGE: "reference"})
    tips = tooltip(
        ("t", "window from (s)", ".3f"),
        ("bytes", "burstiness (bytes)", ",.0f"),
        ("bits", "average rate (bit/s)", ".3s"),
    )
    spec = frame(
        description="Burstiness and average rate, window by window",
        datasets={"windows": _windows(shown[0]) if shown else []},
        layers=[
            layer("windows", area, x=horizontal, y=right, word=AVERAGE, color=colour),
            layer(
                "windows", line, x=horizontal, y=vertical, word=QUEUE, color=colour, tooltip=tips
            ),
        ],
        params={"duration": longest(shown)},
        height=height,
    )
    return {**spec, "resolve": {"scale": {"y": "independent"}}}


def _of_several(
    description: str,
    shown: list[Stream],
    rows_of: Callable[[Stream], Rows],
    mark: Spec,
    x: Spec,
    y: Spec,
    *,
    height: int,
    params: Json,
) -> Spec:
    """One line per stream, distinguished by colour and dash."""
    called = names(shown)
    rows = [
        {**row, "word": word}
        for stream, word in zip(shown, called, strict=True)
        for row in rows_of(stream)
    ]
    tips = [
        {"field": "word", "title": "capture"},
        {**x, "type": "quantitative"},
        {**y, "type": "quantitative"},
    ]
    tips = [{name: tip[name] for name in ("field", "title", "type") if name in tip} for tip in tips]
    lines = layer("lines", mark, x=x, y=y, tooltip=tips, **in_colours(called))
    return frame(
        description=description,
        datasets={"lines": rows},
        layers=[lines],
        params=params,
        height=height,
    )


def _depths(stream: Stream) -> Rows:
    points = sorted(stream.get("sigma") or (), key=lambda point: point["rate_bits_per_second"])
    return [
        {"rate": point["rate_bits_per_second"], "bytes": point["sigma_bytes"]}
        for point in points
        if point["rate_bits_per_second"] and point["sigma_bytes"]
    ]


def sigma(streams: Streams, *, height: int = 240) -> Spec:
    """The buffer that loses nothing, for links of every rate.

    Lines mark those that have a meaning.
    """
    shown = listed(streams)
    horizontal, vertical = (
        rate_axis(title="rate of the link"),
        bytes_axis("bytes", title="buffer needed"),
    )
    line = {"type": "line", "strokeWidth": 1.8}
    if len(shown) > 1:
        return _of_several(
            "Buffer needed against rate",
            shown,
            _depths,
            line,
            horizontal,
            vertical,
            height=height,
            params={},
        )
    points = (shown[0].get("sigma") or ()) if shown else ()
    marks = [
        {"rate": point["rate_bits_per_second"], "word": MARKS[point["role"]]}
        for point in points
        if point.get("role") in MARKS and point["rate_bits_per_second"]
    ]
    marked = {mark["word"] for mark in marks}
    colour = coloured_by_word(
        {NEEDED: "data"} | {word: role for word, role in _MARK_ROLES.items() if word in marked}
    )
    tips = tooltip(("rate", "rate (bit/s)", ".3s"), ("bytes", "buffer (bytes)", ",.0f"))
    return frame(
        description="Buffer needed against the rate of the link, with marks at the mean and others",
        datasets={"depths": _depths(shown[0]) if shown else [], "marks": marks},
        layers=[
            layer("marks", _DASHED, x=horizontal, color=colour),
            layer(
                "depths",
                {**line, "point": {"size": 12}},
                x=horizontal,
                y=vertical,
                word=NEEDED,
                color=colour,
                tooltip=tips,
            ),
        ],
        params={},
        height=height,
    )


def rate_word(stream: Stream, rate: float) -> str:
    """A rate and how it compares with the stream's mean."""
    mean = stream.get("mean_rate_bits_per_second")
    times = f", {rate / mean:.2g} × mean" if mean else ""
    return words.rate(rate / 8) + times


def _rates(stream: Stream) -> list[float]:
    """The rates that loss is drawn for: those of the sweep, a few of them when there are many."""
    every: list[float] = sorted({row["rate_bits_per_second"] for row in stream.get("queue") or ()})
    if len(every) <= LINES:
        return every
    return [every[round(index * (len(every) - 1) / (LINES - 1))] for index in range(LINES)]


def _losses(stream: Stream, rate: float) -> Rows:
    """Loss against buffer up to the first buffer that loses nothing."""
    rows = [
        row
        for row in stream.get("queue") or ()
        if row["rate_bits_per_second"] == rate and row.get("buffer_bytes")
    ]
    rows.sort(key=lambda row: row["buffer_bytes"])
    enough = next((index for index, row in enumerate(rows) if row["lost_packets"] == 0), len(rows))
    return [
        {"bytes": row["buffer_bytes"], "loss": row["loss_rate"]}
        for row in rows[: enough + 1]
        if row["loss_rate"] is not None
    ]


def loss(streams: Streams, *, height: int = 240) -> Spec:
    """The share of packets that a drop-tail queue would have lost, against its buffer.

    One line per rate of the link; of several streams one line each, at about twice the stream's
    mean rate.
    """
    shown = listed(streams)
    if len(shown) > 1:
        chosen = [
            (name, stream, rate_near(stream, 2.0))
            for name, stream in zip(names(shown), shown, strict=True)
        ]
        lines = [(name, stream, rate) for name, stream, rate in chosen if rate]
    else:
        lines = [
            (rate_word(stream, rate), stream, rate) for stream in shown for rate in _rates(stream)
        ]
    rows = [{**row, "word": word} for word, stream, rate in lines for row in _losses(stream, rate)]
    vertical = quantity_axis("loss", title="packets lost", label=SHARE_LABEL)
    vertical["scale"] = {
        "type": "symlog",
        "constant": 0.001,
        "domainMin": 0,
        "domainMax": {"expr": "most"},
        "nice": False,
    }
    vertical["axis"] = {**vertical["axis"], "values": [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]}
    tips = [
        {"field": "word", "title": "link"},
        *tooltip(("bytes", "buffer (bytes)", ",.0f"), ("loss", "lost", ".3%")),
    ]
    line = {"type": "line", "strokeWidth": 1.8, "point": {"size": 14}}
    horizontal = bytes_axis("bytes", title="buffer")
    return frame(
        description="Share of packets lost against the buffer, one line per rate of the link",
        datasets={"losses": rows},
        layers=[
            layer(
                "losses",
                line,
                x=horizontal,
                y=vertical,
                tooltip=tips,
                **in_colours([word for word, _, _ in lines]),
            )
        ],
        params={"most": max(max((row["loss"] for row in rows), default=0.0) * 1.1, 0.002)},
        height=height,
    )


def rate_near(stream: Stream, times: float) -> float | None:
    """The rate of the sweep that comes nearest to so many times the mean."""
    rates = {row["rate_bits_per_second"] for row in stream.get("queue") or ()}
    mean = stream.get("mean_rate_bits_per_second")
    return min(rates, key=lambda rate: abs(rate - times * (mean or rate)), default=None)


def _delays(stream: Stream, words_of: dict[str, str]) -> Rows:
    rows = sorted(stream.get("delay") or (), key=lambda row: row["rate_bits_per_second"])
    if len(rows) < 2:
        return []  # one point is no line
    return [
        {"rate": row["rate_bits_per_second"], "seconds": max(row[column], SHORTEST), "word": word}
        for column, word in words_of.items()
        for row in rows
        if row.get(column) is not None
    ]


def delay(streams: Streams, *, height: int = 240) -> Spec:
    """The waiting times of packets in front of links of every rate.

    Of several streams only what 99 % of the packets wait.
    """
    shown = listed(streams)
    horizontal, vertical = (
        rate_axis(title="rate of the link", close=True),
        decades_axis(title="time in the queue"),
    )
    line = {"type": "line", "strokeWidth": 1.8}
    if len(shown) > 1:
        return _of_several(
            "What 99 % of the packets wait at most, against rate",
            shown,
            lambda stream: _delays(stream, {"wait_p99_seconds": ""}),
            line,
            horizontal,
            vertical,
            height=height,
            params={},
        )
    medians = any(
        row.get("wait_p50_seconds") is not None
        for stream in shown
        for row in stream.get("delay") or ()
    )
    middle = {"wait_p50_seconds": HALF_WAIT} if medians else {"wait_mean_seconds": MEAN_WAIT}
    columns = {"wait_max_seconds": LONGEST_WAIT, "wait_p99_seconds": MOST_WAIT, **middle}
    rows = [row for stream in shown for row in _delays(stream, columns)]
    mean = shown[0].get("mean_rate_bits_per_second") if shown else None
    marks = [{"rate": mean, "word": MARKS["mean"]}] if mean and rows else []
    roles = dict(zip(columns.values(), ("retransmission", "silence", "data"), strict=True))
    colour = coloured_by_word(roles | ({MARKS["mean"]: "reference"} if marks else {}))
    tips = [
        {"field": "word", "title": "what"},
        *tooltip(("rate", "rate (bit/s)", ".3s"), ("seconds", "wait (s)", ".6f")),
    ]
    return frame(
        description="Time in the queue against the link's rate: longest, 99 %, half of the packets",
        datasets={"delays": rows, "marks": marks},
        layers=[
            layer("marks", _DASHED, x=horizontal, color=colour),
            layer(
                "delays",
                {**line, "point": {"size": 12}},
                x=horizontal,
                y=vertical,
                color=colour,
                tooltip=tips,
            ),
        ],
        params={},
        height=height,
    )
