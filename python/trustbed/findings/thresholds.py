"""Thresholds as fields of a dataclass, each with its meaning and its source, and words with them.

A table of thresholds is a frozen dataclass whose fields are declared with :func:`value`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def value(default: float, meaning: str, source: str) -> Any:  # noqa: ANN401 - as dataclasses.field
    """A threshold: its value, what it means, and where it comes from."""
    return field(default=default, metadata={"meaning": meaning, "source": source})


_asdict: Callable[[Any], dict[str, float]] = lru_cache(maxsize=8)(asdict)
# Frozen: the same thresholds fill hundreds of sentences


def filled(words: str, thresholds: DataclassInstance) -> str:
    """The words with each threshold that they name in braces: ``{name:.0%}`` gives ``20 %``."""
    return words.format_map(_asdict(thresholds)).replace("%", " %")
