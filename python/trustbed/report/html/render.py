"""From the model to one self-contained HTML file.

The page carries its style, its script, Vega and its data, and forbids itself every network request.
Vega comes from vl-convert, which is imported only here, so that only a report pays for
it.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING

from trustbed.report import words
from trustbed.report.charts.palette import DARK, LIGHT, style_sheet
from trustbed.report.html.payload import Payload
from trustbed.report.transfer.quality import measured

if TYPE_CHECKING:
    import jinja2

BUNDLE = "window.vegaEmbed = vegaEmbed;"
"""All that the page's script needs of the bundle."""


_UNITS = re.compile(r"(?<=\d) (?=(?:%|[kMG]?bit/s|[kMG]?B|[mµn]?s|min|h|×)(?!\w))")


def _part(name: str) -> str:
    return resources.files("trustbed.report.html").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script (two seconds to make, the same every time)."""
    import vl_convert

    script: str = vl_convert.javascript_bundle(BUNDLE)
    # Inside a script element only these two can end it early or change how it is read.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _unbroken(value: object) -> object:
    """Numbers stay on one line with their units."""
    return _UNITS.sub("\u00a0", value) if type(value) is str else value


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_unbroken,
        loader=jinja2.FunctionLoader(_part),
    )
    environment.filters.update(
        rate=words.rate,
        duration=words.duration,
        percent=words.percent,
        size=words.size,
        count=words.count,
        measured=measured,
        basename=lambda path: PurePath(path).name,
    )
    return environment


def fill(template: str, payload: Payload, **shown: object) -> str:
    """Fills a template of this directory; adds style, script, and Vega if there is a chart."""
    return (
        _environment()
        .get_template(template)
        .render(
            **shown,
            style=_part("page.css"),
            light=style_sheet(LIGHT),
            dark=style_sheet(DARK),
            script=_part("page.js"),
            vega=vega() if payload.size_bytes else "",
            payload=payload.text(),
        )
    )
