"""The records of testbeds, and which of them may be removed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Refuses
from tests.patience import PATIENCE
from trustbed.testbed import TestbedError
from trustbed.testbed.netns import cgroups, registry
from trustbed.testbed.netns.registry import Owner, Record


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of records of the test's own."""
    location = tmp_path / "records"
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(location))
    return location


def reserve() -> registry.Entry:
    return registry.reserve(purpose="a test", hosts=("near", "far"), switch="net", rootless=True)


def orphan(entry: registry.Entry, owner: Owner | None = None) -> Record:
    """As if the owner had been another process, which has ended: the file is no longer locked."""
    elsewhere(entry, owner)
    content = entry.path.read_bytes()
    entry.path.unlink()
    entry.path.write_bytes(content)
    return entry.record


def elsewhere(entry: registry.Entry, owner: Owner | None = None) -> None:
    """As if the owner's number meant nothing here."""
    entry.update(
        owner=owner
        or replace(entry.record.owner, started_ticks=entry.record.owner.started_ticks - 1)
    )


def test_a_testbed_is_written_down_with_its_owner_before_it_exists(directory: Path) -> None:
    entry = reserve()
    (found,) = registry.records()
    assert found == entry.record
    assert found.namespaces == tuple(f"tb-{found.id}-{host}" for host in ("net", "near", "far"))
    assert found.owner.pid == os.getpid()
    assert found.owner.lives()
    assert [path.name for path in directory.iterdir()] == [f"{found.id}.json"]
    entry.drop()
    assert registry.records() == []


def test_every_testbed_has_an_id_of_its_own(directory: Path) -> None:
    assert len({reserve().record.id for _ in range(50)}) == 50


def test_a_number_that_another_process_has_now_is_no_owner(directory: Path) -> None:
    mine = reserve().record.owner
    assert not replace(mine, started_ticks=mine.started_ticks + 1).lives()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not replace(mine, pid=ended.pid).lives()


def test_only_unowned_testbeds_are_removed(directory: Path) -> None:
    owned, gone = reserve(), reserve()
    orphan(gone)
    (removed,) = registry.clean()
    assert removed.record.id == gone.record.id
    assert [record.id for record in registry.records()] == [owned.record.id]
    assert registry.clean() == []


def test_an_owner_whose_number_means_nothing_here_is_known_by_its_file(directory: Path) -> None:
    entry = reserve()
    elsewhere(entry)
    assert not entry.record.owner.lives()
    assert entry.record.is_owned()
    assert registry.clean() == []
    entry.update(purpose="another")
    assert registry.clean() == [], "a file that was rewritten is held too"
    entry.drop()
    assert not entry.record.is_owned()


OWNS = """
import sys
from trustbed.testbed.netns import cgroups, registry
registry.reserve(purpose="elsewhere", hosts=(), switch="net", rootless=True)
print("ready", flush=True)
sys.stdin.readline()
print(len(registry.clean()), flush=True)
"""


@pytest.mark.parametrize("proc", [["--mount-proc"], []], ids=["its own proc", "that of others"])
def test_testbeds_of_other_process_namespaces_are_left_alone(
    directory: Path, proc: list[str]
) -> None:
    """As an ordinary user creates them behind pasta, which has its own PID namespace."""
    own = reserve()
    words = [
        "unshare",
        *(() if os.geteuid() == 0 else ("--user", "--map-root-user")),
        "--pid",
        "--fork",
        "--kill-child",
        *proc,
    ]
    ends = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # At the end of the block its standard input is closed, by which it ends, whatever happened
    # before.
    with subprocess.Popen([*words, sys.executable, "-c", OWNS], text=True, **ends) as child:
        assert child.stdout is not None
        if child.stdout.readline() != "ready\n":
            errors = child.communicate()[1].strip()
            assert errors.startswith("unshare: "), errors
            pytest.skip(f"no namespaces of processes: {errors}")
        other = next(record for record in registry.records() if record.purpose == "elsewhere")
        assert other.is_owned()
        assert registry.clean() == []
        out, err = child.communicate("\n", timeout=PATIENCE)
    assert out == "0\n", err
    assert own.path.exists()
    assert not other.is_owned()
    assert [removed.record.id for removed in registry.clean()] == [other.id]


def test_processes_with_the_mark_of_an_orphan_are_ended_and_no_others(directory: Path) -> None:
    entry, other = reserve(), reserve()
    marked, unmarked = (
        subprocess.Popen(["sleep", "600"], env={**os.environ, registry.VARIABLE: one.record.id})
        for one in (entry, other)
    )
    try:
        assert marked.pid in entry.record.processes()
        orphan(entry)
        (removed,) = registry.clean()
        assert removed.processes == 1
        assert marked.wait(PATIENCE) == -signal.SIGKILL
        assert unmarked.poll() is None
    finally:
        for child in (marked, unmarked):
            child.kill()
            child.wait()


