"""From the columns of a capture to the model of its burstiness.

It chooses the rates, buffers and links, and their names.

The engine measures; this module decides what. Rates not given follow from the traffic: links on
which it would be so many percent of the load, and buffers up to the one that loses nothing.

The model is what ``trustbed burst --json`` prints (docs/json.md), plain dictionaries and lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from trustbed import _core
from trustbed.analysis.options import BurstOptions
from trustbed.errors import TrustbedError
from trustbed.report.moments import iso
from trustbed.report.records import Json

Model: TypeAlias = Json
Progress: TypeAlias = Callable[[int, int | None], object]

ALL = "all packets"
FASTEST = 10_000_000_000_000
"""10 Tbit/s: what the engine's exact arithmetic was sized for."""
LOADS = (0.98, 0.95, 0.9, 0.8, 0.65, 0.5, 0.25)
"""Delay is shown for links on which the traffic would be so much of the load."""
SWEPT_LOADS = (0.8, 0.5)
"""And loss against buffer for these."""
BUFFERS = 8
"""So many buffers, each twice the one before; the largest loses nothing at any of the rates."""
SMALLEST_BUFFER = 2048
"""A buffer that does not hold one full frame loses all of them."""
MOST_WINDOWS = 1_000_000
"""Rows of windows that are made at most."""
MOST_POINTS = 2000
MOST_LOST = 20_000_000
"""Rows of lost packets that are made at most: some 500 MB."""
TRAIN_GAP = 100_000
"""Nanoseconds: a longer gap ends a train. See ``Trains::GAP`` of the engine for why."""


