"""The table: means over minutes, by hand and by a slow twin, and the columns of every row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.campaign.metrics.table import (
    METRICS,
    MINUTE,
    RESOURCES,
    Observation,
    Origin,
    Problem,
    Span,
    per_minute,
    table_of,
)

SECOND = 1_000_000_000
T0 = 1_800_000_000 * SECOND
ORIGIN = Origin(pair="a-b", round=3, role="sender", host="a", source="proc")


def one(at: int, length: int, value: float | None, name: str | None = None) -> Observation:
    return Observation(
        "interface" if name else "host", name, "cpu_idle_share", T0 + at, length, value
    )


def test_a_minute_weighs_each_value_with_its_part_of_it() -> None:
    found = list(
        per_minute(
            [
                one(50 * SECOND, 20 * SECOND, 0.5),
                one(70 * SECOND, 10 * SECOND, 1.0),
                one(80 * SECOND, 10 * SECOND, None),
            ]
        )
    )
    assert [
        (minute.time_ns - T0, minute.resolution_ns, minute.covered_ns, minute.value)
        for minute in found
    ] == [
        (0, MINUTE, 10 * SECOND, 0.5),
        (MINUTE, MINUTE, 20 * SECOND, 0.75),  # (10 s · 0.5 + 10 s · 1) / 20 s
    ]


def test_a_minute_of_which_nothing_is_known_is_null() -> None:
    (found,) = per_minute([one(0, SECOND, None)])
    assert (found.value, found.covered_ns) == (None, 0)


def test_what_is_as_coarse_as_minutes_stays_as_it_is() -> None:
    assert list(per_minute([one(0, 60 * SECOND, 1.0), one(0, 300 * SECOND, 1.0)])) == []


def test_interfaces_are_averaged_separately() -> None:
    found = list(per_minute([one(0, SECOND, 1.0, "eth0"), one(0, SECOND, 3.0, "lo")]))
    assert [(minute.name, minute.value) for minute in found] == [("eth0", 1.0), ("lo", 3.0)]


@given(st.lists(st.tuples(st.integers(1, 29), st.none() | st.integers(0, 100)), max_size=40))
def test_minutes_are_those_of_a_slow_twin(steps: list[tuple[int, int | None]]) -> None:
    at, observations, seconds = 0, [], {}
    for length, value in steps:
        observations.append(one(at * SECOND, length * SECOND, value))
        seconds.update(dict.fromkeys(range(at, at + length), value))
        at += length
    expected = []
    for minute in range(-(-at // 60)):
        known = [
            value
            for second in range(60 * minute, 60 * minute + 60)
            if (value := seconds.get(second)) is not None
        ]
        expected.append(
            (
                minute * MINUTE,
                len(known) * SECOND,
                pytest.approx(sum(known) / len(known)) if known else None,
            )
        )
    assert [
        (found.time_ns - T0, found.covered_ns, found.value) for found in per_minute(observations)
    ] == expected


def test_every_row_has_its_host_and_unit() -> None:
    problem = Problem(span=Span(from_ns=T0, until_ns=T0 + SECOND), text="nothing")
    table = table_of(ORIGIN, [one(0, SECOND, 1.0)], [problem])
    assert table.schema == RESOURCES
    first, minute, last = table.to_pylist()
    assert {row["host"] for row in (first, minute, last)} == {"a"}
    assert (
        first["metric"],
        first["unit"],
        first["resolution_ns"],
        first["covered_ns"],
        first["problem"],
    ) == ("cpu_idle_share", "1", SECOND, SECOND, None)
    assert (minute["resolution_ns"], minute["covered_ns"]) == (MINUTE, SECOND)
    assert (
        last["metric"],
        last["value"],
        last["problem"],
        last["time_ns"],
        last["covered_ns"],
    ) == (None, None, "nothing", T0, 0)


def test_names_of_metrics_carry_their_units() -> None:
    endings = {
        "1": ("_share", "_1min", "_running", "_established", "_seconds_per_second"),
        "B": ("_bytes",),
        "B/s": ("_bytes_per_second",),
    }
    for name, (unit, meaning) in METRICS.items():
        assert name.endswith(endings.get(unit, ("_per_second",))), name
        assert meaning
