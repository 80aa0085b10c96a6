"""Standard error, whether somebody reads it or not.

It carries talk: progress, warnings, hints. When its reader goes away (``2>&1 | head``, a terminal that is closed, a log on a full disk),
what is being done goes on, and talks to nobody from then on. Standard output is another matter: who does not read results needs none.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO


class Talk:
    """A stream of text that writes until it cannot, and then keeps quiet."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes if there is anybody."""
        with self._unheard():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Lets nothing wait."""
        with self._unheard():
            self._stream.flush()

    @contextlib.contextmanager
    def _unheard(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            # What is still buffered, and what else has this descriptor, goes nowhere too: it must not fail again.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, self._stream.fileno())
            finally:
                os.close(nowhere)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextlib.contextmanager
def nobody_has_to_listen() -> Iterator[None]:
    """Inside the block standard error is one that nobody has to read."""
    before = sys.stderr
    sys.stderr = Talk(before)  # everything that is not here is the stream's own
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = before
