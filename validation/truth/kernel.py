"""Whether the capture's shares of time agree with those that the sending kernel counted.

Linux counts per connection how long data was outstanding or queued, and how much of that time the
receive window or the send buffer held it up (``tcp_info``). The capture estimates the same from
packets. Compared are: idle time (1 − busy / duration) with ``app_limited_fraction``, and time
limited by the window (of busy time) with ``rwnd_limited``. Limits by the send buffer do not show
in the capture; reported is how often the kernel saw them. Pure.

Bias: the kernel calls a window a limit only when a segment waits for it, and looks when it sends;
the capture allows a margin of one segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

NEAR = 0.1
HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two shares of time of the same transfers, compared."""

    what: str
    transfers: int
    median_difference: float | None
    near: int
    same_side: int
    """Transfers for which both shares, or neither, are at least one half."""


def agreements(transfers: Iterable[Mapping[str, Any]]) -> tuple[Agreement, ...]:
    """Over transfers that were made and whose sender's capture and kernel are known."""
    idle, window = [], []
    for stored in transfers:
        row = ((stored.get("captures") or {}).get("sender") or {}).get("row")
        counters = stored.get("kernel") or {}
        busy, duration = counters.get("busy_ns"), (row or {}).get("duration_ns")
        if row is None or not busy or not duration:
            continue
        if row.get("app_limited_fraction") is not None:
            idle.append((row["app_limited_fraction"], min(1.0, max(0.0, 1 - busy / duration))))
        if (
            row.get("rwnd_limited") is not None
            and counters.get("receive_window_limited_ns") is not None
        ):
            window.append(
                (row["rwnd_limited"], min(1.0, counters["receive_window_limited_ns"] / busy))
            )
    return (
        _agreement("idle: nothing to send", idle),
        _agreement("limited by the receiver's window", window),
    )


def buffer_limited(transfers: Iterable[Mapping[str, Any]]) -> int:
    """Transfers limited by their send buffer for half of their busy time, by the kernel."""
    shares = [
        (counters["send_buffer_limited_ns"] / counters["busy_ns"])
        for stored in transfers
        if (counters := stored.get("kernel") or {}).get("busy_ns")
        and counters.get("send_buffer_limited_ns") is not None
    ]
    return sum(share >= HALF for share in shares)


def _agreement(what: str, pairs: Sequence[tuple[float, float]]) -> Agreement:
    distances = [abs(ours - theirs) for ours, theirs in pairs]
    return Agreement(
        what=what,
        transfers=len(pairs),
        median_difference=median(ours - theirs for ours, theirs in pairs) if pairs else None,
        near=sum(distance <= NEAR for distance in distances),
        same_side=sum((ours >= HALF) == (theirs >= HALF) for ours, theirs in pairs),
    )
