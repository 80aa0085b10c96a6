"""Quantities, endpoints and lists as the columns of a report show them.

The shapes of single numbers are those of ``trustbed.findings.words``, so that a table and the
sentence beneath it print the same value alike. What is added here is what only tables need: long
times, separators in counts, addresses cut to a width, and ``?`` for an unknown cell. Nothing here
is meant to be read back: files carry base units in full precision.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Sequence

from trustbed.findings import words as units
from trustbed.findings.words import is_open as is_open
from trustbed.report.records import Row

UNKNOWN = "?"


def count(value: int | None) -> str:
    """A count with separators: 12,345."""
    return UNKNOWN if value is None else f"{value:,}"


def counted(value: int, one: str, many: str | None = None) -> str:
    """A count with its noun: ``1 packet``, ``12,345 packets``."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def size(octets: float | None) -> str:
    """Bytes with a decimal prefix: 812 B, 64.2 kB, 11.4 MB."""
    return _cell(units.bytes_words(octets))


def rate(bytes_per_second: float | None) -> str:
    """A throughput, given in bytes per second, printed in bit/s as links are sold: 18.2 Mbit/s."""
    return _cell(units.rate_words(bytes_per_second))


def bits(bits_per_second: float | None) -> str:
    """A rate given in bit/s."""
    return rate(None if bits_per_second is None else bits_per_second / 8)


def percent(share: float | None) -> str:
    """A share of one as percent: 80 %, 4.3 %."""
    return _cell(units.percent_words(share))


def duration(seconds: float | None) -> str:
    """A length of time in the unit that fits.

    13.6 µs, 20.6 ms, 5.01 s, 3 min 20 s, 2 h 5 min, 4 d 7 h.
    """
    if seconds is None or not 120 <= abs(seconds) < math.inf:
        return _cell(units.seconds_words(seconds))
    whole, sign = round(abs(seconds)), "-" if seconds < 0 else ""
    if whole < 7200:
        return f"{sign}{whole // 60} min {whole % 60} s"
    if whole < 172_800:
        return f"{sign}{whole // 3600} h {whole % 3600 // 60} min"
    return f"{sign}{whole // 86_400} d {whole % 86_400 // 3600} h"


def quantity(value: float | None, unit: str) -> str:
    """A value in the base unit that a finding or a column names: 20.6 ms, 80 %, 1,234 packets."""
    shapes = {
        "seconds": duration,
        "bytes": size,
        "bytes_per_second": rate,
        "share": percent,
        "ratio": units.number_words,
    }
    if unit in shapes:
        return _cell(shapes[unit](value))
    if value is None:
        return UNKNOWN
    shown = count(int(value)) if float(value).is_integer() else f"{value:.3g}"
    return f"{shown} {unit}".rstrip()


def _cell(text: str) -> str:
    return UNKNOWN if text == units.UNKNOWN else text


def endpoint(address: str, port: int | None, width: int | None = None) -> str:
    """``address:port``, IPv6 in brackets.

    Cut in its middle to fit ``width`` characters, the port kept whole.
    """
    tail = "" if port is None else f":{port}"
    try:
        bracketed = ipaddress.ip_address(address).version == 6
    except ValueError:
        bracketed = ":" in address
    left, right = ("[", "]") if bracketed and tail else ("", "")
    room = None if width is None else max(width - len(tail) - len(left) - len(right), 5)
    if room is not None and len(address) > room:
        keep = room - 1
        address = f"{address[: keep - keep // 2]}…{address[len(address) - keep // 2 :]}"
    return f"{left}{address}{right}{tail}"


def endpoints(row: Row, width: int | None = None) -> str:
    """``address:port → address:port`` of a transfer or a two-point row, cut to ``width``."""
    half = None if width is None else (width - 4) // 2
    source, target = ("src", "dst") if "src" in row else ("sender", "receiver")
    return " → ".join(
        endpoint(row[name], row.get(f"{name}_port"), half) for name in (source, target)
    )


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def sentence(text: str) -> str:
    """With a capital and a full stop; empty stays empty."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".!?" else ".") if text else ""
