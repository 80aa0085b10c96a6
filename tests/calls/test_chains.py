"""Chains of system calls: golden values, the published number, spread, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path

import pyarrow as pa
import pytest

from trustbed._core import CallAlphabet, CallChains
from trustbed.calls.chains import (
    Options,
    chains_of,
    compare_calls,
    log10_mean,
    merged,
    quantile,
    walks,
)
from trustbed.calls.errors import CallsError
from trustbed.calls.sequences import Repetition, common_length, repetition

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "compare.json").read_text(encoding="utf-8")
)["computed"]
CHAIN = GOLDEN["chain"]


@pytest.fixture
def alphabet() -> CallAlphabet:
    return CallAlphabet()


def of(letters: str, alphabet: CallAlphabet, name: str = "one") -> Repetition:
    return repetition(name, pa.array(list(letters)), alphabet)


def chain(letters: str, alphabet: CallAlphabet, order: int = 1) -> CallChains:
    return chains_of([of(letters, alphabet)], order=order)


def requests(seed: int, *, reads: float = 0.5, count: int = 400) -> str:
    """A server's calls: each request is accepted, read, perhaps read again, and closed."""
    rng = random.Random(seed)
    return "".join(f"ar{'r' if rng.random() < reads else ''}wc" for _ in range(count))


def test_zeros_count_in_the_mean_of_probabilities() -> None:
    golden = GOLDEN["log10_mean"]
    assert log10_mean(golden["in"]) == pytest.approx(golden["out"], rel=1e-9)
    assert log10_mean([None, None]) is None


def test_probabilities_beyond_floating_point_have_a_mean() -> None:
    assert log10_mean([-33288.0, -33288.0]) == pytest.approx(-33288.0)


@pytest.mark.parametrize("letters", ["A", "B", "C"])
def test_walks_are_those_of_the_golden_file(letters: str, alphabet: CallAlphabet) -> None:
    on = chain(CHAIN["A"], alphabet)
    log10, invalid = CHAIN[f"walk_{letters}_on_A"]
    walked = of(CHAIN[letters], alphabet)
    length = len(CHAIN[letters]) - 1
    expected = (pytest.approx(log10, rel=1e-9), invalid, length)
    assert on.walk(walked.threads[0].calls) == expected
    assert on.walk_counted(chains_of([walked], order=1)) == expected


def test_bits_and_topology_are_those_of_the_golden_file(alphabet: CallAlphabet) -> None:
    own = chain(CHAIN["A"], alphabet)
    for letters in "ABC":
        other = chain(CHAIN[letters], alphabet)
        bits = own.bits(other, additive=0.01, backoff=1, vocabulary=own.vocabulary(other))
        assert bits == pytest.approx(CHAIN[f"cross_entropy_bits_{letters}_on_A"], rel=1e-9)
    jaccard, gap, _ = own.topology(chain(CHAIN["B"], alphabet), least=0.001)
    assert [jaccard, gap] == pytest.approx(
        CHAIN["jaccard_distance_and_mean_weight_gap_A_B"], rel=1e-9
    )


def test_the_relative_exponent_compares_walks_of_one_length(alphabet: CallAlphabet) -> None:
    # The candidate has 18 calls, so that the chain is that of the reference's first 18.
    found = compare_calls([of(CHAIN["A"], alphabet)], [of(CHAIN["B"], alphabet)], alphabet)
    on = chain(CHAIN["A"][:18], alphabet)
    across = on.walk_counted(chain(CHAIN["B"], alphabet))[0]
    itself = on.walk_counted(chain(CHAIN["A"][:18], alphabet))[0]
    assert found.calls == 18
    assert found.relative_exponent == pytest.approx(across - itself)
    whole = chain(CHAIN["A"], alphabet)
    relative = (
        whole.walk_counted(chain(CHAIN["B"], alphabet))[0]
        - whole.walk_counted(chain(CHAIN["A"][:18], alphabet))[0]
    )
    assert relative == pytest.approx(CHAIN["relative_B_to_A_first_18"], rel=1e-9)


def test_relative_exponents_are_over_every_chain_and_sequence(alphabet: CallAlphabet) -> None:
    reference = [of(letters, alphabet) for letters in ("ababac", "ababab", "acabab")]
    candidate = [of(letters, alphabet) for letters in ("acacab", "abadab")]
    found = compare_calls(reference, candidate, alphabet)

    def probability(on: str, walked: str) -> float:
        """By the definition, pair by pair."""
        product = 1.0
        for pair in itertools.pairwise(walked):
            own = [two for two in itertools.pairwise(on) if two[0] == pair[0]]
            product *= own.count(pair) / len(own) if own else 0.0
        return product

    own = ("ababac", "ababab", "acabab")
    across = [probability(on, walked) for on in own for walked in ("acacab", "abadab")]
    itself = [probability(on, walked) for on in own for walked in own]
    expected = math.log10(sum(across) / len(across)) - math.log10(sum(itself) / len(itself))
    assert found.relative_exponent == pytest.approx(expected)
    assert found.candidate.walks == 6
    assert found.candidate.invalid_walks == sum(one == 0 for one in across)
    # a→d and d→a are on no chain; ababac never left c (2 × c→a), ababab never met it (4).
    assert found.candidate.invalid_transitions == 3 * 2 + 2 + 4


