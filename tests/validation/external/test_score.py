"""What counts as right, on answers made by hand."""

from __future__ import annotations

import pytest

from validation.external.answers import Answer, about
from validation.external.score import NOTHING, Case, Tally, confusions


def answer(
    *names: str, verdict: str = "trust", sender: str = "10.0.0.1:80", size: int = 1
) -> Answer:
    return Answer(
        sender=sender,
        receiver="10.0.0.2:4000",
        bytes=size,
        cause=names[0],
        others=names[1:],
        verdict=verdict,
        confidence=0.9,
    )


def case(said: Answer | None, *accepted: str, verdicts: tuple[str, ...] = ("trust",)) -> Case:
    return Case.of(
        said,
        part="ns3",
        name="one",
        kind="kind",
        family="near",
        point="sender",
        accepted=accepted,
        verdicts=verdicts,
    )


def test_cause_and_verdict_must_both_be_accepted() -> None:
    assert case(answer("policed"), "policed").is_right
    assert not case(answer("policed", verdict="review"), "policed").is_right
    assert not case(answer("network_loss"), "policed").is_right


@pytest.mark.parametrize(
    ("names", "is_right"),
    [
        (("shaped", "rate_changed"), True),
        (("rate_changed", "shaped"), True),
        (("shaped", "network_loss"), False),
        (("rate_changed", "shaped", "policed"), False),
    ],
)
def test_a_set_counts_with_at_most_two_names(names: tuple[str, ...], is_right: bool) -> None:
    assert case(answer(*names), "rate_changed").is_right is is_right


def test_sets_and_discards_are_counted_apart() -> None:
    cases = [
        case(answer("outage"), "outage"),
        case(answer("host_stall", "outage"), "outage"),
        case(answer("host_stall", verdict="discard"), "outage"),
    ]
    tally = Tally.count(cases)
    assert (tally.of, tally.right, tally.sets_right, tally.discards) == (3, 2, 1, 1)
    assert tally.first_right == 1
    assert confusions(cases) == [("host_stall → discard", 1)]


def test_a_transfer_that_was_not_found_is_a_wrong_answer() -> None:
    missing = case(None, "outage")
    assert not missing.is_right
    assert missing.names == (NOTHING,)


def test_an_answer_is_about_the_senders_largest_transfer() -> None:
    said = [answer("policed", size=10), answer("outage", size=20), answer("shaped", sender="x:1")]
    found = about(said, "10.0.0.1:80")
    assert found is not None
    assert found.cause == "outage"
    assert about(said, "10.0.0.9:80") is None
