"""Two-point results summed over all connections of a pair of hosts and a role.

Losses are counted between the two hosts, so they are the path's. The loss rate is a share of the
frames that are known to be delivered or lost: frames in flight when a capture began or ended are in
neither count. The error of the clock comparison is in the minimum one-way delay, and not in the
increase above it. Medians are over connections.

Connections with frames that only the receiver's capture has are left out of losses, and so are
those of a round whose receiver's capture dropped packets: one of the captures is incomplete.
"""

from __future__ import annotations

from array import array

import msgspec

from trustbed.campaign.records import JudgedConnection
from trustbed.scenario.campaign_model import Role
from trustbed.workload import quantile

_TIMES = (
    "owd_min_seconds",
    "owd_increase_p50_seconds",
    "owd_increase_p95_seconds",
    "path_p50_seconds",
    "turnaround_p50_seconds",
)
_COUNTS = ("lost_between", "needless", "reordered")


class TwoPointSums(msgspec.Struct, frozen=True, kw_only=True):
    """Counts, shares of the frames that are known to be delivered or lost, medians in seconds.

    ``counted`` connections are in the counts; ``receiver_share`` is the receiver's part of a round
    trip.
    """

    role: Role
    connections: int
    counted: int
    sent: int
    lost_between: int
    needless: int
    reordered: int
    lost_between_share: float | None
    needless_share: float | None
    reordered_share: float | None
    owd_min_seconds: float | None
    owd_increase_p50_seconds: float | None
    owd_increase_p95_seconds: float | None
    path_p50_seconds: float | None
    turnaround_p50_seconds: float | None
    receiver_share: float | None


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

    def add(self, row: JudgedConnection) -> None:
        """Adds a connection; ignores one that was not captured at both ends.

        Losses of some others are unknown.
        """
        if row.lost_between is None and row.sent_between is None:
            return
        self.connections += 1
        sent = _known(row)
        if sent and row.lost_between is not None and not row.unseen:
            self._counted += 1
            self._sent += sent
            for name in _COUNTS:
                self._counts[name] += getattr(row, name) or 0
        for name, values in self._times.items():
            if (value := getattr(row, name)) is not None:
                values.append(value)

    def sums(self, role: Role) -> TwoPointSums:
        """All of them together."""
        medians = {name: quantile(values, 0.5) for name, values in self._times.items()}
        path, host = medians["path_p50_seconds"], medians["turnaround_p50_seconds"]

        def share(name: str) -> float | None:
            return self._counts[name] / self._sent if self._sent else None

        return TwoPointSums(
            role=role,
            connections=self.connections,
            counted=self._counted,
            sent=self._sent,
            lost_between=self._counts["lost_between"],
            needless=self._counts["needless"],
            reordered=self._counts["reordered"],
            lost_between_share=share("lost_between"),
            needless_share=share("needless"),
            reordered_share=share("reordered"),
            **medians,
            receiver_share=host / (path + host)
            if path is not None and host is not None and path + host > 0
            else None,
        )


def _known(row: JudgedConnection) -> int | None:
    """Frames that are known to be delivered or lost.

    In rounds judged by versions without that distinction, all that were sent.
    """
    if row.passed_between is not None and row.lost_between is not None:
        return row.passed_between + row.lost_between
    return row.sent_between if row.sent_between is not None else row.segments
