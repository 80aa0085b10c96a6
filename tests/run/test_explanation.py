"""``trustbed explain RUN``: one verdict per transfer, from the captures of a repetition."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from trustbed.cli import main
from trustbed.run import explanation
from trustbed.run import judge as judging
from trustbed.run.directory import RunDirectory, RunDirectoryError
from trustbed.scenario import load

RECORDINGS = Path(__file__).parents[2] / "recordings"
SCENARIO = """
[hosts.client]
[hosts.server]
[link]
rate = "100Mbit/s"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run of one repetition with captures at both ends, judged."""
    found = RunDirectory(tmp_path_factory.mktemp("explained") / "lossy.run")
    repetition = found.begin_repetition("rep-000")
    (found.path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    order = [{"number": 0, "directory": "rep-000", "cell": 0, "round": 0, "seed": 1}]
    manifest = {"schema_version": 1, "order": order}
    (found.path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for point, end in (("client", "sender"), ("server", "receiver")):
        shutil.copy(
            RECORDINGS / f"random-loss.{end}.pcap.gz",
            repetition / "captures" / f"{point}.pcapng",
        )
    found.finish_repetition("rep-000", {"outcome": "complete", "workloads": []})
    judging.judge(found, "rep-000", load(found.path / "scenario.toml").first)
    return found


def explained(directory: RunDirectory) -> explanation.Explained:
    found = explanation.transfers(directory, 0)
    assert len(found) == 1
    return found[0]


def test_the_verdict_is_that_of_the_capture_beside_the_sender(directory: RunDirectory) -> None:
    one = explained(directory)
    assert (one.verdict.capture, one.verdict.row["at"]) == ("client", "sender")
    assert [view.capture for view in one.views] == ["server"]
    assert explanation.repetitions(directory) == [0]


def test_a_run_keeps_what_the_time_of_its_transfers_went_to(directory: RunDirectory) -> None:
    tables = directory.repetition("rep-000") / "tables"
    phases = pyarrow.parquet.read_table(tables / "phases.parquet")
    assert set(phases.column("capture").to_pylist()) == {"client", "server"}
    name = explained(directory).verdict.row["transfer"]
    client = [
        row for row in phases.to_pylist() if (row["capture"], row["transfer"]) == ("client", name)
    ]
    row = explained(directory).verdict.row
    data = 1 - row["share_handshake"]
    assert sum(phase["time_ns"] for phase in client) / 1e9 == pytest.approx(
        row["duration_seconds"] / data, rel=1e-3
    )
    assert (tables / "exchanges.parquet").is_file()


def test_the_explanation_judges_as_the_run_did(directory: RunDirectory) -> None:
    one = explained(directory)
    transfer = explanation.transfer_of(directory, one)
    diagnosis = transfer.diagnosis
    assert (diagnosis.cause, diagnosis.verdict, diagnosis.confidence) == (
        one.verdict.cause,
        one.verdict.verdict,
        one.verdict.row["confidence"],
    )


def test_connections_that_reuse_their_ports_stay_apart(
    directory: RunDirectory, tmp_path: Path
) -> None:
    copied = RunDirectory(Path(shutil.copytree(directory.path, tmp_path / "reused.run")))
    table = copied.repetition("rep-000") / "tables" / "transfers.parquet"
    rows = pyarrow.parquet.read_table(table)
    pyarrow.parquet.write_table(pa.concat_tables([rows] * 3), table)
    found = explanation.transfers(copied, 0)
    assert [(one.verdict.capture, [view.capture for view in one.views]) for one in found] == [
        ("client", ["server"])
    ] * 3


def test_a_repetition_that_is_not_there_is_an_error(directory: RunDirectory) -> None:
    with pytest.raises(RunDirectoryError, match="no repetition 7"):
        explanation.transfers(directory, 7)


def test_a_run_as_text_and_as_json(
    directory: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    one = explained(directory)
    assert main(["explain", str(directory.path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 repetition · 1 judged transfer" in text
    assert "Nothing is to be discarded." in text
    assert f"· server: {one.views[0].verdict}, {one.views[0].cause}" in text

    assert main(["explain", str(directory.path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["cause"] for row in document["transfers"]] == [one.verdict.cause]
    assert [view["capture"] for view in document["transfers"][0]["views"]] == ["server"]


def test_one_transfer_of_a_run(directory: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    one = explained(directory)
    port = f":{one.verdict.row['src_port']}"
    assert main(["explain", str(directory.path), "0", port]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"cause {one.verdict.cause}" in text
    assert "Other captures (the verdict is that of client)" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["0"], "a repetition and a transfer are needed, or neither"),
        (["first", "1.0"], "'first' is no repetition"),
        (["0", "999.0"], "no transfer 999.0"),
        (["--at", "sender"], "--at does not go with a run"),
    ],
)
def test_what_cannot_be_explained(
    directory: RunDirectory, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(["explain", str(directory.path), *more]) in (1, 2)
    assert message in capsys.readouterr().err


def test_a_directory_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path)]) == 1
    assert "not a run" in capsys.readouterr().err


def test_what_is_to_be_discarded_stands_first() -> None:
    from trustbed.report.run import explanation as text

    row: dict[str, Any] = {
        "capture": "client",
        "transfer": "1.0",
        "src": "10.0.0.1",
        "src_port": 1,
        "dst": "10.0.0.2",
        "dst_port": 2,
        "cause": "host_scheduling",
        "verdict": "discard",
        "confidence": 0.95,
    }
    other = {**row, "capture": "server", "cause": "network_congestion", "verdict": "trust"}
    one = explanation.Explained(
        repetition=3,
        verdict=explanation.View(row=row),
        views=[explanation.View(row=other)],
    )
    lines = text.render("x.run", [one]).splitlines()
    assert lines[2] == "To be discarded: 1 of 1"
    assert lines[3] == f"  repetition 3, 1.0: {one.headline}"
    assert any("server: trust" in line and "(another reading)" in line for line in lines)
    slow = {**row, "throughput_bytes_per_second": 1e6, "sending_rate_bytes_per_second": 4e6}
    one = replace(one, verdict=explanation.View(row=slow))
    told = " ".join(text.render("x.run", [one]).split())
    assert "8.00 Mbit/s over its life, 32.0 Mbit/s while sending" in told
    below = text.other_views(one, {**row, "verdict": "review"})
    assert "hold another verdict, discard" in below
    assert "hold another verdict" not in text.other_views(one, row)
