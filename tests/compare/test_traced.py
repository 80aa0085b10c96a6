"""Traces of system calls stand as testbeds: what they show is compared, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.compare.testbeds import Made, make_testbed
from trustbed.calls.importing import import_trace
from trustbed.calls.summary import complete
from trustbed.calls.table import Call, write
from trustbed.compare.api import compare
from trustbed.compare.error import CompareError
from trustbed.compare.model import CandidateResult, MetricResult
from trustbed.disk import flush

SERVED = ("accept4", "read", "write", "close")
TWICE = ("accept4", "read", "read", "write", "close")


def strace(calls: Sequence[str], *, times: int = 50) -> str:
    """What strace prints of a process that makes these calls again and again."""
    return "".join(
        f"100 12:00:{number / 1000:09.6f} {call}(3) = 1 <0.000002>\n"
        for number, call in enumerate([*calls] * times)
    )


def _traces(place: Path, name: str, calls: Sequence[str], *, files: int = 3) -> Path:
    directory = place / name
    directory.mkdir()
    for number in range(files):
        # Each repetition serves another number of requests: equal ones would have no spread.
        text = strace(calls, times=50 + number)
        (directory / f"{number}.strace").write_text(text, encoding="utf-8")
    return directory


def _candidate(*places: Path) -> CandidateResult:
    (case,) = compare(*places).cases
    (candidate,) = case.candidates
    return candidate


def _metrics(found: CandidateResult) -> dict[str, MetricResult]:
    return {one.key: one for one in found.metrics}


def test_traces_of_strace_are_compared_at_the_level_of_system_calls(tmp_path: Path) -> None:
    host = _traces(tmp_path, "host", SERVED)
    container = _traces(tmp_path, "container", TWICE)
    found = _candidate(host, container)
    metrics = _metrics(found)
    assert set(metrics) == {"system_calls", "reads"}
    assert metrics["reads"].difference_percent == pytest.approx(100)
    assert metrics["reads"].title == "reads/trace"
    assert metrics["system_calls"].difference_percent == pytest.approx(25)
    assert {one.level: one.verdict for one in found.levels} == {
        "application": "not_compared",
        "system_calls": "different",
        "network": "not_compared",
        "delay": "not_compared",
    }
    (changed,) = found.calls[""]
    assert (changed.name, changed.reference, changed.candidate) == ("read", 51, 102)
    assert found.chains is not None
    assert ("read", "read") in {(one.before, one.after) for one in found.chains.changed}
    assert "container 0.strace: " in found.chains.changed[0].example


def test_tables_and_text_are_the_same_traces(tmp_path: Path) -> None:
    text = _traces(tmp_path, "text", SERVED)
    tables = tmp_path / "tables"
    tables.mkdir()
    for file in text.iterdir():
        import_trace(file, tables / f"{file.stem}.parquet")
    metrics = _metrics(_candidate(text, tables))
    assert [one.difference for one in metrics.values()] == [0, 0]


def test_a_single_file_is_one_repetition(tmp_path: Path) -> None:
    host, other = _traces(tmp_path, "host", SERVED), _traces(tmp_path, "other", TWICE)
    found = compare(host / "0.strace", f"other={other / '0.strace'}")
    assert [(one.name, one.used) for one in found.testbeds] == [("0.strace", 1), ("other", 1)]
    assert "too few repetitions" in found.cases[0].candidates[0].metrics[0].note


def test_a_trace_that_lost_calls_or_is_damaged_or_empty_is_left_out(tmp_path: Path) -> None:
    host = _traces(tmp_path, "host", SERVED)
    other = _traces(tmp_path, "other", SERVED, files=5)
    lossy, empty, damaged = (other / name for name in ("lossy.txt", "empty.parquet", "9.strace"))
    lossy.write_text(
        "nginx 100/100 [000] 1.000001: raw_syscalls:sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n"
        "nginx 100/100 [000] 1.000002: raw_syscalls:sys_exit: NR 0 = 1\n"
        "PERF_RECORD_LOST lost 7\n",
        encoding="utf-8",
    )
    write([], empty, architecture="x86_64")
    damaged.write_text(strace(SERVED, times=2) + "100 12:00:01 read(3 = ?? <\n", encoding="utf-8")
    write(
        [Call(1, 100, 100, "read", 1)],
        other / "incomplete.parquet",
        architecture="x86_64",
        complete=lambda: False,
    )
    found = compare(host, other).testbeds[1]
    assert (found.planned, found.used) == (9, 5)
    reasons = {one.repetition: one.reason for one in found.left_out}
    assert reasons["empty.parquet"] == "there is no call in it"
    assert reasons["incomplete.parquet"] == "calls were lost, so nothing can be counted"
    assert set(reasons) == {"empty.parquet", "incomplete.parquet", "9.strace", "lossy.txt"}


def test_what_lies_beside_traces_is_named(tmp_path: Path) -> None:
    host, other = _traces(tmp_path, "host", SERVED), _traces(tmp_path, "other", SERVED)
    for number in range(5):
        (other / f"ab-{number}.txt").write_text("This is ApacheBench", encoding="utf-8")
    said = " ".join(compare(host, other).caveats)
    assert (
        "other: beside its traces there is what cannot be read, and is no repetition: ab-0" in said
    )
    assert "and 2 more" in said


def test_threads_that_strace_wrote_apart_are_told(tmp_path: Path) -> None:
    host, other = _traces(tmp_path, "host", SERVED), tmp_path / "other"
    other.mkdir()
    for thread in (100, 101, 102):
        text = strace(SERVED).replace("100 12:", "12:")
        (other / f"trace.{thread}").write_text(text, encoding="utf-8")
    assert "strace -ff" in " ".join(compare(host, other).caveats)


def test_traces_of_two_tools_are_told(tmp_path: Path) -> None:
    host, tables = _traces(tmp_path, "host", SERVED), tmp_path / "tables"
    tables.mkdir()
    for file in host.iterdir():
        import_trace(file, tables / f"{file.stem}.parquet")
    said = " ".join(compare(host, tables).caveats)
    assert "different programs" in said
    assert "host by strace, tables by trustbed trace" in said


def test_calls_per_trace_are_not_held_against_calls_per_request(tmp_path: Path) -> None:
    run = make_testbed(tmp_path / "metal.run", Made(reads=2.0, calls=SERVED), repetitions=3)
    found = _candidate(run, _traces(tmp_path, "strace", SERVED))
    note = {one.key: one.note for one in found.metrics}["system_calls"]
    assert note == "metal per request and strace per trace"
    assert not found.calls
    assert found.chains is None


def test_calls_of_another_architecture_are_counted_and_not_chained(tmp_path: Path) -> None:
    sides = []
    for machine in ("x86_64", "aarch64"):
        sides.append(tmp_path / machine)
        sides[-1].mkdir()
        for number in range(3):
            calls = [Call(one, 1, 1, SERVED[one % 4]) for one in range(200 + 4 * number)]
            write(calls, sides[-1] / f"{number}.parquet", architecture=machine)
    found = _candidate(*sides)
    assert _metrics(found)["reads"].difference == 0
    assert found.chains is not None
    assert found.chains.note.startswith("x86_64 was traced on x86_64, aarch64 on aarch64")


def test_a_table_says_whether_calls_were_lost(tmp_path: Path) -> None:
    text = tmp_path / "strace.txt"
    text.write_text(strace(SERVED), encoding="utf-8")
    import_trace(text, tmp_path / "whole.parquet")
    assert complete(tmp_path / "whole.parquet") is True
    write([], tmp_path / "old.parquet", architecture=None)
    assert complete(tmp_path / "old.parquet") is None


def test_a_directory_without_traces_or_results_says_what_can_be_read(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    (nothing / "table.parquet").write_bytes(b"PAR1 and then nothing that Parquet knows")
    flush(nothing / "table.parquet")
    with pytest.raises(CompareError) as raised:
        compare(nothing, _traces(tmp_path, "host", SERVED))
    assert re.search(r"or traces of system calls \(trustbed trace, strace", raised.value.hint or "")


def test_tables_whose_threads_are_wider_numbers_are_read(tmp_path: Path) -> None:
    places = []
    for name in ("host", "container"):
        text = _traces(tmp_path, f"{name}-text", SERVED)
        (place := tmp_path / name).mkdir()
        for file in text.iterdir():
            import_trace(file, place / f"{file.stem}.parquet")
            table = pyarrow.parquet.read_table(place / f"{file.stem}.parquet")
            at = table.schema.get_field_index("tid")
            wide = table.set_column(at, "tid", table["tid"].cast("int64"))
            pyarrow.parquet.write_table(wide, place / f"{file.stem}.parquet")
        places.append(place)
    chains = _candidate(*places).chains
    assert chains is not None
    assert (chains.walks, chains.invalid_walks) == (9, 0)
    table = pyarrow.parquet.read_table(places[1] / "0.parquet")
    at = table.schema.get_field_index("tid")
    negative = table.set_column(at, "tid", pa.array([-1] * len(table), pa.int64()))
    pyarrow.parquet.write_table(negative, places[1] / "0.parquet")
    refused = _candidate(*places).chains
    assert refused is not None
    assert refused.walks == 0
    assert "container 0.parquet has no table of calls" in refused.note
