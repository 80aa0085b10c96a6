"""The JSON Schema of ``trustbed burst --json``, made from the schemas of the tables.

``python -m trustbed.report.burst.contract`` writes ``schema.json`` beside this file; a test holds
the file against what is made here, and the output of real captures against the file. What is added
later does not break a reader that follows the schema: additional properties are allowed everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pyarrow as pa

from trustbed.analysis.options import Basis, Mode, Offload, Wavelet
from trustbed.report import schemas
from trustbed.report.burst import tables as burst_tables
from trustbed.report.burst.json import SCHEMA_VERSION
from trustbed.report.json_schema import (
    COUNT,
    MOMENT,
    NUMBER,
    TEXT,
    TRUTH,
    about,
    document_of,
    list_of,
    object_of,
    written,
)
from trustbed.report.records import Json

HERE = Path(__file__).with_name("schema.json")


def _rows(schema: pa.Schema, *, without: frozenset[str] = frozenset({"stream"})) -> Json:
    """A list of rows of a table."""
    properties = {field.name: _column(field) for field in schema if field.name not in without}
    return list_of(object_of(properties))


def _column(field: pa.Field) -> Json:
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    unit = f" [{metadata['unit']}]" if metadata["unit"] not in ("", "1", "count") else ""
    integer, truth = pa.types.is_integer(field.type), pa.types.is_boolean(field.type)
    kind = (
        "boolean"
        if truth
        else "integer"
        if integer
        else "number"
        if pa.types.is_floating(field.type)
        else "string"
    )
    return {"type": [kind, "null"], "description": metadata["meaning"] + unit}


def _numbers(*names: str) -> dict[str, Json]:
    return dict.fromkeys(names, NUMBER)


def _averages() -> dict[str, Json]:
    return _numbers(
        "abw_mean_bits_per_second",
        "abw_max_bits_per_second",
        "max_q_mean_bytes",
        "max_q_max_bytes",
        "max_q_sys_mean_bytes",
        "max_q_sys_max_bytes",
    )


def _logscale() -> Json:
    fit = object_of(
        {
            **dict.fromkeys(("first", "last", "used"), COUNT),
            **_numbers(
                "alpha", "alpha_low", "alpha_high", "hurst", "hurst_low", "hurst_high", "quality"
            ),
            "rejected": TRUTH,
            "nonstationary": TRUTH,
        },
        nullable=True,
    )
    octaves = _rows(burst_tables.SCHEMAS["energy"], without=frozenset({"stream", "wavelet"}))
    return object_of(
        {
            "wavelet": {"enum": list(get_args(Wavelet))},
            "bin_seconds": NUMBER,
            "octaves": octaves,
            "fit": fit,
        },
        nullable=True,
    )


def _energy() -> Json:
    octaves = _rows(
        burst_tables.SCHEMAS["energy"], without=frozenset({"stream", "wavelet", "y", "low", "high"})
    )
    return object_of(
        {"bin_seconds": NUMBER, "counted": {"enum": ["bytes", "packets"]}, "octaves": octaves},
        nullable=True,
    )


def _pairs() -> Json:
    return list_of(list_of({"type": "number"}, minItems=2, maxItems=2))


def _rates() -> Json:
    peak = object_of(_numbers("width_seconds", "bits_per_second", "start_seconds"))
    widths = _numbers("asked_bin_seconds", "bin_seconds", "longest_silence_seconds")
    return object_of({**widths, "points": _pairs(), "peaks": list_of(peak)}, nullable=True)


def _gaps() -> Json:
    return object_of(
        {
            **_numbers("mean_seconds", "p50_seconds", "p99_seconds", "max_seconds"),
            "cumulative": _pairs(),
        },
        nullable=True,
    )


def _trains() -> Json:
    times = [
        f"{what}_{which}_seconds"
        for what in ("duration", "spacing", "pause")
        for which in ("mean", "p50", "p99", "max")
    ]
    packets = (
        "packets_mean",
        "packets_p50",
        "packets_p99",
        "packets_max",
        "bytes_mean",
        "bytes_max",
    )
    return object_of(
        {"trains": COUNT, **_numbers("gap_seconds", *packets, *times, "longest_start_seconds")},
        nullable=True,
    )


def _stream() -> dict[str, Json]:
    """The results for all packets, and for every stream."""
    summary = object_of(
        {
            **dict.fromkeys(("windows", "active_windows", "partial_windows"), COUNT),
            **_averages(),
            "active": object_of(_averages()),
        },
        nullable=True,
    )
    return {
        "name": TEXT,
        "packets": COUNT,
        "bytes": COUNT,
        "first": MOMENT,
        **_numbers(
            "first_seconds", "last_seconds", "duration_seconds", "mean_rate_bits_per_second"
        ),
        "basis": {"enum": list(get_args(Basis))},
        "mode": {"enum": list(get_args(Mode))},
        **_numbers("rate_bits_per_second", "link_rate_bits_per_second", "window_seconds"),
        "align": {"enum": ["epoch", "first"]},
        "offload": {"enum": list(get_args(Offload))},
        "windows": _rows(burst_tables.SCHEMAS["windows"]),
        "summary": summary,
        "sigma": _rows(burst_tables.SCHEMAS["sigma"]),
        "queue": _rows(burst_tables.SCHEMAS["queue"]),
        "delay": _rows(burst_tables.SCHEMAS["delay"]),
        "energy": _energy(),
        "logscale": _logscale(),
        "rates": _rates(),
        "gaps": _gaps(),
        "trains": _trains(),
        "expanded_packets": COUNT,
        "steps_back": COUNT,
    }


def document() -> Json:
    """The schema of the whole document."""
    streams = {
        "streams": list_of(object_of(_stream())),
        "streams_left_out": COUNT,
        "streams_not_told_apart": object_of({"packets": COUNT, "bytes": COUNT}),
    }
    parts = {
        "trustbed": object_of(about(SCHEMA_VERSION)),
        "capture": object_of({"files": {"type": "array"}, "problems": {"type": "array"}}),
        **_stream(),
        "left_out": object_of({"filtered": COUNT, "without_ip": COUNT}),
        **streams,
        "findings": _rows(schemas.FINDINGS),
    }
    return document_of("trustbed burst --json", object_of(parts, optional=frozenset(streams)))


def text() -> str:
    """The file's text."""
    return written(document()) + "\n"


if __name__ == "__main__":
    HERE.write_text(text(), encoding="utf-8")
