"""The words that start a guest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Refuses
from trustbed.scenario.guests import NIC_MODELS
from trustbed.testbed import Host, TestbedError, plan
from trustbed.testbed.qemu import accelerator, modules, network
from trustbed.testbed.qemu.command_line import Machine, Nic, words

MACHINE = Machine(
    name="trustbed-client",
    accelerator="tcg",
    cpus=2,
    memory_bytes=256 << 20,
    kernel=Path("/cache/kernel"),
    initramfs=7,
    control=8,
    console=Path("/run/one,two"),
    nic=Nic(model="e1000", mac="02:74:62:00:00:01", tap=9),
)


def value_of(found: list[str], option: str) -> str:
    """What follows an option."""
    return found[found.index(option) + 1]


def test_a_card_hangs_on_the_tap_without_a_network_of_the_host() -> None:
    found = words(MACHINE)
    assert value_of(found, "-netdev") == "tap,id=link,fd=9,vhost=off"
    assert "e1000,netdev=link,mac=02:74:62:00:00:01,romfile=" in found
    assert "-nodefaults" in found, "no other card"
    assert value_of(found, "-smp") == "2"
    assert value_of(found, "-m") == "256M"


def test_what_is_passed_has_its_number() -> None:
    found = words(MACHINE)
    assert value_of(found, "-initrd") == "/proc/self/fd/7"
    assert "socket,id=control,fd=8" in found
    assert "file,id=console,path=/run/one,,two" in found, "a comma would begin another option"


def test_a_guest_may_have_no_card() -> None:
    assert "-netdev" not in words(replace(MACHINE, nic=None))


def test_processors_are_those_of_the_accelerator() -> None:
    assert (value_of(words(MACHINE), "-accel"), value_of(words(MACHINE), "-cpu")) == (
        "tcg,thread=multi",
        "qemu64",
    )
    found = words(replace(MACHINE, accelerator="kvm"))
    assert (value_of(found, "-accel"), value_of(found, "-cpu")) == ("kvm", "host")


def test_every_model_has_a_device_and_a_driver() -> None:
    assert set(modules.NICS) == set(NIC_MODELS)
    for _, driver in modules.NICS.values():
        assert modules.is_needed(f"lib/modules/6.1/kernel/drivers/net/{driver}.ko")


def test_a_machine_without_qemu_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with refuses(TestbedError):
        accelerator.check_program("e1000")


def test_a_model_that_this_qemu_lacks_is_named_with_those_it_has(
    monkeypatch: pytest.MonkeyPatch,
    refuses: Refuses,
) -> None:
    monkeypatch.setattr(
        accelerator, "_devices", lambda: 'name "e1000", bus PCI\nname "virtio-net-pci", bus PCI\n'
    )
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    accelerator.check_program("virtio-net")
    with refuses(TestbedError):
        accelerator.check_program("vmxnet3")


def test_kvm_is_not_taken_on_trust(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    refused = accelerator.Choice(name="tcg", reason="there is no /dev/kvm")
    monkeypatch.setattr(accelerator, "_kvm", lambda: refused)
    assert accelerator.choose("auto") == refused
    assert accelerator.choose("tcg").reason == "requested"
    with refuses(TestbedError):
        accelerator.choose("kvm")


def test_a_guest_is_set_up_like_a_host_in_a_namespace() -> None:
    host = Host(name="client", addresses=("10.77.0.1",), congestion_control="reno")
    veth = plan([host, Host(name="server", addresses=("10.77.0.2",))]).veth("client")
    lines = network.script(veth, offloads=False).splitlines()
    assert lines[0] == "set -e", "what fails is not passed over"
    assert "echo 'reno' > ipv4/tcp_congestion_control" in lines
    assert "echo '1' > ipv6/conf/all/disable_ipv6" in lines
    assert "trustbed-agent guest offloads eth0" in lines
    assert lines[-1] == "cat /sys/class/net/eth0/ifindex"
    assert "trustbed-agent guest offloads eth0" not in network.script(veth, offloads=True)
