"""The sending kernel's counters every 10 ms beside the phases of its capture.

The kernel counts how long a connection had data to send and how long its receiver's window or its
own buffer held them up (``tcp_info``). A run samples these counters every 10 ms. Their differences
give the same shares as the counters at the end, without what comes behind the transfer's last
phase, and say in each step whether there was something to send; so does the capture, whose phases
are known states and times. Reads tables; judges nothing.

Bias: the kernel counts in jiffies, 1 to 10 ms; a step counts as equal when both sides find more
than half of it busy or neither does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

NOTHING_TO_SEND = frozenset({"handshake", "peer", "think", "idle_application"})
"""States of a transfer in which its sender has no data to send (phases.md, section 6)."""
LEAST_STEPS = 20
"""Fewer samples say no more than the counters at the end."""
LONGEST_STEP_NS = 100_000_000
"""A step between two samples further apart is not compared: the sampler itself was held up."""
HALF = 0.5

Row = Mapping[str, Any]


class _Idle(NamedTuple):
    begin: int
    end: int
    share: float


def compare(phases: Iterable[Row], sockets: Iterable[Row], row: Row) -> dict[str, Any] | None:
    """Compares a transfer's phases with the samples of its socket.

    ``row``: the transfer. Times are in nanoseconds since the epoch on both sides. ``None`` with
    fewer than :data:`LEAST_STEPS` samples.
    """
    idle = list(_idle(phases, row["transfer"]))
    if not idle:
        return None
    begin, end = idle[0].begin, idle[-1].end
    samples = [one for one in _of(sockets, row) if begin <= one["at_ns"] <= end]
    if len(samples) <= LEAST_STEPS:
        return None
    first, last = samples[0], samples[-1]
    lasted = last["at_ns"] - first["at_ns"]
    compared = equal = 0
    capture_busy = 0.0
    for before, after in pairwise(samples):
        step = after["at_ns"] - before["at_ns"]
        by_capture = step - _idle_within(idle, before["at_ns"], after["at_ns"])
        capture_busy += by_capture
        if 0 < step <= LONGEST_STEP_NS:
            by_kernel = after["busy_ns"] - before["busy_ns"]
            compared += step
            equal += step * ((by_kernel > HALF * step) == (by_capture > HALF * step))
    return {
        "steps": len(samples) - 1,
        "lasted_ns": lasted,
        **{name: last[name] - first[name] for name in TIMES},
        "capture_busy_share": capture_busy / lasted,
        "equal_share": equal / compared if compared else None,
    }


TIMES = ("busy_ns", "receive_window_limited_ns", "send_buffer_limited_ns")
"""Counters of a socket: of its life, and of that, limited by window or by buffer."""


def _of(sockets: Iterable[Row], row: Row) -> Iterator[Row]:
    """The samples of the transfer's socket that have all counters."""
    local, peer = str(row["src_port"]), str(row["dst_port"])
    for one in sockets:
        ends = (one["local"].rpartition(":")[2], one["peer"].rpartition(":")[2])
        if ends == (local, peer) and all(one.get(name) is not None for name in TIMES):
            yield one


def _idle(phases: Iterable[Row], transfer: str) -> Iterator[_Idle]:
    """Each phase, and the share of it without data to send."""
    whole: dict[int, tuple[int, int, int, int]] = {}
    for phase in phases:
        if phase["transfer"] != transfer:
            continue
        begin, end, idle, known = whole.get(
            phase["phase"], (phase["start_ns"], phase["end_ns"], 0, 0)
        )
        time = phase["time_ns"]
        idle += time * (phase["state"] in NOTHING_TO_SEND)
        whole[phase["phase"]] = (begin, end, idle, known + time)
    for number in sorted(whole):
        begin, end, idle, known = whole[number]
        yield _Idle(begin, end, idle / known if known else 0.0)


def _idle_within(phases: Sequence[_Idle], begin: int, end: int) -> float:
    """Nanoseconds without data to send between two moments."""
    idle = 0.0
    at = max(0, bisect_right(phases, begin, key=lambda phase: phase.begin) - 1)
    for phase in phases[at:]:
        if phase.begin >= end:
            break
        idle += max(0, min(end, phase.end) - max(begin, phase.begin)) * phase.share
    return idle
