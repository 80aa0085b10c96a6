"""Burstiness as text for a terminal: at most 100 columns, each number with a line that says how it is read.

For somebody who knows neither the virtual bottleneck nor wavelets. The words for single numbers are those of the page
(``trustbed.report.burst_words``). The same capture gives the same text at the same width.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trustbed.report import burst_words, words
from trustbed.report.paint import Paint

Model = Mapping[str, Any]

WIDEST = 100
NARROWEST = 60
LINKS = 7
"""Links in the table of delays, at most."""
STREAMS = 20
_PLAIN = Paint()
_BARS = "▁▂▃▄▅▆▇█"
_UNFITTED = "?"


def render(name: str, model: Model, *, columns: int = WIDEST, paint: Paint = _PLAIN) -> str:
    """Everything about one capture, with a newline at its end."""
    width = max(NARROWEST, min(columns, WIDEST))
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
    return _joined(blocks)


def section(model: Model, *, columns: int = WIDEST, paint: Paint = _PLAIN) -> str:
    """What the section "burstiness" of a capture says, of which everything else is said elsewhere; with a newline at its end."""
    width = max(NARROWEST, min(columns, WIDEST))
    blocks = [list(_what_was_read("burstiness", model, width, paint))]
    if model["packets"]:
        blocks += [
            list(part(model, width, paint)) for part in (_windows, _buffers, _losses, _scales)
        ]
    return _joined(blocks)


def _joined(blocks: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def _read_so(text: str, width: int, paint: Paint) -> Iterator[str]:
    for line in _wrapped(text, width, first="  ", rest="  "):
        yield paint("faint", line)


def _what_was_read(name: str, model: Model, width: int, paint: Paint) -> Iterator[str]:
    parts = [name, words.counted(model["packets"], "packet")]
    if model["packets"]:
        parts += [words.size(model["bytes"]), words.duration(model["duration_seconds"])]
    if model["mean_rate_bits_per_second"]:
        parts.append(f"mean rate {burst_words.bits(model['mean_rate_bits_per_second'])}")
    lines = _wrapped(" · ".join(parts), width)
    yield paint("strong", lines[0])
    yield from lines[1:]
    if model["packets"]:
        lengths = burst_words.BASES[model["basis"]]
        yield from _wrapped(
            f"The traffic is taken as it was (open loop). Lengths: {lengths}. 1 KB = 1024 bytes.",
            width,
        )


def _findings(model: Model, width: int, paint: Paint) -> Iterator[str]:
    for found in model.get("findings") or ():
        lines = _wrapped(found["message"], width, first=" " * 9, rest=" " * 9)
        yield paint(found["severity"], f"{found['severity']:<9}") + lines[0][9:]
        yield from lines[1:]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], paint: Paint) -> Iterator[str]:
    """Right-aligned columns; the first one left-aligned."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *others = cells
        return "  ".join(
            [
                f"{first:<{widths[0]}}",
                *(f"{cell:>{size}}" for cell, size in zip(others, widths[1:], strict=True)),
            ]
        ).rstrip()

    yield paint("faint", line(head))
    for row in rows:
        yield line(row)


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
            burst_words.bits(found["abw_mean_bits_per_second"]),
            burst_words.bits(found["abw_max_bits_per_second"]),
            words.buffer(found["max_q_mean_bytes"]),
            words.buffer(found["max_q_max_bytes"]),
        ]
        for over, found in sets
    ]
    yield from _table(["BURSTINESS", "ABW MEAN", "ABW MAX", "MAXQ MEAN", "MAXQ MAX"], rows, paint)
    reading = (
        "ABW: average rate of a window. maxQ, the burstiness: the most bytes that a packet would have found waiting in front of the link. "
        "Evenly spaced packets give 0. "
    )
    yield from _read_so(reading + burst_words.bottleneck(model), width, paint)


def _buffers(model: Model, width: int, paint: Paint) -> Iterator[str]:
    rows, mean = list(model["delay"]), model["mean_rate_bits_per_second"]
    if not rows:
        return
    if len(rows) > LINKS:
        rows = [rows[round(place * (len(rows) - 1) / (LINKS - 1))] for place in range(LINKS)]
    cells = [
        [
            burst_words.bits(row["rate_bits_per_second"]),
            words.percent(mean / row["rate_bits_per_second"]) if mean else words.UNKNOWN,
            words.buffer(row["buffer_needed_bytes"]),
            words.duration(row["wait_mean_seconds"]),
            words.duration(row["wait_p99_seconds"]),
            words.duration(row["wait_max_seconds"]),
        ]
        for row in rows
    ]
    yield from _table(
        ["LINK OF", "LOAD", "BUFFER NEEDED", "WAIT MEAN", "99 %", "LONGEST"], cells, paint
    )
    yield from _read_so(
        "What this traffic needs from a link of that rate: the buffer that loses nothing (σ), and how long packets wait in it. What is "
        "more than a packet or two is the price of bursts, and what pacing would save.",
        width,
        paint,
    )


