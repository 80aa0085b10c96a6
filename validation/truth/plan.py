"""Which transfers are made, and in which order: all of it follows from one number.

Every transfer has a seed of its own. Odd seeds are for developing rules, even ones for reporting; each dose has as many of the one as of
the other, and each seed draws its network anew, so that the two halves share doses and twins but not transfers.

The order is random, except that a twin comes before the first transfer that is compared with it: whatever the moment a run is interrupted,
what it has made is a random part of the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from validation.truth import networks
from validation.truth.disturbances import DISTURBANCES, Disturbance
from validation.truth.kinds import UNDISTURBED
from validation.truth.networks import Network
from validation.truth.scenario import Values, toml, undisturbed

WINDOW_NETWORKS, LINK_NETWORKS, SMALL_BUFFER_NETWORKS, GUEST_NETWORKS = 40, 36, 14, 8
TWINS = 4
"""Of each network, half of them with odd seeds."""
SHORT = 24
GUEST_NICS = ("virtio-net", "e1000")
GUEST_WINDOW_BYTES = 65_536
GUEST_RATES, GUEST_TRIPS = (20, 50, 100), (20, 50, 100)
TINY_SEGMENTS = (2, 3, 4, 6, 8, 12)
"""Windows of networks on which acknowledgements are delayed."""
LIGHT_MEGABITS = 20
_WIDE_MS = 5
_MOST_MS = 50


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A transfer that is to be made. ``disturbance`` is ``None`` for one that nothing is done to."""

    name: str
    seed: int
    network: Network
    disturbance: Disturbance | None = None
    dose: tuple[tuple[str, Any], ...] = ()

    @property
    def kind(self) -> str:
        """What is done."""
        return self.disturbance.kind if self.disturbance else UNDISTURBED[self.network.limit]

    @property
    def is_odd(self) -> bool:
        """Whether rules may be developed on it."""
        return self.seed % 2 == 1

    @property
    def needs_twin(self) -> bool:
        """Whether it is compared with an undisturbed one."""
        return self.disturbance is not None

    @property
    def is_light(self) -> bool:
        """Whether others may be made beside it: a slow link, and nobody's processor is disturbed."""
        return self.network.rate_megabits <= LIGHT_MEGABITS and self.network.guest is None and "faults" not in self.values(middle=False)

    def values(self, *, middle: bool) -> Values:
        """Its scenario."""
        values = undisturbed(self.network, seed=self.seed, middle=middle)
        if self.disturbance is not None:
            self.disturbance.write(values, self.network, dict(self.dose), Random(f"details {self.seed}"))
        return values

    def scenario(self, *, middle: bool) -> str:
        """Its scenario as text."""
        return toml(self.values(middle=middle))


