"""On which time scales traffic varies, as charts.

Energies, the logscale diagram, the rate over time, the gaps between packets.

Every chart takes one stream or several; time scales are in seconds on the axis, so that captures
binned differently can be compared.
"""

from __future__ import annotations

import math

from trustbed.report import words
from trustbed.report.burst.chart_axes import (
    SHORTEST,
    Stream,
    Streams,
    decades_axis,
    in_colours,
    listed,
    longest,
    names,
    scale_axis,
    since_first,
    since_first_axis,
    thinned,
)
from trustbed.report.charts.drawing import (
    RATE_LABEL,
    SHARE_LABEL,
    coloured_by_word,
    frame,
    layer,
    quantity_axis,
    tooltip,
)
from trustbed.report.records import Json, Rows, Spec

INTERVAL, FITTED = "energy with its 95 % interval", "fitted line"
RATE, MEAN = "rate", "mean rate"
_PEAK_ROLES = ("retransmission", "silence", "window", "allowed")
_SHAPES = ("triangle-up", "diamond", "square", "circle")
_NORMAL_975 = 1.959964


def _energy_axis(field: str) -> Spec:
    axis = quantity_axis(field, title="energy (log2)", label="format(datum.value, '~r')")
    return {**axis, "scale": {"zero": False}}


def _alone(called: list[str]) -> Json:
    """The colour of a single line, which needs no legend."""
    return {"color": {**coloured_by_word(dict.fromkeys(called, "data")), "legend": None}}


def energy(streams: Streams, *, height: int = 240) -> Spec:
    """How much traffic varies from block to block, for blocks of every length (Haar)."""
    shown = listed(streams)
    called = names(shown)
    rows = [
        {
            "seconds": point["scale_seconds"],
            "energy": point["energy"],
            "count": point["count"],
            "word": word,
        }
        for stream, word in zip(shown, called, strict=True)
        for point in (stream.get("energy") or {}).get("octaves", ())
        if point["energy"] is not None
    ]
    several = in_colours(called) if len(shown) > 1 else _alone(called)
    tips = tooltip(
        ("seconds", "time scale (s)", ".6f"),
        ("energy", "energy (log2)", ".2f"),
        ("count", "blocks compared", ",d"),
    )
    tips = [{"field": "word", "title": "capture"}, *tips]
    line = {"type": "line", "strokeWidth": 1.8, "point": {"size": 24}}
    return frame(
        description="Energy against time scale",
        datasets={"energies": rows},
        layers=[
            layer(
                "energies",
                line,
                x=scale_axis(title="time scale"),
                y=_energy_axis("energy"),
                tooltip=tips,
                **several,
            )
        ],
        params={},
        height=height,
    )


def _fitted(stream: Stream) -> Rows:
    """Both ends of the fitted line.

    It has the slope alpha and passes through the weighted centre of the octaves it was fitted
    to.
    """
    part = stream.get("logscale") or {}
    fit = part.get("fit")
    if not fit or fit.get("alpha") is None:
        return []
    used = [
        point
        for point in part["octaves"]
        if fit["first"] <= point["octave"] <= fit["last"]
        and point["y"] is not None
        and point["high"] > point["low"]
    ]
    if not used:
        return []
    weights = [(2 * _NORMAL_975 / (point["high"] - point["low"])) ** 2 for point in used]
    middle = sum(
        weight * point["octave"] for weight, point in zip(weights, used, strict=True)
    ) / sum(weights)
    level = sum(weight * point["y"] for weight, point in zip(weights, used, strict=True)) / sum(
        weights
    )
    return [
        {
            "seconds": point["scale_seconds"],
            "energy": level + fit["alpha"] * (point["octave"] - middle),
        }
        for point in (used[0], used[-1])
    ]


def logscale(streams: Streams, *, height: int = 240) -> Spec:
    """The logscale diagram.

    Energies without their bias, 95 % intervals, and the line whose slope gives the Hurst
    parameter.
    """
    shown = listed(streams)
    called = names(shown) if len(shown) > 1 else [INTERVAL] * len(shown)
    points = [
        {
            "seconds": point["scale_seconds"],
            "energy": point["y"],
            "low": point["low"],
            "high": point["high"],
            "word": word,
        }
        for stream, word in zip(shown, called, strict=True)
        for point in (stream.get("logscale") or {}).get("octaves", ())
        if point["y"] is not None
    ]
    several = len(shown) > 1
    lines = [
        {**end, "word": word if several else FITTED}
        for stream, word in zip(shown, called, strict=True)
        for end in _fitted(stream)
    ]
    roles = {INTERVAL: "data"} | ({FITTED: "silence"} if lines else {})
    colour: Json = (
        {"color": in_colours(called)["color"]} if several else {"color": coloured_by_word(roles)}
    )
    horizontal, vertical = scale_axis(title="time scale"), _energy_axis("energy")
    tips = tooltip(
        ("seconds", "time scale (s)", ".6f"),
        ("energy", "energy (log2)", ".2f"),
        ("low", "from", ".2f"),
        ("high", "to", ".2f"),
    )
    low = {**vertical, "field": "low"}
    return frame(
        description="Logscale diagram: energy against time scale, 95 % intervals, the fitted line",
        datasets={"points": points, "lines": lines},
        layers=[
            layer(
                "points",
                {"type": "rule", "strokeWidth": 1.3, "opacity": 0.7},
                x=horizontal,
                y=low,
                y2={"field": "high"},
                **colour,
            ),
            layer(
                "points",
                {"type": "point", "filled": True, "size": 28, "opacity": 1},
                x=horizontal,
                y=vertical,
                tooltip=tips,
                **colour,
            ),
            layer(
                "lines",
                {"type": "line", "strokeWidth": 1.8, "strokeDash": [6, 3]},
                x=horizontal,
                y=vertical,
                **colour,
            ),
        ],
        params={},
        height=height,
    )


