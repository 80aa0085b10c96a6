"""Hosts that are containers: what the engine is asked, and containers that really run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Refuses
from tests.patience import PATIENCE, wait_until
from tests.testbed import engines
from trustbed.scenario.containers import Container
from trustbed.testbed import Host, Testbed, TestbedError, plan
from trustbed.testbed.container import Engine, choose, processes, survey
from trustbed.testbed.container.engine import AGENT, Order, words
from trustbed.testbed.netns import namespaces, registry

DOCKER = Engine("docker", "28.0")
ORDER = Order(
    name="tb-abcdef-server",
    host="server",
    engine=DOCKER,
    described=Container(
        image="shop:2",
        cpus=0.5,
        memory_bytes=64 << 20,
        volumes=("/srv/site:/site:ro",),
        options=("--security-opt", "seccomp=unconfined"),
    ),
    agent=Path("/opt/trustbed-agent"),
    mark=("TRUSTBED_TESTBED", "abcdef"),
    logs=Path("/runs/rep-000/logs"),
)


def test_a_container_has_no_network_of_the_engine_and_no_program_but_the_agent() -> None:
    found = words(ORDER)
    assert found[:2] == ["docker", "run"]
    assert {"--rm", "--interactive", "--pull=never", "--network=none"} <= set(found)
    assert found[found.index("shop:2") - 1] == f"--entrypoint={AGENT}"
    assert found[found.index("shop:2") + 1 :] == ["exec", "--", AGENT, "control", "-"]


def test_limits_volumes_and_options_reach_the_engine() -> None:
    found = words(ORDER)
    assert {"--cpus=0.5", "--memory=67108864", "--env=TRUSTBED_TESTBED=abcdef"} <= set(found)
    assert [word for word in found if word.startswith("--volume=")] == [
        f"--volume=/opt/trustbed-agent:{AGENT}:ro",
        "--volume=/runs/rep-000/logs:/runs/rep-000/logs",
        "--volume=/srv/site:/site:ro",
    ]
    assert found[found.index("--security-opt") + 1] == "seccomp=unconfined"


def test_a_volume_that_is_not_here_is_not_made(tmp_path: Path, refuses: Refuses) -> None:
    with refuses(TestbedError):
        survey([Container(image="shop", volumes=(f"{tmp_path}/no-such:/srv",))])
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_an_engine_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refuses: Refuses
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with refuses(TestbedError):
        choose("auto")


def test_a_process_that_is_gone_has_a_number_that_nobody_has() -> None:
    assert processes.outside(os.getpid(), 1 << 21) == processes.GONE
    with pytest.raises(ProcessLookupError):
        os.kill(processes.GONE, 0)


def test_a_process_in_a_namespace_of_its_own_is_found_by_its_number_there() -> None:
    command = ["unshare", "--pid", "--fork", "--kill-child", "sleep", "60"]
    if os.geteuid():
        command[1:1] = ["--user", "--map-root-user"]
    with subprocess.Popen(command) as outer:
        try:
            wait_until(lambda: processes.outside(outer.pid, 1) != processes.GONE, "a child")
            found = processes.outside(outer.pid, 1)
            assert found != outer.pid
            assert Path(f"/proc/{found}/stat").read_text().split()[3] == str(outer.pid)
        finally:
            outer.kill()


def test_a_record_names_containers_of_its_own_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(tmp_path / "records"))
    entry = registry.reserve(purpose="a test", hosts=("far",), switch="net", rootless=True)
    for engine, name in (("docker", "somebody-elses"), ("rm", entry.record.namespaces[1])):
        entry.update(containers=(registry.ContainerName(engine=engine, name=name),))
        with pytest.raises(TestbedError, match="no container of this testbed"):
            registry.records()
    entry.drop()


# Live.


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, networks: None) -> Iterator[Engine]:
    """An engine with an image; the tests that need one are skipped where there is none."""
    with engines.running(tmp_path_factory.mktemp("engine")) as found:
        if isinstance(found, str):
            pytest.skip(f"no containers: {found}")
        yield found


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of the test's own."""
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(tmp_path / "records"))
    return tmp_path / "records"


def pair(described: Container) -> list[Host]:
    return [
        Host(name="near", addresses=("10.77.0.1",)),
        Host(name="far", addresses=("10.77.0.2",), container=described),
    ]


def test_a_container_is_a_host_and_leaves_nothing(engine: Engine, records: Path) -> None:
    described = Container(image=engines.IMAGE, cpus=0.5, options=("--cap-add=NET_ADMIN",))
    with Testbed(plan(pair(described))) as testbed:
        shown = testbed.run("far", ["cat", "/proc/net/fib_trie"], seconds=PATIENCE).stdout
        assert "10.77.0.2" in shown
        assert (
            testbed.run("far", ["cat", "/proc/1/comm"], seconds=PATIENCE).stdout.strip()
            == (AGENT.removeprefix("/")[:15])
        )
        found = testbed.container("far")
        assert namespaces.inode(testbed.namespace("far")) == namespaces.inode(found.network)
        facts = found.facts()
        assert (facts["engine"], facts["image"], facts["cpus"]) == (
            engine.name,
            engines.IMAGE,
            0.5,
        )
        with testbed.start_agent("serve", {"listen": ["10.77.0.2:80"]}, where="far") as agent:
            agent.begin()
            status = Path(f"/proc/{agent.pid}/status").read_text()
            assert "trustbed-agent" in status.splitlines()[0]
            assert testbed.listens("far", 80)
            assert Path(f"/proc/{agent.pid}/ns/pid").stat().st_ino == (
                Path(f"/proc/{found.pid}/ns/pid").stat().st_ino
            ), "an end of a workload runs inside"
        with testbed.start_agent("sample", {"path": str(records / "x")}, where="far") as watcher:
            assert Path(f"/proc/{watcher.pid}/ns/pid").stat().st_ino == (
                Path("/proc/self/ns/pid").stat().st_ino
            ), "what watches runs outside"
        assert engines.containers(engine) == [f"tb-{testbed.id}-far"]
    assert engines.containers(engine) == []
    assert registry.records() == []


def test_what_a_killed_owner_leaves_is_removed(engine: Engine, records: Path) -> None:
    program = f"""
import time
from trustbed.scenario.containers import Container
from trustbed.testbed import Host, Testbed, plan
hosts = [Host(name="near", addresses=("10.77.0.1",)),
         Host(name="far", addresses=("10.77.0.2",), container=Container(image={engines.IMAGE!r}))]
with Testbed(plan(hosts)) as testbed:
    testbed.start("far", ["sleep", "600"])
    print(testbed.id, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        name = owner.stdout.readline().strip()
        assert engines.containers(engine) == [f"tb-{name}-far"]
        owner.send_signal(signal.SIGKILL)
    assert [one.record.id for one in registry.clean()] == [name]
    assert engines.containers(engine) == []
    assert registry.records() == []


def test_an_image_that_is_not_here_is_not_fetched(engine: Engine) -> None:
    with pytest.raises(TestbedError, match="has no image no-such-image") as caught:
        survey([Container(image="no-such-image:1")])
    assert "pull no-such-image:1" in caught.value.hint


def test_a_container_that_does_not_start_says_why(engine: Engine, records: Path) -> None:
    described = Container(image=engines.IMAGE, options=("--runtime=no-such-runtime",))
    if engine.name != "docker":
        described = Container(image=engines.IMAGE, options=("--no-such-option",))
    with (
        pytest.raises(TestbedError, match=r"the container far does not start: .*no-such-"),
        Testbed(plan(pair(described))),
    ):
        pass
    assert registry.records() == []
    assert engines.containers(engine) == []
