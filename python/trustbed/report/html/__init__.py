"""The report as one HTML page: self-contained, offline, verdicts first.

Build a :class:`Page` from captures (their JSON rows and the chart series of the transfers that :func:`charted` names) and :func:`write` it.
"""

from trustbed.report.html.model import Capture, Chapter, Input, Page, Provenance
from trustbed.report.html.render import render, write
from trustbed.report.html.selection import CHARTED, charted

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
