"""Keys as TOML text, for scenarios that were composed and not written by a person."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml(keys: Mapping[str, Any]) -> str:
    """The text of a table: values first, then tables, each with its heading.

    Raises:
        TypeError: A value that TOML does not have.
    """
    return "\n".join(_table(keys, ())).lstrip("\n") + "\n"


def inline(value: object) -> str:
    """A value, or a table in braces.

    Raises:
        TypeError: A value that TOML does not have.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # A JSON string is a basic string of TOML, but for DEL, which only TOML escapes.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float, datetime.date, datetime.time)):
        return str(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(one) for one in value) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _table(keys: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    values = {key: value for key, value in keys.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in keys.items() if isinstance(value, Mapping)}
    if path and (values or not tables):
        yield ""
        yield f"[{'.'.join(map(_key, path))}]"
    for key, value in values.items():
        if isinstance(value, (list, tuple)) and any(isinstance(one, Mapping) for one in value):
            yield f"{_key(key)} = ["
            yield from (f"  {inline(one)}," for one in value)
            yield "]"
        else:
            yield f"{_key(key)} = {inline(value)}"
    for key, value in tables.items():
        yield from _table(value, (*path, key))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else inline(name)
