"""Hosts that are machines, as scenarios describe them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.conftest import Read
from trustbed.run.execution import configurations
from trustbed.run.execution.commands import iperf3_server, programs
from trustbed.scenario import ScenarioError

INVENTORY = """
[hosts.lab1]
ssh = "lab1.example.net"
measure = "10.1.0.1"
[hosts.lab2]
ssh = "10.1.0.2"
[hosts.named]
ssh = "lab3.example.net"
[hosts.translated]
ssh = "lab4.example.net"
measure = "203.0.113.4"
private = "10.1.0.4"
[hosts.six]
ssh = "lab5.example.net"
measure = "2001:db8::5"
"""
MACHINES = """
inventory = "hosts.toml"
[hosts.client]
machine = "lab1"
[hosts.server]
machine = "lab2"
"""
PAGES = """
[workload.pages]
kind = "ab"
object = "4kB"
requests = 20
host = "client"
to = "server"
"""
TRANSFER = """
[workload.upload]
kind = "bulk"
host = "client"
to = "server"
"""


@pytest.fixture(autouse=True)
def _inventory(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text(INVENTORY, encoding="utf-8")


def test_machines_have_addresses_and_no_links(read: Read) -> None:
    study = read(MACHINES + PAGES)
    assert [host.addresses for host in study.first.hosts] == [("10.1.0.1",), ("10.1.0.2",)]
    assert study.first.machines == study.first.hosts
    assert study.first.links == ()
    assert [file.name for file in study.inputs] == ["hosts.toml"], "a changed one is another run"
    assert programs(study.first) == {}, "what runs there is looked for there"
    given = read(MACHINES.replace('"lab2"', '"named"\naddress = "10.1.0.3"') + PAGES)
    assert given.first.host("server").addresses == ("10.1.0.3",)


def test_data_ports_are_opened_at_the_measured_address_only(read: Read) -> None:
    study = read(MACHINES + TRANSFER).first
    spec = configurations.listener(study.workloads[0], study)
    assert spec is not None
    assert spec.configuration["listen"] == ["10.1.0.2:5001"]


def test_the_server_of_iperf3_listens_there_too(read: Read) -> None:
    study = read(MACHINES + TRANSFER.replace('"bulk"', '"iperf3"')).first
    assert iperf3_server(study.workloads[0], study)[-2:] == ("-B", "10.1.0.2")


def test_a_capture_holds_what_the_machines_exchange(read: Read) -> None:
    study = read(MACHINES + PAGES).first
    spec = configurations.capture(study, "client", Path("captures"))
    assert (spec.where, spec.configuration["filter"]) == ("client", "host 10.1.0.2")
    assert "interface" not in spec.configuration, "the machine knows it"


LINK = '[link]\nrate = "1Mbit/s"\n'
FAULT = '[faults.f]\nkind = "freeze"\nhost = "client"\nstopped = "5ms"\nevery = "20ms"\n'
USERS = '[background.users]\nmodel = "web"\nfrom = "client"\nto = "server"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MACHINES.replace('inventory = "hosts.toml"\n', "") + PAGES, "no inventory says how"),
        (MACHINES.replace("hosts.toml", "other.toml") + PAGES, "no such file"),
        (MACHINES.replace('"lab2"', '"lab3"') + PAGES, "no host lab3 in"),
        (MACHINES.replace('machine = "lab2"\n', "") + PAGES, "server would be made here"),
        (MACHINES.replace('"lab2"', '"named"') + PAGES, "named has no IPv4 address"),
        (MACHINES.replace('"lab2"', '"six"') + PAGES, "six has no IPv4 address"),
        (MACHINES.replace('"lab2"', '"translated"') + PAGES, "a translation of addresses"),
        (MACHINES.replace('"lab2"', '"lab2"\naddress = "x"') + PAGES, "lab2 has no IPv4 address"),
        (MACHINES.replace('"lab2"', '"lab2"\npin = 1') + PAGES, "taken as it is"),
        (MACHINES.replace('"lab2"', '"lab2"\nguest = "e1000"') + PAGES, "taken as it is"),
        (MACHINES + LINK + PAGES, "the network between machines is taken as it is"),
        (MACHINES + PAGES + FAULT, "no fault is made on client"),
        (MACHINES + PAGES + USERS, "played between hosts that are made for the run"),
    ],
)
def test_what_no_machine_can_be_is_refused(read: Read, text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read(text)
    assert message in caught.value.message
    assert caught.value.hint
