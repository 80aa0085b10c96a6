"""Ctrl-C while the engine waits for input that does not come; and what else shall do what Ctrl-C does.

Python raises ``KeyboardInterrupt`` when its own code runs again. While the engine computes it asks for signals every tenth of a
second; while it waits in a read (``tcpdump -w - | trustbed analyze -`` on a quiet network) it cannot. A thread then ends the
program after a moment's grace. This is safe only as long as nothing is being written: use it around the reading of a capture, not
around the writing of results.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

GRACE_SECONDS = 0.5


@contextmanager
def ends_waiting(give_up: Callable[[], object]) -> Iterator[None]:
    """Inside the block an interrupt that Python has not raised after the grace calls ``give_up`` from another thread."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's business
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    earlier = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    left = threading.Event()

    def watch() -> None:
        while number := os.read(reading, 1):
            if number[0] == signal.SIGINT and not left.wait(GRACE_SECONDS):
                give_up()

    watcher = threading.Thread(target=watch, name="interrupt", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(earlier)
        os.close(writing)
        watcher.join()
        os.close(reading)


@contextmanager
def kills_are_interrupts() -> Iterator[None]:
    """A kind kill and a terminal that is closed do what Ctrl-C does, so that what was made is removed."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
