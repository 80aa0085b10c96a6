"""A whole campaign on this machine with Prometheus and CloudWatch sources, and its table."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.campaign.metrics.conftest import PlayedPrometheus
from tests.campaign.metrics.test_cloudwatch import MACHINE, NAMES, put
from tests.campaign.runner.conftest import (
    Leaping,
    PlayedHosts,
    PlayedRound,
    cache,
    judged_here,
    study_of,
)
from tests.patience import wait_until
from trustbed.agent.client import Agent
from trustbed.campaign.api import measure
from trustbed.campaign.judge import judge_round
from trustbed.campaign.metrics import campaign_resources, round_resources, write_resources
from trustbed.campaign.metrics.table import METRICS, MINUTE, RESOURCES
from trustbed.campaign.results import read_model
from trustbed.campaign.runner import CampaignDirectory
from trustbed.campaign.runner.round import RoundCarrier
from trustbed.report.placing import OutputError
from trustbed.run.owned_directory import RunDirectoryError
from trustbed.scenario.campaign import CampaignFile

__all__ = ["cache", "judged_here"]

SECOND = 1_000_000_000
SLOW_SECONDS = 4.0


def of_source(
    rows: Sequence[dict[str, Any]], source: str, metric: str | None = None
) -> list[dict[str, Any]]:
    return [
        row
        for row in rows
        if row["source"] == source and (metric is None or row["metric"] == metric)
    ]


def scraped(server: PlayedPrometheus, instance: str) -> None:
    """A host that is scraped every quarter of a second, from a minute ago on.

    A third of its time is used.
    """
    moments = [int(time.time()) - 60 + number / 4 for number in range(2000)]
    for mode, rate in (("idle", 2.0), ("user", 1.0)):
        server.add(
            "node_cpu_seconds_total",
            [(at, rate * (at - moments[0])) for at in moments],
            instance,
            mode=mode,
            cpu="0",
        )
    server.add("node_intr_total", [(at, 100 * (at - moments[0])) for at in moments], instance)


def study(round_directory: Path, prometheus: str, amazon: str) -> CampaignFile:
    hosts = (
        f'[hosts.a]\nlocal = true\nmeasure = "127.0.0.1"\nprometheus = {{ url = '
        f'"{prometheus}", instance = "a:9100" }}\n'
        f'[hosts.b]\nlocal = true\nmeasure = "127.0.0.2"\nprometheus = {{ url = '
        f'"http://127.0.0.1:1", instance = "b:9100" }}\n'
        f'cloudwatch = {{ region = "eu-west-1", instance = "{MACHINE}", period = "60s", '
        f'endpoint = "{amazon}" }}\n'
    )
    return study_of(
        round_directory,
        "a-b",
        hosts=hosts,
        count=1,
        period='"60s"',
        pairs_at_once=1,
        table='[{ probe = "16KiB", data = "32MiB" }]',
        windows='{ probe = "16KiB", data = "4KiB" }',
        time_limit='"50s"',
    )


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender of a round stands still for some seconds, so that there are samples."""
    report = RoundCarrier._report

    def late(carrier: RoundCarrier, agent: Agent, seconds: float) -> Any:  # noqa: ANN401 - as the original
        if agent.name.startswith("pairs"):
            os.kill(agent.pid, signal.SIGSTOP)
            began = time.monotonic()
            wait_until(lambda: time.monotonic() > began + SLOW_SECONDS, "samples")
            os.kill(agent.pid, signal.SIGCONT)
            monkeypatch.setattr(RoundCarrier, "_report", report)
        return report(carrier, agent, seconds)

    monkeypatch.setattr(RoundCarrier, "_report", late)


def planned(campaign: CampaignFile) -> Sequence[str]:
    """The lines of a dry run."""
    from trustbed.cli.campaign.run import _plan

    return _plan(campaign)


