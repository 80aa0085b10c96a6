"""Guests in runs: where packets are recorded, what is sampled, which programs are looked for."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.conftest import Refuses
from trustbed.run import samples
from trustbed.run.execution import configurations
from trustbed.run.execution.commands import programs
from trustbed.run.execution.rehearsal import rehearse
from trustbed.run.judge import _capture_point
from trustbed.scenario import ScenarioError, ScenarioFile, load

HOSTS = """
[hosts.client]
guest = "e1000"
[hosts.server]
[link]
rate = "20Mbit/s"
"""
BULK = '[workload.transfer]\nkind = "bulk"\nhost = "client"\nto = "server"\n'


def study(directory: Path, *parts: str) -> ScenarioFile:
    """A scenario."""
    file = directory / "guest.toml"
    file.write_text("".join(parts), encoding="utf-8")
    return load(file)


def test_a_capture_at_a_guest_is_taken_outside_unless_inside_is_requested(tmp_path: Path) -> None:
    points = '[capture]\npoints = ["client", "client-inside", "server"]\n'
    scenario = study(tmp_path, HOSTS, BULK, points).first
    parts = [configurations.capture(scenario, point, tmp_path) for point in scenario.capture.points]
    assert [(part.where, part.configuration["interface"]) for part in parts] == [
        ("net", "p0"),
        ("client", "eth0"),
        ("server", "eth0"),
    ]
    names = [Path(part.configuration["path"]).name for part in parts]
    assert names == ["client.pcapng", "client-inside.pcapng", "server.pcapng"]
    assert [_capture_point(point, scenario) for point in scenario.capture.points] == [
        "sender",
        "sender",
        "receiver",
    ]


def test_inside_of_a_host_that_is_no_guest_is_nowhere(tmp_path: Path, refuses: Refuses) -> None:
    with refuses(ScenarioError):
        study(tmp_path, HOSTS, BULK, '[capture]\npoints = ["server-inside"]\n')


def test_this_machine_is_sampled_from_outside_of_guests(tmp_path: Path) -> None:
    assert configurations.sampled(study(tmp_path, HOSTS, BULK).first) == ("server", "client")
    both = HOSTS.replace("[hosts.server]", '[hosts.server]\nguest = "virtio-net"')
    assert configurations.sampled(study(tmp_path, both, BULK).first) == ("net", "client", "server")
    none = HOSTS.replace('guest = "e1000"', "")
    assert configurations.sampled(study(tmp_path, none, BULK).first) == ("client", "server")


def test_samples_tell_the_guest_from_the_machine(tmp_path: Path) -> None:
    line = {"at_ns": 1, "after_ns": 1, "interval_ns": 10, "processors": {"idle_share": 0.5}}
    process = {"process": 77, "state": "S", "ran_ns": 4, "waited_ns": 2}
    (tmp_path / "server.jsonl").write_text(
        json.dumps(line | {"processes": [process]}) + "\n", encoding="utf-8"
    )
    (tmp_path / "client.jsonl").write_text(
        json.dumps(line | {"processors": {"idle_share": 0.1}}) + "\n", encoding="utf-8"
    )
    assert samples.convert(tmp_path, ["server", "client"], ["client"]).machine["busy_share"] == 0.5
    assert pq.read_table(tmp_path / "processes.parquet").select(
        ["process", "ran_ns", "waited_ns"]
    ).to_pylist() == [{"process": 77, "ran_ns": 4, "waited_ns": 2}]
    assert pq.read_table(tmp_path / "client.machine.parquet").column("idle_share").to_pylist() == [
        0.1
    ]
    assert pq.read_table(tmp_path / "machine.parquet").column("idle_share").to_pylist() == [0.5]


def test_programs_of_a_guest_are_not_looked_for_here(tmp_path: Path) -> None:
    command = '[workload.odd]\nkind = "command"\nhost = "client"\ncommand = "no-such-program"\n'
    assert programs(study(tmp_path, HOSTS, command).first) == {}
    none = HOSTS.replace('guest = "e1000"', "")
    assert programs(study(tmp_path, none, command).first) == {"no-such-program": "workload.odd"}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            '[workload.w]\nkind = "ab"\nhost = "client"\nto = "server"\nobject = "4KiB"\n',
            "ab is a program on this machine",
        ),
        (
            '[workload.w]\nkind = "iperf3"\nhost = "server"\nto = "client"\n',
            "iperf3 is a program on this machine",
        ),
        (
            BULK
            + (
                '[background.b]\nmodel = "playback"\nfrom = "client"\nto = "server"\nfile = '
                '"guest.toml"\n'
            ),
            "a capture is played by this machine",
        ),
    ],
)
def test_what_a_guest_cannot_do_is_refused(tmp_path: Path, part: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as caught:
        study(tmp_path, HOSTS, part)
    assert "run in guests" in caught.value.hint


def test_a_rehearsal_names_the_image_of_a_guest(tmp_path: Path) -> None:
    hosts = HOSTS.replace('"e1000"', '{ nic = "e1000", image = "web.tar" }')
    found = msgspec.to_builtins(rehearse(study(tmp_path, hosts, BULK), None).guests)
    assert found["client"]["image"] == str((tmp_path / "web.tar").resolve())


def test_a_rehearsal_names_guests(tmp_path: Path) -> None:
    found = msgspec.to_builtins(rehearse(study(tmp_path, HOSTS, BULK), None).guests)
    assert found == {
        "client": {
            "nic": "e1000",
            "cpus": 1,
            "memory_bytes": 256 << 20,
            "offloads": True,
            "accelerator": "auto",
            "image": None,
        }
    }
