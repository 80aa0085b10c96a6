"""Burstiness as text for a terminal.

At most 100 columns, each number with a line that explains how to read it.

For readers who know neither the virtual bottleneck nor wavelets. The words for single numbers are
those of the page (``trustbed.report.burst.words``). The same capture gives the same text at the
same width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from trustbed.report import words
from trustbed.report.burst import words as burst_words
from trustbed.report.paint import Paint
from trustbed.report.records import Row
from trustbed.report.text import PLAIN, finding_lines, fitted, joined, table, wrapped
from trustbed.report.text import WIDEST as WIDEST

Model = Row

LINKS = 7
"""Links in the table of delays, at most."""
STREAMS = 20
_BARS = "▁▂▃▄▅▆▇█"
_UNFITTED = "?"


def render(name: str, model: Model, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """Everything about one capture, with a newline at its end."""
    width = fitted(columns)
    blocks = [list(_what_was_read(name, model, width, paint)), list(_findings(model, width, paint))]
    if model["packets"]:
        blocks += [
            list(_windows(model, width, paint)),
            list(_buffers(model, width, paint)),
            list(_losses(model, width, paint)),
            list(_scales(model, width, paint)),
            list(_plain_numbers(model, width, paint)),
            list(_streams(model, width, paint)),
        ]
    return joined(*blocks)


def section(model: Model, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """The section "burstiness" in the summary of a capture, with a newline at its end."""
    width = fitted(columns)
    blocks = [list(_what_was_read("burstiness", model, width, paint))]
    if model["packets"]:
        blocks += [
            list(part(model, width, paint)) for part in (_windows, _buffers, _losses, _scales)
        ]
    return joined(*blocks)


def _read_so(text: str, width: int, paint: Paint) -> Iterator[str]:
    for line in wrapped(text, width, first="  ", rest="  "):
        yield paint("faint", line)


def _what_was_read(name: str, model: Model, width: int, paint: Paint) -> Iterator[str]:
    parts = [name, words.counted(model["packets"], "packet")]
    if model["packets"]:
        parts += [words.size(model["bytes"]), words.duration(model["duration_seconds"])]
    if model["mean_rate_bits_per_second"]:
        parts.append(f"mean rate {words.bits(model['mean_rate_bits_per_second'])}")
    lines = wrapped(" · ".join(parts), width)
    yield paint("strong", lines[0])
    yield from lines[1:]
    if model["packets"]:
        lengths = burst_words.BASES[model["basis"]]
        yield from wrapped(
            f"The traffic is taken as it was (open loop). Lengths: {lengths}.",
            width,
        )


def _findings(model: Model, width: int, paint: Paint) -> Iterator[str]:
    for found in model.get("findings") or ():
        yield from finding_lines(found, width, paint)


def _windows(model: Model, width: int, paint: Paint) -> Iterator[str]:
    summary = model["summary"]
    if not summary or not summary["windows"]:
        return
    length = burst_words.scale(model["window_seconds"])
    active, count = summary["active_windows"], summary["windows"]
    sets = [(f"{words.counted(count, 'window')} of {length}", summary)]
    if 0 < active < count:
        sets.append(
            (f"{words.count(active)} of them with packets", {**summary, **summary["active"]})
        )
    rows = [
        [
            over,
            words.bits(found["abw_mean_bits_per_second"]),
            words.bits(found["abw_max_bits_per_second"]),
            words.size(found["max_q_mean_bytes"]),
            words.size(found["max_q_max_bytes"]),
        ]
        for over, found in sets
    ]
    yield from table(["BURSTINESS", "ABW MEAN", "ABW MAX", "MAXQ MEAN", "MAXQ MAX"], rows, paint)
    reading = (
        "ABW: average rate of a window. maxQ, the burstiness: the most bytes that a packet would "
        "have found waiting in front of the link. Evenly spaced packets give 0. "
    )
    yield from _read_so(reading + burst_words.bottleneck(model), width, paint)


def _buffers(model: Model, width: int, paint: Paint) -> Iterator[str]:
    rows, mean = list(model["delay"]), model["mean_rate_bits_per_second"]
    if not rows:
        return
    if len(rows) > LINKS:
        rows = [rows[round(index * (len(rows) - 1) / (LINKS - 1))] for index in range(LINKS)]
    cells = [
        [
            words.bits(row["rate_bits_per_second"]),
            words.percent(mean / row["rate_bits_per_second"]) if mean else words.UNKNOWN,
            words.size(row["buffer_needed_bytes"]),
            words.duration(row["wait_mean_seconds"]),
            words.duration(row["wait_p99_seconds"]),
            words.duration(row["wait_max_seconds"]),
        ]
        for row in rows
    ]
    yield from table(
        ["LINK OF", "LOAD", "BUFFER NEEDED", "WAIT MEAN", "99 %", "LONGEST"], cells, paint
    )
    yield from _read_so(
        "What this traffic needs from a link of that rate: the buffer that loses nothing (σ), and "
        "how long packets wait in it. What is more than a packet or two is the price of bursts, "
        "and what pacing would save.",
        width,
        paint,
    )


def _losses(model: Model, width: int, paint: Paint) -> Iterator[str]:
    rates = sorted({row["rate_bits_per_second"] for row in model["queue"]})[:4]
    if not rates:
        return
    by_capture_point = {
        (row["rate_bits_per_second"], row["buffer_bytes"]): row for row in model["queue"]
    }
    buffers = sorted({row["buffer_bytes"] for row in model["queue"]})
    cells = [
        [words.size(buffer), *(_loss(by_capture_point.get((rate, buffer))) for rate in rates)]
        for buffer in buffers
    ]
    yield from table(
        ["LOST WITH A BUFFER OF", *(f"AT {words.bits(rate)}" for rate in rates)], cells, paint
    )
    yield from _read_so(
        "Packets that a queue of that size drops because it is full, and how many in a row at "
        "most. TCP suffers from well below 1 %.",
        width,
        paint,
    )


def _loss(row: Model | None) -> str:
    if row is None or row["loss_rate"] is None:
        return words.UNKNOWN
    if not row["lost_packets"]:
        return "0"
    return f"{words.percent(row['loss_rate'])} (≤ {words.count(row['loss_run_max'])})"


def sparkline(values: Sequence[float | None]) -> str:
    """Values as bars from the smallest to the largest; a dot where there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, span = min(known), (max(known) - min(known)) or 1.0
    last = len(_BARS) - 1
    return "".join(
        "·" if value is None else _BARS[min(last, math.floor((value - low) / span * len(_BARS)))]
        for value in values
    )


