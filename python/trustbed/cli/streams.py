"""Standard output and standard error, and what happens when one cannot be written.

Standard error carries progress, warnings and hints, free of foreign control characters. When its
reader goes away (``2>&1 | head``, a closed terminal, a log on a full disk), the work goes on
without it. Standard output carries results: its failure ends the program, and ``Results`` knows
that it was standard output that failed.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from trustbed.report.printable import printable_screen


class Results:
    """A text stream that knows whether writing to it has failed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.has_failed = False

    def write(self, text: str) -> int:
        """Writes the text."""
        with self._noticed():
            return self._stream.write(text)

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
        with self._dropped():
            self._stream.write(printable_screen(text, redraws=True))
        return len(text)

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
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stdout, sys.stderr = before
