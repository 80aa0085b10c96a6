"""What a transfer is drawn from, packet by packet, and what of it a few hundred pixels can show.

Columns lie in files and are mapped, not read: five million packets cost the memory of a picture. Of
each pixel the smallest and the largest value are found, so that no outlier is lost; where there are
no more packets than pixels, each is shown as it is, to the nanosecond.

Bias: packets whose timestamps jump back are drawn in the order of their timestamps.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trustbed.report.records import Json

Array: TypeAlias = npt.NDArray[Any]

MOST_PIXELS = 4096
MARKS = ("retransmission", "fill")
"""Classes of segments that are drawn one by one."""
_BARS = 240
"""Bars of the throughput in a view."""
_ABOUT = "about.json"


@dataclass(frozen=True)
class Points:
    """The columns of one transfer; times in nanoseconds since its first data packet.

    ``segments``: t, low, high (sequence offsets in bytes), acked, edge (of the receiver's window),
    flight, window, sent (bytes up to and with this segment), index, length, mark (0, or 1 and the
    place in :data:`MARKS`). ``marks``: the rows of ``segments`` with a mark. ``rtt``: t, seconds,
    echo (1: from the capture to the sender and back, by the timestamp option). ``pause``: t,
    seconds.
    """

    segments: Mapping[str, Array]
    marks: Array
    rtt: Mapping[str, Array]
    pause: Mapping[str, Array]

    @property
    def packets(self) -> int:
        """Data packets."""
        return len(self.segments["t"])

    @property
    def end(self) -> int:
        """The time of the last of anything."""
        return max(
            (int(one["t"][-1]) for one in (self.segments, self.rtt, self.pause) if len(one["t"])),
            default=0,
        )


def load(directory: Path) -> Points | None:
    """The points that :func:`write` put there; ``None`` if there are none."""
    try:
        about = json.loads((directory / _ABOUT).read_text(encoding="utf-8"))
        os.utime(directory)
    except (OSError, ValueError, RecursionError):
        return None

    def mapped(table: str) -> dict[str, Array]:
        return {
            name: np.memmap(directory / f"{table}.{name}", dtype=kind, mode="r")
            if size
            else np.empty(0, kind)
            for name, (kind, size) in about[table].items()
        }

    return Points(mapped("segments"), mapped("marks")["row"], mapped("rtt"), mapped("pause"))


def write(
    directory: Path,
    tables: Mapping[str, pa.RecordBatchReader],
    transfer: str,
    start_ns: int,
) -> None:
    """Writes the points of a transfer, completely or not at all.

    Args:
        directory: Where to; it must not exist.
        tables: ``segments``, ``rtt`` and ``spacing`` of its capture.
        transfer: Its name.
        start_ns: The time of its first data packet, since the epoch.
    """
    directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".points-") as draft:
        place = Path(draft) / "points"
        place.mkdir()
        makers = {"segments": _segments, "rtt": _rtt, "pause": _pauses}
        sources = {"segments": "segments", "rtt": "rtt", "pause": "spacing"}
        about: dict[str, dict[str, tuple[str, int]]] = {}
        for name, make in makers.items():
            parts = _own(tables[sources[name]], transfer)
            about[name] = _written(place, name, (make(part, start_ns) for part in parts))
        about["marks"] = _completed(place, about["segments"])
        (place / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
        try:
            place.rename(directory)
        except OSError:
            if not directory.is_dir():  # another process was first
                raise


def _own(reader: pa.RecordBatchReader, transfer: str) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        own = batch.filter(pc.equal(batch.column("transfer"), transfer))
        if own.num_rows:
            yield own


def _numbers(batch: pa.RecordBatch, name: str) -> Array:
    """A column as floats, unknown as NaN."""
    column = batch.column(name)
    floats = pc.fill_null(column.cast(pa.float64(), safe=False), float("nan"))
    found: Array = floats.to_numpy(zero_copy_only=False)
    return found


def _times(batch: pa.RecordBatch, start_ns: int) -> Array:
    found: Array = batch.column("ts_ns").cast(pa.int64()).to_numpy(zero_copy_only=False) - start_ns
    return found


def _segments(batch: pa.RecordBatch, start_ns: int) -> dict[str, Array]:
    low, length = _numbers(batch, "offset"), _numbers(batch, "length")
    classes = batch.column("class").to_pylist()
    marks = {name: number for number, name in enumerate(MARKS, start=1)}
    return {
        "t": _times(batch, start_ns),
        "low": low,
        "high": low + length,
        "flight": _numbers(batch, "outstanding"),
        "window": _numbers(batch, "window"),
        "length": length,
        "index": batch.column("index").cast(pa.int64()).to_numpy(zero_copy_only=False),
        "mark": np.array([marks.get(one, 0) for one in classes], np.uint8),
    }


def _rtt(batch: pa.RecordBatch, start_ns: int) -> dict[str, Array]:
    echo = pc.equal(batch.column("kind"), "timestamp").to_numpy(zero_copy_only=False)
    return {
        "t": _times(batch, start_ns),
        "seconds": _numbers(batch, "rtt_ns") / 1e9,
        "echo": echo.astype(np.uint8),
    }


def _pauses(batch: pa.RecordBatch, start_ns: int) -> dict[str, Array]:
    own = batch.filter(pc.is_valid(batch.column("spacing_ns")))
    return {"t": _times(own, start_ns), "seconds": _numbers(own, "spacing_ns") / 1e9}


_EMPTY = {
    "segments": ("t", "low", "high", "flight", "window", "length", "index", "mark"),
    "rtt": ("t", "seconds", "echo"),
    "pause": ("t", "seconds"),
}


def _written(
    place: Path, table: str, parts: Iterator[dict[str, Array]]
) -> dict[str, tuple[str, int]]:
    """Appends parts to the files of a table, in the order of time."""
    about = {name: ("<f8", 0) for name in _EMPTY[table]}
    for part in parts:
        for name, values in part.items():
            with (place / f"{table}.{name}").open("ab") as file:
                file.write(np.ascontiguousarray(values).data)
            about[name] = (values.dtype.str, about[name][1] + len(values))
    if about["t"][1]:
        times = np.memmap(place / f"{table}.t", dtype="<i8", mode="r")
        if np.any(times[1:] < times[:-1]):
            order = np.argsort(times, kind="stable")
            for name, (kind, _) in about.items():
                unsorted = place / f"{table}.{name}"
                np.fromfile(unsorted, kind)[order].tofile(unsorted)
    return about


def _completed(place: Path, about: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """Adds what follows from other columns; returns what is known of the rows with a mark."""
    size = about["t"][1]
    marked = np.empty(0, "<i8")
    if size:

        def of(name: str) -> Array:
            return np.memmap(place / f"segments.{name}", dtype=about[name][0], mode="r")

        acked = np.fmax.accumulate(of("high")) - of("flight")
        acked.tofile(place / "segments.acked")
        (acked + of("window")).tofile(place / "segments.edge")
        np.cumsum(of("length")).tofile(place / "segments.sent")
        marked = np.flatnonzero(of("mark")).astype("<i8")
        marked.tofile(place / "marks.row")
    about.update({name: ("<f8", size) for name in ("acked", "edge", "sent")})
    return {"row": ("<i8", len(marked))}


# What a view shows.


def view(points: Points, begin: int, end: int, pixels: int) -> Json:
    """What so many pixels show of a stretch of time.

    Args:
        points: The transfer.
        begin: In nanoseconds since its first data packet.
        end: Behind ``begin``.
        pixels: At most :data:`MOST_PIXELS`.

    Returns:
        ``sequence`` (t, low, high, acked, edge), ``flight`` (t, low, high, window),
        ``rtt`` and ``echo`` (t, low, high), ``pause`` (t, high), ``marks`` (t, low, high, kind),
        ``rate`` (t, bytes_per_second, and its ``step`` in nanoseconds); with ``exact`` true, each
        packet by itself and ``index`` and ``length`` in ``sequence``. Numbers in columns; unknown
        is null.
    """
    segments, edges = points.segments, np.linspace(begin, end, pixels + 1).astype(np.int64)
    first, last = np.searchsorted(segments["t"], (begin, end + 1))
    exact = last - first <= 2 * pixels
    if exact:
        cut = slice(first, last)
        taken = {name: values[cut] for name, values in segments.items()}
        sequence = {name: taken[name] for name in ("t", "low", "high", "acked", "edge")}
        sequence |= {name: taken[name] for name in ("index", "length")}
        flight = {"t": taken["t"], "low": taken["flight"], "high": taken["flight"]}
        flight["window"] = taken["window"]
    else:
        cells = _Cells.of(segments["t"], edges)
        sequence = {
            "t": cells.t,
            "low": cells.least(segments["low"]),
            "high": cells.most(segments["high"]),
            "acked": cells.most(segments["acked"]),
            "edge": cells.most(segments["edge"]),
        }
        flight = {
            "t": cells.t,
            "low": cells.least(segments["flight"]),
            "high": cells.most(segments["flight"]),
            "window": cells.most(segments["window"]),
        }
    return {
        "exact": bool(exact),
        "packets": int(last - first),
        "sequence": _plain(sequence),
        "flight": _plain(flight),
        "marks": _plain(_marks(points, begin, end, pixels)),
        "rtt": _plain(_range(points.rtt, edges, echo=False)),
        "echo": _plain(_range(points.rtt, edges, echo=True)),
        "pause": _plain(_range(points.pause, edges)),
        "rate": _rate(points, begin, end),
    }


@dataclass(frozen=True)
class _Cells:
    """The pixels that have points: where each begins among them, and its middle."""

    t: Array
    first: int
    last: int
    starts: Array

    @classmethod
    def of(cls, times: Array, edges: Array) -> _Cells:
        bounds = np.searchsorted(times, edges)
        bounds[-1] = np.searchsorted(times, edges[-1], side="right")
        full = bounds[1:] > bounds[:-1]
        middles = edges[:-1] + np.diff(edges) // 2
        return cls(middles[full], int(bounds[0]), int(bounds[-1]), bounds[:-1][full] - bounds[0])

    def least(self, values: Array) -> Array:
        return self._reduced(np.fmin, values)

    def most(self, values: Array) -> Array:
        return self._reduced(np.fmax, values)

    def _reduced(self, function: Any, values: Array) -> Array:  # noqa: ANN401 - a ufunc
        if not len(self.starts):
            return np.empty(0)
        found: Array = function.reduceat(values[self.first : self.last], self.starts)
        return found


def _range(
    table: Mapping[str, Array], edges: Array, *, echo: bool | None = None
) -> dict[str, Array]:
    """The smallest and largest value of each pixel; each value by itself where they are few."""
    first, last = np.searchsorted(table["t"], (edges[0], edges[-1] + 1))
    times, values = table["t"][first:last], table["seconds"][first:last]
    if echo is not None:
        chosen = table["echo"][first:last] == echo
        times, values = times[chosen], values[chosen]
    if len(times) <= len(edges):
        return {"t": times, "low": values, "high": values}
    cells = _Cells.of(times, edges)
    return {"t": cells.t, "low": cells.least(values), "high": cells.most(values)}


def _marks(points: Points, begin: int, end: int, pixels: int) -> dict[str, Array]:
    """Retransmissions and fills: of each kind one for a pixel, the first one."""
    times = points.segments["t"]
    first, last = np.searchsorted(times, (begin, end + 1))
    rows = points.marks[slice(*np.searchsorted(points.marks, (first, last)))]
    kinds = points.segments["mark"][rows]
    if len(rows) > pixels:
        places = (times[rows] - begin) * pixels // max(1, end - begin)
        _, kept = np.unique(places * 4 + kinds, return_index=True)
        rows, kinds = rows[kept], kinds[kept]
    found = {name: points.segments[name][rows] for name in ("t", "low", "high", "index")}
    return found | {"kind": kinds}


def _rate(points: Points, begin: int, end: int) -> Json:
    """Bytes sent per second, retransmissions included, in bars of equal length."""
    edges = np.linspace(begin, end, _BARS + 1)
    sent = points.segments["sent"]
    places = np.searchsorted(points.segments["t"], edges)
    sums = np.where(places > 0, sent[np.maximum(places - 1, 0)], 0.0) if len(sent) else edges * 0
    step = (end - begin) / _BARS
    return {
        "step": step,
        **_plain({"t": edges[:-1], "bytes_per_second": np.diff(sums) / (step / 1e9)}),
    }


def _plain(columns: Mapping[str, Array]) -> dict[str, Sequence[Any]]:
    """Columns as JSON carries them: rounded to what a picture shows, unknown as null."""
    return {name: _listed(values) for name, values in columns.items()}


def _listed(values: Array) -> list[Any]:
    if values.dtype.kind != "f":
        return list(values.tolist())
    found = np.asarray(values)
    whole = found.astype(object)
    whole[~np.isfinite(found)] = None
    return list(whole)