def test_own_chains_are_left_out_of_the_second_count(alphabet: CallAlphabet) -> None:
    reference = [of(letters, alphabet) for letters in ("abab", "abac", "adab")]
    found = compare_calls(reference, [of("abab", alphabet)], alphabet)
    assert (found.reference.walks, found.reference_others.walks) == (9, 6)
    assert found.reference.invalid_walks == found.reference_others.invalid_walks == 5
    # Pair by pair: b→a; a→c; b→a and a→c; a→d and d→a twice.
    invalid = [one.invalid_transitions for one in (found.reference, found.reference_others)]
    assert invalid == [8, 8]


def test_without_any_valid_walk_there_is_no_exponent(alphabet: CallAlphabet) -> None:
    found = compare_calls([of("ababab", alphabet)], [of("xyxyxy", alphabet)], alphabet)
    assert found.candidate.log10_mean is None
    assert found.candidate.log10_geometric is None
    assert found.relative_exponent is None
    assert found.candidate.invalid_transitions == 5
    assert found.topology.jaccard_distance == 1


@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_reference_is_consistent_with_more_of_itself(alphabet: CallAlphabet, order: int) -> None:
    reference = [of(requests(seed), alphabet) for seed in range(10)]
    candidate = [of(requests(seed), alphabet) for seed in range(10, 20)]
    found = compare_calls(reference, candidate, alphabet, options=Options(order=order))
    assert found.bits.consistent
    assert found.bits.low is not None
    assert found.bits.high is not None
    assert found.bits.low == quantile(found.bits.reference, 0.025)
    assert min(found.bits.reference) <= found.bits.low < found.bits.high


def test_one_more_read_per_request_is_not_consistent(alphabet: CallAlphabet) -> None:
    reference = [of(requests(seed, reads=0.1), alphabet) for seed in range(10)]
    candidate = [of(requests(seed, reads=1.0), alphabet) for seed in range(10, 20)]
    found = compare_calls(reference, candidate, alphabet)
    assert found.bits.consistent is False
    assert found.bits.excess is not None
    assert found.bits.excess > 0.1
    first = found.changes.changes[0]
    assert (first.state, first.call) == (("r",), "r")
    assert (("r",), "r") in {(edge.state, edge.call) for edge in found.edges}


def test_a_few_repetitions_are_no_yardstick(alphabet: CallAlphabet) -> None:
    reference = [of(requests(seed), alphabet) for seed in range(4)]
    found = compare_calls(reference, reference, alphabet)
    assert len(found.bits.reference) == 4
    assert found.bits.excess is not None
    assert found.bits.consistent is None
    alone = compare_calls(reference[:1], reference[1:], alphabet).bits
    assert (alone.reference, alone.excess, alone.consistent) == ((), None, None)
    assert len(alone.candidate) == 3


def test_the_initialisation_can_be_skipped(alphabet: CallAlphabet) -> None:
    reference = [of("xyzxyz" + requests(seed), alphabet) for seed in range(3)]
    candidate = [of("uvwuvw" + requests(seed), alphabet) for seed in range(3)]
    whole = compare_calls(reference, candidate, alphabet)
    skipped = compare_calls(reference, candidate, alphabet, options=Options(skip=6))
    assert whole.candidate.invalid_walks == 9
    assert skipped.candidate.invalid_transitions == 0


def test_every_repetition_is_cut_to_one_length(alphabet: CallAlphabet) -> None:
    long, short = of(requests(1), alphabet), of(requests(2, count=50), alphabet)
    found = compare_calls([long], [short], alphabet)
    assert found.calls == short.calls
    assert found.reference.walks == 1
    limited = compare_calls([long], [short], alphabet, options=Options(max_calls=20))
    assert limited.calls == 20
    assert common_length([long, short], 1_000_000) == short.calls


def test_threads_are_apart(alphabet: CallAlphabet) -> None:
    names = pa.chunked_array(
        [pa.array(list("axb")).dictionary_encode(), pa.array(list("yab")).dictionary_encode()]
    )
    threads = pa.array([7, 9, 7, 9, 7, 7], pa.uint32())
    trace = repetition("run", names, alphabet, threads=threads)
    assert [thread.tid for thread in trace.threads] == [7, 9]
    assert [thread.names(alphabet, 0, 9) for thread in trace.threads] == [
        ("a", "b", "a", "b"),
        ("x", "y"),
    ]
    numbers = {name: number for number, name in enumerate(alphabet.names)}
    made = {
        (state[0], call, count) for state, call, count, _ in chains_of([trace], order=1).edges()
    }
    a, b, x, y = (numbers[name] for name in "abxy")
    assert made == {(a, b, 2), (b, a, 1), (x, y, 1)}


