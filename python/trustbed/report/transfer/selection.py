"""Which transfers get a section of their own, and how much room their charts may take.

An overview lists what must not be used first, then what needs a look, then the rest, and of each
the larger transfer first; sections follow that order. What gets none keeps its row in the table of
all transfers.
"""

from __future__ import annotations

from collections.abc import Sequence

from trustbed.report.records import Row
from trustbed.report.transfer.model import Page

CHARTED = 12
"""At most so many transfers of a page get a section with charts."""

BUDGET = 3_500_000
"""Bytes of chart data on one page.

With Vega (0.9 MB) and everything else the page stays below 5 MB.
"""

POINT = 22
"""Bytes that a point of a chart takes, nearly: two or three numbers of six digits."""

LINES = 9
"""Lines of points that a transfer's charts are drawn from."""


def charted(transfers: Sequence[Row], *, captures: int = 1) -> list[str]:
    """Which of an overview's transfers get charts when the page shows so many captures.

    The engine computes the series of these.
    """
    return [transfer["transfer"] for transfer in transfers[: max(1, CHARTED // captures)]]


def sections(page: Page) -> list[tuple[int, Row]]:
    """The transfers that get a section, with the index of their capture."""
    return [
        (index, transfer)
        for index, capture in enumerate(page.captures)
        for transfer in capture.overview.transfers[
            : len(charted(capture.overview.transfers, captures=len(page.captures)))
        ]
    ][:CHARTED]


def points(charted_transfers: int) -> int:
    """The most points that a line of a transfer's charts may have, so that all of them fit."""
    return BUDGET // (max(1, charted_transfers) * LINES * POINT)
