"""The section of docs/validation.md: what is accepted, then what came out."""

from __future__ import annotations

from validation.truth.kinds import table
from validation.truth.result import Result

_HEAD = """# How often the verdict is right

`make truth` makes transfers whose limiting cause is known because it was made: on emulated networks that are themselves built to have one
known limit, something is done to a transfer or nothing, in doses from what stops it down to what it does not feel. Each is captured
beside the sender, beside the receiver and at the router between them; each capture is judged alone, the sender's once more with what the
run knows besides.

A transfer is labelled by what was done *and* by what that cost against undisturbed transfers on the same network (its twins, of which
each network has four): less than 5 % of the throughput counts as healthy, 5 to 15 % is scored apart. Every transfer has a seed; rules are
developed on odd seeds only, and what is stated here is of even seeds.

## What is accepted

Written down before the first score. Where several causes stand, the packets leave more than one reading; the first in the column of what
the run knows is the one that was made. A healthy transfer must be trusted, and named after what limits its network; if what was done to it
is the network's own, its name is right too.

"""


def table_only() -> str:
    """The section before anything was scored."""
    return _HEAD + table()


def render(result: Result) -> str:
    """The section with the result."""
    return table_only()
