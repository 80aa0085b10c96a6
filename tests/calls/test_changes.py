"""The change report: which transitions differ, by how many bits, beside which calls, and when."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from trustbed._core import CallAlphabet
from trustbed.calls.chains import Options, chains_of, compare_calls
from trustbed.calls.changes import ChangeReport, initialisation_of, report_changes
from trustbed.calls.edges import SCHEMA, edge_table, edges_of
from trustbed.calls.sequences import Repetition, repetition

REQUEST = ["accept", "read", "write", "close"]
TWO_READS = ["accept", "read", "read", "write", "close"]


def of(calls: list[str], alphabet: CallAlphabet, name: str = "one") -> Repetition:
    return repetition(name, pa.array(calls), alphabet)


def report(reference: list[str], candidate: list[str], order: int = 1) -> ChangeReport:
    alphabet = CallAlphabet()
    sides = [[of(reference, alphabet, "bare")], [of(candidate, alphabet, "guest")]]
    own, other = (chains_of(side, order=order) for side in sides)
    return report_changes((sides[0], own), (sides[1], other), alphabet, most=1000)


def test_the_same_calls_have_no_changes() -> None:
    found = report(REQUEST * 50, REQUEST * 50)
    assert found.divergence_bits == pytest.approx(0, abs=1e-12)
    assert all(change.bits == pytest.approx(0, abs=1e-12) for change in found.changes)


@pytest.mark.parametrize("order", [1, 3])
def test_contributions_sum_to_the_differences(order: int) -> None:
    found = report(REQUEST * 50, (REQUEST + TWO_READS) * 30, order)
    assert math.fsum(change.bits for change in found.changes) == pytest.approx(
        found.divergence_bits
    )
    assert math.fsum(change.excess for change in found.changes) == pytest.approx(found.excess_bits)
    assert found.divergence_bits > 0


def test_a_second_read_is_named_with_the_calls_around_it() -> None:
    first = report(REQUEST * 100, TWO_READS * 100).changes[0]
    assert (first.state, first.call) == (("read",), "read")
    assert (first.reference_count, first.candidate_count) == (0, 100)
    assert first.phase == "throughout"
    (example,) = first.examples
    assert (example.side, example.repetition) == ("candidate", "guest")
    # Outside the initialisation, the first 50 of 500 calls.
    assert example.index == 52
    assert example.before == ("read", "write", "close", "accept")
    assert example.transition == ("read", "read")
    assert example.behind == ("write", "close", "accept", "read")


def test_what_only_the_start_does_belongs_to_the_initialisation() -> None:
    found = report(["open", "mmap"] * 3 + REQUEST * 100, ["open", "stat"] * 3 + REQUEST * 100)
    phases = {(*change.state, change.call): change.phase for change in found.changes}
    assert phases["open", "stat"] == phases["open", "mmap"] == "initialisation"
    assert phases["read", "write"] == "throughout"
    late = report(REQUEST * 100, REQUEST * 90 + TWO_READS * 10).changes[0]
    assert (late.call, late.phase, late.initialisation_count) == ("read", "steady", 0)


def test_examples_at_the_ends_have_what_is_there() -> None:
    first = report(["a", "b"], ["a", "c"])
    examples = [one for change in first.changes for one in change.examples]
    assert {(one.before, one.transition, one.behind) for one in examples} == {
        ((), ("a", "b"), ()),
        ((), ("a", "c"), ()),
    }


def test_positions_are_those_of_the_whole_thread() -> None:
    alphabet = CallAlphabet()
    sides = [[of(["x"] * 40 + calls * 100, alphabet)] for calls in (REQUEST, TWO_READS)]
    found = compare_calls(*sides, alphabet, options=Options(skip=40))
    example = found.changes.changes[0].examples[0]
    # Both are cut to 400 calls behind the 40, of whose 440 the first 44 are the initialisation.
    assert example.index == 47
    cut = sides[1][0].without_first(40).at_most(400)
    assert initialisation_of(cut.threads[0]) == 44


def test_edges_have_both_sides() -> None:
    alphabet = CallAlphabet()
    own, other = (chains_of([of(calls * 100, alphabet)], order=1) for calls in (REQUEST, TWO_READS))
    edges = edges_of(own, other, alphabet)
    reread = next(edge for edge in edges if edge.state == ("read",) and edge.call == "read")
    assert (reread.reference_weight, reread.reference_share) == (0, 0)
    assert reread.candidate_weight == pytest.approx(0.5)
    assert reread.candidate_share == pytest.approx(100 / 499)
    # read is left by 100 of 399 and by 200 of 499 transitions.
    assert reread.shift == pytest.approx(0.5 * (100 / 399 + 200 / 499) / 2)
    assert sum(edge.shift for edge in edges) == pytest.approx(0)
    assert {edge.call for edge in edges if edge.shift} == {"read", "write"}
    assert reread.target == ("read",)
    assert [edge.share for edge in edges] == sorted((edge.share for edge in edges), reverse=True)
    table = edge_table(edges)
    assert table.schema == SCHEMA
    assert table.num_rows == len(edges) == 5
