"""What reading a trace of system calls can fail with."""

from __future__ import annotations

from trustbed.errors import TrustbedError


class CallsError(TrustbedError):
    """A trace that cannot be read; the message names file and line."""


def unreadable(source: str, line: int, what: str, hint: str) -> CallsError:
    """A line that is not what its format has."""
    return CallsError(f"{source}:{line}: {what}", hint)
