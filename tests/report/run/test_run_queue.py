"""The queue over time: what the ledger holds, slice by slice; the application on the same time."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.begun_runs import EPOCH
from tests.report.run_directories import MS, PACKETS, ledger, make_run, requests
from trustbed.report.run import queue as run_queue
from trustbed.report.run.reading import Run
from trustbed.run.directory import RunDirectory


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path / "run", repetitions=1)


def over_time(directory: RunDirectory) -> dict[str, object]:
    found = run_queue.over_time(Run(directory.path).repetitions[0])
    assert found is not None
    plain: dict[str, object] = msgspec.to_builtins(found)
    return plain


def test_slices_hold_the_deepest_queue_the_mean_and_what_was_lost(directory: RunDirectory) -> None:
    pipes = over_time(directory)["pipes"]
    assert isinstance(pipes, list)
    assert [pipe["name"] for pipe in pipes] == ["down"]  # nothing waited on the other
    down = pipes[0]
    assert sum(down["lost"]) == PACKETS // 100
    assert max(down["packets_max"]) == 20
    # Packets come every 10 ms and slices last 13.3 ms: the first holds the packets that found 0 and
    # 1.
    assert (down["t"][0], down["packets_max"][0], down["packets_mean"][0]) == (0.0, 1, 0.5)
    assert down["slice_seconds"] == pytest.approx(0.0133, rel=1e-3)
    assert all(
        mean <= most for mean, most in zip(down["packets_mean"], down["packets_max"], strict=True)
    )


def test_a_ledger_in_several_pieces_gives_the_same(directory: RunDirectory) -> None:
    before = over_time(directory)
    pa.parquet.write_table(
        ledger(), directory.path / "rep-000" / "ledger" / "packets.parquet", row_group_size=7
    )
    assert over_time(directory) == before


def test_numbers_in_the_place_of_words_are_understood(directory: RunDirectory) -> None:
    whole = ledger()
    fate = pa.array(
        [0 if word == "passed" else 1 for word in whole["fate"].to_pylist()], pa.uint8()
    )
    pipe = pa.array([0 if word == "up" else 1 for word in whole["pipe"].to_pylist()], pa.uint32())
    changed = whole.set_column(whole.column_names.index("fate"), "fate", fate).set_column(
        whole.column_names.index("pipe"), "pipe", pipe
    )
    pa.parquet.write_table(changed, directory.path / "rep-000" / "ledger" / "packets.parquet")
    pipes = over_time(directory)["pipes"]
    assert isinstance(pipes, list)
    assert (pipes[0]["name"], sum(pipes[0]["lost"])) == ("1", PACKETS // 100)


def test_requests_stand_where_they_began(directory: RunDirectory) -> None:
    table = requests([0.1, None, 0.3], start=EPOCH + 1000 * MS)
    pa.parquet.write_table(table, directory.path / "rep-000" / "tables" / "fetch.requests.parquet")
    application = over_time(directory)["applications"]
    assert isinstance(application, list)
    assert application[0]["t"] == [pytest.approx(1.0), pytest.approx(1.3)]
    assert application[0]["seconds"] == [0.1, 0.3]
    assert application[0]["failed_t"] == [pytest.approx(1.15)]


def test_of_many_requests_the_extremes_stay(directory: RunDirectory) -> None:
    seconds = [0.01] * 4000
    seconds[1234] = 9.0
    seconds[2345] = 0.001
    pa.parquet.write_table(
        requests(seconds, gap=0), directory.path / "rep-000" / "tables" / "fetch.requests.parquet"
    )
    application = over_time(directory)["applications"]
    assert isinstance(application, list)
    assert len(application[0]["t"]) <= run_queue.POINTS
    assert (max(application[0]["seconds"]), min(application[0]["seconds"])) == (9.0, 0.001)
    assert application[0]["requests"] == 4000


def test_directions_of_a_test_in_both_are_not_summed(directory: RunDirectory) -> None:
    tables = directory.path / "rep-000" / "tables"
    (tables / "fetch.requests.parquet").unlink()
    rows = [
        {
            "start_ns": 0,
            "end_ns": 10**9,
            "bits_per_second": rate,
            "omitted": False,
            "sending": sending,
        }
        for rate, sending in ((9e7, True), (8e7, False))
    ]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tables / "fetch.intervals.parquet")
    application = over_time(directory)["applications"]
    assert isinstance(application, list)
    assert application[0]["bits_per_second"] == [9e7]


def test_rates_of_intervals_are_summed_over_streams(directory: RunDirectory) -> None:
    tables = directory.path / "rep-000" / "tables"
    (tables / "fetch.requests.parquet").unlink()
    rows = [
        {"start_ns": start, "end_ns": start + 10**9, "bits_per_second": rate, "omitted": omitted}
        for start, rate, omitted in (
            (0, 1e6, False),
            (0, 2e6, False),
            (10**9, 4e6, False),
            (2 * 10**9, 9e6, True),
        )
    ]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tables / "fetch.intervals.parquet")
    application = over_time(directory)["applications"]
    assert isinstance(application, list)
    assert (application[0]["t"], application[0]["bits_per_second"]) == ([0.0, 1.0], [3e6, 4e6])


def test_a_bulk_transfer_is_what_its_receiver_got_each_second(directory: RunDirectory) -> None:
    subdirectory = directory.path / "rep-000"
    (subdirectory / "tables" / "fetch.requests.parquet").unlink()
    record = json.loads((subdirectory / "repetition.json").read_text())
    sent = {"start_ns": EPOCH + 10**9, "transfers": [{"payload_bytes_per_second": [9, 9, 9]}]}
    taken = {
        "start_ns": EPOCH,
        "transfers": [
            {"payload_bytes_per_second": [0, 100, 200]},
            {"payload_bytes_per_second": [0, 50]},
        ],
    }
    record["workloads"] = [{"name": "bulk", "kind": "bulk", "outcome": "complete", "report": sent}]
    record["services"] = [{"verb": "bulk", "where": "server", "report": taken}]
    (subdirectory / "repetition.json").write_text(json.dumps(record))
    application = over_time(directory)["applications"]
    assert isinstance(application, list)
    assert (application[0]["t"], application[0]["bits_per_second"]) == (
        [0.0, 1.0, 2.0],
        [0, 1200, 1600],
    )
    record["services"] = []
    (subdirectory / "repetition.json").write_text(json.dumps(record))
    application = over_time(directory)["applications"]
    assert isinstance(application, list)
    assert (application[0]["t"], application[0]["bits_per_second"]) == (
        [1.0, 2.0, 3.0],
        [72, 72, 72],
    )


def test_without_a_ledger_the_application_stays_and_without_both_there_is_nothing(
    directory: RunDirectory,
) -> None:
    (directory.path / "rep-000" / "ledger" / "packets.parquet").unlink()
    found = over_time(directory)
    assert found["pipes"] == []
    assert found["applications"]
    (directory.path / "rep-000" / "tables" / "fetch.requests.parquet").unlink()
    assert run_queue.over_time(Run(directory.path).repetitions[0]) is None


def test_what_closes_behind_the_workloads_is_not_shown(directory: RunDirectory) -> None:
    whole = over_time(directory)
    record = directory.path / "rep-000" / "repetition.json"
    found = json.loads(record.read_text(encoding="utf-8"))
    half = float(str(whole["duration_seconds"])) / 2
    found["workload_start_ns"] = found["epoch_ns"]
    for one in found["workloads"]:
        one["seconds"] = half
    (directory.path / "rep-000" / "tables" / "fetch.requests.parquet").unlink(missing_ok=True)
    record.write_text(json.dumps(found), encoding="utf-8")
    shown = over_time(directory)
    assert shown["duration_seconds"] == pytest.approx(half)
    pipes = shown["pipes"]
    assert isinstance(pipes, list)
    assert max(pipes[0]["t"]) < half
