"""A process and its descendants, by ``/proc/PID/task/TID/children`` (proc(5)).

Parents come before their children, and the children are read when the parent's turn is over:
a caller that sets something inheritable on each process misses none. Orphaned processes have no
parent to find them by.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def family(pid: int) -> Iterator[int]:
    """Their process ids. A process may have ended by the time that its id is read."""
    waiting, found = [pid], {pid}
    while waiting:
        one = waiting.pop(0)
        yield one
        for file in Path("/proc", str(one), "task").glob("[0-9]*/children"):
            try:
                children = [int(word) for word in file.read_text(encoding="ascii").split()]
            except OSError:  # the thread has ended
                continue
            waiting += [child for child in children if child not in found]
            found.update(children)