def test_the_metrics_of_hosts_and_other_sources_are_one_table(
    tmp_path: Path,
    cache: Path,
    slow: None,
    judged_here: None,
    prometheus: PlayedPrometheus,
    amazon: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    scraped(prometheus, "a:9100")
    minute = int(time.time()) // 60 * 60
    for number in range(-1, 6):
        for name in NAMES:
            put(amazon, name, minute + 60 * number, 30.0)
    campaign = study(tmp_path, prometheus.url, amazon)
    assert "other sources: a (prometheus), b (prometheus), b (cloudwatch)" in planned(campaign)
    measure(campaign, CampaignDirectory(tmp_path / "out"), about={"version": "1"})
    rounds = read_model(tmp_path / "out").pairs[0].rounds
    assert rounds.get("complete") == 1, rounds
    (round_directory,) = CampaignDirectory(tmp_path / "out").rounds()
    record = round_directory.record()
    rows = round_resources(round_directory).to_pylist()
    assert {(row["pair"], row["round"]) for row in rows} == {("a-b", 0)}
    assert {row["metric"] for row in rows} - {None} <= set(METRICS)
    assert {
        (row["host"], row["source"])
        for row in of_source(rows, "proc") + of_source(rows, "prometheus")
    } >= {("a", "proc"), ("b", "proc"), ("a", "prometheus")}

    own = of_source(rows, "proc", "cpu_utilisation_share")
    assert {(row["host"], row["scope"]) for row in own} == {
        (host, scope) for host in "ab" for scope in ("host", "process")
    }
    assert MINUTE in {row["resolution_ns"] for row in own}
    processes = {row["name"] for row in own if row["scope"] == "process"}
    assert len(processes) == 2, "the sender and the receiver"

    of_hosts = {
        row["metric"]
        for row in of_source(rows, "proc")
        if row["scope"] == "host" and row["value"] is not None
    }
    assert of_hosts >= {
        "memory_available_bytes",
        "interrupts_per_second",
        "context_switches_per_second",
        "tcp_sent_segments_per_second",
    }

    scrapes = [
        row
        for row in of_source(rows, "prometheus", "cpu_utilisation_share")
        if row["resolution_ns"] < MINUTE
    ]
    assert [row["value"] for row in scrapes] == pytest.approx([1 / 3] * len(scrapes))
    assert scrapes[0]["time_ns"] <= record.began_ns
    assert scrapes[-1]["time_ns"] + scrapes[-1]["resolution_ns"] >= record.ended_ns - 2 * SECOND, (
        "it may be queried before the next one"
    )
    assert {row["resolution_ns"] for row in scrapes} <= {SECOND * part // 4 for part in range(1, 6)}
    (away,) = [row for row in of_source(rows, "prometheus") if row["host"] == "b"]
    assert "does not answer: Connection refused" in away["problem"]
    assert (away["time_ns"], away["resolution_ns"]) == (
        record.began_ns,
        record.ended_ns - record.began_ns,
    )

    # CloudWatch has whole minutes; the one in which the round ended is not over, unless it ended
    # within the moment before the query.
    missing = [
        row["problem"] for row in of_source(rows, "cloudwatch") if row["problem"] is not None
    ]
    if missing or record.ended_ns % MINUTE < MINUTE - 20 * SECOND:
        assert missing == ["cloudwatch had no data from here on at the last query"]
    assert {row["value"] for row in of_source(rows, "cloudwatch", "cpu_utilisation_share")} <= {0.3}
    assert (
        json.loads((round_directory.path / "resources.json").read_text())["sources"][-1]["times"]
        == 1
    )

    from trustbed.cli import main

    capfd.readouterr()
    assert (
        main(
            [
                "status",
                str(tmp_path / "out"),
                "--resources",
                str(tmp_path / "all.parquet"),
                "--json",
            ]
        )
        == 0
    )
    out, err = capfd.readouterr()
    assert json.loads(out)["pairs"]
    assert f"{len(rows):,} rows".replace(",", "") in err.replace(",", "").replace(" ", " ")
    table = pyarrow.parquet.read_table(tmp_path / "all.parquet")
    assert table.schema.equals(RESOURCES, check_metadata=True), "units and meanings are in the file"
    assert table.to_pylist() == rows


def test_one_round_or_all_of_them_are_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from trustbed.cli import main

    campaign = study_of(tmp_path, "a-b", "c-d", count=2, period='"500ms"', pings=0)
    directory = CampaignDirectory(tmp_path / "out")
    Leaping(
        campaign,
        directory,
        PlayedHosts(campaign),
        judge=judge_round,
        about={"version": "1"},
        carrier=PlayedRound,
    ).carry_out()
    numbers = [
        (round_directory.pair, round_directory.number) for round_directory in directory.rounds()
    ]
    tables = list(campaign_resources(directory.path))
    assert [{(row["pair"], row["round"]) for row in table.to_pylist()} for table in tables] == [
        {one} for one in numbers
    ]
    assert write_resources(directory.path, tmp_path / "all.parquet") == sum(
        table.num_rows for table in tables
    )
    pair, number = numbers[-1]
    file = tmp_path / "one.parquet"
    assert (
        main(
            [
                "status",
                str(directory.path),
                "--resources",
                str(file),
                "--round",
                f"{pair}/{number}",
                "-q",
            ]
        )
        == 0
    )
    assert pyarrow.parquet.read_table(file) == tables[-1]
    assert {row["problem"] for row in tables[-1].to_pylist() if row["role"] == "receiver"} == {
        "there are no samples: no such file or directory"
    }
    for words, message in (
        (["--round", "a-b/0"], "--resources"),
        (["--round", "a-b", "--resources", str(file)], "is not a round"),
        (["--round", "a-c/0", "--resources", str(file)], "no pair a-c"),
        (["--round", "../a-b/0", "--resources", str(file)], "no pair ../a-b"),
        (["--round", "a-b/77", "--resources", str(file)], "no round 77 of a-b has ended"),
        (["--resources", str(tmp_path)], "is a directory"),
        (["--resources", str(tmp_path / "none" / "x.parquet")], "directory does not exist"),
    ):
        capfd.readouterr()
        assert main(["status", str(directory.path), "-q", *words]) in (1, 2)
        assert message in capfd.readouterr().err
    assert pyarrow.parquet.read_table(file) == tables[-1], "what was there stays"
    with pytest.raises(OutputError):
        write_resources(directory.path, tmp_path)
    with pytest.raises(RunDirectoryError):
        write_resources(tmp_path, tmp_path / "x.parquet")