def _scales(model: Model, width: int, paint: Paint) -> Iterator[str]:
    octaves = (model["energy"] or {}).get("octaves") or ()
    known = [octave["energy"] for octave in octaves if octave["energy"] is not None]
    if known:
        ends = [burst_words.scale(octaves[index]["scale_seconds"]) for index in (0, -1)]
        bars = sparkline([octave["energy"] for octave in octaves])
        span = f"  lowest {min(known):.1f}, highest {max(known):.1f} (log2)"
        yield paint("strong", "ENERGY") + f"  {ends[0]} {bars} {ends[1]}{span}"
        yield from _read_so(
            f"How much neighbouring blocks of traffic differ, for blocks from {ends[0]} to "
            f"{ends[1]} (Haar wavelet). Flat: no memory, as with independent packets. A hill: "
            "bursts about that long. A steady rise: bursts within bursts.",
            width,
            paint,
        )
    if model["logscale"]:
        yield from wrapped(burst_words.hurst(model), width, first="HURST   ", rest=" " * 8)
        fit = model["logscale"].get("fit") or {}
        if fit.get("hurst") is not None and not fit.get("rejected"):
            yield from _read_so(
                "0.5: no memory beyond the shortest scales; towards 1: busy times follow busy "
                "times at every scale, and buffers help less.",
                width,
                paint,
            )


