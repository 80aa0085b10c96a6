"""The output of ``ab`` (ApacheBench): summary, requests (``-g``) and percentiles (``-e``).

Precision: times of single requests are whole milliseconds and their starts whole seconds;
percentiles have microseconds, of the *total* time with opening the connection. Requests are listed
by their total time, not in the order in which they began, and whether one failed is not in the
list: failures are known from the summary only. A broken connection ends the run.
"""

from __future__ import annotations

import re

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import PERCENTILES, REQUESTS, Cell, Row, column, nanoseconds, table

_MILLISECOND = 1e-3

SUMMARY = pa.schema(
    [
        column("server", pa.string(), "", "what the server calls itself"),
        column("path", pa.string(), "", "what was fetched"),
        column(
            "document_bytes",
            pa.int64(),
            "B",
            "length of the first response's body; null where it may vary",
        ),
        column("concurrency", pa.int64(), "1", "concurrent requests"),
        column("duration_ns", pa.int64(), "ns", "how long the run took"),
        column("requests", pa.int64(), "1", "requests that were completed, failed ones among them"),
        column(
            "failed_requests",
            pa.int64(),
            "1",
            "requests that failed for one of the next four reasons",
        ),
        column("failed_connect", pa.int64(), "1", "no connection"),
        column("failed_receive", pa.int64(), "1", "the connection broke while receiving"),
        column(
            "failed_length",
            pa.int64(),
            "1",
            "another length than the first response's (no failure where lengths vary)",
        ),
        column("failed_exceptions", pa.int64(), "1", "other errors of the socket"),
        column(
            "not_2xx_responses",
            pa.int64(),
            "1",
            "responses with another status than 2xx; they are not among the failed ones",
        ),
        column(
            "keep_alive_requests",
            pa.int64(),
            "1",
            "requests on a persistent connection; null without -k",
        ),
        column("transferred_bytes", pa.int64(), "B", "received, with headers"),
        column("body_bytes", pa.int64(), "B", "received, without headers"),
        column("requests_per_second", pa.float64(), "1/s", "completed requests per second"),
    ]
)
TIMES = pa.schema(
    [
        column(
            "phase",
            pa.string(),
            "",
            "connect, processing (request sent to last byte), waiting (to first byte) or total",
        ),
        column("min_ns", pa.int64(), "ns", "least, in whole milliseconds"),
        column("mean_ns", pa.int64(), "ns", "mean, in whole milliseconds"),
        column("sd_ns", pa.int64(), "ns", "standard deviation, in tenths of milliseconds"),
        column("median_ns", pa.int64(), "ns", "median, in whole milliseconds"),
        column("max_ns", pa.int64(), "ns", "most, in whole milliseconds"),
    ]
)

_FACTS = {
    "server": "Server Software",
    "path": "Document Path",
    "document_bytes": "Document Length",
    "concurrency": "Concurrency Level",
    "duration_ns": "Time taken for tests",
    "requests": "Complete requests",
    "failed_requests": "Failed requests",
    "not_2xx_responses": "Non-2xx responses",
    "keep_alive_requests": "Keep-Alive requests",
    "transferred_bytes": "Total transferred",
    "body_bytes": "HTML transferred",
    "requests_per_second": "Requests per second",
}
_FAILURES = re.compile(r"\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)")
_PHASE = re.compile(
    r"^(Connect|Processing|Waiting|Total):\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(\d+)$",
    re.MULTILINE,
)
_COLUMNS = ["starttime", "seconds", "ctime", "dtime", "ttime", "wait"]


def summary(text: str) -> pa.Table:
    """The summary on standard output, one row (:data:`SUMMARY`).

    Raises:
        WorkloadError: The text is no summary, or has the error with which ``ab`` ended.
    """
    found = dict(re.findall(r"^([A-Z][\w -]+):[ \t]+(.*)$", text, re.MULTILINE))
    if _FACTS["requests"] not in found:
        raise _broken(text)
    row: dict[str, Cell] = {name: _fact(name, found.get(title)) for name, title in _FACTS.items()}
    # Printed only where they are not 0.
    row["not_2xx_responses"] = row["not_2xx_responses"] or 0
    kinds = _FAILURES.search(text)
    counts = [int(count) for count in kinds.groups()] if kinds else [0] * 4
    row |= dict(
        zip(
            ("failed_connect", "failed_receive", "failed_length", "failed_exceptions"),
            counts,
            strict=True,
        )
    )
    return table(SUMMARY, [row])


