"""Results of calls as text tracers print them."""

from __future__ import annotations

import errno
import re

_RESTARTS = {
    "ERESTARTSYS": 512,
    "ERESTARTNOINTR": 513,
    "ERESTARTNOHAND": 514,
    "ERESTART_RESTARTBLOCK": 516,
}
"""What the kernel returns within itself when a signal interrupts a call."""


_OCTAL = re.compile("0[0-7]+")
"""As strace prints what ``umask`` returns."""


def error_number(name: str) -> int | None:
    """The number of an error: ``ENOENT``."""
    found = _RESTARTS.get(name, getattr(errno, name, None))
    return found if isinstance(found, int) else None


def whole(text: str) -> int | None:
    """A number with a sign, decimal, hexadecimal or (``022``) octal.

    Pointers beyond 2⁶³ are negative.
    """
    try:
        found = int(text, 8) if _OCTAL.fullmatch(text) else int(text, 0)
    except ValueError:
        return None
    return found - 2**64 if found >= 2**63 else found
