"""A machine of the tests' own.

A network and a /run of their own, in which testbeds can be made, killed and counted.

Nothing outside is touched. Where that is not permitted the tests are skipped with the reason; in CI
that is a failure.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from trustbed.agent.client import binary

ROOT = Path(__file__).resolve().parents[2]
TRUSTBED = str(Path(sys.executable).with_name("trustbed"))
BEGIN = """
import json, os, subprocess, sys, time
from trustbed.testbed import Host, Testbed, TestbedError, plan, prepare
from trustbed.testbed.netns import registry
prepare()
PAIR = [Host(name="near", addresses=("10.77.0.1",)), Host(name="far", addresses=("10.77.0.2",))]
"""
"""What every program of a test begins with."""

_AS_ROOT = ("--net", "--mount")
_AS_USER = ("--user", "--map-user=1000", "--map-group=1000")


@dataclass
class Machine:
    """A host of its own.

    ``user`` is a user without any capability, for whom it looks like any machine.
    """

    holder: subprocess.Popen[str]
    runtime: Path
    user: bool = False
    patience: float = PATIENCE
    """How long a command may take, and how long a terminal may be silent."""
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def words(self, *command: str) -> list[str]:
        """The command line that runs a command here."""
        inside = ["nsenter", "--target", str(self.holder.pid), "--net", "--mount", "--"]
        return [*inside, *(("unshare", *_AS_USER, "--") if self.user else ()), *command]

    @property
    def environment(self) -> dict[str, str]:
        """Without variables of the user who runs the tests."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("TRUSTBED_")}
        return {**clean, "XDG_RUNTIME_DIR": str(self.runtime), "SHELL": "/bin/sh"}

    def run(
        self, *command: str, check: bool = True, stdin: int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        ended = subprocess.run(
            self.words(*command),
            capture_output=True,
            text=True,
            timeout=self.patience,
            check=False,
            env=self.environment,
            stdin=stdin,
        )
        assert not check or ended.returncode == 0, ended.stderr
        return ended

    def trustbed(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs trustbed."""
        return self.run(TRUSTBED, *words, check=check)

    def python(self, code: str, *words: str) -> Any:  # noqa: ANN401 - whatever the code prints as JSON
        """Runs a program that prints JSON on its last line."""
        printed = self.run(sys.executable, "-W", "error", "-c", BEGIN + code, *words).stdout
        return json.loads(printed.splitlines()[-1])

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:  # noqa: ANN401 - as Popen's
        """Starts a command; it is ended with the test."""
        ends = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        }
        child: subprocess.Popen[str] = subprocess.Popen(
            self.words(*command), text=True, env=self.environment, **ends
        )
        self.started.append(child)
        return child

    def namespaces(self) -> list[str]:
        """The names of the network namespaces that exist here."""
        return [line.split()[0] for line in self.run("ip", "netns").stdout.splitlines()]

    def processes(self, mark: str) -> list[str]:
        """The processes whose command line or environment has the mark in it."""
        return processes_with(mark)

    def records(self) -> list[str]:
        """The files of testbeds."""
        location = self.runtime / "trustbed" if self.user else Path("/run/trustbed")
        return self.run("sh", "-c", f"ls {location} 2>/dev/null || true").stdout.split()


def processes_with(mark: str) -> list[str]:
    """Command lines of other processes with the mark in their arguments or environment."""
    return list(commands_with(mark).values())


def commands_with(mark: str) -> dict[int, str]:
    """The same by process."""
    found = {}
    for location in Path("/proc").iterdir():
        if not location.name.isdecimal() or int(location.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            words = (location / "cmdline").read_bytes()
            if mark.encode() in words or mark.encode() in (location / "environ").read_bytes():
                found[int(location.name)] = words.replace(b"\0", b" ").decode(errors="replace")
    return found


@pytest.fixture(scope="session", autouse=True)
def agent() -> Path:
    """The agent's program, which ``make`` has built."""
    return binary()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine, seen by its root."""
    if os.geteuid() != 0:
        pytest.skip("a machine with a root of its own can be made by root only")
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(_machine(tmp_path))


@pytest.fixture
def user(machine: Machine) -> Machine:
    """The same machine, seen by an ordinary user."""
    ordinary = Machine(machine.holder, machine.runtime, user=True, started=machine.started)
    tried = ordinary.run(
        "unshare", "--user", "--map-root-user", "--net", "--mount", "true", check=False
    )
    if tried.returncode:
        pytest.skip(f"no user namespaces within user namespaces: {tried.stderr.strip()}")
    return ordinary


@contextlib.contextmanager
def _machine(directory: Path) -> Iterator[Machine]:
    for program in ("unshare", "nsenter", "ip"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}")
    script = (
        "mount -t tmpfs -o mode=755 tmpfs /run && ip link set lo up && echo ready && exec "
        "sleep 6000"
    )
    holder = subprocess.Popen(
        ["unshare", *_AS_ROOT, "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    made = Machine(holder, directory / "runtime")
    try:
        if holder.stdout.readline() != "ready\n":
            pytest.skip(f"no namespaces: {holder.stderr.read().strip()}")
        made.runtime.mkdir(mode=0o700)
        yield made
    finally:
        for child in made.started:
            if child.poll() is None:
                child.kill()
            child.communicate()
        holder.kill()
        holder.communicate()


class Terminal:
    """A terminal with a program in it.

    What it prints is read until something is there, or it has been silent for too long.
    """

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], *, patience: float
    ) -> None:
        self.seen = ""
        self._patience = patience
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], list(words), dict(environment))

    def type(self, text: str) -> None:
        """Presses keys."""
        os.write(self._file, text.encode())

    def until(self, pattern: str) -> re.Match[str]:
        """Reads until the pattern appears; drops everything before it."""
        while (found := re.search(pattern, self.seen)) is None:
            assert self._read(), f"ended without {pattern!r}: {self.seen}"
        self.seen = self.seen[found.end() :]
        return found

    def end(self) -> int:
        """Reads to the end; the exit code."""
        while self._read():
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        if not select.select([self._file], [], [], self._patience)[0]:
            raise AssertionError(f"silent since: {self.seen!r}")
        try:
            piece = os.read(self._file, 4096)
        except OSError:  # the other side is closed
            return False
        self.seen += piece.decode(errors="replace").replace("\r", "")
        return bool(piece)

    def close(self) -> None:
        """Ends what is still there."""
        if self.pid:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self._file)


@pytest.fixture
def terminal() -> Iterator[Callable[[Machine, Sequence[str]], Terminal]]:
    """Opens terminals on a machine."""
    opened: list[Terminal] = []

    def opens(where: Machine, words: Sequence[str]) -> Terminal:
        environment = {**where.environment, "PS1": "$ ", "TERM": "dumb", "HISTFILE": "/dev/null"}
        opened.append(Terminal(where.words(*words), environment, patience=where.patience))
        return opened[-1]

    yield opens
    for one in opened:
        one.close()
