"""Which transfers are made, and in which order: all of it follows from one number.

Every transfer has a seed of its own. Odd seeds are for developing rules, even ones for reporting.
Transfers come in pairs of an odd and an even one with the same dose; each draws its network anew,
so that the two halves share doses and twins but not transfers.

A run goes in rounds, each on networks of its own and with its share of every kind. Twins come
before the first transfer that is compared with them, pairs stay together: whenever a run is
interrupted, it has made all kinds in proportion, with as many odd seeds as even ones.

Bias: at the beginning of a round twins run a little ahead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from validation.truth.disturbances import DISTURBANCES, Disturbance
from validation.truth.kinds import UNDISTURBED
from validation.truth.networks import Network, drawn
from validation.truth.pools import Pools
from validation.truth.scenario import Values, toml, undisturbed

ROUNDS = 4
TWINS = 4
"""Of each network, half of them with odd seeds."""
SHORT = 24
LIGHT_MEGABITS = 20
_ODD_AND_EVEN = 2
_AROUND_SECONDS, _AROUND_GUEST_SECONDS = 2.0, 3.7
"""What a transfer takes beyond its duration on a calm machine.

A look at it, networks, boot, captures read.
"""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A transfer that is to be made.

    ``disturbance`` is ``None`` for an undisturbed one; ``position`` is that in the run, 0 to 1.
    """

    name: str
    seed: int
    network: Network
    disturbance: Disturbance | None = None
    dose: tuple[tuple[str, Any], ...] = ()
    position: float = 0.0

    @property
    def kind(self) -> str:
        """The kind of disturbance."""
        return self.disturbance.kind if self.disturbance else UNDISTURBED[self.network.limit]

    @property
    def is_odd(self) -> bool:
        """Whether rules may be developed on it."""
        return self.seed % 2 == 1

    @property
    def round(self) -> int:
        """The part of the run in which it is made, from 0."""
        return int(self.position * ROUNDS)

    @property
    def needs_twin(self) -> bool:
        """Whether it is compared with an undisturbed one."""
        return self.disturbance is not None

    @property
    def is_light(self) -> bool:
        """Whether others may be made beside it.

        A slow link, and no processor is disturbed.
        """
        return (
            self.network.rate_megabits <= LIGHT_MEGABITS
            and self.network.guest is None
            and "faults" not in self.values(middle=False)
        )

    @property
    def seconds(self) -> float:
        """About what it takes, on a calm machine."""
        around = _AROUND_SECONDS if self.network.guest is None else _AROUND_GUEST_SECONDS
        return float(self.values(middle=False)["duration"].removesuffix("s")) + around

    def values(self, *, middle: bool) -> Values:
        """Its scenario."""
        values = undisturbed(self.network, seed=self.seed, middle=middle)
        if self.disturbance is not None:
            self.disturbance.write(
                values, self.network, dict(self.dose), Random(f"details {self.seed}")
            )
        return values

    def scenario(self, *, middle: bool) -> str:
        """Its scenario as text."""
        return toml(self.values(middle=middle))


class Plan:
    """All transfers of a run. The same seed gives the same transfers."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed
        self._pools = Pools(seed, rounds=ROUNDS)

    @cached_property
    def transfers(self) -> tuple[Planned, ...]:
        """Every transfer, by kind; see :meth:`order`."""
        disturbed = [one for disturbance in DISTURBANCES for one in self._disturbed(disturbance)]
        return (*self._twins(), *self._shorts(), *disturbed)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Differs when any scenario differs.

        Transfers of another plan do not belong to this one.
        """
        digest = hashlib.sha256()
        for one in self.transfers:
            digest.update(f"{one.name}\n{one.scenario(middle=True)}\n".encode())
        return {"seed": self.seed, "scenarios": digest.hexdigest()[:16]}

    def order(self, chosen: Sequence[Planned] | None = None) -> Iterator[Planned]:
        """The transfers in order, a pair of twins before what needs it."""
        transfers = self.transfers if chosen is None else chosen
        twins: dict[Network, list[Planned]] = {}
        for one in self.transfers:
            if not one.needs_twin:
                twins.setdefault(one.network, []).append(one)
        made: set[str] = set()
        for one in sorted(transfers, key=lambda planned: (planned.position, planned.name)):
            first = twins[one.network][:_ODD_AND_EVEN] if one.needs_twin else []
            for each in (*first, one):
                if each.name not in made:
                    made.add(each.name)
                    yield each

    def _twins(self) -> Iterator[Planned]:
        """Of each network; the first pair of every network of a round before the second of any."""
        pairs = TWINS // _ODD_AND_EVEN
        for at, networks in enumerate(self._pools.rounds):
            count = len(networks) * pairs
            for index, network in enumerate(networks):
                for pair in range(pairs):
                    position = (at + (pair * len(networks) + index + 0.5) / count) / ROUNDS
                    for number in _both(pair):
                        kind = UNDISTURBED[network.limit]
                        seed = self._seed(kind, network.name, number)
                        yield Planned(
                            name=f"{kind}.{network.name}.{number}",
                            seed=seed,
                            network=network,
                            position=position,
                        )

    def _shorts(self) -> Iterator[Planned]:
        for pair in range(SHORT // _ODD_AND_EVEN):
            for number in _both(pair):
                seed = self._seed("short", "", number)
                network = drawn(Random(f"network {seed}"), "short")
                yield Planned(
                    name=f"short.{number}",
                    seed=seed,
                    network=network,
                    position=self._position("short", pair, SHORT),
                )

    def _disturbed(self, disturbance: Disturbance) -> Iterator[Planned]:
        for pair in range(disturbance.transfers // _ODD_AND_EVEN):
            position = self._position(disturbance.kind, pair, disturbance.transfers)
            pool = self._pools.fit_for(disturbance, int(position * ROUNDS))
            dose = tuple(disturbance.doses[pair % len(disturbance.doses)].items())
            for number in _both(pair):
                seed = self._seed(disturbance.kind, "", number)
                network = Random(f"network {seed}").choice(pool)
                name = f"{disturbance.kind}.{number}"
                yield Planned(
                    name=name,
                    seed=seed,
                    network=network,
                    disturbance=disturbance,
                    dose=dose,
                    position=position,
                )

    def _position(self, kind: str, pair: int, transfers: int) -> float:
        """Somewhere in this pair's part of the run."""
        return (
            (pair + Random(f"{self.seed} place {kind} {pair}").random()) * _ODD_AND_EVEN / transfers
        )

    def _seed(self, kind: str, network: str, number: int) -> int:
        """A seed of 31 bits; it is odd if the transfer is one to develop on.

        The first of each pair is.
        """
        return (_hash(self.seed, kind, network, str(number // 2)) % (1 << 30)) * 2 + (
            number + 1
        ) % 2


def _both(pair: int) -> tuple[int, int]:
    """The numbers of a pair."""
    return pair * _ODD_AND_EVEN, pair * _ODD_AND_EVEN + 1


def _hash(*parts: object) -> int:
    digest = hashlib.sha256(" ".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big")
