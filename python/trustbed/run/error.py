"""A run that cannot go on, and what to do about it."""

from __future__ import annotations


class RunError(Exception):
    """A run that cannot go on. What was measured so far is complete."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
