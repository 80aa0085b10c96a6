"""From a score to a probability.

How often the rule that decided was right where the truth is known.

The score of a diagnosis is counted from what supports it; it orders cases and decides on the
verdict. The confidence that is stated is a probability: of all answers stated with 0.90, nine in
ten should be right. It is the share of right answers among the validated ones of the same rule,
under the same limits of the capture at the same capture point, drawn towards what that score was
worth there whatever the rule: the fewer answers, the nearer to it. Where there is no such answer,
the score itself is stated: a weakness that no validated capture had lowers it as much as ever. Fits
nothing and holds no counts; those are in :mod:`trustbed.diagnose.calibration_table`.

Bias: the validated transfers are emulated, and their mix of causes was chosen, not found; where a
cause is rarer than among them, its rule is right less often. The rules were made with the same
transfers in view, so the shares are rather too high than too low. The counts hold for the package's
own thresholds.

Sources: estimate drawn towards a prior: Cestnik, *Estimating Probabilities: A Crucial Task in
Machine Learning*, ECAI 1990; scores into probabilities: Zadrozny and Elkan, *Transforming
Classifier Scores into Accurate Multiclass Probability Estimates*, KDD 2002.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trustbed.diagnose.confidence import HIGHEST, LOWEST
from trustbed.diagnose.evidence import Evidence

CapturePoint: TypeAlias = Literal["beside", "beside_with_host", "away"]
"""The capture point, and whether there is host evidence.

At the sender, at the sender with evidence of the sending host, or elsewhere.
"""

CAPTURE_POINTS: Mapping[CapturePoint, str] = {
    "beside": "captured beside the sender",
    "beside_with_host": "captured beside the sender, with what is known of its host",
    "away": "captured away from the sender",
}

UNCOUNTED = 85
"""Hundredths that a score of the time budget is worth at most while no answers of its kind were
counted."""

PRIOR_ANSWERS = 6
"""The number of answers of the same kind that weigh as much as the score's worth."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Answers of one kind: how many were right, of how many."""

    right: int
    of: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """The calibration of one capture point.

    ``curve``: scores in hundredths, rising, each with the share of right answers, which never
    falls. ``answers``: by kind, see :func:`kind_of`.
    """

    curve: Mapping[int, float]
    answers: Mapping[str, Counted]


Calibration: TypeAlias = Mapping[CapturePoint, Fitted]


@dataclass(frozen=True, slots=True)
class Stated:
    """A confidence in hundredths, and the answers that it rests on."""

    hundredths: int
    counted: Counted


def capture_point_of(at: str | None, evidence: Evidence) -> CapturePoint | None:
    """The capture point; ``None`` where it is unknown, as for published cases."""
    if at == "sender":
        known = (evidence.processor_missed, evidence.cpu_share, evidence.send_buffer_limited)
        return "beside" if known == (None, None, None) else "beside_with_host"
    return "away" if at in ("receiver", "middle") else None


def kind_of(rule: str, limits: Iterable[str]) -> str:
    """Answers that are counted together: of one rule, under the same limits of the capture."""
    under = " and ".join(limits)
    return f"{rule} under {under}" if under else rule


def stated(
    calibration: Calibration, point: CapturePoint | None, kind: str, score: int
) -> Stated | None:
    """The confidence that answers a score (hundredths).

    ``None`` where there are no answers of this kind from this capture point.
    """
    fitted = calibration.get(point) if point is not None else None
    counted = fitted.answers.get(kind) if fitted is not None else None
    if fitted is None or counted is None:
        return None
    share = (counted.right + PRIOR_ANSWERS * worth(fitted.curve, score)) / (
        counted.of + PRIOR_ANSWERS
    )
    return Stated(min(HIGHEST, max(LOWEST, round(100 * share))), counted)


def worth(curve: Mapping[int, float], score: int) -> float:
    """Share of right answers at a score, whatever their kind.

    Between two scores that occurred the lower one counts, and below the lowest no more than the
    score itself: a score never gains by what a higher one was worth.
    """
    below = [share for at, share in curve.items() if at <= score]
    return max(below) if below else min([score / 100, *curve.values()])
