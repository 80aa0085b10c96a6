"""Capturing without root, as dumpcap does: a capability on the agent, for the members of a group.

The agent gives the capability up before it looks at a frame; the interpreter never has it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from trustbed import burst
from trustbed.agent.client import binary

ROOT = Path(__file__).parents[2]
MEMBER, STRANGER, GROUP = 64_001, 64_002, 64_003
CAP_NET_RAW = 13
PERMITTED_AND_EFFECTIVE = struct.pack("<5I", 0x02000001, 1 << CAP_NET_RAW, 0, 0, 0)
"""``cap_net_raw+ep`` as capabilities(7) stores it."""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="users are changed by root only"),
    pytest.mark.usefixtures("networks"),
]


@pytest.fixture
def installed() -> Iterator[Path]:
    """A directory with the agent as docs/cli.md has it installed; others may enter it."""
    with tempfile.TemporaryDirectory(prefix="trustbed-test-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        agent = directory / "trustbed-agent"
        shutil.copy(binary(), agent)
        os.chown(agent, 0, GROUP)
        agent.chmod(0o750)
        try:
            os.setxattr(agent, "security.capability", PERMITTED_AND_EFFECTIVE)
        except OSError as error:
            pytest.skip(f"no file has a capability here: {error}")
        own = directory / "member"
        own.mkdir(mode=0o700)
        os.chown(own, MEMBER, MEMBER)
        yield directory


def start(agent: Path, user: int, groups: list[int], path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [agent, "capture"],
        user=user,
        group=user,
        extra_groups=groups,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    configuration = {"interface": "lo", "path": str(path), "filter": "udp", "snap_length": 64}
    child.stdin.write(json.dumps(configuration) + "\n")
    child.stdin.flush()
    return child


def test_a_member_captures_without_a_privilege_left(installed: Path) -> None:
    path = installed / "member" / "lo.pcapng"
    child = start(installed / "trustbed-agent", MEMBER, [GROUP], path)
    try:
        assert child.stdout is not None
        ready = json.loads(child.stdout.readline())
        if "not permitted" in ready.get("message", ""):
            pytest.skip(f"file capabilities give none here: {ready['message']}")
        assert ready["event"] == "ready", ready
        threads = [
            dict(re.findall(r"^(\w+):[ \t]*(.*)$", (task / "status").read_text(), re.MULTILINE))
            for task in Path(f"/proc/{child.pid}/task").iterdir()
        ]
        assert len(threads) >= 2, "of the program and of the capture"
        for thread in threads:
            for held in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                assert int(thread[held], 16) == 0, (thread["Name"], held)
            assert (thread["NoNewPrivs"], thread["Seccomp"]) == ("1", "2")
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here,
        ):
            there.bind(("127.0.0.1", 0))
            for _ in range(5):
                here.sendto(b"datagram", there.getsockname())
        out, _ = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
        child.communicate()
    report = json.loads(out.splitlines()[-1])
    assert report["event"] == "report"
    assert report["complete"], report
    assert path.stat().st_uid == MEMBER
    assert burst([path]).model["packets"] >= 5


def test_a_stranger_may_not_even_start_it(installed: Path) -> None:
    with pytest.raises(PermissionError):
        start(installed / "trustbed-agent", STRANGER, [], installed / "x").kill()


def test_without_the_capability_it_is_refused_with_a_hint(installed: Path) -> None:
    agent = installed / "trustbed-agent"
    os.removexattr(agent, "security.capability")
    child = start(agent, MEMBER, [GROUP], installed / "member" / "lo.pcapng")
    out, _ = child.communicate(timeout=PATIENCE)
    answer = json.loads(out.splitlines()[-1])
    assert (answer["event"], child.returncode != 0) == ("error", True)
    assert "cap_net_raw" in answer["hint"]
    assert not (installed / "member" / "lo.pcapng").exists()


def test_the_interpreter_has_no_capability() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.ENODATA)):
        os.getxattr(Path(sys.executable).resolve(), "security.capability")


def test_nobody_is_advised_to_give_python_one() -> None:
    texts = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "python").rglob("*.py"),
        *(ROOT / "crates").rglob("*.rs"),
    ]
    advice = [
        line
        for path in texts
        for line in path.read_text(encoding="utf-8").splitlines()
        if "setcap " in line
    ]
    assert advice, "docs/cli.md says how"
    assert [line for line in advice if "trustbed-agent" not in line] == []
