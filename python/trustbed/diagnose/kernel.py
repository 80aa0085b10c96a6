"""Evidence from the sending kernel's own account of a socket, where something recorded it.

Linux counts, per connection, how long data was outstanding or queued (``tcpi_busy_time``) and how
much of that time the receive window (``tcpi_rwnd_limited``) or the send buffer
(``tcpi_sndbuf_limited``) held it up. Does not read it: the caller that recorded ``tcp_info`` at the
close passes the times in seconds.

Bias: busy time includes both limited times, so the shares can over-, never under-state them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTimes:
    """Times of one socket at its close; seconds and bytes, ``None`` = unknown."""

    busy_seconds: float
    rwnd_limited_seconds: float | None = None
    sndbuf_limited_seconds: float | None = None
    send_buffer_bytes: float | None = None
    send_buffer_declared: bool = False


def with_kernel_times(
    evidence: Evidence, times: KernelTimes, *, thresholds: Thresholds = THRESHOLDS
) -> tuple[Evidence, tuple[str, ...]]:
    """The evidence corrected by the kernel's account, and the flags that it raises."""
    flags: list[str] = []
    duration = evidence.duration_seconds
    if duration and duration > 0:
        idle = min(1.0, max(0.0, 1.0 - times.busy_seconds / duration))
        evidence = replace(evidence, app_limited_fraction=idle)
    if times.busy_seconds <= 0:
        return evidence, ()
    window_share = (times.rwnd_limited_seconds or 0.0) / times.busy_seconds
    buffer_share = (times.sndbuf_limited_seconds or 0.0) / times.busy_seconds
    if window_share >= thresholds.kernel_time_share:
        flags.append("kernel_rwnd_limited")
        evidence = replace(evidence, rwnd_limited=min(1.0, window_share))
    evidence = replace(
        evidence,
        send_buffer_limited=min(1.0, buffer_share),
        send_buffer_bytes=times.send_buffer_bytes,
    )
    if times.send_buffer_declared:
        evidence = replace(evidence, send_buffer_declared=True)
    if buffer_share >= thresholds.kernel_time_share:
        flags.append("sndbuf_limited")
        if times.send_buffer_bytes:
            evidence = replace(evidence, window_bytes=times.send_buffer_bytes)
    return evidence, tuple(flags)
