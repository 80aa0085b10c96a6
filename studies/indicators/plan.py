"""What is measured, in which order: all of it follows from one seed. Pure.

Transfers are those of `make truth` to whose sending process something is done, with the same
networks, doses and seeds, but shorter, and disturbed in the middle only: each has seconds of both
kinds. Every one is made twice with the same seed, watched by everything that is cheap, and by the
spin monitor, which must not take part in what the others see. Rounds of the monitor's own accuracy
lie before, between and behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeAlias

from validation.truth.families import HALVES, Half
from validation.truth.networks import Network
from validation.truth.plan import Plan, Planned
from validation.truth.scenario import CLIENT, Values, toml

KINDS = ("freeze", "quota", "spinner")
FREEZES = ("5ms/50ms", "35ms/50ms", "140ms/200ms", "100ms/1s", "800ms/1s")
"""Of the stops in `make truth` those that differ most; quotas and spinners are all done."""
UNDISTURBED_TRANSFERS = 4
"""Of each watcher; half of them of each half of the families."""
UNDISTURBED = "undisturbed-window"
SECONDS = 4
DISTURBED = {"start": "1s", "duration": "2s"}
WAKEUP_MS = 5
"""The shortest of those that cost less than a hundredth of a core where waking up is dear.

`cost` measures others too.
"""
MOST_MEGABITS = 50
"""What a machine emulates without being asked first how much it can."""

QUOTAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
ROUNDS = 3
SPIN_SECONDS = 2.5
COST_SECONDS = 5.0
_AROUND_TRANSFER, _AROUND_SPIN = 2.0, 0.2

Watched: TypeAlias = Literal["cheap", "spin"]
WATCHED: Mapping[Watched, Mapping[str, Any]] = {
    "cheap": {"wakeups": f"{WAKEUP_MS}ms", "hosts": [CLIENT]},
    "spin": {"spin": "1s", "hosts": [CLIENT]},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The spin monitor against what is known.

    A quota, a competitor on the same processor, or nothing at all.
    """

    case: str
    round: int
    quota: float | None = None
    part: Literal["accuracy"] = "accuracy"

    @property
    def key(self) -> str:
        """What tells it from others, in the file of results."""
        return f"accuracy/{self.round}/{self.case}"

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return SPIN_SECONDS + _AROUND_SPIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Samplers beside each other, each with one indicator on."""

    round: int
    part: Literal["cost"] = "cost"

    @property
    def key(self) -> str:
        """What tells it from others, in the file of results."""
        return f"cost/{self.round}"

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return COST_SECONDS + _AROUND_SPIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A transfer of `make truth`, and by what it is watched."""

    planned: Planned
    watched: Watched
    part: Literal["transfer"] = "transfer"

    @property
    def key(self) -> str:
        """What tells it from others, in the file of results."""
        return f"transfer/{self.planned.name}/{self.watched}"

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return SECONDS + _AROUND_TRANSFER

    @property
    def dose(self) -> str:
        """What is done, in a few words."""
        return " ".join(str(value) for _, value in self.planned.dose) or "nothing"

    def values(self) -> Values:
        """Its scenario: that of `make truth`, watched."""
        values = self.planned.values(middle=False)
        values |= {"duration": f"{SECONDS}s", "samples": dict(WATCHED[self.watched])}
        values["capture"] |= {"points": [CLIENT]}
        for fault in values.get("faults", {}).values():
            fault |= DISTURBED
        return values

    def scenario(self) -> str:
        """The same as text."""
        return toml(self.values())


Step: TypeAlias = Accuracy | Cost | Transfer


def steps(seed: int) -> list[Step]:
    """Everything in its order: rounds of accuracy and cost around the parts of the transfers."""
    transfers = _transfers(seed)
    size = -(-len(transfers) // max(ROUNDS - 1, 1) // 2) * 2  # both of a transfer stay together
    found: list[Step] = []
    for number in range(ROUNDS):
        found += [
            *_accuracies(seed, number),
            Cost(round=number),
            *transfers[number * size : (number + 1) * size],
        ]
    return found


def _accuracies(seed: int, number: int) -> list[Accuracy]:
    found = [Accuracy(case=f"quota {share:.0%}", round=number, quota=share) for share in QUOTAS]
    found += [Accuracy(case=case, round=number) for case in ("free", "competitor")]
    Random(f"{seed} accuracy {number}").shuffle(found)
    return found


def _transfers(seed: int) -> list[Transfer]:
    """One of each half of every dose, shuffled, each by both watchers.

    Which of the two comes first changes in turn.
    """
    chosen = list(_chosen(Plan(seed)))
    Random(f"{seed} transfers").shuffle(chosen)
    orders: tuple[tuple[Watched, Watched], ...] = (("cheap", "spin"), ("spin", "cheap"))
    return [
        Transfer(planned=one, watched=watched)
        for number, one in enumerate(chosen)
        for watched in orders[number % 2]
    ]


def _chosen(plan: Plan) -> Iterator[Planned]:
    """Of every kind, dose and half one transfer over a link that is not too fast.

    Then undisturbed ones on the same networks.
    """
    found: dict[tuple[str, Any, Half], list[Planned]] = {}
    for one in plan.transfers:
        if one.kind in KINDS and one.network.rate_megabits <= MOST_MEGABITS and _is_wanted(one):
            found.setdefault((one.kind, one.dose, one.half), []).append(one)
    random = Random(f"{plan.seed} chosen")
    chosen = [random.choice(some) for some in found.values()]
    yield from chosen
    yield from _undisturbed(plan, {one.network for one in chosen})


def _is_wanted(one: Planned) -> bool:
    dose = dict(one.dose)
    return one.kind != "freeze" or f"{dose['stopped']}/{dose['every']}" in FREEZES


def _undisturbed(plan: Plan, networks: set[Network]) -> Iterator[Planned]:
    """Each on a network of its own, the halves in turn."""
    used: set[Network] = set()
    for one in plan.transfers:
        is_turn = one.half == HALVES[len(used) % len(HALVES)]
        if (
            one.kind == UNDISTURBED
            and one.network in networks
            and one.network not in used
            and is_turn
        ):
            used.add(one.network)
            yield one
        if len(used) == UNDISTURBED_TRANSFERS:
            return
