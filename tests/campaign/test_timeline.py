"""Points over time, thinned; shares of discarded rounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.campaign import Point, by_host, by_hour, thinned

HOUR_NS = 3_600_000_000_000
USES = st.sampled_from(["trust", "review", "discard", None])


def test_few_points_stay_as_they_are() -> None:
    points = [Point(at=1.0, use="trust", data=2.0), Point(at=2.0, use="discard")]
    assert thinned(points, 2) == points


@given(st.lists(st.tuples(st.floats(0, 1e6), USES, st.one_of(st.none(), st.floats(0, 1e9))), max_size=80), st.integers(1, 10))
def test_thinned_points_stand_for_all_of_them(drawn: list[tuple[float, str | None, float | None]], most: int) -> None:
    points = sorted((Point(at=at, use=use, data=data) for at, use, data in drawn), key=lambda one: one.at)
    found = thinned(points, most)
    assert len(found) <= max(len(points) if len(points) <= most else 0, 4 * most)
    assert sum(one.rounds for one in found) == len(points)
    for use in ("trust", "review", "discard", None):
        assert sum(one.rounds for one in found if one.use == use) == sum(one.use == use for one in points)
    known = [one.data for one in points if one.data is not None]
    assert all(min(known) * (1 - 1e-9) <= one.data <= max(known) * (1 + 1e-9) for one in found if one.data is not None)


def test_the_mean_of_a_stretch_leaves_out_what_is_not_known() -> None:
    (one,) = thinned([Point(at=0.0, data=4.0), Point(at=1.0), Point(at=2.0, data=8.0)], 1)
    assert (one.at, one.rounds, one.data, one.ping) == (1.0, 3, 6.0, None)


def test_a_host_is_to_be_avoided_when_chance_does_not_explain_it() -> None:
    rounds = [("good", "trust")] * 50 + [("bad", "discard")] * 4 + [("bad", "trust")] * 4 + [("new", "discard")] * 2
    found = {one.what: one for one in by_host(rounds, level=0.95)}
    assert (found["bad"].rounds, found["bad"].discarded, found["bad"].avoid) == (8, 4, True)
    assert not found["good"].avoid
    assert not found["new"].avoid, "two rounds do not say much"


def test_hours_are_those_of_the_day_in_utc() -> None:
    found = by_hour([(HOUR_NS * number, "trust") for number in (0, 1, 25, 49)], level=0.95)
    assert [(one.what, one.rounds) for one in found] == [("00", 1), ("01", 3)]
    assert not any(one.avoid for one in found)


def test_nothing_is_made_of_nothing() -> None:
    assert by_host([], level=0.95) == []
    assert thinned([], 3) == []
    assert thinned([Point(at=5.0), Point(at=5.0)], 1)[0].rounds == pytest.approx(2)
