"""Settings that are changed one at a time: differences first, then what is usual."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trustbed.compare.settings import cell_keys, settings, study_of
from trustbed.scenario import load
from trustbed.scenario.file import keys_of

PLAIN = """
name = "pages"
duration = "5s"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "10ms"
[workload.fetch]
kind = "http"
host = "client"
to = "server"
object = "4KB"
"""
STARVED = PLAIN + '[faults.starved]\nkind = "cpu-quota"\nhost = "server"\nquota = "5ms of 50ms"\n'


def _changes(tmp_path: Path, candidate: str, reference: str = PLAIN) -> dict[str, str]:
    files = []
    for name, text in (("candidate", candidate), ("reference", reference)):
        file = tmp_path / f"{name}.toml"
        file.write_text(text, encoding="utf-8")
        files.append(load(file))
    found, skipped = settings(files[0], keys_of(files[0]), keys_of(files[1]))
    assert skipped == []
    assert all(len(one.study.cells) == 1 for one in found)
    return {one.name: one.change for one in found}


def test_a_fault_is_removed_and_its_removal_is_tried_once(tmp_path: Path) -> None:
    found = _changes(tmp_path, STARVED)
    assert found["without faults"] == "faults removed"
    assert "cpu-quota starved removed" not in found
    same = _changes(tmp_path, STARVED, STARVED)
    assert same["cpu-quota starved removed"] == 'faults.starved.kind = "none"'
    assert found["longer queue of the link"] == 'link.queue = "1000p"'
    assert found["samples off"] == "samples = { enabled = false }"


@pytest.mark.parametrize(
    ("old", "new", "name", "change"),
    [
        ('rate = "20Mbit/s"', 'rate = "10Mbit/s"', "link.rate as in the reference",
         'link.rate = "20Mbit/s"'),
        ('delay = "10ms"', 'delay = "10ms"\nloss = "1%"', "without link.loss",
         "link.loss removed"),
        ('delay = "10ms"', 'delay = "10ms"\nqueue = "5p"', "without link.queue",
         "link.queue removed"),
        ("[hosts.server]", '[hosts.server]\nguest = "e1000"', "without hosts.server.guest",
         "hosts.server.guest removed"),
    ],
)  # fmt: skip
def test_every_key_that_differs_is_set_back_by_itself(
    old: str, new: str, name: str, change: str, tmp_path: Path
) -> None:
    assert _changes(tmp_path, PLAIN.replace(old, new))[name] == change


@pytest.mark.parametrize("nic", ["e1000", "virtio-net"])
def test_a_guest_loses_its_offloads_and_gets_a_processor(nic: str, tmp_path: Path) -> None:
    guest = PLAIN.replace("[hosts.server]", f'[hosts.server]\nguest = "{nic}"')
    found = _changes(tmp_path, guest, guest)
    assert found["offloads of server off"] == (
        f'hosts.server.guest = {{ nic = "{nic}", offloads = false }}'
    )
    assert found["one more CPU for server"] == f'hosts.server.guest = {{ nic = "{nic}", cpus = 2 }}'


def test_what_is_tried_of_guests_is_not_tried_of_a_namespace(tmp_path: Path) -> None:
    none = PLAIN.replace("[hosts.server]", '[hosts.server]\nguest = "none"')
    found = _changes(tmp_path, none, none)
    assert not [name for name in found if "offloads" in name or "CPU" in name]


def test_the_change_that_makes_the_reference_is_marked(tmp_path: Path) -> None:
    file = tmp_path / "candidate.toml"
    file.write_text(PLAIN.replace('"10ms"', '"30ms"'), encoding="utf-8")
    reference = tmp_path / "reference.toml"
    reference.write_text(PLAIN, encoding="utf-8")
    found, _ = settings(load(file), keys_of(load(file)), keys_of(load(reference)))
    assert [one.name for one in found if one.is_reference] == ["link.delay as in the reference"]


def test_a_change_that_makes_no_scenario_is_named_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(PLAIN, encoding="utf-8")
    study = load(file)
    keys = keys_of(study)
    reference = {**keys, "link": {**keys["link"], "rate": "20"}}
    found, skipped = settings(study, keys, reference)
    assert "link.rate as in the reference" not in [one.name for one in found]
    assert any(word.startswith("link.rate as in the reference: ") for word in skipped)


def test_the_keys_of_a_cell_have_its_factors_values(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        STARVED + '[factors]\nfaults.starved.kind = ["none", "cpu-quota"]\n', encoding="utf-8"
    )
    study = load(file)
    path = ("faults", "starved", "kind")
    keys = cell_keys(keys_of(study), {"faults.starved.kind": (path, "none")})
    assert keys["faults"]["starved"]["kind"] == "none"
    assert "factors" not in keys
    assert study_of(study, keys, "candidate").first.faults == ()


def test_a_container_is_set_back_and_freed_of_its_limits_and_filter(tmp_path: Path) -> None:
    hosts = "[hosts.server]\n"
    table = '{ image = "shop", cpus = 0.5 }'
    contained = PLAIN.replace(hosts, f"{hosts}container = {table}\n")
    changes = _changes(tmp_path, contained, PLAIN.replace(hosts, f'{hosts}container = "none"\n'))
    assert changes["hosts.server.container as in the reference"] == (
        'hosts.server.container = "none"'
    )
    assert changes["no limit of cpus for server"] == 'hosts.server.container = { image = "shop" }'
    assert "seccomp=unconfined" in changes["no filter of system calls in server"]
    assert "cpus = 0.5" in changes["no filter of system calls in server"]


def test_pinning_is_set_back_and_tried(tmp_path: Path) -> None:
    pinned = PLAIN.replace("[hosts.server]\n", "[hosts.server]\npin = [0]\n")
    changes = _changes(tmp_path, pinned)
    assert changes["without hosts.server.pin"] == "hosts.server.pin removed"
    assert "server not pinned" not in changes, "it is the same change"
    last = max(os.sched_getaffinity(0))
    assert changes[f"client pinned to processor {last}"] == f"hosts.client.pin = {last}"
    both = _changes(tmp_path, pinned, pinned)
    assert both["server not pinned"] == "hosts.server.pin removed"
