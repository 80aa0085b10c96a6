"""Hosts that are containers, as scenarios describe them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from trustbed.run.execution import tracing
from trustbed.run.execution.commands import programs
from trustbed.run.execution.rehearsal import rehearse
from trustbed.scenario import ScenarioError, ScenarioFile, load
from trustbed.scenario.containers import Container

HOSTS = """
[hosts.client]
[hosts.server]
{server}
[link]
rate = "20Mbit/s"
"""
SHOP = """
[services.shop]
host = "server"
port = 8080
command = "/bin/shop --port 8080"
[workload.pages]
kind = "http"
host = "client"
to = "server"
service = "shop"
path = "/"
"""


def study(directory: Path, server: str, *more: str) -> ScenarioFile:
    """A scenario whose server is described so."""
    file = directory / "shop.toml"
    file.write_text("".join((HOSTS.format(server=server), SHOP, *more)), encoding="utf-8")
    return load(file)


def test_an_image_is_enough(tmp_path: Path) -> None:
    host = study(tmp_path, 'container = "registry.example:5000/shop:2"').first.host("server")
    assert host.container == Container(image="registry.example:5000/shop:2")
    assert study(tmp_path, 'container = "none"').first.containers == ()


def test_volumes_are_relative_to_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    text = (
        'container = { image = "shop", engine = "podman", cpus = 0.5, memory = "64MiB", '
        'volumes = ["site:/srv:ro"], options = ["--read-only"] }'
    )
    assert study(tmp_path, text).first.host("server").container == Container(
        image="shop",
        engine="podman",
        cpus=0.5,
        memory_bytes=64 << 20,
        volumes=(f"{tmp_path}/site:/srv:ro",),
        options=("--read-only",),
    )


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ('container = "a b"', "'a b' is not the name of an image"),
        ('container = { engine = "docker" }', "image"),
        ('container = { image = "x", engine = "lxc" }', "lxc"),
        ('container = { image = "x", volumes = "site" }', "does not say what is seen where"),
        ('container = { image = "x", options = ["--network=host"] }', "decided by trustbed"),
        ('container = { image = "x", nic = "e1000" }', "no such key, nic"),
        ('container = "x"\nguest = "e1000"', "a guest or a container"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, server: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        study(tmp_path, server)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            '[faults.slow]\nkind = "cpu-quota"\nhost = "server"\nshare = "10%"\n',
            "out of the control group of server",
        ),
        ('[samples]\nwakeups = "5ms"\nhosts = ["server"]\n', "outside the control group of server"),
    ],
)
def test_what_would_act_from_outside_is_refused(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        study(tmp_path, 'container = "shop"', more)


def test_programs_of_a_container_are_not_looked_for_here(tmp_path: Path) -> None:
    assert programs(study(tmp_path, 'container = "shop"').first) == {}
    assert programs(study(tmp_path, "").first) == {"/bin/shop": "services.shop"}


def test_images_are_a_factor(tmp_path: Path) -> None:
    found = study(tmp_path, "", '[factors]\nhosts.server.container = ["none", "shop", "shop:2"]\n')
    images = [
        None if one is None else one.image
        for one in (cell.scenario.host("server").container for cell in found.cells)
    ]
    assert images == [None, "shop", "shop:2"]


def test_a_program_in_a_container_starts_below_its_first_process(tmp_path: Path) -> None:
    command = '[workload.tool]\nkind = "command"\nhost = "server"\ncommand = "tool"\n[trace.tool]\n'
    scenario = study(tmp_path, 'container = "shop"', command).first
    (trace,) = scenario.traces
    found = tracing.configuration(
        trace, scenario, tmp_path, running={}, commands={"tool": ("/bin/tool",)}, first=77
    )
    assert found["select"] == {"command": {"name": "tool", "below": 77, "descendants": True}}


def test_a_rehearsal_names_containers(tmp_path: Path) -> None:
    found = msgspec.to_builtins(rehearse(study(tmp_path, 'container = "shop"'), None))
    assert found["containers"]["server"]["image"] == "shop"
