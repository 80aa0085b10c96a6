"""A judged round in a few numbers: its throughput, its verdict, and its hosts' load.

A campaign of weeks has tens of thousands of rounds, which are analysed together. A summary takes
some hundred bytes; connections, captures and samples stay on the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Self

from trustbed.campaign.records import JudgedConnection, JudgedRound, Load
from trustbed.scenario.campaign_model import Role
from trustbed.workload import mean

VERDICTS = ("trust", "review", "discard")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRound:
    """A judged round. Seconds; ``None`` is unknown.

    Throughputs are means over its completed connections, in bytes/second.

    Attributes:
        number: Its number.
        at_ns: When it began, since the epoch.
        use: ``trust``, ``review`` or ``discard``; ``None``: none of its connections was judged.
        causes: Why it is to be discarded: the causes of its discarded connections.
        data: Throughput of its data connections.
        probe: Of its probes.
        rtt_base: Mean of the pings before it.
        idle_open_window: Mean over its data connections of the share of the time in which the
            sender was idle with open window.
        sender: The load of its sender.
        receiver: The load of its receiver.
    """

    number: int
    at_ns: int | None = None
    use: str | None = None
    causes: tuple[str, ...] = ()
    data: float | None = None
    probe: float | None = None
    rtt_base: float | None = None
    idle_open_window: float | None = None
    sender: Load = field(default_factory=Load)
    receiver: Load = field(default_factory=Load)

    @classmethod
    def of(cls, number: int, at_ns: int | None, judged: JudgedRound) -> Self:
        """From its judgement."""
        rows, use = judged.connections, judged.use
        idle = [row.idle_open_window_fraction for row in rows if row.role == "data"]
        causes = {intern(row.cause or "") for row in rows if row.verdict == "discard"}
        return cls(
            number=number,
            at_ns=at_ns,
            use=None if use is None else intern(use),
            causes=tuple(sorted(causes)),
            data=_throughput(rows, "data"),
            probe=_throughput(rows, "probe"),
            rtt_base=rows[0].rtt_base_seconds if rows else None,
            idle_open_window=mean([share for share in idle if share is not None]),
            sender=judged.hosts.get("sender") or Load(),
            receiver=judged.hosts.get("receiver") or Load(),
        )


def _throughput(rows: Sequence[JudgedConnection], role: Role) -> float | None:
    rates = [row.app_bytes_per_second for row in rows if row.role == role and row.failure is None]
    return mean([rate for rate in rates if rate is not None])
