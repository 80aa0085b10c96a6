"""The graphs of two chains as one: every edge with its weight and share on both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from trustbed._core import CallAlphabet, CallChains

__all__ = ["SCHEMA", "Edge", "edge_table", "edges_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A transition of the pruned chains.

    Attributes:
        state: Calls of the state it leaves, the earliest first.
        call: The call it leads to.
        reference_weight: Probability of ``call`` after ``state``; 0: the reference lacks it.
        candidate_weight: The same of the candidate.
        reference_share: Share of the reference's transitions.
        candidate_share: Share of the candidate's.
        shift: Share of all transitions that leave the state by this one in the candidate, and by
            another in the reference: the difference of weights, times how often the state is left
            (mean of both sides). Where the state itself is rarer, it is 0. Summed over edges, its
            positive part is how much of the calls is decided otherwise.
    """

    state: tuple[str, ...]
    call: str
    reference_weight: float
    candidate_weight: float
    reference_share: float
    candidate_share: float
    shift: float

    @property
    def target(self) -> tuple[str, ...]:
        """The state it leads to."""
        return (*self.state[1:], self.call)

    @property
    def share(self) -> float:
        """The larger of both shares."""
        return max(self.reference_share, self.candidate_share)


SCHEMA = pa.schema(
    [
        pa.field("state", pa.list_(pa.string()), metadata={"unit": "", "meaning": "last calls"}),
        pa.field("call", pa.string(), metadata={"unit": "", "meaning": "the call that follows"}),
        *(
            pa.field(f"{side}_{column}", pa.float64(), metadata={"unit": "1", "meaning": meaning})
            for column, meaning in (
                ("weight", "probability of the call after the state, in the pruned chain"),
                ("share", "share of all transitions of the side"),
            )
            for side in ("reference", "candidate")
        ),
        pa.field(
            "shift",
            pa.float64(),
            metadata={
                "unit": "1",
                "meaning": "share of all transitions that take this one only in the candidate",
            },
        ),
    ]
)


def edges_of(
    reference: CallChains,
    candidate: CallChains,
    alphabet: CallAlphabet,
    *,
    least_weight: float = 0.001,
) -> list[Edge]:
    """The edges of both chains without those of a smaller weight, the most frequent first."""
    names = alphabet.names
    sides = [_Side.of(chains, least_weight) for chains in (reference, candidate)]
    edges = []
    for state, call in sides[0].edges | sides[1].edges:
        (weight, share), (other_weight, other_share) = (
            side.edges.get((state, call), (0.0, 0.0)) for side in sides
        )
        left = sum(side.states.get(state, 0.0) for side in sides) / 2
        edges.append(
            Edge(
                state=tuple(names[number] for number in state),
                call=names[call],
                reference_weight=weight,
                candidate_weight=other_weight,
                reference_share=share,
                candidate_share=other_share,
                shift=left * (other_weight - weight),
            )
        )
    return sorted(edges, key=lambda edge: (-edge.share, edge.state, edge.call))


@dataclass(frozen=True, slots=True)
class _Side:
    """Weight and share of every edge, and the share of the transitions that leave every state."""

    edges: dict[tuple[tuple[int, ...], int], tuple[float, float]]
    states: dict[tuple[int, ...], float]

    @classmethod
    def of(cls, chains: CallChains, least_weight: float) -> _Side:
        total = max(chains.transitions, 1)
        edges, states = {}, defaultdict[tuple[int, ...], float](float)
        for numbers, call, count, weight in chains.edges(least=least_weight):
            state = tuple(numbers)
            edges[state, call] = (weight, count / total)
            states[state] += count / total
        return cls(edges, states)


def edge_table(edges: Iterable[Edge]) -> pa.Table:
    """The same as a table of :data:`SCHEMA`."""
    every = list(edges)
    columns = {name: [getattr(edge, name) for edge in every] for name in SCHEMA.names}
    return pa.table(columns, schema=SCHEMA)
