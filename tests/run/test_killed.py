"""A run killed at ten random moments and resumed each time ends with the same tables.

What is compared is all that the scenario and its seeds decide: order, cells and seeds of
repetitions, files, names and types of columns, and of the values those in ``SUMMARY``,
``TRANSFERS`` and ``SOURCE``; besides, which packets the link loses. Everything else in the tables
was measured (times, rates, round trips, retransmissions, samples of the machine, verdicts) and
differs between any two runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("networks")
TRUSTBED = str(Path(sys.executable).with_name("trustbed"))
KILLS = 10
REPETITIONS = 8
SEED = 4
SCENARIO = """
duration = "5s"
warm_up = "50ms"
seed = 11
repetitions = 4
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "1ms"
queue = "unlimited"
up.loss = "3%"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
bytes = "100KB"
[background.noise]
model = "none"
rate = "2Mbit/s"
from = "client"
to = "server"
[factors]
"background.noise.model" = ["none", "poisson"]
"""
MANIFEST = ("order", "cells", "factors", "inputs", "seed", "repetitions")
SUMMARY = (
    "connection",
    "direction",
    "protocol",
    "streams",
    "sent_bytes",
    "received_bytes",
    "congestion_control",
    "error",
)
TRANSFERS = (
    *(
        "capture",
        "workload",
        "src",
        "dst",
        "dst_port",
        "at",
        "at_source",
        "unique_bytes",
        "mss",
        "window_scale",
        "timestamps",
        "sack",
    ),
    *("offloaded", "one_sided", "midstream"),
)
SOURCE = ("name", "source", "transport", "to", "kind", "release", "seed", "first_due_ns")


@contextlib.contextmanager
def begun(directory: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """A run that has ended when the block is left."""
    (directory / "study.toml").write_text(SCENARIO)
    with subprocess.Popen(
        [TRUSTBED, "run", "study.toml", "--out", name, "--no-report"],
        cwd=directory,
        env={**os.environ, "TRUSTBED_RUNTIME": str(directory / "registry")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def finish(directory: Path, name: str) -> None:
    with begun(directory, name) as child:
        _, err = child.communicate(timeout=4 * PATIENCE)
    assert child.returncode == 0, err


def killed(directory: Path, name: str, after_seconds: float, *, while_writing: bool) -> bool:
    """Kills a run so long after it was called, or after it has begun a repetition.

    False if it had ended before.
    """
    before = unfinished(directory / name)
    with begun(directory, name) as child:
        while while_writing and child.poll() is None and unfinished(directory / name) <= before:
            time.sleep(0.005)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(after_seconds)
        child.kill()
        _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode in (0, -9), err
    return child.returncode == -9


def unfinished(run: Path) -> set[int]:
    """Of a repetition that is not complete.

    When its directory was last changed, which it is when it begins again.
    """
    found = set()
    for directory in run.glob("rep-*/logs"):
        with contextlib.suppress(FileNotFoundError):  # it is just begun again, from nothing
            if not directory.with_name("done").exists():
                found.add(directory.stat().st_ctime_ns)
    return found


def complete(run: Path) -> dict[str, int]:
    """When each complete repetition was completed. All that is complete can be read."""
    found = {}
    for marker in run.glob("rep-*/done"):
        read(marker.with_name("repetition.json"))
        for table in marker.parent.glob("*/*.parquet"):
            if table.parent.name != "tables.partial":
                pyarrow.parquet.read_table(table)
        found[marker.parent.name] = marker.stat().st_mtime_ns
    return found


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def values(table: Path, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pyarrow.parquet.read_table(
        table, columns=list(columns)
    ).to_pylist()
    return found


def decided(run: Path) -> dict[str, Any]:
    """The results that scenario and seeds determine in a complete run."""
    manifest = read(run / "manifest.json")
    found: dict[str, Any] = {key: manifest[key] for key in MANIFEST}
    files = [file for file in run.rglob("*") if file.is_file() and file.name != ".lock"]
    found["files"] = sorted(str(file.relative_to(run)) for file in files)
    found["columns"] = {
        str(file.relative_to(run)): [
            (field.name, str(field.type)) for field in pyarrow.parquet.read_schema(file)
        ]
        for file in sorted(files)
        if file.suffix == ".parquet"
    }
    for one in manifest["order"]:
        directory = run / one["directory"]
        record = read(directory / "repetition.json")
        sources = [source for flow in record["backgrounds"] for source in flow["send"]["sources"]]
        found[one["directory"]] = {
            **{key: record[key] for key in ("number", "cell", "round", "seed", "outcome")},
            "workloads": [
                (workload["name"], workload["kind"], workload["outcome"])
                for workload in record["workloads"]
            ],
            "emulator": record["emulator_ready"]["seed"],
            "sources": [{key: source[key] for key in SOURCE} for source in sources],
            "summary": values(directory / "tables" / "w.summary.parquet", SUMMARY),
            "transfers": values(directory / "tables" / "transfers.parquet", TRANSFERS),
        }
    return found


def lost(run: Path, directory: str) -> list[bool]:
    """Of the packets that went up, in the order in which they came: whether the link lost it."""
    rows = pyarrow.parquet.read_table(
        run / directory / "ledger" / "packets.parquet", columns=["packet", "pipe", "fate"]
    ).to_pylist()
    return [
        row["fate"] != "passed"
        for row in sorted(rows, key=itemgetter("packet"))
        if row["pipe"] == "link.up"
    ]


def left(directory: Path) -> list[bytes]:
    """Command lines of processes that a run of this test has left."""
    mark = f"TRUSTBED_RUNTIME={directory / 'registry'}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes())
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


@pytest.mark.timeout(1500)
def test_ten_kills_change_no_table(tmp_path: Path) -> None:
    called = time.monotonic()
    finish(tmp_path, "whole")
    # Longer than a repetition takes, so that every part of it is hit; too short for most, so that
    # some are left to the last.
    longest = 2 * (time.monotonic() - called) / REPETITIONS
    moments = random.Random(SEED)
    runs, complete_before = ["killed"], dict[str, int]()
    kills = 0
    while kills < KILLS:
        if killed(tmp_path, runs[-1], moments.uniform(0, longest), while_writing=kills % 2 == 1):
            kills += 1
        now = complete(tmp_path / runs[-1])
        assert {name: now.get(name) for name in complete_before} == complete_before, (
            "what was complete was touched"
        )
        complete_before = now
        if (
            len(complete_before) == REPETITIONS
        ):  # faster than the one that was left alone: the other kills are those of another run
            runs.append(f"killed.{len(runs)}")
            complete_before = {}
    finish(tmp_path, runs[-1])
    assert {
        name: complete(tmp_path / runs[-1])[name] for name in complete_before
    } == complete_before
    undisturbed = decided(tmp_path / "whole")
    for run in runs:
        finish(tmp_path, run)  # one that was killed behind its last repetition
        assert decided(tmp_path / run) == undisturbed
        for one in undisturbed["order"]:
            pair = [lost(tmp_path / name, one["directory"]) for name in ("whole", run)]
            common = min(map(len, pair))
            assert common > 60
            assert pair[0][:common] == pair[1][:common], one["directory"]
    assert list((tmp_path / "registry").glob("*.json")) == []
    assert left(tmp_path) == []
