"""A page that is redrawn in place, on a screen of its own.

The previous content of the terminal returns when the watch ends.

Plain control sequences (ECMA-48, and the alternate screen of xterm). A frame is written at once and
overwrites the one before without clearing it first, so that nothing flickers. Suspended (Ctrl-Z),
it gives the terminal back until it is resumed.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Self, TextIO

from trustbed.report.printable import printable_screen, unchecked

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[J"
_LEAVE = "\x1b[?25h\x1b[?1049l"


class Screen:
    """Draws pages inside its block."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open = False

    def __enter__(self) -> Self:
        self._enter()
        signal.signal(signal.SIGTSTP, self._suspend)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        self._leave()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        try:
            found = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            found = shutil.get_terminal_size()
        return found.columns or 80, found.lines or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Shows a page; the cursor stays behind its last line."""
        shown = map(printable_screen, lines)
        self._write("\x1b[H" + "\x1b[K\r\n".join(shown) + "\x1b[K\x1b[J")

    def _enter(self) -> None:
        self._open = True
        self._write(_ENTER)

    def _leave(self) -> None:
        if self._open:
            self._open = False
            self._write(_LEAVE)

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        self._leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        # Here it goes on when it is resumed.
        signal.signal(signal.SIGTSTP, self._suspend)
        self._enter()

    def _write(self, text: str) -> None:
        unchecked(self._stream)(text)
        self._stream.flush()
