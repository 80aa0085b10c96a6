"""Orderly termination: at SIGTERM a command first ends what is running, as at an interrupt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Within the block SIGTERM raises :class:`SystemExit`.

    Processes of a pool and control groups would outlive what made them.
    """

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
