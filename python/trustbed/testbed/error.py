"""What is wrong with a testbed, and what to do about it."""

from __future__ import annotations


class TestbedError(Exception):
    """A testbed cannot be made, used or removed. ``message`` says what and where, ``hint`` what to do."""

    __test__ = False  # no test, whatever pytest makes of the name

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
