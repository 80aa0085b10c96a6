"""The processes of a container by their numbers out here (pid_namespaces(7))."""

from __future__ import annotations

from pathlib import Path

from trustbed.agent.process_tree import family

GONE = 1 << 22
"""The number of a process that had ended before it was found: one that no process has (proc(5),
PID_MAX_LIMIT), so that signals and samples find nothing."""


def outside(first: int, inside: int) -> int:
    """The number here of a process that has the number ``inside`` in a container.

    ``first`` is the first process of the container, by its number here. Of processes in containers
    within the container, whose numbers are the same, the nearest to the first is found.
    """
    return next((pid for pid in family(first) if _innermost(pid) == inside), GONE)


def _innermost(pid: int) -> int | None:
    """The number of a process in its own namespace: the last that the kernel lists."""
    try:
        status = Path("/proc", str(pid), "status").read_text(encoding="ascii", errors="replace")
    except OSError:  # it has ended
        return None
    found = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    numbers = found.split()[1:]
    return int(numbers[-1]) if numbers else None
