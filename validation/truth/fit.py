"""Fits what a score is worth.

From the answers about transfers of the development families to the table that the package states
its confidence by.

For each capture point two things are fitted. The *curve*: the share of right answers at each
score, whatever their kind, drawn towards the score itself and made to rise with it (isotonic
regression by pooling adjacent violators: Ayer, Brunk, Ewing, Reid, Silverman, *An Empirical
Distribution Function for Sampling with Incomplete Information*, Annals of Mathematical Statistics
26, 1955). The *counts*: how many answers of each kind, that is of one rule under the same limits of
the capture, were right. `trustbed.diagnose.calibration` makes a confidence of the two.

Right is what the score calls right: the cause is among the accepted ones. Left out are answers
about slight and unclear disturbances, as everywhere in the score.

The rules were developed with transfers of those families in view, and are right about them more
often than about others. So transfers that were looked at can be left out (`--seen`); what is stated
is rather too high where they are not.

Whether the table is better than chance is tested within those families: a fifth of the networks at
a time is left out, the table is fitted to the others, and what it states about those left out is
compared with what became of them. Transfers of one network stay together, because they are alike.
This tells chance from knowledge, not how much the rules were made to fit. How many answers the
prior weighs is not fitted.

Bias: two captures of one transfer that are both away from the sender count as two answers, and are
not independent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import trustbed.diagnose
from trustbed.diagnose.calibration import (
    PRIOR_ANSWERS,
    Calibration,
    CapturePoint,
    Counted,
    Fitted,
    kind_of,
    stated,
)
from trustbed.diagnose.confidence import HIGHEST, LOWEST
from trustbed.diagnose.limits import LIMITS
from validation.truth import text
from validation.truth.calibration import calibrate
from validation.truth.labels import network_of
from validation.truth.result import VIEWS, Judged, Result, View
from validation.truth.score import counted

HALF = "development"
FOLDS = 5
TABLE = Path(trustbed.diagnose.__file__).with_name("calibration_table.py")
_LIMITS = frozenset(limit.code for limit in LIMITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """An answer to fit to. ``score`` is in hundredths."""

    name: str
    network: str
    point: CapturePoint
    kind: str
    score: int
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
    if case is None or answer is None or answer.point is None or not counted([case]):
        return None
    return Sample(
        name=case.name,
        network=network_of(one.stored).name,
        point=answer.point,
        kind=kind_of(answer.rule, (flag for flag in answer.flags if flag in _LIMITS)),
        score=round(100 * answer.score),
        is_right=case.is_right,
    )


def unseen(given: Sequence[Sample], seen: Collection[str]) -> tuple[list[Sample], str]:
    """Verdicts on transfers that the rules were not developed on, in words."""
    new = [sample for sample in given if sample.name not in seen]
    if not seen:
        return new, "no transfer is left out as known: the rules may fit these better than others\n"
    parts = {"known, left out": [sample for sample in given if sample.name in seen], "new": new}
    rows = [("", "transfers", "answers", "right")]
    for words, part in parts.items():
        right = f"{sum(sample.is_right for sample in part) / len(part):.1%}" if part else "–"
        rows.append((words, str(len({sample.name for sample in part})), str(len(part)), right))
    return new, "\n".join(text.columns(rows)) + "\n"


def fit(given: Iterable[Sample]) -> Calibration:
    """The table; capture points without an answer are left out."""
    by_capture_point: dict[CapturePoint, list[Sample]] = defaultdict(list)
    for sample in given:
        by_capture_point[sample.point].append(sample)
    return {
        point: Fitted(curve=_curve(found), answers=_answers(found))
        for point in get_args(CapturePoint)
        if (found := by_capture_point.get(point))
    }


def _curve(given: Sequence[Sample]) -> dict[int, float]:
    of = Counter(sample.score for sample in given)
    right = Counter(sample.score for sample in given if sample.is_right)
    scores = sorted(of)
    drawn = [
        (
            (right[score] + PRIOR_ANSWERS * score / 100) / (of[score] + PRIOR_ANSWERS),
            of[score] + PRIOR_ANSWERS,
        )
        for score in scores
    ]
    # No confidence is higher than that, and a rounded 1 would be.
    return {
        score: min(HIGHEST / 100, max(LOWEST / 100, round(share, 3)))
        for score, share in zip(scores, isotonic(drawn), strict=True)
    }


def _answers(given: Sequence[Sample]) -> dict[str, Counted]:
    of = Counter(sample.kind for sample in given)
    right = Counter(sample.kind for sample in given if sample.is_right)
    return {kind: Counted(right[kind], of[kind]) for kind in sorted(of)}


def isotonic(points: Sequence[tuple[float, float]]) -> list[float]:
    """Of values with weights, the nearest values (least squares) that never fall."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in points:
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            before = blocks.pop()
            both = before[1] + block[1]
            block = (
                (before[0] * before[1] + block[0] * block[1]) / both,
                both,
                before[2] + block[2],
            )
        blocks.append(block)
    return [value for value, _, length in blocks for _ in range(length)]


