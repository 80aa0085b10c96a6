"""The report of pathload or pathChirp as tables, beside the available bandwidth that was there.

Rates are in IP packets, as the available bandwidth is: pathChirp's, which count UDP payload, are
converted. The error of an estimate is 100·(estimate - A)/A, where A is the mean available bandwidth
over the run, or of the second of a single estimate of pathChirp. pathload's estimate is the middle
of its interval; where one end is unknown, the interval is a bound and has no error.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from trustbed.workload.tables import Row, column, table

_HEADERS = 28
"""Bytes of the headers of IPv4 and UDP."""
_RATES = (
    ("low_bits_per_second", "lower end of the interval (pathload); null: not known"),
    ("high_bits_per_second", "its upper end"),
    ("estimate_bits_per_second", "the estimate: of pathload the middle of the interval"),
    ("available_bits_per_second", "available bandwidth according to the emulator's ledger"),
)
ESTIMATES = pa.schema(
    [
        column("at_ns", pa.int64(), "ns", "when it was known, since the estimator began"),
        *(column(name, pa.float64(), "bit/s", meaning) for name, meaning in _RATES),
        column("error_percent", pa.float64(), "%", "100·(estimate - available)/available"),
        column(
            "is_bound",
            pa.bool_(),
            "",
            "whether it is only a bound: an end is unknown, or it is near the highest rate sent",
        ),
        column("ending", pa.string(), "", "why the estimator ended; time_limit: at its duration"),
        column("sent_ip_bytes", pa.int64(), "B", "probes until its end, headers included"),
        column("duration_ns", pa.int64(), "ns", "how long the estimator ran"),
    ]
)
"""One row per estimate: one of pathload, one for every chirp of pathChirp from the eleventh on."""
SUMMARY = pa.schema(
    [
        column("estimator", pa.string(), "", "pathload or pathchirp"),
        column("ending", pa.string(), "", "why it ended; time_limit: at its duration"),
        *(column(name, pa.float64(), "bit/s", meaning) for name, meaning in _RATES),
        column(
            "estimate_sd_bits_per_second",
            pa.float64(),
            "bit/s",
            "standard deviation of the estimates over time (pathchirp)",
        ),
        column(
            "available_sd_bits_per_second",
            pa.float64(),
            "bit/s",
            "standard deviation of the available bandwidth over bins of 1 s",
        ),
        column("error_percent", pa.float64(), "%", "100·(estimate - available)/available"),
        column("low_error_percent", pa.float64(), "%", "the same of the lower end"),
        column("high_error_percent", pa.float64(), "%", "the same of the upper end"),
        column("estimates", pa.int64(), "1", "number of estimates"),
        column("sent_runs", pa.int64(), "1", "streams or chirps that were sent"),
        column("used_runs", pa.int64(), "1", "those of them that could be used"),
        column("sent_ip_bytes", pa.int64(), "B", "probes, headers included"),
        column("duration_ns", pa.int64(), "ns", "how long it ran"),
    ]
)
"""One row per run of an estimator."""
AVAILABLE = pa.schema(
    [
        column("at_ns", pa.int64(), "ns", "begin of the bin, since the estimator began"),
        column("background_bytes", pa.int64(), "B", "IP bytes of others at the bottleneck"),
        column("own_bytes", pa.int64(), "B", "IP bytes of the estimator at the bottleneck"),
        column("available_bits_per_second", pa.float64(), "bit/s", "capacity - background rate"),
    ]
)
"""One row per second of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A second of a run: IP bytes of others and of the estimator, available bit/s."""

    at_ns: int
    background_bytes: int
    own_bytes: int
    available: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """The available bandwidth of a path during a run of an estimator, in bit/s of IP packets."""

    capacity: float
    mean: float
    bins: Sequence[Bin] = ()

    def at(self, moment_ns: int) -> float | None:
        """That of the bin with a moment since the beginning; ``None`` behind the last one."""
        holding = [one for one in self.bins if one.at_ns <= moment_ns]
        if not holding or moment_ns >= holding[-1].at_ns + 1_000_000_000:
            return None
        return holding[-1].available


def error_percent(estimate: float | None, available: float | None) -> float | None:
    """The error of an estimate; ``None`` if one of the two is unknown, or nothing is available."""
    if estimate is None or available is None or available <= 0:
        return None
    return 100 * (estimate - available) / available


def read(report: Mapping[str, Any], available: Available | None) -> dict[str, pa.Table]:
    """The tables ``estimates``, ``summary`` and ``available`` of an estimator's report.

    Without ``available`` (it is not known) there are no errors, and the third table is missing.
    """
    rows = list(_estimates(report, available))
    found = {
        "estimates": table(ESTIMATES, rows),
        "summary": table(SUMMARY, [_summary(report, rows, available)]),
    }
    if available is not None:
        found["available"] = table(
            AVAILABLE,
            [
                {
                    "at_ns": one.at_ns,
                    "background_bytes": one.background_bytes,
                    "own_bytes": one.own_bytes,
                    "available_bits_per_second": one.available,
                }
                for one in available.bins
            ],
        )
    return found


def _estimates(report: Mapping[str, Any], available: Available | None) -> Iterator[Row]:
    shared = {name: report.get(name) for name in ("ending", "sent_ip_bytes", "duration_ns")}
    interval = report.get("pathload")
    if interval is not None:
        low, high = (interval.get(f"{end}_bits_per_second") for end in ("low", "high"))
        if low is None and high is None:
            return
        middle = _middle(low, high)
        there = None if available is None else available.mean
        yield {
            **shared,
            "at_ns": report.get("duration_ns"),
            "low_bits_per_second": low,
            "high_bits_per_second": high,
            "estimate_bits_per_second": middle,
            "available_bits_per_second": there,
            "error_percent": error_percent(middle, there),
            "is_bound": middle is None,
        }
    series = report.get("pathchirp") or {}
    headers = _headers(report)
    for one in series.get("estimates") or ():
        there = None if available is None else available.at(one["at_ns"])
        rate = None if headers is None else one["bits_per_second"] * headers
        yield {
            **shared,
            "at_ns": one["at_ns"],
            "estimate_bits_per_second": rate,
            "available_bits_per_second": there,
            "error_percent": error_percent(rate, there),
            "is_bound": one["at_limit"],
        }


def _middle(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else (low + high) / 2


def _headers(report: Mapping[str, Any]) -> float | None:
    """What an IP packet is of its UDP payload.

    Where the report has no mean to take it from, all packets count as equally long.
    """
    series = report.get("pathchirp") or {}
    mean, of_packets = (
        series.get(name) for name in ("mean_bits_per_second", "mean_ip_bits_per_second")
    )
    if mean and of_packets:
        return float(of_packets / mean)
    sent, packets = report.get("sent_ip_bytes"), report.get("sent_packets")
    return sent / (sent - _HEADERS * packets) if sent and packets else None


def _overall(series: Mapping[str, Any], rows: Sequence[Row]) -> float | None:
    """The mean since the chirps' rates last changed; of all estimates if there is none since."""
    mean: float | None = series.get("mean_ip_bits_per_second")
    rates = [row["estimate_bits_per_second"] for row in rows]
    known = [rate for rate in rates if isinstance(rate, float)]
    return mean if mean is not None or not known else statistics.fmean(known)


