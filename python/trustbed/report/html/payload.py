"""The chart data of a page.

Every specification and every data set once, in columns, numbers no longer than a picture needs.

``Payload.add`` takes a finished chart and returns its number; a chart whose specification or data
is already there costs a few bytes. ``text`` is JSON that is safe inside a ``<script>`` element.
"""

from __future__ import annotations

import json
import math
from typing import Any

from trustbed.report.charts.palette import with_properties
from trustbed.report.records import Json, Row

DIGITS = 6
"""Significant digits of a floating-point number.

A pixel of a chart is a thousandth of its width.
"""

BY_THE_PAGE = frozenset({"$schema", "description", "config", "params", "datasets"})
"""What the page sets itself, chart by chart."""


def columns(rows: list[Json]) -> Json:
    """Rows as columns; words become numbers with a list of levels, other numbers are rounded."""
    if not rows:
        return {}
    return {name: _column([row[name] for row in rows]) for name in rows[0]}


def _column(values: list[Any]) -> Any:  # noqa: ANN401 - numbers, or levels with codes
    if any(isinstance(value, str) for value in values):
        levels = list(dict.fromkeys(values))
        codes = {level: code for code, level in enumerate(levels)}
        return {"levels": levels, "codes": [codes[value] for value in values]}
    return [_rounded(value) for value in values]


def _rounded(value: float | None) -> float | int | None:
    if value is None or isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short


class Payload:
    """Charts collected for one page."""

    def __init__(self) -> None:
        self._specs: dict[str, int] = {}
        self._data: dict[str, int] = {}
        self._charts: list[Json] = []
        self._size = 0

    @property
    def size_bytes(self) -> int:
        """The approximate length of :meth:`text`."""
        return self._size

    def add(self, spec: Row) -> int:
        """Takes a chart of :mod:`trustbed.report.charts`; returns its number on the page."""
        params = {param["name"]: _rounded(param["value"]) for param in spec.get("params", ())}
        data = {
            name: self._once(self._data, columns(rows)) for name, rows in spec["datasets"].items()
        }
        bare = {name: value for name, value in spec.items() if name not in BY_THE_PAGE}
        bare["params"] = [{"name": name} for name in params]
        chart = {
            "spec": self._once(self._specs, with_properties(bare)),
            "params": params,
            "data": data,
        }
        self._charts.append(chart)
        self._size += len(_json(chart))
        return len(self._charts) - 1

    def _once(self, store: dict[str, int], value: Any) -> int:  # noqa: ANN401 - any JSON value
        text = _json(value)
        if text not in store:
            store[text] = len(store)
            self._size += len(text) + 1
        return store[text]

    def text(self) -> str:
        """The payload as JSON, without anything that could end a script element."""
        specs, data = ",".join(self._specs), ",".join(self._data)
        joined = f'{{"specs":[{specs}],"data":[{data}],"charts":{_json(self._charts)}}}'
        return (
            joined.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        )


def _json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
