"""What ``ndt7-client -format json`` prints: one row per direction of its summary.

The client prints an event per line and the summary last; with ``-quiet`` only that. Two shapes of
the summary are known: one object per direction, and the earlier one with a value each. Precision:
the download is counted at the client, the upload at the server, over the whole test with its slow
start; RTT and retransmissions are the server's (``tcp_info``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import Row, column, nanoseconds, table

SUMMARY = pa.schema(
    [
        column("direction", pa.string(), "", "download or upload"),
        column("server", pa.string(), "", "the server's name"),
        column("throughput_bits_per_second", pa.float64(), "bit/s", "mean over the test"),
        column("rtt_ns", pa.int64(), "ns", "RTT at the server: the smallest, of old clients last"),
        column("retransmitted_share", pa.float64(), "1", "bytes that the server sent again"),
    ]
)
_RATE = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_TIME = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_SHARE = {"%": 0.01}
_ADVICE = "run ndt7-client with -format json, and keep its standard output"
_DIRECTIONS = ("download", "upload")


def is_ndt7(text: str) -> bool:
    """Whether a text looks like output of ndt7-client."""
    compact = text[:100_000].replace(" ", "")
    begins = compact.lstrip().startswith("{")
    return begins and ('"ServerFQDN"' in text or '"Key":"starting"' in compact)


def summary(text: str) -> pa.Table:
    """One row per direction that was measured (:data:`SUMMARY`).

    Raises:
        WorkloadError: It is no such output, or a test failed.
    """
    summaries = []
    for one in _objects(text):
        if one.get("Key") == "error":
            about = one.get("Value") or {}
            raise WorkloadError(
                f"the {about.get('Test', 'test')} of ndt7-client failed: {about.get('Failure')}",
                "is the server reachable from this host? ndt7-client -server names another",
            )
        if "ServerFQDN" in one:
            summaries.append(one)
    if not summaries:
        raise WorkloadError("ndt7-client printed no summary", "let the test run to its end")
    rows = [row for found in summaries for row in _rows(found)]
    if not rows:
        raise WorkloadError("ndt7-client measured no direction", _ADVICE)
    if len({row["direction"] for row in rows}) < len(rows):
        raise WorkloadError(
            "there are several runs of ndt7-client in one file",
            "keep the output of every run in a file of its own",
        )
    return table(SUMMARY, rows)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a text, one after the other."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise WorkloadError(
                f"this is no output of ndt7-client (it goes on with: {first_line(text[at:])})",
                _ADVICE,
            )
        yield found


def _rows(found: Mapping[str, Any]) -> Iterator[Row]:
    for direction in _DIRECTIONS:
        name = direction.capitalize()
        part = found.get(name) or {}
        nested = part if "Throughput" in part else _earlier(found, name)
        rate = _quantity(nested.get("Throughput"), _RATE)
        if rate is not None:
            yield {
                "direction": direction,
                "server": found["ServerFQDN"],
                "throughput_bits_per_second": rate,
                "rtt_ns": nanoseconds(_quantity(nested.get("Latency"), _TIME)),
                "retransmitted_share": _quantity(nested.get("Retransmission"), _SHARE),
            }


def _earlier(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A direction of the earlier shape; only of the download RTT and retransmissions are known."""
    if name == "Upload":
        return {"Throughput": found.get(name)}
    return {
        "Throughput": found.get(name),
        "Latency": found.get("MinRTT") or found.get("RTT"),
        "Retransmission": found.get("DownloadRetrans"),
    }


def _quantity(pair: Mapping[str, Any] | None, units: Mapping[str, float]) -> float | None:
    """A value with its unit in base units; without a unit, nothing was measured."""
    if not pair or not pair.get("Unit"):
        return None
    if pair["Unit"] not in units:
        raise WorkloadError(f"ndt7-client states an unknown unit, {pair['Unit']!r}", _ADVICE)
    return float(pair["Value"]) * units[pair["Unit"]]
