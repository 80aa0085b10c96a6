"""The processors on which what begins here may run (sched_setaffinity(2))."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from trustbed.errors import TestbedError


@contextmanager
def pinned(processors: Sequence[int]) -> Iterator[None]:
    """Processes that the calling thread starts in the block keep to these; none given: to all.

    They inherit it from the thread, so there is no moment at which they run elsewhere.

    Raises:
        TestbedError: This process may use none of them.
    """
    if not processors:
        yield
        return
    before = os.sched_getaffinity(0)
    wanted = set(processors) & before
    if not wanted:
        usable = ", ".join(map(str, sorted(before)))
        named = ", ".join(map(str, processors))
        raise TestbedError(
            f"no process may run on processor {named} here", f"pin it to some of {usable}"
        )
    os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
