"""The networks of a run, drawn from its seed: as many of each half, families in turn.

Those that a window limits, those that a link does, and what some disturbances ask for.

Each network belongs to one half of the families and to one round of the run. What happens on them
is in `plan`.

Bias: where none of a round's networks can bear a disturbance, those of all rounds are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from random import Random
from typing import TypeAlias

from validation.truth.disturbances import Disturbance
from validation.truth.families import HALVES, Family, Half, of_half
from validation.truth.networks import PACKET_BYTES, WINDOW_SHARES, Limit, Network, drawn

WINDOW_NETWORKS, LINK_NETWORKS, SHORT_NETWORKS = 12, 24, 4
SMALL_BUFFER_NETWORKS, TINY_WINDOW_NETWORKS = 10, 4
SENDER_GUEST_NETWORKS, RECEIVER_GUEST_NETWORKS = 11, 5
"""Numbers of networks in each half."""
DRAWS = 64
"""Draws from one family before the next has its turn."""
TINY_SEGMENTS = (3, 5, 2, 6)
"""Windows of networks on which acknowledgements are delayed."""
GUEST_NICS = ("virtio-net", "e1000")
GUEST_MEGABITS = (4.0, 15.0)
"""What a lone transfer of a guest comes to.

A processor that is emulated keeps up with twice the upper bound; below the lower one a small
part of it is enough, and a quota takes nothing."""
GUEST_TARGETS_MEGABITS = (5.5, 8.0, 12.0)
"""What its window is to allow where a window limits a guest."""
GUEST_SECONDS = 4.0
LEAST_GUEST_WINDOW_BYTES = 8192
LINK_SHARE = 3
"""One guest network in so many is limited by its link."""
BUFFER_PATHS = 1.5
"""Send buffer on a network that is limited by its link, in what fits into the path."""
_WIDE_MS, _MOST_MS = 5, 60
"""Round trips that a small send buffer or a tiny window is looked at on."""

Draw: TypeAlias = Callable[[Random, Family, int], Network | None]


class Pools:
    """The networks of a run, by half, by what they are for, and by round."""

    def __init__(self, seed: int, *, rounds: int) -> None:
        self._seed = seed
        self._count = rounds
        self._pools = {half: self._of(half) for half in HALVES}

    def _of(self, half: Half) -> dict[str, tuple[Network, ...]]:
        found = {
            "window": self._drawn("window", half, WINDOW_NETWORKS, _plain("window")),
            "link": self._drawn("link", half, LINK_NETWORKS, _plain("link")),
            "short": self._drawn("short", half, SHORT_NETWORKS, _plain("short")),
            "small": self._drawn("small", half, SMALL_BUFFER_NETWORKS, _small_buffer),
            "tiny": self._drawn("tiny", half, TINY_WINDOW_NETWORKS, _tiny_window),
        }
        found["sender"] = self._drawn("sender", half, SENDER_GUEST_NETWORKS, _guest)
        found["receiver"] = tuple(
            replace(network, guest_end="receiver")
            for network in self._drawn("receiver", half, RECEIVER_GUEST_NETWORKS, _guest)
        )
        return found

    @property
    def rounds(self) -> tuple[tuple[Network, ...], ...]:
        """Every network, by round; those of the two halves in turn."""
        return tuple(tuple(self._round(number)) for number in range(self._count))

    def _round(self, number: int) -> Iterator[Network]:
        for name in self._pools[HALVES[0]]:
            parts = [self._pools[half][name][number :: self._count] for half in HALVES]
            for networks in zip(*parts, strict=True):
                yield from networks

    def fit_for(self, disturbance: Disturbance, half: Half, number: int) -> list[Network]:
        """The networks of a half and a round that suit a disturbance."""
        return self._fit(disturbance, half, number) or self._fit(disturbance, half, None)

    def _fit(self, disturbance: Disturbance, half: Half, number: int | None) -> list[Network]:
        part = slice(None) if number is None else slice(number, None, self._count)
        special = (
            [disturbance.guest]
            if disturbance.guest
            else [
                name
                for name, suits in (
                    ("small", disturbance.small_buffer),
                    ("tiny", disturbance.tiny_window),
                )
                if suits
            ]
        )
        among = [
            network
            for name in special or disturbance.limits
            for network in self._pools[half][name][part]
        ]
        return [
            one
            for one in among
            if one.limit in disturbance.limits
            and disturbance.least_trip_ms <= one.round_trip_ms <= disturbance.most_trip_ms
            and one.rate_megabits >= disturbance.least_rate_megabits
            and (one.narrow == "far" or not disturbance.shared)
        ]

    def _drawn(self, name: str, half: Half, count: int, draw: Draw) -> tuple[Network, ...]:
        """So many different ones, the families in turn; those that cannot have one are passed."""
        random = Random(f"{self._seed} {half} {name}")
        found: dict[Network, None] = {}
        for family in cycle(of_half(half)):
            if len(found) == count:
                break
            for _ in range(DRAWS):
                network = draw(random, family, len(found))
                if network is not None and network not in found:
                    found[network] = None
                    break
        taken = list(found)
        random.shuffle(taken)
        return tuple(taken)


def _plain(limit: Limit) -> Draw:
    def draw(random: Random, family: Family, index: int) -> Network | None:
        return drawn(random, limit, family)

    return draw


def _is_wide(network: Network) -> bool:
    return _WIDE_MS <= network.round_trip_ms <= _MOST_MS


def _small_buffer(random: Random, family: Family, index: int) -> Network | None:
    """Every third is limited by its link."""
    limit: Limit = "window" if index % LINK_SHARE else "link"
    network = drawn(random, limit, family)
    if network is None or not _is_wide(network):
        return None
    buffer = network.window_bytes or int(network.path_bytes * BUFFER_PATHS)
    return replace(network, send_buffer_bytes=buffer)


def _tiny_window(random: Random, family: Family, index: int) -> Network | None:
    """A window of a few segments, which a receiver may wait to acknowledge."""
    network = drawn(random, "window", family)
    if network is None or not _is_wide(network):
        return None
    window = TINY_SEGMENTS[index % len(TINY_SEGMENTS)] * PACKET_BYTES
    return replace(network, window_bytes=window, clamped=True)


def _guest(random: Random, family: Family, index: int) -> Network | None:
    """A lone transfer needs a part of the guest's processor that a quota can take from it."""
    limit: Limit = "window" if index % LINK_SHARE else "link"
    network = drawn(random, limit, family)
    if network is None:
        return None
    if limit == "window":
        target = random.choice(GUEST_TARGETS_MEGABITS)
        window = int(target * 1e3 / 8 * network.round_trip_ms) // 1024 * 1024
        if window < LEAST_GUEST_WINDOW_BYTES or window > network.path_bytes * WINDOW_SHARES[-1]:
            return None
        network = replace(network, window_bytes=window)
    least, most = GUEST_MEGABITS
    if not least <= network.expected_megabits <= most:
        return None
    seconds = max(GUEST_SECONDS, network.seconds)
    return replace(network, guest=random.choice(GUEST_NICS), seconds=seconds)
