"""Every chart of one transfer: those that there is data for and that the capture point allows.

Beside the receiver, or in the middle, acknowledgements do not show the path's round trips, and what
the sender knew when is an estimate. What would draw the estimate as if it had been seen is left
out.
"""

from __future__ import annotations

from trustbed.report.records import Row, Spec
from trustbed.report.transfer.charts.over_time import outstanding, round_trip, throughput
from trustbed.report.transfer.charts.sequence import close_up, time_sequence
from trustbed.report.transfer.charts.spacing import distributions, spacing
from trustbed.report.transfer.charts.stretch import stretch

Series = Row


def silences_are_visible(transfer: Row) -> bool:
    """Whether the capture shows when the sender learned what it might send."""
    return transfer.get("spacing_source") == "measured"


def round_trips_are_visible(transfer: Row) -> bool:
    """Whether acknowledgements show round-trip times of the whole path, sample by sample."""
    return transfer.get("rtt_source") == "acknowledgements"


def of_transfer(
    series: Series, transfer: Row, *, beside: tuple[str, Series] | None = None
) -> dict[str, Spec]:
    """The charts by name, in the order in which they are read.

    ``transfer`` is the row of the transfers table, with its expected rate.

    ``beside`` is the name and the series of a control.
    """
    if not series.get("duration_seconds"):
        return {}
    expected, base = transfer.get("expected_bytes_per_second"), transfer.get("rtt_base_seconds")
    mean, limit = (
        transfer.get("throughput_bytes_per_second"),
        transfer.get("idle_open_window_threshold_seconds"),
    )
    drawn: dict[str, Spec] = {}
    if _has(series, "segments"):
        drawn["time_sequence"] = time_sequence(series, allowed_bytes_per_second=expected)
    part = stretch(series, transfer) if silences_are_visible(transfer) else None
    if part:
        drawn["close_up"] = close_up(part)
    if _has(series, "throughput"):
        drawn["throughput"] = throughput(
            series, allowed_bytes_per_second=expected, mean_bytes_per_second=mean
        )
    if _has(series, "rtt") and round_trips_are_visible(transfer):
        drawn["round_trip"] = round_trip(series, base_seconds=base)
    if silences_are_visible(transfer):
        if _has(series, "outstanding"):
            drawn["outstanding"] = outstanding(series)
        if _has(series, "spacing", "response"):
            drawn["spacing"] = spacing(series, base_seconds=base, limit_seconds=limit)
        if _has(series, "rtt_cdf", "spacing_cdf", "response_cdf"):
            drawn["distributions"] = distributions(series, beside=beside)
    return drawn


def _has(series: Series, *names: str) -> bool:
    return any(bool(column) for name in names for column in (series.get(name) or {}).values())
