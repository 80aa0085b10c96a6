"""The common parts of the burstiness charts.

Which streams they show, their names and colours, their axes.

A stream is one measured stretch of traffic as ``trustbed burst --json`` describes it: all packets
of a capture, or a part of them. Sizes have decimal prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TypeAlias

from trustbed.report.charts.drawing import BYTES_LABEL, SECONDS_LABEL, time_axis
from trustbed.report.charts.palette import LIGHT
from trustbed.report.records import Json, Row, Spec

Stream: TypeAlias = Row
Streams: TypeAlias = Row | Sequence[Row]

POINTS = 2000
"""At most about so many points are drawn of one stream over time."""

SHORTEST = 1e-6
"""Logarithmic time axes start here: what took less, or nothing, is drawn at one microsecond."""

ALL = "all packets"

_ROLES = ("data", "silence", "window", "allowed", "retransmission", "timeout", "reference")
_DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])
_LONGEST_NAME = 26
_CAPTURE_SUFFIX = re.compile(r"(?<=.)\.(?:pcap|pcapng|cap|dmp)(?:\.(?:gz|zst|xz|bz2|lz4))?$")

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

_DAYS_LABEL = (
    f"datum.value >= {2 * _DAY} ? format(datum.value / {_DAY}, '.3~r') + ' d' : datum.value >= "
    f"{2 * _HOUR} ? format(datum.value / {_HOUR}, '.3~r') + ' h' : "
)
_SCALE_LABEL = (
    f"{_DAYS_LABEL}datum.value >= {2 * _MINUTE} ? format(datum.value / {_MINUTE}, '.3~r') + ' "
    "min' : replace(format(datum.value, '.3~s'), regexp('([^0-9.]?)$'), ' $1') + 's'"
)
_RATE_TICKS = [digit * 10.0**power for power in range(-2, 14) for digit in (1, 2, 5)]
_CLOSE_RATE_TICKS = [
    digit * 10.0**power for power in range(-2, 14) for digit in (1, 1.5, 2, 3, 5, 7)
]
_BINARY_TICKS = [2.0**power * 1e-3 for power in range(-20, 21)]
_DECADES = [10.0**power for power in range(-9, 7)]


def listed(streams: Streams) -> list[Stream]:
    """One stream or several, as a list."""
    return [streams] if isinstance(streams, Mapping) else list(streams)


def names(streams: Sequence[Stream]) -> list[str]:
    """The name of each stream in a legend: short; numbered where two are alike."""
    return _numbered([_shortened(_plain_name(stream)) for stream in streams])


def whole_names(streams: Sequence[Stream]) -> list[str]:
    """The name of each stream beside the others.

    Its own name, or its capture's file; numbered where two are alike.
    """
    return _numbered([_plain_name(stream) for stream in streams])


def _numbered(plain: Sequence[str]) -> list[str]:
    return [
        f"{name} ({plain[: index + 1].count(name)})" if plain.count(name) > 1 else name
        for index, name in enumerate(plain)
    ]


def _plain_name(stream: Stream) -> str:
    name = str(stream.get("name") or ALL)
    files = (stream.get("capture") or {}).get("files") or ()
    if name != ALL or not files:
        return name
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return _CAPTURE_SUFFIX.sub("", PurePath(files[0].get("name") or "standard input").name) + more


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    half = _LONGEST_NAME // 2
    return f"{name[:half]}…{name[1 - half :]}"


def since_first(stream: Stream, seconds: float) -> float:
    """A moment of the capture's clock as seconds since the first packet."""
    return float(seconds - (stream.get("first_seconds") or 0.0))


def longest(streams: Sequence[Stream]) -> float:
    """Where the time axis ends."""
    return max((stream.get("duration_seconds") or 0.0 for stream in streams), default=0.0)


def in_colours(words: Sequence[str]) -> Json:
    """Colour and dash of several streams: a legend with both, so that neither is needed alone."""
    legend = {"title": None, "orient": "top", "symbolType": "stroke", "symbolStrokeWidth": 3}
    roles = [LIGHT[_ROLES[index % len(_ROLES)]] for index in range(len(words))]
    dashes = [_DASHES[index % len(_DASHES)] for index in range(len(words))]
    field = {"field": "word", "type": "nominal", "sort": None}
    return {
        "color": {**field, "scale": {"domain": list(words), "range": roles}, "legend": legend},
        "strokeDash": {
            **field,
            "scale": {"domain": list(words), "range": dashes},
            "legend": legend,
        },
    }


def since_first_axis() -> Spec:
    """Time since the first packet up to the parameter ``duration``.

    Captures of hours and of years have their own units.
    """
    axis = time_axis(title="time since the first packet")
    return {**axis, "axis": {**axis["axis"], "labelExpr": _DAYS_LABEL + SECONDS_LABEL}}


def rate_axis(field: str = "rate", *, title: str, close: bool = False) -> Spec:
    """Bits per second on a logarithmic axis.

    ``close`` has more ticks, for rates that lie within a decade.
    """
    ticks = _CLOSE_RATE_TICKS if close else _RATE_TICKS
    return _logarithmic(
        field,
        title,
        "replace(format(datum.value, '~s'), regexp('([^0-9.]?)$'), ' $1') + 'bit/s'",
        ticks,
        base=10,
    )


def bytes_axis(field: str, *, title: str) -> Spec:
    """Bytes on a logarithmic axis."""
    return _logarithmic(field, title, BYTES_LABEL, _RATE_TICKS, base=10)


def scale_axis(field: str = "seconds", *, title: str) -> Spec:
    """Time scales in steps of two."""
    return _logarithmic(field, title, _SCALE_LABEL, _BINARY_TICKS, base=2)


def decades_axis(field: str = "seconds", *, title: str) -> Spec:
    """Seconds on a logarithmic axis from nanoseconds on."""
    return _logarithmic(
        field,
        title,
        f"datum.value < 1 ? {SECONDS_LABEL} : format(datum.value, ',') + ' s'",
        _DECADES,
        base=10,
    )


def _logarithmic(field: str, title: str, label: str, ticks: Sequence[float], *, base: int) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": base, "nice": False, "padding": 6},
        "axis": {
            "labelExpr": label,
            "values": list(ticks),
            "labelOverlap": "greedy",
            "labelSeparation": 8,
            "labelFlush": 8,
            "labelBound": 6,
            "gridOpacity": 0.6,
        },
    }


def thinned(rows: list[Json], by: Sequence[str], most: int = POINTS) -> list[Json]:
    """At most about ``most`` rows.

    Of each slice the largest value of every field of ``by``, and the smallest of the first.
    """
    if len(rows) <= most:
        return rows
    width = max(1, -(-len(rows) * (len(by) + 1) // most))
    drawn: set[int] = {0, len(rows) - 1}
    for start in range(0, len(rows), width):
        indices = range(start, min(start + width, len(rows)))
        drawn.update(max(indices, key=_value_at(rows, field)) for field in by)
        drawn.add(min(indices, key=_value_at(rows, by[0])))
    return [rows[index] for index in sorted(drawn)]


def _value_at(rows: list[Json], field: str) -> Callable[[int], float]:
    return lambda index: rows[index][field] if rows[index][field] is not None else 0.0
