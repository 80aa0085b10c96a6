"""The error of a program whose output is not what it should be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trustbed.errors import TrustbedError


class WorkloadError(TrustbedError):
    """A program's output that cannot be read, or that reports a failure of the program.

    Attributes:
        message: What is wrong, and where.
        hint: What to do about it.
    """


@contextmanager
def read_as_output_of(tool: str) -> Iterator[None]:
    """Inside the block, whatever a malformed output leads to is a :class:`WorkloadError`.

    The output comes from another program, often from another host: each value may be of another
    type, missing, or too large.
    """
    try:
        yield
    except (
        ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise WorkloadError(
            f"this is not what {tool} prints: {type(error).__name__}: {error}",
            f"run {tool} again, and keep its output as it is",
        ) from error


def first_line(text: str) -> str:
    """The first line with something on it, for a message; at most a hundred characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "nothing at all")
    return line if len(line) <= 100 else line[:99] + "…"
