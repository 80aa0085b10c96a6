"""The graphs of two chains as one: every edge with its weight and share on both sides."""

from __future__ import annotations

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
    """

    state: tuple[str, ...]
    call: str
    reference_weight: float
    candidate_weight: float
    reference_share: float
    candidate_share: float

    @property
    def target(self) -> tuple[str, ...]:
        """The state it leads to."""
        return (*self.state[1:], self.call)

    @property
    def share(self) -> float:
        """The larger of both shares."""
        return max(self.reference_share, self.candidate_share)

    @property
    def difference(self) -> float:
        """Candidate's share less the reference's."""
        return self.candidate_share - self.reference_share


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
    own, other = (_by_transition(chains, least_weight) for chains in (reference, candidate))
    none = (0.0, 0.0)
    edges = [
        Edge(
            state=tuple(names[number] for number in state),
            call=names[call],
            reference_weight=own.get((state, call), none)[0],
            candidate_weight=other.get((state, call), none)[0],
            reference_share=own.get((state, call), none)[1],
            candidate_share=other.get((state, call), none)[1],
        )
        for state, call in own | other
    ]
    return sorted(edges, key=lambda edge: (-edge.share, edge.state, edge.call))


def _by_transition(
    chains: CallChains, least_weight: float
) -> dict[tuple[tuple[int, ...], int], tuple[float, float]]:
    total = max(chains.transitions, 1)
    return {
        (tuple(state), call): (weight, count / total)
        for state, call, count, weight in chains.edges(least=least_weight)
    }


def edge_table(edges: Iterable[Edge]) -> pa.Table:
    """The same as a table of :data:`SCHEMA`."""
    every = list(edges)
    columns = {name: [getattr(edge, name) for edge in every] for name in SCHEMA.names}
    return pa.table(columns, schema=SCHEMA)
