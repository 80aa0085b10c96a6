"""The view on a terminal.

Drawn in place, never wider or longer than it, and gone when the watch is over.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

from tests.patience import PATIENCE
from tests.watch.conftest import TRUSTBED, Network

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
COLUMNS, ROWS = 72, 20


def read(terminal: int, wanted: str, seen: str = "") -> str:
    """What the terminal was sent until ``wanted`` is among it."""
    while wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], PATIENCE)
        assert ready, f"no {wanted!r} in {seen!r}"
        seen += os.read(terminal, 65536).decode()
    return seen


def test_the_view_fits_the_terminal_and_gives_it_back(network: Network) -> None:
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = network.near.enter(["env", "TERM=xterm", TRUSTBED, "watch", "left"])
    child = subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=subprocess.PIPE, text=True
    )
    network.started.append(child)
    os.close(inside)
    try:
        seen = read(terminal, "\x1b[H")
        network.bursts(60)
        seen = read(terminal, "worst windows", seen)
        seen = read(terminal, "0 dropped\x1b[K", seen.rpartition("worst windows")[1])
        child.send_signal(signal.SIGINT)
        rest = read(terminal, "kernel: ", read(terminal, LEAVE))
        assert child.wait(timeout=PATIENCE) == 0
    finally:
        os.close(terminal)
    before, _, after = rest.partition(LEAVE)
    assert before.endswith("\x1b[?25h"), "the cursor is shown again"
    assert "max queue" in after
    pages = [page for page in before.split("\x1b[H")[1:] if page.endswith("\x1b[J")]
    for page in pages:
        plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in page.split("\r\n")]
        assert len(plain) <= ROWS
        assert max(map(len, plain)) <= COLUMNS