class Plan:
    """All transfers of a run. The same seed gives the same transfers."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    @cached_property
    def transfers(self) -> tuple[Planned, ...]:
        """Every transfer, by kind; see :meth:`order`."""
        twins = [one for pool in self._pools.values() for network in pool for one in self._twins_of(network)]
        shorts = [self._short(number) for number in range(SHORT)]
        disturbed = [one for disturbance in DISTURBANCES for one in self._disturbed(disturbance)]
        return (*twins, *shorts, *disturbed)

    def order(self, chosen: Sequence[Planned] | None = None) -> Iterator[Planned]:
        """The transfers in the order in which they are made, each twin before what needs it."""
        transfers = self.transfers if chosen is None else chosen
        twins: dict[Network, Planned] = {}
        for one in self.transfers:
            if not one.needs_twin:
                twins.setdefault(one.network, one)
        made: set[str] = set()
        for one in sorted(transfers, key=lambda planned: _hash(self.seed, planned.name)):
            first = twins.get(one.network) if one.needs_twin else None
            for each in (first, one):
                if each is not None and each.name not in made:
                    made.add(each.name)
                    yield each

    @cached_property
    def _pools(self) -> dict[str, tuple[Network, ...]]:
        return {
            "window": self._drawn("window", WINDOW_NETWORKS),
            "link": self._drawn("link", LINK_NETWORKS),
            "small": tuple(_with_small_buffer(network) for network in self._drawn("window", SMALL_BUFFER_NETWORKS, wide=True)),
            "tiny": tuple(self._tiny()),
            "guest": self._guests(),
        }

    def _drawn(self, limit: networks.Limit, count: int, *, wide: bool = False) -> tuple[Network, ...]:
        random = Random(f"{self.seed} {limit} {wide}")
        found: dict[Network, None] = {}
        while len(found) < count:
            network = networks.drawn(random, limit)
            if not wide or _WIDE_MS <= network.round_trip_ms <= _MOST_MS:
                found[network] = None
        return tuple(found)

    def _tiny(self) -> Iterator[Network]:
        """A window of a few segments, which a receiver may wait to acknowledge."""
        for network, segments in zip(self._drawn("window", len(TINY_SEGMENTS), wide=True), TINY_SEGMENTS, strict=True):
            yield replace(network, window_bytes=segments * networks.PACKET_BYTES, clamped=True)

    def _guests(self) -> tuple[Network, ...]:
        random = Random(f"{self.seed} guests")
        found: dict[Network, None] = {}
        while len(found) < GUEST_NETWORKS:
            network = Network(
                rate_megabits=random.choice(GUEST_RATES),
                round_trip_ms=random.choice(GUEST_TRIPS),
                limit="window",
                congestion_control=random.choice(networks.CONTROLS),
                seconds=4.0,
                window_bytes=GUEST_WINDOW_BYTES,
                guest=GUEST_NICS[len(found) % len(GUEST_NICS)],
            )
            if network.path_bytes * networks.WINDOW_SHARES[-1] >= GUEST_WINDOW_BYTES:
                found[network] = None
        return tuple(found)

    def _twins_of(self, network: Network) -> Iterator[Planned]:
        kind = UNDISTURBED[network.limit]
        for number in range(TWINS):
            yield Planned(name=f"{kind}.{network.name}.{number}", seed=self._seed(kind, network.name, number), network=network)

    def _short(self, number: int) -> Planned:
        seed = self._seed("short", "", number)
        return Planned(name=f"short.{number}", seed=seed, network=networks.drawn(Random(f"network {seed}"), "short"))

    def _disturbed(self, disturbance: Disturbance) -> Iterator[Planned]:
        pool = self._pool(disturbance)
        for number in range(disturbance.transfers):
            seed = self._seed(disturbance.kind, "", number)
            dose = disturbance.doses[number // 2 % len(disturbance.doses)]
            network = Random(f"network {seed}").choice(pool)
            yield Planned(
                name=f"{disturbance.kind}.{number}", seed=seed, network=network, disturbance=disturbance, dose=tuple(dose.items())
            )

    def _pool(self, disturbance: Disturbance) -> list[Network]:
        """The networks that this can be done on."""
        if disturbance.guest:
            return list(self._pools["guest"])
        if disturbance.small_buffer or disturbance.tiny_window:
            return list(self._pools["small" if disturbance.small_buffer else "tiny"])
        among = [network for limit in disturbance.limits for network in self._pools[limit]]
        fit = [one for one in among if disturbance.least_trip_ms <= one.round_trip_ms <= disturbance.most_trip_ms]
        return [one for one in fit if one.narrow == "far" or not disturbance.shared]

    def _seed(self, kind: str, network: str, number: int) -> int:
        """A seed of 31 bits whose last says whether the transfer is one to develop on."""
        return (_hash(self.seed, kind, network, str(number // 2)) % (1 << 30)) * 2 + (number + 1) % 2


def _with_small_buffer(network: Network) -> Network:
    return replace(network, send_buffer_bytes=network.window_bytes)


def _hash(*parts: object) -> int:
    digest = hashlib.sha256(" ".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big")
