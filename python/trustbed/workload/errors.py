"""The error of a program whose output is not what it should be."""

from __future__ import annotations

from trustbed.errors import TrustbedError


class WorkloadError(TrustbedError):
    """A program's output that cannot be read, or that reports a failure of the program.

    Attributes:
        message: What is wrong, and where.
        hint: What to do about it.
    """


def first_line(text: str) -> str:
    """The first line with something on it, for a message; at most a hundred characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "nothing at all")
    return line if len(line) <= 100 else line[:99] + "…"
