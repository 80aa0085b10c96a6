"""Two-point results summed over all connections of a pair of hosts and a role.

Losses are counted between the two hosts, so a share of them is the path's and nobody else's. It is
a share of the frames whose fate is known: what was on its way when a capture began or ended is in
neither count. Of one-way delays the smallest is as wrong as the comparison of the two clocks; what
lies above it is not. Medians are over connections.

Connections with frames that only the receiver's capture has are left out of losses, and so are
those of a round whose receiver's capture dropped packets: one of the captures missed something.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from trustbed.workload import quantile

_TIMES = (
    "owd_min_seconds",
    "owd_increase_p50_seconds",
    "owd_increase_p95_seconds",
    "path_p50_seconds",
    "turnaround_p50_seconds",
)
_COUNTS = ("lost_between", "needless", "reordered")


class TwoPointSummary:
    """Connections that were captured at both ends, of one pair of hosts and role.

    Eight bytes of memory per number.
    """

    def __init__(self) -> None:
        self.connections = 0
        self._counted = 0
        self._sent = 0
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._times = {name: array("d") for name in _TIMES}

    def add(self, row: Mapping[str, Any]) -> None:
        """Takes a connection's row; one that was not captured at both ends is passed over.

        What is lost is not known of all others.
        """
        if row.get("lost_between") is None and row.get("sent_between") is None:
            return
        self.connections += 1
        sent, lost = _fates(row), row.get("lost_between")
        if sent and lost is not None and not row.get("unseen"):
            self._counted += 1
            self._sent += sent
            for name in _COUNTS:
                self._counts[name] += row.get(name) or 0
        for name, values in self._times.items():
            if row.get(name) is not None:
                values.append(row[name])

    def told(self, role: str) -> dict[str, Any]:
        """In numbers: counts, shares of the frames sent whose fate is known, medians in seconds."""
        medians = {name: quantile(values, 0.5) for name, values in self._times.items()}
        path, host = medians["path_p50_seconds"], medians["turnaround_p50_seconds"]
        return {
            "role": role,
            "connections": self.connections,
            "counted": self._counted,
            "sent": self._sent,
            **self._counts,
            **{
                f"{name}_share": count / self._sent if self._sent else None
                for name, count in self._counts.items()
            },
            **medians,
            "receiver_share": host / (path + host)
            if path is not None and host is not None and path + host > 0
            else None,
        }


def _fates(row: Mapping[str, Any]) -> int | None:
    """Frames that passed or were lost.

    Of rounds judged before these were told apart, all that were sent.
    """
    if row.get("passed_between") is not None and row.get("lost_between") is not None:
        return int(row["passed_between"] + row["lost_between"])
    return row.get("sent_between") if row.get("sent_between") is not None else row.get("segments")
