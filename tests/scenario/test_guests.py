"""The guests of a scenario."""

from __future__ import annotations

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from tests.scenario.conftest import Read, refusals
from trustbed.scenario import Scenario, load
from trustbed.scenario.guests import Guest

REST = """
[hosts.server]
[link]
rate = "20Mbit/s"
[workload.transfer]
kind = "bulk"
host = "client"
to = "server"
"""


def scenario(directory: Path, host: str, rest: str = REST) -> Scenario:
    """The first cell of a file that begins with this host."""
    file = directory / "guest.toml"
    file.write_text(host + rest, encoding="utf-8")
    return load(file).first


def test_a_host_is_a_guest_only_if_declared(tmp_path: Path) -> None:
    assert scenario(tmp_path, "[hosts.client]").host("client").guest is None


def test_a_guest_is_named_by_its_card(tmp_path: Path) -> None:
    found = scenario(tmp_path, '[hosts.client]\nguest = "e1000"')
    assert found.host("client").guest == Guest(nic="e1000")
    assert found.host("server").guest is None


def test_a_guest_table_sets_every_option(tmp_path: Path) -> None:
    text = (
        '[hosts.client]\nguest = { nic = "vmxnet3", cpus = 2, memory = "512MiB", offloads = '
        'false, accelerator = "tcg" }'
    )
    found = scenario(tmp_path, text).host("client").guest
    assert found == Guest(
        nic="vmxnet3", cpus=2, memory_bytes=512 << 20, offloads=False, accelerator="tcg"
    )
    assert str(found) == "vmxnet3, 2 processors, 512 MiB, no offloads"


def test_a_guest_behind_an_access_link_stays_one(tmp_path: Path) -> None:
    text = '[hosts.client]\nguest = "e1000e"\naccess = { rate = "1Gbit/s" }'
    assert scenario(tmp_path, text).host("client").guest == Guest(nic="e1000e")


WRONG = [
    '"e100"',
    "7",
    "{ nick = 'e1000' }",
    "{ cpus = 0 }",
    '{ memory = "64MiB" }',
    '{ accelerator = "hax" }',
]


def test_a_wrong_guest_is_refused_with_line_key_and_hint(
    read: Read, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    texts = [f"[hosts.client]\nguest = {guest}{REST}" for guest in WRONG]
    assert refusals(read, texts, tmp_path) == snapshot
