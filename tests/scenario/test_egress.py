"""A token bucket filter at a host's own interface: read, refused, planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import SMALL, Read, refusals
from trustbed.report.run import link_words
from trustbed.run import judge
from trustbed.run.execution.session import plan_of
from trustbed.scenario.egress import Egress


def limited(keys: str) -> str:
    return SMALL.replace("[hosts.client]", f"[hosts.client]\negress = {{ {keys} }}")


@pytest.mark.parametrize(
    ("queue", "limit"),
    [
        # 16,000 bytes and what 10 Mbit/s carry in 50 ms, as `latency 50ms` of tc.
        ("50ms", 78_500),
        ("64KiB", 65_536),
    ],
)
def test_a_host_has_a_limit_of_its_own(read: Read, queue: str, limit: int) -> None:
    text = limited(f'rate = "10Mbit/s", burst = "16kB", queue = "{queue}"')
    scenario = read(text).first
    wanted = Egress(rate=10_000_000, burst_bytes=16_000, limit_bytes=limit)
    assert [host.egress for host in scenario.hosts] == [wanted, None]
    assert [veth.host.egress for veth in plan_of(scenario).veths] == [wanted, None]
    # Of 1514 bytes 1500 are of the IP packet.
    assert judge.capacity(scenario) == 10_000_000 * 1500 // 1514
    assert link_words.egress(wanted).startswith("tbf of 10.0 Mbit/s, burst 16.0 kB, limit ")


WRONG = [
    limited('rate = "10Mbit/s", burst = "16kB"'),
    limited('rate = "10Mbit/s", burst = "16kB", queue = "50p"'),
    limited('rate = "10Mbit/s", burst = "100B", queue = "50ms"'),
    limited('rate = "0Mbit/s", burst = "16kB", queue = "50ms"'),
    limited('rate = "20Gbit/s", burst = "16kB", queue = "50ms"'),
    limited('rate = "10Gbit/s", burst = "16kB", queue = "10s"'),
    limited('rate = "10Mbit/s", burst = "16kB", queue = "50ms", latency = "1ms"'),
    limited('rate = "10Mbit/s", burst = "16kB", queue = "50ms"').replace(
        "[hosts.client]", '[hosts.client]\nguest = "e1000"'
    ),
]


def test_wrong_limits_are_refused_with_line_key_and_hint(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert refusals(read, WRONG, tmp_path) == snapshot