def _losses(model: Model, width: int, paint: Paint) -> Iterator[str]:
    rates = sorted({row["rate_bits_per_second"] for row in model["queue"]})[:4]
    if not rates:
        return
    by_place = {(row["rate_bits_per_second"], row["buffer_bytes"]): row for row in model["queue"]}
    buffers = sorted({row["buffer_bytes"] for row in model["queue"]})
    cells = [
        [words.buffer(buffer), *(_loss(by_place.get((rate, buffer))) for rate in rates)]
        for buffer in buffers
    ]
    yield from _table(
        ["LOST WITH A BUFFER OF", *(f"AT {burst_words.bits(rate)}" for rate in rates)], cells, paint
    )
    yield from _read_so(
        "Packets that a queue of that size drops because it is full, and how many in a row at most. TCP suffers from well below 1 %.",
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
        ends = [burst_words.scale(octaves[place]["scale_seconds"]) for place in (0, -1)]
        bars = sparkline([octave["energy"] for octave in octaves])
        span = f"  lowest {min(known):.1f}, highest {max(known):.1f} (log2)"
        yield paint("strong", "ENERGY") + f"  {ends[0]} {bars} {ends[1]}{span}"
        yield from _read_so(
            f"How much neighbouring blocks of traffic differ, for blocks from {ends[0]} to {ends[1]} (Haar wavelet). Flat: no memory, as "
            "with independent packets. A hill: bursts about that long. A steady rise: bursts within bursts.",
            width,
            paint,
        )
    if model["logscale"]:
        yield from _wrapped(burst_words.hurst(model), width, first="HURST   ", rest=" " * 8)
        fit = model["logscale"].get("fit") or {}
        if fit.get("hurst") is not None and not fit.get("rejected"):
            yield from _read_so(
                "0.5: no memory beyond the shortest scales; towards 1: busy times follow busy times at every scale, and buffers help less.",
                width,
                paint,
            )


def _plain_numbers(model: Model, width: int, paint: Paint) -> Iterator[str]:
    mean = model["mean_rate_bits_per_second"]
    peaks = (model["rates"] or {}).get("peaks") or ()
    said = [
        f"{burst_words.scale(peak['width_seconds'])} {burst_words.bits(peak['bits_per_second'])}"
        + (f" ({times})" if (times := burst_words.times(peak["bits_per_second"], mean)) else "")
        for peak in peaks
    ]
    if said:
        yield from _wrapped("FASTEST " + " · ".join(said), width, rest=" " * 8)
    trains = model["trains"] or {}
    if trains.get("trains"):
        text = (
            f"TRAINS  {words.counted(trains['trains'], 'train')} of packets at most {burst_words.scale(trains['gap_seconds'])} apart: "
            f"{trains['packets_mean']:.1f} packets on average, 99 % up to {trains['packets_p99']:.0f}, the longest "
            f"{words.count(trains['packets_max'])}"
        )
        if trains.get("spacing_mean_seconds") is not None:
            text += f"; {words.duration(trains['spacing_mean_seconds'])} apart within a train"
        if trains.get("pause_mean_seconds") is not None:
            text += f", {words.duration(trains['pause_mean_seconds'])} between trains"
        yield from _wrapped(text, width, rest=" " * 8)
    gaps = model["gaps"] or {}
    if gaps.get("mean_seconds") is not None:
        text = (
            f"GAPS    half of the packets follow within {words.duration(gaps['p50_seconds'])}, 99 % within "
            f"{words.duration(gaps['p99_seconds'])}; the longest gap is {words.duration(gaps['max_seconds'])}"
        )
        yield from _wrapped(text, width, rest=" " * 8)


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
                burst_words.bits(stream["mean_rate_bits_per_second"]),
                words.buffer(summary.get("max_q_mean_bytes")),
                words.buffer(summary.get("max_q_max_bytes")),
                words.buffer(found.enough_bytes) if found else words.UNKNOWN,
            ]
        )
    yield from _table(["STREAM", "PACKETS", "MEAN", "MAXQ MEAN", "MAXQ MAX", "BUFFER"], rows, paint)
    left_out = (model.get("streams_left_out") or 0) + max(0, len(streams) - STREAMS)
    yield from _read_so(
        "Each measured as if alone, the largest first. BUFFER: what loses nothing on a link of about twice the stream's mean rate, or on "
        "the link that was given."
        + (f" {words.counted(left_out, 'more stream')} not shown." if left_out else ""),
        width,
        paint,
    )


def compared(
    models: Sequence[tuple[str, Model]], *, columns: int = WIDEST, paint: Paint = _PLAIN
) -> str:
    """Several captures side by side, one line each."""
    width = max(NARROWEST, min(columns, WIDEST))
    room = width - 66
    rows = []
    for name, model in models:
        summary, fit = model["summary"] or {}, (model["logscale"] or {}).get("fit") or {}
        rows.append(
            [
                name if len(name) <= room else name[: room - 1] + "…",
                burst_words.bits(summary.get("abw_mean_bits_per_second")),
                burst_words.bits(summary.get("abw_max_bits_per_second")),
                words.buffer(summary.get("max_q_mean_bytes")),
                words.buffer(summary.get("max_q_max_bytes")),
                _UNFITTED
                if fit.get("hurst") is None or fit.get("rejected")
                else f"{fit['hurst']:.2f}",
            ]
        )
    return (
        "\n".join(
            _table(
                ["CAPTURE", "ABW MEAN", "ABW MAX", "MAXQ MEAN", "MAXQ MAX", "HURST"], rows, paint
            )
        )
        + "\n"
    )
