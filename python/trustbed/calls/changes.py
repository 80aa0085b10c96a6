"""Which transitions make a candidate differ from its reference, in bits, where, and beside what.

With q(e) the share of a side's transitions that are e = x→y, and p(e) the smoothed probability of y
after x on that side's chain, a transition contributes

- ``bits`` = (q_c − q_r) · log₂(p_c / p_r): summed over all transitions, the symmetrical divergence
  of both sides per call (Jeffreys 1946). It ranks the transitions. It is negative where y became
  more probable after x but x→y is made less often, because x is, or the other way round;
- ``excess`` = (q_c − q_r) · −log₂ p_r: summed, by how many bits per call the candidate's calls cost
  more on the reference's chain than the reference's own. The sum can be 0 for sides that differ.

The initialisation of a thread is its first calls: a tenth of those up to where it was cut, 10,000
at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trustbed._core import CallAlphabet, CallChains, call_occurrences
from trustbed.calls.sequences import Repetition, Thread

__all__ = ["Change", "ChangeReport", "Example", "Phase", "Smoothing", "report_changes"]

Phase = Literal["initialisation", "steady", "throughout"]
Side = Literal["reference", "candidate"]

INITIALISATION_CALLS = 10_000
INITIALISATION_SHARE = 0.1
CLEARLY = 10.0
"""How much more often, per call, a transition is made in a phase that it belongs to."""
AROUND = 4
"""Calls shown before and behind an example."""
EXAMPLES = 1
"""Examples of each side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothing:
    """How much probability seldom or never counted transitions have.

    Attributes:
        additive: Added to every count of order 1.
        backoff: The weight, in transitions, of the next lower order in every higher one.
    """

    additive: float = 0.01
    backoff: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One place where a transition is made.

    Attributes:
        side: Whose calls these are.
        repetition: Name of the repetition.
        tid: The thread.
        index: The call of the thread that the transition leads to, from 0.
        before: Calls in front of the transition.
        transition: The calls of its state, and the one it leads to.
        behind: Calls that follow.
    """

    side: Side
    repetition: str
    tid: int
    index: int
    before: tuple[str, ...]
    transition: tuple[str, ...]
    behind: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A transition on both sides.

    Attributes:
        state: Calls of the state it leaves, the earliest first.
        call: The call it leads to.
        reference_count: How often the reference made it.
        candidate_count: How often the candidate did.
        reference_share: Its share of the reference's transitions.
        candidate_share: The same of the candidate's.
        reference_probability: Smoothed probability of ``call`` after ``state``, of the reference.
        candidate_probability: The same of the candidate.
        bits: Its part of the symmetrical divergence, in bits per call.
        excess: Its part of the candidate's excess, in bits per call.
        phase: Where it is made: ten times as often per call in one phase as in the other, or
            throughout.
        initialisation_count: How often both sides made it in the initialisation of their threads.
        examples: One of each side that makes it, outside the initialisation if there is one.
    """

    state: tuple[str, ...]
    call: str
    reference_count: int
    candidate_count: int
    reference_share: float
    candidate_share: float
    reference_probability: float
    candidate_probability: float
    bits: float
    excess: float
    phase: Phase
    initialisation_count: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReport:
    """The transitions that contribute most to the difference of two sides.

    Attributes:
        divergence_bits: Symmetrical divergence in bits per call: the sum of all ``bits``.
        excess_bits: The sum of all ``excess``.
        changes: The transitions that contribute most, by the size of ``bits``.
    """

    divergence_bits: float
    excess_bits: float
    changes: tuple[Change, ...]


@dataclass(slots=True)
class _Seen:
    """Where one transition was made, over both sides."""

    initialisation: int = 0
    steady: int = 0
    examples: tuple[Example, ...] = ()


@dataclass(slots=True)
class _Calls:
    """Calls of both sides, by phase."""

    initialisation: int = 0
    steady: int = 0