@dataclass(frozen=True, slots=True)
class StatedConfidence:
    """What was stated about an answer, and what became of it."""

    confidence: float
    is_right: bool


def confidences(calibration: Calibration, given: Iterable[Sample]) -> list[StatedConfidence]:
    """What a table states about answers; the score where it knows nothing."""
    answers = []
    for sample in given:
        known = stated(calibration, sample.point, sample.kind, sample.score)
        answers.append(
            StatedConfidence((known.hundredths if known else sample.score) / 100, sample.is_right)
        )
    return answers


def held_out(given: Sequence[Sample]) -> list[tuple[Sample, StatedConfidence]]:
    """Each answer with what a table states about it that was fitted without its network."""
    networks = sorted({sample.network for sample in given})
    fold_of = {network: number % FOLDS for number, network in enumerate(networks)}
    found: list[tuple[Sample, StatedConfidence]] = []
    for fold in range(FOLDS):
        left_out = [sample for sample in given if fold_of[sample.network] == fold]
        table = fit(sample for sample in given if fold_of[sample.network] != fold)
        found += zip(left_out, confidences(table, left_out), strict=True)
    return found


def brier(answers: Sequence[StatedConfidence]) -> float:
    """Mean squared error of the confidence (Brier, *Verification of Forecasts*, 1950)."""
    return sum((answer.confidence - answer.is_right) ** 2 for answer in answers) / len(answers)


def written(calibration: Calibration, transfers: int) -> str:
    """The table as a module, formatted as the linter wants it."""
    return "\n".join(_lines(calibration, transfers)) + "\n"


def write(given: Sequence[Sample]) -> None:
    """Fits and replaces the table of the package, which is complete at every moment.

    The same answers give the same file.
    """
    partial = TABLE.with_name(TABLE.name + ".partial")
    partial.write_text(
        written(fit(given), len({sample.name for sample in given})), encoding="utf-8"
    )
    partial.replace(TABLE)


def _lines(calibration: Calibration, transfers: int) -> Iterator[str]:
    used = ", ".join(
        name
        for name, is_used in (
            ("Calibration", True),
            ("Counted", calibration),
            ("Fitted", calibration),
        )
        if is_used
    )
    yield '"""How many answers of each kind were right, and a score\'s worth, by capture point.'
    yield ""
    yield "Transfers for development whose cause was made."
    yield ""
    yield (
        f"Written by `python -m validation truth --fit` from {transfers} transfers. Do not edit. "
        "How it is used:"
    )
    yield ":mod:`trustbed.diagnose.calibration`."
    yield '"""'
    yield from (
        "",
        "from __future__ import annotations",
        "",
        f"from trustbed.diagnose.calibration import {used}",
        "",
    )
    if not calibration:
        yield "CALIBRATION: Calibration = {}"
        return
    yield "CALIBRATION: Calibration = {"
    for point, fitted in calibration.items():
        yield f'    "{point}": Fitted('
        yield "        curve={"
        yield from (f"            {score}: {share!r}," for score, share in fitted.curve.items())
        yield "        },"
        yield "        answers={"
        yield from (
            f'            "{kind}": Counted({number.right}, {number.of}),'
            for kind, number in fitted.answers.items()
        )
        yield "        },"
        yield "    ),"
    yield "}"


def report(given: Sequence[Sample]) -> str:
    """How well score, table, and tables fitted without the network predict being right."""
    table, crossed = fit(given), held_out(given)
    rows: list[tuple[str, ...]] = [
        ("", "answers", "right", "stated", "calibration error", "Brier score", "bins that hold")
    ]
    for point in table:
        here = [sample for sample in given if sample.point == point]
        rows.append(
            (
                point.replace("_", " "),
                str(len(here)),
                f"{sum(sample.is_right for sample in here) / len(here):.3f}",
                "",
                "",
                "",
                "",
            )
        )
        rows.append(_row("  the score itself", confidences({}, here)))
        rows.append(_row("  fitted", confidences(table, here)))
        rows.append(
            _row(
                "  fitted without the network",
                [answer for sample, answer in crossed if sample.point == point],
            )
        )
    bins = text.reliability(calibrate(answer for _, answer in crossed))
    return (
        "\n".join(
            [*text.columns(rows), "", "ALL CAPTURE POINTS, FITTED WITHOUT THE NETWORK", *bins]
        )
        + "\n"
    )


def _row(words: str, answers: Sequence[StatedConfidence]) -> tuple[str, ...]:
    found = calibrate(answers)
    held = [each.holds for each in found.bins if each.holds is not None]
    mean = sum(answer.confidence for answer in answers) / len(answers)
    return (
        words,
        "",
        "",
        f"{mean:.3f}",
        text.error_words(found),
        f"{brier(answers):.4f}",
        f"{sum(held)} of {len(held)}",
    )
