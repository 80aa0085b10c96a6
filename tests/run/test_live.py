"""Runs in networks created for a test: real agents, real packets, real kills.

A second of traffic each.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.patience import PATIENCE, wait_until
from trustbed.testbed.netns import registry

pytestmark = [
    pytest.mark.usefixtures("networks"),
    pytest.mark.timeout(900),
]  # some carry out five runs
TRUSTBED = str(Path(sys.executable).with_name("trustbed"))
SCENARIO = """
duration = "1200ms"
warm_up = "200ms"
seed = 5
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "5ms"
queue = "50p"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[background.noise]
model = "none"
rate = "5Mbit/s"
from = "client"
to = "server"
[factors]
"background.noise.model" = ["none", "cbr"]
"""
COMMAND = """
[hosts.client]
[hosts.server]
[link]
delay = "1ms"
[workload.w]
kind = "command"
host = "client"
time_limit = "20s"
duration = "1s"
command = """
RAW = (
    "captures/client.pcapng",
    "ledger/packets.parquet",
    "samples/machine.parquet",
    "repetition.json",
    "done",
)
DERIVED = ("tables/transfers.parquet", "tables/w.summary.parquet", "findings.json")

Trustbed = Callable[..., subprocess.CompletedProcess[str]]
Begin = Callable[[Path, str], subprocess.Popen[str]]


@pytest.fixture
def trustbed(tmp_path: Path) -> Trustbed:
    """Runs ``trustbed run`` on a scenario in a directory of its own."""
    environment = {**os.environ, "TRUSTBED_RUNTIME": str(tmp_path / "registry")}

    def call(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "study.toml").write_text(text)
        command = [TRUSTBED, "run", "study.toml", "--out", "run", "--no-report", *options]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )

    return call


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Begins a ``trustbed run`` on a scenario in a directory; it is ended with the test."""
    with contextlib.ExitStack() as stack:

        def call(directory: Path, text: str) -> subprocess.Popen[str]:
            (directory / "study.toml").write_text(text)
            child = subprocess.Popen(
                [TRUSTBED, "run", "study.toml", "--out", "run", "--no-report"],
                cwd=directory,
                env={**os.environ, "TRUSTBED_RUNTIME": str(directory / "registry")},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            stack.enter_context(child)
            stack.callback(child.kill)
            return child

        yield call


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def shape(run: Path) -> dict[str, Any]:
    """What must be the same however often a run was killed.

    Order, seeds, files, columns, which sources sent what by which seeds.
    """
    manifest = read(run / "manifest.json")
    found: dict[str, Any] = {
        key: manifest[key] for key in ("order", "cells", "factors", "inputs", "seed", "repetitions")
    }
    found["files"] = sorted(
        str(file.relative_to(run))
        for file in run.rglob("*")
        if file.is_file() and file.name not in (".lock", "report.html")
    )
    for one in manifest["order"]:
        record = read(run / one["directory"] / "repetition.json")
        seeds = [
            source["seed"] for flow in record["backgrounds"] for source in flow["send"]["sources"]
        ]
        found[one["directory"]] = (
            record["outcome"],
            record["cell"],
            record["round"],
            record["seed"],
            record["emulator_ready"]["seed"],
            seeds,
        )
        for file in sorted((run / one["directory"]).rglob("*.parquet")):
            found[str(file.relative_to(run))] = pyarrow.parquet.read_schema(file).names
    return found


def nothing_is_left(tmp_path: Path) -> None:
    """No testbed, no namespace, no process with its mark."""
    known = tmp_path / "registry"
    assert list(known.glob("*.json")) == []
    mark = f"TRUSTBED_RUNTIME={known}".encode()
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (
                mark in (process / "environ").read_bytes().split(b"\0")
                and int(process.name) != os.getpid()
            ):
                left.append((process / "cmdline").read_bytes())
        except OSError:
            continue
    assert left == []


def test_a_scenario_becomes_judged_tables(tmp_path: Path, trustbed: Trustbed) -> None:
    ended = trustbed(SCENARIO)
    assert ended.returncode == 0, ended.stderr
    run = tmp_path / "run"
    for number in range(2):
        directory = run / f"rep-{number:03d}"
        assert [name for name in (*RAW, *DERIVED) if not (directory / name).is_file()] == []
        record = read(directory / "repetition.json")
        ledger = pyarrow.parquet.read_table(directory / "ledger" / "packets.parquet")
        assert len(ledger) == record["emulator"]["ledger"]["records"] > 100
        assert set(ledger.column("pipe").to_pylist()) == {"link.up", "link.down"}
        (row,) = pyarrow.parquet.read_table(directory / "tables" / "w.summary.parquet").to_pylist()
        assert 0 < row["received_bits_per_second"] < 20e6
        (transfer,) = [
            one
            for one in pyarrow.parquet.read_table(
                directory / "tables" / "transfers.parquet"
            ).to_pylist()
            if one["workload"] == "w"
        ]
        assert (transfer["capture"], transfer["at"], transfer["src"]) == (
            "client",
            "sender",
            "10.77.0.1",
        )
        assert sum(read(directory / "findings.json")["verdicts"].values()) == 1
    quiet, noisy = sorted(
        (read(run / f"rep-{number:03d}" / "repetition.json") for number in range(2)),
        key=lambda record: record["cell"],
    )
    assert quiet["backgrounds"] == []
    (noise,) = noisy["backgrounds"]
    assert noise["send"]["offered_packets"] >= noise["sink"]["sources"][0]["packets"] > 100
    nothing_is_left(tmp_path)


def test_what_is_complete_is_kept_and_more_repetitions_are_added(
    tmp_path: Path, trustbed: Trustbed
) -> None:
    assert trustbed(SCENARIO, "-q").returncode == 0
    done = {
        directory: (tmp_path / "run" / directory / "done").stat().st_mtime_ns
        for directory in ("rep-000", "rep-001")
    }
    assert trustbed(SCENARIO, "-q", "--resume", "--repetitions", "2").returncode == 0
    assert {
        directory: (tmp_path / "run" / directory / "done").stat().st_mtime_ns for directory in done
    } == done
    assert len(list((tmp_path / "run").glob("rep-*/done"))) == 4
    changed = trustbed(SCENARIO.replace("20Mbit/s", "10Mbit/s"))
    assert changed.returncode == 1
    assert "another scenario" in changed.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing_and_continues(
    tmp_path: Path, trustbed: Trustbed, begin: Begin, number: int
) -> None:
    child = begin(tmp_path, SCENARIO)
    wait_until(
        lambda: list((tmp_path / "run").glob("rep-000/captures/*")) or child.poll() is not None,
        "a capture",
    )
    os.kill(child.pid, number)
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    assert "the same command continues" in err
    nothing_is_left(tmp_path)
    if number == signal.SIGINT:  # what is left of the run is the same for all
        assert trustbed(SCENARIO).returncode == 0


def test_an_emulator_that_is_killed_fails_the_repetition_and_not_the_run(
    tmp_path: Path, begin: Begin
) -> None:
    child = begin(
        tmp_path, SCENARIO.replace("1200ms", "60s").replace('["none", "cbr"]', '["none"]')
    )
    capture = tmp_path / "run" / "rep-000" / "captures" / "client.pcapng"
    # Some hundred packets: the workload is at work.
    wait_until(
        lambda: child.poll() is not None or (capture.is_file() and capture.stat().st_size > 50_000),
        "packets",
    )
    found = subprocess.run(
        ["pgrep", "-f", "trustbed-agent emulate", "-P", str(child.pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
    child.communicate(timeout=2 * PATIENCE)
    assert child.returncode == 0
    record, findings = (
        read(tmp_path / "run" / "rep-000" / name) for name in ("repetition.json", "findings.json")
    )
    assert record["outcome"] == "failed"
    assert record["failures"][0]["verb"] == "emulate"
    assert "killed by signal 9" in record["workloads"][0]["reason"]
    assert findings["use"] == "discard"
    assert capture.stat().st_size > 50_000
    nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    ("command", "outcome", "reason"),
    [
        ("\"sh -c 'exit 3'\"", "failed", "exit code 3"),
        ('"sleep 60"', "time_limit", "2 s"),
        ("\"sh -c 'sleep 61 & sleep 60'\"", "time_limit", "2 s"),
    ],
)
def test_a_workload_that_fails_is_kept_with_its_reason(
    tmp_path: Path, trustbed: Trustbed, command: str, outcome: str, reason: str
) -> None:
    limit = "20s" if outcome == "failed" else "2s"  # what ends by itself is given the time to
    assert trustbed(COMMAND.replace('"20s"', f'"{limit}"') + command + "\n").returncode == 0
    (workload,) = read(tmp_path / "run" / "rep-000" / "repetition.json")["workloads"]
    assert workload["outcome"] == outcome
    assert reason in workload["reason"]
    assert read(tmp_path / "run" / "rep-000" / "findings.json")["use"] == "discard"
    nothing_is_left(tmp_path)


def test_a_missing_program_is_found_before_anything_is_created(
    tmp_path: Path, trustbed: Trustbed
) -> None:
    ended = trustbed(COMMAND + '"sleeep 1"\n')
    assert ended.returncode == 1
    assert "study.toml, workload.w: no such program, sleeep" in ended.stderr
    assert "did you mean sleep?" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_reported_and_the_run_continues_later(
    tmp_path: Path, trustbed: Trustbed
) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)],
        check=False,
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        ended = trustbed(SCENARIO)
        assert ended.returncode == 1
        assert "no room for another repetition" in ended.stderr
        assert "it continues" in ended.stderr
        subprocess.run(["mount", "-o", "remount,size=100m", str(directory)], check=True)
        # What fills the disk is the start of a repetition that was not completed: it is begun again
        # from nothing.
        (directory / "rep-000" / "captures").mkdir(parents=True, exist_ok=True)
        (directory / "rep-000" / "captures" / "client.pcapng").write_bytes(bytes(90 << 20))
        ended = trustbed(SCENARIO)
        assert ended.returncode == 0, ended.stderr
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)
    nothing_is_left(tmp_path)


def test_two_runs_side_by_side_do_not_meet(tmp_path: Path, begin: Begin) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    children = [begin(tmp_path / name, SCENARIO) for name in ("a", "b")]
    for child in children:
        _, err = child.communicate(timeout=2 * PATIENCE)
        assert child.returncode == 0, err
    assert shape(tmp_path / "a" / "run") == shape(tmp_path / "b" / "run")


def test_the_registry_of_these_tests_is_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(tmp_path / "registry"))
    assert registry.directory() == tmp_path / "registry"


def test_a_run_whose_output_is_no_longer_read_continues(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SCENARIO)
    with subprocess.Popen(
        [TRUSTBED, "run", "study.toml", "--out", "run"],
        cwd=tmp_path,
        env={**os.environ, "TRUSTBED_RUNTIME": str(tmp_path / "registry")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith(b"2 repetitions to do, about ")
        child.stdout.close()
        # Its output cannot be written either, which it reports at the end, with all repetitions
        # complete.
        assert child.wait(2 * PATIENCE) == 141
    assert (
        sorted(path.name for path in (tmp_path / "run").glob("rep-*/findings.json"))
        == ["findings.json"] * 2
    )
    assert (tmp_path / "run" / "report.html").exists()
