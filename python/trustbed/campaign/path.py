"""What test packets and estimators said of the path before the connections of a round, and what all rounds of a pair come to.

Of one-way delays the least is as wrong as the clocks are apart, what lies above it is not: so delays are told above the least of their
round, and jitter is P95 − P50 of them. An estimate counts if it has both bounds; of pathChirp both are the mean of its estimates. Nothing
here is a verdict, and none is made of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from trustbed.workload import mean

WAYS = ("forward", "backward")
_DELAYS = ("p50", "p95")
Row = Mapping[str, Any]


def path_of(record: Row) -> dict[str, Any]:
    """What a round's record says: ``delay`` (nothing if nobody asked, or nothing came back) and ``bandwidth`` per estimator."""
    return {"delay": _delay(record.get("delay")), "bandwidth": [_estimate(*one) for one in (record.get("bandwidth") or {}).items()]}


def _delay(report: Row | None) -> dict[str, Any] | None:
    if report is None:
        return None
    directions, delays, offset = (
        report.get("directions") or {},
        report.get("delays") or {},
        (report.get("clocks") or {}).get("offset") or {},
    )
    return {
        "sent": report["sent_probes"],
        "answered": report["answered_probes"],
        "round_trip_least_seconds": _seconds((delays.get("round_trip") or {}).get("least_ns")),
        "receiver_ahead_seconds": _seconds(offset.get("ahead_ns")),
        "receiver_ahead_error_seconds": _seconds(offset.get("error_ns")),
        **{way: {"lost": _lost(directions, way), **_above_least(delays.get(way))} for way in WAYS},
    }


def _lost(directions: Row, way: str) -> int | None:
    """Losses of a direction, if every loss is known to be of one of the two."""
    found: int | None = directions.get(f"lost_{way}_probes")
    return None if directions.get("lost_somewhere_probes") else found


def _above_least(delay: Row | None) -> dict[str, float | None]:
    if delay is None or not delay.get("probes"):
        return {**{f"above_least_{name}_seconds": None for name in _DELAYS}, "jitter_seconds": None}
    above = {name: (delay[f"{name}_ns"] - delay["least_ns"]) / 1e9 for name in _DELAYS}
    return {**{f"above_least_{name}_seconds": value for name, value in above.items()}, "jitter_seconds": above["p95"] - above["p50"]}


def _estimate(name: str, report: Row) -> dict[str, Any]:
    found, runs = report.get(name) or {}, report.get("streams" if name == "pathload" else "chirps") or {}
    if name == "pathload":
        low, high = found.get("low_bits_per_second"), found.get("high_bits_per_second")
    else:
        low = high = found.get("mean_ip_bits_per_second")
    return {
        "estimator": name,
        "low_bits_per_second": low,
        "high_bits_per_second": high,
        "ending": report.get("ending"),
        "runs": runs.get("sent"),
        "runs_used": runs.get("used"),
        "sent_ip_bytes": report.get("sent_ip_bytes"),
        "duration_seconds": _seconds(report.get("duration_ns")),
    }


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


class Paths:
    """The rounds of a pair of hosts."""

    def __init__(self) -> None:
        self._rounds = self._sent = self._answered = 0
        self._lost = dict.fromkeys(WAYS, 0)
        self._counted = 0
        self._least: float | None = None
        self._delays: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._estimates: dict[str, list[tuple[float, float]]] = {}
        self._asked: dict[str, int] = defaultdict(int)
        self._runs: dict[str, list[int]] = {}

    def add(self, found: Row | None) -> None:
        """Takes what :func:`path_of` found in a round; rounds that did not ask are passed over."""
        if found is None:
            return
        if (delay := found["delay"]) is not None:
            self._add_delay(delay)
        for one in found["bandwidth"]:
            self._asked[one["estimator"]] += 1
            runs = self._runs.setdefault(one["estimator"], [0, 0])
            for place, name in enumerate(("runs", "runs_used")):
                runs[place] += one[name] or 0
            kept = self._estimates.setdefault(one["estimator"], [])
            if one["low_bits_per_second"] is not None and one["high_bits_per_second"] is not None:
                kept.append((one["low_bits_per_second"], one["high_bits_per_second"]))

    def _add_delay(self, delay: Row) -> None:
        self._rounds += 1
        self._sent += delay["sent"]
        self._answered += delay["answered"]
        least = delay["round_trip_least_seconds"]
        if least is not None:
            self._least = least if self._least is None else min(self._least, least)
        if all(delay[way]["lost"] is not None for way in WAYS):
            self._counted += delay["sent"]
        for way in WAYS:
            self._lost[way] += delay[way]["lost"] or 0
            for name in ("above_least_p50_seconds", "above_least_p95_seconds", "jitter_seconds"):
                if delay[way][name] is not None:
                    self._delays[way, name].append(delay[way][name])

    def told(self) -> dict[str, Any]:
        """Means over rounds; shares of all test packets, by direction of those whose reflector counted."""
        return {
            "delay": self._told_delay() if self._rounds else None,
            "bandwidth": [
                {
                    "estimator": name,
                    "rounds": self._asked[name],
                    "estimates": len(kept),
                    "runs": self._runs[name][0],
                    "runs_used": self._runs[name][1],
                    "low_mean_bits_per_second": mean([low for low, _ in kept]),
                    "high_mean_bits_per_second": mean([high for _, high in kept]),
                    "low_min_bits_per_second": min((low for low, _ in kept), default=None),
                    "high_max_bits_per_second": max((high for _, high in kept), default=None),
                }
                for name, kept in self._estimates.items()
            ],
        }

    def _told_delay(self) -> dict[str, Any]:
        return {
            "rounds": self._rounds,
            "sent": self._sent,
            "lost_share": 1 - self._answered / self._sent if self._sent else None,
            "round_trip_least_seconds": self._least,
            **{
                way: {
                    "lost_share": self._lost[way] / self._counted if self._counted else None,
                    "above_least_p50_mean_seconds": mean(self._delays[way, "above_least_p50_seconds"]),
                    "above_least_p95_mean_seconds": mean(self._delays[way, "above_least_p95_seconds"]),
                    "jitter_mean_seconds": mean(self._delays[way, "jitter_seconds"]),
                    "jitter_max_seconds": max(self._delays[way, "jitter_seconds"], default=None),
                }
                for way in WAYS
            },
        }
