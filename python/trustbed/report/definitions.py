"""The definitions on a page: ``definitions.toml`` has their text.

Thresholds are not repeated there: the evidence tables print the values in use.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Definition:
    """One entry: anchor, term, meaning, source."""

    anchor: str
    term: str
    meaning: str
    source: str = ""


@functools.cache
def of(page: str) -> tuple[Definition, ...]:
    """The definitions of a page, in its order.

    Pages: ``transfer``, ``burst``, ``run``, ``campaign``, ``model``, ``sensitivity``, ``compare``.
    """
    text = resources.files("trustbed.report").joinpath("definitions.toml").read_text("utf-8")
    return tuple(Definition(anchor, **one) for anchor, one in tomllib.loads(text)[page].items())


def titles(page: str) -> dict[str, str]:
    """The terms of a page by their anchors."""
    return {definition.anchor: definition.term for definition in of(page)}
