"""Recorded packets with an injected cause get the expected verdict: see tests/cases/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trustbed
from trustbed.diagnose.host import HostEvidence, kernel_times
from trustbed.diagnose.judge import judge_row
from trustbed.diagnose.quality import CaptureQuality
from validation.truth.kinds import KINDS

CASES = Path(__file__).resolve().parent.parent / "cases"
STOPPED = sorted(CASES.glob("guest-stopped-*.pcap.gz"))
KNOWN = json.loads((CASES / "known.json").read_text(encoding="utf-8"))


def test_the_captures_are_there() -> None:
    assert len(STOPPED) == 3
    assert {file.name.split(".")[0] for file in CASES.glob("*.zst")} == set(KNOWN)


@pytest.mark.parametrize("kind", KNOWN)
def test_a_clear_case_is_judged_as_wanted(kind: str) -> None:
    """With what the run knew of the sender, as `trustbed run` judges."""
    known: dict[str, Any] = KNOWN[kind]
    capture = trustbed.analyze(CASES / f"{kind}.pcapng.zst", at="sender")
    rows = [row for row in capture.transfers.to_pylist() if not row["too_short"]]
    row = max(rows, key=lambda one: one["unique_bytes"])
    host = HostEvidence(
        processor_missed=known["processor_missed"],
        processor_share=known["processor_share"],
        kernel=kernel_times(known["tcp"], send_buffer_bytes=known["send_buffer_bytes"]),
    )
    diagnosis = judge_row(row, CaptureQuality.of(capture.facts), workload="bulk", host=host)
    wanted = KINDS[kind].known
    assert diagnosis.cause in wanted.causes
    assert diagnosis.verdict in wanted.verdicts


@pytest.mark.parametrize("file", STOPPED, ids=lambda file: file.name.split(".")[1])
def test_a_stopped_sender_with_an_even_pace_is_no_full_path(file: Path) -> None:
    capture = trustbed.analyze(file, at="sender", workload="bulk")
    (row,) = [row for row in capture.transfers.to_pylist() if not row["too_short"]]
    assert (row["cause"], row["verdict"]) == ("host_scheduling", "discard")
    # Samples of the host while such a guest was stopped.
    for share in (0.58, 0.75, 0.95):
        host = HostEvidence(processor_share=share, processor_missed=1 - share)
        diagnosis = judge_row(row, CaptureQuality.of(capture.facts), workload="bulk", host=host)
        assert diagnosis.cause == "host_scheduling"
        assert diagnosis.verdict != "trust"


@pytest.mark.parametrize("file", STOPPED, ids=lambda file: file.name.split(".")[1])
def test_a_stopped_sender_is_not_trusted_from_elsewhere(file: Path) -> None:
    capture = trustbed.analyze(file, workload="bulk")
    verdicts = {row["verdict"] for row in capture.transfers.to_pylist() if not row["too_short"]}
    assert verdicts <= {"review", "discard"}
