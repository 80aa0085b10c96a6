"""The report of captures as one HTML page: self-contained, offline, verdicts first.

Build a :class:`Page` from captures (their JSON rows and the chart series of the transfers that
:func:`charted` names) and :func:`write` it.
"""

from __future__ import annotations

from pathlib import Path

from trustbed.report import definitions
from trustbed.report.burst import page as burst
from trustbed.report.html.elements import Input, Provenance
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file
from trustbed.report.transfer import chapters
from trustbed.report.transfer.evidence import expected_rate
from trustbed.report.transfer.model import Capture, Chapter, Page
from trustbed.report.transfer.quality import quality
from trustbed.report.transfer.selection import CHARTED, charted
from trustbed.report.transfer.view import view

__all__ = [
    "CHARTED",
    "Capture",
    "Chapter",
    "Input",
    "Page",
    "Provenance",
    "charted",
    "render",
    "write",
]


def render(page: Page) -> str:
    """The page as a string."""
    payload = Payload()
    shown = view(page, payload)
    return fill(
        "page.html.j2",
        payload,
        **shown,
        provenance=page.provenance,
        qualities=[quality(capture, captures=len(page.captures)) for capture in page.captures],
        definitions=(
            *definitions.of("transfer"),
            *(definitions.of("burst") if any(reported for _, reported in shown["groups"]) else ()),
            *chapters.definitions(page),
        ),
        burst_columns=burst.COLUMNS,
        expected_rate=expected_rate,
    )


def write(path: Path, page: Page) -> None:
    """The page as a file, complete or not at all."""
    text = render(page)
    with whole_file(path) as stream:
        stream.write(text)
