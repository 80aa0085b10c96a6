"""The output of ``httperf``: a summary.

Precision: times have tenths of milliseconds. The time of a reply is split in two: *response*,
request sent to first byte, and *transfer*, first to last byte; both are means. The connection times
are of connections in which every call succeeded, from opening to closing.
"""

from __future__ import annotations

import re

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import Cell, column, nanoseconds, table

_MILLISECOND = 1e-3

SUMMARY = pa.schema(
    [
        column("connections", pa.int64(), "1", "connections that were started"),
        column("requests", pa.int64(), "1", "requests that were sent"),
        column("replies", pa.int64(), "1", "complete replies"),
        column("duration_ns", pa.int64(), "ns", "how long the run took"),
        column("requests_per_second", pa.float64(), "1/s", "requests per second"),
        column(
            "connection_min_ns",
            pa.int64(),
            "ns",
            "shortest lifetime of a connection; null if none succeeded",
        ),
        column("connection_mean_ns", pa.int64(), "ns", "mean lifetime"),
        column("connection_max_ns", pa.int64(), "ns", "longest lifetime"),
        column("connection_median_ns", pa.int64(), "ns", "median lifetime, in steps of 1 ms"),
        column("connection_sd_ns", pa.int64(), "ns", "standard deviation"),
        column("connect_ns", pa.int64(), "ns", "mean time to open a connection"),
        column(
            "first_byte_mean_ns",
            pa.int64(),
            "ns",
            "request sent to first byte of the reply, mean; null without a reply",
        ),
        column("transfer_mean_ns", pa.int64(), "ns", "first to last byte of the reply, mean"),
        column(
            "response_mean_ns", pa.int64(), "ns", "request sent to last byte, mean: the sum of both"
        ),
        column("body_bytes_mean", pa.float64(), "B", "body of a reply, mean"),
        column("status_1xx", pa.int64(), "1", "replies with such a status"),
        column("status_2xx", pa.int64(), "1", "replies with such a status"),
        column("status_3xx", pa.int64(), "1", "replies with such a status"),
        column("status_4xx", pa.int64(), "1", "replies with such a status"),
        column("status_5xx", pa.int64(), "1", "replies with such a status"),
        column("errors", pa.int64(), "1", "errors of every kind"),
        column("timeouts", pa.int64(), "1", "no answer within --timeout"),
        column("socket_timeouts", pa.int64(), "1", "the connection timed out"),
        column("refused", pa.int64(), "1", "connections that were refused"),
        column("reset", pa.int64(), "1", "connections that were reset"),
        column(
            "local_errors",
            pa.int64(),
            "1",
            "no descriptor, address or room in a table on this host, or other errors",
        ),
    ]
)

_LINES = (
    re.compile(
        r"^Total: connections (?P<connections>\d+) requests (?P<requests>\d+) replies "
        r"(?P<replies>\d+)"
        r" test-duration (?P<seconds>[\d.]+) s$",
        re.M,
    ),
    re.compile(r"^Request rate: (?P<requests_per_second>[\d.]+) req/s ", re.M),
    re.compile(
        r"^Connection time \[ms\]: min (?P<connection_min>[\d.]+) avg "
        r"(?P<connection_mean>[\d.]+) max (?P<connection_max>[\d.]+)"
        r" median (?P<connection_median>[\d.]+) stddev (?P<connection_sd>[\d.]+)$",
        re.M,
    ),
    re.compile(r"^Connection time \[ms\]: connect (?P<connect>[\d.]+)$", re.M),
    re.compile(
        (
            r"^Reply time \[ms\]: response (?P<first_byte_mean>[\d.]+) transfer "
            r"(?P<transfer_mean>[\d.]+)$"
        ),
        re.M,
    ),
    re.compile(r"^Reply size \[B\]: header [\d.]+ content (?P<body_bytes_mean>[\d.]+) ", re.M),
    re.compile(
        r"^Reply status: 1xx=(?P<status_1xx>\d+) 2xx=(?P<status_2xx>\d+) 3xx=(?P<status_3xx>\d+)"
        r" 4xx=(?P<status_4xx>\d+) 5xx=(?P<status_5xx>\d+)$",
        re.M,
    ),
    re.compile(
        r"^Errors: total (?P<errors>\d+) client-timo (?P<timeouts>\d+) socket-timo "
        r"(?P<socket_timeouts>\d+)"
        r" connrefused (?P<refused>\d+) connreset (?P<reset>\d+)$",
        re.M,
    ),
    re.compile(
        (
            r"^Errors: fd-unavail (?P<descriptors>\d+) addrunavail (?P<addresses>\d+) "
            r"ftab-full (?P<room>\d+) other (?P<other>\d+)$"
        ),
        re.M,
    ),
)
_CONNECTION = (
    "connection_min",
    "connection_mean",
    "connection_max",
    "connection_median",
    "connection_sd",
    "connect",
)
_REPLY = ("first_byte_mean", "transfer_mean")


def summary(text: str) -> pa.Table:
    """The summary on standard output, one row (:data:`SUMMARY`).

    Raises:
        WorkloadError: The text is no summary, or is incomplete.
    """
    found: dict[str, str] = {}
    for line in _LINES:
        match = line.search(text)
        if match is None:
            wanted = line.pattern.removeprefix("^").split("(")[0].replace("\\", "").strip()
            message = (
                f'this is no summary of httperf: no line "{wanted} …" (it begins with: '
                f"{first_line(text)})"
            )
            raise WorkloadError(
                message,
                (
                    "is the server's name right? Capture httperf's standard output, and let it "
                    "end by itself"
                ),
            )
        found |= match.groupdict()
    row: dict[str, Cell] = {
        name: int(found[name])
        for name in SUMMARY.names
        if name in found and found[name].isdecimal()
    }
    row["duration_ns"] = nanoseconds(float(found["seconds"]))
    row["requests_per_second"] = float(found["requests_per_second"])
    row["local_errors"] = sum(
        int(found[name]) for name in ("descriptors", "addresses", "room", "other")
    )
    replies = int(found["replies"])
    if replies:
        row["body_bytes_mean"] = float(found["body_bytes_mean"])
        row |= {f"{name}_ns": nanoseconds(float(found[name]), _MILLISECOND) for name in _REPLY}
        row["response_mean_ns"] = nanoseconds(
            sum(float(found[name]) for name in _REPLY), _MILLISECOND
        )
    if replies and float(found["connection_max"]) > 0:
        row |= {f"{name}_ns": nanoseconds(float(found[name]), _MILLISECOND) for name in _CONNECTION}
    return table(SUMMARY, [row])
