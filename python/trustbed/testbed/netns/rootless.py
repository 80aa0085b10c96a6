"""A testbed without root.

The process goes into a user namespace of its own, and may make networks there (user_namespaces(7)).

It holds only the calling process and its children. In target of ``/run/netns`` they see an empty
directory in memory; everything else stays where it was. When the last of them has ended, all of it
is gone. It lacks real-time priority, writable cgroups and the network of the host.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from pyroute2 import IPRoute

from trustbed.errors import TestbedError, reason_and_file
from trustbed.testbed.netns import namespaces, registry

_NET_ADMIN, _SYS_ADMIN = 12, 21
_VARIABLE = "TRUSTBED_ROOTLESS"


def is_rootless() -> bool:
    """Whether this process, or the one that started it, has private namespaces."""
    return bool(os.environ.get(_VARIABLE))


def may_make_networks() -> bool:
    """Whether namespaces can be made right here: as root, or where :func:`prepare` has led."""
    return _has_capabilities() and (
        is_rootless() or (_has_all_users() and os.access(_existing(namespaces.DIRECTORY), os.W_OK))
    )


def prepare() -> bool:
    """Makes sure that testbeds can be made.

    As root nothing happens; an ordinary user gets a user namespace. Returns whether that was so.

    Call it early: it is possible only while the process has one thread. A process that is root in
    another's user namespace (a container's, or pasta's) stays in it, and gets only a ``/run/netns``
    of its own.

    Raises:
        TestbedError: It is forbidden; the error names what forbids it.
    """
    registry.settle()
    if may_make_networks():
        return is_rootless()
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise TestbedError(
            "a testbed without root must be prepared before the process has more than one thread",
            "call trustbed.testbed.prepare() first, or run as root",
        )
    try:
        if _has_capabilities() and not _has_all_users():
            namespaces.unshare(namespaces.NEWNS)
        else:
            _become_root_of_nothing()
        namespaces.keep_mounts_private()
        _own_run_netns()
    except OSError as error:
        message, hint = forbidden(error)
        raise TestbedError(message, hint) from error
    os.environ[_VARIABLE] = "1"
    return True


def _become_root_of_nothing() -> None:
    """Enters a user namespace in which this user is root, with an empty network."""
    user, group = os.geteuid(), os.getegid()
    namespaces.unshare(namespaces.NEWUSER | namespaces.NEWNET | namespaces.NEWNS)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
    with IPRoute() as kernel:
        kernel.link("set", index=1, state="up")


def _own_run_netns() -> None:
    directory = namespaces.DIRECTORY
    if not directory.is_dir():
        _rebuild(directory.parent)
        directory.mkdir()
    namespaces.mount_tmpfs(directory)


def _rebuild(run: Path) -> None:
    """Replaces a directory by a writable one with the same content.

    Mounts each entry into an empty directory.
    """
    earlier = os.open(run, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        names = sorted(path.name for path in run.iterdir())
        namespaces.mount_tmpfs(run)
        for name in names:
            source = Path(f"/proc/self/fd/{earlier}", name)
            target = run / name
            try:
                if source.is_symlink():
                    target.symlink_to(source.readlink())
                    continue
                if source.is_dir():
                    target.mkdir()
                else:
                    target.touch()
                namespaces.mount_again(source, target)
            except OSError:
                # An entry that we may not read could not be used before either.
                continue
    finally:
        os.close(earlier)


def forbidden(error: OSError) -> tuple[str, str]:
    """Why an ordinary user may not make networks here, and what would help."""
    root = "run as root, for example with sudo"
    limits = (
        (
            "/proc/sys/user/max_user_namespaces",
            "0",
            "this host allows no user namespaces (user.max_user_namespaces is 0)",
            "15000",
        ),
        (
            "/proc/sys/kernel/unprivileged_userns_clone",
            "0",
            "this host keeps user namespaces for root (kernel.unprivileged_userns_clone is 0)",
            "1",
        ),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            (
                "AppArmor keeps user namespaces from ordinary programs "
                "(kernel.apparmor_restrict_unprivileged_userns is 1)"
            ),
            "0",
        ),
    )
    for path, bad, message, better in limits:
        try:
            value = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == bad:
            name = path.removeprefix("/proc/sys/").replace("/", ".")
            return message, f"{root}, or let root allow it: sysctl {name}={better}"
    if error.errno == errno.ENOSPC:
        return (
            "there are too many user namespaces already (user.max_user_namespaces)",
            f"{root}, or end some",
        )
    what = reason_and_file(error)
    capabilities = "neither CAP_SYS_ADMIN and CAP_NET_ADMIN nor a user namespace"
    return (
        f"no network can be made here: {capabilities} ({what})",
        f"{root}; a container must be started with both capabilities, or as privileged",
    )


def _has_capabilities() -> bool:
    needed = 1 << _NET_ADMIN | 1 << _SYS_ADMIN
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return any(
        line.startswith("CapEff:") and int(line.split()[1], 16) & needed == needed for line in lines
    )


def _has_all_users() -> bool:
    """Whether all users of the machine are known here, as outside of user namespaces."""
    return Path("/proc/self/uid_map").read_text(encoding="ascii").split()[:3] == [
        "0",
        "0",
        str(2**32 - 1),
    ]


def _existing(directory: Path) -> Path:
    return directory if directory.is_dir() else directory.parent
