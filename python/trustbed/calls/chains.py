"""Chains of system calls: how a candidate's calls compare with a reference's.

Every repetition is counted once (``trustbed._core.CallChains``), and everything here follows from
the counts: the published relative exponent (Crussell et al., *Virtually the Same*, section on
system-call chains), bits per call with the reference's own spread, and distances of the graphs.
Which transitions differ is :mod:`trustbed.calls.changes`'.

All repetitions are cut to one length: a longer walk is less probable, whatever it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from trustbed._core import CallAlphabet, CallChains
from trustbed.calls.changes import ChangeReport, Smoothing, report_changes
from trustbed.calls.edges import Edge, edges_of
from trustbed.calls.errors import CallsError
from trustbed.calls.sequences import Repetition, common_length

__all__ = [
    "Bits",
    "ChainComparison",
    "Options",
    "Topology",
    "Walks",
    "chains_of",
    "compare_calls",
    "log10_mean",
    "merged",
]

FEWEST = 5
"""Repetitions of a reference from which on its own spread is a yardstick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How chains are made and compared.

    Attributes:
        order: Calls of a state, 1 to 4.
        skip: Calls at the beginning of every thread that are left out.
        max_calls: Calls of a repetition, at most.
        smoothing: Of bits per call, and of changes.
        least_weight: Transitions of a smaller weight are left out of topologies.
        bound: Transitions that a chain holds, at most.
        changes: Transitions of the change report, at most.
        edges: Edges that are kept for drawing, at most.
    """

    order: int = 1
    skip: int = 0
    max_calls: int = 2_000_000
    smoothing: Smoothing = field(default_factory=Smoothing)
    least_weight: float = 0.001
    bound: int = 1 << 20
    changes: int = 20
    edges: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Walks:
    """Walks of some repetitions on some chains.

    Attributes:
        walks: How many.
        log10_mean: log₁₀ of the mean probability, invalid walks counting as 0; ``None``: all are.
        log10_geometric: Mean of log₁₀ over the valid walks, which no single walk governs.
        invalid_walks: Walks with an invalid transition.
        invalid_transitions: Invalid transitions of all walks.
    """

    walks: int
    log10_mean: float | None
    log10_geometric: float | None
    invalid_walks: int
    invalid_transitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bits:
    """Smoothed cross entropies, in bits per call.

    Attributes:
        reference: Each repetition of the reference on the chain of the others; empty with one.
        candidate: Each repetition of the candidate on the same chains (the mean over them).
        low: Lower end of the central 95 % of ``reference``; ``None``: too few repetitions.
        high: Upper end.
        excess: Mean of the candidate over the reference's; ``None`` with one repetition.
        consistent: Whether the candidate's mean lies from ``low`` to ``high``.
    """

    reference: tuple[float, ...]
    candidate: tuple[float, ...]
    low: float | None
    high: float | None
    excess: float | None
    consistent: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Distances of the pruned chains of both sides.

    Attributes:
        jaccard_distance: Share of the edges of both that only one has.
        weight_gap: Mean difference of weights over the edges of both.
        total_variation: ½Σ|w₁ − w₂| over the edges of a state, weighted by the reference's visits.
    """

    jaccard_distance: float | None
    weight_gap: float | None
    total_variation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainComparison:
    """A candidate's chains against a reference's.

    Attributes:
        order: Calls of a state.
        calls: Calls of every repetition that were compared.
        reference: The reference's repetitions on its own chains.
        reference_others: The same without each on its own chain, where it is valid by construction.
        candidate: The candidate's repetitions on the reference's chains.
        relative_exponent: ``candidate.log10_mean`` − ``reference.log10_mean``; ``None`` where one
            of them is.
        relative_geometric: The same of ``log10_geometric``.
        bits: Bits per call.
        topology: Distances of the graphs.
        changes: The transitions that differ most.
        edges: The most frequent edges of both pruned chains, as they are drawn
            (:mod:`trustbed.report.charts.call_graph`).
    """

    order: int
    calls: int
    reference: Walks
    reference_others: Walks
    candidate: Walks
    relative_exponent: float | None
    relative_geometric: float | None
    bits: Bits
    topology: Topology
    changes: ChangeReport
    edges: tuple[Edge, ...]


def compare_calls(
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    alphabet: CallAlphabet,
    *,
    options: Options | None = None,
) -> ChainComparison:
    """Compares the calls of a candidate's repetitions with a reference's.

    Raises:
        CallsError: A side has no repetition, a repetition is too short for a transition, or an
            option is impossible.
    """
    chosen = options or Options()
    sides = [[one.without_first(chosen.skip) for one in side] for side in (reference, candidate)]
    length = _length(sides, chosen)
    own, other = ([one.at_most(length) for one in side] for side in sides)
    try:
        return _compared(own, other, alphabet, chosen, length)
    except ValueError as error:
        raise CallsError(
            f"system calls cannot be compared: {error}", "choose other options"
        ) from error


def _length(sides: Sequence[Sequence[Repetition]], chosen: Options) -> int:
    if not all(sides):
        raise CallsError(
            "system calls of only one side", "give traced repetitions of reference and candidate"
        )
    every = [one for side in sides for one in side]
    length = common_length(every, chosen.max_calls)
    if length <= chosen.order:
        shortest = min(every, key=lambda one: one.calls)
        after = f" after the first {chosen.skip} of every thread" if chosen.skip else ""
        raise CallsError(
            f"{shortest.name} has {shortest.calls} system calls{after}, too few for a transition",
            "leave the repetition out, skip fewer calls, or allow more (max_calls)",
        )
    return length


