"""Makes text from elsewhere safe for a terminal.

Names of interfaces and files, error texts and what remote hosts print may hold escape sequences
that move the cursor, change the window title or reverse the reading direction. Everything that the
command line prints passes here: our own colours and line redraws are let through, and JSON keeps
its values, with such characters as JSON escapes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import TextIO

_OWN = re.compile(r"\x1b\[(?:0|1|2|33|36|1;31|1;32|1;33)?[mK]")
"""What trustbed itself writes: the colours of ``report.paint``, and "erase to the end of line"."""
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


def printable_screen(text: str, *, redraws: bool = False) -> str:
    """The same for whole output, whose colours stay.

    Args:
        text: What is about to be written.
        redraws: Whether a carriage return stays too, as a progress line needs.
    """
    parts, end = [], 0
    for found in _OWN.finditer(text):
        parts += [_without_controls(text[end : found.start()], redraws=redraws), found.group()]
        end = found.end()
    return "".join([*parts, _without_controls(text[end:], redraws=redraws)])


def _without_controls(text: str, *, redraws: bool) -> str:
    if not redraws:
        return printable(text)
    return "\r".join(printable(part) for part in text.split("\r"))


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
