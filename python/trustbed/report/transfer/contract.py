"""The JSON Schema of ``--json``, made from the schemas of the tables.

``python -m trustbed.report.transfer.contract`` writes ``schema.json`` beside this file; a test
holds the file against what is made here, and the output of real captures against the file. Columns
that are added later do not break a reader that follows the schema: additional properties are
allowed everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.diagnose.time_budget import STATES
from trustbed.report import columns, schemas
from trustbed.report.json_schema import (
    COUNT,
    MOMENT,
    NUMBER,
    TEXT,
    TEXTS,
    TRUTH,
    about,
    document_of,
    list_of,
    object_of,
    written,
)
from trustbed.report.records import Json
from trustbed.report.transfer import rows
from trustbed.report.transfer.json import SCHEMA_VERSION, TOO_SHORT_COLUMNS

HERE = Path(__file__).with_name("schema.json")

#: The keys of every transfer in every version of this contract.
PROMISED = (
    "transfer",
    "connection",
    "src",
    "src_port",
    "dst",
    "dst_port",
    "at",
    "start",
    "duration_seconds",
    "packets",
    "payload_bytes",
    "unique_bytes",
    "retransmitted_packets",
    "retransmitted_bytes",
    "rtt_samples",
    "rtt_mean_seconds",
    "throughput_bytes_per_second",
    "long_pause_fraction",
    "idle_open_window_fraction",
    "cause",
    "confidence",
    "verdict",
    "rule",
    "verdict_flags",
    "headline",
    "verdict_words",
    "reasons",
    "causes",
    "alternatives",
    "next_step",
)


def engine_schemas() -> dict[str, pa.Schema]:
    """The schemas of the tables that the engine fills."""
    from trustbed import _core

    return {
        name: pa.RecordBatchReader.from_stream(table).schema
        for name, table in _core.schemas().items()
    }


def document(tables: Mapping[str, pa.Schema]) -> Json:
    """The schema of the whole document."""
    transfers = _row(pa.schema([*tables["transfers"], *schemas.VERDICT_FIELDS]))
    transfers["properties"].update(_words())
    transfers["properties"]["cause"]["enum"] = list(CAUSES)
    transfers["properties"]["verdict"]["enum"] = list(VERDICTS)
    transfers["required"] = list(PROMISED)
    problem = {"type": "object", "required": ["code", "file", "offset", "record", "detail"]}
    parts = {
        "trustbed": object_of(about(SCHEMA_VERSION), description="What made this document."),
        "summary": _summary(),
        "capture": object_of(
            {"files": list_of({"type": "object"}), "problems": list_of(problem)},
            description="What is known about the capture as a whole; a missing key is unknown.",
        ),
        "findings": _table("findings", _row(schemas.FINDINGS)),
        "skips": _table("skips", _row(schemas.SKIPS)),
        "transfers": {
            **_table("transfers", transfers),
            "description": "One object per transfer that is long enough to judge.",
        },
        "transfers_too_short": _too_short(tables["transfers"]),
        "connections": _table("connections", _row(tables["connections"])),
    }
    more = {
        "burstiness": {
            "type": "object",
            "description": "With --burst: see report/burst/schema.json.",
        },
        "two_point": _both_ends(tables["two_point"]),
    }
    whole = object_of({**parts, **more}, optional=frozenset(more))
    return document_of("trustbed analyze --json", whole)


def _both_ends(two_point: pa.Schema) -> Json:
    clocks = {
        "ahead_seconds": {"type": "number"},
        "ahead_error_seconds": {"type": "number"},
        **dict.fromkeys(("skew", "skew_error", "clock_slew_seconds"), NUMBER),
        "stated": TRUTH,
        "frames": COUNT,
    }
    counts = list_of(COUNT, minItems=2, maxItems=2)
    properties = {
        "captures": list_of(TEXTS),
        "clocks": object_of(clocks),
        "frames": counts,
        "without_capture_point": counts,
        "dropped": counts,
        "findings": list_of(_row(schemas.FINDINGS)),
        "two_point": _table("two_point", _row(two_point)),
    }
    return object_of(
        properties, description="With --sender and --receiver: the two captures joined."
    )


def _too_short(transfers: pa.Schema) -> Json:
    schema = pa.schema([transfers.field(name) for name in TOO_SHORT_COLUMNS])
    properties = _row(schema)["properties"]
    names = [name for field in schema for name in columns.text_names(field)]
    row = {
        "type": "array",
        "prefixItems": [properties[name] for name in names],
        "minItems": len(names),
    }
    return object_of(
        {
            "columns": {"type": "array", "prefixItems": [{"const": name} for name in names]},
            "rows": list_of(row),
        },
        description=(
            "The transfers that are too short to judge, each an array of the columns named: "
            "their verdict is not_judged, their cause insufficient."
        ),
    )


def _summary() -> Json:
    by_verdict = {
        "type": "object",
        "properties": dict.fromkeys(VERDICTS, COUNT),
        "required": sorted(VERDICTS),
    }
    properties = {
        **dict.fromkeys(("connections", "transfers", "judged", "not_judged"), COUNT),
        "verdicts": by_verdict,
        "causes": {"type": "object", "additionalProperties": COUNT},
        "worst_verdict": {"enum": ["discard", "review", "trust", None]},
    }
    return object_of(properties, description="Counts over all transfers.")


def _table(name: str, row: Json) -> Json:
    return {"type": "array", "description": schemas.ABOUT[name].replace("`", ""), "items": row}


def _words() -> Json:
    kinds: dict[str, Json] = {
        "reasons": TEXTS,
        "causes": {"type": "array", "items": TEXT, "minItems": 1},
        "alternatives": list_of(
            object_of(
                {
                    **dict.fromkeys(("cause", "hint", "settled_by"), TEXT),
                    "indeterminate": {"type": "boolean"},
                }
            )
        ),
        **dict.fromkeys(("expected_bytes_per_second", "expected_ratio"), NUMBER),
        "loss": NUMBER,
        "shares": object_of(
            {state: {"type": "number", "minimum": 0} for state in STATES}, nullable=True
        ),
        "without_stalls": {"type": ["string", "null"]},
    }
    return {
        name: {**kinds.get(name, TEXT), "description": meaning}
        for name, meaning in rows.WORDS.items()
    }


def _row(schema: pa.Schema) -> Json:
    properties: Json = {}
    for field in schema:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        for name in columns.text_names(field):
            kind = _kind(field, name)
            properties[name] = {**kind, "description": _described(metadata)}
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _described(metadata: Mapping[str, str]) -> str:
    unit = columns.text_unit(metadata.get("unit", ""))
    return metadata.get("meaning", "") + (f" [{unit}]" if unit not in ("", "1", "count") else "")


def _kind(field: pa.Field, name: str) -> Json:
    if pa.types.is_timestamp(field.type):
        return NUMBER if name.endswith("_seconds") else MOMENT
    if pa.types.is_list(field.type):
        numeric = not pa.types.is_string(field.type.value_type)
        return {"type": ["array", "null"], "items": {"type": "number" if numeric else "string"}}
    if pa.types.is_boolean(field.type):
        return {"type": ["boolean", "null"]}
    if pa.types.is_integer(field.type) and not field.name.endswith("_ns"):
        return {"type": ["integer", "null"]}
    if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
        return NUMBER
    return {"type": ["string", "null"]}


def text(tables: Mapping[str, pa.Schema]) -> str:
    """The file's text."""
    return written(document(tables)) + "\n"


if __name__ == "__main__":
    HERE.write_text(text(engine_schemas()), encoding="utf-8")
