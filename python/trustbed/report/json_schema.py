"""Pieces of JSON Schemas, and how a schema is written: what fits on a line is on one."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trustbed.report.records import Json

TEXT: Json = {"type": "string"}
TEXTS: Json = {"type": "array", "items": TEXT}
COUNT: Json = {"type": "integer", "minimum": 0}
NUMBER: Json = {"type": ["number", "null"]}
TRUTH: Json = {"type": "boolean"}
MOMENT: Json = {"type": ["string", "null"], "format": "date-time"}
_WIDTH = 100


def object_of(
    properties: Mapping[str, Json],
    *,
    description: str | None = None,
    optional: frozenset[str] = frozenset(),
    nullable: bool = False,
) -> Json:
    """An object with these properties, all required except the optional ones."""
    return {
        "type": ["object", "null"] if nullable else "object",
        **({} if description is None else {"description": description}),
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
    }


def list_of(items: Json, **more: object) -> Json:
    """A list of such items."""
    return {"type": "array", "items": items, **more}


def document_of(title: str, object_schema: Json) -> Json:
    """The schema of a document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **object_schema,
    }


def about(schema_version: int) -> dict[str, Json]:
    """The properties of ``trustbed``: what made a document."""
    return {
        "version": TEXT,
        "schema_version": {"const": schema_version},
        "command": {"type": ["string", "null"]},
        "started": MOMENT,
    }


def written(value: object, margin: str = "") -> str:
    """The text of a schema."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + len(margin) <= _WIDTH or not isinstance(value, (dict, list)):
        return line
    inside = margin + " "
    if isinstance(value, list):
        items, ends = [written(item, inside) for item in value], "[]"
    else:
        items, ends = (
            [f"{json.dumps(key)}: {written(item, inside)}" for key, item in value.items()],
            "{}",
        )
    return f"{ends[0]}\n" + ",\n".join(inside + item for item in items) + f"\n{margin}{ends[1]}"
