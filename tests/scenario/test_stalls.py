"""A stalled interface is an outage of every link of its host, and of nothing else."""

from __future__ import annotations

import pytest

from tests.scenario.conftest import SMALL, Read
from trustbed.scenario.description import topology

MS = 1_000_000
STALL = '[faults.hang]\nkind = "nic-stall"\nhost = "client"\nstart = "1s"\nduration = "500ms"\n'
DUMBBELL = """
[hosts.client]
[hosts.other]
access = { delay = "1ms" }
[hosts.server]
[topology]
shape = "dumbbell"
left = ["client", "other"]
right = ["server"]
[link]
delay = "10ms"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
"""


def outages(pipe: dict[str, object]) -> object:
    """Start and duration of the outages in milliseconds, and whether packets are held."""
    found = pipe.get("outages", [])
    assert isinstance(found, list)
    return [(one["at_ns"] // MS, one["lasts_ns"] // MS, one["keeps"]) for one in found]


def test_both_directions_of_the_only_link_stall(read: Read) -> None:
    pipes = topology(read(SMALL + STALL).first)["pipes"]
    assert [outages(pipe) for pipe in pipes] == [[(1000, 500, False)]] * 2


def test_the_access_link_of_a_host_stalls(read: Read) -> None:
    described = topology(read(DUMBBELL + STALL).first)
    access = {host["name"]: host["access"] for host in described["hosts"]}
    assert [outages(access["client"][name]) for name in ("up", "down")] == [
        [(1000, 500, False)]
    ] * 2
    assert [outages(access["other"][name]) for name in ("up", "down")] == [[], []]
    assert [outages(pipe) for pipe in described["pipes"]] == [[], []]


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ('{ at = "1200ms", lasts = "1s" }', [(1000, 1200, False)]),
        ('{ at = "3s", lasts = "1s" }', [(1000, 500, False), (3000, 1000, False)]),
        (
            '{ at = "800ms", lasts = "1s", keeps = true }',
            [(800, 200, True), (1000, 500, False), (1500, 300, True)],
        ),
        ('{ at = "1100ms", lasts = "100ms", keeps = true }', [(1000, 500, False)]),
    ],
)
def test_stalls_are_merged_with_the_outages_of_the_link(
    read: Read, own: str, wanted: list[tuple[int, int, bool]]
) -> None:
    text = SMALL.replace("[link]", f"[link]\nup.outages = [ {own} ]")
    up, down = topology(read(text + STALL).first)["pipes"]
    assert outages(up) == wanted
    assert outages(down) == [(1000, 500, False)]


def test_stalls_of_both_ends_are_united(read: Read) -> None:
    other = STALL.replace("hang", "second").replace("client", "server").replace('"1s"', '"1400ms"')
    pipes = topology(read(SMALL + STALL + other).first)["pipes"]
    assert [outages(pipe) for pipe in pipes] == [[(1000, 900, False)]] * 2
