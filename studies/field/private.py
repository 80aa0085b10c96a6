"""A study in a private network namespace with a private /run, and the campaigns it starts.

Nothing the command creates is visible to other processes or outlives it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from trustbed.agent.client import AgentError
from trustbed.testbed import TestbedError
from validation import captures
from validation.ending import ending_in_order

_MARK = "TRUSTBED_VALIDATION_PRIVATE"


class NotPossible(Exception):
    """It cannot be done here. ``hint`` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def enter(words: Sequence[str]) -> None:
    """Restarts ``python -m studies WORDS`` in its own namespaces, unless it already runs there.

    Raises:
        NotPossible: That takes root, or a program is missing.
    """
    if os.environ.get(_MARK) == str(os.getpid()):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=10)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"], check=True, timeout=10
        )
        return
    if os.geteuid() != 0:
        raise NotPossible("hosts with an sshd each can be made by root only", "run it as root")
    for program in ("unshare", "ip", "sshd", "ssh-keygen", "nsenter"):
        if shutil.which(program) is None:
            raise NotPossible(
                f"there is no {program}", "install Debian's openssh-server, iproute2 and util-linux"
            )
    sys.stdout.flush()
    # The process stays the same one: its number is what tells it, in there, that it has arrived.
    os.environ[_MARK] = str(os.getpid())
    os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, "-m", "studies", *words])


def options_of(name: str, about: str | None) -> argparse.ArgumentParser:
    """The options that every study of the field has; ``about`` is its module's docstring."""
    parser = argparse.ArgumentParser(
        prog=f"python -m studies {name}", description=(about or "").split("\n\n")[0]
    )
    add = parser.add_argument
    add(
        "--directory",
        type=lambda text: Path(text).absolute(),
        default=captures.project() / "build" / name,
        help=f"where campaigns are kept (default: build/{name})",
    )
    add("--score-only", action="store_true", help="measure nothing, render what was measured")
    add("--print", action="store_true", help="write no files")
    return parser


def carried_out(words: Sequence[str], directory: Path, carry_out: Callable[[], None]) -> bool:
    """Carries a study out in its own namespaces and a new directory; prints why it cannot."""
    try:
        enter(words)
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir(parents=True)
        with ending_in_order():
            carry_out()
    except NotPossible as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return False
    except (AgentError, TestbedError, RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"error: {getattr(error, 'message', error)}", file=sys.stderr)
        return False
    return True


def start_campaign(file: Path, out: Path, log: Path) -> subprocess.Popen[bytes]:
    """Starts the campaign of a file; its output is appended to ``log``."""
    words = [sys.executable, "-m", "trustbed", "pairs", str(file), "-o", str(out), "--no-color"]
    with log.open("ab") as stream:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
