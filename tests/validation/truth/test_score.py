"""The scorer, on cases made by hand whose figures anybody can count."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from validation.truth import page
from validation.truth.calibration import calibrate
from validation.truth.intervals import bootstrap, wilson
from validation.truth.result import VIEWS, Result, View
from validation.truth.score import Case, Score, score


def case(
    made: str,
    named: str,
    *,
    accepted: tuple[str, ...] = (),
    standing: str = "disturbed",
    **more: object,
) -> Case:
    values = {"verdict": "trust", "verdicts": ("trust",), "confidence": 0.9, **more}
    return Case(
        name="one",
        kind="kind",
        standing=standing,
        made=made,
        accepted=accepted or (made,),
        **{"network": "one", "causes": (named,), **values},
    )  # type: ignore[arg-type]


def test_a_wrong_answer_counts_against_the_cause_that_was_made_and_the_one_that_was_named() -> None:
    cases = [
        case("loss", "loss"),
        case("loss", "loss"),
        case("loss", "queue"),
        case("queue", "queue"),
    ]
    found = {each.cause: each for each in score(cases).causes}
    assert (found["loss"].recall.hits, found["loss"].recall.of) == (2, 3)
    assert found["loss"].precision.value == 1
    assert (found["queue"].precision.hits, found["queue"].precision.of) == (1, 2)
    assert found["loss"].f1 == pytest.approx(0.8)
    assert found["queue"].f1 == pytest.approx(2 / 3)
    assert score(cases).macro_f1 == pytest.approx((0.8 + 2 / 3) / 2)
    assert score(cases).confusion == {
        ("loss", "loss"): 2,
        ("loss", "queue"): 1,
        ("queue", "queue"): 1,
    }


def test_an_accepted_name_counts_for_the_cause_that_was_made() -> None:
    cases = [case("link", "queue", accepted=("link", "queue")), case("queue", "queue")]
    assert score(cases).macro_f1 == 1
    assert score(cases).confusion == {("link", "link"): 1, ("queue", "queue"): 1}


def test_a_cause_named_but_never_made_costs_the_one_that_was_made_and_has_no_f1() -> None:
    cases = [case("loss", "loss"), case("loss", "strange")]
    assert score(cases).macro_f1 == pytest.approx(2 / 3)
    assert [each.cause for each in score(cases).causes] == ["loss"]


def test_slight_disturbances_and_unclear_transfers_are_scored_apart() -> None:
    cases = [
        case("loss", "loss"),
        case("loss", "queue", standing="slight"),
        case("loss", "queue", standing="unclear"),
    ]
    found = score(cases)
    assert found.cases == 1
    assert found.macro_f1 == 1
    assert (found.slight.hits, found.slight.of) == (0, 1)


@pytest.mark.parametrize(
    ("verdict", "alarms"), [("trust", 0), ("not_judged", 0), ("review", 1), ("discard", 1)]
)
def test_review_and_discard_of_a_healthy_transfer_are_false_alarms(
    verdict: str, alarms: int
) -> None:
    found = score(
        [
            case("window", "window", standing="healthy", verdict=verdict),
            case("loss", "loss", verdict="review"),
        ]
    )
    assert (found.false_alarms.hits, found.false_alarms.of) == (alarms, 1)


def test_a_discard_is_missed_only_where_nothing_else_was_wanted() -> None:
    cases = [
        case("host", "host", verdict="discard", verdicts=("discard",)),
        case("host", "host", verdict="review", verdicts=("discard",)),
        case("host", "host", verdict="review", verdicts=("review", "discard")),
    ]
    found = score(cases)
    assert (found.missed_discards.hits, found.missed_discards.of) == (1, 2)
    assert (found.verdicts_right.hits, found.verdicts_right.of) == (2, 3)


def test_nothing_scored_is_nothing_known() -> None:
    found = score([])
    assert found.macro_f1 is None
    assert found.macro_f1_interval is None
    assert found.right.value is None
    assert found.false_alarms.interval == (0, 1)


def test_wilson_gives_the_published_interval() -> None:
    """Newcombe, 1998: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson(20, 20) == pytest.approx((1 - 0.1611, 1), abs=5e-5)


def test_the_bootstrap_is_the_same_for_the_same_seed_and_holds_the_figure() -> None:
    cases = [
        case(made, named, network=f"network {number % 7}")
        for made, named, count in (
            ("loss", "loss", 80),
            ("loss", "queue", 10),
            ("queue", "queue", 30),
        )
        for number in range(count)
    ]
    found = score(cases, seed=3)
    assert found == score(cases, seed=3)
    assert found.macro_f1 is not None
    assert found.macro_f1_interval is not None
    low, high = found.macro_f1_interval
    assert low < found.macro_f1 < high
    assert bootstrap([], len) is None


