"""The base of every error that a user can meet: what happened, where, and what to do about it."""

from __future__ import annotations


class TrustbedError(Exception):
    """An error that is reported in two lines and without a traceback.

    Attributes:
        message: What failed, and where.
        hint: What to do about it.
    """

    exit_code = 1
    """The program's exit code for this error."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class TestbedError(TrustbedError):
    """A testbed, or a host, cannot be made, used or removed."""

    __test__ = False  # no test, whatever pytest makes of the name


class HostLostError(TestbedError):
    """A host is gone, or sends what no host sends. What it was to measure is lost."""


class HostNotStartedError(TestbedError):
    """A guest or container does not start; ``host`` is its name. Others may."""

    def __init__(self, host: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.host = host


MOST_BYTES = 64 << 20
"""The most that a command may write to one stream that is held in memory."""


def wrote_too_much(who: str) -> TestbedError:
    """A command was stopped because it wrote too much."""
    hint = "run it by hand to see its output; write large output to a file"
    return TestbedError(f"{who} wrote more than {MOST_BYTES >> 20} MiB", hint)


def reason(error: OSError) -> str:
    """The kernel's message for an error, as a part of a sentence: ``permission denied``."""
    return (error.strerror or str(error)).lower()


def reason_and_file(error: OSError) -> str:
    """The same, with the file or object that the error names, if any."""
    return reason(error) + (f", {error.filename}" if error.filename else "")
