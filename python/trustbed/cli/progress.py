"""A progress bar on standard error.

Drawn only on a terminal and only after half a second, so that short captures leave no trace. One
line, redrawn in place at most ten times a second and wiped at the end.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Self, TextIO

from trustbed.report.printable import printable, redraw

_PATIENCE = 0.5
_EVERY = 0.1


class Progress:
    """Call it with bytes read and bytes in total (``None`` = unknown, standard input).

    Leave the block to wipe it.

    Attributes:
        skipped: Bytes among those read with which there was nothing to do: they have no pace.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = printable(label)
        self.skipped = 0
        self._stream = stream or sys.stderr
        self._started = time.monotonic()
        self._drawn: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wipe()

    def wipe(self) -> None:
        """Makes room for a message, until the line is drawn again."""
        if self._drawn is not None:
            self._drawn = None
            redraw("", self._stream)
            self._stream.flush()

    def __call__(self, read: int, total: int | None) -> None:
        """Redraws the line if it is time to."""
        now = time.monotonic()
        if now - self._started < _PATIENCE or (
            self._drawn is not None and now - self._drawn < _EVERY
        ):
            return
        self._drawn = now
        columns = shutil.get_terminal_size().columns
        seconds = now - self._started
        text = line(self.label, read, total, seconds, columns - 1, skipped=self.skipped)
        redraw(text, self._stream)
        self._stream.flush()


def line(
    label: str, read: int, total: int | None, seconds: float, columns: int, *, skipped: int = 0
) -> str:
    """The bar as text: share done, what remains, pace; never wider than ``columns``."""
    pace = max(read - skipped, 0) / seconds if seconds > 0 else 0.0
    if total:
        share = min(read / total, 1.0)
        left = max(total - read, 0)
        filled = round(share * 24)
        text = f"reading  {'━' * filled}{'─' * (24 - filled)} {share:4.0%}  "
        if pace > 0 or not left:
            text += f"{left / pace if left else 0:.0f} s left  "
        text += f"{pace / 1e6:.0f} MB/s  {label}"
    else:
        text = f"reading  {read / 1e6:,.0f} MB  {seconds:.0f} s  {pace / 1e6:.0f} MB/s  {label}"
    return text if len(text) <= columns else text[: max(columns - 1, 0)] + "…"


def shown(label: str, *, quiet: bool) -> AbstractContextManager[Progress | None]:
    """A bar for the time of a block, or none if no terminal shows it."""
    return Progress(label) if visible(quiet=quiet) else nullcontext()


def visible(*, quiet: bool) -> bool:
    """Whether a terminal shows it."""
    return (
        not quiet
        and sys.stderr is not None
        and sys.stderr.isatty()
        and os.environ.get("TERM", "") != "dumb"
    )