def test_control_groups_that_were_written_down_are_removed(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "mount_points", lambda mounts: [tmp_path])
    entry = reserve()
    outer = tmp_path / f"trustbed-{entry.record.id}-quota"
    inner, absent = outer / f"{outer.name}-2", tmp_path / f"{outer.name}-3"
    inner.mkdir(parents=True)
    entry.update(cgroups=(str(outer), str(inner), str(absent)))
    orphan(entry)
    registry.clean()
    assert not outer.exists()


def planted(directory: Path, **changes: object) -> Path:
    """The record of an orphan with values that no testbed writes."""
    entry = reserve()
    record = orphan(entry)
    content = json.loads(entry.path.read_text(encoding="utf-8"))
    content.update(
        {
            key: [one.replace("ID", record.id) for one in value]
            if isinstance(value, list)
            else value
            for key, value in changes.items()
        }
    )
    entry.path.write_text(json.dumps(content), encoding="utf-8")
    return entry.path


OUTSIDE = {
    "network_namespace": 1,
    "interface": "eth0",
    "table": "filter",
    "forwarding_was": "1",
    "iptables": True,
}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"id": "../../etc/x"}, id="files elsewhere"),
        pytest.param({"id": "*"}, id="all files"),
        pytest.param({"id": "aaaaaa"}, id="the files of another testbed"),
        pytest.param(
            {"id": "aaaaaa", "namespaces": [], "cgroups": []},
            id="the files of another, and no more",
        ),
        pytest.param({"hosts": ["../near"]}, id="a host's name that is a path"),
        pytest.param({"namespaces": ["../../proc/1/ns/net"]}, id="the machine's own processes"),
        pytest.param({"namespaces": ["tb-ID-/../../../proc/1/ns/net"]}, id="behind the prefix"),
        pytest.param({"namespaces": ["mine"]}, id="a foreign namespace"),
        pytest.param({"cgroups": ["VICTIM"]}, id="a directory that is no control group"),
        pytest.param({"cgroups": ["/sys/fs/cgroup/system.slice"]}, id="another's control group"),
        pytest.param({"cgroups": ["/sys/fs/cgroup/../trustbed-ID-x"]}, id="out of the mount"),
        pytest.param({"cgroups": ["trustbed-ID-x"]}, id="a relative path"),
        pytest.param({"outside": OUTSIDE}, id="an interface of the machine"),
    ],
)
def test_a_planted_record_removes_nothing(
    directory: Path, tmp_path: Path, changes: dict[str, object]
) -> None:
    victim = tmp_path / "trustbed-victim-x"
    victim.mkdir()
    if changes.get("cgroups") == ["VICTIM"]:
        changes = {"cgroups": [str(victim)]}
    path = planted(directory, **changes)
    neighbour = directory / f"{path.stem}-console"
    neighbour.touch()
    with pytest.raises(TestbedError, match="is no record"):
        registry.clean()
    assert victim.is_dir()
    assert neighbour.is_file()


def test_a_symbolic_link_instead_of_the_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    (tmp_path / "there").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(tmp_path / "link"))
    for use in (registry.clean, registry.records, reserve):
        with refuses(TestbedError):
            use()


def test_a_directory_that_others_may_enter_is_refused(directory: Path, refuses: Refuses) -> None:
    directory.mkdir()
    directory.chmod(0o770)
    for use in (registry.clean, registry.records, reserve):
        with refuses(TestbedError):
            use()


@pytest.mark.skipif(os.geteuid() != 0, reason="a directory can be given away by root only")
def test_a_directory_of_another_user_is_refused(directory: Path, refuses: Refuses) -> None:
    directory.mkdir(mode=0o700)
    os.chown(directory, 12345, 12345)
    for use in (registry.clean, registry.records, reserve):
        with refuses(TestbedError):
            use()


def test_half_a_file_of_a_killed_writer_is_removed(directory: Path) -> None:
    entry = reserve()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (directory / f"abcdef.{ended.pid}.new").write_text("{", encoding="utf-8")
    registry.clean()
    assert [path.name for path in directory.iterdir()] == [entry.path.name]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", json.dumps({"id": "x"}), json.dumps({"owner": {}})]
)
def test_a_file_that_is_none_is_named(directory: Path, text: str, refuses: Refuses) -> None:
    reserve()
    (directory / "strange.json").write_text(text, encoding="utf-8")
    with refuses(TestbedError):
        registry.records()


def test_a_directory_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRUSTBED_RUNTIME", str(tmp_path / "file" / "below"))
    with refuses(TestbedError):
        reserve()


def test_records_are_stored_in_the_user_s_runtime_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRUSTBED_RUNTIME", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert registry.directory() == tmp_path / "trustbed"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "nowhere"))
    assert registry.directory().name == "trustbed-1000"