def _fact(name: str, value: str | None) -> Cell:
    if value is None or name in ("server", "path"):
        return value or None
    number = re.match(r"[\d.]+", value)
    if number is None:
        return None  # "Variable" is the length that -l allows to vary
    if name == "duration_ns":
        return nanoseconds(float(number.group()))
    return float(number.group()) if name == "requests_per_second" else int(number.group())


def _broken(text: str) -> WorkloadError:
    reason = re.search(r"(?:apr_\w+: .*|ab: .*|Test aborted.*)$", text, re.MULTILINE)
    if reason is not None:
        return WorkloadError(
            f"ab gave up: {reason.group()}",
            (
                "is the server up and reachable from this host? The log of the run has all of "
                "ab's output"
            ),
        )
    message = (
        f'this is no summary of ab: no line "Complete requests" (it begins with: '
        f"{first_line(text)})"
    )
    return WorkloadError(message, "capture ab's standard output, and run it without -w (HTML)")


def times(text: str) -> pa.Table:
    """The connection times of the summary (:data:`TIMES`).

    No rows when no request was completed.
    """
    rows: list[Row] = []
    for phase, *numbers in _PHASE.findall(text):
        values = [nanoseconds(float(number), _MILLISECOND) for number in numbers]
        rows.append({"phase": phase.lower()} | dict(zip(TIMES.names[1:], values, strict=True)))
    return table(TIMES, rows)


def requests(text: str) -> pa.Table:
    """Reads the file of ``-g`` as :data:`~trustbed.workload.tables.REQUESTS`, one row a request.

    Raises:
        WorkloadError: A line is malformed.
    """
    lines = text.splitlines()
    if not lines or lines[0].split("\t") != _COLUMNS:
        raise WorkloadError(
            f"this is no file of ab -g: it begins with {first_line(text)!r}",
            "its first line must name the columns starttime … wait",
        )
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            seconds, connect, processing, total, waiting = (
                int(word) for word in line.split("\t")[1:]
            )
        except ValueError:
            raise WorkloadError(
                f"line {number} of the file of ab -g is cut or damaged: {first_line(line)!r}",
                "run ab again",
            ) from None
        rows.append(
            {
                "started": seconds * 1_000_000_000,
                "connect_ns": nanoseconds(connect, _MILLISECOND),
                "first_byte_ns": nanoseconds(waiting, _MILLISECOND),
                "response_ns": nanoseconds(processing, _MILLISECOND),
                "total_ns": nanoseconds(total, _MILLISECOND),
            }
        )
    return table(REQUESTS, rows)


def percentiles(text: str, *, completed: int) -> pa.Table:
    """Reads the file of ``-e``: total times at every percent (:data:`.tables.PERCENTILES`).

    ``ab`` takes the value of rank ⌊½ + n·i/100⌋, counted from 0, for i percent of n requests. With
    50 requests or fewer the last of these ranks do not exist, and it prints uninitialised
    memory there: these become null.

    Args:
        text: The file.
        completed: How many requests were completed, from the summary.

    Raises:
        WorkloadError: A line is malformed.
    """
    lines = text.splitlines()
    if not lines or lines[0] != "Percentage served,Time in ms":
        hint = 'its first line must be "Percentage served,Time in ms"'
        raise WorkloadError(f"this is no file of ab -e: it begins with {first_line(text)!r}", hint)
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            percent, milliseconds = line.split(",")
            share, took = int(percent), nanoseconds(float(milliseconds), _MILLISECOND)
        except ValueError:
            raise WorkloadError(
                f"line {number} of the file of ab -e is cut or damaged: {first_line(line)!r}",
                "run ab again",
            ) from None
        exists = share == 100 or (50 + completed * share) // 100 < completed
        rows.append({"share": share / 100, "response_ns": took if exists else None})
    return table(PERCENTILES, rows)
