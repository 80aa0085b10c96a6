"""Everything that was made, with labels and answers, as the text, the page and the JSON show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from trustbed import __version__
from validation.truth.calibration import Calibration, calibrate
from validation.truth.carry import MADE
from validation.truth.compensation import Accuracy, accuracy, guesses
from validation.truth.judged import Answer, judge
from validation.truth.kernel import Agreement, agreements, buffer_limited
from validation.truth.labels import Knowledge, Label, Twins, label, throughput
from validation.truth.plan import Plan
from validation.truth.score import Case, Score, counted, score
from validation.truth.store import Store

Kept = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One way of looking at a transfer.

    Which capture, and whether the run's own knowledge is used.
    """

    name: str
    place: str
    known: bool
    words: str
    wanted_f1: float

    @property
    def knowledge(self) -> Knowledge:
        """Which of the accepted sets holds."""
        return "known" if self.known else "capture" if self.place == "sender" else "away"


VIEWS: tuple[View, ...] = (
    View(
        name="sender-known",
        place="sender",
        known=True,
        words="sender's capture and host samples",
        wanted_f1=0.95,
    ),
    View(
        name="sender", place="sender", known=False, words="sender's capture alone", wanted_f1=0.90
    ),
    View(
        name="receiver",
        place="receiver",
        known=False,
        words="receiver's capture alone",
        wanted_f1=0.85,
    ),
    View(
        name="middle",
        place="middle",
        known=False,
        words="capture in the middle alone",
        wanted_f1=0.85,
    ),
)
SELECTIONS = {
    "odd": "odd seeds (rules are developed on them)",
    "even": "even seeds",
    "all": "all seeds",
}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A transfer that was made, what is true of it, and what was said, by view."""

    kept: Kept
    label: Label
    answers: Mapping[str, Answer]

    @property
    def is_odd(self) -> bool:
        """Whether rules may be developed on it."""
        return bool(self.kept["seed"] % 2)

    def case(self, view: View) -> Case | None:
        """For the score; ``None`` where this capture does not show it."""
        answer = self.answers.get(view.name)
        if answer is None:
            return None
        wanted = self.label.wanted[view.knowledge]
        return Case(
            name=self.kept["name"],
            kind=self.kept["kind"],
            standing=self.label.standing,
            made=self.label.made,
            accepted=wanted.causes,
            verdicts=wanted.verdicts,
            cause=answer.cause,
            verdict=answer.verdict,
            confidence=answer.confidence,
            cost=self.label.cost,
        )


def _planned(identity: Mapping[str, Any] | None) -> int | None:
    """How many transfers the plan of an identity has; ``None`` if no plan of today has it."""
    seed = (identity or {}).get("seed")
    if not isinstance(seed, int):
        return None
    plan = Plan(seed)
    return len(plan.transfers) if plan.identity == identity else None


class Result:
    """Of a store. Judges when it is made.

    ``planned``: how many transfers its plan has, where that is a plan of today.
    """

    def __init__(self, transfers: Sequence[Kept], *, planned: int | None = None) -> None:
        self.transfers = transfers
        self.planned = planned
        self.twins = Twins(transfers)
        self.made = [self._judged(kept) for kept in transfers if kept["outcome"] == MADE]

    @classmethod
    def of(cls, store: Store) -> Result:
        """Everything in a store."""
        return cls(list(store), planned=_planned(store.plan))

    def _judged(self, kept: Kept) -> Judged:
        answers = {
            view.name: answer
            for view in VIEWS
            if (answer := judge(kept, view.place, known=view.known)) is not None
        }
        return Judged(kept=kept, label=label(kept, self.twins), answers=answers)

    def chosen(self, seeds: str) -> list[Judged]:
        """Of odd seeds, even ones, or all."""
        return [one for one in self.made if seeds == "all" or one.is_odd == (seeds == "odd")]

    def cases(self, view: View, seeds: str) -> list[Case]:
        """Of a view, where there is an answer."""
        return [case for one in self.chosen(seeds) if (case := one.case(view)) is not None]

    def score(self, view: View, seeds: str) -> Score:
        """How often a view is right."""
        return score(self.cases(view, seeds))

    def calibration(self, view: View, seeds: str) -> Calibration:
        """Whether its confidence means what it says."""
        return calibrate(counted(self.cases(view, seeds)))

    def compensation(self, view: View, seeds: str) -> Accuracy:
        """How near the estimates for discarded transfers come."""
        return accuracy(guesses(self.chosen(seeds), view.name))

    def agreements(self, seeds: str) -> tuple[Agreement, ...]:
        """Our shares of time and the kernel's."""
        return agreements(one.kept for one in self.chosen(seeds))

    def buffer_limited(self, seeds: str) -> int:
        """Transfers that the kernel calls limited by their send buffer."""
        return buffer_limited(one.kept for one in self.chosen(seeds))

    @cached_property
    def not_made(self) -> dict[tuple[str, str, str], int]:
        """What is missing, by kind, outcome and reason."""
        lost = [kept for kept in self.transfers if kept["outcome"] != MADE]
        return dict(
            Counter((kept["kind"], kept["outcome"], kept.get("reason") or "") for kept in lost)
        )

    def standings(self, seeds: str) -> dict[tuple[str, str], int]:
        """Transfers by kind and standing."""
        return dict(Counter((one.kept["kind"], one.label.standing) for one in self.chosen(seeds)))

    def as_json(self) -> dict[str, Any]:
        """The whole result."""
        return {
            "trustbed": __version__,
            "transfers": len(self.transfers),
            "made": len(self.made),
            "guests": sum(one.kept["network"]["guest"] is not None for one in self.made),
            "not_made": [
                {"kind": kind, "outcome": how, "reason": why, "transfers": n}
                for (kind, how, why), n in self.not_made.items()
            ],
            "unlike_their_design": self.twins.unlike,
            "scores": {
                seeds: {view.name: self._score_json(view, seeds) for view in VIEWS}
                for seeds in SELECTIONS
            },
            "compensation": {
                seeds: {
                    view.name: asdict(self.compensation(view, seeds))
                    for view in VIEWS
                    if view.place == "sender"
                }
                for seeds in SELECTIONS
            },
            "kernel": {
                seeds: [asdict(one) for one in self.agreements(seeds)] for seeds in SELECTIONS
            },
            "answers": [self._answer_json(one) for one in self.made],
        }

    def _score_json(self, view: View, seeds: str) -> dict[str, Any]:
        found = asdict(self.score(view, seeds))
        found["confusion"] = [
            {"made": made, "answered": said, "transfers": n}
            for (made, said), n in sorted(found["confusion"].items())
        ]
        return {"view": view.words, **found, "calibration": asdict(self.calibration(view, seeds))}

    @staticmethod
    def _answer_json(one: Judged) -> dict[str, Any]:
        return {
            "name": one.kept["name"],
            "seed": one.kept["seed"],
            "kind": one.kept["kind"],
            "dose": one.kept["dose"],
            "standing": one.label.standing,
            "made": one.label.made,
            "cost": one.label.cost,
            "payload_bits_per_second": throughput(one.kept),
            "answers": {
                name: {"cause": each.cause, "verdict": each.verdict, "confidence": each.confidence}
                for name, each in one.answers.items()
            },
        }
