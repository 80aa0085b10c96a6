"""A score becomes a probability where like transfers were validated, else it stays a score."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import CaptureQuality, Evidence, Quality, diagnose, explain
from trustbed.diagnose.calibration import (
    LEAST_FOR_DISCARD,
    Answered,
    Counted,
    Model,
    at_prevalence,
    capture_point_of,
    groups_of,
    inputs_of,
    kind_of,
    most_of,
    probability,
    standardised,
    stated,
)
from trustbed.diagnose.calibration_table import MODEL
from trustbed.diagnose.causes import CAUSES
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.confidence import HIGHEST, LOWEST
from trustbed.diagnose.features import FEATURES, MOST_FEATURE, QUANTITIES, features_of
from trustbed.diagnose.judge import judge_row
from trustbed.diagnose.limits import LIMITS
from trustbed.diagnose.rules import RULES
from trustbed.diagnose.thresholds import THRESHOLDS
from trustbed.workload import share_interval

NOTHING = (0.0,) * (1 + len(FEATURES))
ONES = (1.0,) * (1 + len(FEATURES))
MADE = Model(
    intercept=1.0,
    weights=(0.5, *NOTHING[1:]),
    means=NOTHING,
    scales=ONES,
    causes={"window_limited": 0.25},
    at_point={"window_limited beside": 0.25, "host_scheduling beside": 2.0},
    kinds={"window_bound beside": 0.5},
    answers={
        "window_limited beside": Counted(40, 50),
        "host_scheduling beside": Counted(LEAST_FOR_DISCARD - 1, LEAST_FOR_DISCARD - 1),
    },
    kind_answers={"window_bound beside": Counted(9, 10), "window_explains beside": Counted(30, 40)},
    made={"window_limited": 0.2},
    seen={"RTT": (0.001, 0.2)},
)


def answered(**more: Any) -> Answered:  # noqa: ANN401 - any field
    values: dict[str, Any] = {
        "point": "beside",
        "cause": "window_limited",
        "kind": "window_bound",
        "score": 50,
        "features": (None,) * len(FEATURES),
        "quantities": {},
    }
    return Answered(**{**values, **more})


def test_what_is_particular_adds_to_the_log_odds() -> None:
    assert probability(MADE, answered()) == pytest.approx(1 / (1 + 2.718281828459045**-2.0))
    unlike = answered(point="away", cause="shaped", kind="rate_fell_once")
    assert probability(MADE, unlike) == pytest.approx(1 / (1 + 2.718281828459045**-1.0))


def test_a_higher_score_raises_it() -> None:
    found = [probability(MADE, answered(score=score)) for score in range(LOWEST, HIGHEST + 1)]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_the_unknown_is_the_mean_and_the_far_is_bounded() -> None:
    assert standardised([None, 3.0, 1e9, -1e9], (1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 1.0, 1.0)) == [
        0.0,
        1.0,
        MOST_FEATURE,
        -MOST_FEATURE,
    ]
    assert len(inputs_of(answered())) == len(NOTHING)


def test_an_answer_is_stated_with_what_it_rests_on() -> None:
    found = stated(MADE, answered())
    assert found is not None
    assert (found.hundredths, found.counted, found.kind, found.made) == (
        88,
        Counted(40, 50),
        Counted(9, 10),
        0.2,
    )
    assert found.carries_a_discard


def test_a_confidence_is_neither_certain_nor_impossible() -> None:
    for intercept, hundredths in ((60.0, HIGHEST), (-60.0, LOWEST)):
        made = replace(
            MADE, intercept=intercept, kind_answers={"window_bound beside": Counted(9, 9)}
        )
        found = stated(made, answered())
        assert found is not None
        assert found.hundredths == hundredths


def test_a_kind_that_was_never_validated_is_worth_no_more_than_its_score() -> None:
    found = stated(MADE, answered(kind="window_bound under clock_steps", score=60))
    assert found is not None
    assert (found.hundredths, found.kind) == (60, Counted(0, 0))


def test_no_answer_is_surer_than_those_of_its_kind_may_be() -> None:
    half = replace(MADE, intercept=9.0, kind_answers={"window_bound beside": Counted(5, 10)})
    assert round(100 * probability(half, answered())) > 90
    found = stated(half, answered())
    assert found is not None
    assert found.hundredths == most_of(Counted(5, 10)) == 76


@pytest.mark.parametrize(("right", "of"), [(0, 1), (5, 10), (71, 80), (10, 10), (0, 400)])
def test_as_many_may_be_right_as_the_interval_of_a_share_has_it(right: int, of: int) -> None:
    interval = share_interval(right, of)
    assert interval is not None
    assert most_of(Counted(right, of)) == math.floor(100 * interval.high)


@pytest.mark.parametrize(
    ("more", "outside"),
    [
        ({"quantities": {"RTT": 0.6}}, "RTT 600 ms"),
        ({"quantities": {"RTT": 0.0001}}, "RTT 100 µs"),
        ({"cause": "driver_stall"}, "driver_stall captured beside the sender"),
        ({"point": "away"}, "window_limited captured away from the sender"),
    ],
)
def test_outside_what_was_tried_nothing_is_stated(more: dict[str, Any], outside: str) -> None:
    found = stated(MADE, answered(**more))
    assert found is not None
    assert (found.hundredths, found.outside) == (None, outside)


def test_within_what_was_tried_and_where_it_is_unknown_a_probability_is_stated() -> None:
    for quantities in ({"RTT": 0.001}, {"RTT": 0.2}, {"throughput": 1e12}, {}):
        found = stated(MADE, answered(quantities=quantities))
        assert found is not None
        assert found.hundredths is not None


def test_without_a_model_or_a_capture_point_nothing_is_known() -> None:
    assert stated(None, answered()) is None
    assert stated(MADE, None) is None


def test_where_a_cause_is_rare_an_answer_is_right_less_often() -> None:
    assert at_prevalence(0.9, 0.2, 0.2) == pytest.approx(0.9)
    # Odds of 9 at a prior of 1:4 are a likelihood ratio of 36; at 1:99 they are 36:99.
    assert at_prevalence(0.9, 0.2, 0.01) == pytest.approx(36 / 135)
    found = [at_prevalence(0.9, 0.2, share) for share in (0.01, 0.05, 0.3)]
    assert found == sorted(found)


def test_the_capture_point_includes_what_is_known_of_the_host(healthy: Evidence) -> None:
    assert capture_point_of("sender", healthy) == "beside"
    for known in ({"processor_missed": 0.0}, {"cpu_share": 0.9}, {"send_buffer_limited": 0.0}):
        assert capture_point_of("sender", replace(healthy, **known)) == "beside_with_host"
    assert [capture_point_of(at, healthy) for at in ("receiver", "middle", "unknown", None)] == [
        "away",
        "away",
        None,
        None,
    ]


def test_answers_are_of_one_kind_by_rule_and_limits() -> None:
    assert kind_of("queue_slowed", ()) == "queue_slowed"
    assert (
        kind_of("queue_slowed", ("echoed_rtt", "estimated_spacing"))
        == "queue_slowed under echoed_rtt and estimated_spacing"
    )


def test_the_features_of_a_case_are_in_the_order_of_the_weights(timed: Evidence) -> None:
    found = dict(zip(FEATURES, features_of(Case.of(timed, THRESHOLDS)), strict=True))
    assert found["largest share"] == max(value for value in (timed.window, timed.path) if value)
    assert found["RTT"] is not None
    assert found["processor missed"] is None
    assert not any(features_of(Case.of(Evidence(), THRESHOLDS))[:5])


def test_the_confidence_is_stated_and_the_score_decides(timed: Evidence) -> None:
    beside = Quality(at="sender")
    raw, found = (
        diagnose(timed, quality=beside, model=None),
        diagnose(timed, quality=beside, model=MADE),
    )
    assert (raw.stated, raw.confidence) == (None, 0.85)
    assert found.rule == "window_bound"
    assert found.score == raw.score
    assert found.verdict == raw.verdict
    assert found.stated is not None
    assert found.confidence == (found.stated.hundredths or 0) / 100


def test_few_validated_answers_carry_no_discard(timed: Evidence) -> None:
    starved = replace(
        timed, window=0.1, idle_sender=0.8, processor_missed=0.6, workload="bulk", cpu_share=0.2
    )
    beside = Quality(at="sender")
    point = "host_scheduling beside_with_host"
    few = replace(MADE, answers={point: Counted(LEAST_FOR_DISCARD - 1, LEAST_FOR_DISCARD - 1)})
    many = replace(MADE, answers={point: Counted(LEAST_FOR_DISCARD, LEAST_FOR_DISCARD)})
    assert diagnose(starved, quality=beside, model=many).verdict == "discard"
    held = diagnose(starved, quality=beside, model=few)
    assert (held.cause, held.verdict) == ("host_scheduling", "review")
    assert "little_validated" in held.flags
    assert diagnose(starved, model=few).verdict == "discard", "a published case is no capture"


def test_published_cases_state_their_score(published_cases: list[dict[str, Any]]) -> None:
    for case in published_cases:
        found = diagnose(Evidence.from_published(case["evidence"]))
        assert found.capture_point is None
        assert found.confidence == found.score


def test_a_row_of_the_table_has_an_index(row: dict[str, Any]) -> None:
    found = judge_row({**row, "at": "sender"}, CaptureQuality())
    assert found.capture_point == "beside"
    unknown = judge_row({**row, "at": "unknown"}, CaptureQuality())
    assert (unknown.capture_point, unknown.stated) == (None, None)


def test_what_was_not_validated_is_capped_where_the_time_is_known(
    healthy: Evidence, timed: Evidence
) -> None:
    counted_for_nothing = diagnose(timed, model=None)
    assert (counted_for_nothing.score, counted_for_nothing.confidence) == (0.99, 0.85)
    assert diagnose(healthy, model=None).confidence == 0.99
    silent = diagnose(replace(timed, window=0.1, idle_sender=0.8), model=None)
    assert silent.confidence == silent.score == 0.75


def test_an_explanation_states_what_the_confidence_rests_on(
    timed: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert diagnose.__kwdefaults__ is not None
    monkeypatch.setitem(diagnose.__kwdefaults__, "model", MADE)
    beside = Quality(at="sender")
    confidence = diagnose(timed, quality=beside).confidence
    lines = [line.strip() for line in explain(timed, quality=beside)]
    assert (
        f"stated as {confidence:.2f}, from this score, the costs above and the path: of 50 "
        "validated answers of window_limited, captured beside the sender, 40 were right; 9 of "
        "the 10 by window_bound on captures with the same limits"
    ) in lines
    elsewhere = ", ".join(
        f"{at_prevalence(confidence, 0.2, share):.2f} among {words}"
        for share, words in ((0.01, "1 %"), (0.05, "5 %"), (0.3, "30 %"))
    )
    assert (
        f"20 % of the validated transfers had this cause; where fewer or more have it: {elsewhere}"
    ) in lines
    far = [line.strip() for line in explain(replace(timed, rtt_base_seconds=0.6), quality=beside)]
    assert any("outside what was tried: RTT 600 ms" in line for line in far)
    assert not any("validated" in line for line in explain(timed))


def test_the_model_in_force_is_one_of_these_rules() -> None:
    if MODEL is None:
        pytest.fail("run: python -m validation truth --fit")
    rules = {rule.name for rule in RULES if rule.cause != "insufficient"}
    limits = {limit.code for limit in LIMITS}
    assert len(MODEL.weights) == len(MODEL.means) == len(MODEL.scales) == 1 + len(FEATURES)
    assert all(scale > 0 for scale in MODEL.scales)
    assert set(MODEL.seen) == set(QUANTITIES)
    assert set(MODEL.causes) <= set(CAUSES)
    for kind, counted in MODEL.kind_answers.items():
        rule, _, under = kind.rpartition(" ")[0].partition(" under ")
        assert rule in rules, "run: python -m validation truth --fit"
        assert set(filter(None, under.split(" and "))) <= limits, (
            "run: python -m validation truth --fit"
        )
        assert 0 <= counted.right <= counted.of
    assert set(MODEL.kinds) == set(MODEL.kind_answers)
    assert groups_of(answered())[2] in MODEL.answers
