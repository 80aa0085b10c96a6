"""Results of test packets and estimators before a round's connections, per round and per pair.

Of one-way delays the least is as wrong as the clocks are apart, what lies above it is not: so
delays are told above the least of their round, and jitter is P95 − P50 of them. That needs clocks
that were not stepped: such a round has losses and no delays. An estimate is an
interval, or a bound where an estimator ended at a limit of the rates that it can send; of pathChirp
both bounds are the mean of its estimates. A question that failed has a row that says so. Nothing
here is a verdict, and none is made of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from trustbed.workload import mean

WAYS = ("forward", "backward")
_DELAYS = ("p50", "p95")
_WHOLE = {
    "pathload": ("resolution", "grey_region", "highest_rate", "lowest_rate"),
    "pathchirp": ("time_limit",),
}
"""How an estimator ends that came to its end.

Pathload when it has concluded, pathChirp, which never concludes, with its time.
"""
Row = Mapping[str, Any]


def path_of(record: Row, *, clock_stepped: bool = False) -> dict[str, Any]:
    """What a round's record says.

    ``delay`` (nothing if nobody asked) and ``bandwidth`` per estimator that was asked.

    A question that was asked and failed stands in the record as null; its row is not ``answered``.
    ``clock_stepped``: a host's clock is known to have been stepped during the round; test packets
    alone do not always show it.
    """
    return {
        "delay": _delay(record["delay"] or {}, clock_stepped) if "delay" in record else None,
        "bandwidth": [
            _estimate(name, report or {}) for name, report in record.get("bandwidth", {}).items()
        ],
    }


def _delay(report: Row, clock_stepped: bool) -> dict[str, Any]:
    directions, clocks = report.get("directions") or {}, report.get("clocks") or {}
    reflector = report.get("reflector") or {}
    clock_stepped = bool(report) and (
        clock_stepped
        or any((clocks.get("uneven"), clocks.get("clock_steps"), reflector.get("clock_steps")))
    )
    delays, offset = (
        ({}, {}) if clock_stepped else (report.get("delays") or {}, clocks.get("offset") or {})
    )
    return {
        "answered": bool(report),
        "clock_stepped": clock_stepped,
        "sent_probes": report.get("sent_probes", 0),
        "answered_probes": report.get("answered_probes", 0),
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
    return {
        **{f"above_least_{name}_seconds": value for name, value in above.items()},
        "jitter_seconds": above["p95"] - above["p50"],
    }


def _estimate(name: str, report: Row) -> dict[str, Any]:
    found, ending = report.get(name) or {}, report.get("ending")
    runs = report.get("streams" if name == "pathload" else "chirps") or {}
    used, low, high = (
        runs.get("used"),
        found.get("low_bits_per_second"),
        found.get("high_bits_per_second"),
    )
    at_limit = ending == "highest_rate"
    if name == "pathchirp":
        at_limit = _is_at_limit(found)
        low = found.get("mean_ip_bits_per_second")
        high = None if at_limit else low
        # It was handed these chirps, and could not read them.
        used = None if used is None else used - found.get("unusable_chirps", 0)
    return {
        "estimator": name,
        "answered": bool(report),
        "low_bits_per_second": low,
        "high_bits_per_second": high,
        "at_limit": at_limit,
        "ending": ending,
        "ended_early": ending is not None and _is_early(name, ending),
        "runs": runs.get("sent"),
        "runs_used": used,
        "sent_ip_bytes": report.get("sent_ip_bytes"),
        "duration_seconds": _seconds(report.get("duration_ns")),
    }


def _is_at_limit(pathchirp: Row) -> bool:
    """Whether an estimate near the highest rate of a chirp makes the mean a lower bound."""
    behind = pathchirp.get("estimates_in_mean", 0)
    return behind > 0 and any(one["at_limit"] for one in pathchirp["estimates"][-behind:])


def _is_early(estimator: str, ending: str) -> bool:
    return ending not in _WHOLE[estimator]


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


class Paths:
    """The rounds of a pair of hosts."""

    def __init__(self) -> None:
        self._delays = _Delays()
        self._estimates: dict[str, _Estimates] = {}

    def add(self, found: Row | None) -> None:
        """Takes what :func:`path_of` found in a round; rounds that did not ask are passed over."""
        if found is None:
            return
        if found["delay"] is not None:
            self._delays.add(found["delay"])
        for one in found["bandwidth"]:
            self._estimates.setdefault(one["estimator"], _Estimates()).add(one)

    def told(self) -> dict[str, Any]:
        """Means over rounds.

        Shares of all test packets, by direction of those whose reflector counted.
        """
        return {
            "delay": self._delays.told() if self._delays.rounds else None,
            "bandwidth": [
                {"estimator": name, **one.told(name)} for name, one in self._estimates.items()
            ],
        }


class _Delays:
    """One-way delays of rounds."""

    def __init__(self) -> None:
        self.rounds = self._failed = self._clock_set = self._sent = self._answered = 0
        self._lost = dict.fromkeys(WAYS, 0)
        self._counted = 0
        self._least: float | None = None
        self._above: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(self, delay: Row) -> None:
        self.rounds += 1
        self._failed += not delay["answered"]
        self._clock_set += delay["clock_stepped"]
        self._sent += delay["sent_probes"]
        self._answered += delay["answered_probes"]
        least = delay["round_trip_least_seconds"]
        if least is not None:
            self._least = least if self._least is None else min(self._least, least)
        if all(delay[way]["lost"] is not None for way in WAYS):
            self._counted += delay["sent_probes"]
            for way in WAYS:
                self._lost[way] += delay[way]["lost"]
        for way in WAYS:
            for name in ("above_least_p50_seconds", "above_least_p95_seconds", "jitter_seconds"):
                if delay[way][name] is not None:
                    self._above[way, name].append(delay[way][name])

    def told(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds,
            "failed_rounds": self._failed,
            "clock_stepped_rounds": self._clock_set,
            "sent_probes": self._sent,
            "answered_probes": self._answered,
            "lost_share": 1 - self._answered / self._sent if self._sent else None,
            "round_trip_least_seconds": self._least,
            **{
                way: {
                    "lost_share": self._lost[way] / self._counted if self._counted else None,
                    "above_least_p50_mean_seconds": mean(
                        self._above[way, "above_least_p50_seconds"]
                    ),
                    "above_least_p95_mean_seconds": mean(
                        self._above[way, "above_least_p95_seconds"]
                    ),
                    "jitter_mean_seconds": mean(self._above[way, "jitter_seconds"]),
                    "jitter_max_seconds": max(self._above[way, "jitter_seconds"], default=None),
                }
                for way in WAYS
            },
        }


class _Estimates:
    """One estimator's results over rounds."""

    def __init__(self) -> None:
        self._rounds = self._failed = self._runs = self._used = 0
        self._intervals: list[tuple[float, float]] = []
        self._at_least: list[float] = []
        self._at_most: list[float] = []
        self._endings: Counter[str] = Counter()

    def add(self, found: Row) -> None:
        self._rounds += 1
        self._failed += not found["answered"]
        self._runs += found["runs"] or 0
        self._used += found["runs_used"] or 0
        if found["ending"] is not None:
            self._endings[found["ending"]] += 1
        low, high = found["low_bits_per_second"], found["high_bits_per_second"]
        if low is not None and high is not None:
            self._intervals.append((low, high))
        elif low is not None:
            self._at_least.append(low)
        elif high is not None:
            self._at_most.append(high)

    def told(self, estimator: str) -> dict[str, Any]:
        return {
            "rounds": self._rounds,
            "failed_rounds": self._failed,
            "estimates": len(self._intervals),
            "low_mean_bits_per_second": mean([low for low, _ in self._intervals]),
            "high_mean_bits_per_second": mean([high for _, high in self._intervals]),
            "low_min_bits_per_second": min((low for low, _ in self._intervals), default=None),
            "high_max_bits_per_second": max((high for _, high in self._intervals), default=None),
            "at_least_rounds": len(self._at_least),
            "at_least_mean_bits_per_second": mean(self._at_least),
            "at_most_rounds": len(self._at_most),
            "at_most_mean_bits_per_second": mean(self._at_most),
            "endings": [
                {"ending": name, "rounds": count, "early": _is_early(estimator, name)}
                for name, count in self._endings.most_common()
            ],
            "runs": self._runs,
            "runs_used": self._used,
        }