def _plain_numbers(model: Model, width: int, paint: Paint) -> Iterator[str]:
    mean = model["mean_rate_bits_per_second"]
    peaks = (model["rates"] or {}).get("peaks") or ()
    message = [
        f"{burst_words.scale(peak['width_seconds'])} {words.bits(peak['bits_per_second'])}"
        + (f" ({times})" if (times := burst_words.times(peak["bits_per_second"], mean)) else "")
        for peak in peaks
    ]
    if message:
        yield from wrapped("FASTEST " + " · ".join(message), width, rest=" " * 8)
    trains = model["trains"] or {}
    if trains.get("trains"):
        text = (
            f"TRAINS  {words.counted(trains['trains'], 'train')} of packets at most "
            f"{burst_words.scale(trains['gap_seconds'])} apart: {trains['packets_mean']:.1f} "
            f"packets on average, 99 % up to {trains['packets_p99']:.0f}, the longest "
            f"{words.count(trains['packets_max'])}"
        )
        if trains.get("spacing_mean_seconds") is not None:
            text += f"; {words.duration(trains['spacing_mean_seconds'])} apart within a train"
        if trains.get("pause_mean_seconds") is not None:
            text += f", {words.duration(trains['pause_mean_seconds'])} between trains"
        yield from wrapped(text, width, rest=" " * 8)
    gaps = model["gaps"] or {}
    if gaps.get("mean_seconds") is not None:
        text = (
            f"GAPS    half of the packets follow within {words.duration(gaps['p50_seconds'])}, 99 "
            f"% within {words.duration(gaps['p99_seconds'])}; the longest gap is "
            f"{words.duration(gaps['max_seconds'])}"
        )
        yield from wrapped(text, width, rest=" " * 8)


def _streams(model: Model, width: int, paint: Paint) -> Iterator[str]:
    streams = model.get("streams")
    if not streams:
        return
    room = width - 58
    rows = []
    for stream in streams[:STREAMS]:
        summary, found = stream["summary"] or {}, burst_words.buffering(stream)
        name = stream["name"] if len(stream["name"]) <= room else stream["name"][: room - 1] + "…"
        rows.append(
            [
                name,
                words.count(stream["packets"]),
                words.bits(stream["mean_rate_bits_per_second"]),
                words.size(summary.get("max_q_mean_bytes")),
                words.size(summary.get("max_q_max_bytes")),
                words.size(found.enough_bytes) if found else words.UNKNOWN,
            ]
        )
    yield from table(["STREAM", "PACKETS", "MEAN", "MAXQ MEAN", "MAXQ MAX", "BUFFER"], rows, paint)
    left_out = (model.get("streams_left_out") or 0) + max(0, len(streams) - STREAMS)
    yield from _read_so(
        "Each measured as if alone, the largest first. BUFFER: what loses nothing on a link of "
        "about twice the stream's mean rate, or on the link that was given."
        + (f" {words.counted(left_out, 'more stream')} not shown." if left_out else ""),
        width,
        paint,
    )


def compared(
    models: Sequence[tuple[str, Model]], *, columns: int = WIDEST, paint: Paint = PLAIN
) -> str:
    """Several captures side by side, one line each."""
    width = fitted(columns)
    room = width - 66
    rows = []
    for name, model in models:
        summary, fit = model["summary"] or {}, (model["logscale"] or {}).get("fit") or {}
        rows.append(
            [
                name if len(name) <= room else name[: room - 1] + "…",
                words.bits(summary.get("abw_mean_bits_per_second")),
                words.bits(summary.get("abw_max_bits_per_second")),
                words.size(summary.get("max_q_mean_bytes")),
                words.size(summary.get("max_q_max_bytes")),
                _UNFITTED
                if fit.get("hurst") is None or fit.get("rejected")
                else f"{fit['hurst']:.2f}",
            ]
        )
    return (
        "\n".join(
            table(["CAPTURE", "ABW MEAN", "ABW MAX", "MAXQ MEAN", "MAXQ MAX", "HURST"], rows, paint)
        )
        + "\n"
    )
