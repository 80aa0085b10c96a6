"""Connection state keeps to its budget, and what is given up for it is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trustbed
from bench.hostile_captures import ACK, MILLISECOND, PSH, Record, pcap, record, tcp

CONNECTIONS = 50_000
ENOUGH = 20_000
"""As many do not keep to the budget either."""
SEGMENTS = 3
MEMORY = 16 << 20
ROOM = 72 << 20
"""What the address space may grow by once everything is loaded."""

# Analyses a small capture, so that libraries are loaded, then a large one with little room left.
LIMITED = """
import resource, sys, trustbed
small, large, memory, room = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
trustbed.analyze(small, workers=1)
size = next(int(line.split()[1]) for line in open("/proc/self/status") if "VmSize" in line) * 1024
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
print(trustbed.analyze(large, workers=1, memory=memory or None).facts["evicted_connections"])
"""


def crowd(connections: int) -> Iterator[Record]:
    """Connections that are all open at once and send a segment each in turn."""
    for number in range(SEGMENTS):
        for client in range(connections):
            at = (number * connections + client) * MILLISECOND // 10
            source = (0x0A000000 + client // 50_000, 10_000 + client % 50_000)
            packet = tcp(
                source,
                (0x0B000001, 443),
                seq=100 * number,
                payload=100,
                flags=ACK | PSH,
                number=number,
            )
            yield record(at, packet, len(packet) + 100)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "crowd.pcap"
    path.write_bytes(pcap(crowd(CONNECTIONS)))
    return path


def limited(crowded: Path, memory: int) -> subprocess.CompletedProcess[str]:
    small = crowded.with_name("small.pcap")
    small.write_bytes(pcap(crowd(10)))
    words = [str(small), str(crowded), str(memory), str(ROOM)]
    # The allocator takes address space in pieces of this size instead of a gigabyte.
    environment = {**os.environ, "MIMALLOC_ARENA_RESERVE": "8MiB"}
    return subprocess.run(
        [sys.executable, "-c", LIMITED, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_budget_holds_where_the_address_space_is_limited(crowded: Path) -> None:
    done = limited(crowded, MEMORY)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > CONNECTIONS / 2


def test_the_same_does_not_fit_without_the_budget(crowded: Path) -> None:
    assert limited(crowded, 0).returncode != 0


def test_evictions_are_counted_in_every_table_and_for_any_number_of_workers(tmp_path: Path) -> None:
    path = tmp_path / "crowd.pcap"
    path.write_bytes(pcap(crowd(ENOUGH)))
    one, two = (trustbed.analyze(path, memory=MEMORY, workers=workers) for workers in (1, 2))
    evicted = one.facts["evicted_connections"]
    assert evicted == two.facts["evicted_connections"] > ENOUGH / 2
    assert sum(one.connections["evicted"].to_pylist()) == evicted
    assert one.connections.equals(two.connections)
    assert sum(one.connections["packets"].to_pylist()) == ENOUGH * SEGMENTS
    findings = [(row["code"], row["value"]) for row in one.findings.to_pylist()]
    assert ("evicted_connections", evicted) in findings


def test_nothing_is_evicted_by_default(crowded: Path) -> None:
    facts = trustbed.analyze(crowded).facts
    assert (facts["evicted_connections"], facts["packets"]) == (0, CONNECTIONS * SEGMENTS)


@pytest.mark.parametrize("memory", ["64", "1MiB", 1 << 20, "much"])
def test_a_budget_that_means_nothing_is_refused(crowded: Path, memory: str | int) -> None:
    with pytest.raises(ValueError, match="MiB"):
        trustbed.analyze(crowded, memory=memory)
