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

Stored = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view of a transfer.

    The capture, and whether the run's own knowledge is used.
    """

    name: str
    point: str
    known: bool
    words: str
    wanted_f1: float

    @property
    def knowledge(self) -> Knowledge:
        """Which of the accepted sets holds."""
        return "known" if self.known else "capture" if self.point == "sender" else "away"


VIEWS: tuple[View, ...] = (
    View(
        name="sender-known",
        point="sender",
        known=True,
        words="sender's capture and host samples",
        wanted_f1=0.95,
    ),
    View(
        name="sender", point="sender", known=False, words="sender's capture alone", wanted_f1=0.90
    ),
    View(
        name="receiver",
        point="receiver",
        known=False,
        words="receiver's capture alone",
        wanted_f1=0.85,
    ),
    View(
        name="middle",
        point="middle",
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
    """A transfer that was made, its label, and the answers, by view."""

    stored: Stored
    label: Label
    answers: Mapping[str, Answer]

    @property
    def is_odd(self) -> bool:
        """Whether rules may be developed on it."""
        return bool(self.stored["seed"] % 2)

    def case(self, view: View) -> Case | None:
        """A case for the score; ``None`` where this capture does not show the transfer."""
        answer = self.answers.get(view.name)
        if answer is None:
            return None
        wanted = self.label.wanted[view.knowledge]
        return Case(
            name=self.stored["name"],
            kind=self.stored["kind"],
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
    """The result of a store. Judges on construction.

    ``planned``: how many transfers its plan has, where that is a plan of today.
    """

    def __init__(self, transfers: Sequence[Stored], *, planned: int | None = None) -> None:
        self.transfers = transfers
        self.planned = planned
        self.twins = Twins(transfers)
        self.made = [self._judged(stored) for stored in transfers if stored["outcome"] == MADE]

    @classmethod
    def of(cls, store: Store) -> Result:
        """Everything in a store."""
        return cls(list(store), planned=_planned(store.plan))

    def _judged(self, stored: Stored) -> Judged:
        answers = {
            view.name: answer
            for view in VIEWS
            if (answer := judge(stored, view.point, known=view.known)) is not None
        }
        return Judged(stored=stored, label=label(stored, self.twins), answers=answers)

    def chosen(self, seeds: str) -> list[Judged]:
        """Transfers with odd seeds, even ones, or all."""
        return [one for one in self.made if seeds == "all" or one.is_odd == (seeds == "odd")]

    def cases(self, view: View, seeds: str) -> list[Case]:
        """The cases of a view that have an answer."""
        return [case for one in self.chosen(seeds) if (case := one.case(view)) is not None]

    def score(self, view: View, seeds: str) -> Score:
        """How often a view is right."""
        return score(self.cases(view, seeds))

    def calibration(self, view: View, seeds: str) -> Calibration:
        """Whether the stated confidence is right."""
        return calibrate(counted(self.cases(view, seeds)))

    def compensation(self, view: View, seeds: str) -> Accuracy:
        """The accuracy of the estimates for discarded transfers."""
        return accuracy(guesses(self.chosen(seeds), view.name))

    def agreements(self, seeds: str) -> tuple[Agreement, ...]:
        """The capture's shares of time and the kernel's."""
        return agreements(one.stored for one in self.chosen(seeds))

    def buffer_limited(self, seeds: str) -> int:
        """Transfers that the kernel calls limited by their send buffer."""
        return buffer_limited(one.stored for one in self.chosen(seeds))

    @cached_property
    def not_made(self) -> dict[tuple[str, str, str], int]:
        """Transfers that were not made, by kind, outcome and reason."""
        lost = [stored for stored in self.transfers if stored["outcome"] != MADE]
        return dict(
            Counter(
                (stored["kind"], stored["outcome"], stored.get("reason") or "") for stored in lost
            )
        )

    def standings(self, seeds: str) -> dict[tuple[str, str], int]:
        """Transfers by kind and standing."""
        return dict(Counter((one.stored["kind"], one.label.standing) for one in self.chosen(seeds)))

    def as_json(self) -> dict[str, Any]:
        """The whole result."""
        return {
            "trustbed": __version__,
            "transfers": len(self.transfers),
            "made": len(self.made),
            "guests": sum(one.stored["network"]["guest"] is not None for one in self.made),
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
                    if view.point == "sender"
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
            {"made": made, "answered": answered, "transfers": n}
            for (made, answered), n in sorted(found["confusion"].items())
        ]
        return {"view": view.words, **found, "calibration": asdict(self.calibration(view, seeds))}

    @staticmethod
    def _answer_json(one: Judged) -> dict[str, Any]:
        return {
            "name": one.stored["name"],
            "seed": one.stored["seed"],
            "kind": one.stored["kind"],
            "dose": one.stored["dose"],
            "standing": one.label.standing,
            "made": one.label.made,
            "cost": one.label.cost,
            "payload_bits_per_second": throughput(one.stored),
            "answers": {
                name: {"cause": each.cause, "verdict": each.verdict, "confidence": each.confidence}
                for name, each in one.answers.items()
            },
        }
