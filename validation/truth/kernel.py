"""Whether the capture's shares of time agree with those that the sending kernel counted.

Linux counts per connection how long data was outstanding or queued, and how much of that time the
receive window or the send buffer held it up (``tcp_info``). The capture finds the same in packets
(phases.md, section 6). Compared over the whole transfer are: time with something to send, which is
all but handshake, waits for the peer, time to answer and an idle application, with the kernel's
busy time; and the time with a full window with the time that the kernel calls limited by window or
send buffer, since a bulk sender waits for whichever it notices first. Pure.

Three sorts of transfers may differ for a known reason and are counted apart: BBR paces, and while
it does the kernel waits for its timer, not for the window; a guest hears of an acknowledgement
later than a capture outside it; a process that was stopped has nothing queued while the window
stays as it was.

Bias: the kernel calls a window a limit only when a segment waits for it, and looks when it sends;
the capture allows a margin of two segments, the least that Linux sends at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from validation.truth.kernel_steps import HALF, NOTHING_TO_SEND

NEAR = 0.05
_PACED = frozenset({"bbr"})

BUSY, FULL = "something to send", "limited by window or send buffer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A share of one transfer's time, by its capture and by its kernel."""

    what: str
    capture: float
    kernel: float
    may_differ: bool
    """Whether there is a known reason for a difference."""

    @property
    def is_near(self) -> bool:
        """Whether they agree."""
        return abs(self.capture - self.kernel) <= NEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two shares of time of the same transfers, compared.

    ``plain``: transfers without a known reason for a difference; ``plain_near``: those of them that
    agree.
    """

    what: str
    transfers: int
    median_difference: float | None
    near: int
    plain: int
    plain_near: int


def pairs(stored: Mapping[str, Any]) -> Iterator[Pair]:
    """What can be compared of a transfer: nothing where either side is unknown."""
    row = ((stored.get("captures") or {}).get("sender") or {}).get("row") or {}
    steps = stored.get("kernel_steps")
    counters = steps or stored.get("kernel") or {}
    busy, duration = counters.get("busy_ns"), (steps or {}).get("lasted_ns")
    duration = duration or row.get("duration_ns")
    if not busy or not duration:
        return
    may_differ = _may_differ(stored)
    if row.get("share_path") is not None:
        idle = sum(row.get(f"share_{state}") or 0.0 for state in NOTHING_TO_SEND)
        yield Pair(
            what=BUSY,
            capture=steps["capture_busy_share"] if steps else 1.0 - idle,
            kernel=min(1.0, busy / duration),
            may_differ=may_differ,
        )
    limited = [
        counters[name]
        for name in ("receive_window_limited_ns", "send_buffer_limited_ns")
        if counters.get(name) is not None
    ]
    if row.get("window_full") is not None and limited:
        yield Pair(
            what=FULL,
            capture=row["window_full"],
            kernel=min(1.0, sum(limited) / duration),
            may_differ=may_differ,
        )


def agreements(transfers: Iterable[Mapping[str, Any]]) -> tuple[Agreement, ...]:
    """Over transfers that were made and whose sender's capture and kernel are known."""
    found = [pair for stored in transfers for pair in pairs(stored)]
    return tuple(
        _agreement(what, [pair for pair in found if pair.what == what]) for what in (BUSY, FULL)
    )


def equal_steps(transfers: Iterable[Mapping[str, Any]]) -> tuple[int, int, float] | None:
    """Transfers and steps of 10 ms that were compared, and the share of steps found equal.

    ``None`` if no transfer has samples.
    """
    found = [
        steps
        for stored in transfers
        if (steps := stored.get("kernel_steps")) and steps["equal_share"] is not None
    ]
    count = sum(steps["steps"] for steps in found)
    if not count:
        return None
    equal = sum(steps["equal_share"] * steps["steps"] for steps in found)
    return len(found), count, equal / count


def buffer_limited(transfers: Iterable[Mapping[str, Any]]) -> int:
    """Transfers limited by their send buffer for half of their busy time, by the kernel."""
    shares = [
        (counters["send_buffer_limited_ns"] / counters["busy_ns"])
        for stored in transfers
        if (counters := stored.get("kernel") or {}).get("busy_ns")
        and counters.get("send_buffer_limited_ns") is not None
    ]
    return sum(share >= HALF for share in shares)


def _may_differ(stored: Mapping[str, Any]) -> bool:
    network = stored.get("network") or {}
    is_paced = network.get("congestion_control") in _PACED
    return is_paced or network.get("guest") is not None or bool(stored.get("faults"))


def _agreement(what: str, compared: list[Pair]) -> Agreement:
    differences = [pair.capture - pair.kernel for pair in compared]
    plain = [pair for pair in compared if not pair.may_differ]
    return Agreement(
        what=what,
        transfers=len(compared),
        median_difference=median(differences) if differences else None,
        near=sum(pair.is_near for pair in compared),
        plain=len(plain),
        plain_near=sum(pair.is_near for pair in plain),
    )
