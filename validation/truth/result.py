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
from validation.truth.families import Half
from validation.truth.judged import Answer, judge
from validation.truth.kernel import Agreement, agreements, buffer_limited, equal_steps
from validation.truth.labels import Knowledge, Label, Twins, label, network_of, throughput
from validation.truth.networks import Network
from validation.truth.plan import NUMBER, Plan
from validation.truth.score import Case, Score, counted, score
from validation.truth.store import Store

Stored = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view of a transfer.

    The capture, and whether the run's own knowledge is used. ``wanted_f1`` is ``None`` where no
    goal was set.
    """

    name: str
    point: str
    known: bool
    words: str
    wanted_f1: float | None

    @property
    def knowledge(self) -> Knowledge:
        """Which of the accepted sets holds."""
        if self.point == "inside":
            return "inside"
        return "known" if self.known else "capture" if self.point == "sender" else "away"


VIEWS: tuple[View, ...] = (
    View(
        name="sender-known",
        point="sender",
        known=True,
        words="sender's capture and host samples",
        wanted_f1=0.92,
    ),
    View(
        name="sender", point="sender", known=False, words="sender's capture alone", wanted_f1=0.88
    ),
    View(
        name="receiver",
        point="receiver",
        known=False,
        words="receiver's capture alone",
        wanted_f1=0.82,
    ),
    View(
        name="middle",
        point="middle",
        known=False,
        words="capture in the middle alone",
        wanted_f1=0.82,
    ),
    View(
        name="inside",
        point="inside",
        known=False,
        words="capture within the sending guest alone",
        wanted_f1=None,
    ),
)
SELECTIONS = {
    "development": "families that rules are developed on",
    "report": "families that are reported",
    "all": "all families",
}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A transfer that was made, its label, and the answers, by view."""

    stored: Stored
    label: Label
    answers: Mapping[str, Answer]

    @property
    def network(self) -> Network:
        """Where it was made."""
        return network_of(self.stored)

    @property
    def half(self) -> Half:
        """Whether rules may be developed on it."""
        return self.network.half

    def case(self, view: View) -> Case | None:
        """A case for the score; ``None`` where this capture does not show the transfer."""
        answer = self.answers.get(view.name)
        if answer is None:
            return None
        wanted = self.label.wanted[view.knowledge]
        return Case(
            name=self.stored["name"],
            kind=self.stored["kind"],
            network=self.network.name,
            standing=self.label.standing,
            made=self.label.made,
            accepted=wanted.causes,
            verdicts=wanted.allowed(answer.cause),
            causes=answer.causes,
            verdict=answer.verdict,
            confidence=answer.confidence,
            cost=self.label.cost,
        )


def _planned(identity: Mapping[str, Any] | None) -> int | None:
    """How many transfers the plan of an identity has; ``None`` if no plan of today has it."""
    seed = (identity or {}).get("seed")
    if not isinstance(seed, int) or (identity or {}).get("plan") != NUMBER:
        return None
    plan = Plan(seed)
    return len(plan.transfers) if plan.identity == identity else None


