"""Waits until no one else uses the machine.

A transfer that is made while others use it is invalid, and its time wasted.

Before a transfer a short spin reads the clock repeatedly: after a gap of more than a millisecond,
something else had the processor, the hypervisor or another process. That is the measure by which a
repetition is discarded (`overdue_share` of the emulator: a hundredth
of the time over a millisecond late), taken beforehand. Of the transfers with odd seeds of a first
run, 1 in 328 was invalid where the hypervisor stole less than a hundredth of the time, and 39 of 69
where it stole more than a fiftieth.

Does not choose among transfers: what is made after waiting is what would have been made before, and
the time that it waited is stored with it.

Bias: it samples one processor, for a moment. Other load that begins later invalidates the transfer
all the same; the emulator's departure error, which is always recorded, decides. One that is never
calm costs the allowance once, and is used as it is from then on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

GAP_NS = 1_000_000
MOST_LOST, MOST_STOLEN = 0.02, 0.05
"""Alone, and beside other transfers of the same run.

Of the odd seeds of that run 10 of 34 were invalid where 2 to 5 % were stolen, and 29 of 35 above.
"""
GLANCE_SECONDS, LOOK_SECONDS = 0.2, 1.0
"""Before a transfer, and once the machine was found to be in use.

Then it has to be calm for longer.
"""
PAUSE_SECONDS = 4.0
"""Between two looks."""
ALLOWANCE_SECONDS = 1800.0
"""Default for a whole run."""


def lost_share(seconds: float, *, clock: Callable[[], int] = time.monotonic_ns) -> float:
    """Share of so many seconds of spinning lost in gaps of over a millisecond."""
    begin = before = clock()
    end = begin + int(seconds * 1e9)
    lost = 0
    while before < end:
        now = clock()
        if now - before > GAP_NS:
            lost += now - before
        before = now
    return lost / (before - begin)


def stolen_share(seconds: float, *, processors: Callable[[], Processors] | None = None) -> float:
    """The part of so many seconds that the hypervisor gave to others, by the kernel's counters.

    0 if the kernel does not count it.

    For a machine on which other transfers of the run are active: a spin beside them would lose time
    to those. Spins, because an idle processor is not denied any time.
    """
    look = processors or _processors
    before = look()
    lost_share(seconds)
    after = look()
    passed = after.all - before.all
    return (after.stolen - before.stolen) / passed if passed > 0 else 0.0


class Processors(NamedTuple):
    """Ticks of all processors since the machine began."""

    stolen: int
    all: int


def _processors() -> Processors:
    """From the first line of ``/proc/stat``, see proc_stat(5).

    Guests' time is in their programs' already.
    """
    ticks = [
        int(word)
        for word in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    ]
    return Processors(stolen=ticks[STEAL] if len(ticks) > STEAL else 0, all=sum(ticks))


STEAL = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Senses:
    """How a machine is sampled, also while transfers run, how time passes, and who is notified.

    ``report`` gets the lost share and the remaining seconds of waiting; ``is_over`` is true
    when the run has no more time.
    """

    look: Callable[[float], float] = lost_share
    look_beside: Callable[[float], float] = stolen_share
    sleep: Callable[[float], None] = time.sleep
    report: Callable[[float, float], None]
    is_over: Callable[[], bool]


class Calm:
    """Before each transfer :meth:`wait`, until the allowance for the whole run is used up."""

    def __init__(self, allowance_seconds: float, senses: Senses) -> None:
        self._left = max(0.0, allowance_seconds)
        self._senses = senses

    def wait(self, *, beside: bool = False) -> Mapping[str, float]:
        """Returns when the machine is calm or the allowance is used up.

        Returns the last lost share, and the time waited.

        ``beside`` other transfers of the run, only what the hypervisor takes counts. Empty if
        waiting is disabled or the allowance is used up: then there are no samples.
        """
        if not self._left:
            return {}
        look = self._senses.look_beside if beside else self._senses.look
        lost, waited = look(GLANCE_SECONDS), 0.0
        most = MOST_STOLEN if beside else MOST_LOST
        while lost > most and self._left and not self._senses.is_over():
            self._senses.report(lost, self._left)
            pause = min(PAUSE_SECONDS + LOOK_SECONDS, self._left)
            self._senses.sleep(max(0.0, pause - LOOK_SECONDS))
            lost = look(LOOK_SECONDS)
            waited += pause
            self._left -= pause
        if not self._left:
            self._senses.report(lost, 0.0)
        return {"lost_share": lost, "waited_seconds": waited}
