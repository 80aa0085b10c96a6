"""What each chart shows, in a sentence with its numbers.

The caption, and what a screen reader reads instead of the picture.

A caption states; the reader judges. Numbers come from the transfer (all packets), never from
thinned columns, except where the picture itself is meant.
"""

from __future__ import annotations

from trustbed.diagnose.thresholds import Thresholds
from trustbed.report import words
from trustbed.report.records import Row
from trustbed.report.transfer.charts.sequence import FLATTENED
from trustbed.report.transfer.charts.stretch import silent_seconds
from trustbed.report.transfer.evidence import (
    delay,
    expected_rate,
    inflation,
    reached,
    round_trip_seconds,
    times_words,
)
from trustbed.report.transfer.model import Series


def time_sequence(transfer: Row, series: Series) -> str:
    """The whole transfer, and the band of states below it."""
    repaired = _repaired(transfer)
    sent = (
        f"{words.size(transfer.get('unique_bytes'))} in "
        f"{words.duration(transfer.get('duration_seconds'))}."
    )
    expected, ratio = expected_rate(transfer), reached(transfer)
    allowed = ""
    if expected and ratio:
        where = "Dashed" if ratio * FLATTENED >= 1 else "Too steep to be drawn"
        allowed = f" {where}: what window, RTT, loss and capacity allow, {words.rate(expected)}."
        allowed += f" The transfer reached {words.percent(ratio)} of it."
    band = (
        " The band below the graph has the state of each moment, in the colours of the bar above."
        if (series.get("phases") or {}).get("t")
        else ""
    )
    return f"{sent} {repaired}{allowed}{band}".strip()


def _repaired(transfer: Row) -> str:
    """What was sent again, behind the capture or before it."""
    again, filled = transfer.get("retransmitted_packets"), transfer.get("filled_lost_upstream")
    parts = [
        f"{words.counted(again, 'packet')} sent again" if again else "",
        f"{words.counted(filled, 'gap')} from before the capture filled later" if filled else "",
    ]
    known = [part for part in parts if part]
    if known:
        return f"{words.listed(known)} (triangles)."
    return "Nothing was sent again." if again == 0 else ""


def close_up(part: Series) -> str:
    """A short stretch, packet by packet."""
    start, length, silent = part["start_seconds"], part["duration_seconds"], silent_seconds(part)
    sent = words.counted(len(part["segments"]["t"]), "data packet")
    message = (
        f"{words.duration(length)} from second {start:.3f} on, an ordinary stretch of the "
        f"transfer, with every one of its {sent}."
    )
    if silent > 0:
        share = words.percent(silent / length)
        message += (
            f" Shaded: the window was open and the sender sent nothing, {words.duration(silent)} "
            f"of {words.duration(length)} ({share})."
        )
    else:
        message += " No silence under an open window was long enough to count."
    edge = max(part["window"]["offset"], default=0)
    top, low = max(part["segments"]["high"], default=0), min(part["segments"]["low"], default=0)
    if edge - low > FLATTENED * (top - low):
        message += " The edge of the receiver's window lies far above the picture."
    return message


def round_trip(transfer: Row, limits: Thresholds) -> str:
    """RTT and RTO over time."""
    times = inflation(transfer)
    if times is None:
        return "No round-trip time can be seen in this capture."
    lowest, highest = (
        words.duration(transfer.get("rtt_min_seconds")),
        words.duration(transfer.get("rtt_max_seconds")),
    )
    mean, base = (
        words.duration(round_trip_seconds(transfer)),
        words.duration(transfer.get("rtt_base_seconds")),
    )
    samples = words.counted(transfer.get("rtt_samples") or 0, "sample")
    return (
        f"{samples} from {lowest} to {highest}. Mean {mean}, {times_words(times)} times the base "
        f"of {base}: {delay(transfer, limits)}."
    )


def outstanding(transfer: Row, series: Series) -> str:
    """Outstanding data against the window."""
    columns = series.get("outstanding") or {}
    most, window = max(columns.get("bytes", ()), default=0), transfer.get("window_max_bytes")
    message = (
        f"At most {words.size(most)} outstanding; the receiver allowed up to {words.size(window)}."
    )
    full = transfer.get("rwnd_limited")
    if full is not None:
        message += f" The window was full for {words.percent(full)} of the time."
    if window and most and window > FLATTENED * most:
        message += " The window's line lies far above the picture."
    return message


def spacing(transfer: Row) -> str:
    """Silences over time."""
    longest, base = transfer.get("spacing_max_seconds"), transfer.get("rtt_base_seconds")
    message = ""
    if longest is not None and base:
        compared = "longer than" if longest > base else "shorter than"
        message = (
            f"The longest packet spacing is {words.duration(longest)}, {compared} the base RTT of "
            f"{words.duration(base)}."
        )
    count, total = (
        transfer.get("idle_open_window_samples"),
        transfer.get("idle_open_window_seconds"),
    )
    limit = transfer.get("idle_open_window_threshold_seconds")
    if count is not None and total is not None:
        above = f" longer than {words.duration(limit)}" if limit else ""
        message += (
            f" {words.counted(round(count), 'silence')}{above} after the window had opened, "
            f"{words.duration(total)} in total: "
        )
        message += f"{words.percent(transfer.get('idle_open_window_fraction'))} of the transfer."
    return message.strip()


def _median(columns: Row | None) -> float | None:
    """The value at which a cumulative distribution passes one half."""
    if not columns:
        return None
    return next(
        (
            value
            for value, share in zip(columns["seconds"], columns["share"], strict=True)
            if share >= 0.5
        ),
        None,
    )


def distributions(series: Series, beside: tuple[str, Series] | None = None) -> str:
    """The cumulative distributions."""
    named = (
        ("packet spacings", "spacing_cdf"),
        ("silences after the window opened", "response_cdf"),
        ("RTT samples", "rtt_cdf"),
    )
    medians = [(name, _median(series.get(column))) for name, column in named]
    message = ", of the ".join(
        f"{name} {words.duration(value)}" for name, value in medians if value is not None
    )
    text = f"Half of the {message} or less." if message else "No samples."
    if beside:
        text += f" Dashed: the silences of {beside[0]}."
    return text


def throughput(transfer: Row) -> str:
    """Throughput over time."""
    low, high = transfer.get("rate_p10_bytes_per_second"), transfer.get("rate_p90_bytes_per_second")
    message = f"Mean {words.rate(transfer.get('throughput_bytes_per_second'))}"
    message += (
        f", delivery rate between {words.rate(low)} and {words.rate(high)} for eight tenths "
        "of the time."
        if low is not None and high is not None
        else "."
    )
    return message
