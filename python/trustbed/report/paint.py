"""Colour for terminals that support it.

Without colour every line reads the same: no meaning is in the colour alone. Colours show once the
text has been through :func:`~trustbed.report.printable.printable_screen`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO

from trustbed.report.printable import coloured

_CODES = {
    "discard": "1;31",
    "error": "1;31",
    "review": "1;33",
    "warning": "33",
    "trust": "1;32",
    "info": "36",
    "strong": "1",
    "faint": "2",
}


@dataclass(frozen=True, slots=True)
class Paint:
    """Wraps text in colours, or leaves it as it is."""

    on: bool = False

    def __call__(self, role: str, text: str) -> str:
        """``text`` in the colour of ``role``."""
        code = _CODES.get(role)
        return coloured(text, code) if self.on and code and text else text


def enabled(stream: TextIO, *, never: bool) -> bool:
    """Whether ``stream`` is a terminal without ``NO_COLOR`` (https://no-color.org)."""
    if never or os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return stream.isatty()
