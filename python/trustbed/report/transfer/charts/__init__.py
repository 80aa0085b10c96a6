"""The charts of a transfer: one Vega-Lite definition each, for the page and for notebooks.

Each function takes the thinned columns of one transfer (``Capture.series(transfer)``) and returns a
plain dictionary that any Vega-Lite renderer draws. ``as_altair`` makes an altair chart of it.
Nothing here reads files, computes statistics or judges.
"""

from trustbed.report.transfer.charts.notebook import as_altair
from trustbed.report.transfer.charts.over_time import outstanding, round_trip, shares, throughput
from trustbed.report.transfer.charts.sequence import close_up, time_sequence
from trustbed.report.transfer.charts.spacing import distributions, spacing
from trustbed.report.transfer.charts.stretch import stretch
from trustbed.report.transfer.charts.transfer import of_transfer

__all__ = [
    "as_altair",
    "close_up",
    "distributions",
    "of_transfer",
    "outstanding",
    "round_trip",
    "shares",
    "spacing",
    "stretch",
    "throughput",
    "time_sequence",
]
