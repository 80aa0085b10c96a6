"""Answers by situation, counted from the view that each is about."""

from __future__ import annotations

from typing import cast

from validation.truth.kinds import KINDS
from validation.truth.result import VIEWS, Result, View
from validation.truth.score import Case
from validation.truth.situations import SITUATIONS, found, rows


def case(kind: str, causes: tuple[str, ...], confidence: float, standing: str) -> Case:
    return Case(
        name=kind,
        kind=kind,
        network="any",
        standing=standing,
        made="outage",
        accepted=("outage",),
        verdicts=("review",),
        causes=causes,
        verdict="review",
        confidence=confidence,
    )


class Some:
    """Two kinds, seen beside the sender only."""

    def cases(self, view: View, half: str) -> list[Case]:
        assert half == "all"
        if view.name != "sender":
            return []
        return [
            case("far-outage", ("outage",), 0.8, "disturbed"),
            case("far-outage", ("network_loss",), 0.9, "disturbed"),
            case("far-outage", ("network_loss",), 0.89, "disturbed"),
            case("far-outage", ("network_loss",), 0.95, "slight"),
            case("codel", ("outage", "driver_stall"), 0.7, "healthy"),
        ]


def test_each_situation_is_one_of_kinds_that_are_made() -> None:
    assert len(SITUATIONS) == 15
    assert {kind for one in SITUATIONS for kind in one.kinds} <= set(KINDS)
    assert {one.view for one in SITUATIONS} <= {view.name for view in VIEWS}


def test_answers_are_counted_where_they_make_the_score() -> None:
    result = cast("Result", Some())
    some = {one.words: one for one in found(result) if one.cases}
    dead = some["a far link that is dead for a while"]
    assert (dead.cases, dead.right, dead.confidently_wrong) == (3, 1, 1)
    assert (some["all"].cases, some["all"].right, some["all"].confidently_wrong) == (4, 2, 1)
    assert list(rows(result))[1:] == [
        ("a far link that is dead for a while", "3", "33%", "33.3%"),
        ("CoDel", "1", "100%", "0.0%"),
        ("all", "4", "50%", "25.0%"),
        ("wanted", "", "≥ 90%", "≤ 1%"),
    ]
