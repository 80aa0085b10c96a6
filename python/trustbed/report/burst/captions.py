"""A caption for each chart of burstiness: its numbers in a sentence, and how to read it.

The caption is also what a screen reader reads instead of the picture. An unknown number leaves its
sentence out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trustbed.report import words
from trustbed.report.burst.chart_axes import Stream, since_first
from trustbed.report.burst.words import buffering, hurst, scale, times
from trustbed.report.records import Row

_FEW = 3
"""A caption of several streams gives the numbers of so many."""


def captions(stream: Stream) -> Mapping[str, str]:
    """The numbers of each chart in a sentence."""
    return {
        "burstiness": _burstiness(stream),
        "sigma": _sigma(stream),
        "loss": _loss(stream),
        "delay": _delay(stream),
        "energy": _energy(stream),
        "logscale": hurst(stream),
        "rate": _rate(stream),
        "gaps": _gaps(stream),
    }


def _burstiness(stream: Stream) -> str:
    summary = stream.get("summary") or {}
    most = summary.get("max_q_max_bytes")
    if most is None:
        return "No window is complete."
    message = (
        f"{words.size(summary.get('max_q_mean_bytes'))} on average, {words.size(most)} at most"
    )
    worst = next(
        (
            row
            for row in stream.get("windows") or ()
            if row["max_q_bytes"] == most and not row.get("partial")
        ),
        None,
    )
    if not worst or not most:
        return message + "."
    start = since_first(stream, worst["start_seconds"])
    return (
        f"{message}, {words.duration(start)} after the first packet."
        if start > 0
        else f"{message}, in the first window."
    )


_NAMED = {
    "mean": "the mean rate",
    "twice the mean": "twice the mean",
    "given": "the rate given",
    "fastest millisecond": "the rate of the fastest millisecond",
    "link": "the rate of the link",
}


def _sigma(stream: Stream) -> str:
    points = [point for point in stream.get("sigma") or () if point.get("role") in _NAMED]
    message = [
        (
            f"{words.size(point['sigma_bytes'])} at {_NAMED[point['role']]} "
            f"({words.bits(point['rate_bits_per_second'])})"
        )
        for point in points
    ]
    return f"Buffer needed: {', '.join(message)}." if message else ""


def _loss(stream: Stream) -> str:
    found = buffering(stream)
    if found is None:
        return ""
    message = (
        f"At {words.bits(found.rate_bits_per_second)} nothing is lost from "
        f"{words.size(found.enough_bytes)} on"
    )
    if found.small_bytes is None:
        return message + "."
    return (
        f"{message}, {words.percent(found.loss)} of the packets with "
        f"{words.size(found.small_bytes)}."
    )


def _delay(stream: Stream) -> str:
    row = _at_twice_the_mean(stream)
    if row is None:
        return ""
    half, mean = row.get("wait_p50_seconds"), words.duration(row["wait_mean_seconds"])
    middle = (
        f"the mean wait is {mean}"
        if half is None
        else f"half of the packets wait at most {words.duration(half)}"
    )
    return (
        f"At {words.bits(row['rate_bits_per_second'])} {middle}, 99 % at most "
        f"{words.duration(row['wait_p99_seconds'])}, the longest "
        f"{words.duration(row['wait_max_seconds'])}."
    )


def _energy(stream: Stream) -> str:
    points = _energies(stream)
    return (
        f"Varies most from block to block of {scale(max(points)[1])}, least at "
        f"{scale(min(points)[1])}."
        if points
        else ""
    )


def _rate(stream: Stream) -> str:
    mean = stream.get("mean_rate_bits_per_second")
    message = [
        (
            f"fastest {scale(peak['width_seconds'])} {words.bits(peak['bits_per_second'])} "
            f"({times(peak['bits_per_second'], mean)})"
        )
        for peak in (stream.get("rates") or {}).get("peaks") or ()
    ]
    return f"Mean {words.bits(mean)}; " + ", ".join(message) + "." if message and mean else ""


def _gaps(stream: Stream) -> str:
    gaps = stream.get("gaps") or {}
    if gaps.get("p50_seconds") is None:
        return ""
    return (
        f"Half of the gaps are {words.duration(gaps['p50_seconds'])} or less, 99 % "
        f"{words.duration(gaps['p99_seconds'])} or less, the longest is "
        f"{words.duration(gaps['max_seconds'])}."
    )


def compared(streams: Sequence[Stream], called: Sequence[str]) -> Mapping[str, str]:
    """The number of each stream that a picture of several shows."""
    pairs = list(zip(called, streams, strict=True))
    needed = [(name, found) for name, stream in pairs if (found := buffering(stream))]
    energies = [(name, points) for name, stream in pairs if (points := _energies(stream))]
    waits = [(name, row) for name, stream in pairs if (row := _at_twice_the_mean(stream))]
    gaps = [(name, (stream.get("gaps") or {}).get("p50_seconds")) for name, stream in pairs]
    return {
        "sigma": _each(
            "Buffer needed",
            [
                (name, f"{words.size(f.enough_bytes)} at {words.bits(f.rate_bits_per_second)}")
                for name, f in needed
            ],
        ),
        "loss": _each(
            "Lost",
            [
                (n, f"{words.percent(f.loss)} with {words.size(f.small_bytes)}")
                for n, f in needed
                if f.small_bytes
            ],
        ),
        "delay": _each(
            "99 % wait at most",
            [
                (
                    name,
                    f"{words.duration(row['wait_p99_seconds'])} at "
                    f"{words.bits(row['rate_bits_per_second'])}",
                )
                for name, row in waits
            ],
        ),
        "energy": _each(
            "Varies most at", [(name, scale(max(points)[1])) for name, points in energies]
        ),
        "gaps": _each(
            "Half of the gaps are at most",
            [(name, words.duration(seconds)) for name, seconds in gaps if seconds is not None],
        ),
    }


def _each(what: str, message: Sequence[tuple[str, str]]) -> str:
    left = len(message) - _FEW
    more = f", and {left} more in the table" if left > 0 else ""
    return (
        f"{what}: " + ", ".join(f"{value} ({name})" for name, value in message[:_FEW]) + more + "."
        if message
        else ""
    )


def _energies(stream: Stream) -> list[tuple[float, float]]:
    """Energies with their time scales, as far as they are known."""
    points = (stream.get("energy") or {}).get("octaves", ())
    return [
        (point["energy"], point["scale_seconds"]) for point in points if point["energy"] is not None
    ]


def _at_twice_the_mean(stream: Stream) -> Row | None:
    """The delays at the link whose rate is nearest to twice the mean."""
    mean, rows = stream.get("mean_rate_bits_per_second"), stream.get("delay") or ()
    return (
        min(rows, key=lambda row: abs(row["rate_bits_per_second"] - 2 * mean), default=None)
        if mean
        else None
    )


def readings(stream: Stream) -> dict[str, str]:
    """How to read each chart, for a reader who sees such a chart for the first time."""
    length = scale(stream.get("window_seconds") or 0.0)
    width = scale((stream.get("rates") or {}).get("bin_seconds") or 0.0)
    link = (
        "the link"
        if stream.get("mode") == "static"
        else "a link as fast as the window's own average"
    )
    return {
        "burstiness": (
            f"Each step is a window of {length}: the most bytes that would have waited in front "
            f"of {link}. Evenly spaced packets give zero. The grey area is how much traffic there "
            "was."
        ),
        "sigma": (
            "Find the rate of a link below; the curve is the buffer that passes every packet. "
            "Where it falls steeply, a little more rate saves much buffer."
        ),
        "loss": (
            "One line per rate of the link: what share of the packets a buffer of that size "
            "drops. The axis is stretched near zero, where small losses already slow TCP down."
        ),
        "delay": (
            "Find the rate of a link below; the lines are how long packets wait in its queue. "
            "Left of the mean rate the queue grows as long as the capture lasts. No wait is drawn "
            "at 1 µs."
        ),
        "energy": (
            "How much neighbouring blocks of traffic differ, for blocks of every length. Flat: no "
            "memory. A hill: bursts about that long. One step up is twice the energy."
        ),
        "logscale": (
            "The same after removing slow trends, with 95 % intervals. Points that rise on a line "
            "mean bursts within bursts; where the line misses the intervals, no single slope "
            "describes them."
        ),
        "rate": (
            f"Traffic in bins of {width}. The shorter the moment, the faster its fastest one: how "
            "much faster is the plainest measure of burstiness."
        ),
        "gaps": (
            "Steep sections are gaps that many packets have in common. Left are packets back to "
            "back, right are pauses."
        ),
    }


COMPARED: Mapping[str, str] = {
    "sigma": (
        "One line each: the buffer that passes every packet, for links of every rate. Where mean "
        "rates are alike, the higher line is the burstier traffic."
    ),
    "loss": (
        "One line each, at a link of about twice its own mean rate: what share of the packets a "
        "buffer of that size drops."
    ),
    "delay": "One line each: how long 99 % of the packets wait at most, for links of every rate.",
    "energy": (
        "One line each: how much neighbouring blocks of traffic differ, for blocks of every "
        "length. Higher everywhere is more traffic; another shape is another rhythm."
    ),
    "gaps": "One line each: steep sections are gaps that many packets have in common.",
}
"""How to read the charts that compare streams."""
