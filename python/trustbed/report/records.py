"""Types of what a report emits: JSON objects, rows of tables, Vega-Lite specifications.

Inside a report the records are frozen dataclasses; these types stand where JSON, a template or
Vega-Lite takes over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object that is being put together."""
Row: TypeAlias = Mapping[str, Any]
"""A JSON object, or a row of a table under the names of the JSON contract. Read only."""
Rows: TypeAlias = list[dict[str, Any]]
"""Rows of a chart's data set."""
Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
