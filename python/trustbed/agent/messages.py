"""The messages to and from an agent: lines of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]
"""A line from an agent."""
Configuration: TypeAlias = Mapping[str, object]
"""The configuration of an agent."""
