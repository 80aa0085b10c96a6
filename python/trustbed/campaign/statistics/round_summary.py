"""A judged round in a few numbers.

What its connections gave, what may be done with it, how its hosts were meanwhile.

A campaign of weeks has ten thousands of rounds, and all of them are looked at together. What is
kept of each takes some hundred bytes; its connections, captures and samples stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from sys import intern
from typing import Any, Self

from trustbed.scenario.campaign_model import Role
from trustbed.workload import mean

VERDICTS = ("trust", "review", "discard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How a host was during the connections; shares from 0 to 1, ``None`` is unknown.

    Attributes:
        busy_share: Of its processors, in use.
        steal_share: Of its processors, taken by the hypervisor.
        throttled_share: Of the time, spent waiting for a quota's next period.
        wakeup_latency_max_ns: How late a sleeping thread woke up at most.
    """

    busy_share: float | None = None
    steal_share: float | None = None
    throttled_share: float | None = None
    wakeup_latency_max_ns: float | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """From a row that may have other columns too."""
        return cls(**{one.name: row.get(one.name) for one in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRound:
    """A judged round. Seconds; ``None`` is unknown.

    Throughputs are means over its completed connections, in bytes/second.

    Attributes:
        number: Which of its pair.
        at_ns: When it began, since the epoch.
        use: ``trust``, ``review`` or ``discard``; ``None``: nothing of it was judged.
        causes: Why it is to be discarded: the causes of its connections that are.
        data: Throughput of its data connections.
        probe: Of its probes.
        rtt_base: Mean of the pings before it.
        withheld: Mean over its data connections of the share of the time in which the sender was
            silent although it could have sent.
        sender: How its sender was.
        receiver: How its receiver was.
    """

    number: int
    at_ns: int | None = None
    use: str | None = None
    causes: tuple[str, ...] = ()
    data: float | None = None
    probe: float | None = None
    rtt_base: float | None = None
    withheld: float | None = None
    sender: Load = field(default_factory=Load)
    receiver: Load = field(default_factory=Load)

    @classmethod
    def of(cls, number: int, at_ns: int | None, judged: Mapping[str, Any]) -> Self:
        """From what was found in it."""
        rows, hosts, use = judged["connections"], judged.get("hosts") or {}, judged["use"]
        data = [row for row in rows if row["role"] == "data"]
        return cls(
            number=number,
            at_ns=at_ns,
            use=None if use is None else intern(use),
            causes=tuple(
                sorted({intern(row["cause"]) for row in rows if row.get("verdict") == "discard"})
            ),
            data=_throughput(rows, "data"),
            probe=_throughput(rows, "probe"),
            rtt_base=next((row.get("rtt_base_seconds") for row in rows), None),
            withheld=mean(
                [
                    row["idle_open_window_fraction"]
                    for row in data
                    if row.get("idle_open_window_fraction") is not None
                ]
            ),
            sender=Load.of(hosts.get("sender") or {}),
            receiver=Load.of(hosts.get("receiver") or {}),
        )


def _throughput(rows: Any, role: Role) -> float | None:  # noqa: ANN401 - rows of a table
    chosen = (row for row in rows if row["role"] == role and row["failure"] is None)
    return mean(
        [row["app_bytes_per_second"] for row in chosen if row["app_bytes_per_second"] is not None]
    )
