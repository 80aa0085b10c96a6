"""What is wrong with a testbed, and what to do about it."""

from __future__ import annotations


class TestbedError(Exception):
    """A testbed cannot be made, used or removed. ``message`` says what and where, ``hint`` what to do."""

    __test__ = False  # no test, whatever pytest makes of the name

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


MOST_BYTES = 64 << 20
"""What a command may write on one stream that is kept in memory here."""


def wrote_too_much(who: str) -> TestbedError:
    """Why nobody listens to a command any longer."""
    hint = "something there writes without end: run it by hand; what is large belongs into a file"
    return TestbedError(f"{who} wrote more than {MOST_BYTES >> 20} MB", hint)
