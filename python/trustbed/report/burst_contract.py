"""The JSON Schema of ``trustbed burst --json``, made from the schemas of the tables.

``python -m trustbed.report.burst_contract`` writes ``burst_schema.json`` beside this file; a test holds the file against what is made here,
and the output of real captures against the file. What is added later does not break a reader that follows the schema: additional properties
are allowed everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from trustbed.question import Basis, Mode, Offload, Wavelet
from trustbed.report import burst_tables, schemas
from trustbed.report.json import SCHEMA_VERSION

HERE = Path(__file__).with_name("burst_schema.json")

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": ["number", "null"]}
_TRUTH: Schema = {"type": "boolean"}
_MOMENT: Schema = {"type": ["string", "null"], "format": "date-time"}


def _object(
    properties: Mapping[str, Schema],
    *,
    optional: frozenset[str] = frozenset(),
    nullable: bool = False,
) -> Schema:
    required = [name for name in properties if name not in optional]
    return {
        "type": ["object", "null"] if nullable else "object",
        "properties": dict(properties),
        "required": required,
    }


def _rows(schema: pa.Schema, *, without: frozenset[str] = frozenset({"stream"})) -> Schema:
    """A list of rows of a table."""
    properties = {field.name: _column(field) for field in schema if field.name not in without}
    return {"type": "array", "items": _object(properties)}


def _column(field: pa.Field) -> Schema:
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    unit = f" [{metadata['unit']}]" if metadata["unit"] not in ("", "1") else ""
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


def _numbers(*names: str) -> dict[str, Schema]:
    return dict.fromkeys(names, _NUMBER)


def _averages() -> dict[str, Schema]:
    return _numbers(
        "abw_mean_bits_per_second",
        "abw_max_bits_per_second",
        "max_q_mean_bytes",
        "max_q_max_bytes",
        "max_q_sys_mean_bytes",
        "max_q_sys_max_bytes",
    )


def _logscale() -> Schema:
    fit = _object(
        {
            **dict.fromkeys(("first", "last", "used"), _COUNT),
            **_numbers(
                "alpha", "alpha_low", "alpha_high", "hurst", "hurst_low", "hurst_high", "quality"
            ),
            "rejected": _TRUTH,
            "nonstationary": _TRUTH,
        },
        nullable=True,
    )
    octaves = _rows(burst_tables.SCHEMAS["energy"], without=frozenset({"stream", "wavelet"}))
    return _object(
        {
            "wavelet": {"enum": list(get_args(Wavelet))},
            "bin_seconds": _NUMBER,
            "octaves": octaves,
            "fit": fit,
        },
        nullable=True,
    )


def _energy() -> Schema:
    octaves = _rows(
        burst_tables.SCHEMAS["energy"], without=frozenset({"stream", "wavelet", "y", "low", "high"})
    )
    return _object(
        {"bin_seconds": _NUMBER, "counted": {"enum": ["bytes", "packets"]}, "octaves": octaves},
        nullable=True,
    )


def _pairs() -> Schema:
    return {
        "type": "array",
        "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    }


def _rates() -> Schema:
    peak = _object(_numbers("width_seconds", "bits_per_second", "start_seconds"))
    widths = _numbers("asked_bin_seconds", "bin_seconds", "longest_silence_seconds")
    return _object(
        {**widths, "points": _pairs(), "peaks": {"type": "array", "items": peak}}, nullable=True
    )


def _gaps() -> Schema:
    return _object(
        {
            **_numbers("mean_seconds", "p50_seconds", "p99_seconds", "max_seconds"),
            "cumulative": _pairs(),
        },
        nullable=True,
    )


def _trains() -> Schema:
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
    return _object(
        {"trains": _COUNT, **_numbers("gap_seconds", *packets, *times, "longest_start_seconds")},
        nullable=True,
    )


def _stream() -> dict[str, Schema]:
    """What is said of all packets, and of every stream."""
    summary = _object(
        {
            **dict.fromkeys(("windows", "active_windows", "partial_windows"), _COUNT),
            **_averages(),
            "active": _object(_averages()),
        },
        nullable=True,
    )
    return {
        "name": _TEXT,
        "packets": _COUNT,
        "bytes": _COUNT,
        "first": _MOMENT,
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
        "expanded_packets": _COUNT,
        "steps_back": _COUNT,
    }


def document() -> Schema:
    """The schema of the whole document."""
    about = {
        "version": _TEXT,
        "schema_version": {"const": SCHEMA_VERSION},
        "command": {"type": ["string", "null"]},
        "started": _MOMENT,
    }
    streams = {
        "streams": {"type": "array", "items": _object(_stream())},
        "streams_left_out": _COUNT,
        "streams_not_told_apart": _object({"packets": _COUNT, "bytes": _COUNT}),
    }
    parts = {
        "trustbed": _object(about),
        "capture": _object({"files": {"type": "array"}, "problems": {"type": "array"}}),
        **_stream(),
        "left_out": _object({"filtered": _COUNT, "without_ip": _COUNT}),
        **streams,
        "findings": _rows(schemas.FINDINGS),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trustbed burst --json",
        **_object(parts, optional=frozenset(streams)),
    }


def text() -> str:
    """The file's text."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    HERE.write_text(text(), encoding="utf-8")