def report_changes(
    reference: tuple[Sequence[Repetition], CallChains],
    candidate: tuple[Sequence[Repetition], CallChains],
    alphabet: CallAlphabet,
    *,
    smoothing: Smoothing | None = None,
    most: int = 20,
) -> ChangeReport:
    """Which transitions differ; each side is its repetitions and their chains.

    Raises:
        ValueError: The chains differ in order, or the smoothing is impossible.
    """
    chosen = smoothing or Smoothing()
    own, other = reference[1], candidate[1]
    found = own.changes(other, additive=chosen.additive, backoff=chosen.backoff, most=most)
    transitions = [(state, call) for state, call, *_ in found]
    seen = [_Seen() for _ in found]
    calls = _Calls()
    sides: tuple[tuple[Side, Sequence[Repetition]], ...] = (
        ("reference", reference[0]),
        ("candidate", candidate[0]),
    )
    for side, repetitions in sides:
        _look(side, repetitions, transitions, alphabet, seen, calls)
    names = alphabet.names
    totals = (max(own.transitions, 1), max(other.transitions, 1))
    excess, back = _excess(own, other, chosen), _excess(other, own, chosen)
    return ChangeReport(
        divergence_bits=excess + back,
        excess_bits=excess,
        changes=tuple(
            Change(
                state=tuple(names[number] for number in state),
                call=names[call],
                reference_count=counts[0],
                candidate_count=counts[1],
                reference_share=counts[0] / totals[0],
                candidate_share=counts[1] / totals[1],
                reference_probability=probabilities[0],
                candidate_probability=probabilities[1],
                bits=bits[0],
                excess=bits[1],
                phase=_phase(one, calls),
                initialisation_count=one.initialisation,
                examples=one.examples,
            )
            for (state, call, counts, probabilities, bits), one in zip(found, seen, strict=True)
        ),
    )


def initialisation_of(thread: Thread) -> int:
    """Calls of a thread, from its first one on, that are its initialisation."""
    whole = thread.skipped + len(thread.calls)
    return min(INITIALISATION_CALLS, int(INITIALISATION_SHARE * whole))


def _look(
    side: Side,
    repetitions: Sequence[Repetition],
    transitions: Sequence[tuple[list[int], int]],
    alphabet: CallAlphabet,
    seen: Sequence[_Seen],
    calls: _Calls,
) -> None:
    """Adds where a side makes the transitions, and its first examples of them."""
    early: dict[int, list[Example]] = {}
    late: dict[int, list[Example]] = {}
    for repetition in repetitions:
        for thread in repetition.threads:
            first = min(max(initialisation_of(thread) - thread.skipped, 0), len(thread.calls))
            calls.initialisation += first
            calls.steady += len(thread.calls) - first
            occurred = call_occurrences(
                thread.calls, transitions, initialisation=first, examples=EXAMPLES
            )
            for index, ((before, at_first), (behind, later)) in enumerate(occurred):
                seen[index].initialisation += before
                seen[index].steady += behind
                size = 1 + len(transitions[index][0])
                for places, kept in ((at_first, early), (later, late)):
                    have = kept.setdefault(index, [])
                    for place in places[: EXAMPLES - len(have)]:
                        have.append(_example(side, repetition, thread, alphabet, place, size))
    for index, one in enumerate(seen):
        own = [*late.get(index, ()), *early.get(index, ())]
        one.examples += tuple(own[:EXAMPLES])


def _example(
    side: Side,
    repetition: Repetition,
    thread: Thread,
    alphabet: CallAlphabet,
    place: int,
    size: int,
) -> Example:
    start = place + 1 - size
    return Example(
        side=side,
        repetition=repetition.name,
        tid=thread.tid,
        index=thread.skipped + place,
        before=thread.names(alphabet, start - AROUND, start),
        transition=thread.names(alphabet, start, place + 1),
        behind=thread.names(alphabet, place + 1, place + 1 + AROUND),
    )


def _phase(one: _Seen, calls: _Calls) -> Phase:
    early = one.initialisation / calls.initialisation if calls.initialisation else 0.0
    late = one.steady / calls.steady if calls.steady else 0.0
    if early >= CLEARLY * late and early > 0:
        return "initialisation"
    return "steady" if late >= CLEARLY * early else "throughout"


def _excess(on: CallChains, of: CallChains, smoothing: Smoothing) -> float:
    vocabulary = on.vocabulary(of)
    across, own = (
        on.bits(
            counted,
            additive=smoothing.additive,
            backoff=smoothing.backoff,
            vocabulary=vocabulary,
        )
        for counted in (of, on)
    )
    return 0.0 if across is None or own is None else across - own
