"""Runs that trace system calls: real tracers in networks created for a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.patience import PATIENCE
from trustbed.agent.client import Agent, AgentError
from trustbed.errors import TestbedError
from trustbed.testbed.qemu import accelerator, kernel

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.usefixtures("networks"),
    pytest.mark.timeout(900),
]
SCENARIO = '''
warm_up = "200ms"
seed = 5
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "1ms"
[workload.pages]
kind = "http"
host = "client"
to = "server"
object = "2KiB"
requests = 20
[workload.tool]
kind = "command"
host = "client"
command = "dd if=/dev/zero of=/dev/null bs=1k count=500 status=none"
[workload.script]
kind = "command"
host = "client"
command = """sh -c '\\
    dd if=/dev/zero of=/dev/null bs=1k count=300 status=none; \\
    exec dd if=/dev/zero of=/dev/null bs=1k count=200 status=none'"""
[trace.pages]
[trace.tool]
[trace.script]
[trace.counted]
of = "pages"
host = "client"
mode = "count"
'''


@pytest.fixture(autouse=True)
def _may_trace() -> None:
    """Requires that system calls can be traced here."""
    try:
        Agent.start("trace", {}).close()
    except AgentError as error:
        pytest.skip(f"system calls cannot be traced here: {error.message}")


def recorded(directory: Path, text: str) -> tuple[Path, dict[str, Any]]:
    """The only repetition of a run: its directory and its record."""
    (directory / "study.toml").write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "trustbed", "run", "study.toml", "--out", "run", "--no-report"],
        cwd=directory,
        env={**os.environ, "TRUSTBED_RUNTIME": str(directory / "registry")},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    repetition = directory / "run" / "rep-000"
    return repetition, json.loads((repetition / "repetition.json").read_text())


def test_calls_of_a_server_a_program_and_a_client_are_told_apart(tmp_path: Path) -> None:
    directory, record = recorded(tmp_path, SCENARIO)
    reports = {one["name"]: one["report"] for one in record["traces"]}
    assert record["outcome"] == "complete"
    assert all(report["complete"] for report in reports.values())
    # A connection for each request: accepted by the server, connected by the client.
    server, client = reports["pages"]["by_call"], reports["counted"]["by_call"]
    assert server.get("accept4", 0) + server.get("accept", 0) >= 20
    assert client["connect"] >= 20
    assert "connect" not in server
    assert reports["tool"]["by_call"]["read"] >= 500
    assert reports["tool"]["reads"]["bytes"] >= 500 * 1024
    # What a program starts is traced with it, and so is what it becomes.
    assert reports["script"]["by_call"]["read"] >= 500
    tables = {one.name for one in (directory / "tables").glob("*.calls.parquet")}
    assert tables == {"pages.calls.parquet", "tool.calls.parquet", "script.calls.parquet"}
    table = pyarrow.parquet.read_table(directory / "tables" / "pages.calls.parquet")
    assert len(table) == reports["pages"]["calls"]
    assert min(table["entered_ns"].to_pylist()) >= reports["pages"]["start_ns"] - 10**9
    codes = {
        one["code"] for one in json.loads((directory / "findings.json").read_text())["findings"]
    }
    assert "trace_loss" not in codes


def test_a_guest_traces_itself(tmp_path: Path) -> None:
    try:
        accelerator.check_program("virtio-net")
        kernel.ready()
    except TestbedError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    if not Path("/dev/net/tun").exists():
        pytest.skip("no /dev/net/tun")
    text = SCENARIO.replace("[hosts.client]", '[hosts.client]\nguest = "virtio-net"')
    directory, record = recorded(tmp_path, text.replace(" status=none", ""))
    reports = {one["name"]: one["report"] for one in record["traces"]}
    assert all(report["complete"] for report in reports.values())
    # Of the guest's own busybox.
    assert reports["tool"]["by_call"]["read"] >= 500
    assert reports["counted"]["by_call"]["connect"] >= 20
    assert (directory / "tables" / "tool.calls.parquet").is_file()
