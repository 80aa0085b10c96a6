"""The tables of burstiness as Arrow.

Every column's type, unit and meaning together, and the rows of a model.

A row names its stream: ``all packets``, or one of those that ``--by`` separates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.report import schemas
from trustbed.report.records import Row
from trustbed.report.schemas import column

Model: TypeAlias = Row

_F, _N, _T = pa.float64(), pa.uint64(), pa.string()
_STREAM = column("stream", _T, "", "all packets, or one of the streams that --by separates")
_RATE = column("rate_bits_per_second", _F, "bit/s", "rate of the link")
_WAITS = (
    column(
        "wait_mean_seconds",
        _F,
        "seconds",
        "mean time in the queue until the packet's own transmission begins, of packets not lost",
    ),
    column("wait_p50_seconds", _F, "seconds", "what half of them wait at most"),
    column("wait_p99_seconds", _F, "seconds", "what 99 % of them wait at most"),
    column("wait_max_seconds", _F, "seconds", "the longest wait"),
)

SCHEMAS: Mapping[str, pa.Schema] = {
    "windows": pa.schema(
        [
            _STREAM,
            column(
                "start_seconds",
                _F,
                "seconds",
                "where the (first) window begins, since the Unix epoch",
            ),
            column(
                "abw_bits_per_second", _F, "bit/s", "average rate: 8 · bytes / length of the window"
            ),
            column(
                "max_q_bytes",
                _F,
                "bytes",
                "burstiness: the most that a packet found waiting in front of it at the bottleneck",
            ),
            column(
                "max_q_sys_bytes",
                _F,
                "bytes",
                "the same with the packet itself: what a buffer would have to hold",
            ),
            column("packets", _N, "packets", "packets that arrived"),
            column(
                "rate_bits_per_second",
                _F,
                "bit/s",
                "rate of the bottleneck; null where it is not known",
            ),
            column(
                "partial",
                pa.bool_(),
                "",
                "whether the capture ends within the window, which is then in no mean or maximum",
            ),
            column(
                "windows",
                _N,
                "windows",
                "1, or how many windows without packets the row represents",
            ),
        ]
    ),
    "sigma": pa.schema(
        [
            _STREAM,
            _RATE,
            column(
                "sigma_bytes",
                _F,
                "bytes",
                "the smallest buffer in front of it that loses nothing; depth of a token "
                "bucket, σ(ρ)",
            ),
            column(
                "role",
                _T,
                "",
                "why this rate: grid, mean, twice the mean, link, fastest millisecond, given",
            ),
        ]
    ),
    "queue": pa.schema(
        [
            _STREAM,
            _RATE,
            column(
                "buffer_bytes",
                _N,
                "bytes",
                "what the queue holds at most, with the packet being sent",
            ),
            column("lost_packets", _N, "packets", "packets that did not fit"),
            column("lost_bytes", _N, "bytes", "their bytes"),
            column("loss_rate", _F, "1", "lost packets / packets"),
            column("loss_rate_bytes", _F, "1", "lost bytes / bytes"),
            column("loss_runs", _N, "1", "how often packets were lost in a row"),
            column("loss_run_mean", _F, "packets", "mean length of such a row"),
            column("loss_run_max", _N, "packets", "the longest"),
            *_WAITS,
        ]
    ),
    "delay": pa.schema(
        [
            _STREAM,
            _RATE,
            *_WAITS,
            column("buffer_needed_bytes", _F, "bytes", "the most that was ever in the queue"),
        ]
    ),
    "energy": pa.schema(
        [
            _STREAM,
            column("wavelet", _T, "", "haar, daubechies2 or daubechies3"),
            column("octave", _N, "1", "number of the octave, from 1"),
            column(
                "scale_seconds",
                _F,
                "seconds",
                "its time scale: the length of the blocks that are compared",
            ),
            column("count", _N, "1", "how many coefficients"),
            column(
                "energy", _F, "log2", "log2 of the mean of their squares; null where nothing varies"
            ),
            column(
                "y",
                _F,
                "log2",
                "the same without the bias of a logarithm of a mean (logscale diagram only)",
            ),
            column("low", _F, "log2", "lower end of its 95 % interval"),
            column("high", _F, "log2", "upper end of its 95 % interval"),
        ]
    ),
    "rates": pa.schema(
        [
            _STREAM,
            column("since_seconds", _F, "seconds", "where the bin begins, since the first packet"),
            column(
                "bits_per_second",
                _F,
                "bit/s",
                "rate in the bin; silences stand with their first and last bin",
            ),
        ]
    ),
    "lost": pa.schema(
        [
            _STREAM,
            _RATE,
            column(
                "buffer_bytes",
                _N,
                "bytes",
                "what the queue holds at most, with the packet being sent",
            ),
            column(
                "frame",
                _N,
                "1",
                "number of the packet's record in the capture, as Wireshark counts; frames of "
                "a super-packet share one",
            ),
            column(
                "time_ns",
                pa.timestamp("ns", "UTC"),
                "ns",
                "when it came; where the clock stepped back, time goes on from where it was",
            ),
            column("length_bytes", pa.uint32(), "bytes", "its length, as --basis counts"),
        ]
    ),
}

ABOUT: Mapping[str, str] = {
    "windows": "One row per window, or per row of windows without packets.",
    "sigma": "One row per rate: how deep a buffer passes every packet.",
    "queue": "One row per rate and buffer: what a drop-tail queue would have lost.",
    "delay": "One row per rate: how long packets wait where nothing is lost.",
    "energy": "One row per octave of the energy plot (`haar`) and of the logscale diagram.",
    "rates": "Rate over time, in bins of `--bin`, wider where these would be more than 2000.",
    "lost": (
        "One row per queue of `burst_queue` and packet that it loses, in order of time. Written "
        "with `--lost`."
    ),
}

TABLES = tuple(name for name in SCHEMAS if name != "lost")
"""The tables that come from models; lost packets are too many for a model."""


def table(name: str, models: Sequence[Model]) -> pa.Table:
    """The rows of all models."""
    if name not in TABLES:
        raise ValueError(f"no table {name!r}: {', '.join(TABLES)}")

    def plain(model: Model) -> Iterator[Row]:
        return iter(model[name] or ())

    rows = _ROWS.get(name, plain)
    return schemas.from_rows(
        ({"stream": model["name"], **row} for model in models for row in rows(model)), SCHEMAS[name]
    )


def lost(model: Model, queue: Model, packets: pa.Table) -> pa.Table:
    """The rows of ``lost`` for a queue of a model.

    ``packets`` has ``frame`` (0: not known), ``time_ns`` and ``length``.
    """
    frames = packets["frame"]
    rows = len(packets)
    columns = [
        pa.repeat(pa.scalar(model["name"]), rows),
        pa.repeat(pa.scalar(queue["rate_bits_per_second"], _F), rows),
        pa.repeat(pa.scalar(queue["buffer_bytes"], _N), rows),
        pc.if_else(pc.equal(frames, 0), None, frames),
        packets["time_ns"],
        packets["length"],
    ]
    return pa.table(columns, schema=SCHEMAS["lost"])


def _energies(model: Model) -> Iterator[Row]:
    for octave in (model["energy"] or {}).get("octaves", ()):
        yield {**octave, "wavelet": "haar"}
    logscale = model["logscale"] or {}
    for octave in logscale.get("octaves", ()):
        yield {**octave, "wavelet": logscale["wavelet"]}


def _rates(model: Model) -> Iterator[Row]:
    for since, rate in (model["rates"] or {}).get("points", ()):
        yield {"since_seconds": since, "bits_per_second": rate}


_ROWS: Mapping[str, Callable[[Model], Iterator[Row]]] = {"energy": _energies, "rates": _rates}
