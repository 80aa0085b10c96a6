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


_LONGEST_ADDRESS = 12
"""Hexadecimal digits of an address of a process: 47 bits."""
_BARE_ADDRESS = re.compile("[0-9]*[A-F][0-9A-F]*|[0-9A-F]*000")


def address(text: str) -> int | None:
    """An address as sysdig prints it: hexadecimal without a sign of it, or decimal.

    It begins a page: one of digits only that ends in 000 is hexadecimal, unless it is too long.
    """
    if len(text) <= _LONGEST_ADDRESS and _BARE_ADDRESS.fullmatch(text):
        return int(text, 16)
    return whole(text)


def whole(text: str) -> int | None:
    """A number with a sign, decimal, hexadecimal or (``022``) octal.

    Pointers beyond 2⁶³ are negative.
    """
    try:
        found = int(text, 8) if _OCTAL.fullmatch(text) else int(text, 0)
    except ValueError:
        return None
    return found - 2**64 if found >= 2**63 else found
