"""Judging over columns finds what judging row by row finds, and asks for no other column."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from trustbed import _core
from trustbed.analysis.capture import analyze
from trustbed.analysis.transfer_columns import TransferColumns
from trustbed.diagnose import CaptureFacts, CaptureQuality, Shares, judge
from trustbed.diagnose.computed import COMPUTED
from trustbed.diagnose.diagnosis import decide
from trustbed.diagnose.evidence import SOURCES, Evidence, Workload
from trustbed.diagnose.evidence_columns import evidence_of
from trustbed.diagnose.judge import ROW_COLUMNS, Known, diagnoses, judge_columns, judge_row
from trustbed.diagnose.quality import Quality
from trustbed.diagnose.time_budget import SHARE_COLUMNS
from trustbed.diagnose.transfer_findings import transfer_findings
from trustbed.report import columns

SCHEMA = pa.RecordBatchReader.from_stream(_core.schemas()["transfers"]).schema
WORDS = {
    "at": ["sender", "receiver", "middle", "unknown"],
    "spacing_source": ["exact", "estimated", None],
    "capacity_source": ["delivery_rate", None],
    "rtt_source": ["ack", "timestamp_echo", "both_halves"],
}
KNOWN: list[tuple[Workload, float | None]] = [
    ("unknown", None),
    ("bulk", 10e6),
    ("interactive", 1e9),
]


def cell(field: pa.Field, chance: random.Random) -> Any:  # noqa: ANN401 - of any column
    """A cell that a rule may meet: unknown, nothing, a share, a time or a number."""
    kind = field.type
    if field.name in WORDS:
        return chance.choice(WORDS[field.name])
    if pa.types.is_list(kind):
        if pa.types.is_string(kind.value_type):
            return chance.choice([[], ["one_sided"], ["clock_step"], None])
        return chance.choice([[], [], [300_000_000], [5_000_000_000, 5_100_000_000]])
    if pa.types.is_boolean(kind):
        return chance.choice([True, False, False, False])
    if pa.types.is_string(kind):
        return chance.choice(["10.0.0.1", "10.0.0.2"])
    if pa.types.is_floating(kind) and field.name.startswith("share_"):
        return chance.choice([0.0, 0.0, 0.0, chance.random(), chance.random() ** 4])
    if chance.random() < 0.25:
        return None
    if field.name.endswith("_ns"):
        return chance.choice([0, chance.randrange(10**6), chance.randrange(10**8, 10**11)])
    if pa.types.is_floating(kind):
        return chance.choice([0.0, chance.random(), 10 ** (9 * chance.random()), float("nan")])
    return chance.choice([0, chance.randrange(30), chance.randrange(10**7)])


@functools.cache
def made(rows: int, seed: int) -> pa.RecordBatch:
    chance = random.Random(seed)
    cells = {field.name: [cell(field, chance) for _ in range(rows)] for field in SCHEMA}
    cells["transfer"] = [f"{number}.0" for number in range(rows)]
    cells["start_ns"] = [10**18] * rows
    cells["connection"] = list(range(rows))
    arrays = [pa.array(cells[field.name], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def plain(batch: pa.RecordBatch, misplaced: Sequence[int] = ()) -> list[dict[str, Any]]:
    rows = list(columns.plain_rows(batch))
    return [
        row | ({"capture_point_contradicted": True} if row["connection"] in misplaced else {})
        for row in rows
    ]


def fields(evidence: Evidence) -> dict[str, Any]:
    return {source.field: getattr(evidence, source.field) for source in SOURCES}


@pytest.mark.parametrize(("workload", "capacity"), KNOWN)
def test_evidence_of_columns_is_that_of_each_row(
    workload: Workload, capacity: float | None
) -> None:
    batch = made(200, seed=1)
    part = TransferColumns(batch)
    found = evidence_of(part, workload=workload, capacity_bits_per_second=capacity)
    wanted = [
        Evidence.from_transfer(row, workload=workload, capacity_bits_per_second=capacity)
        for row in plain(part.judged)
    ]
    assert len(wanted) > 100
    assert [repr(fields(one)) for one in found] == [repr(fields(one)) for one in wanted]


def test_evidence_of_a_table_that_lacks_columns_is_unknown_there() -> None:
    batch = made(20, seed=2).select(["too_short", "at", "throughput_bytes_per_second"])
    part = TransferColumns(batch)
    wanted = [fields(Evidence.from_transfer(row)) for row in columns.plain_rows(part.judged)]
    assert repr([fields(one) for one in evidence_of(part)]) == repr(wanted)


@pytest.mark.parametrize(("workload", "capacity"), KNOWN)
def test_judging_columns_is_judging_each_row(workload: Workload, capacity: float | None) -> None:
    facts: CaptureFacts = {
        "timestamp_granularity_ns": 1_000_000,
        "records": 1000,
        "equal_timestamp_share": 0.2,
    }
    known = Known(quality=CaptureQuality.of(facts), workload=workload, capacity=capacity)
    batches, misplaced = [made(200, seed) for seed in (3, 4, 5)], {3, 7, 50}
    parts = [TransferColumns(batch, misplaced) for batch in batches]
    rows = [row for batch in batches for row in plain(batch, sorted(misplaced))]
    wanted = judge(rows, facts, workload=workload, capacity=capacity)
    found = judge_columns(parts, facts, known)
    assert repr(found.outcomes) == repr(wanted.outcomes)
    assert repr(found.findings) == repr(wanted.findings)
    assert len({outcome.rule for outcome in found.outcomes}) > 15, "the rows tell little apart"
    assert len({one.code for one in found.findings}) > 8
    in_words = [diagnosis for part in parts for diagnosis in diagnoses(part, known)]
    one_by_one = [
        judge_row(row, known.quality, workload=workload, capacity=capacity)
        for row in rows
        if not row["too_short"]
    ]
    assert [repr(one) for one in in_words] == [repr(one) for one in one_by_one]


def test_judging_asks_a_row_for_no_other_columns() -> None:
    """A column that is not carried along would count as unknown, without a word."""
    asked: set[str] = set()

    class Asked(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as dict's
            asked.add(name)
            return super().get(name, default)

        def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - as dict's
            asked.add(name)
            return super().__getitem__(name)

    rows = [Asked(row) for row in plain(made(200, seed=6)) if not row["too_short"]]
    for row in rows:
        evidence = Evidence.from_transfer(row)
        asked.clear()
        decision = decide(evidence, quality=Quality.of(row, CaptureQuality()))
        list(transfer_findings(row, decision))
        assert asked <= {*ROW_COLUMNS, "capture_point_contradicted"}
        asked.clear()
        Shares.from_transfer(row)
        assert asked <= {*SHARE_COLUMNS, "accounted_seconds"}
    evidence_asks = {source.column for source in SOURCES} | {
        column for made_of in COMPUTED.values() for column in made_of.columns
    }
    asked.clear()
    judge(rows, {})
    assert asked <= {*ROW_COLUMNS, *evidence_asks, "too_short", "capture_point_contradicted"}


@pytest.mark.parametrize("name", ["guest-quota.sender", "random-loss.receiver"])
def test_a_recording_is_judged_alike(recordings: Path, name: str) -> None:
    capture = analyze(recordings / f"{name}.pcap.gz", workload="bulk", workers=1)
    other = analyze(
        recordings / f"{name}.pcap.gz", workload="bulk", workers=1, host_of=lambda _row: None
    )
    assert capture.judgement == other.judgement
    assert list(capture.rows()) == list(other.rows())
