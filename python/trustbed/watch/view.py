"""The views of a watch.

A page that fits the terminal, a line per second where there is none, and a summary at the end.

No meaning is in the colour alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.printable import printable
from trustbed.watch.engine import Facts, Statistics, Window
from trustbed.watch.history import Direction, History

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = "_.-=+*%#"
_NARROWEST = 40
_CELL = 13
_NAME = 5
_COLUMNS = ("rate now", "queue now", "max ", "max", "packets/s", "mean ", "mean")
"""Columns of the table, what matters most first.

The second ``mean`` and ``max`` are those of the queue.
"""
_BOTTLENECKS = {
    "dynamic-same": "bottleneck at the rate of each window",
    "dynamic-previous": "bottleneck at the rate of the window before",
    "dynamic-same-carry": "bottleneck at the rate of each window, queue carried on",
}
_BASES = {
    "frame": "frames without FCS",
    "frame_fcs": "frames with FCS",
    "wire": "all bytes on the wire",
    "ip": "IP bytes",
}


@dataclass(frozen=True, kw_only=True)
class State:
    """Everything that is shown.

    Attributes:
        history: What is remembered of the windows.
        facts: What is known about the interface and the measurement.
        statistics: What was counted.
        seconds: How long the watch has lasted.
        notes: What happened, the latest last.
        metrics: Where scrapers find it.
        file_bytes: How long the file is, as far as it was written.
    """

    history: History
    facts: Facts
    statistics: Statistics
    seconds: float
    notes: Sequence[str] = field(default=())
    metrics: str | None = None
    file_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line, cut to a width before it is coloured: role and text of its parts."""

    parts: tuple[tuple[str, str], ...]

    def cut(self, width: int, paint: Paint) -> str:
        """At most ``width`` characters wide."""
        shown, left = [], width
        for role, text in self.parts:
            piece = text if len(text) <= left else text[: max(left - 1, 0)] + "…" * (left > 0)
            shown.append(paint(role, piece))
            left -= len(piece)
        return "".join(shown)


def line(*parts: str | tuple[str, str]) -> Line:
    """A line of texts, each alone or with its role.

    Names of interfaces and files are made safe here, before the line is cut to its width.
    """
    pairs = (("", part) if isinstance(part, str) else part for part in parts)
    return Line(tuple((role, printable(text).replace("\n", "\\n")) for role, text in pairs))


def page(
    state: State, *, columns: int, rows: int, paint: Paint, ascii_only: bool = False
) -> list[str]:
    """At most ``rows`` lines of at most ``columns`` characters.

    What matters least is left out first.
    """
    width = max(columns, _NARROWEST)
    head = [line(("strong", _title(state))), line(("faint", _how(state.facts)))]
    table = [line(), *_table(state, width)]
    kernel = [line(), *_kernel(state)]
    notes = [line(("error", note)) for note in state.notes[-3:]]
    spark = [line(), *_sparklines(state, width, ascii_only)]
    trains = [line(), *_trains(state)]
    foot = [line(), line(("faint", "Ctrl-C ends the watch"))]
    room = rows - sum(map(len, (head, table, kernel, notes)))
    optional = []
    for block in (spark, foot, trains):
        if len(block) <= room:
            optional.append(block)
            room -= len(block)
    worst = _worst(state, room - 2)
    blocks = [
        head,
        table,
        spark if spark in optional else [],
        worst,
        trains if trains in optional else [],
        kernel,
        notes,
    ]
    lines = [one for block in (*blocks, foot if foot in optional else []) for one in block]
    return [one.cut(width, paint) for one in lines[:rows]]


def _title(state: State) -> str:
    return f"{state.facts['interface']} · watched for {clock(state.seconds)}"


def clock(seconds: float) -> str:
    """How long: ``0:05``, ``1:02:03``."""
    whole = int(seconds)
    minutes = (
        f"{whole // 60 % 60:02d}:{whole % 60:02d}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02d}"
    )
    return f"{whole // 3600}:{minutes}" if whole >= 3600 else minutes


