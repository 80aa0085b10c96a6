"""From the model to one self-contained HTML file.

The page carries its style, its script, Vega and its data, and forbids itself every network request.
Its policy names its own scripts by their hashes: another one that got into the page does not run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Callable
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING

from trustbed.report import words
from trustbed.report.charts.palette import DARK, LIGHT, PAGE_DARK, PAGE_LIGHT, style_sheet
from trustbed.report.html.payload import Payload
from trustbed.report.html.vega import vega
from trustbed.report.transfer.quality import measured

if TYPE_CHECKING:
    import jinja2

_UNITS = re.compile(r"(?<=\d) (?=(?:%|[kMG]?bit/s|[kMG]?B|[mµn]?s|min|h|×)(?!\w))")


def part(name: str) -> str:
    """A template, style or script of this directory, by its name."""
    return resources.files("trustbed.report.html").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _hash(script: str) -> str:
    """A script as a Content-Security-Policy names it (CSP Level 3, section 2.3.1)."""
    # A browser reads line ends as \n before it computes the hash.
    assert "\r" not in script
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _unbroken(value: object) -> object:
    """Numbers stay on one line with their units."""
    return _UNITS.sub("\u00a0", value) if type(value) is str else value


@functools.cache
def environment(load: Callable[[str], str | None] = part) -> jinja2.Environment:
    """What fills the templates that ``load`` returns by their names: escaped, with our words."""
    import jinja2

    made = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_unbroken,
        loader=jinja2.FunctionLoader(load),
    )
    made.filters.update(
        rate=words.rate,
        duration=words.duration,
        percent=words.percent,
        size=words.size,
        count=words.count,
        measured=measured,
        basename=lambda path: PurePath(path).name,
    )
    return made


def fill(template: str, payload: Payload, **shown: object) -> str:
    """Fills a template of this directory; adds style, script, and Vega if there is a chart."""
    script, charts = part("page.js"), vega() if payload.size_bytes else ""
    return (
        environment()
        .get_template(template)
        .render(
            **shown,
            style=part("page.css"),
            light=style_sheet(LIGHT, PAGE_LIGHT),
            dark=style_sheet(DARK, PAGE_DARK),
            script=script,
            vega=charts,
            script_hashes=" ".join(_hash(text) for text in (script, charts) if text),
            payload=payload.text(),
        )
    )