class Result:
    """The result of a store. Judges on construction.

    ``identity`` is that of its plan; ``planned``: how many transfers that has, where it is a plan
    of today.
    """

    def __init__(
        self, transfers: Sequence[Stored], *, identity: Mapping[str, Any] | None = None
    ) -> None:
        self.transfers = transfers
        self.identity = identity
        self.planned = _planned(identity)
        self.twins = Twins(transfers)
        self.made = [self._judged(stored) for stored in transfers if stored["outcome"] == MADE]
        self._scores: dict[tuple[str, str], Score] = {}

    @classmethod
    def of(cls, store: Store) -> Result:
        """Everything in a store."""
        return cls(list(store), identity=store.plan)

    def _judged(self, stored: Stored) -> Judged:
        answers = {
            view.name: answer
            for view in VIEWS
            if (answer := judge(stored, view.point, known=view.known)) is not None
        }
        return Judged(stored=stored, label=label(stored, self.twins), answers=answers)

    @property
    def is_complete(self) -> bool:
        """Whether everything in its plan was tried."""
        return self.planned is not None and len(self.transfers) >= self.planned

    def chosen(self, half: str) -> list[Judged]:
        """Transfers of one half of the families, or all."""
        return [one for one in self.made if half in ("all", one.half)]

    def cases(self, view: View, half: str) -> list[Case]:
        """The cases of a view that have an answer."""
        return [case for one in self.chosen(half) if (case := one.case(view)) is not None]

    def score(self, view: View, half: str) -> Score:
        """How often a view is right."""
        key = view.name, half
        if key not in self._scores:
            self._scores[key] = score(self.cases(view, half))
        return self._scores[key]

    def calibration(self, view: View, half: str) -> Calibration:
        """Whether the stated confidence is right."""
        return calibrate(counted(self.cases(view, half)))

    def compensation(self, view: View, half: str) -> Accuracy:
        """The accuracy of the estimates for discarded transfers."""
        return accuracy(guesses(self.chosen(half), view.name))

    def agreements(self, half: str) -> tuple[Agreement, ...]:
        """The capture's shares of time and the kernel's."""
        return agreements(one.stored for one in self.chosen(half))

    def buffer_limited(self, half: str) -> int:
        """Transfers that the kernel calls limited by their send buffer."""
        return buffer_limited(one.stored for one in self.chosen(half))

    def equal_steps(self, half: str) -> tuple[int, int, float] | None:
        """Transfers and steps in which capture and kernel were compared, and the equal share."""
        return equal_steps(one.stored for one in self.chosen(half))

    @cached_property
    def not_made(self) -> dict[tuple[str, str, str], int]:
        """Transfers that were not made, by kind, outcome and reason."""
        lost = [stored for stored in self.transfers if stored["outcome"] != MADE]
        return dict(
            Counter(
                (stored["kind"], stored["outcome"], stored.get("reason") or "") for stored in lost
            )
        )

    def standings(self, half: str) -> dict[tuple[str, str], int]:
        """Transfers by kind and standing."""
        return dict(Counter((one.stored["kind"], one.label.standing) for one in self.chosen(half)))

    def as_json(self, half: str) -> dict[str, Any]:
        """The result of one half, or of all."""
        chosen = self.chosen(half)
        return {
            "trustbed": __version__,
            "plan": self.identity,
            "half": half,
            "transfers": len(self.transfers),
            "made": len(chosen),
            "guests": sum(one.network.guest is not None for one in chosen),
            "not_made": [
                {"kind": kind, "outcome": how, "reason": why, "transfers": n}
                for (kind, how, why), n in self.not_made.items()
            ],
            "unlike_their_design": self.twins.unlike,
            "scores": {view.name: self._score_json(view, half) for view in VIEWS},
            "compensation": {
                view.name: asdict(self.compensation(view, half))
                for view in VIEWS
                if view.point == "sender"
            },
            "kernel": [asdict(one) for one in self.agreements(half)],
            "answers": [self._answer_json(one) for one in chosen],
        }

    def _score_json(self, view: View, half: str) -> dict[str, Any]:
        found = asdict(self.score(view, half))
        found["confusion"] = [
            {"made": made, "answered": answered, "transfers": n}
            for (made, answered), n in sorted(found["confusion"].items())
        ]
        found["transitions"] = [
            {"wanted": wanted, "given": given, **share}
            for (wanted, given), share in found["transitions"].items()
        ]
        return {"view": view.words, **found, "calibration": asdict(self.calibration(view, half))}

    @staticmethod
    def _answer_json(one: Judged) -> dict[str, Any]:
        return {
            "name": one.stored["name"],
            "seed": one.stored["seed"],
            "half": one.half,
            "network": one.network.name,
            "kind": one.stored["kind"],
            "dose": one.stored["dose"],
            "standing": one.label.standing,
            "made": one.label.made,
            "cost": one.label.cost,
            "payload_bits_per_second": throughput(one.stored),
            "answers": {
                name: {
                    "causes": list(each.causes),
                    "verdict": each.verdict,
                    "confidence": each.confidence,
                }
                for name, each in one.answers.items()
            },
        }