def _compared(
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    alphabet: CallAlphabet,
    chosen: Options,
    length: int,
) -> ChainComparison:
    own = [chains_of([one], order=chosen.order, bound=chosen.bound) for one in reference]
    other = [chains_of([one], order=chosen.order, bound=chosen.bound) for one in candidate]
    whole, whole_other = (merged(side, bound=chosen.bound) for side in (own, other))
    itself, across, others = walks(
        [(on, of) for on in own for of in own],
        [(on, of) for on in own for of in other],
        [(on, of) for on in own for of in own if on is not of],
    )
    jaccard, gap, variation = whole.topology(whole_other, least=chosen.least_weight)
    return ChainComparison(
        order=chosen.order,
        calls=length,
        reference=itself,
        reference_others=others,
        candidate=across,
        relative_exponent=_difference(across.log10_mean, itself.log10_mean),
        relative_geometric=_difference(across.log10_geometric, itself.log10_geometric),
        bits=_bits(own, other, whole.vocabulary(whole_other), chosen),
        topology=Topology(jaccard_distance=jaccard, weight_gap=gap, total_variation=variation),
        changes=report_changes(
            (reference, whole),
            (candidate, whole_other),
            alphabet,
            smoothing=chosen.smoothing,
            most=chosen.changes,
        ),
        edges=tuple(
            edges_of(whole, whole_other, alphabet, least_weight=chosen.least_weight)[: chosen.edges]
        ),
    )


def chains_of(repetitions: Iterable[Repetition], *, order: int, bound: int = 1 << 20) -> CallChains:
    """The chains of every thread of some repetitions, added.

    Raises:
        ValueError: There are more than ``bound`` different transitions, or no such order.
    """
    chains = CallChains(order, bound=bound)
    for one in repetitions:
        for thread in one.threads:
            chains.push(thread.calls)
            chains.end()
    return chains


def merged(chains: Sequence[CallChains], *, bound: int = 1 << 20) -> CallChains:
    """The sum of some chains of one order.

    Raises:
        ValueError: There are more than ``bound`` different transitions.
    """
    whole = CallChains(chains[0].order, bound=bound)
    for one in chains:
        whole.merge(one)
    return whole


def walks(*sides: Sequence[tuple[CallChains, CallChains]]) -> list[Walks]:
    """What the walks of counted sequences (second) on chains (first) come to, side by side.

    Repetitions are cut to equally many calls; one of many threads has fewer transitions, and
    probabilities are taken to the length of the shortest of all.
    """
    found = [[on.walk_counted(of) for on, of in pairs] for pairs in sides]
    least = min((steps for side in found for _, _, steps in side if steps), default=0)
    return [_walks(side, least) for side in found]


def _walks(found: Sequence[tuple[float, int, int]], least: int) -> Walks:
    logarithms = [
        log10 * (least / steps if steps else 1.0) if invalid == 0 else None
        for log10, invalid, steps in found
    ]
    valid = [one for one in logarithms if one is not None]
    return Walks(
        walks=len(found),
        log10_mean=log10_mean(logarithms),
        log10_geometric=fmean(valid) if valid else None,
        invalid_walks=len(found) - len(valid),
        invalid_transitions=sum(invalid for _, invalid, _ in found),
    )


def log10_mean(logarithms: Sequence[float | None]) -> float | None:
    """log₁₀ of the arithmetic mean of 10^ℓ; ``None`` stands for probability 0.

    The largest is taken out first (log-sum-exp), so that 10^−30000 is no 0.
    """
    valid = [one for one in logarithms if one is not None]
    if not valid:
        return None
    largest = max(valid)
    total = math.fsum(10 ** (one - largest) for one in valid)
    return largest + math.log10(total) - math.log10(len(logarithms))


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _bits(
    own: Sequence[CallChains], other: Sequence[CallChains], vocabulary: int, chosen: Options
) -> Bits:
    """Bits per call on chains that leave one repetition of the reference out.

    The candidate walks on the same chains, so that both know as much of the reference.
    """
    alone = len(own) == 1
    without = [
        merged(own if alone else [*own[:index], *own[index + 1 :]], bound=chosen.bound)
        for index in range(len(own))
    ]
    reference = (
        []
        if alone
        else [_rate(on, of, vocabulary, chosen) for on, of in zip(without, own, strict=True)]
    )
    candidate = [fmean(_rate(on, of, vocabulary, chosen) for on in without) for of in other]
    enough = len(reference) >= FEWEST
    low, high = (quantile(reference, share) if enough else None for share in (0.025, 0.975))
    mean = fmean(candidate)
    return Bits(
        reference=tuple(reference),
        candidate=tuple(candidate),
        low=low,
        high=high,
        excess=mean - fmean(reference) if reference else None,
        consistent=None if low is None or high is None else low <= mean <= high,
    )


def _rate(on: CallChains, of: CallChains, vocabulary: int, chosen: Options) -> float:
    bits = on.bits(
        of,
        additive=chosen.smoothing.additive,
        backoff=chosen.smoothing.backoff,
        vocabulary=vocabulary,
    )
    if bits is None:
        raise ValueError("every thread of a repetition is too short for a transition")
    return bits


def quantile(values: Sequence[float], share: float) -> float:
    """Type 7 of Hyndman and Fan (1996): linear between order statistics."""
    ordered = sorted(values)
    index = (len(ordered) - 1) * share
    below = math.floor(index)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (index - below) * (ordered[above] - ordered[below])
