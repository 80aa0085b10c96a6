"""Without root: what is made where, and the errors where nothing can be made."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.testbed.conftest import Machine
from trustbed.testbed.netns import rootless


def test_an_ordinary_user_gets_a_network_and_keeps_the_working_directory(user: Machine) -> None:
    found = user.python("""
import socket
before = sorted(os.listdir("/run"))
with Testbed(plan(PAIR)) as testbed:
    names = sorted(os.listdir("/run/netns"))
    print(json.dumps({
        "namespaces": [name.removeprefix(f"tb-{testbed.id}-") for name in names],
        "rootless": testbed.entry.record.rootless,
        "directory": str(testbed.entry.path.parent),
        "user": testbed.run("near", ["id", "-u"], seconds=100).stdout.strip(),
        "again": prepare(),
    }))
""")
    assert found["namespaces"] == ["far", "near", "net"]
    assert found["rootless"]
    assert found["directory"] == str(user.runtime / "trustbed")
    assert found["user"] == "0", "root, of nothing but its own networks"
    assert found["again"], "once is enough"
    assert user.namespaces() == []


def test_what_lies_in_run_stays_there(machine: Machine, user: Machine) -> None:
    machine.run(
        "sh",
        "-c",
        (
            "mkdir -p /run/a/b; echo text > /run/a/b/c; echo one > /run/file; ln -s a/b "
            "/run/link; ln -s nowhere /run/broken"
        ),
    )
    found = user.python("""
with open("/run/link/c") as one, open("/run/file") as two:
    names = sorted(os.listdir("/run"))
    print(json.dumps([one.read(), two.read(), os.readlink("/run/broken"), names]))
""")
    assert found == ["text\n", "one\n", "nowhere", ["a", "broken", "file", "link", "netns"]]
    assert machine.run("ls", "/run").stdout.split() == ["a", "broken", "file", "link"], (
        "no other process sees the directory"
    )


def test_root_in_a_foreign_container_keeps_its_network(machine: Machine) -> None:
    code = """
import os
from trustbed.testbed import prepare
print(prepare(), sorted(name for name in os.listdir("/proc/self/net/dev_snmp6") if name != "lo"))
"""
    container = (
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        "--mount",
        "sh",
        "-c",
        'ip link add x type veth peer name y; exec "$@"',
        "-",
    )
    ended = machine.run(*container, sys.executable, "-c", code, check=False)
    if ended.returncode and "unshare" in ended.stderr:
        pytest.skip(f"no user namespaces: {ended.stderr.strip()}")
    assert ended.stdout == "True ['x', 'y']\n", ended.stderr


def test_with_neither_capabilities_nor_user_namespaces_the_error_names_the_reason(
    machine: Machine,
) -> None:
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all "
        '--inh-caps=-all "$@"'
    )
    ended = machine.run(
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        script,
        "-",
        sys.executable,
        "-m",
        "trustbed",
        "shell",
        "--",
        "true",
        check=False,
    )
    if "unshare" in ended.stderr:
        pytest.skip(f"no user namespaces: {ended.stderr.strip()}")
    assert ended.returncode == 125
    assert ended.stderr == (
        "error: this host allows no user namespaces (user.max_user_namespaces is 0)\n"
        "hint: run as root, for example with sudo, or let root allow it: sysctl "
        "user.max_user_namespaces=15000\n"
    )


@pytest.mark.parametrize("verb", ["run", "shell"])
def test_the_commands_that_prepare_are_loaded_without_threads(verb: str) -> None:
    code = f"import os, trustbed.cli.{verb}; print(len(os.listdir('/proc/self/task')))"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert ended.stdout == "1\n", "what was imported has started some (pyarrow does)"


def test_a_process_with_threads_must_prepare_earlier(user: Machine) -> None:
    code = """
import json, threading
from trustbed.testbed import TestbedError, prepare
stop = threading.Event()
thread = threading.Thread(target=stop.wait)
thread.start()
try:
    prepare()
except TestbedError as error:
    print(json.dumps([error.message, error.hint]))
stop.set()
"""
    message, hint = json.loads(user.run(sys.executable, "-c", code).stdout)
    assert "more than one thread" in message
    assert "prepare() first" in hint


def test_reasons_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    values: dict[str, str] = {}

    def read(path: Path, encoding: str) -> str:
        if str(path) not in values:
            raise FileNotFoundError(str(path))
        return values[str(path)]

    monkeypatch.setattr(Path, "read_text", read)
    refused = OSError(errno.EPERM, "Operation not permitted", "unshare")
    assert (
        "neither CAP_SYS_ADMIN and CAP_NET_ADMIN nor a user namespace (operation not "
        "permitted, unshare)"
    ) in rootless.forbidden(refused)[0]
    assert "too many" in rootless.forbidden(OSError(errno.ENOSPC, "No space left on device"))[0]
    for path, value, part in (
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "AppArmor"),
        (
            "/proc/sys/kernel/unprivileged_userns_clone",
            "0\n",
            "kernel.unprivileged_userns_clone is 0",
        ),
        ("/proc/sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces is 0"),
    ):
        values[path] = value
        message, hint = rootless.forbidden(refused)
        assert part in message
        assert "sysctl" in hint
