"""The colours of every chart, by what they stand for.

A chart names a colour by its role (``data``, ``window``, …); the hexadecimal value it receives is
the one for light paper. The page replaces each value by the CSS custom property ``--chart-<role>``,
so that dark mode and print are a matter of style sheets and no chart is drawn twice. Roles also
differ in shape or dash wherever they meet in one chart: colour is never the only difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trustbed.report.records import Json, Row

LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "data": "#1f67b3",
        "acknowledgement": "#66707b",
        "retransmission": "#c8321a",
        "window": "#7a4fb5",
        "silence": "#e08a1e",
        "allowed": "#1b7d68",
        "timeout": "#b3478f",
        "reference": "#4a525c",
        "axis": "#59636f",
        "grid": "#e4e7eb",
        "share_path": "#2f74bd",
        "share_growing": "#2a97a8",
        "share_below_path": "#9c5a35",
        "share_recovery": "#cf4530",
        "share_timeout": "#a02250",
        "share_outage": "#5c1a24",
        "share_window": "#8a63bf",
        "share_receiver_window": "#b653b0",
        "share_zero_window": "#57308c",
        "share_sender_buffer": "#8d7a1e",
        "share_idle_sender": "#dd861c",
        "share_idle_application": "#2d8f7b",
        "share_think": "#5a8f24",
        "share_peer": "#71907f",
        "share_handshake": "#7b8794",
        "share_unknown": "#8b929a",
    }
)

DARK: Mapping[str, str] = MappingProxyType(
    {
        "data": "#6cb0f5",
        "acknowledgement": "#9aa5b1",
        "retransmission": "#ff7a5c",
        "window": "#b796ee",
        "silence": "#e59a3a",
        "allowed": "#54c4a8",
        "timeout": "#e88bc8",
        "reference": "#b6bfc9",
        "axis": "#a3adb8",
        "grid": "#2c333c",
        "share_path": "#5b9fe3",
        "share_growing": "#56c2d2",
        "share_below_path": "#c98a62",
        "share_recovery": "#f07a64",
        "share_timeout": "#e0628d",
        "share_outage": "#b8606c",
        "share_window": "#a98ae0",
        "share_receiver_window": "#d98ad4",
        "share_zero_window": "#8e6ccb",
        "share_sender_buffer": "#c2ae4c",
        "share_idle_sender": "#e79c3c",
        "share_idle_application": "#4fbfa6",
        "share_think": "#93c95a",
        "share_peer": "#9dbcab",
        "share_handshake": "#98a4b1",
        "share_unknown": "#7c848e",
    }
)


PAGE_LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "paper": "#ffffff",
        "panel": "#f6f7f9",
        "ink": "#1b1f24",
        "soft": "#56606b",
        "line": "#dde1e6",
        "link": "#1a5ca8",
        "trust": "#176b43",
        "trust_paper": "#e3f4ea",
        "review": "#805300",
        "review_paper": "#fdf0d2",
        "discard": "#a8261a",
        "discard_paper": "#fce6e3",
        "not_judged": "#56606b",
        "not_judged_paper": "#eceff2",
    }
)
"""The colours of a page around its charts."""

PAGE_DARK: Mapping[str, str] = MappingProxyType(
    {
        "paper": "#14181d",
        "panel": "#1c2128",
        "ink": "#e6eaee",
        "soft": "#a3adb8",
        "line": "#323a44",
        "link": "#7ab7f5",
        "trust": "#6fd3a0",
        "trust_paper": "#17382a",
        "review": "#f0c05e",
        "review_paper": "#3d3013",
        "discard": "#ff9a8a",
        "discard_paper": "#47201b",
        "not_judged": "#a3adb8",
        "not_judged_paper": "#2a313a",
    }
)


_PROPERTIES = {value: f"var(--chart-{role.replace('_', '-')})" for role, value in LIGHT.items()}


def with_properties(spec: Row) -> Json:
    """A copy of ``spec`` with every colour of this palette as the CSS property of its role."""
    return {key: _themed(value) for key, value in spec.items()}


def _themed(part: object) -> object:
    if isinstance(part, str):
        return _PROPERTIES.get(part, part)
    if isinstance(part, Mapping):
        return {key: _themed(value) for key, value in part.items()}
    return [_themed(value) for value in part] if isinstance(part, (list, tuple)) else part


_NONE: Mapping[str, str] = MappingProxyType({})


def properties(charts: Mapping[str, str], page: Mapping[str, str] = _NONE) -> dict[str, str]:
    """The CSS property of every role of charts and page, with its value."""
    roles = {f"chart_{role}": value for role, value in charts.items()} | dict(page)
    return {f"--{role.replace('_', '-')}": value for role, value in roles.items()}


def style_sheet(charts: Mapping[str, str], page: Mapping[str, str] = _NONE) -> str:
    """A palette as CSS declarations, one per role."""
    return " ".join(f"{name}: {value};" for name, value in properties(charts, page).items())
