"""``trustbed analyze``: what comes out where, and how it ends."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from trustbed._core import CaptureError

Maker = Callable[..., dict[str, Any]]
Make = Callable[..., Any]
Run = Callable[..., Any]
DAMAGE = {
    "code": "truncated_record",
    "file": "x.pcap",
    "offset": 4711,
    "record": 12,
    "detail": "the last record is cut short",
}


@pytest.fixture
def mixed(made: Callable[..., Any], rows: Mapping[str, Maker]) -> Any:  # noqa: ANN401 - a hand-made engine result
    """Eleven transfers: one to discard, two to review, three to trust, five too short."""
    transfers = [
        rows["short"](1),
        rows["healthy"](2),
        rows["lossy"](3),
        rows["starved"](4),
        rows["short"](5),
        rows["healthy"](6),
    ]
    transfers += [
        rows["short"](7),
        rows["short"](8),
        rows["lossy"](9),
        rows["healthy"](10),
        rows["short"](11),
    ]
    return made(transfers, skips=[{"reason": "not_ip", "records": 12, "first_index": 3}])


def test_the_summary_goes_to_standard_output_worst_first(run: Run, mixed: object) -> None:
    ended = run(mixed, "analyze", "x.pcap")
    assert (ended.code, ended.err) == (0, "")
    verdicts = [
        line.split()[0]
        for line in ended.out.splitlines()
        if line.startswith(("discard", "review", "trust "))
    ]
    assert verdicts == ["discard", "review", "review", "trust", "trust", "trust"]
    assert "5 transfers too short to judge" in ended.out
    assert "trustbed explain x.pcap 4.0" in ended.out


def test_quiet_prints_nothing(run: Run, mixed: object) -> None:
    assert run(mixed, "analyze", "x.pcap", "--quiet") == type(
        run(mixed, "analyze", "x.pcap", "-q")
    )(0, "", "")


@pytest.mark.parametrize(
    ("worst", "level", "code"),
    [
        ("starved", "discard", 4),
        ("starved", "review", 4),
        ("lossy", "discard", 0),
        ("lossy", "review", 3),
        ("healthy", "review", 0),
        ("short", "review", 0),
    ],
)
def test_fail_on_sets_the_exit_code(
    run: Run, made: Make, rows: Mapping[str, Maker], worst: str, level: str, code: int
) -> None:
    engine = made([rows["short"](1), rows[worst](2)])
    assert run(engine, "analyze", "x.pcap", "--fail-on", level).code == code
    assert run(engine, "analyze", "x.pcap").code == 0


def test_damage_is_an_error_only_when_strict(
    run: Run, made: Make, rows: Mapping[str, Maker]
) -> None:
    engine = made([rows["healthy"](1)], problems=[DAMAGE])
    assert run(engine, "analyze", "x.pcap").code == 0
    strict = run(engine, "analyze", "x.pcap", "--strict")
    assert strict.code == 1
    assert strict.err.splitlines() == [
        (
            "error: part of the capture could not be read, x.pcap at byte 4711: the last "
            "record is cut short"
        ),
        "hint: without --strict trustbed judges what it could read",
    ]


@pytest.mark.parametrize(
    ("reason", "code"),
    [("truncated", 1), ("bad_header", 1), ("unsupported_link", 1), ("not_ip", 0), ("tunnel", 0)],
)
def test_strict_counts_records_that_should_have_been_measured(
    run: Run, made: Make, reason: str, code: int
) -> None:
    engine = made([], skips=[{"reason": reason, "records": 2, "first_index": 7}])
    assert run(engine, "analyze", "x.pcap", "--strict").code == code


def test_what_cannot_be_read_is_one_error_and_one_hint(run: Run) -> None:
    error = CaptureError("not a capture, x.txt", "text files hold no packets")
    error.message, error.hint = error.args
    ended = run(error, "analyze", "x.txt")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "error: not a capture, x.txt\nhint: text files hold no packets\n"


def test_our_own_mistakes_are_not_dressed_up(run: Run) -> None:
    with pytest.raises(AssertionError, match="a bug"):
        run(AssertionError("a bug"), "analyze", "x.pcap")


def test_an_interrupt_leaves_nothing_and_is_reported(run: Run, tmp_path: Path) -> None:
    ended = run(
        KeyboardInterrupt(),
        "analyze",
        "x.pcap",
        "--out",
        str(tmp_path / "tables"),
        "--junit",
        str(tmp_path / "junit.xml"),
    )
    assert (ended.code, ended.out, ended.err) == (
        130,
        "",
        "interrupted, no incomplete file is left\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_nothing_under_the_name(
    run: Run, mixed: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "tables"))

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    ended = run(mixed, "analyze", "x.pcap", "--out", str(tmp_path / "tables"))
    assert ended.code == 1
    assert ended.err.startswith("error: no space left on device, ")
    assert list(tmp_path.iterdir()) == []


def test_out_writes_every_table_with_units_and_meanings(
    run: Run, mixed: object, tmp_path: Path
) -> None:
    out = tmp_path / "tables"
    assert run(mixed, "analyze", "x.pcap", "--out", str(out), "--csv").code == 0
    names = ["connections", "exchanges", "findings", "phases", "skips", "transfers"]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [f"{name}.{kind}" for name in names for kind in ("csv", "parquet")] + ["trustbed.json"]
    )
    transfers = pyarrow.parquet.read_table(out / "transfers.parquet")
    assert transfers.num_rows == 11
    assert transfers.column("verdict").to_pylist().count("not_judged") == 5
    for name in names:
        for field in pyarrow.parquet.read_schema(out / f"{name}.parquet"):
            assert field.metadata[b"meaning"], f"{name}.{field.name}"
            assert b"unit" in field.metadata, f"{name}.{field.name}"


def test_csv_has_seconds_and_empty_fields_for_unknown(
    run: Run, mixed: object, tmp_path: Path
) -> None:
    out = tmp_path / "tables"
    run(mixed, "analyze", "x.pcap", "--out", str(out), "--csv")
    sheet = pyarrow.csv.read_csv(out / "transfers.csv")
    assert sheet.column("duration_seconds").to_pylist()[1] == 6.0
    assert (out / "transfers.csv").read_text(encoding="utf-8").count(
        "2023-11-14T22:13:20.123456789Z"
    ) == 11
    assert sheet.column("steadiness").null_count == 11
    assert not [name for name in sheet.column_names if name.endswith("_ns")]


def test_the_manifest_states_what_made_the_tables(run: Run, mixed: object, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    run(mixed, "analyze", "x.pcap", "--out", str(out))
    manifest = json.loads((out / "trustbed.json").read_text(encoding="utf-8"))
    assert manifest["trustbed"]["command"] == f"trustbed analyze x.pcap --out {out}"
    assert manifest["summary"]["verdicts"] == {
        "discard": 1,
        "review": 2,
        "trust": 3,
        "not_judged": 5,
    }
    assert manifest["files"] == [
        "connections.parquet",
        "exchanges.parquet",
        "findings.parquet",
        "phases.parquet",
        "skips.parquet",
        "transfers.parquet",
    ]


def test_tables_do_not_depend_on_how_the_engine_cuts_its_batches(
    run: Run, made: Make, rows: Mapping[str, Maker], tmp_path: Path
) -> None:
    transfers = [rows["short" if number % 3 else "lossy"](number) for number in range(1, 16)]
    for batch in (1, 7, 1000):
        run(
            made(transfers, batch=batch),
            "analyze",
            "x.pcap",
            "--out",
            str(tmp_path / str(batch)),
            "--csv",
        )
    for name in ("transfers.parquet", "transfers.csv", "connections.parquet", "findings.parquet"):
        assert len({(tmp_path / str(batch) / name).read_bytes() for batch in (1, 7, 1000)}) == 1, (
            name
        )


def test_an_earlier_result_is_replaced_and_other_files_are_not(
    run: Run, mixed: object, tmp_path: Path
) -> None:
    out = tmp_path / "tables"
    run(mixed, "analyze", "x.pcap", "--out", str(out), "--csv")
    assert run(mixed, "analyze", "x.pcap", "--out", str(out)).code == 0
    assert not list(out.glob("*.csv"))

    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert run(mixed, "analyze", "x.pcap", "--out", str(out), "--csv").code == 0
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert (out / "transfers.csv").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_a_directory_with_other_files_is_refused_before_anything_is_read(
    run: Run, mixed: object, tmp_path: Path
) -> None:
    (tmp_path / "photo.jpg").touch()
    refused = run(AssertionError("was read"), "analyze", "x.pcap", "--out", str(tmp_path))
    assert refused.code == 1
    assert "--force" in refused.err.splitlines()[1]
    assert run(mixed, "analyze", "x.pcap", "--out", str(tmp_path), "--force").code == 0
    assert (tmp_path / "photo.jpg").is_file()
    assert (tmp_path / "transfers.parquet").is_file()


@pytest.mark.parametrize("option", ["--out", "--junit", "--report"])
def test_a_missing_directory_is_an_early_error(run: Run, option: str, tmp_path: Path) -> None:
    ended = run(
        AssertionError("was read"), "analyze", "x.pcap", option, str(tmp_path / "no" / "where")
    )
    assert ended.code == 1
    assert ended.err.splitlines()[1] == f"hint: mkdir -p {tmp_path / 'no'}"


def test_junit_has_a_case_per_judged_transfer(run: Run, mixed: object, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    assert run(mixed, "analyze", "x.pcap", "--junit", str(path), "--fail-on", "discard").code == 4
    suite = ElementTree.parse(path).getroot()[0]
    assert suite.attrib["tests"] == "6"
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("1", "2")
    assert [case.attrib["name"].split()[0] for case in suite.iter("testcase")] == [
        "2.0",
        "3.0",
        "4.0",
        "6.0",
        "9.0",
        "10.0",
    ]


def test_json_is_the_only_thing_on_standard_output(run: Run, mixed: object, tmp_path: Path) -> None:
    ended = run(mixed, "analyze", "x.pcap", "--json", "--out", str(tmp_path / "tables"))
    document = json.loads(ended.out)
    assert ended.err == ""
    assert len(document["transfers"]) == 6
    assert len(document["transfers_too_short"]["rows"]) == 5
    assert document["skips"] == [{"reason": "not_ip", "records": 12, "first_index": 3}]


def test_options_reach_the_engine(
    monkeypatch: pytest.MonkeyPatch, made: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    import trustbed.analysis.capture
    from trustbed.cli import main

    given: dict[str, Any] = {}

    def analyze(paths: list[str], **options: Any) -> Any:  # noqa: ANN401 - as the engine's
        given.update(options, paths=paths)
        return made([])

    monkeypatch.setattr(trustbed.analysis.capture._core, "analyze", analyze)
    words = [
        "analyze",
        "a",
        "b",
        "--at",
        "receiver",
        "--capacity",
        "20Mbit/s",
        "--inner",
        "--dedup",
        "--workers",
        "3",
        "--memory",
        "64MiB",
        "--workload",
        "bulk",
    ]
    assert main(words) == 0
    capsys.readouterr()
    assert given == {
        "paths": ["a", "b"],
        "at": "receiver",
        "capacity": 20_000_000,
        "inner": True,
        "dedup": True,
        "workers": 3,
        "samples": False,
        "series": False,
        "charts_of": None,
        "memory": 64 << 20,
        "progress": None,
    }
