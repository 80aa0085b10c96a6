"""A transfer with its indicators, made with the parts of `trustbed run`.

What was held back and what each indicator said, as a row of results.

What cannot be made here is an answer, not an error. A transfer whose emulator was
late is *invalid*, unless a thread spun beside it: that is what spinning does, and is kept as such.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from studies.indicators.held import Held
from studies.indicators.indicators import seen
from studies.indicators.plan import Transfer
from trustbed import Capture, analyze
from trustbed.diagnose.run_findings import run_findings
from trustbed.run.directory import RunDirectory
from trustbed.run.execution.execute import RunError
from trustbed.run.execution.session import Session
from trustbed.scenario import Scenario, load
from validation.truth.carry import FAILED, INVALID, MADE, NOT_MADE
from validation.truth.measured import PORT
from validation.truth.scenario import CLIENT, TRANSFER

_SPOILING = frozenset(
    {"run_emulator_late", "run_emulator_dropped", "run_generator_late", "run_agent_failed"}
)
_TABLES = {
    "machine": "machine",
    "processes": "processes",
    "indicator": f"{CLIENT}.wakeups",
    "spin": f"{CLIENT}.spin",
}

_TURN = ["ts_ns", "transfer", "spacing_ns", "response_ns", "category", "empty"]

Values = dict[str, Any]


def carry_out(step: Transfer) -> Values:
    """What came of it."""
    found: Values = {}
    with tempfile.TemporaryDirectory(prefix="trustbed-indicator-") as subdirectory:
        file = Path(subdirectory) / "transfer.toml"
        file.write_text(step.scenario(), encoding="utf-8")
        directory = RunDirectory(Path(subdirectory) / "run")
        about: Mapping[str, object] = {"version": None, "command": None, "started": None}

        def judge(where: RunDirectory, name: str, scenario: Scenario) -> Mapping[str, Any]:
            found.update(_kept(where.repetition(name), where.record(name), step))
            where.write_findings(name, {})
            return {"use": "trust", "why": ""}

        try:
            Session(load(file), directory, judge=judge, about=about).carry_out()
        except RunError as error:
            return {"outcome": FAILED, "reason": error.message}
    return found


def _kept(repetition: Path, record: Values, step: Transfer) -> Values:
    reasons = [
        one["reason"] for one in (*record["workloads"], *record["faults"]) if one.get("reason")
    ]
    reasons += [one["message"] for one in record["failures"]]
    why = "; ".join(dict.fromkeys(reasons)) or None
    if record["outcome"] == NOT_MADE or not all(fault["made"] for fault in record["faults"]):
        return {"outcome": NOT_MADE, "reason": why}
    if record["outcome"] != "complete":
        return {"outcome": FAILED, "reason": why or "see its record"}
    late = [
        found.message
        for found in run_findings(record)
        if found.code in _SPOILING and found.severity == "error"
    ]
    held = _held(repetition / "captures" / f"{CLIENT}.pcapng", record["workload_start_ns"])
    if held is None:
        return {"outcome": FAILED, "reason": "its capture does not hold the transfer"}
    (workload,) = (one for one in record["workloads"] if one["name"] == TRANSFER)
    return {
        "outcome": INVALID if late and step.watched == "cheap" else MADE,
        "reason": "; ".join(late) or None,
        "payload_bits_per_second": sum(
            one.get("goodput_bits_per_second") or 0.0 for one in workload["report"]["transfers"]
        ),
        "emulator_was_late": bool(late),
        "held": asdict(held),
        "seen": _seen(repetition / "samples", record),
    }


def _held(capture: Path, origin_ns: int) -> Held | None:
    """The pauses of the workload's transfer, as its sender's capture has them."""
    analysis = analyze(capture, at="sender", workers=1, samples=True)
    rows = [
        row
        for row in analysis.transfers.to_pylist()
        if row["dst_port"] == PORT and row["unique_bytes"]
    ]
    row = max(rows, key=lambda one: one["unique_bytes"], default=None)
    if row is None:
        return None
    return held_of(analysis, row, origin_ns=origin_ns)


def held_of(analysis: Capture, row: Values, *, origin_ns: int) -> Held:
    """The pauses of a transfer, by its row, of a capture that keeps samples."""
    turns = analysis.spacing.select(_TURN)
    turns = turns.set_column(0, _TURN[0], turns.column(_TURN[0]).cast("int64"))
    return Held.of(
        (turn for turn in turns.to_pylist() if turn["transfer"] == row["transfer"]),
        row,
        origin_ns=origin_ns,
    )


def _seen(samples: Path, record: Values) -> Values:
    tables = {kind: _rows(samples / f"{name}.parquet") for kind, name in _TABLES.items()}
    senders = {one["process"] for one in record["processes"] if one["host"] == CLIENT}
    found = seen(tables, senders=senders, origin_ns=record["workload_start_ns"])
    return {name: [list(one) for one in values] for name, values in found.items()}


def _rows(file: Path) -> list[Values]:
    return pq.read_table(file).to_pylist() if file.is_file() else []
