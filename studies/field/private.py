"""A private network namespace and a private /run for a whole command.

Nothing the command creates is visible to other processes or outlives it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

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
