"""The networks of a run, drawn from its seed.

Those that a window limits, those that a link does, and what some disturbances ask for.

Each network belongs to one round of the run. What happens on them is in `plan`.

Bias: where none of a round's networks can bear a disturbance, those of all rounds are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from random import Random

from validation.truth.disturbances import Disturbance
from validation.truth.networks import CONTROLS, PACKET_BYTES, WINDOW_SHARES, Limit, Network, drawn

WINDOW_NETWORKS, LINK_NETWORKS, SMALL_BUFFER_NETWORKS, GUEST_NETWORKS = 12, 16, 12, 8
CANDIDATES = 16
"""Networks that are drawn for each that is taken."""
TINY_SEGMENTS = (3, 5, 2, 6)
"""Windows of networks on which acknowledgements are delayed."""
GUEST_NICS = ("virtio-net", "e1000")
GUEST_RATES_MEGABITS, GUEST_TRIPS_MS = (10, 20, 50, 100), (10, 20, 20, 50, 50, 100)
GUEST_WINDOWS_BYTES = (16_384, 32_768, 65_536, 131_072)
GUEST_MEGABITS = (5.0, 13.5)
"""What a lone transfer of a guest comes to.

A processor that is emulated keeps up with twice the upper bound; below the lower one a small
part of it is enough, and a quota takes nothing."""
_WIDE_MS, _MOST_MS = 5, 50
"""Round trips that a small send buffer or a tiny window is looked at on."""


class Pools:
    """The networks of a run, by what they are for and by round."""

    def __init__(self, seed: int, *, rounds: int) -> None:
        self._seed = seed
        self._count = rounds
        self._pools: dict[str, tuple[Network, ...]] = {
            "window": self._drawn("window", WINDOW_NETWORKS),
            "link": self._drawn("link", LINK_NETWORKS),
            "small": tuple(
                _with_small_buffer(network)
                for network in self._drawn("window", SMALL_BUFFER_NETWORKS, wide=True)
            ),
            "tiny": tuple(self._tiny()),
            "guest": self._guests(),
        }

    @property
    def rounds(self) -> tuple[tuple[Network, ...], ...]:
        """Every network, by round."""
        return tuple(
            tuple(
                network for pool in self._pools.values() for network in pool[number :: self._count]
            )
            for number in range(self._count)
        )

    def fit_for(self, disturbance: Disturbance, number: int) -> list[Network]:
        """The networks of a round that suit a disturbance."""
        return self._fit(disturbance, number) or self._fit(disturbance, None)

    def _fit(self, disturbance: Disturbance, number: int | None) -> list[Network]:
        part = slice(None) if number is None else slice(number, None, self._count)
        special = [
            name
            for name, suits in (
                ("guest", disturbance.guest),
                ("small", disturbance.small_buffer),
                ("tiny", disturbance.tiny_window),
            )
            if suits
        ]
        among = [
            network for name in special or disturbance.limits for network in self._pools[name][part]
        ]
        fit = [
            one
            for one in among
            if disturbance.least_trip_ms <= one.round_trip_ms <= disturbance.most_trip_ms
        ]
        return [one for one in fit if one.narrow == "far" or not disturbance.shared]

    def _drawn(self, limit: Limit, count: int, *, wide: bool = False) -> tuple[Network, ...]:
        """So many, every round trip in its turn.

        Few are drawn, and none is to be left out by chance.
        """
        random = Random(f"{self._seed} {limit} {wide}")
        found: dict[float, list[Network]] = {}
        for network in (drawn(random, limit) for _ in range(count * CANDIDATES)):
            if not wide or _WIDE_MS <= network.round_trip_ms <= _MOST_MS:
                found.setdefault(network.round_trip_ms, []).append(network)
        turns = zip_longest(*(dict.fromkeys(found[trip]) for trip in sorted(found)))
        taken = [network for turn in turns for network in turn if network is not None][:count]
        random.shuffle(taken)
        return tuple(taken)

    def _tiny(self) -> Iterator[Network]:
        """A window of a few segments, which a receiver may wait to acknowledge."""
        for network, segments in zip(
            self._drawn("window", len(TINY_SEGMENTS), wide=True), TINY_SEGMENTS, strict=True
        ):
            yield replace(network, window_bytes=segments * PACKET_BYTES, clamped=True)

    def _guests(self) -> tuple[Network, ...]:
        """Every round has both interfaces."""
        random = Random(f"{self._seed} guests")
        found: dict[Network, None] = {}
        while len(found) < GUEST_NETWORKS:
            index = len(found)
            network = Network(
                rate_megabits=random.choice(GUEST_RATES_MEGABITS),
                round_trip_ms=random.choice(GUEST_TRIPS_MS),
                limit="window",
                congestion_control=random.choice(CONTROLS),
                seconds=4.0,
                window_bytes=random.choice(GUEST_WINDOWS_BYTES),
                guest=GUEST_NICS[(index + index // self._count) % len(GUEST_NICS)],
            )
            if _suits_a_guest(network):
                found[network] = None
        return tuple(found)


def _suits_a_guest(network: Network) -> bool:
    least, most = GUEST_MEGABITS
    fills = (
        network.window_bytes is not None
        and network.window_bytes > network.path_bytes * WINDOW_SHARES[-1]
    )
    return not fills and least <= network.expected_megabits <= most


def _with_small_buffer(network: Network) -> Network:
    return replace(network, send_buffer_bytes=network.window_bytes)
