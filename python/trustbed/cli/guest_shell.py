"""The near host of ``trustbed shell`` as a guest.

Its command, and the terminal of its user.

The user's terminal is passed through: keys go to the guest as they are (Ctrl-C ends the command
there, not us), and the guest's terminal has the size of ours. What is piped in and out stays as it
is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from trustbed.agent.control import ControlledProcess
from trustbed.testbed import Testbed

SHELL = "sh"
"""The command that runs in a guest by default."""


@contextmanager
def started(
    testbed: Testbed, host: str, command: Sequence[str], environment: Mapping[str, str]
) -> Iterator[ControlledProcess]:
    """A command in a guest, with the streams or the terminal that we have.

    ``environment`` is what it has beside the guest's own.
    """
    size = _terminal()
    more = {"TERM": os.environ["TERM"]} if size is not None and "TERM" in os.environ else {}
    around = {**more, **environment}
    with (
        testbed.guest(host).start_command(
            command, stdin=None, environment=around, terminal=size
        ) as process,
        _handed_through(process, size),
    ):
        yield process


def _terminal() -> tuple[int, int] | None:
    """Rows and columns, if a person is in front of us."""
    if sys.stdin is None or sys.stdout is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    size = os.get_terminal_size(sys.stdout.fileno())
    return size.lines or 24, size.columns or 80


@contextmanager
def _handed_through(process: ControlledProcess, size: tuple[int, int] | None) -> Iterator[None]:
    if size is None:
        yield
        return
    keys = sys.stdin.fileno()
    before = termios.tcgetattr(keys)
    resized = signal.signal(
        signal.SIGWINCH, lambda number, frame: process.resize(*(_terminal() or size))
    )
    tty.setraw(keys)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, resized)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(keys, termios.TCSADRAIN, before)
