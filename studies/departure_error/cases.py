"""What is tried.

Links with a transfer each, disturbances of the emulator, and the order of the trials. Pure.

Several links share one emulator, so that one disturbance is seen by several transfers at a time;
each link has its own two hosts, and its departure_error is taken from the ledger by itself. Their
order is
shuffled by the seed; no more than four disturbed trials lie between two undisturbed twins, so that
what changes slowly on the machine is in the twins as well.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

FRAME_BYTES = 1514
"""A packet of full size with its Ethernet header, as links count it."""
TRANSFER_SECONDS = 3.0
WARM_UP_SECONDS = 0.2
_LEAST_QUEUE = 10
"""Packets.

Less would lose most of every burst that a sender is allowed to begin with (RFC 6928).
"""
BETWEEN_TWINS = 4
"""Disturbed trials from one twin to the next."""
_HUB = "hub"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A link with one transfer. The queue holds about the product of rate and round trip."""

    name: str
    megabits: int
    rtt_ms: int
    kind: Literal["bulk", "http"] = "bulk"
    loss: str | None = None
    receive_buffer: str | None = None
    background_megabits: int = 0

    @property
    def frame_ns(self) -> float:
        """How long a packet of full size takes on the link."""
        return FRAME_BYTES * 8e3 / self.megabits

    @property
    def queue_packets(self) -> int:
        """The length of the queue."""
        return max(_LEAST_QUEUE, round(self.megabits * self.rtt_ms * 1e3 / 8 / FRAME_BYTES))

    @property
    def words(self) -> str:
        """In a table."""
        what = [f"{self.megabits} Mbit/s, {self.rtt_ms} ms"]
        what += ["10 KB fetches"] if self.kind == "http" else []
        what += [f"{self.loss} loss"] if self.loss else []
        what += [f"window {self.receive_buffer}"] if self.receive_buffer else []
        what += (
            [f"{self.background_megabits} Mbit/s CBR beside it"] if self.background_megabits else []
        )
        return ", ".join(what)


def _bulk(megabits: int, rtt_ms: int) -> Case:
    return Case(name=f"bulk-{megabits}-{rtt_ms}", megabits=megabits, rtt_ms=rtt_ms)


GROUPS: dict[str, tuple[Case, ...]] = {
    "a": (
        _bulk(5, 5),
        _bulk(20, 20),
        _bulk(50, 80),
        _bulk(100, 5),
        Case(name="lossy", megabits=20, rtt_ms=20, loss="0.1%"),
    ),
    "b": (
        _bulk(5, 20),
        _bulk(20, 80),
        _bulk(50, 5),
        _bulk(100, 20),
        Case(name="beside-cbr", megabits=20, rtt_ms=20, background_megabits=5),
        Case(name="fetches-near", megabits=20, rtt_ms=5, kind="http"),
    ),
    "c": (
        _bulk(5, 80),
        _bulk(20, 5),
        _bulk(50, 20),
        _bulk(100, 80),
        Case(name="window", megabits=50, rtt_ms=20, receive_buffer="64KiB"),
        Case(name="fetches", megabits=20, rtt_ms=20, kind="http"),
    ),
}
"""Links that run side by side.

200 Mbit/s together, which leaves two processors idle for most of the time.
"""
CASES = {case.name: case for group in GROUPS.values() for case in group}


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The emulator stands still for so long, once or every so often."""

    stop_ms: float
    every_ms: int | None

    @property
    def words(self) -> str:
        """In a table."""
        return (
            f"{self.stop_ms:g} ms "
            f"{'once' if self.every_ms is None else f'every {self.every_ms} ms'}"
        )

    def stops(self, seed: int, seconds: float) -> list[tuple[float, float]]:
        """When the emulator stops, after a beginning, and for how long: seconds.

        Intervals vary by a quarter, to beat with no RTT.
        """
        source = random.Random(f"{seed} {self.stop_ms:g} {self.every_ms}")
        stop = self.stop_ms / 1e3
        if self.every_ms is None:
            return [(seconds * source.uniform(0.3, 0.7), stop)]
        found, at = [], 0.0
        while (at := at + self.every_ms / 1e3 * source.uniform(0.75, 1.25)) < seconds - stop:
            found.append((at, stop))
        return found


STOPS_MS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
INTERVALS_MS = (None, 1000, 100, 20)
DISTURBANCES = tuple(
    Disturbance(stop, every)
    for stop in STOPS_MS
    for every in INTERVALS_MS
    if every is None or stop <= every / 2
)
LONG = Disturbance(250.0, None)
"""Longer than the least retransmission timeout of Linux, 200 ms.

