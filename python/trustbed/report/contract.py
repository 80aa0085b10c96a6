"""The JSON Schema of ``--json``, made from the schemas of the tables.

``python -m trustbed.report.contract`` writes ``schema.json`` beside this file; a test holds the file against what is made here, and
the output of real captures against the file. Columns that are added later do not break a reader that follows the schema: additional
properties are allowed everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.report import columns, rows, schemas
from trustbed.report.json import SCHEMA_VERSION

HERE = Path(__file__).with_name("schema.json")

#: What every transfer carries in every version of this contract.
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
    "oversize_fraction",
    "withheld_fraction",
    "cause",
    "confidence",
    "verdict",
    "rule",
    "verdict_flags",
    "headline",
    "verdict_words",
    "reasons",
    "alternatives",
    "next_step",
)

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_TEXTS: Schema = {"type": "array", "items": _TEXT}


def engine_schemas() -> dict[str, pa.Schema]:
    """The schemas of the tables that the engine fills."""
    from trustbed import _core

    return {
        name: pa.RecordBatchReader.from_stream(table).schema
        for name, table in _core.schemas().items()
    }


def document(tables: Mapping[str, pa.Schema]) -> Schema:
    """The schema of the whole document."""
    transfers = _row(pa.schema([*tables["transfers"], *schemas.VERDICT_FIELDS]))
    transfers["properties"].update(_words())
    transfers["properties"]["cause"]["enum"] = list(CAUSES)
    transfers["properties"]["verdict"]["enum"] = list(VERDICTS)
    transfers["required"] = list(PROMISED)
    parts = {
        "trustbed": _about(),
        "summary": _summary(),
        "capture": {
            "type": "object",
            "description": "What is known about the capture as a whole; a missing key is unknown.",
            "properties": {
                "files": {"type": "array", "items": {"type": "object"}},
                "problems": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["code", "file", "offset", "record", "detail"],
                    },
                },
            },
            "required": ["files", "problems"],
        },
        "findings": _table("findings", _row(schemas.FINDINGS)),
        "skips": _table("skips", _row(schemas.SKIPS)),
        "transfers": _table("transfers", transfers),
        "connections": _table("connections", _row(tables["connections"])),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trustbed analyze --json",
        "type": "object",
        "properties": {
            **parts,
            "burstiness": {"type": "object", "description": "With --burst: see burst_schema.json."},
            "both_ends": _both_ends(tables["crossings"]),
        },
        "required": list(parts),
    }


def _both_ends(crossings: pa.Schema) -> Schema:
    clocks = {
        "ahead_seconds": {"type": "number"},
        "ahead_error_seconds": {"type": "number"},
        "skew": {"type": ["number", "null"]},
        "skew_error": {"type": ["number", "null"]},
        "steered_seconds": {"type": ["number", "null"]},
        "stated": {"type": "boolean"},
        "frames": _COUNT,
    }
    counts: Schema = {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2}
    properties = {
        "captures": {"type": "array", "items": _TEXTS},
        "clocks": {"type": "object", "properties": clocks, "required": list(clocks)},
        "frames": counts,
        "placeless": counts,
        "dropped": counts,
        "findings": {"type": "array", "items": _row(schemas.FINDINGS)},
        "crossings": _table("crossings", _row(crossings)),
    }
    return {
        "type": "object",
        "description": "With --sender and --receiver: the two captures joined.",
        "properties": properties,
        "required": list(properties),
    }


def _about() -> Schema:
    properties = {
        "version": _TEXT,
        "schema_version": {"const": SCHEMA_VERSION},
        "command": {"type": ["string", "null"]},
        "started": {"type": ["string", "null"], "format": "date-time"},
    }
    return {
        "type": "object",
        "description": "What made this document.",
        "properties": properties,
        "required": list(properties),
    }


def _summary() -> Schema:
    by_verdict = {
        "type": "object",
        "properties": dict.fromkeys(VERDICTS, _COUNT),
        "required": sorted(VERDICTS),
    }
    properties = {
        "connections": _COUNT,
        "transfers": _COUNT,
        "judged": _COUNT,
        "not_judged": _COUNT,
        "verdicts": by_verdict,
        "causes": {"type": "object", "additionalProperties": _COUNT},
        "worst_verdict": {"enum": ["discard", "review", "trust", None]},
    }
    return {
        "type": "object",
        "description": "Counts over all transfers.",
        "properties": properties,
        "required": list(properties),
    }


def _table(name: str, row: Schema) -> Schema:
    return {"type": "array", "description": schemas.ABOUT[name].replace("`", ""), "items": row}


def _words() -> Schema:
    kinds: dict[str, Schema] = {
        "reasons": _TEXTS,
        "alternatives": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": dict.fromkeys(("cause", "hint", "settled_by"), _TEXT),
                "required": ["cause", "hint", "settled_by"],
            },
        },
        "expected_bytes_per_second": {"type": ["number", "null"]},
        "expected_ratio": {"type": ["number", "null"]},
        "without_stalls": {"type": ["string", "null"]},
    }
    return {
        name: {**kinds.get(name, _TEXT), "description": meaning}
        for name, meaning in rows.WORDS.items()
    }


def _row(schema: pa.Schema) -> Schema:
    properties: Schema = {}
    for field in schema:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        for name in columns.text_names(field):
            kind = _kind(field, name)
            properties[name] = {**kind, "description": _described(metadata)}
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _described(metadata: Mapping[str, str]) -> str:
    unit = columns.text_unit(metadata.get("unit", ""))
    return metadata.get("meaning", "") + (f" [{unit}]" if unit not in ("", "1") else "")


def _kind(field: pa.Field, name: str) -> Schema:
    if pa.types.is_timestamp(field.type):
        return (
            {"type": ["number", "null"]}
            if name.endswith("_seconds")
            else {"type": ["string", "null"], "format": "date-time"}
        )
    if pa.types.is_list(field.type):
        numeric = not pa.types.is_string(field.type.value_type)
        return {"type": ["array", "null"], "items": {"type": "number" if numeric else "string"}}
    if pa.types.is_boolean(field.type):
        return {"type": ["boolean", "null"]}
    if pa.types.is_integer(field.type) and not field.name.endswith("_ns"):
        return {"type": ["integer", "null"]}
    if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
        return {"type": ["number", "null"]}
    return {"type": ["string", "null"]}


def text(tables: Mapping[str, pa.Schema]) -> str:
    """The file's text."""
    return json.dumps(document(tables), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    HERE.write_text(text(engine_schemas()), encoding="utf-8")
