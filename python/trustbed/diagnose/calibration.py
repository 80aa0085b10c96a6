"""From a score to a probability: how sure a diagnosis may be, by transfers whose cause was made.

The score of a diagnosis is counted from what supports it; it orders cases and decides on the
verdict. The confidence that is stated is a probability: of all answers stated with 0.90, nine in
ten should be right. One logistic model gives it, for every capture point: from the score, the
features of the case (margins, costs, the path; see :mod:`trustbed.diagnose.features`), and what is
particular to the cause, to the cause at this capture point, and to the rule under the same limits
of the capture there. The particulars are drawn towards nothing, the more so the fewer answers there
were: a rule with few answers states what its cause is worth.

No answer is stated surer than the answers of its kind may be: the upper end of the 95 % interval of
those that were right bounds it. Nothing is stated where nothing was tried: of a cause that was
never answered from this capture point, or of a transfer whose RTT, throughput or duration lies
outside the range of the validated ones. The score itself is stated then, as far as
:data:`UNCOUNTED` allows. A weakness of the capture that no validated answer of the rule had lowers
it as much as ever.

Holds no numbers; those are in :mod:`trustbed.diagnose.calibration_table`, written by
`python -m validation truth --fit`.

Bias: the validated transfers are emulated, and their mix of causes was chosen, not found. Where a
cause is rarer than among them its answers are right less often: :func:`at_prevalence` says how
much. The rules were made with the same transfers in view, so the probabilities are rather too high
than too low. The model holds for the package's own thresholds.

Sources: scores into probabilities by logistic regression: Platt, *Probabilistic Outputs for Support
Vector Machines*, 1999; coefficients drawn towards nothing: le Cessie and van Houwelingen, *Ridge
Estimators in Logistic Regression*, Applied Statistics 41, 1992.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trustbed.diagnose.conditions import Case
from trustbed.diagnose.confidence import HIGHEST, LOWEST
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.features import MOST_FEATURE, QUANTITIES, features_of, quantities_of

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
"""Hundredths that a score of the time budget is worth at most where nothing was validated."""

LEAST_FOR_DISCARD = 20
"""Validated answers of a cause from a capture point, below which none of them carries a discard."""

_NORMAL_95 = 1.959964
"""Standard deviations that hold 95 % of a normal distribution."""

PREVALENCES = (0.01, 0.05, 0.3)
"""Shares of transfers with a cause, for which an explanation states the probability."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Answers: how many were right, of how many."""

    right: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The fitted model. Everything but the counts is in units of log odds.

    ``weights``: of the score's log odds and of every feature, each after ``means`` were subtracted
    and the rest was divided by ``scales``. ``causes``, ``at_point`` and ``kinds`` are particulars
    of a cause, of a cause at a capture point and of a kind of answer there, by the names that
    :func:`groups_of` gives. ``answers`` and ``kind_answers`` count what the last two rest on.
    ``made`` is the share of the validated transfers that had a cause, ``seen`` the range of each
    quantity.
    """

    intercept: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    points: Mapping[str, float] = field(default_factory=dict)
    causes: Mapping[str, float] = field(default_factory=dict)
    at_point: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, float] = field(default_factory=dict)
    answers: Mapping[str, Counted] = field(default_factory=dict)
    kind_answers: Mapping[str, Counted] = field(default_factory=dict)
    made: Mapping[str, float] = field(default_factory=dict)
    seen: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a diagnosis is stated about: its capture point, cause, kind, score and case.

    ``kind`` is that of :func:`kind_of`, ``score`` is in hundredths.
    """

    point: CapturePoint
    cause: str
    kind: str
    score: int
    features: tuple[float | None, ...]
    quantities: Mapping[str, float]

    @classmethod
    def of(cls, case: Case, point: CapturePoint, *, cause: str, kind: str, score: int) -> Answered:
        """With the features and quantities of a case."""
        return cls(
            point=point,
            cause=cause,
            kind=kind,
            score=score,
            features=features_of(case),
            quantities=quantities_of(case),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What is known of answers like this one.

    ``hundredths`` is the probability; ``None`` where nothing like it was tried, for the reason in
    ``outside``. ``counted`` are the validated answers of its cause from its capture point, ``kind``
    those of its kind among them, ``made`` is the share of the transfers that had the cause.
    """

    hundredths: int | None
    counted: Counted
    kind: Counted
    made: float
    outside: str = ""

    @property
    def carries_a_discard(self) -> bool:
        """Whether enough answers were validated."""
        return self.counted.of >= LEAST_FOR_DISCARD


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


def groups_of(answered: Answered) -> tuple[str, str, str, str]:
    """Names of what is particular to an answer: point, cause, cause at the point, kind there."""
    return (
        answered.point,
        answered.cause,
        f"{answered.cause} {answered.point}",
        f"{answered.kind} {answered.point}",
    )


def inputs_of(answered: Answered) -> tuple[float | None, ...]:
    """What the weights of a model apply to: the score's log odds, then every feature."""
    share = answered.score / 100
    return (math.log(share / (1 - share)), *answered.features)


def standardised(
    inputs: Sequence[float | None], means: Sequence[float], scales: Sequence[float]
) -> list[float]:
    """In standard deviations from the mean, within bounds; what is unknown is the mean."""
    return [
        0.0 if value is None else max(-MOST_FEATURE, min(MOST_FEATURE, (value - mean) / scale))
        for value, mean, scale in zip(inputs, means, scales, strict=True)
    ]


def stated(model: Model | None, answered: Answered | None) -> Stated | None:
    """What a model says about an answer; ``None`` without a model or a known capture point."""
    if model is None or answered is None:
        return None
    point, cause, kind = answered.point, answered.cause, answered.kind
    return _stated(model, point, cause, kind, answered.quantities, lambda: answered)


def stated_of(
    model: Model | None,
    case: Case,
    point: CapturePoint | None,
    *,
    cause: str,
    kind: str,
    score: int,
) -> Stated | None:
    """What a model says about the answer to a case.

    The features are computed where the model takes them.
    """
    if model is None or point is None:
        return None

    def answered() -> Answered:
        return Answered.of(case, point, cause=cause, kind=kind, score=score)

    return _stated(model, point, cause, kind, quantities_of(case), answered)


def _stated(
    model: Model,
    point: CapturePoint,
    cause: str,
    kind: str,
    quantities: Mapping[str, float],
    answered: Callable[[], Answered],
) -> Stated:
    counted = model.answers.get(f"{cause} {point}", _NONE)
    kinds = model.kind_answers.get(f"{kind} {point}", _NONE)
    outside = "" if counted.of else f"{cause} {CAPTURE_POINTS[point]}"
    outside = outside or _outside(model, quantities)
    return Stated(
        hundredths=None if outside else _hundredths(model, answered(), kinds),
        counted=counted,
        kind=kinds,
        made=model.made.get(cause, 0.0),
        outside=outside,
    )


_NONE = Counted(0, 0)


def probability(model: Model, answered: Answered) -> float:
    """That an answer is right, 0…1, wherever it lies."""
    point, cause, at_point, kind = groups_of(answered)
    odds = (
        model.intercept
        + model.points.get(point, 0.0)
        + model.causes.get(cause, 0.0)
        + model.at_point.get(at_point, 0.0)
        + model.kinds.get(kind, 0.0)
        + sum(
            weight * value
            for weight, value in zip(
                model.weights,
                standardised(inputs_of(answered), model.means, model.scales),
                strict=True,
            )
        )
    )
    return 1 / (1 + math.exp(-odds))


def most_of(counted: Counted) -> int:
    """Hundredths that so many right answers allow: the upper end of Wilson's interval, at 95 %.

    However clear a case is, its answer is no surer than all of its kind may be.
    """
    if counted.right == counted.of:
        return 100
    wrong, squared = counted.of - counted.right, _NORMAL_95**2
    half = _NORMAL_95 * math.sqrt(counted.right * wrong / counted.of + squared / 4)
    return math.floor(100 * (counted.right + squared / 2 + half) / (counted.of + squared))


def at_prevalence(share: float, made: float, prevalence: float) -> float:
    """The probability ``share`` where the cause has another prevalence than among the validated.

    Bayes' rule: how far the evidence moved the odds stays the same.

    Args:
        share: The probability among the validated transfers, 0…1, exclusive.
        made: The share of them that had the cause, 0…1, exclusive.
        prevalence: The share of transfers that have it elsewhere.
    """
    moved = share / (1 - share) / (made / (1 - made))
    odds = moved * prevalence / (1 - prevalence)
    return odds / (1 + odds)


def _hundredths(model: Model, answered: Answered, kinds: Counted) -> int:
    found = round(100 * probability(model, answered))
    return min(HIGHEST, max(LOWEST, min(found, answered.score if not kinds.of else most_of(kinds))))


def _outside(model: Model, quantities: Mapping[str, float]) -> str:
    for name, (least, most) in model.seen.items():
        value = quantities.get(name)
        if value is not None and not least <= value <= most:
            return f"{name} {QUANTITIES[name][1](value)}"
    return ""
