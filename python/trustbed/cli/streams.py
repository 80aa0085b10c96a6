"""Standard output and standard error, and what happens when one cannot be written.

Either is free of foreign control characters, whoever writes to it: names of files, interfaces and
hosts come from others. Lines that are redrawn go by ``write_unchecked``. Standard error carries
progress, warnings and hints. When its reader goes away (``2>&1 | head``, a closed terminal, a log
on a full disk), the work goes on without it. Standard output carries results: its failure ends the
program, and ``Results`` knows that it was standard output that failed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import TextIO

from trustbed.report.printable import printable_screen


class Results:
    """A text stream that makes control characters visible, and knows whether writing failed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.has_failed = False

    def write(self, text: str) -> int:
        """Writes the text, control characters made visible."""
        self.write_unchecked(text if text.isprintable() else printable_screen(text))
        return len(text)

    def write_unchecked(self, text: str) -> None:
        """Writes text that moves the cursor on purpose, or that was checked before."""
        with self._noticed():
            self._stream.write(text)

    def flush(self) -> None:
        """Flushes the stream."""
        with self._noticed():
            self._stream.flush()

    @contextlib.contextmanager
    def _noticed(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self.has_failed = True
            raise

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


class Messages:
    """A text stream that drops its output once it cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes the text, control characters made visible."""
        self.write_unchecked(printable_screen(text))
        return len(text)

    def write_unchecked(self, text: str) -> None:
        """Writes text that moves the cursor on purpose, or that was checked before."""
        with self._dropped():
            self._stream.write(text)

    def flush(self) -> None:
        """Flushes the stream."""
        with self._dropped():
            self._stream.flush()

    @contextlib.contextmanager
    def _dropped(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            # Buffered text and later writes to this descriptor are discarded, too: they must not
            # fail again.
            null = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(null, self._stream.fileno())
            finally:
                os.close(null)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Inside the block the two streams are those of this module."""
    before = sys.stdout, sys.stderr
    # Every attribute that these two lack is the stream's.
    sys.stdout, sys.stderr = Results(before[0]), Messages(before[1])
    # Called behind the block, when the program ends by an error that is a bug.
    sys.excepthook = _show
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A traceback without control characters: its error may quote what others sent."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(printable_screen("".join(traceback.format_exception(kind, error, trace))))
