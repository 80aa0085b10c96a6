"""What ``k8s-netperf --json`` prints: one row per test of its configuration.

Each value is already a mean over the tool's own samples, so a file is one repetition of each test.
Its latency is the 99th percentile that netperf reports, in microseconds.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import Row, column, nanoseconds, table

SUMMARY = pa.schema(
    [
        column("test", pa.string(), "", "driver, profile, message size, streams and placement"),
        column("throughput_bits_per_second", pa.float64(), "bit/s", "of stream tests"),
        column("transactions_per_second", pa.float64(), "1/s", "of request/response tests"),
        column("latency_p99_ns", pa.int64(), "ns", "99th percentile of the response time"),
        column("retransmits", pa.float64(), "1", "TCP: segments sent again, mean of the samples"),
        column("duration_ns", pa.int64(), "ns", "duration of a sample"),
    ]
)
_MEGA, _MICROSECOND = 1e6, 1e-6


def is_k8s_netperf(text: str) -> bool:
    """Whether a text looks like its JSON."""
    return text.lstrip().startswith("[") and '"tputMetric"' in text and '"profile"' in text


def summary(text: str) -> pa.Table:
    """One row per test (:data:`SUMMARY`).

    Raises:
        WorkloadError: It is no such JSON, or has no test.
    """
    try:
        found = json.loads(text)
        rows = [_row(one) for one in found]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WorkloadError(
            f"this is no output of k8s-netperf --json (it begins with: {first_line(text)}): "
            f"{error}",
            "run k8s-netperf with --json, and keep its standard output",
        ) from None
    if not rows:
        raise WorkloadError(
            "k8s-netperf reported no test", "see its standard error for what went wrong"
        )
    return table(SUMMARY, rows)


def _row(one: dict[str, Any]) -> Row:
    stream = "STREAM" in one["profile"]
    value = float(one["throughput"])
    placed = [
        word
        for key, word in (
            ("local", "same node"),
            ("hostNetwork", "host network"),
            ("service", "service"),
            ("acrossAZ", "across zones"),
        )
        if one.get(key)
    ]
    test = [one["driver"], one["profile"], f"{one['messageSize']} B", f"{one['parallelism']}×"]
    return {
        "test": " ".join([*test, *placed]),
        "throughput_bits_per_second": value * _MEGA if stream else None,
        "transactions_per_second": None if stream else value,
        "latency_p99_ns": nanoseconds(float(one["latency"]) or None, _MICROSECOND),
        "retransmits": float(one["tcpRetransmits"]) if one["profile"] == "TCP_STREAM" else None,
        "duration_ns": nanoseconds(float(one["duration"])),
    }
