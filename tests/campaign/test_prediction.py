"""The line from probes to data, and what it is worth on rounds that it has not seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.campaign import Connection, predict
from trustbed.campaign.statistics.prediction import Point, fit, left_out_errors

# F. J. Anscombe, Graphs in Statistical Analysis, The American Statistician 27 (1973): the first of
# his data sets, y = 3 + x/2.
ANSCOMBE = [
    (10, 8.04),
    (8, 6.95),
    (13, 7.58),
    (9, 8.81),
    (11, 8.33),
    (14, 9.96),
    (6, 7.24),
    (4, 4.26),
    (12, 10.84),
    (7, 4.82),
    (5, 5.68),
]
SPEEDS = st.floats(1e3, 1e8)
POINTS = st.lists(st.builds(Point, st.integers(0, 5), SPEEDS, SPEEDS), max_size=15)


def rows(points: list[Point]) -> list[Connection]:
    """The two connections of each connection pair."""
    found = []
    for number, point in enumerate(points):
        for role, value in (("data", point.data), ("probe", point.probe)):
            found.append(
                Connection(
                    pair="a-b",
                    round=point.round,
                    index="1",
                    number=number,
                    role=role,
                    app_bytes_per_second=value,
                )
            )  # type: ignore[arg-type]
    return found


def test_the_line_of_anscombe_s_data() -> None:
    (found,) = predict(rows([Point(number, x, y) for number, (x, y) in enumerate(ANSCOMBE)]))
    assert (found.pair, found.index, found.points, found.rounds, found.predicted) == (
        "a-b",
        "1",
        11,
        11,
        11,
    )
    assert found.slope == pytest.approx(0.5001, abs=5e-5)
    assert found.intercept == pytest.approx(3.0001, abs=5e-5)


def test_each_round_is_predicted_from_the_others() -> None:
    # By hand. Without round 0: y = x through (2, 2) and (4, 4); at 1 it predicts 1, measured 2.
    # Without 1: from (1, 2), (4, 4), 2/3 · 2 + 4/3; at 2 it predicts 8/3, measured 2. Without 2:
    # from (1, 2), (2, 2), y = 2; measured 4.
    (found,) = predict(rows([Point(0, 1, 2), Point(1, 2, 2), Point(2, 4, 4)]))
    errors = [1 / 2, 1 / 3, 1 / 2]
    assert found.error_mean == pytest.approx(sum(errors) / 3)
    assert found.error_median == pytest.approx(1 / 2)
    assert found.error_max == pytest.approx(1 / 2)


def test_what_is_exactly_a_line_is_predicted_exactly() -> None:
    (found,) = predict(
        rows([Point(number, 1e5 * (number + 1), 3e5 * (number + 1) + 7e4) for number in range(10)])
    )
    assert (found.slope, found.intercept) == (pytest.approx(3), pytest.approx(7e4))
    assert found.error_max == pytest.approx(0, abs=1e-9)


def test_the_neighbours_of_a_round_do_not_predict_it() -> None:
    # Within a round data follow the probe, and between rounds they are independent.
    points = [
        Point(number, 100.0 + pair, base + pair)
        for number, base in enumerate((10.0, 1000.0))
        for pair in (0, 1, 2)
    ]
    (found,) = predict(rows(points))
    assert found.rounds == 2
    assert found.error_max == pytest.approx(99)  # 1000 instead of 10
    assert found.error_mean is not None
    assert found.error_mean > 40


def test_a_pair_counts_only_when_both_completed() -> None:
    whole = rows([Point(number, x, y) for number, (x, y) in enumerate(ANSCOMBE)])
    late = Connection(
        pair="a-b",
        round=50,
        index="1",
        number=0,
        role="data",
        failure="late",
        app_bytes_per_second=1.0,
    )
    probe = Connection(
        pair="a-b", round=50, index="1", number=0, role="probe", app_bytes_per_second=1e9
    )
    assert predict([*whole, probe, late]) == predict(whole)


def test_without_a_line_there_is_no_prediction() -> None:
    (alike,) = predict(rows([Point(number, 1e6, 1e6 + number) for number in range(5)]))
    assert (alike.points, alike.slope, alike.intercept, alike.predicted, alike.error_mean) == (
        5,
        None,
        None,
        0,
        None,
    )
    (single,) = predict(rows([Point(0, 1, 2)]))
    assert (
        single.points,
        single.slope,
        single.error_median,
        single.error_p90,
        single.error_max,
    ) == (1, None, None, None, None)
    # Two points are a line; what is left of them without one is none.
    (two,) = predict(rows([Point(0, 1, 2), Point(1, 2, 3)]))
    assert (two.slope, two.intercept, two.predicted) == (pytest.approx(1), pytest.approx(1), 0)
    assert predict([]) == ()


def test_pairs_and_indices_have_lines_of_their_own() -> None:
    first = Connection(
        pair="a-b", round=0, index="1", number=0, role="probe", app_bytes_per_second=1.0
    )
    others = [
        Connection(pair=pair, round=0, index=index, number=0, role="probe")
        for pair, index in (("a-b", "2"), ("c-d", "1"))
    ]
    assert [(one.pair, one.index) for one in predict([first, *others])] == [
        ("a-b", "1"),
        ("a-b", "2"),
        ("c-d", "1"),
    ]


def slowly(points: list[Point]) -> list[float]:
    """Every round left out, and everything fitted again."""
    errors = []
    for number in sorted({point.round for point in points}):
        line = fit([point for point in points if point.round != number])
        if line is not None:
            errors += [
                abs(line.at(point.probe) - point.data) / point.data
                for point in points
                if point.round == number
            ]
    return errors


@given(
    POINTS.filter(
        lambda points: all(
            len({round(point.probe, -2) for point in points if point.round != left}) > 2
            for left in range(7)
        )
    )
)
def test_taking_away_sums_is_fitting_again(points: list[Point]) -> None:
    assert left_out_errors(points) == pytest.approx(slowly(points), rel=1e-4, abs=1e-6)