def _how(facts: Facts) -> str:
    rate = facts["rate_bits_per_second"]
    bottleneck = (
        f"bottleneck at {words.bits(rate)}" if rate is not None else _BOTTLENECKS[facts["mode"]]
    )
    return (
        f"windows of {words.duration(facts['window_seconds'])} · {bottleneck} · "
        f"{_BASES[facts['basis']]} · {facts['timestamps']} timestamps"
    )


def _table(state: State, width: int) -> Iterator[Line]:
    """As many columns as fit, the means left out first."""
    rows = [(one.name, _cells(one)) for one in _directions(state.history)]
    titles = list(_cells(state.history.all))
    room = (width - _NAME) // _CELL
    shown = [title for title in titles if title in sorted(titles, key=_COLUMNS.index)[:room]]
    yield line(("faint", " " * _NAME + "".join(f"{title.strip():>{_CELL}}" for title in shown)))
    for name, cells in rows:
        first, *rest = (f"{cells[title]:>{_CELL}}" for title in shown)
        yield line(("strong", f"{name:<{_NAME}}{first}"), "".join(rest))


def _cells(one: Direction) -> dict[str, str]:
    """A direction's row, from left to right."""
    packets = one.packets_now
    return {
        "rate now": words.bits(one.abw_now),
        "mean": words.bits(one.abw_mean),
        "max": words.bits(one.abw_max if one.windows else None),
        "queue now": words.size(one.max_q_now),
        "mean ": words.size(one.max_q_mean),
        "max ": words.size(one.max_q_max),
        "packets/s": "?" if packets is None else words.count(round(packets)),
    }


def _directions(history: History) -> list[Direction]:
    return list(history.directions.values()) or [history.all]


def _sparklines(state: State, width: int, ascii_only: bool) -> Iterator[Line]:
    drawn = {one.name: one.columns[-(width - _NAME - 2) :] for one in _directions(state.history)}
    highest = max(
        (height for columns in drawn.values() for height in columns if height is not None),
        default=None,
    )
    each = max(1, round(0.1 / state.history.length)) * state.history.length
    scale = f", full height {words.size(highest)}" if highest else ""
    yield line(
        (
            "faint",
            f"longest queue in front of the bottleneck, {words.duration(each)} per column{scale}",
        )
    )
    for name, columns in drawn.items():
        yield line(f"{name:<{_NAME}}", sparkline(columns, highest, ascii_only=ascii_only))


def sparkline(
    heights: Sequence[float | None], highest: float | None, *, ascii_only: bool = False
) -> str:
    """A column per height, from 0 to the highest; a point where there is none."""
    blocks = _ASCII_BLOCKS if ascii_only else _BLOCKS
    nothing = " " if ascii_only else "·"
    steps = len(blocks)
    return "".join(
        nothing if height is None else blocks[_step(height, highest, steps)] for height in heights
    )


def _step(height: float, highest: float | None, steps: int) -> int:
    return min(int(height / highest * steps), steps - 1) if highest else 0


def _worst(state: State, room: int) -> list[Line]:
    worst = state.history.all.worst[: max(min(room, 5), 0)]
    if not worst:
        return []
    title = (
        "worst windows"
        if len(state.history.directions) < 2
        else "worst windows, both directions together"
    )
    return [line(), line(("faint", title)), *(line(*_window(window)) for window in worst)]


def _window(window: Window) -> Iterator[str | tuple[str, str]]:
    start = window["start_seconds"]
    moment = time.strftime("%H:%M:%S", time.localtime(start)) + f"{start % 1:.3f}"[1:]
    yield f"{moment:<{_NAME + _CELL - 3}}"
    yield ("strong", f"{words.size(window['max_q_bytes']):>10}")
    yield (
        f"  at {words.bits(window['abw_bits_per_second'])}, "
        f"{words.counted(window['packets'], 'packet')}"
    )
    longest = window["train_packets_max"] or 0
    if longest > 1:
        yield f", longest train {longest:,}"


