"""Classes of wrong answers: by disturbance, cost and answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from validation.truth.judged import Answer
from validation.truth.kinds import KINDS
from validation.truth.labels import Label
from validation.truth.networks import Network
from validation.truth.reasons import CLASSES, OPEN, Mistake, class_of, mistakes
from validation.truth.result import VIEWS, Judged, View

NETWORK = Network(
    rate_megabits=20,
    round_trip_ms=50,
    limit="window",
    congestion_control="reno",
    seconds=3,
    window_bytes=25_000,
)
ANSWER = Answer(
    cause="network_congestion",
    verdict="trust",
    score=0.9,
    confidence=0.9,
    rule="queue_slowed",
    flags=(),
    evidence={},
    alternatives=(),
    point=None,
)
BESIDE, AFAR = VIEWS[1], VIEWS[2]


def judged(
    kind: str, answer: Answer, *, cost: float | None = 0.6, network: Network = NETWORK
) -> Judged:
    found = KINDS[kind]
    wanted: Any = {"capture": found.capture, "known": found.known, "away": found.away}
    standing: Any = "healthy" if cost is None else "disturbed"
    stored = {"name": f"{kind}.0", "kind": kind, "seed": 2, "network": asdict(network)}
    return Judged(
        stored=stored,
        label=Label(standing=standing, made=found.cause, cost=cost, wanted=wanted),
        answers={view.name: answer for view in VIEWS},
    )


def name(
    kind: str,
    view: View = BESIDE,
    cost: float | None = 0.6,
    network: Network = NETWORK,
    **answer: Any,  # noqa: ANN401
) -> str:
    return class_of(
        Mistake(one=judged(kind, replace(ANSWER, **answer), cost=cost, network=network), view=view)
    ).name


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("right cause, other verdict", lambda: name("loss-random", cause="network_loss")),
        (
            "small dose, the network's own limit still explains the rate",
            lambda: name("policer", cost=0.2, rule="queue_explains"),
        ),
        ("the guest's clock stalled", lambda: name("guest-quota", AFAR)),
        (
            "a policer on a path of a few packets",
            lambda: name("policer", network=replace(NETWORK, rate_megabits=2, round_trip_ms=5)),
        ),
        ("too few losses", lambda: name("policer", evidence={"loss_events": 3.0})),
        (
            "losses before the capture",
            lambda: name("policer", AFAR, evidence={"loss_events": 30.0}),
        ),
        ("a bucket behind a queue", lambda: name("policer", evidence={"loss_events": 30.0})),
        (
            "short pauses look like a steady rate",
            lambda: name("bursty-writer", cause="bandwidth_limited"),
        ),
        (
            "a steady rate that is not the link's",
            lambda: name("freeze", cause="bandwidth_limited", rule="link_was_full"),
        ),
        (
            "a stalled interface, captured away from the sender",
            lambda: name("nic-stall", AFAR, cost=0.9, cause="sender_application_limited"),
        ),
        (
            "a stall that ends long after the interface is back",
            lambda: name("nic-stall", cost=0.9, cause="host_stall"),
        ),
        ("others in the same queue", lambda: name("cross-greedy", cause="network_loss")),
        (OPEN.name, lambda: name("outage", cause="window_limited")),
    ],
)
def test_an_answer_is_in_the_first_class_whose_condition_holds(
    expected: str, found: Callable[[], str]
) -> None:
    assert found() == expected


def test_only_wrong_answers_are_mistakes_and_each_view_counts() -> None:
    right = judged("cross-greedy", ANSWER)
    wrong = judged("outage", ANSWER)
    assert [(each.kind, each.view) for each in mistakes([right, wrong])] == [
        ("outage", view) for view in VIEWS
    ]


def test_classes_have_names_of_their_own_and_whole_sentences() -> None:
    names = [each.name for each in (*CLASSES, OPEN)]
    assert len(set(names)) == len(names)
    assert all(each.words.endswith(".") for each in CLASSES)
