"""What is stored again once it has grown, and results of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.run_directories import make_run
from tests.store.conftest import ROOT
from tests.store.stores import BEGAN, SECOND, Sent, store_transfers
from trustbed.cli import main
from trustbed.errors import TrustbedError
from trustbed.run.directory import TABLES
from trustbed.store.directories import add
from trustbed.store.store import open_store

FIXTURES = ROOT / "tests" / "workload" / "fixtures"
ONE = [Sent("alpha", "beta", BEGAN)]
TWO = [*ONE, Sent("beta", "alpha", BEGAN + SECOND, "host_scheduling")]


@pytest.mark.parametrize(
    ("files", "program", "metrics"),
    [
        (["iperf3-tcp.json"], "iperf3", {"throughput_bits_per_second": "bit/s"}),
        (["wrk.txt", "wrk-again.txt"], "wrk", {"requests_per_second": "1/s"}),
    ],
)
def test_results_of_other_programs_take_their_place(
    files: list[str], program: str, metrics: dict[str, str], disk: str, tmp_path: Path
) -> None:
    directory = tmp_path / "results"
    directory.mkdir()
    for name in files:
        fixture = (FIXTURES / name.replace("-again", "")).read_text(encoding="utf-8")
        (directory / name).write_text(fixture, encoding="utf-8")
    path = directory if len(files) > 1 else directory / files[0]
    here = open_store(disk)
    assert add(here, path, testbed="lab", paper="imc").stored
    assert not add(here, path, testbed="lab", paper="imc").stored
    found = open_store(disk)
    (one,) = found.entries
    assert (one.kind, one.testbed, one.paper) == ("result", "lab", "imc")
    rows = found.results.table().to_pylist()
    assert {row["source"] for row in rows} == set(files)
    assert {row["program"] for row in rows} == {program}
    assert metrics.items() <= {row["metric"]: row["unit"] for row in rows}.items()
    assert all(row["value"] is not None and row["invalid"] is None for row in rows)


def test_what_is_no_result_is_refused(disk: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("to do", encoding="utf-8")
    with pytest.raises(TrustbedError, match="neither a run nor results that can be read"):
        add(open_store(disk), tmp_path / "notes.txt")
    with pytest.raises(TrustbedError, match="no such file or directory"):
        add(open_store(disk), tmp_path / "nothing")
    assert open_store(disk).entries == []


def test_a_run_that_is_damaged_is_named_and_the_others_are_stored(
    disk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = make_run(tmp_path / "bad"), make_run(tmp_path / "good")
    table = next(bad.path.glob("rep-*")) / TABLES / "transfers.parquet"
    table.parent.mkdir(exist_ok=True)
    table.write_bytes(b"PAR1")
    assert main(["store", "add", disk, str(bad.path), str(good.path)]) == 1
    written = capsys.readouterr()
    assert str(table) in written.err
    assert written.out.startswith(f"{good.path}: stored")
    assert [one.kind for one in open_store(disk).entries] == ["run"]


def test_a_capture_that_grew_counts_once(disk: str) -> None:
    here = open_store(disk)
    rotated = [f"/captures/a_{number:05}.pcap" for number in range(3)]
    store_transfers(here, "a", ONE, subject="1" * 64, files=rotated[:2], size_bytes=200)
    store_transfers(here, "a", TWO, subject="2" * 64, files=rotated, size_bytes=300)
    store_transfers(here, "b", ONE, subject="3" * 64, files=["/captures/b.pcap"], size_bytes=10)
    store_transfers(here, "b", TWO, subject="4" * 64, files=["/captures/b.pcap"], size_bytes=20)
    later = [Sent("alpha", "beta", BEGAN + 1)]
    store_transfers(here, "b", later, subject="5" * 64, files=["/captures/b.pcap"], size_bytes=30)
    found = open_store(disk)
    assert [one.subject[0] for one in found.entries] == ["2", "4", "5"]
    assert len(found.gc(older_seconds=0)) == 2
    assert open_store(disk).verdicts.table().num_rows == 5


def test_results_that_grew_count_once(disk: str, tmp_path: Path) -> None:
    here = open_store(disk)
    directory = tmp_path / "results"
    directory.mkdir()
    for number in range(2):
        fixture = (FIXTURES / "iperf3-tcp.json").read_text(encoding="utf-8")
        (directory / f"{number}.json").write_text(fixture, encoding="utf-8")
        assert add(here, directory).stored
    rows = open_store(disk).results.table().to_pylist()
    assert {row["source"] for row in rows} == {"0.json", "1.json"}
    assert len({(row["source"], row["metric"]) for row in rows}) == len(rows)
    assert {row["unit"] for row in rows if row["metric"] == "retransmissions"} == {"1/MB"}


def test_results_that_one_file_had_one_after_the_other_are_two(disk: str, tmp_path: Path) -> None:
    here = open_store(disk)
    for name, testbed in (("iperf3-tcp.json", "wired"), ("iperf3-udp.json", "wireless")):
        (tmp_path / "out.json").write_bytes((FIXTURES / name).read_bytes())
        assert add(here, tmp_path / "out.json", testbed=testbed).stored
    assert {one.testbed for one in open_store(disk).entries} == {"wired", "wireless"}
    assert open_store(disk).gc(older_seconds=0) == []


def test_a_label_that_comes_too_late_is_told(disk: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FIXTURES / "iperf3-tcp.json")
    for labels in (["--testbed", "lab"], ["--testbed", "lab"], ["--testbed", "b", "--paper", "c"]):
        assert main(["store", "add", disk, path, *labels]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{path}: stored")
    assert second == f"{path}: there before"
    assert third == f"{path}: there before, of testbed lab, without a paper"


def test_what_is_stored_later_with_fewer_bytes_is_another_capture(disk: str) -> None:
    here = open_store(disk)
    for subject, size, testbed in (("1", 300, "lab"), ("2", 200, "lab"), ("3", 400, "other")):
        store_transfers(
            here,
            "a",
            ONE,
            subject=subject * 64,
            files=["/captures/a.pcap"],
            size_bytes=size,
            testbed=testbed,
        )
    assert [one.subject[0] for one in open_store(disk).entries] == ["1", "2", "3"]
