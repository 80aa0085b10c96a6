"""Probes beside a workload, in a network created for a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

pytestmark = [pytest.mark.usefixtures("networks"), pytest.mark.timeout(900)]
SCENARIO = """
duration = "1s"
warm_up = "200ms"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "10ms"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[probe.stamp]
from = "client"
to = "server"
gap = "10ms"
"""


def test_probes_take_the_way_of_the_workload(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SCENARIO, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "trustbed", "run", "study.toml", "--out", "run", "--no-report"],
        cwd=tmp_path,
        env={**os.environ, "TRUSTBED_RUNTIME": str(tmp_path / "registry")},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    record = json.loads((tmp_path / "run" / "rep-000" / "repetition.json").read_text())
    (probe,) = record["probes"]
    assert (probe["name"], probe["from"], probe["to"]) == ("stamp", "client", "server")
    report = probe["report"]
    assert report["answered_probes"] > 0
    assert report["answered_probes"] <= report["sent_probes"]
    delays = report["delays"]
    # The link has a delay of 10 ms; nothing arrives sooner, in either direction.
    assert min(delays[one]["least_ns"] for one in ("forward", "backward")) >= 10_000_000
    assert record["outcome"] == "complete", record["failures"]
