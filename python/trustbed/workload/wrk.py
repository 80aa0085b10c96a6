"""The output of ``wrk``: a summary, and with ``--latency`` percentiles.

Precision: times have two decimals of the unit that is printed, sizes two decimals of KB, MB, GB of
1024. A response that takes longer than ``--timeout`` (default: 2 s) is counted as a
timeout and left out of the latencies, and a request that is still unanswered at the end is not
counted at all, so they understate a slow network: look at the timeouts and at the number of
requests first.
"""

from __future__ import annotations

import re

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import PERCENTILES, Cell, column, nanoseconds, table

SUMMARY = pa.schema(
    [
        column("threads", pa.int64(), "1", "threads of wrk"),
        column("connections", pa.int64(), "1", "open connections"),
        column("duration_ns", pa.int64(), "ns", "how long the run took"),
        column("requests", pa.int64(), "1", "complete responses, late ones included"),
        column("read_bytes", pa.int64(), "B", "received, as printed with two decimals"),
        column(
            "latency_mean_ns",
            pa.int64(),
            "ns",
            "mean response time; null when there was none within the time limit",
        ),
        column("latency_sd_ns", pa.int64(), "ns", "its standard deviation"),
        column("latency_max_ns", pa.int64(), "ns", "the longest"),
        column("requests_per_second", pa.float64(), "1/s", "responses per second"),
        column("read_bytes_per_second", pa.float64(), "B/s", "received per second"),
        column("failed_connect", pa.int64(), "1", "connections that failed"),
        column("failed_read", pa.int64(), "1", "errors while reading"),
        column("failed_write", pa.int64(), "1", "errors while writing"),
        column(
            "timeouts",
            pa.int64(),
            "1",
            "responses that took longer than the time limit; not part of the latencies",
        ),
        column(
            "not_2xx_3xx_responses",
            pa.int64(),
            "1",
            "responses with another status than 2xx or 3xx",
        ),
    ]
)

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}
_QUANTITY = r"([\d.]+)([a-zA-Z]+)"
_TOTAL = re.compile(rf"^\s+(\d+) requests in {_QUANTITY}, {_QUANTITY} read$", re.MULTILINE)
_SIZE = re.compile(r"^\s+(\d+) threads and (\d+) connections$", re.MULTILINE)
_LATENCY = re.compile(rf"^\s+Latency\s+{_QUANTITY}\s+{_QUANTITY}\s+{_QUANTITY}\s", re.MULTILINE)
_ERRORS = re.compile(
    r"^\s+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$", re.MULTILINE
)
_STATUS = re.compile(r"^\s+Non-2xx or 3xx responses: (\d+)$", re.MULTILINE)
_RATES = re.compile(rf"^Requests/sec:\s+([\d.]+)\nTransfer/sec:\s+{_QUANTITY}$", re.MULTILINE)
_PERCENTILE = re.compile(rf"^\s+([\d.]+)%\s+{_QUANTITY}$", re.MULTILINE)


def summary(text: str) -> pa.Table:
    """The summary on standard output, one row (:data:`SUMMARY`).

    Raises:
        WorkloadError: The text is no summary, or has the error with which ``wrk`` ended.
    """
    total, size, latency, rates = (
        _TOTAL.search(text),
        _SIZE.search(text),
        _LATENCY.search(text),
        _RATES.search(text),
    )
    if total is None or size is None or latency is None or rates is None:
        raise _broken(text)
    values = latency.groups()
    measured = float(values[4]) > 0
    errors = _ERRORS.search(text)
    status = _STATUS.search(text)
    row: dict[str, Cell] = {
        "threads": int(size.group(1)),
        "connections": int(size.group(2)),
        "duration_ns": _time(total.group(2), total.group(3)),
        "requests": int(total.group(1)),
        "read_bytes": round(_size(total.group(4), total.group(5))),
        "latency_mean_ns": _time(values[0], values[1]) if measured else None,
        "latency_sd_ns": _time(values[2], values[3]) if measured else None,
        "latency_max_ns": _time(values[4], values[5]) if measured else None,
        "requests_per_second": float(rates.group(1)),
        "read_bytes_per_second": _size(rates.group(2), rates.group(3)),
        "not_2xx_3xx_responses": int(status.group(1)) if status else 0,
    }
    counts = [int(count) for count in errors.groups()] if errors else [0] * 4
    row |= dict(
        zip(("failed_connect", "failed_read", "failed_write", "timeouts"), counts, strict=True)
    )
    return table(SUMMARY, [row])


def percentiles(text: str) -> pa.Table:
    """The distribution that ``--latency`` prints (:data:`~trustbed.workload.tables.PERCENTILES`).

    No rows without that option, or when no response came within the time limit.
    """
    _, mark, after = text.partition("Latency Distribution")
    rows = (
        [
            {"share": float(percent) / 100, "response_ns": _time(*took)}
            for percent, *took in _PERCENTILE.findall(after)
        ]
        if mark
        else []
    )
    return table(PERCENTILES, rows if any(row["response_ns"] for row in rows) else [])


def _time(number: str, unit: str) -> int | None:
    if unit not in _SECONDS:
        raise WorkloadError(
            f"{number}{unit} in the output of wrk is no time",
            f"known units are {', '.join(_SECONDS)}",
        )
    return nanoseconds(float(number), _SECONDS[unit])


def _size(number: str, unit: str) -> float:
    if unit not in _BYTES:
        raise WorkloadError(
            f"{number}{unit} in the output of wrk is no size",
            f"known units are {', '.join(_BYTES)}",
        )
    return float(number) * _BYTES[unit]


def _broken(text: str) -> WorkloadError:
    if text.startswith("unable to"):
        return WorkloadError(
            f"wrk gave up: {first_line(text)}", "is the server up and reachable from this host?"
        )
    message = (
        f'this is no summary of wrk: no line "N requests in …" (it begins with: {first_line(text)})'
    )
    return WorkloadError(
        message,
        (
            "capture wrk's standard output; a script of wrk's (-s) that prints its own report "
            "cannot be read"
        ),
    )
