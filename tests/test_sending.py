"""Evidence from a sending host applies only to transfers that this host's sockets sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from trustbed.diagnose.host import HostEvidence
from trustbed.run.host_evidence import host_of
from trustbed.scenario import Scenario, load

SECOND = 1_000_000_000
STUDY = """
[hosts.client]
address = "10.9.0.1"
[hosts.server]
address = "10.9.0.2"

[link]
rate = "20Mbit/s"

[workload.transfer]
kind = "bulk"
host = "client"
to = "server"
"""
TOLD = {"busy_ns": 2 * SECOND, "send_buffer_limited_ns": SECOND}
RECORD: dict[str, Any] = {
    "processes": [{"process": 1, "host": "client"}, {"process": 2, "host": "server"}],
    "workloads": [
        {"name": "unmade", "report": None},
        {
            "name": "transfer",
            "report": {
                "transfers": [
                    {
                        "local": "10.9.0.1:5000",
                        "send_buffer_bytes": 46080,
                        "tcp": {"busy_ns": 2 * SECOND, "send_buffer_limited_ns": SECOND},
                    },
                    {"local": "[2001:db8::1]:5001", "tcp": None},
                    {"local": None},
                ]
            },
        },
    ],
}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return load(path).first


@pytest.fixture
def repetition(tmp_path: Path) -> Path:
    samples = tmp_path / "samples"
    samples.mkdir()
    process = {"interval_ns": SECOND, "ran_ns": SECOND // 5, "state": "S"}
    rows = [
        {**process, "process": 1, "waited_ns": SECOND // 2},
        {**process, "process": 2, "waited_ns": 0},
    ]
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), samples / "processes.parquet")
    return tmp_path


def known(
    repetition: Path, scenario: Scenario, source: str, port: int | None
) -> HostEvidence | None:
    return host_of(RECORD, repetition, scenario)({"src": source, "src_port": port})


def test_a_socket_of_the_run_brings_its_kernels_account_and_its_hosts_samples(
    repetition: Path, scenario: Scenario
) -> None:
    found = known(repetition, scenario, "10.9.0.1", 5000)
    assert found is not None
    assert found.kernel is not None
    assert (
        found.kernel.busy_seconds,
        found.kernel.sndbuf_limited_seconds,
        found.kernel.send_buffer_bytes,
    ) == (2.0, 1.0, 46080)
    assert found.processor_missed == pytest.approx(0.5), (
        "the server's process, which missed nothing, is not asked"
    )


def test_a_transfer_that_the_run_did_not_send_brings_nothing(
    repetition: Path, scenario: Scenario
) -> None:
    assert known(repetition, scenario, "10.9.0.1", 5999) is None
    assert known(repetition, scenario, "10.9.0.2", 5000) is None
    assert known(repetition, scenario, "10.9.0.1", None) is None


def test_a_socket_without_an_account_and_a_host_without_samples(
    repetition: Path, scenario: Scenario
) -> None:
    assert known(repetition, scenario, "2001:db8::1", 5001) == HostEvidence()


def test_without_samples_only_the_kernel_speaks(tmp_path: Path, scenario: Scenario) -> None:
    found = known(tmp_path, scenario, "10.9.0.1", 5000)
    assert found is not None
    assert (found.processor_missed, found.processor_share) == (None, None)
    assert found.kernel is not None