What was sent before it is sent again.
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a group.

    ``disturbance`` is none for a twin; ``number`` is its place among those of its seed.
    """

    seed: int
    number: int
    group: str
    disturbance: Disturbance | None

    @property
    def key(self) -> str:
        """What tells it from others, in the file of results."""
        words = self.disturbance.words if self.disturbance else "twin"
        return f"{self.seed}/{self.number}/{self.group}/{words}"


def trials(seed: int) -> list[Trial]:
    """All trials of a seed in their order: every group under every disturbance, groups in turn."""
    turns = zip(*(_of_group(seed, group) for group in GROUPS), strict=True)
    flat = [(group, one) for turn in turns for group, one in zip(GROUPS, turn, strict=True)]
    return [Trial(seed, number, group, one) for number, (group, one) in enumerate(flat)]


def _of_group(seed: int, group: str) -> Iterator[Disturbance | None]:
    """A twin, some disturbances, a twin, …, a twin; then the long stop between two more."""
    shuffled = list(DISTURBANCES)
    random.Random(f"{seed} {group}").shuffle(shuffled)
    for place, disturbance in enumerate(shuffled):
        if place % BETWEEN_TWINS == 0:
            yield None
        yield disturbance
    yield from (None, LONG, None)


def scenario(group: str, seed: int) -> str:
    """The scenario of a group, as `trustbed run` would take it."""
    head = (
        f'name = "departure_error {group}"\nseed = {seed}\nduration = '
        f'"{TRANSFER_SECONDS:g}s"\nwarm_up = "{WARM_UP_SECONDS:g}s"\n'
    )
    head += f'[samples]\nenabled = false\n[topology]\nrouters = ["{_HUB}"]\n'
    return head + "".join(_tables(case) for case in GROUPS[group])


def _tables(case: Case) -> str:
    near, far = f"{case.name}-near", f"{case.name}-far"
    lines = [
        f"[hosts.{near}]",
        f"[hosts.{far}]",
        f"[links.{case.name}]",
        f'between = ["{near}", "{far}"]',
    ]
    lines += [
        f'rate = "{case.megabits}Mbit/s"',
        f'delay = "{case.rtt_ms / 2:g}ms"',
        f'queue = "{case.queue_packets}p"',
    ]
    lines += (
        [f'{"down" if case.kind == "http" else "up"}.loss = "{case.loss}"'] if case.loss else []
    )
    for host in (
        near,
        far,
        # every host has to reach every other; nothing takes this way, because each transfer has a
        # shorter one
    ):
        lines += [f"[links.{host}-joins]", f'between = ["{host}", "{_HUB}"]']
    lines += [
        f"[workload.{case.name}]",
        f'kind = "{case.kind}"',
        f'host = "{near}"',
        f'to = "{far}"',
    ]
    lines += ['object = "10KB"'] if case.kind == "http" else []
    lines += [f'receive_buffer = "{case.receive_buffer}"'] if case.receive_buffer else []
    if case.background_megabits:
        lines += [
            f"[background.{case.name}-noise]",
            'model = "cbr"',
            f'rate = "{case.background_megabits}Mbit/s"',
        ]
        lines += [f'from = "{near}"', f'to = "{far}"']
    return "\n".join(lines) + "\n"


def sender(case: Case) -> str:
    """The host that sends the data, beside which it is captured."""
    return f"{case.name}-{'far' if case.kind == 'http' else 'near'}"
