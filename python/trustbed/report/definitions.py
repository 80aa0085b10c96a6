"""The definitions on a page: ``definitions.toml`` has their text.

Thresholds are not repeated there: the evidence tables print the values in use.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
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

    Pages: ``transfer``, ``burst``, ``run``, ``campaign``, ``model``, ``sensitivity``, ``compare``,
    ``store_hosts``, ``store_causes``, ``store_papers``.
    """
    text = resources.files("trustbed.report").joinpath("definitions.toml").read_text("utf-8")
    pages = tomllib.loads(text)
    return tuple(_resolved(pages, anchor, one) for anchor, one in pages[page].items())


def _resolved(
    pages: Mapping[str, Mapping[str, Mapping[str, str]]], anchor: str, one: Mapping[str, str]
) -> Definition:
    """An entry, or with ``as = "PAGE.ANCHOR"`` the text of another page's."""
    if "as" in one:
        page, _, other = one["as"].partition(".")
        one = pages[page][other]
    return Definition(anchor, **one)


def titles(page: str) -> dict[str, str]:
    """The terms of a page by their anchors."""
    return {definition.anchor: definition.term for definition in of(page)}
