"""A score becomes a probability where validated transfers exist, and stays a score elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import Evidence, Quality, diagnose, explain, judge
from trustbed.diagnose.calibration import (
    PRIOR_ANSWERS,
    Calibration,
    Counted,
    Fitted,
    capture_point_of,
    kind_of,
    stated,
    worth,
)
from trustbed.diagnose.calibration_table import CALIBRATION
from trustbed.diagnose.confidence import HIGHEST, LOWEST
from trustbed.diagnose.limits import LIMITS
from trustbed.diagnose.rules import RULES

CURVE = {40: 0.3, 60: 0.7, 90: 0.9}
MADE: Calibration = {
    "beside": Fitted(
        CURVE,
        {
            "window_explains": Counted(30, 40),
            "always": Counted(10_000, 10_000),
            "never": Counted(0, 10_000),
            "seldom": Counted(0, 0),
        },
    ),
    "away": Fitted(
        {70: 0.95},
        {
            "window_explains": Counted(194, 200),
            "sender_held_back under estimated_spacing": Counted(18, 18),
        },
    ),
}


def test_the_share_of_right_answers_is_drawn_towards_what_the_score_is_worth() -> None:
    found = stated(MADE, "beside", "window_explains", 90)
    assert found is not None
    assert found.counted == Counted(30, 40)
    assert found.hundredths == round(100 * (30 + PRIOR_ANSWERS * 0.9) / (40 + PRIOR_ANSWERS))


def test_without_answers_of_its_own_a_rule_is_worth_its_score_and_with_many_its_share() -> None:
    none, many = stated(MADE, "beside", "seldom", 60), stated(MADE, "away", "window_explains", 70)
    assert none is not None
    assert many is not None
    assert (none.hundredths, many.hundredths) == (70, 97)


def test_a_confidence_is_neither_certain_nor_impossible() -> None:
    found = [stated(MADE, "beside", rule, 60) for rule in ("always", "never")]
    assert [one.hundredths for one in found if one is not None] == [HIGHEST, LOWEST]


def test_nothing_is_stated_of_a_rule_or_a_capture_point_that_was_never_validated() -> None:
    assert stated(MADE, "beside", "driver_reset", 90) is None
    assert stated(MADE, "beside_with_host", "window_explains", 90) is None
    assert stated(MADE, None, "window_explains", 90) is None


def test_a_higher_score_never_lowers_the_confidence() -> None:
    found = [
        stated(MADE, "beside", "window_explains", score) for score in range(LOWEST, HIGHEST + 1)
    ]
    hundredths = [one.hundredths for one in found if one is not None]
    assert len(hundredths) == len(found)
    assert hundredths == sorted(hundredths)


@pytest.mark.parametrize(
    ("score", "share"), [(10, 0.1), (39, 0.3), (40, 0.3), (59, 0.3), (60, 0.7), (99, 0.9)]
)
def test_between_scores_the_lower_one_counts(score: int, share: float) -> None:
    assert worth(CURVE, score) == share


def test_a_curve_of_nothing_is_the_score_itself() -> None:
    assert worth({}, 80) == 0.8


def test_the_capture_point_includes_what_is_known_of_the_host(
    healthy: Evidence,
) -> None:
    assert capture_point_of("sender", healthy) == "beside"
    for known in ({"processor_missed": 0.0}, {"cpu_share": 0.9}, {"send_buffer_limited": 0.0}):
        assert capture_point_of("sender", replace(healthy, **known)) == "beside_with_host"
    assert [capture_point_of(at, healthy) for at in ("receiver", "middle", "unknown", None)] == [
        "away",
        "away",
        None,
        None,
    ]


def test_the_confidence_is_stated_and_the_score_decides(healthy: Evidence) -> None:
    paused = replace(healthy, throughput_bytes_per_second=1e6, idle_open_window_fraction=0.6)
    afar = Quality(at="receiver", spacing_estimated=True)
    raw, found = (
        diagnose(paused, quality=afar, calibration={}),
        diagnose(paused, quality=afar, calibration=MADE),
    )
    assert (raw.score, raw.confidence, raw.stated) == (0.7, 0.7, None)
    assert (found.score, found.confidence) == (0.7, 0.99)
    assert found.capture_point == "away"
    assert (raw.verdict, found.verdict) == ("review", "review"), "a discard needs a score of 0.80"


def test_a_weakness_that_no_validated_capture_had_lowers_what_is_stated_as_ever(
    healthy: Evidence,
) -> None:
    for quality, confidence in (
        (Quality(at="sender"), 0.77),
        (Quality(at="sender", window_estimated=True), 0.7),
    ):
        assert diagnose(healthy, quality=quality, calibration=MADE).confidence == confidence


def test_answers_are_of_one_kind_by_rule_and_limits() -> None:
    assert kind_of("queue_slowed", ()) == "queue_slowed"
    assert (
        kind_of("queue_slowed", ("echoed_rtt", "estimated_spacing"))
        == "queue_slowed under echoed_rtt and estimated_spacing"
    )


def test_published_cases_state_their_score(published_cases: list[dict[str, Any]]) -> None:
    for case in published_cases:
        found = diagnose(Evidence.from_published(case["evidence"]))
        assert found.capture_point is None
        assert found.confidence == found.score


def test_a_row_of_the_table_has_an_index(row: dict[str, Any]) -> None:
    (found,) = judge([{**row, "at": "sender"}], {}).diagnoses
    assert found.capture_point == "beside"
    (unknown,) = judge([{**row, "at": "unknown"}], {}).diagnoses
    assert (unknown.capture_point, unknown.stated) == (None, None)


def test_what_was_not_counted_is_capped_where_the_time_is_known(
    healthy: Evidence, timed: Evidence
) -> None:
    counted_for_nothing = diagnose(timed, calibration={})
    assert (counted_for_nothing.score, counted_for_nothing.confidence) == (0.99, 0.85)
    assert diagnose(healthy, calibration={}).confidence == 0.99
    silent = diagnose(replace(timed, window=0.1, idle_sender=0.8), calibration={})
    assert silent.confidence == silent.score == 0.75


def test_an_explanation_states_what_the_confidence_rests_on(
    healthy: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert diagnose.__kwdefaults__ is not None
    monkeypatch.setitem(diagnose.__kwdefaults__, "calibration", MADE)
    lines = [line.strip() for line in explain(healthy, quality=Quality(at="sender"))]
    assert (
        "stated as 0.77: of 40 validated verdicts of window_explains, captured beside the "
        "sender, 30 were right"
    ) in lines
    weak = [
        line.strip()
        for line in explain(healthy, quality=Quality(at="sender", window_estimated=True))
    ]
    listed = (
        "there are no validated verdicts of window_explains under window_estimated, captured "
        "beside the sender"
    )
    assert f"stated unchanged: {listed}" in weak
    assert not any("validated" in line for line in explain(healthy))


def test_the_table_in_force_is_one_of_these_rules() -> None:
    rules, limits = (
        {rule.name for rule in RULES if rule.cause != "insufficient"},
        {limit.code for limit in LIMITS},
    )
    for fitted in CALIBRATION.values():
        assert list(fitted.curve) == sorted(fitted.curve)
        assert list(fitted.curve.values()) == sorted(fitted.curve.values())
        assert all(
            LOWEST <= score <= HIGHEST and 0 < share < 1 for score, share in fitted.curve.items()
        )
        for kind, counted in fitted.answers.items():
            rule, _, under = kind.partition(" under ")
            assert rule in rules, "run: python -m validation truth --fit"
            assert set(filter(None, under.split(" and "))) <= limits, (
                "run: python -m validation truth --fit"
            )
            assert 0 <= counted.right <= counted.of
