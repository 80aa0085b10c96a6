"""Clusters that somebody started, or that are reached by SSH: real schedulers, workers and sshd."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from tests.patience import wait_until
from tests.store.conftest import HOW, ROOT
from tests.testbed import sshd
from trustbed.store import cluster
from trustbed.store.captures import Job, jobs_of
from trustbed.store.cluster import Cluster
from trustbed.store.store import open_store


@pytest.fixture
def jobs() -> list[Job]:
    return sorted(jobs_of([ROOT / "recordings"]), key=attrgetter("size_bytes"))[:3]


def stored(jobs: list[Job], directory: Path, where: str) -> set[str]:
    """Stores captures by a cluster; the workers that did it."""
    store = open_store(directory / "lab.store", create=True)
    outcomes = list(cluster.carry_out(jobs, store.url, HOW, Cluster(where=where)))
    assert [one.state for one in outcomes] == ["stored"] * len(jobs), outcomes
    assert len(open_store(store.url).manifests) == len(jobs)
    return {one.worker for one in outcomes}


def written(file: Path) -> dict[str, Any]:
    """What a scheduler has written of itself; empty while it has not, or has begun to."""
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found


@contextmanager
def process(module: str, *words: str) -> Iterator[None]:
    """One of Dask's own programs, until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as started:
        try:
            yield
        finally:
            started.terminate()


def test_the_workers_of_a_scheduler_store_captures(jobs: list[Job], tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    at_home = ("--host", "127.0.0.1", "--no-dashboard")
    known = ("--scheduler-file", str(file))
    with process("dask_scheduler", *at_home, "--port", "0", *known):
        wait_until(lambda: written(file), "the scheduler")
        address = written(file)["address"]
        own = ("--nthreads", "1", "--local-directory", str(tmp_path))
        with process("dask_worker", *at_home, *known, *own):
            workers = stored(jobs, tmp_path, address.removeprefix("tcp://"))
    assert len(workers) == 1


def test_the_hosts_of_an_inventory_store_captures(jobs: list[Job], tmp_path: Path) -> None:
    sshd.check()
    key = sshd.make_key(tmp_path / "key")
    with sshd.serving(tmp_path / "server", key.with_suffix(".pub")) as server:
        (tmp_path / "known").write_text(server.known(), encoding="utf-8")
        reached = f'ssh = "{server.address}"\nport = {server.port}\nkeys = ["{key}"]\n'
        inventory = tmp_path / "hosts.toml"
        inventory.write_text(f'known_hosts = "known"\n[hosts.a]\n{reached}', encoding="utf-8")
        assert stored(jobs, tmp_path, f"ssh:{inventory}")
        assert "Accepted publickey" in server.log