def test_a_correct_confidence_has_no_error() -> None:
    cases = [case("loss", "loss", confidence=0.8)] * 40 + [
        case("loss", "queue", confidence=0.8)
    ] * 10
    found = calibrate(cases)
    assert found.error == pytest.approx(0)
    assert [each.holds for each in found.bins] == [True]


def test_a_confidence_that_is_too_high_does_not_hold_and_few_answers_are_not_held_against_it() -> (
    None
):
    cases = [case("loss", "queue", confidence=0.9)] * 40 + [
        case("loss", "loss", confidence=0.6)
    ] * 10
    found = calibrate(cases)
    assert [each.holds for each in found.bins] == [None, False]
    assert found.error == pytest.approx((40 * 0.9 + 10 * 0.4) / 50)


def test_every_confidence_is_in_one_bin_and_the_bins_are_equally_wide() -> None:
    cases = [case("loss", "loss", confidence=hundredths / 100) for hundredths in range(101)]
    bins = calibrate(cases).bins
    assert [each.answers for each in bins] == [*[10] * 9, 11], "an edge belongs to the bin above it"
    assert [(each.low, each.high) for each in bins] == [
        (index / 10, (index + 1) / 10) for index in range(10)
    ]
    assert all(each.low <= each.stated <= each.high for each in bins)


class Scored(Result):
    """A result whose scores are given, by view."""

    def __init__(self, **scores: Score) -> None:
        self.given = scores

    def score(self, view: View, half: str) -> Score:
        return self.given[view.name.replace("-", "_")]


def test_a_page_marks_what_was_wanted_and_names_the_causes_that_cost_it(
    snapshot: SnapshotAssertion,
) -> None:
    right = [case("loss", "loss"), case("queue", "queue"), case("queue", "queue")]
    wrong = [*right, case("loss", "queue")]
    known = VIEWS[0]
    assert page._wanted(score(wrong), known) == "0.92: **missed**"
    assert page._wanted(score(right), known) == "0.92: met"
    assert page._wanted(score([]), known) == "0.92"
    good = score(right)
    named = page._short_of(
        Scored(sender_known=score(wrong), sender=good, receiver=good, middle=good, inside=good)
    )
    assert named == snapshot
    assert (
        page._short_of(
            Scored(sender_known=good, sender=good, receiver=good, middle=good, inside=good)
        )
        == ""
    )


def test_a_set_is_right_when_it_holds_the_cause_and_one_other_name_at_most() -> None:
    cases = [
        case("host", "", causes=("writer", "host")),
        case("host", "", causes=("writer", "loss")),
        case("host", "", causes=("writer", "loss", "host")),
        case("host", "host"),
    ]
    found = score(cases)
    assert (found.right.hits, found.right.of) == (2, 4)
    assert (found.right_alone.hits, found.right_alone.of) == (1, 4)
    assert (found.sets.hits, found.sets.of) == (1, 3)
    assert found.confusion == {("host", "host"): 2, ("host", "writer"): 2}


def test_a_set_of_two_other_true_names_does_not_hold_the_cause() -> None:
    one = case("host", "", causes=("link", "queue"), accepted=("host", "link", "queue"))
    assert not one.is_right


def test_every_verdict_that_ends_where_it_should_not_is_counted_by_what_was_wanted() -> None:
    cases = [
        case("host", "host", verdicts=("discard",), verdict="trust"),
        case("host", "host", verdicts=("discard",), verdict="discard"),
        case("host", "host", verdicts=("review", "discard"), verdict="trust"),
        case("host", "host", verdicts=("review", "discard"), verdict="discard"),
        case("link", "link", verdicts=("trust",), verdict="review", standing="healthy"),
        case("link", "link", verdicts=("trust", "review"), verdict="review"),
    ]
    found = score(cases)
    counts = {key: (share.hits, share.of) for key, share in found.transitions.items()}
    assert counts == {
        ("discard", "trust"): (1, 2),
        ("discard", "review"): (0, 2),
        ("review", "trust"): (1, 2),
        ("review", "discard"): (1, 2),
        ("trust", "review"): (1, 1),
        ("trust", "discard"): (0, 1),
    }
    assert (found.doomed_trusted.hits, found.doomed_trusted.of) == (2, 4)


def test_cases_of_one_network_say_less_than_as_many_of_different_ones() -> None:
    def interval(networks: int) -> tuple[float, float]:
        # In each network all are right, or none is.
        cases = [
            case(
                "loss", "loss" if number % networks % 2 else "queue", network=f"{number % networks}"
            )
            for number in range(60)
        ]
        return score(cases).right.interval

    few, many = interval(6), interval(60)
    assert few[1] - few[0] > 1.5 * (many[1] - many[0])


def test_without_a_miss_the_upper_bound_is_wilsons() -> None:
    cases = [case("loss", "loss", network=f"{number % 5}") for number in range(100)]
    assert score(cases).right.interval == wilson(100, 100)
