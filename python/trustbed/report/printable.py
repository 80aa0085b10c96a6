"""Makes text from elsewhere safe for a terminal.

Names of interfaces and files, error texts and what remote hosts print may hold escape sequences
that move the cursor, colour a verdict, change the window title or reverse the reading direction.
Everything that the command line prints passes here: JSON keeps its values, with such characters as
JSON escapes, and our own colours and redrawn lines take paths of their own, which no text of others
can take.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TextIO

_MARK = f"\x1b{os.urandom(8).hex()}"
"""What our own colours begin with until they are written: no text from elsewhere can hold it."""
_OWN = re.compile(rf"{_MARK}\[([0-9;]+)m")
_UNSEEN = (
    "\x7f-\x9f"  # DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029\ufeff\U000e0000-\U000e007f"  # line separators and invisible tags
)
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f{_UNSEEN}]")
"""Control characters but tab and newline."""
_ESCAPED = re.compile(f'["\\\\\x00-\x1f{_UNSEEN}]')
"""What a JSON text has as an escape."""


def printable(text: str) -> str:
    """``text`` with every control character written out as a Python escape.

    Tab and newline stay. Use it on a name or on a message that has no colours yet.
    """
    return _CONTROL.sub(lambda found: ascii(found.group())[1:-1], text)


def coloured(text: str, code: str) -> str:
    """``text`` in a colour (SGR, ECMA-48), for :func:`printable_screen`."""
    return f"{_MARK}[{code}m{text}{_MARK}[0m"


def printable_screen(text: str) -> str:
    """The same for whole output, in which what :func:`coloured` has made becomes colours."""
    pieces = _OWN.split(text)  # text and code by turns
    return "".join(
        f"\x1b[{piece}m" if number % 2 else printable(piece) for number, piece in enumerate(pieces)
    )


def redraw(text: str, stream: TextIO, *, end: str = "") -> None:
    """Writes a line over the one where the cursor is; an empty one wipes that."""
    unchecked(stream)(f"\r{printable(text)}\x1b[K{end}")


def json_text(value: object, *, indent: int | None = None) -> str:
    """``value`` as JSON in which control characters are escapes; NaN is refused."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _CONTROL.sub(lambda found: json.dumps(found.group())[1:-1], text)


def json_words(words: Sequence[str]) -> list[str]:
    """Every word as :func:`json_text` writes it; quicker for many."""
    if _ESCAPED.search("".join(words)):
        return [json_text(word) for word in words]
    return [f'"{word}"' for word in words]


def write_json(value: object, stream: TextIO | None = None, *, indent: int = 1) -> None:
    """Writes a JSON document, on standard output unless ``stream`` is given."""
    _write(json_text(value, indent=indent) + "\n", stream)


def write(text: str, stream: TextIO | None = None) -> None:
    """Writes text for people, on standard output unless ``stream`` is given."""
    _write(printable_screen(text), stream)


def unchecked(stream: TextIO) -> Callable[[str], object]:
    """How to write text to ``stream`` that must not be checked (again) for control characters."""
    write: Callable[[str], object] = getattr(stream, "write_unchecked", stream.write)
    return write


def _write(text: str, stream: TextIO | None) -> None:
    unchecked(sys.stdout if stream is None else stream)(text)