class TooManyWindows(TrustbedError, ValueError):
    """More windows than a reader can use: the window is too short for the capture."""

    def __init__(self, window: int, rows: int) -> None:
        message = (
            f"windows of {window / 1e6:g} ms would be up to {rows:,} rows, more than "
            f"{MOST_WINDOWS:,}"
        )
        longer = _rounded_up(window * rows // MOST_WINDOWS)
        super().__init__(message, f"give a longer --window, such as {longer}")


class TooManyLost(TrustbedError, ValueError):
    """More lost packets than a reader can use."""

    def __init__(self, lost: int) -> None:
        message = (
            f"the queues lose {lost:,} packets in all, more than the {MOST_LOST:,} that are listed"
        )
        hint = "name fewer queues (--rate 40Mbit/s --buffer 64KiB) or packets (--filter)"
        super().__init__(message, hint)


def _rounded_up(nanoseconds: int) -> str:
    step = next(
        (step for step in (10**power for power in range(3, 19)) if step >= nanoseconds), 10**9
    )
    return (
        f"{step // 10**9}s"
        if step >= 10**9
        else f"{step // 10**6}ms"
        if step >= 10**6
        else f"{step // 1000}us"
    )


class Studied:
    """The packets of a capture, or of one of its streams, and how they are measured."""

    def __init__(
        self,
        arrivals: _core.Arrivals,
        options: BurstOptions,
        *,
        stream: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._arrivals = arrivals
        self._options = options
        self._shared: Json = {
            "stream": stream,
            "workers": options.workers,
            "progress": progress,
        }

    def model(self, name: str) -> Model:
        """All requested results for these packets."""
        options, measures = self._options, self._options.measures
        self._refuse_too_many_windows()
        found = self._study()
        first, last = found["first_ns"], found["last_ns"]
        duration = 0 if first is None else last - first
        mean = found["bytes"] * 8e9 / duration if duration else None
        depths, delays, queues = self._against_rates(mean, found)
        rates = found.get("rates") if "rates" in measures else None
        return {
            "name": name,
            "packets": found["packets"],
            "bytes": found["bytes"],
            "first": None if first is None else iso(first),
            "first_seconds": None if first is None else first / 1e9,
            "last_seconds": None if last is None else last / 1e9,
            "duration_seconds": None if first is None else duration / 1e9,
            "mean_rate_bits_per_second": mean,
            "basis": options.basis,
            "mode": options.mode,
            "rate_bits_per_second": options.rate,
            "link_rate_bits_per_second": options.link_rate,
            "window_seconds": options.window / 1e9,
            "align": options.align,
            "offload": options.offload,
            "windows": _rows(found.get("windows")),
            "summary": found.get("summary"),
            "sigma": depths,
            "queue": queues,
            "delay": delays,
            "energy": found.get("energy"),
            "logscale": found.get("logscale"),
            "rates": rates,
            "gaps": found.get("gaps"),
            "trains": found.get("trains"),
        }

    def lost(self, queue: Model) -> pa.Table:
        """The packets that a queue of the model loses.

        ``frame`` (0 where it is not known), ``time_ns`` and ``length``.
        """
        options = {name: self._shared[name] for name in ("stream", "progress")}
        columns = self._arrivals.lost(
            queue["rate_bits_per_second"], queue["buffer_bytes"], **options
        )
        kinds = {"frame": pa.uint64(), "time_ns": pa.timestamp("ns", "UTC"), "length": pa.uint32()}
        rows = {
            name: pa.Array.from_buffers(
                kind, len(column) * 8 // kind.bit_width, [None, pa.py_buffer(column)]
            )
            for (name, kind), column in zip(kinds.items(), columns, strict=True)
        }
        return pa.table(rows)

    def _study(self) -> Json:
        options, measures = self._options, self._options.measures
        ends = self._arrivals.ends
        request = {
            "mode": options.mode if "windows" in measures else None,
            "rate": options.rate,
            "window_ns": options.window,
            "origin_ns": ends[0] if options.align == "first" and ends else None,
            "counted": options.count if "energy" in measures else None,
            "bin_ns": options.bin,
            "wavelet": options.wavelet,
            "octaves": options.octaves,
            "rates": bool(measures & {"rates", "sigma"}),
            "gaps": "gaps" in measures,
            "train_gap_ns": TRAIN_GAP if "trains" in measures else None,
            "points": MOST_POINTS,
        }
        return self._arrivals.study(request, **self._shared)

    def _refuse_too_many_windows(self) -> None:
        ends = self._arrivals.ends
        if ends is None or "windows" not in self._options.measures:
            return
        # Windows without packets in a row are one row, so there are at most two rows for a packet.
        rows = min((ends[1] - ends[0]) // self._options.window + 2, 2 * self._arrivals.packets)
        if rows > MOST_WINDOWS:
            raise TooManyWindows(self._options.window, rows)

    def _against_rates(
        self, mean: float | None, found: Json
    ) -> tuple[list[Model], list[Model], list[Model]]:
        """σ, delays and losses."""
        options = self._options
        queue_wanted = "queue" in options.measures
        roles = _sigma_rates(options, mean, _fastest(found)) if "sigma" in options.measures else {}
        swept = _swept(options, mean) if queue_wanted else []
        links = sorted({*swept, *_links(mean)}) if queue_wanted else []
        grid = list(roles)
        depths, unlimited = self._arrivals.load(
            grid, [(rate, None) for rate in links], **self._shared
        )
        sigma = [_point(rate, depth, roles[rate]) for rate, depth in zip(grid, depths, strict=True)]
        endless = dict(zip(links, unlimited, strict=True))
        return sigma, [_delay(endless[rate]) for rate in links], self._losses(swept, endless)

    def _losses(self, swept: Sequence[int], endless: dict[int, Model]) -> list[Model]:
        """A queue for every rate and buffer.

        One that never fills does what an endless one does, and is not run again.
        """
        needed = max((endless[rate]["deepest_bytes"] for rate in swept), default=0.0)
        buffers = self._options.buffers or _buffers(needed)
        pairs = [(rate, buffer) for rate in swept for buffer in buffers]
        run = [(rate, buffer) for rate, buffer in pairs if buffer < endless[rate]["deepest_bytes"]]
        _, queues = self._arrivals.load([], run, **self._shared)
        losing = dict(zip(run, queues, strict=True))
        return [
            _loss({**(losing.get(pair) or endless[pair[0]]), "buffer_bytes": pair[1]})
            for pair in pairs
        ]


def _fastest(found: Json) -> int | None:
    """The highest rate over a millisecond: a lower bound of an unknown link rate."""
    peaks = (found.get("rates") or {}).get("peaks") or ()
    rate = next(
        (
            peak["bits_per_second"]
            for peak in peaks
            if round(peak["width_seconds"] * 1e9) == 1_000_000
        ),
        None,
    )
    return min(_core.three_digits(rate), FASTEST) if rate else None


def _sigma_rates(options: BurstOptions, mean: float | None, fastest: int | None) -> dict[int, str]:
    """The rates of σ(ρ), rising, each with its meaning."""
    link = options.link_rate or fastest
    given = {rate: "given" for rate in (options.rate, *(options.rates or ())) if rate}
    if not mean or not link:
        return dict(sorted(given.items()))
    grid = [min(rate, FASTEST) for rate in _core.default_rates(mean, link)]
    named = {
        link: "link" if options.link_rate else "fastest millisecond",
        _at_load(mean, 0.5): "twice the mean",
        _at_load(mean, 1.0): "mean",
    }
    return dict(sorted({**dict.fromkeys(grid, "grid"), **given, **named}.items()))


def _at_load(mean: float, load: float) -> int:
    """The rate of a link on which the traffic is so much of the load."""
    return int(min(_core.three_digits(mean / load), FASTEST))


def _links(mean: float | None) -> Iterable[int]:
    return [_at_load(mean, load) for load in LOADS] if mean else ()


def _swept(options: BurstOptions, mean: float | None) -> list[int]:
    """The rates at which buffers are swept: those given, or those of some loads."""
    named = options.rates or ((options.rate,) if options.rate else ())
    named = named or ((options.link_rate,) if options.link_rate else ())
    return (
        sorted(set(named))
        if named
        else sorted({_at_load(mean, load) for load in SWEPT_LOADS})
        if mean
        else []
    )


def _buffers(needed: float) -> list[int]:
    largest = SMALLEST_BUFFER
    while largest < needed:
        largest *= 2
    sizes = [largest >> halvings for halvings in reversed(range(BUFFERS))]
    return [size for size in sizes if size >= SMALLEST_BUFFER]


def _rows(columns: dict[str, list[Any]] | None) -> list[Model]:
    if columns is None:
        return []
    names = [name for name in columns if name != "start_ns"]
    return [
        dict(zip(names, row, strict=True))
        for row in zip(*(columns[name] for name in names), strict=True)
    ]


def _point(rate: int, depth: float, role: str) -> Model:
    return {"rate_bits_per_second": rate, "sigma_bytes": depth, "role": role}


_WAITS = ("wait_mean_seconds", "wait_p50_seconds", "wait_p99_seconds", "wait_max_seconds")


def _delay(queue: Model) -> Model:
    measures = {name: queue[name] for name in ("rate_bits_per_second", *_WAITS)}
    return {**measures, "buffer_needed_bytes": queue["deepest_bytes"]}


def _loss(queue: Model) -> Model:
    return {name: value for name, value in queue.items() if name != "deepest_bytes"}
