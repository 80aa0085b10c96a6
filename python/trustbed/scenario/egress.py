"""Reads what limits a host at its own interface: the kernel's token bucket filter (tc-tbf(8)).

A link's shaper is behind the host's capture point; this one is before it, in the sender's own
kernel, where TCP notices a packet that waits.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.scenario.table import Table

_LEAST_BURST = 1514
"""A packet of full size, as the queueing discipline counts it."""
_MOST_RATE = 10_000_000_000
_MOST_BYTES = 2**31 - 1
"""The largest numbers that the kernel's own interface for tbf holds."""
_EXAMPLE = 'egress = { rate = "20Mbit/s", burst = "16kB", queue = "50ms" }'


@dataclass(frozen=True, slots=True, kw_only=True)
class Egress:
    """A token bucket filter: rate in bit/s, burst, and how many bytes may wait for tokens."""

    rate: int
    burst_bytes: int
    limit_bytes: int


def read_egress(host: Table) -> Egress | None:
    """The limit of what a host sends; ``None`` without one."""
    table = host.table("egress")
    if table is None:
        return None
    if "guest" in host:
        raise host.error(
            "egress",
            "a guest's own kernel has no tbf here",
            "leave guest out, or limit the link with a shaper",
        )
    for key in ("rate", "burst", "queue"):
        table.must(key, _EXAMPLE)
    rate = table.rate_above_zero("rate", None)
    assert rate is not None, "the key exists"
    if rate > _MOST_RATE:
        raise table.error("rate", f"{table.raw('rate')} is too high", "give at most 10Gbit/s")
    burst = table.size("burst", 0, least=_LEAST_BURST, most=_MOST_BYTES)
    limit = _limit(table, rate, burst)
    table.close()
    return Egress(rate=rate, burst_bytes=burst, limit_bytes=limit)


def _limit(table: Table, rate: int, burst: int) -> int:
    """What may wait: of a time, what passes in it beside a burst, as ``latency`` of tc-tbf(8)."""
    depth = table.depth("queue", least_bytes=_LEAST_BURST)
    if depth.duration_ns is not None:
        limit = rate * depth.duration_ns // (8 * 1_000_000_000) + burst
    elif depth.bytes is not None:
        limit = depth.bytes
    else:
        raise table.error(
            "queue", "tbf counts bytes, not packets", 'give a time like "50ms", or bytes: "64KiB"'
        )
    if limit > _MOST_BYTES:
        raise table.error("queue", f"{limit} bytes are too many", f"give at most {_MOST_BYTES}B")
    return limit