def _summary(report: Mapping[str, Any], rows: Sequence[Row], available: Available | None) -> Row:
    interval, series = report.get("pathload") or {}, report.get("pathchirp") or {}
    low, high = (interval.get(f"{end}_bits_per_second") for end in ("low", "high"))
    estimate = _overall(series, rows) if series else _middle(low, high)
    there = None if available is None else available.mean
    runs = report.get("streams" if report.get("estimator") == "pathload" else "chirps") or {}
    headers, deviation = _headers(report), series.get("deviation_bits_per_second")
    bins = [] if available is None else [one.available for one in available.bins]
    return {
        "estimator": report.get("estimator"),
        "ending": report.get("ending"),
        "low_bits_per_second": low,
        "high_bits_per_second": high,
        "estimate_bits_per_second": estimate,
        "available_bits_per_second": there,
        "estimate_sd_bits_per_second": None
        if headers is None or deviation is None
        else deviation * headers,
        "available_sd_bits_per_second": statistics.stdev(bins) if len(bins) > 1 else None,
        "error_percent": error_percent(estimate, there),
        "low_error_percent": error_percent(low, there),
        "high_error_percent": error_percent(high, there),
        "estimates": len(rows),
        "sent_runs": runs.get("sent"),
        "used_runs": runs.get("used"),
        "sent_ip_bytes": report.get("sent_ip_bytes"),
        "duration_ns": report.get("duration_ns"),
    }
