"""What burstiness comes to, in sentences.

The headline, what pacing would save, what was assumed, the plain numbers.

Every number comes from the model, none from thinned columns. A number that is unknown leaves its
sentence out.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.report import words
from trustbed.report.burst.chart_axes import Stream
from trustbed.report.burst.queue_charts import rate_near
from trustbed.report.records import Row

BASES = {
    "frame": "frames as captured, without their check sequence",
    "frame_fcs": "frames with their check sequence, 4 B more than captured",
    "wire": (
        "all that the wire carries: frame, check sequence, preamble and gap, 24 B more than "
        "captured"
    ),
    "ip": "IP packets",
}

OPEN_LOOP = (
    "The traffic is taken as it was (open loop): a sender that would have slowed down after a "
    "loss, or behind a longer queue, does not slow down here. The same application on such a link "
    "would make other traffic."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffering:
    """A link of the sweep, the buffer that loses nothing there, and a smaller one with its loss."""

    rate_bits_per_second: float
    enough_bytes: float
    small_bytes: float | None
    loss: float | None


def times(value: float | None, mean: float | None) -> str:
    """A rate as a multiple of the mean."""
    if not value or not mean:
        return ""
    if value > 10_000 * mean:
        return "more than 10,000 × the mean"
    return (
        f"{value / mean:,.0f} × the mean"
        if value >= 9.95 * mean
        else f"{value / mean:.1f} × the mean".replace(".0 ", " ")
    )


def buffering(stream: Stream) -> Buffering | None:
    """The example that the headline gives.

    The given link, or one of about twice the mean rate.

    The smaller buffer is the one nearest to half of what is needed that loses anything.
    """
    given = stream.get("rate_bits_per_second") or stream.get("link_rate_bits_per_second")
    rates = {
        row["rate_bits_per_second"]
        for row in stream.get("delay") or ()
        if row.get("buffer_needed_bytes")
    }
    swept = {row["rate_bits_per_second"] for row in stream.get("queue") or ()}
    rate = given if given in rates | swept else rate_near(stream, 2.0)
    if rate is None:
        return None
    losing = [
        row
        for row in stream["queue"]
        if row["rate_bits_per_second"] == rate and row["lost_packets"] and row["buffer_bytes"]
    ]
    enough = _enough(stream, rate)
    if enough is None:
        return None
    small = min(losing, key=lambda row: abs(row["buffer_bytes"] - enough / 2), default=None)
    return Buffering(
        rate_bits_per_second=rate,
        enough_bytes=enough,
        small_bytes=small["buffer_bytes"] if small else None,
        loss=small["loss_rate"] if small else None,
    )


def _enough(stream: Stream, rate: float) -> float | None:
    """The buffer that loses nothing at this rate.

    As it was measured there, or else the smallest of the sweep.
    """
    exact = [
        row["buffer_needed_bytes"]
        for row in stream.get("delay") or ()
        if row["rate_bits_per_second"] == rate
    ]
    exact += [
        point["sigma_bytes"]
        for point in stream.get("sigma") or ()
        if point["rate_bits_per_second"] == rate
    ]
    swept = [
        row["buffer_bytes"]
        for row in stream.get("queue") or ()
        if row["rate_bits_per_second"] == rate and not row["lost_packets"] and row["buffer_bytes"]
    ]
    known = [value for value in exact if value is not None]
    return known[0] if known else min(swept, default=None)


def headline(stream: Stream) -> str:
    """What the burstiness comes to, in one sentence."""
    found = buffering(stream)
    if found is None and stream.get("mean_rate_bits_per_second"):
        return "How deep a buffer this traffic needs was not measured."
    if found is None:
        return "Too few packets to determine how deep a buffer they need."
    mean = stream.get("mean_rate_bits_per_second")
    link = words.bits(found.rate_bits_per_second) + (
        f" ({times(found.rate_bits_per_second, mean)} rate)" if mean else ""
    )
    message = (
        f"A buffer of {words.size(found.enough_bytes)} at {link} would have passed this traffic "
        "unharmed"
    )
    if found.small_bytes is None or found.loss is None:
        return message + "."
    return (
        f"{message}; with {words.size(found.small_bytes)} it loses {words.percent(found.loss)} of "
        "its packets."
    )


def pacing(stream: Stream) -> str:
    """What pacing would save at the link of the headline."""
    found = buffering(stream)
    if found is None:
        return ""
    return (
        "Paced evenly, the same packets would need room for a single one at any rate above their "
        f"mean: of the {words.size(found.enough_bytes)}, all but that is the price of sending "
        "in bursts, and what pacing would save (the packets then wait at the sender)."
    )


def bottleneck(stream: Stream) -> str:
    """Which link the windows were measured at."""
    length = scale(stream.get("window_seconds") or 0.0)
    match stream.get("mode"):
        case "static":
            link = words.bits(stream.get("rate_bits_per_second"))
            return (
                f"Windows of {length} at a link of {link}; what waits at the end of one waits in "
                "the next."
            )
        case "dynamic-previous":
            return (
                f"Each window of {length} is played to a link as fast as the average of the last "
                "window with traffic, from an empty queue."
            )
        case "dynamic-same-carry":
            return (
                f"Each window of {length} is played to a link as fast as its own average; the "
                "queue is carried on (for diagnosis only)."
            )
        case _:
            return (
                f"Each window of {length} is played to a link as fast as its own average, from an "
                "empty queue."
            )


def notes(stream: Stream) -> list[str]:
    """The assumptions.

    Corrections of the packets (offload, clock steps) are among the findings.
    """
    message = [
        OPEN_LOOP,
        f"Lengths are {BASES.get(stream.get('basis') or '', 'as captured')}.",
    ]
    if stream.get("offload") == "as-captured":
        message.append(
            "Super-packets of segmentation offload, if there are any, count as single packets: "
            "what they show is the host, not the wire."
        )
    return message


def scale(seconds: float) -> str:
    """A time scale without empty decimals: 64 ms."""
    number, unit = words.duration(seconds).rsplit(" ", 1)
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def quantities(stream: Stream) -> list[tuple[str, str, str, str]]:
    """The plain numbers beside the charts: term, definition, value, meaning."""
    mean = stream.get("mean_rate_bits_per_second")
    found = [
        (
            f"Fastest {scale(peak['width_seconds'])}",
            "",
            words.bits(peak["bits_per_second"]),
            times(peak["bits_per_second"], mean),
        )
        for peak in (stream.get("rates") or {}).get("peaks") or ()
    ]
    return [*found, *_trains(stream.get("trains") or {})]


def _trains(trains: Row) -> list[tuple[str, str, str, str]]:
    if not trains.get("trains"):
        return []
    gap = scale(trains["gap_seconds"])
    longest = (
        f"99 % hold at most {words.count(round(trains['packets_p99']))}, the longest "
        f"{words.count(trains['packets_max'])} packets"
        if trains.get("packets_max")
        else ""
    )
    found = [
        (
            "Packets in a train",
            "train",
            f"{trains['packets_mean']:.1f}",
            f"{words.counted(trains['trains'], 'train')} of packets at most {gap} apart; {longest}",
        )
    ]
    if trains.get("pause_mean_seconds") is not None:
        spacing = trains.get("spacing_mean_seconds")
        within = (
            f"{words.duration(spacing)} from packet to packet within one"
            if spacing is not None
            else ""
        )
        found.append(
            ("Pause between trains", "train", words.duration(trains["pause_mean_seconds"]), within)
        )
    return found


def hurst(stream: Stream) -> str:
    """The Hurst estimate, or why there is none."""
    part = stream.get("logscale") or {}
    fit = part.get("fit")
    if not fit:
        return "The capture is too short to fit a line."
    scales = {point["octave"]: point["scale_seconds"] for point in part["octaves"]}
    ends = [scales[octave] for octave in (fit["first"], fit["last"]) if octave in scales]
    over = f" from {scale(ends[0])} to {scale(ends[1])}" if len(ends) == 2 else ""
    slope = f"Slope α = {fit['alpha']:.2f}{over}"
    if fit.get("rejected"):
        return (
            f"{slope}, but the points do not lie on a line: no Hurst parameter can be read from it."
        )
    if fit.get("hurst") is None:
        return (
            f"{slope}: steeper than stationary traffic can be, so there is no Hurst parameter."
            if fit["alpha"] > 0
            else f"{slope}: the traffic is too regular for a Hurst parameter."
        )
    return (
        f"{slope}: Hurst parameter {fit['hurst']:.2f} ({fit['hurst_low']:.2f} to "
        f"{fit['hurst_high']:.2f})."
    )
