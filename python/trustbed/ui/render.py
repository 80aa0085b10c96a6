"""The templates of the pages, and their style: colours that follow the browser or a choice."""

from __future__ import annotations

import functools
from importlib import resources
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from trustbed.report import words
from trustbed.report.charts.palette import DARK, LIGHT, PAGE_DARK, PAGE_LIGHT, properties
from trustbed.report.html import render as reports
from trustbed.report.printable import printable

STATIC = {
    "ui.css": "text/css",
    "theme.js": "text/javascript",
    "ui.js": "text/javascript",
    "zoom.js": "text/javascript",
}


def _file(directory: str, name: str) -> str:
    place = resources.files("trustbed.ui").joinpath(directory).joinpath(name)
    return place.read_text(encoding="utf-8")


def _part(name: str) -> str | None:
    """A template of ours, or one that reports have, too."""
    try:
        return _file("templates", name)
    except FileNotFoundError:
        return reports.part(name)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = reports.environment(_part)
    unbroken = environment.finalize
    assert unbroken is not None
    environment.finalize = lambda value: unbroken(printable(value) if type(value) is str else value)
    environment.filters.update(quantity=quantity, counted=words.counted, urlpath=urlpath)
    return environment


def urlpath(text: str) -> str:
    """A text as a part of a path, slashes kept."""
    return quote(text, safe="/")


def quantity(text: str) -> Markup:
    """A number with its unit in a column of its own, so that both stand in line."""
    number, _, unit = printable(text).rpartition(" ")
    if not number[:1].isdigit() and number[:1] not in ("-", "−", "+"):
        number, unit = printable(text), ""
    return Markup('<span class="n">{}</span><span class="u">{}</span>').format(number, unit)


def page(template: str, **shown: object) -> str:
    """A page of this server."""
    return _environment().get_template(template).render(**shown)


@functools.cache
def static(name: str) -> tuple[str, bytes]:
    """The type and the bytes of a file that pages ask for.

    Raises:
        KeyError: There is none of this name.
    """
    kind = STATIC[name]
    text = _file("static", name)
    return kind, ((_colours() + text) if name == "ui.css" else text).encode()


def _colours() -> str:
    light, dark = properties(LIGHT, PAGE_LIGHT), properties(DARK, PAGE_DARK)
    declared = " ".join(f"{name}: light-dark({light[name]}, {dark[name]});" for name in light)
    roles = "".join(
        f".role-{role} {{ color: var(--chart-{role}); fill: var(--chart-{role}); }}\n"
        for role in (name.replace("_", "-") for name in LIGHT)
    )
    return f":root {{ {declared} }}\n{roles}"
