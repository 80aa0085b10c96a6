"""Fits the model that the package states its confidence by.

To the answers about transfers of the development families. Right is what the score calls right: the
cause is among the accepted ones. Left out are answers about slight and unclear disturbances, as
everywhere in the score.

The fit maximises the likelihood less half the sum of the squared coefficients, each times its
penalty, by Newton's method. Features are standardised first; what is particular to a capture point,
a cause, a cause at a capture point and a kind of answer there are coefficients, too, so that a kind
with few answers stays near its cause, and a cause with few near the rest.

The rules were developed with transfers of the same families in view. Whether the model knows more
than chance is tried on families: one at a time is left out, with all its networks, the model is
fitted to the others, and what it states about those left out is compared with what became of them.
This tells chance from knowledge, not how much the rules were made to fit. The penalties were chosen
among eighteen by that trial, on the first half of the transfers, and hardly matter: Brier skills of
9.4 to 10.8 %.

Bias: two captures of one transfer that are both away from the sender count as two answers, and are
not independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

import trustbed.diagnose
from trustbed.diagnose.calibration import (
    UNCOUNTED,
    Answered,
    CapturePoint,
    Counted,
    Model,
    groups_of,
    inputs_of,
    standardised,
    stated,
)
from trustbed.diagnose.features import QUANTITIES
from validation.truth import text
from validation.truth.calibration import brier, calibrate, skill
from validation.truth.result import VIEWS, Judged, Result, View
from validation.truth.score import counted

HALF = "development"
TABLE = Path(trustbed.diagnose.__file__).with_name("calibration_table.py")

WEIGHT_PENALTY = 10.0
"""Of the coefficients of score and features, in standard deviations."""
PENALTIES = (1.0, 2.0, 2.0, 4.0)
"""Of what is particular: to a capture point, a cause, a cause there, a kind there."""
GROUPS = ("points", "causes", "at_point", "kinds")
DIGITS = 3
_STEPS, _NEAR = 100, 1e-9
_LEAST_SCALE = 1e-6

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """An answer to fit to. ``made`` is the injected cause."""

    name: str
    family: str
    made: str
    answered: Answered
    is_right: bool


def samples(result: Result) -> list[Sample]:
    """Every answer of the development families that counts, in the order of the store."""
    return [
        sample
        for one in result.chosen(HALF)
        for view in VIEWS
        if (sample := _sample(one, view)) is not None
    ]


def _sample(one: Judged, view: View) -> Sample | None:
    case, answer = one.case(view), one.answers.get(view.name)
    if case is None or answer is None or answer.answered is None or not counted([case]):
        return None
    return Sample(
        name=case.name,
        family=one.network.family,
        made=case.made,
        answered=answer.answered,
        is_right=case.is_right,
    )


def fit(given: Iterable[Sample]) -> Model:
    """The model; the same answers give the same model, whatever their order."""
    known = sorted(given, key=lambda sample: (sample.name, repr(sample.answered)))
    inputs = [inputs_of(sample.answered) for sample in known]
    means, scales = _moments(inputs)
    names = _names(known)
    columns = {own: 1 + len(means) + at for at, own in enumerate(names)}
    matrix = np.zeros((len(known), 1 + len(means) + len(names)))
    for row, (sample, values) in enumerate(zip(known, inputs, strict=True)):
        matrix[row, 0] = 1.0
        matrix[row, 1 : 1 + len(means)] = standardised(values, means, scales)
        for own in enumerate(groups_of(sample.answered)):
            matrix[row, columns[own]] = 1.0
    penalties = np.array(
        [0.0, *(WEIGHT_PENALTY for _ in means), *(PENALTIES[group] for group, _ in names)]
    )
    right = np.array([float(sample.is_right) for sample in known])
    found = [round(float(value), DIGITS) for value in _maximum(matrix, right, penalties)]
    particular: dict[str, dict[str, float]] = {name: {} for name in GROUPS}
    for group, name in names:
        particular[GROUPS[group]][name] = found[columns[group, name]]
    return Model(
        intercept=found[0],
        weights=tuple(found[1 : 1 + len(means)]),
        means=means,
        scales=scales,
        **particular,
        answers=_answers(known, 2),
        kind_answers=_answers(known, 3),
        made=_made(known),
        seen=_seen(known),
    )


def _moments(
    inputs: Sequence[Sequence[float | None]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each input where it is known."""
    means, scales = [], []
    for column in zip(*inputs, strict=True):
        known = [value for value in column if value is not None]
        mean = math.fsum(known) / len(known) if known else 0.0
        variance = math.fsum((value - mean) ** 2 for value in known) / len(known) if known else 0.0
        means.append(round(mean, DIGITS))
        scales.append(round(math.sqrt(variance), DIGITS) if variance > _LEAST_SCALE else 1.0)
    return tuple(means), tuple(scales)


def _names(known: Sequence[Sample]) -> list[tuple[int, str]]:
    """Everything that is particular, as (place in :data:`GROUPS`, name)."""
    return sorted({name for sample in known for name in enumerate(groups_of(sample.answered))})


def _maximum(matrix: Vector, right: Vector, penalties: Vector) -> Vector:
    """The coefficients of the largest penalised likelihood, by Newton's method."""
    found = np.zeros(matrix.shape[1])
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-(matrix @ found)))
        slope = matrix.T @ (right - share) - penalties * found
        bend = (matrix * (share * (1 - share))[:, None]).T @ matrix + np.diag(penalties)
        # An intercept without a penalty has no bend left where every answer is sure.
        step = np.linalg.solve(bend + _NEAR * np.eye(len(found)), slope)
        found += step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < _NEAR:
            break
    return found


