"""Probes beside the workloads, as scenarios describe them."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.scenario import ScenarioError, load
from trustbed.scenario.model import Probe

HOSTS = """
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[probe.stamp]
"""


def _load(directory: Path, keys: str) -> tuple[Probe, ...]:
    file = directory / "probed.toml"
    file.write_text(HOSTS + keys, encoding="utf-8")
    return load(file).first.probes


def test_two_hosts_are_enough(tmp_path: Path) -> None:
    assert _load(tmp_path, 'from = "client"\nto = "server"\n') == (
        Probe(
            name="stamp", source="client", to="server", mean_gap_ns=100_000_000, payload_bytes=44
        ),
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('from = "client"', "to"),
        ('from = "client"\nto = "client"', "from itself"),
        ('from = "client"\nto = "nobody"', "nobody"),
        ('from = "client"\nto = "server"\ngap = "10us"', "every 1 ms"),
        ('from = "client"\nto = "server"\npayload = "2kB"', "payload|1472"),
    ],
)
def test_what_cannot_be_probed_is_refused(tmp_path: Path, keys: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _load(tmp_path, keys)
