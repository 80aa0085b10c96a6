"""The charts of a transfer: one Vega-Lite definition each, for the page and for notebooks.

Each function takes the thinned columns of one transfer (``Capture.series(transfer)``) and returns a plain dictionary that any
Vega-Lite renderer draws. ``as_altair`` makes an altair chart of it. Nothing here reads files, computes statistics or judges.
"""

from trustbed.report.charts.notebook import as_altair
from trustbed.report.charts.outstanding import outstanding
from trustbed.report.charts.rates import shares, throughput
from trustbed.report.charts.round_trip import round_trip
from trustbed.report.charts.sequence import close_up, time_sequence
from trustbed.report.charts.spacing import distributions, spacing
from trustbed.report.charts.stretch import stretch
from trustbed.report.charts.transfer import of_transfer

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