def peak_word(width_seconds: float) -> str:
    """What the chart calls a peak."""
    return f"fastest {words.duration(width_seconds).replace('.00', '').replace('.0', '')}"


def _peaks(stream: Stream) -> Rows:
    """The peaks that the picture can hold.

    One narrower than its bins would press everything else flat.
    """
    part = stream.get("rates") or {}
    found = [
        peak
        for peak in part.get("peaks") or ()
        if peak["width_seconds"] >= part["bin_seconds"] * 0.999
    ]
    starts = [max(0.0, since_first(stream, peak["start_seconds"])) for peak in found]
    return [
        {"t": start, "bits": peak["bits_per_second"], "word": peak_word(peak["width_seconds"])}
        for start, peak in zip(starts, found, strict=True)
    ]


def _points(stream: Stream) -> Rows:
    rows = [{"t": t, "bits": bits} for t, bits in (stream.get("rates") or {}).get("points") or ()]
    return thinned(rows, ("bits",))


def rate(streams: Streams, *, height: int = 240) -> Spec:
    """The rate over time in bins, with the fastest moments and the mean."""
    shown = listed(streams)
    horizontal = since_first_axis()
    vertical = quantity_axis("bits", title="rate", label=RATE_LABEL)
    params = {"duration": longest(shown)}
    if len(shown) > 1:
        called = names(shown)
        rows = [
            {**row, "word": word}
            for stream, word in zip(shown, called, strict=True)
            for row in _points(stream)
        ]
        line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.2, "opacity": 0.8}
        lines = layer("rates", line, x=horizontal, y=vertical, **in_colours(called))
        return frame(
            description="Rate over time",
            datasets={"rates": rows},
            layers=[lines],
            params=params,
            height=height,
        )
    peaks = [peak for stream in shown for peak in _peaks(stream)]
    called = list(dict.fromkeys(peak["word"] for peak in peaks))
    mean = shown[0].get("mean_rate_bits_per_second") if shown else None
    means = [{"bits": mean}] if mean else []
    roles = (
        {RATE: "data"}
        | ({MEAN: "reference"} if means else {})
        | dict(zip(called, _PEAK_ROLES, strict=False))
    )
    legend = {"title": None, "orient": "top", "symbolStrokeWidth": 3}
    colour = {**coloured_by_word(roles), "legend": legend}
    shapes = ["stroke"] * (len(roles) - len(called)) + list(_SHAPES[: len(called)])
    shape = {
        "field": "word",
        "type": "nominal",
        "scale": {"domain": list(roles), "range": shapes},
        "legend": legend,
    }
    tips = tooltip(("t", "time (s)", ".6f"), ("bits", "rate (bit/s)", ".3s"))
    area = {
        "type": "area",
        "interpolate": "step-after",
        "opacity": 0.3,
        "line": {"strokeWidth": 1, "opacity": 1},
    }
    dots = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    return frame(
        description="Rate over time, with the fastest moments",
        datasets={
            "rates": [row for stream in shown for row in _points(stream)],
            "mean": means,
            "peaks": peaks,
        },
        layers=[
            layer(
                "rates",
                area,
                x=horizontal,
                y={**vertical, "stack": None},
                word=RATE,
                color=colour,
                tooltip=tips,
            ),
            layer(
                "mean",
                {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.4},
                y=vertical,
                word=MEAN,
                color=colour,
            ),
            layer(
                "peaks",
                dots,
                x=horizontal,
                y=vertical,
                color=colour,
                shape=shape,
                tooltip=[{"field": "word", "title": "what"}, *tips],
            ),
        ],
        params=params,
        height=height,
    )


def _gaps(stream: Stream) -> Rows:
    """Steps of the distribution.

    Gaps of 0 are drawn at a microsecond, or at a nanosecond where the capture's clock is finer.
    """
    steps = (stream.get("gaps") or {}).get("cumulative") or ()
    finest = min((seconds for seconds, _ in steps if seconds > 0), default=SHORTEST)
    floor = SHORTEST if finest >= SHORTEST else 10.0 ** math.floor(math.log10(finest))
    return [{"seconds": max(seconds, floor), "share": share} for seconds, share in steps]


def gaps(streams: Streams, *, height: int = 240) -> Spec:
    """The distribution of the time from one packet to the next."""
    shown = listed(streams)
    called = names(shown)
    rows = [
        {**row, "word": word}
        for stream, word in zip(shown, called, strict=True)
        for row in _gaps(stream)
    ]
    several = in_colours(called) if len(shown) > 1 else _alone(called)
    vertical = quantity_axis(
        "share", title="share of all gaps", label=SHARE_LABEL, scale={"domain": [0, 1]}
    )
    tips = [
        {"field": "word", "title": "capture"},
        *tooltip(("seconds", "at most (s)", ".9f"), ("share", "share", ".1%")),
    ]
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8}
    return frame(
        description="Distribution of the time from one packet to the next",
        datasets={"gaps": rows},
        layers=[
            layer(
                "gaps",
                line,
                x=decades_axis(title="time to the next packet"),
                y=vertical,
                tooltip=tips,
                **several,
            )
        ],
        params={},
        height=height,
    )
