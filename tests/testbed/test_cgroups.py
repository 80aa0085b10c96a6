"""Control groups.

Where one can be made is read off what is mounted, and one that was made is left and removed.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Refuses
from trustbed.agent.process_tree import family
from trustbed.testbed import TestbedError
from trustbed.testbed.netns import cgroups
from trustbed.testbed.netns.cgroups import Group, Hierarchy, hierarchies

V1 = "31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
MEMORY = "33 30 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V2 = "34 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
CONTAINER = "31 30 0:26 /docker/abc /sys/fs/cgroup/cpu ro,relatime - cgroup cgroup rw,cpu\n"


@pytest.mark.parametrize(
    ("mounts", "membership", "wanted"),
    [
        (
            V1 + MEMORY,
            "4:memory:/m\n2:cpu,cpuacct:/b/c\n",
            [(1, "/sys/fs/cgroup/cpu,cpuacct", "b/c")],
        ),
        (V2, "0::/user.slice/x\n", [(2, "/sys/fs/cgroup/unified", "user.slice/x")]),
        (
            V2 + V1,
            "2:cpu,cpuacct:/\n0::/d\n",
            [(1, "/sys/fs/cgroup/cpu,cpuacct", ""), (2, "/sys/fs/cgroup/unified", "d")],
        ),
        (CONTAINER, "2:cpu:/docker/abc/inner\n", [(1, "/sys/fs/cgroup/cpu", "inner")]),
        (CONTAINER, "2:cpu:/elsewhere\n", [(1, "/sys/fs/cgroup/cpu", "")]),
        (MEMORY, "4:memory:/m\n", []),
        ("", "", []),
    ],
)
def test_the_controller_is_where_it_is_mounted(
    mounts: str, membership: str, wanted: list[tuple[int, str, str]]
) -> None:
    found = [
        (hierarchy.version, str(hierarchy.root), str(hierarchy.own.relative_to(hierarchy.root)))
        for hierarchy in hierarchies(mounts, membership)
    ]
    assert found == [(version, root, below or ".") for version, root, below in wanted]


def tree(root: Path, controllers: str, handed_on: str) -> None:
    """A group of version 2 as files of its own."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "cgroup.controllers").write_text(controllers)
    (root / "cgroup.subtree_control").write_text(handed_on)


def test_groups_are_made_below_the_nearest_that_hands_the_controller_on(tmp_path: Path) -> None:
    tree(tmp_path, "cpu memory", "cpu")
    tree(tmp_path / "a", "cpu", "cpu")
    tree(tmp_path / "a" / "own", "", "")
    assert cgroups.above([Hierarchy(2, tmp_path, tmp_path / "a" / "own")])[1] == tmp_path / "a"


def test_a_hierarchy_with_the_controller_is_to_delegate_it(tmp_path: Path) -> None:
    tree(tmp_path, "cpu", "")
    assert cgroups.above([Hierarchy(2, tmp_path, tmp_path)])[1] == tmp_path
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"


def test_without_the_controller_it_is_an_error(tmp_path: Path, refuses: Refuses) -> None:
    tree(tmp_path, "memory", "memory")
    with refuses(TestbedError):
        cgroups.above([Hierarchy(2, tmp_path, tmp_path)])
    with refuses(TestbedError):
        cgroups.above([])


def test_where_none_may_be_made_it_is_an_error(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "file").write_text("")
    with refuses(TestbedError):
        cgroups.make("x", (Hierarchy(1, tmp_path, tmp_path), tmp_path / "file"))


@pytest.fixture
def group() -> Iterator[Group]:
    """A control group of this machine."""
    try:
        made = cgroups.make(f"trustbed-test-{secrets.token_hex(4)}", cgroups.parent())
    except TestbedError as error:
        pytest.skip(error.message)
    yield made
    cgroups.remove(made.path)


def test_a_process_joins_a_group_and_goes_back_where_it_came_from(group: Group) -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            before = Path("/proc", str(child.pid), "cgroup").read_text()
            group.join(child.pid)
            assert group.path.name in Path("/proc", str(child.pid), "cgroup").read_text()
            group.leave()
            assert Path("/proc", str(child.pid), "cgroup").read_text() == before
        finally:
            child.kill()
    assert not group.path.exists()
    group.leave()


def test_what_descends_from_a_process_joins_with_it(group: Group) -> None:
    words = ["sh", "-c", "setsid sleep 600 & echo started; wait"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            group.join(child.pid)
            inside = {int(word) for word in (group.path / "cgroup.procs").read_text().split()}
            assert inside == set(family(child.pid))
            assert len(inside) == 2
        finally:
            for pid in list(family(child.pid)):
                os.kill(pid, signal.SIGKILL)
            child.wait()


def test_a_process_that_has_ended_needs_no_group(group: Group) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    group.join(child.pid)
    cgroups.remove(group.path)
    assert not group.path.exists()


def test_one_with_processes_in_it_is_not_removed_and_they_are_named(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "_REMOVAL_SECONDS", 0.0)
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            group.join(child.pid)
            with pytest.raises(TestbedError, match=rf"its processes: {child.pid}"):
                cgroups.remove(group.path)
        finally:
            group.leave()
            child.kill()
    assert not group.path.exists()
