"""The stored data of a transfer.

For each capture the row of its transfers table and the facts about the capture, and what the run
knows.

That is all the input of the rules, so that changed rules can judge again without another transfer.
Judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from trustbed import Capture, analyze
from trustbed.report import columns, schemas
from trustbed.run.host_evidence import process_owners
from validation.truth import kernel_steps
from validation.truth.scenario import CLIENT, INSIDE, ROUTER, SERVER, TRANSFER
from validation.truth.writers import BULK_PORT, HTTP_PORT

CAPTURE_POINTS = {
    CLIENT: "sender",
    SERVER: "receiver",
    ROUTER: "middle",
    f"{CLIENT}{INSIDE}": "inside",
}
"""Capture points by their names in a scenario; that within a guest that receives is not judged."""
DECLARED = {"inside": "sender"}
"""What a capture is said to be taken at, where that is not its name."""
PORT = BULK_PORT
PORTS = frozenset({PORT, HTTP_PORT})
SOCKET_SAMPLES = f"{CLIENT}.sockets.parquet"
_ADDED = frozenset(field.name for field in schemas.VERDICT_FIELDS)
_TIMES = ("busy_ns", "receive_window_limited_ns", "send_buffer_limited_ns")
_FACTS_WITHOUT = frozenset({"first_ns", "last_ns"})

Values = dict[str, Any]


def measured(repetition: Path, record: Mapping[str, Any]) -> Values:
    """The data of a complete repetition."""
    workload = next(one for one in record["workloads"] if one["name"] == TRANSFER)
    transfers = (workload.get("report") or {}).get("transfers") or []
    captures = dict(_captures(repetition / "captures"))
    return {
        "seconds": record["seconds"],
        "payload_bits_per_second": sum(
            one.get("goodput_bits_per_second") or 0.0 for one in transfers
        ),
        "payload_bytes": sum(one.get("payload_bytes") or 0 for one in transfers),
        "kernel": kernel(transfers),
        "machine": record.get("machine"),
        "faults": [_without_moments(fault) for fault in record.get("faults") or ()],
        "departure_error": (record.get("emulator") or {}).get("departure_error"),
        "samples": _samples(repetition / "samples", process_owners(record)),
        "captures": captures,
        "kernel_steps": kernel_steps_of(
            repetition / "captures", repetition / "samples" / SOCKET_SAMPLES, captures
        ),
    }


def kernel(transfers: list[Mapping[str, Any]]) -> Values | None:
    """The sending kernel's counters of the largest transfer at its end."""
    reported = [one for one in transfers if one.get("tcp")]
    if not reported:
        return None
    largest = max(reported, key=lambda one: one.get("payload_bytes") or 0)
    tcp = largest["tcp"]
    return {
        **{name: tcp.get(name) for name in _TIMES},
        "send_buffer_bytes": largest.get("send_buffer_bytes"),
        "retransmitted_segments": tcp.get("retransmitted_segments"),
        "reordering_seen": tcp.get("reordering_seen"),
        "rtt_min_ns": tcp.get("rtt_min_ns"),
    }


def kernel_steps_of(
    directory: Path, samples: Path, captures: Mapping[str, Values]
) -> Values | None:
    """The samples of the sending kernel beside the phases of the sender's capture, if there are."""
    file = next(directory.glob(f"{CLIENT}.pcapng*"), None)
    row = (captures.get("sender") or {}).get("row")
    if row is None or file is None or not samples.is_file():
        return None
    capture = analyze(file, at="sender", workers=1)
    phases = [each for batch in capture.stream("phases") for each in columns.plain_rows(batch)]
    return kernel_steps.compare(phases, pq.read_table(samples).to_pylist(), row)


def _without_moments(fault: Mapping[str, Any]) -> Values:
    """Reports of faults may list every single stop: their number is enough."""
    reports = [
        {
            key: value
            for key, value in report.items()
            if not (isinstance(value, list) and key.endswith("_ns"))
        }
        for report in fault.get("reports") or ()
    ]
    return {**fault, "reports": reports}


def _samples(directory: Path, owners: Mapping[int, str]) -> Values:
    """Samples of the machine, and of the sending host's quotas and processes."""
    found: Values = {}
    for file in sorted(directory.glob("*.parquet")):
        kind = file.stem.split(".")[-1]
        if kind not in ("machine", "cgroups", "processes") or file.stem.startswith(SERVER):
            continue
        rows = json.loads(json.dumps(pq.read_table(file).to_pylist(), default=str))
        if kind == "processes":
            rows = [row for row in rows if owners.get(row["process"]) == CLIENT]
        found[file.stem] = rows
    return found


def _captures(directory: Path) -> Iterator[tuple[str, Values]]:
    for file in sorted(directory.glob("*.pcapng*")):
        point = CAPTURE_POINTS.get(file.name.partition(".")[0])
        if point is not None:
            yield point, _capture(file, point)


def _capture(file: Path, point: str) -> Values:
    """The largest transfer of the workload in a capture.

    ``row`` is ``None`` where there is none.
    """
    capture = analyze(file, at=DECLARED.get(point, point), workers=1)  # type: ignore[arg-type]
    rows = [row for row in _rows(capture) if {row["src_port"], row["dst_port"]} & PORTS]
    row = max(rows, key=lambda one: one["unique_bytes"] or 0, default=None)
    facts = {key: value for key, value in capture.facts.items() if key not in _FACTS_WITHOUT}
    return {"row": row, "facts": facts, "bytes": file.stat().st_size}


def _rows(capture: Capture) -> Iterator[Values]:
    """Rows as the table has them, without the verdicts: those are computed anew each time."""
    for batch in capture.stream("transfers"):
        for row in columns.plain_rows(batch):
            yield {key: value for key, value in row.items() if key not in _ADDED}


def again(directory: Path) -> Values:
    """What is stored of a transfer's captures, measured again from the directory of those kept."""
    captures = dict(_captures(directory))
    return {
        "captures": captures,
        "kernel_steps": kernel_steps_of(directory, directory / SOCKET_SAMPLES, captures),
    }
