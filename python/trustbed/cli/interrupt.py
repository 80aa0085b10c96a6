"""Ctrl-C while the engine waits for input, and signals that act like Ctrl-C.

Python raises ``KeyboardInterrupt`` when its own code runs again. While the engine computes it
checks for signals every tenth of a second; while it waits in a read (``tcpdump -w - | trustbed
analyze -`` on a quiet network) it cannot. A thread then ends the program after a moment's grace.
This is safe only as long as nothing is being written: use it around the reading of a capture, not
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
def abandoned_by_interrupt(give_up: Callable[[], object]) -> Iterator[None]:
    """Inside the block, calls ``give_up`` from another thread after an interrupt.

    Only if Python has not raised the interrupt within ``GRACE_SECONDS``.
    """
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
def signals_as_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP act like Ctrl-C, so that everything that was made is removed."""

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
