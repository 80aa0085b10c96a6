"""Rounds over time.

A few are points of their own, many are slices; none is lost.
"""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from trustbed.campaign import Load, SeenRound, Stretch, timeline
from trustbed.campaign.statistics.timeline import Timeline, slice_width

SECOND = 10**9
HOUR = 3600 * SECOND
USES = ("trust", "review", "discard", None)


def rounds(count: int, *, every: int = 300 * SECOND) -> list[SeenRound]:
    return [
        SeenRound(
            number=number,
            at_ns=number * every,
            use=USES[number % 4],
            data=100.0 + number,
            probe=None if number % 3 else 7.0,
            rtt_base=0.02,
            idle_open_window=number / count,
            sender=Load(
                busy_share=0.5,
                steal_share=0.4 if number == 5 else 0.0,
                wakeup_latency_max_ns=1e6 * number,
            ),
        )
        for number in range(count)
    ]


def drawn(found: list[SeenRound], stretches: tuple[Stretch, ...] = (), most: int = 400) -> Timeline:
    last = max((one.at_ns or 0 for one in found), default=0) + 1
    return timeline(found, stretches, from_ns=0, to_ns=last, most=most)


def test_few_rounds_are_a_point_each() -> None:
    result = timeline(rounds(8), (), from_ns=0, to_ns=HOUR)
    assert result.slice_ns is None
    assert result.throughput["at_ns"] == [number * 300 * SECOND for number in range(8)]
    assert result.throughput["use"] == ["trust", "review", "discard", "not_judged"] * 2
    assert (
        result.throughput["data_mean"]
        == result.throughput["data_min"]
        == [100.0 + number for number in range(8)]
    )
    assert result.evidence["sender_wakeup_latency_seconds"][3] == 0.003
    assert result.evidence["receiver_busy_share"] == [None] * 8


def test_many_rounds_are_slices_by_verdict_that_keep_the_worst_disturbance() -> None:
    result = timeline(rounds(48), (), from_ns=0, to_ns=4 * HOUR, most=8)
    assert result.slice_ns == HOUR // 2
    assert result.evidence["at_ns"] == [HOUR // 4 + number * HOUR // 2 for number in range(8)]
    first = [index for index, at in enumerate(result.throughput["at_ns"]) if at == HOUR // 4]
    assert [result.throughput["use"][index] for index in first] == [
        "trust",
        "review",
        "discard",
        "not_judged",
    ]
    assert [result.throughput["rounds"][index] for index in first] == [2, 2, 1, 1]
    assert (
        result.throughput["data_min"][0],
        result.throughput["data_mean"][0],
        result.throughput["data_max"][0],
    ) == (100.0, 102.0, 104.0)
    assert result.evidence["sender_steal_share"][0] == 0.4, "the worst round, and not the mean"
    assert result.evidence["sender_busy_share"][0] == 0.5


@given(
    st.lists(
        st.tuples(st.integers(0, 14 * 24), st.sampled_from(USES), st.none() | st.floats(0, 1e9)),
        max_size=120,
    ),
    st.integers(1, 40),
)
def test_every_round_is_in_one_point(
    found: list[tuple[int, str | None, float | None]], most: int
) -> None:
    seen = [
        SeenRound(number=number, at_ns=at * HOUR, use=use, data=data)
        for number, (at, use, data) in enumerate(found)
    ]
    result = timeline(seen, (), from_ns=0, to_ns=14 * 24 * HOUR + 1, most=most)
    assert (
        sum(result.throughput.get("rounds", []))
        == sum(result.evidence.get("rounds", []))
        == len(seen)
    )
    assert len(result.evidence.get("at_ns", [])) <= max(
        most + 1, len(seen) if result.slice_ns is None else 0
    )
    known = [one.data for one in seen if one.data is not None]
    means = [one for one in result.throughput.get("data_mean", []) if one is not None]
    assert not means or min(known) * (1 - 1e-9) <= min(means) <= max(means) <= max(known) * (
        1 + 1e-9
    )
    for earlier, later in itertools.pairwise(result.evidence.get("at_ns", [])):
        assert earlier < later


def test_rounds_without_a_start_are_counted() -> None:
    result = timeline([SeenRound(number=1), SeenRound(number=2, at_ns=5)], (), from_ns=0, to_ns=10)
    assert (result.undated, result.throughput["at_ns"]) == (1, [5])


def test_neighbours_that_were_skipped_are_one_stretch() -> None:
    gone = [
        Stretch(
            kind="unreachable", from_ns=number * 300 * SECOND, to_ns=(number + 1) * 300 * SECOND
        )
        for number in (3, 1, 2, 9)
    ]
    result = timeline(
        [], [*gone, Stretch(kind="failed", from_ns=SECOND, to_ns=SECOND)], from_ns=0, to_ns=HOUR
    )
    columns = result.absent
    assert columns["kind"] == ["failed", "unreachable", "unreachable"]
    assert columns["rounds"] == [1, 3, 1]
    assert [
        end - begin for begin, end in zip(columns["from_ns"], columns["to_ns"], strict=True)
    ] == [0, 900 * SECOND, 300 * SECOND]


def test_a_host_that_flaps_for_weeks_is_bounded() -> None:
    gone = [
        Stretch(
            kind="unreachable",
            from_ns=number * 600 * SECOND,
            to_ns=number * 600 * SECOND + 300 * SECOND,
        )
        for number in range(2000)
    ]
    result = timeline([], gone, from_ns=0, to_ns=2000 * 600 * SECOND, most=100)
    assert sum(result.absent["rounds"]) == 2000
    assert len(result.absent["kind"]) <= 101


@given(st.integers(1, 400 * 24 * HOUR), st.integers(1, 1000))
def test_slices_are_few_enough(span: int, most: int) -> None:
    width = slice_width(span, most)
    assert width * most >= span