def test_a_number_that_is_given_again_is_another_thread(alphabet: CallAlphabet) -> None:
    called = ["read", "exit_group", "brk", "read", "exit", "write", "brk"]
    threads = pa.array([7, 7, 7, 8, 7, 8, 7], pa.uint32())
    found = repetition("one", pa.array(called), alphabet, threads=threads)
    names = [one.names(alphabet, 0, 9) for one in found.threads]
    assert [one.tid for one in found.threads] == [7, 7, 7, 8]
    assert names == [("read", "exit_group"), ("brk", "exit"), ("brk",), ("read", "write")]


def test_no_calls_are_encoded(alphabet: CallAlphabet) -> None:
    for kind in (pa.string(), pa.dictionary(pa.int32(), pa.string())):
        assert sum(map(len, alphabet.encode(pa.array([], kind)))) == 0


def test_threads_that_last_keep_their_share_and_others_come_whole(alphabet: CallAlphabet) -> None:
    # One that accepts, half of the calls; 25 connections of 4 calls each.
    tids = [1] * 100 + [tid for tid in range(2, 27) for _ in range(4)]
    names = pa.array(["accept"] * 100 + ["read", "write", "write", "close"] * 25)
    trace = repetition("run", names, alphabet, threads=pa.array(tids, pa.uint32()))

    def lengths(most: int) -> list[int]:
        return [len(thread.calls) for thread in trace.at_most(most).threads]

    assert lengths(200) == lengths(1000) == [100] + [4] * 25
    assert lengths(100) == [50] + [4] * 12 + [2]
    assert lengths(3) == [1, 2]
    assert lengths(0) == []
    assert [thread.skipped for thread in trace.without_first(4).threads] == [4]


def test_added_chains_are_the_chain_of_all(alphabet: CallAlphabet) -> None:
    parts = [of(requests(seed), alphabet) for seed in range(3)]
    added = merged([chains_of([one], order=2) for one in parts])
    assert added.edges() == chains_of(parts, order=2).edges()
    assert walks([(added, added)])[0].invalid_walks == 0


def test_calls_may_come_in_chunks(alphabet: CallAlphabet) -> None:
    calls = of(requests(1), alphabet).threads[0].calls.combine_chunks()
    stepwise = CallChains(3)
    for start in range(0, len(calls), 7):
        stepwise.push(calls.slice(start, 7))
    assert stepwise.edges() == chain(requests(1), alphabet, order=3).edges()


@pytest.mark.parametrize(
    ("reference", "candidate", "options", "message"),
    [
        ("abab", None, Options(), "only one side"),
        ("abab", "a", Options(), "other has 1 system calls, too few"),
        ("abab", "ab", Options(skip=2), "after the first 2 of every thread"),
        ("ababab", "ababab", Options(order=5), "order from 1 to 4"),
        ("abcd", "abcd", Options(bound=2), "more than 2 different transitions"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    alphabet: CallAlphabet, reference: str, candidate: str | None, options: Options, message: str
) -> None:
    others = [] if candidate is None else [of(candidate, alphabet, "other")]
    with pytest.raises(CallsError, match=message):
        compare_calls([of(reference, alphabet)] * 2, others, alphabet, options=options)


def test_calls_of_another_type_are_refused(alphabet: CallAlphabet) -> None:
    with pytest.raises(TypeError, match="an array of UInt16 is needed"):
        CallChains().push(pa.array([1, 2]))
    with pytest.raises(ValueError, match="call 1 is null"):
        CallChains().push(pa.array([1, None], pa.uint16()))
    with pytest.raises(ValueError, match="null"):
        alphabet.encode(pa.array(["read", None]))
    with pytest.raises(TypeError, match="strings"):
        alphabet.encode(pa.array([1, 2]))
    with pytest.raises(ValueError, match="2 thread numbers and 3 calls"):
        repetition("x", pa.array(list("abc")), alphabet, threads=pa.array([1, 2], pa.uint32()))


def test_many_short_threads_are_no_likelier_than_one_long_one() -> None:
    alphabet = CallAlphabet()
    letters = requests(1, count=400)
    one = [of(letters, alphabet)] * 2
    tids = pa.array([place // 4 for place in range(len(letters))], pa.uint32())
    many = repetition("many", pa.array(list(letters)), alphabet, threads=tids)
    found = compare_calls(one, [many] * 2, alphabet)
    # A quarter of the transitions is missing; what is left is as likely, call by call.
    assert found.relative_exponent is not None
    assert abs(found.relative_exponent) < 0.1 * abs(found.reference.log10_mean or 0)
