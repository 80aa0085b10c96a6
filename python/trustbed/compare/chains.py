"""Chains of system calls of a candidate against the reference's, where both were traced.

Counts, walks and distances are :mod:`trustbed.calls.chains`'; this puts together whose calls are
compared: those of one trace that all repetitions have, without repetitions whose trace lost events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.compare.calls import WrittenCalls
from trustbed.compare.model import ChainEdge, ChainResult, ChangedTransition, LaterCalls

if TYPE_CHECKING:
    from trustbed._core import CallAlphabet
    from trustbed.calls.chains import ChainComparison, Options
    from trustbed.calls.changes import Change
    from trustbed.calls.sequences import Repetition as Sequences

SKIP = 1_000_000
"""Calls at the beginning of every thread, behind which chains are compared once more: invalid
transitions come of the initialisation (Crussell et al.)."""
MOST_ORDER = 4
"""Calls of a state, at most."""
_LEAST_BITS = 5e-5
"""Bits per call of a transition that is shown: what is 0.0000 in four decimals has not changed."""
LEAST = 2
"""Traced repetitions of each side, below which there is nothing to compare."""


def chains_of(
    reference: Sequence[Mapping[str, WrittenCalls]],
    candidate: Sequence[Mapping[str, WrittenCalls]],
    names: tuple[str, str],
    *,
    skip: int = SKIP,
    order: int = 1,
) -> ChainResult | None:
    """The chains of a candidate's repetitions; ``None`` where a side has no calls written down.

    Args:
        reference: What each repetition of the reference wrote down, by trace.
        candidate: The same of the candidate.
        names: What both testbeds are called in examples.
        skip: Calls of every thread behind which chains are compared once more.
        order: Calls of a state, 1 to 4.
    """
    traces = [{trace for one in side for trace in one} for side in (reference, candidate)]
    common = sorted(set.intersection(*traces))
    if not common:
        return None
    trace, *others = common
    sides = [
        [one[trace] for one in side if trace in one and one[trace].is_whole]
        for side in (reference, candidate)
    ]
    lost = sum(len(side) for side in (reference, candidate)) - sum(map(len, sides))
    if min(map(len, sides)) < LEAST:
        return _nothing(order, f"Fewer than {LEAST} repetitions of a testbed have a whole trace.")
    machines = [{one.architecture for one in side if one.architecture} for side in sides]
    if all(machines) and machines[0] != machines[1]:
        return _nothing(
            order,
            f"{names[0]} was traced on {_listed(machines[0])}, {names[1]} on "
            f"{_listed(machines[1])}: other calls are made there, so chains are not compared.",
        )
    from trustbed._core import CallAlphabet
    from trustbed.calls.chains import Options, compare_calls
    from trustbed.calls.errors import CallsError

    alphabet = CallAlphabet()
    try:
        own, other = (
            list(_sequences(side, name, alphabet)) for side, name in zip(sides, names, strict=True)
        )
        lost += sum(map(len, sides)) - len(own) - len(other)
        if min(len(own), len(other)) < LEAST:
            return _nothing(
                order, f"Fewer than {LEAST} repetitions of a testbed have a table of calls."
            )
        found = compare_calls(own, other, alphabet, options=Options(order=order))
    except CallsError as error:
        return _nothing(order, f"Not compared: {error.message}.")
    try:
        later = _later(own, other, alphabet, Options(skip=skip, order=order, changes=1, edges=1))
    except CallsError:
        later = None  # too little is left behind so many calls
    notes = [f"{lost} repetitions without a whole trace are left out."] if lost else []
    if others:
        notes.append(f"Other traces that both have are not compared: {', '.join(others)}.")
    return _result(found, trace, " ".join(notes), later)


def _later(
    reference: Sequence[Sequences],
    candidate: Sequence[Sequences],
    alphabet: CallAlphabet,
    options: Options,
) -> LaterCalls | None:
    """The comparison behind the first calls of every thread, if every repetition has more."""
    from trustbed.calls.chains import compare_calls

    every = [*reference, *candidate]
    if min(one.without_first(options.skip).calls for one in every) <= options.order:
        return None
    found = compare_calls(reference, candidate, alphabet, options=options)
    return LaterCalls(
        skipped=options.skip,
        calls=found.calls,
        walks=found.candidate.walks,
        invalid_walks=found.candidate.invalid_walks,
        invalid_transitions=found.candidate.invalid_transitions,
        relative_exponent=found.relative_exponent,
        bits_per_call=_mean(found.bits.candidate),
        reference_bits_per_call=_mean(found.bits.reference),
        consistent=found.bits.consistent,
    )


def _listed(machines: Collection[str]) -> str:
    return ", ".join(sorted(machines))


def _sequences(
    written: Sequence[WrittenCalls], name: str, alphabet: CallAlphabet
) -> Iterator[Sequences]:
    from trustbed.calls.errors import CallsError
    from trustbed.calls.sequences import repetition

    for one in written:
        table = one.read()
        if table is None or not len(table):
            continue
        shown = f"{name} {one.repetition}"
        try:
            called = pc.fill_null(table["call"].cast("string"), "unknown")
            threads = pc.fill_null(table["tid"].cast("uint32"), 0)
            found = repetition(shown, called, alphabet, threads=threads)
        except (pa.ArrowException, KeyError, ValueError) as error:
            raise CallsError(f"{shown} has no table of calls: {error}", "trace it again") from None
        yield found


def _nothing(order: int, note: str) -> ChainResult:
    return ChainResult(
        order=order,
        walks=0,
        invalid_walks=0,
        invalid_transitions=0,
        relative_exponent=None,
        bits_per_call=None,
        reference_bits_per_call=None,
        reference_low=None,
        reference_high=None,
        consistent=None,
        jaccard=None,
        variation=None,
        note=note,
    )


def _result(found: ChainComparison, trace: str, note: str, later: LaterCalls | None) -> ChainResult:
    bits = found.bits
    said = f"The first {found.calls:,} calls of trace {trace} in every repetition."
    return ChainResult(
        order=found.order,
        walks=found.candidate.walks,
        invalid_walks=found.candidate.invalid_walks,
        invalid_transitions=found.candidate.invalid_transitions,
        relative_exponent=found.relative_exponent,
        bits_per_call=_mean(bits.candidate),
        reference_bits_per_call=_mean(bits.reference),
        reference_low=bits.low,
        reference_high=bits.high,
        consistent=bits.consistent,
        jaccard=found.topology.jaccard_distance,
        variation=found.topology.total_variation,
        changed=tuple(
            _changed(one) for one in found.changes.changes if abs(one.bits) >= _LEAST_BITS
        ),
        edges=tuple(
            ChainEdge(
                state=one.state,
                call=one.call,
                reference_weight=one.reference_weight,
                candidate_weight=one.candidate_weight,
                reference_share=one.reference_share,
                candidate_share=one.candidate_share,
                shift=one.shift,
            )
            for one in found.edges
        ),
        note=f"{said} {note}".strip(),
        later=later,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _changed(one: Change) -> ChangedTransition:
    example = next((each for each in one.examples if each.side == "candidate"), None)
    example = example or next(iter(one.examples), None)
    shown = ""
    if example is not None:
        around = (*example.before, *example.transition, *example.behind)
        shown = f"{example.repetition}: {' '.join(around)}"
    return ChangedTransition(
        before=" ".join(one.state),
        after=one.call,
        reference_share=one.reference_share,
        candidate_share=one.candidate_share,
        bits_per_call=one.bits,
        phase=one.phase,
        example=shown,
    )
