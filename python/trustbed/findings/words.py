"""Numbers in words: rates, times, shares and counts as a person reads them.

Rounds for reading only; nothing computed from these strings. Unknown is shown as "unknown", never
as 0.
"""

from __future__ import annotations

import math

UNKNOWN = "unknown"
HOUR = 3600.0
DAY = 24 * HOUR


def rate_words(bytes_per_second: float | None) -> str:
    """A rate of payload in bits per second: ``13.1 Mbit/s``."""
    if bytes_per_second is None or not math.isfinite(bytes_per_second):
        return UNKNOWN
    bits = bytes_per_second * 8
    for scale, name in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits >= scale:
            return f"{_three_digits(bits / scale)} {name}"
    return f"{_three_digits(bits)} bit/s"


def seconds_words(seconds: float | None) -> str:
    """A time with a fitting unit.

    ``20.6 ms``; from two hours on in hours, from two days on in days.
    """
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    for least, scale, name in (
        (2 * DAY, DAY, "days"),
        (2 * HOUR, HOUR, "h"),
        (1, 1, "s"),
        (1e-3, 1e-3, "ms"),
        (1e-6, 1e-6, "µs"),
    ):
        if abs(seconds) >= least:
            return f"{_three_digits(seconds / scale)} {name}"
    return f"{_three_digits(seconds * 1e9)} ns" if seconds else "0 s"


def percent_words(share: float | None) -> str:
    """A share as a percentage: ``43 %``; small ones keep two digits: ``0.049 %``."""
    if share is None or not math.isfinite(share):
        return UNKNOWN
    percent = share * 100
    if percent == 0 or abs(percent) >= 9.95:
        return f"{percent:.0f} %"
    shown = f"{percent:.2g} %"
    return "under 0.0001 %" if percent > 0 and "e" in shown else shown


def whole(value: float | None) -> int:
    """A number of things that is kept as a float; 0 where it is unknown or no number."""
    return 0 if value is None or not math.isfinite(value) else round(value)


def number_words(value: float | None) -> str:
    """A ratio with two decimals."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:.2f}"


def bytes_words(count: float | None) -> str:
    """A size in bytes with a decimal unit: ``64.0 kB``."""
    if count is None or not math.isfinite(count):
        return UNKNOWN
    for scale, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= scale:
            return f"{_three_digits(count / scale)} {name}"
    return f"{count:.0f} B"


def count_words(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: ``1 connection``, ``2 connections``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _three_digits(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.95 else f"{value:.2f}"


def is_open(low: float, high: float) -> bool:
    """Whether an interval of a ratio is so wide that it says nothing: by more than 1,000 times."""
    return high > 1000 * low