def _answers(known: Sequence[Sample], group: int) -> dict[str, Counted]:
    names = [groups_of(sample.answered)[group] for sample in known]
    of = Counter(names)
    right = Counter(name for name, sample in zip(names, known, strict=True) if sample.is_right)
    return {name: Counted(right[name], of[name]) for name in sorted(of)}


def _made(known: Sequence[Sample]) -> dict[str, float]:
    """The share of the transfers with each cause."""
    causes = {sample.name: sample.made for sample in known}
    of = Counter(causes.values())
    return {cause: round(of[cause] / len(causes), DIGITS) for cause in sorted(of)}


def _seen(known: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """The range of every quantity."""
    found = {}
    for name in QUANTITIES:
        values = [
            value for sample in known if (value := sample.answered.quantities.get(name)) is not None
        ]
        if values:
            found[name] = (_rounded(min(values), math.floor), _rounded(max(values), math.ceil))
    return found


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    """To two digits, outwards."""
    if value <= 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{towards(value / unit) * unit:.3g}")


@dataclass(frozen=True, slots=True)
class StatedConfidence:
    """What was stated about an answer, and what became of it."""

    confidence: float
    is_right: bool


def confidences(model: Model | None, given: Iterable[Sample]) -> list[StatedConfidence]:
    """What a model states about answers; the score, as far as it may, where it knows nothing."""
    answers = []
    for sample in given:
        known = stated(model, sample.answered)
        score = sample.answered.score if model is None else min(sample.answered.score, UNCOUNTED)
        hundredths = score if known is None or known.hundredths is None else known.hundredths
        answers.append(StatedConfidence(hundredths / 100, sample.is_right))
    return answers


def held_out(given: Sequence[Sample]) -> list[tuple[Sample, StatedConfidence]]:
    """Each answer with what a model states about it that was fitted without its family."""
    found: list[tuple[Sample, StatedConfidence]] = []
    for family in sorted({sample.family for sample in given}):
        left_out = [sample for sample in given if sample.family == family]
        others = [sample for sample in given if sample.family != family]
        model = fit(others) if others else None
        found += zip(left_out, confidences(model, left_out), strict=True)
    return found


def written(model: Model | None, transfers: int) -> str:
    """The model as a module, formatted as the linter wants it."""
    return "\n".join(_lines(model, transfers)) + "\n"


def write(given: Sequence[Sample]) -> None:
    """Fits and replaces the table of the package, which is complete at every moment.

    The same answers give the same file.
    """
    partial = TABLE.with_name(TABLE.name + ".partial")
    partial.write_text(
        written(fit(given), len({sample.name for sample in given})), encoding="utf-8"
    )
    partial.replace(TABLE)


def _lines(model: Model | None, transfers: int) -> Iterator[str]:
    yield '"""The model that the stated confidence follows.'
    yield ""
    yield "Transfers for development whose cause was made."
    yield ""
    yield (
        f"Written by `python -m validation truth --fit` from {transfers} transfers. Do not edit. "
        "How it is used:"
    )
    yield ":mod:`trustbed.diagnose.calibration`."
    yield '"""'
    names = "Model" if model is None else "Counted, Model"
    yield from (
        "",
        "from __future__ import annotations",
        "",
        f"from trustbed.diagnose.calibration import {names}",
        "",
    )
    if model is None:
        yield "MODEL: Model | None = None"
        return
    yield "MODEL: Model | None = Model("
    for each in fields(Model):
        value = getattr(model, each.name)
        if isinstance(value, Mapping):
            yield from _mapping(each.name, value)
        elif isinstance(value, tuple):
            yield f"    {each.name}=("
            yield from (f"        {number!r}," for number in value)
            yield "    ),"
        else:
            yield f"    {each.name}={value!r},"
    yield ")"


def _mapping(name: str, values: Mapping[str, object]) -> Iterator[str]:
    if not values:
        yield f"    {name}={{}},"
        return
    yield f"    {name}={{"
    for key, value in values.items():
        shown = f"Counted({value.right}, {value.of})" if isinstance(value, Counted) else repr(value)
        yield f'        "{key}": {shown},'
    yield "    },"


def report(given: Sequence[Sample]) -> str:
    """How well score, model, and models fitted without the family predict being right."""
    model, crossed = fit(given), held_out(given)
    rows: list[tuple[str, ...]] = [
        ("", "answers", "right", "stated", "calibration error", "Brier score", "skill", "bins hold")
    ]
    for point in get_args(CapturePoint):
        here = [sample for sample in given if sample.answered.point == point]
        if not here:
            continue
        right = sum(sample.is_right for sample in here) / len(here)
        rows.append((point.replace("_", " "), str(len(here)), f"{right:.3f}", *[""] * 5))
        rows.append(_row("  the score itself", confidences(None, here)))
        rows.append(_row("  fitted", confidences(model, here)))
        rows.append(
            _row(
                "  fitted without the family",
                [answer for sample, answer in crossed if sample.answered.point == point],
            )
        )
    bins = text.reliability(calibrate(answer for _, answer in crossed))
    return (
        "\n".join([*text.columns(rows), "", "ALL CAPTURE POINTS, FITTED WITHOUT THE FAMILY", *bins])
        + "\n"
    )


def _row(words: str, answers: Sequence[StatedConfidence]) -> tuple[str, ...]:
    found = calibrate(answers)
    held = [each.holds for each in found.bins if each.holds is not None]
    mean = sum(answer.confidence for answer in answers) / len(answers)
    gained = skill(answers)
    return (
        words,
        "",
        "",
        f"{mean:.3f}",
        text.error_words(found),
        f"{brier(answers):.4f}",
        "–" if gained is None else f"{gained:.1%}",
        f"{sum(held)} of {len(held)}",
    )
