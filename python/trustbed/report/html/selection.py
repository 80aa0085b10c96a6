"""Which transfers get charts.

An overview lists what must not be used first, then what needs a look, then the rest, and of each the larger transfer first; charts
follow that order as far as they fit. What gets none keeps its row in the table of all transfers.
"""

from __future__ import annotations

from collections.abc import Sequence

from trustbed.report.html.model import Page
from trustbed.report.overview import Row

CHARTED = 12
"""At most so many transfers of a page get charts."""

BUDGET = 3_500_000
"""Bytes of chart data on one page. With Vega (0.9 MB) and everything else the page stays below 5 MB."""


def charted(transfers: Sequence[Row], *, captures: int = 1) -> list[str]:
    """Which of an overview's transfers get charts when the page shows so many captures: the engine is asked for the series of these."""
    return [transfer["transfer"] for transfer in transfers[: max(1, CHARTED // captures)]]


def sections(page: Page) -> list[tuple[int, Row]]:
    """The transfers that get a section of their own, with the place of their capture: those whose series were given."""
    chosen = [
        (place, transfer)
        for place, capture in enumerate(page.captures)
        for transfer in capture.overview.transfers
        if transfer["transfer"] in capture.series
    ]
    return chosen[:CHARTED]