def _trains(state: State) -> Iterator[Line]:
    gap = words.duration(state.facts["train_gap_seconds"])
    yield line(("faint", f"trains (gaps up to {gap}), packets"))
    for one in _directions(state.history):
        now = one.trains_now
        text = (
            f"now mean {_mean(now.packets_mean)}, longest {now.packets_max:,} · since the "
            "beginning mean "
        )
        yield line(
            f"{one.name:<{_NAME}}",
            f"{text}{_mean(one.trains.packets_mean)}, longest {one.trains.packets_max:,}",
        )


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _kernel(state: State) -> Iterator[Line]:
    yield line(*_received(state.statistics))
    for text in _asides(state.statistics):
        yield line(text)
    file = state.statistics["file"]
    if file is not None:
        length = "" if state.file_bytes is None else f", {words.size(state.file_bytes)}"
        role = "error" if file["failed"] else ""
        verb = "stopped writing" if file["failed"] else "writing"
        yield line(
            (role, f"{verb} {file['path']}: {words.counted(file['frames'], 'frame')}{length}")
        )
    if state.metrics is not None:
        yield line(f"metrics at {state.metrics}")


def _received(statistics: Statistics) -> Iterator[str | tuple[str, str]]:
    received, dropped = statistics["kernel_received"], statistics["kernel_dropped"]
    yield f"kernel: {words.counted(received, 'frame')} received, "
    share = f" ({words.percent(dropped / (received + dropped))})" if dropped else ""
    yield ("error" if dropped else "", f"{words.count(dropped)} dropped{share}")


def _asides(statistics: Statistics) -> Iterator[str]:
    """Further counters that are not zero."""
    counted = [
        (statistics["filtered"], "frame", "left out by the filter"),
        (statistics["without_ip"], "frame", "without an IP header left out"),
        (statistics["expanded_packets"], "super-packet", "cut into frames of the wire"),
        (statistics["steps_back"], "packet", "moved forward because the clock stepped back"),
        (statistics["windows_left_out"], "window", "left out because they were not read in time"),
    ]
    texts = [f"{words.counted(count, noun)} {what}" for count, noun, what in counted if count]
    if statistics["clock_steps"]:
        texts.append(
            f"the windows began anew {words.counted(statistics['clock_steps'], 'time')}: the "
            "clock had stepped back"
        )
    if texts:
        yield " · ".join(texts)


def ticker(state: State) -> str:
    """The last second in a line."""
    parts = [time.strftime("%H:%M:%S")]
    for one in _directions(state.history):
        longest = one.trains_now.packets_max
        parts.append(
            f"{one.name} {words.bits(one.abw_now)}, queue {words.size(one.max_q_now)}, "
            f"longest train "
            f"{longest:,}"
        )
    received, dropped = state.statistics["kernel_received"], state.statistics["kernel_dropped"]
    return " · ".join([*parts, f"{words.count(received)} received, {words.count(dropped)} dropped"])


def summary(state: State, paint: Paint) -> list[str]:
    """The summary at the end of the watch."""
    titles = ("mean rate", "max rate", "mean queue", "max queue", "windows", "packets")
    how = f"{_title(state)} · {_how(state.facts)}"
    lines = [
        line(("strong", how)),
        line(" " * _NAME + "".join(f"{title:>{_CELL}}" for title in titles)),
    ]
    for one in _directions(state.history):
        rates = [words.bits(one.abw_mean), words.bits(one.abw_max if one.windows else None)]
        cells = [
            *rates,
            words.size(one.max_q_mean),
            words.size(one.max_q_max),
            words.count(one.windows),
            words.count(one.packets),
        ]
        lines.append(line(f"{one.name:<{_NAME}}" + "".join(f"{cell:>{_CELL}}" for cell in cells)))
    worst = state.history.all.worst[:1]
    lines += [line("worst window: ", *_window(window)) for window in worst]
    lines.append(line(*_received(state.statistics)))
    lines += [line(text) for text in _asides(state.statistics)]
    file = state.statistics["file"]
    if file is not None:
        length = "" if file["bytes"] is None else f", {words.size(file['bytes'])}"
        lines.append(
            line(f"wrote {file['path']}: {words.counted(file['frames'], 'frame')}{length}")
        )
    return [one.cut(10_000, paint) for one in lines]
