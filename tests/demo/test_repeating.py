"""What of the demo's live part is carried out a second time."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tools import carry_out


@pytest.mark.parametrize(("late", "wanted"), [(90, ""), (500, "the machine stalled for 0.50 s")])
def test_a_machine_that_stalled_disturbed_what_was_measured(
    tmp_path: Path, late: int, wanted: str
) -> None:
    (tmp_path / "samples").mkdir()
    rows = [{"late_ns": None}, {"late_ns": late * 1_000_000}, {"late_ns": 70_000}]
    pyarrow.parquet.write_table(
        pa.Table.from_pylist(rows), tmp_path / "samples" / "machine.parquet"
    )
    assert carry_out.disturbed(tmp_path) == wanted


@pytest.mark.parametrize(
    ("waited", "wanted"),
    [(0, ""), (90, ""), (400, "others had its processor for 40 % of the time")],
)
def test_a_sender_that_waits_for_its_processor_was_disturbed(
    tmp_path: Path, waited: int, wanted: str
) -> None:
    assert not carry_out.disturbed(tmp_path)
    looks = [(7, None, None), (7, waited, 1000), (7, waited, 1000), (8, 0, 1000)]
    rows = [
        {"process": process, "waited_ns": wait, "interval_ns": interval}
        for process, wait, interval in looks
    ]
    (tmp_path / "samples").mkdir()
    pyarrow.parquet.write_table(
        pa.Table.from_pylist(rows), tmp_path / "samples" / "processes.parquet"
    )
    assert carry_out.disturbed(tmp_path) == wanted


def test_only_what_was_invalid_is_carried_out_again() -> None:
    late = {"severity": "error", "message": "the emulator's packets left late by 5.00 ms"}
    starved = {"severity": "error", "message": "the sending host stalled"}
    assert (
        carry_out.invalid({"use": "discard", "why": late["message"], "findings": [late]})
        == late["message"]
    )
    assert not carry_out.invalid(
        {"use": "discard", "why": "1 transfer of 1 to be discarded", "findings": [starved]}
    )
    assert not carry_out.invalid({"use": "trust", "why": "", "findings": []})
