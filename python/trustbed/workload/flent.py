"""The data files of ``flent``: throughput and ping of a test, one row.

A data file is JSON (plain or gzip): ``results`` has a series of samples per name, interpolated to
the same moments, ``raw_values`` what was measured. Precision: throughput is the mean of the series
that flent itself sums up, ramp-up included; ping times are those of its ping series.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pyarrow as pa

from trustbed.workload.distribution import mean, quantile
from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import column, nanoseconds, table

SUMMARY = pa.schema(
    [
        column("test", pa.string(), "", "flent's name of the test"),
        column("series", pa.string(), "", "the series that the throughput is of"),
        column("throughput_bits_per_second", pa.float64(), "bit/s", "its mean"),
        column("ping_p50_ns", pa.int64(), "ns", "median RTT of the test's pings"),
        column("ping_p90_ns", pa.int64(), "ns", "90th percentile of the same"),
    ]
)
_THROUGHPUT = (
    "TCP totals", "TCP upload sum", "TCP download sum", "TCP upload", "TCP download",
    "UDP upload sum", "UDP download sum",
)  # fmt: skip
"""Series of throughput, the most telling first."""
_PINGS = ("Ping (ms) ICMP", "Ping (ms) avg", "Ping (ms)")
_MEGA, _MILLISECOND = 1e6, 1e-3


def is_flent(text: str) -> bool:
    """Whether a text looks like a data file of flent."""
    head = text[:100_000]
    return head.lstrip().startswith("{") and '"x_values"' in text and '"results"' in text


def summary(text: str) -> pa.Table:
    """One row (:data:`SUMMARY`); null where the test has no such series.

    Raises:
        WorkloadError: It is no data file of flent, or has neither throughput nor ping.
    """
    try:
        found = json.loads(text)
        results, metadata = found["results"], found["metadata"]
        series = {str(name): _known(values) for name, values in results.items()}
        raw = {str(name): _raw(values) for name, values in (found.get("raw_values") or {}).items()}
        test = str(metadata.get("NAME"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WorkloadError(
            f"this is no data file of flent (it begins with: {first_line(text)}): {error}",
            "give the .flent or .flent.gz file that flent wrote",
        ) from None
    name = next((one for one in _THROUGHPUT if series.get(one)), None)
    ping = next((one for one in _PINGS if series.get(one)), None)
    if name is None and ping is None:
        raise WorkloadError(
            f"no throughput and no ping that is known in the data file of {test}",
            f"known series are {', '.join(_THROUGHPUT)}, {', '.join(_PINGS)}",
        )
    rates = [] if name is None else series[name]
    pings = [] if ping is None else raw.get(ping) or series[ping]
    rate = mean(rates)
    row = {
        "test": test,
        "series": name,
        "throughput_bits_per_second": None if rate is None else rate * _MEGA,
        "ping_p50_ns": nanoseconds(quantile(pings, 0.5), _MILLISECOND),
        "ping_p90_ns": nanoseconds(quantile(pings, 0.9), _MILLISECOND),
    }
    return table(SUMMARY, [row])


def _known(values: Sequence[float | None]) -> list[float]:
    return [float(value) for value in values if value is not None]


def _raw(values: Sequence[Mapping[str, float]]) -> list[float]:
    return [float(value["val"]) for value in values if value.get("val") is not None]
