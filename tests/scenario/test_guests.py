"""Hosts that are guests, as a scenario says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.scenario import Scenario, ScenarioError, load
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


def test_a_host_is_no_guest_unless_it_says_so(tmp_path: Path) -> None:
    assert scenario(tmp_path, "[hosts.client]").host("client").guest is None


def test_a_guest_is_named_by_its_card(tmp_path: Path) -> None:
    found = scenario(tmp_path, '[hosts.client]\nguest = "e1000"')
    assert found.host("client").guest == Guest(nic="e1000")
    assert found.host("server").guest is None


def test_a_table_says_more(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("guest", "message", "hint"),
    [
        ('"e100"', "'e100' is none of virtio-net, e1000, e1000e, vmxnet3, rtl8139", "e1000"),
        ("7", "must be a table, not 7", "hosts.client.guest"),
        ("{ nick = 'e1000' }", "no such key, nick", "nic"),
        ("{ cpus = 0 }", "0 is outside 1 to 64", "1 to 64"),
        ('{ memory = "64MiB" }', "a guest has from 128 MiB to 64 GiB", "256MiB"),
        ('{ accelerator = "hax" }', "'hax' is none of auto, kvm, tcg", ""),
    ],
)
def test_what_is_wrong_is_said_with_its_key(
    tmp_path: Path, guest: str, message: str, hint: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, f"[hosts.client]\nguest = {guest}")
    assert caught.value.message.startswith(f"{tmp_path / 'guest.toml'}, line 2, hosts.client.guest")
    assert caught.value.message.endswith(f": {message}")
    assert hint in caught.value.hint
