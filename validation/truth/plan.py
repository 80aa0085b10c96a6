"""Which transfers are made, and in which order: all of it follows from one number.

Networks come in families, and families in two halves: on one rules may be developed, on the other
they are reported. Transfers come in pairs with the same dose, one of each half; the halves share
doses, and neither networks nor rates, round trips and queues.

A run goes in rounds, each on networks of its own and with its share of every kind. Twins come
before the first transfer that is compared with them, pairs stay together: whenever a run is
interrupted, it has made all kinds in proportion, with as many of one half as of the other.

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
from validation.truth.families import HALVES, Half
from validation.truth.networks import Network
from validation.truth.pools import Pools
from validation.truth.scenario import FILES, Values, rate_trace, toml, undisturbed
from validation.truth.writers import Parameters

NUMBER = 3
"""Of the plan: it changes when what a seed makes does."""
ROUNDS = 4
TWINS, GUEST_TWINS = 4, 3
"""Undisturbed transfers of each network, and of each with a guest, which take longer."""
FIRST_TWINS = 2
"""Those that are made before the first disturbed transfer on a network."""
_LIGHT_FAULTS = frozenset({"nic-stall", "freeze", "cpu-quota"})
"""Those that take no processor from others: a link is down, a process does not run."""
_AROUND_SECONDS, _AROUND_GUEST_SECONDS = 3.0, 9.0
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
        return self.disturbance.kind if self.disturbance else self.network.kind

    @property
    def half(self) -> Half:
        """Whether rules may be developed on it or are reported on it."""
        return self.network.half

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
        """Whether others may be made beside it: no processor is kept busy or emulated."""
        faults = self.values(middle=False).get("faults", {}).values()
        return self.network.guest is None and all(
            fault["kind"] in _LIGHT_FAULTS for fault in faults
        )

    @property
    def seconds(self) -> float:
        """About what it takes, on a calm machine."""
        around = _AROUND_SECONDS if self.network.guest is None else _AROUND_GUEST_SECONDS
        return float(self.values(middle=False)["duration"].removesuffix("s")) + around

    @property
    def files(self) -> dict[str, str]:
        """The files that its scenario reads, by name."""
        traces = self.values(middle=False).get(FILES, {})
        return {name: rate_trace(steps) for name, steps in traces.items()}

    def values(self, *, middle: bool) -> Values:
        """Its scenario, with its files."""
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
        further = [one for disturbance in DISTURBANCES for one in self._further(disturbance)]
        return (*self.first, *further)

    @cached_property
    def first(self) -> tuple[Planned, ...]:
        """Those that were planned at once; what came later stands behind them."""
        disturbed = [one for disturbance in DISTURBANCES for one in self._disturbed(disturbance)]
        return (*self._twins(), *disturbed)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Differs when any scenario differs, but for further ones: a plan may grow at its end.

        Transfers of another plan do not belong to this one.
        """
        digest = hashlib.sha256()
        for one in self.first:
            values = one.values(middle=True)
            files = sorted(values.get(FILES, {}).items())
            digest.update(f"{one.name}\n{toml(values)}\n{files}\n".encode())
        return {"plan": NUMBER, "seed": self.seed, "scenarios": digest.hexdigest()[:16]}

    def order(self, chosen: Sequence[Planned] | None = None) -> Iterator[Planned]:
        """The transfers in order, two twins before what needs them."""
        transfers = self.transfers if chosen is None else chosen
        twins: dict[Network, list[Planned]] = {}
        for one in self.transfers:
            if not one.needs_twin:
                twins.setdefault(one.network, []).append(one)
        made: set[str] = set()
        for one in sorted(transfers, key=lambda planned: (planned.position, planned.name)):
            first = twins[one.network][:FIRST_TWINS] if one.needs_twin else []
            for each in (*first, one):
                if each.name not in made:
                    made.add(each.name)
                    yield each

    def _twins(self) -> Iterator[Planned]:
        """Of each network; the first of every network of a round before the second of any."""
        for at, networks in enumerate(self._pools.rounds):
            count = len(networks) * TWINS
            for number in range(TWINS):
                for index, network in enumerate(networks):
                    if network.guest is not None and number >= GUEST_TWINS:
                        continue
                    # Both networks of a pair of halves have the same position.
                    place = number * len(networks) + index // len(HALVES) * len(HALVES)
                    name = f"{network.kind}.{network.name}.{number}"
                    yield Planned(
                        name=name,
                        seed=self._seed(name),
                        network=network,
                        position=(at + (place + 0.5) / count) / ROUNDS,
                    )

    def _disturbed(self, disturbance: Disturbance) -> Iterator[Planned]:
        for pair in range(disturbance.transfers // len(HALVES)):
            dose = disturbance.doses[pair % len(disturbance.doses)]
            position = self._position(disturbance.kind, pair, disturbance.transfers)
            yield from self._pair(disturbance, pair, dose, position)

    def _further(self, disturbance: Disturbance) -> Iterator[Planned]:
        """Those that were planned later: their numbers go on after the others'."""
        for pair in range(disturbance.further // len(HALVES)):
            dose = disturbance.further_doses[pair % len(disturbance.further_doses)]
            position = self._position(f"further {disturbance.kind}", pair, disturbance.further)
            number = disturbance.transfers // len(HALVES) + pair
            yield from self._pair(disturbance, number, dose, position)

    def _pair(
        self, disturbance: Disturbance, pair: int, dose: Parameters, position: float
    ) -> Iterator[Planned]:
        """One of each half, with the same dose."""
        for half in HALVES:
            pool = self._pools.fit_for(disturbance, half, int(position * ROUNDS))
            name = f"{disturbance.kind}.{half}.{pair}"
            seed = self._seed(name)
            yield Planned(
                name=name,
                seed=seed,
                network=Random(f"network {seed}").choice(pool),
                disturbance=disturbance,
                dose=tuple(dose.items()),
                position=position,
            )

    def _position(self, kind: str, pair: int, transfers: int) -> float:
        """Somewhere in this pair's part of the run."""
        return (
            (pair + Random(f"{self.seed} place {kind} {pair}").random()) * len(HALVES) / transfers
        )

    def _seed(self, name: str) -> int:
        """A seed of 31 bits."""
        digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % (1 << 31)
