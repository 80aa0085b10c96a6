"""Control groups of processor time.

One for every quota of a testbed, named for it, and removed with it.

Both versions are known (cgroups(7)); the mounts show which one has the controller. A
group is made below the one in which this process is, or, where version 2 permits no processes
beside groups, below the nearest one above that hands the controller on. A controller that had to be
switched on for that stays on: others may use it by then.

Sets no quota: the caller that sets one must lift it too.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from trustbed.agent.process_tree import family
from trustbed.errors import TestbedError, reason

Version: TypeAlias = Literal[1, 2]

CONTROLLER = "cpu"
_MEMBERS = "cgroup.procs"
_REMOVAL_SECONDS = 20.0
_DELEGATION = "run as root, or in a group of your own (systemd-run --user --scope -p Delegate=yes)"


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted hierarchy of control groups.

    Its version, its mount point (``root``), and the group of this process in it (``own``).
    """

    version: Version
    root: Path
    own: Path


def hierarchies(mounts: str, membership: str) -> list[Hierarchy]:
    """The hierarchies that could have the controller, version 1 first.

    From the texts of ``/proc/self/mountinfo`` and ``/proc/self/cgroup``.

    A controller belongs to one version at a time, so where version 1 has it mounted, it is there.
    """
    groups = [line.split(":", 2) for line in membership.splitlines() if line.count(":") >= 2]
    found: list[Hierarchy] = []
    for line in mounts.splitlines():
        left, dash, right = line.partition(" - ")
        if not dash:
            continue
        kind, _, options = right.split(" ", 2)
        above, point = left.split(" ")[3:5]
        for _, controllers, group in groups:
            if (
                kind == "cgroup"
                and CONTROLLER in options.split(",")
                and CONTROLLER in controllers.split(",")
            ):
                found.append(_hierarchy(1, above, point, group))
            elif kind == "cgroup2" and not controllers:
                found.append(_hierarchy(2, above, point, group))
    return sorted(found, key=lambda hierarchy: hierarchy.version)


def mount_points(mounts: str) -> list[Path]:
    """The mount points of control groups of both versions, from ``/proc/self/mountinfo``."""
    found = []
    for line in mounts.splitlines():
        left, dash, right = line.partition(" - ")
        if dash and right.split(" ", 1)[0] in ("cgroup", "cgroup2"):
            found.append(Path(left.split(" ")[4]))
    return found


def is_below_mount(path: Path) -> bool:
    """Whether a group of that path can lie below a mount of control groups: no link, no ``..``."""
    mounts = mount_points(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    if not path.is_absolute() or ".." in path.parts or path.resolve() != path:
        return False
    return any(point in path.parents for point in mounts)


def _hierarchy(version: Version, above: str, point: str, group: str) -> Hierarchy:
    """A group outside of what is mounted, as in a container, counts as the root of the mount."""
    below = PurePosixPath(group)
    inside = below.relative_to(above) if below.is_relative_to(above) else PurePosixPath()
    return Hierarchy(version, Path(point), Path(point) / inside)


@dataclass(frozen=True, slots=True)
class Group:
    """A control group; :meth:`leave` moves its processes to ``home``."""

    path: Path
    version: Version
    home: Path

    def join(self, pid: int) -> None:
        """Puts a process into it, with all its descendants, except those that have ended.

        Raises:
            TestbedError: The kernel refuses.
        """
        for one in family(pid):
            try:
                (self.path / _MEMBERS).write_text(str(one), encoding="ascii")
            except ProcessLookupError:
                continue
            except OSError as error:
                message = reason(error)
                raise TestbedError(
                    f"process {one} cannot be put into the control group {self.path}: {message}",
                    _DELEGATION,
                ) from error

    def leave(self) -> None:
        """Puts its processes back where they came from, and removes it."""
        for pid in _members(self.path):
            with contextlib.suppress(OSError):  # it has ended meanwhile, or goes with its group
                (self.home / _MEMBERS).write_text(pid, encoding="ascii")
        remove(self.path)


def parent() -> tuple[Hierarchy, Path]:
    """The hierarchy and group below which groups can be made.

    Raises:
        TestbedError: There is none; the error gives the reason.
    """
    try:
        texts = [
            Path("/proc/self", name).read_text(encoding="utf-8") for name in ("mountinfo", "cgroup")
        ]
    except OSError as error:
        raise TestbedError(
            "this kernel has no control groups", "use one that has (CONFIG_CGROUP_SCHED)"
        ) from error
    return above(hierarchies(*texts))


def above(known: Sequence[Hierarchy]) -> tuple[Hierarchy, Path]:
    """The first hierarchy in which groups can be made, and the group below which.

    Raises:
        TestbedError: There is none; the error gives the reason.
    """
    why = TestbedError(
        "no control groups of processor time are mounted here",
        "mount them: version 2 at /sys/fs/cgroup, or the controller cpu",
    )
    for hierarchy in known:
        if hierarchy.version == 1:
            return hierarchy, hierarchy.own
        for candidate in _upwards(hierarchy):
            if CONTROLLER not in _words(candidate / "cgroup.controllers"):
                why = TestbedError(f"{candidate} has no controller for processor time", _DELEGATION)
                continue
            try:
                _hand_on(candidate)
            except OSError as error:
                message = reason(error)
                why = TestbedError(
                    f"{candidate} does not hand its controller for processor time on: {message}",
                    _DELEGATION,
                )
                continue
            return hierarchy, candidate
    raise why


def _upwards(hierarchy: Hierarchy) -> Iterator[Path]:
    """The own group and those above it."""
    group = hierarchy.own
    while True:
        yield group
        if group == hierarchy.root:
            return
        group = group.parent


def _hand_on(group: Path) -> None:
    switches = group / "cgroup.subtree_control"
    if CONTROLLER not in _words(switches):
        switches.write_text(f"+{CONTROLLER}", encoding="ascii")


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except OSError:
        return []


def make(name: str, where: tuple[Hierarchy, Path]) -> Group:
    """Makes a group below the result of :func:`parent`.

    Raises:
        TestbedError: It cannot be made.
    """
    hierarchy, above = where
    path = above / name
    try:
        path.mkdir()
    except OSError as error:
        message = reason(error)
        raise TestbedError(
            f"no control group can be made in {above}: {message}", _DELEGATION
        ) from error
    return Group(path, hierarchy.version, hierarchy.own)


def remove(path: Path) -> None:
    """Removes a group without processes.

    Those that have just been killed count for a moment longer. Nothing happens if it is gone.

    Raises:
        TestbedError: Processes in it do not end.
    """
    deadline = time.monotonic() + _REMOVAL_SECONDS
    while True:
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno == errno.EBUSY and time.monotonic() < deadline:
                time.sleep(0.01)
                continue
            message = reason(error)
            members = ", ".join(_members(path)) or "none"
            raise TestbedError(
                f"the control group {path} cannot be removed: {message}; its processes: {members}",
                "end them",
            ) from error
        return


def _members(path: Path) -> list[str]:
    return _words(path / _MEMBERS)
