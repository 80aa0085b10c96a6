r"""The output of ``curl -w '%{json}\n'`` for each transfer.

Precision: microseconds. The request is taken as sent when ``time_pretransfer`` ends, "just before
it is sent". ``curl`` does not report when a transfer began.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import REQUESTS, Row, nanoseconds, table

WRITE_OUT = r"%{stderr}%{json}\n"
"""The ``-w`` format: JSON on standard error, so that bodies can go to standard output."""

_FIRST_ERROR_STATUS = 400
_WANTED = (
    "exitcode",
    "http_code",
    "size_download",
    "time_connect",
    "time_namelookup",
    "time_pretransfer",
    "time_starttransfer",
    "time_total",
)


def requests(text: str) -> pa.Table:
    """One row per transfer (:data:`~trustbed.workload.tables.REQUESTS`).

    Lines that are not JSON are ignored: they are the messages of failed transfers, which
    ``error`` has as well.

    Raises:
        WorkloadError: There is no such line, or one is truncated or incomplete.
    """
    rows = [
        _row(number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.startswith("{")
    ]
    if not rows:
        message = f"curl reported no transfers (its output begins with: {first_line(text)})"
        raise WorkloadError(
            message,
            (
                f"run it with -sS -w '{WRITE_OUT}', which needs curl 7.70 or newer, and capture "
                f"its standard error"
            ),
        )
    return table(REQUESTS, rows)


def _row(number: int, line: str) -> Row:
    try:
        answer: Mapping[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        raise WorkloadError(
            f"line {number} of curl's output is cut or damaged: {first_line(line)!r}",
            "run curl again",
        ) from None
    missing = [name for name in _WANTED if name not in answer]
    if missing:
        raise WorkloadError(
            f"line {number} of curl's output lacks {', '.join(missing)}",
            "curl must be 7.75 or newer; see curl --version",
        )
    status = answer["http_code"] or None
    error = answer.get("errormsg") if answer["exitcode"] else None
    if answer["exitcode"] and not error:
        error = f"exit code {answer['exitcode']}"
    if error is None and status is not None and status >= _FIRST_ERROR_STATUS:
        error = f"status {status}"
    timed = error is None
    sent = answer["time_pretransfer"]
    opened = (
        max(0.0, answer["time_connect"] - answer["time_namelookup"])
        if answer["time_connect"]
        else 0.0
    )
    return {
        "connect_ns": nanoseconds(opened) if answer["time_connect"] or timed else None,
        "first_byte_ns": nanoseconds(answer["time_starttransfer"] - sent) if timed else None,
        "response_ns": nanoseconds(answer["time_total"] - sent) if timed else None,
        "total_ns": nanoseconds(answer["time_total"]) if timed else None,
        "bytes": answer["size_download"],
        "status": status,
        "error": error,
    }
