"""The results of a workload as tables: of external programs and of the built-in clients.

All tables have the columns of :mod:`trustbed.workload`, so that ``ab`` and the built-in client can
be compared in one figure. If the output of a program cannot be read, this is reported, not raised:
the repetition is judged without its tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.run import rows
from trustbed.run.player_results import media_tables, video_tables
from trustbed.scenario.model import ESTIMATORS, Workload
from trustbed.workload import WorkloadError, estimates
from trustbed.workload import read as read_output
from trustbed.workload.estimates import Available
from trustbed.workload.iperf3 import SUMMARY
from trustbed.workload.tables import REQUESTS, column
from trustbed.workload.tables import table as table_of

_KERNEL = {
    "busy_ns": "time busy sending data",
    "receive_window_limited_ns": "of that: limited by the receiver's window",
    "send_buffer_limited_ns": "of that: limited by the sender's own buffer",
}
TRANSFERS = pa.schema(
    [
        column("connection", pa.int64(), "1", "number of the connection"),
        *SUMMARY,
        *(column(name, pa.int64(), "ns", meaning) for name, meaning in _KERNEL.items()),
    ]
)
"""One row per connection of a bulk transfer."""

Tables = dict[str, pa.Table]

_CONTRADICTIONS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    StopIteration,
    TypeError,
    ValueError,
)
"""What calculating with a host's numbers can raise: columns that lack, numbers that are none."""


def tables_of(
    workload: Mapping[str, Any],
    directory: Path,
    available: Available | None = None,
    planned: Workload | None = None,
) -> tuple[Tables, str | None]:
    """The tables of a workload; if its results cannot be read, the reason.

    ``available`` is the bandwidth that an estimator should have found, ``planned`` what the
    scenario says of the workload.
    """
    logs = directory / "logs"
    report = workload.get("report") or {}
    try:
        if workload["kind"] == "bulk":
            return {"summary": _transfers(report)}, None
        if workload["kind"] == "http":
            return {"requests": _requests(logs / f"{workload['name']}.requests.rows", report)}, None
        if workload["kind"] in ESTIMATORS:
            return (estimates.read(report, available) if report else {}), None
        if workload["kind"] == "media":
            packets = logs / f"{workload['name']}.packets.rows"
            return media_tables(packets, report, planned), None
        if workload["kind"] == "video":
            return video_tables(logs / f"{workload['name']}.chunks.rows", report), None
        if workload.get("tool"):
            return _output(workload, logs), None
    except (WorkloadError, rows.RowsError) as error:
        return {}, error.message
    except OSError as error:
        return {}, f"{(error.strerror or str(error)).lower()}, {error.filename}"
    except _CONTRADICTIONS as error:
        return {}, f"its report and its rows do not fit together: {type(error).__name__}: {error}"
    return {}, None


def _output(workload: Mapping[str, Any], logs: Path) -> Tables:
    name = workload["name"]
    texts = {
        key: (logs / file).read_text(encoding="utf-8", errors="replace")
        for key, file in workload["files"].items()
    }
    out, err = (
        (logs / f"{name}.{ending}").read_text(encoding="utf-8", errors="replace")
        for ending in ("out", "err")
    )
    return read_output(workload["tool"], stdout=out, stderr=err, files=texts)


def _transfers(report: Mapping[str, Any]) -> pa.Table:
    found = []
    for transfer in report.get("transfers") or ():
        tcp = transfer.get("tcp") or {}
        begun, ended = (
            transfer.get("connected_ns"),
            transfer.get("confirmed_ns") or transfer.get("last_byte_ns"),
        )
        duration = (
            ended - begun if begun is not None and ended is not None and ended > begun else None
        )
        sent, received = transfer.get("payload_bytes"), tcp.get("acknowledged_bytes")
        found.append(
            {
                "connection": transfer.get("connection"),
                "direction": "upload",
                "protocol": "TCP",
                "streams": 1,
                "duration_ns": duration,
                "sent_bytes": sent,
                "sent_bits_per_second": None
                if duration is None or sent is None
                else sent * 8e9 / duration,
                "received_bytes": None if received is None or sent is None else min(received, sent),
                "received_bits_per_second": transfer.get("goodput_bits_per_second"),
                "retransmits": tcp.get("retransmitted_segments"),
                "congestion_control": transfer.get("congestion_control"),
                "error": transfer.get("error"),
                **{name: tcp.get(name) for name in _KERNEL},
            }
        )
    return table_of(TRANSFERS, found)


def _requests(source: Path, report: Mapping[str, Any]) -> pa.Table:
    """The rows of the built-in HTTP client in the schema of all requests.

    Times in its rows count from the start of the client.
    """
    read = rows.read(source)
    begun, sent, last = (read.column(f"{name}_ns") for name in ("begun", "sent", "last_byte"))
    faults = rows.codes(read, "fault")
    codes = read.column("fault").to_pylist()
    good = pc.and_(
        pc.equal(read.column("fault"), 0),
        pc.fill_null(_between(read.column("status"), 200, 299), False),
    )
    start = report.get("start_ns")
    never = pa.scalar(None, pa.int64())

    def where_good(times: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.if_else(good, times, never)

    columns: Mapping[str, Any] = {
        "started": pa.nulls(len(read), pa.timestamp("ns", tz="UTC"))
        if start is None
        else _moments(begun, start),
        # 0 where the connection was open already; null where none was opened.
        "connect_ns": pc.if_else(
            pc.and_(pc.is_null(read.column("connected_ns")), pc.is_valid(sent)),
            0,
            pc.subtract(read.column("connected_ns"), begun),
        ),
        "first_byte_ns": where_good(pc.subtract(read.column("first_byte_ns"), sent)),
        "response_ns": where_good(pc.subtract(last, sent)),
        "total_ns": where_good(pc.subtract(last, begun)),
        "bytes": read.column("bytes"),
        "status": read.column("status"),
        "error": pa.array(
            [
                _error(code, faults, well)
                for code, well in zip(codes, good.to_pylist(), strict=True)
            ],
            pa.string(),
        ),
    }
    return pa.table([columns[field.name] for field in REQUESTS], schema=REQUESTS)


def _between(values: pa.ChunkedArray, least: int, most: int) -> pa.ChunkedArray:
    return pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most))


def _moments(after: pa.ChunkedArray, start: int) -> pa.ChunkedArray:
    return pc.add(after, start).cast(pa.timestamp("ns")).cast(pa.timestamp("ns", tz="UTC"))


def _error(code: int, faults: Mapping[int, str], well: bool) -> str | None:
    if well:
        return None
    return "status" if code == 0 else faults.get(code, f"fault {code}")
