"""The result in a terminal, and the list of wrong answers that rules are improved by."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from trustbed.diagnose.compensation_table import NEAR
from validation.truth import situations
from validation.truth.calibration import Calibration
from validation.truth.result import SELECTIONS, VIEWS, Judged, Result, View
from validation.truth.score import Score, Share

_SHORT = {
    "sender_application_limited": "sender_application",
    "acknowledgements_delayed": "acks_delayed",
}


def render(result: Result, half: str) -> str:
    """Everything, for the chosen half."""
    lines = [
        (
            f"{len(result.made)} transfers made, {len(result.transfers) - len(result.made)} "
            f"not; scored: {SELECTIONS[half]}"
        ),
        "",
    ]
    lines += summary(result, half)
    for view in VIEWS:
        lines += ["", *_of_view(result, view, half)]
    lines += ["", "FIFTEEN SITUATIONS, ALL FAMILIES", *columns(list(situations.rows(result)))]
    lines += ["", *_compensation(result, half), "", *_kernel(result, half), "", *_missing(result)]
    return "\n".join(lines) + "\n"


def summary(result: Result, half: str) -> list[str]:
    """One line per view."""
    rows: list[tuple[str, ...]] = [
        (
            "",
            "cases",
            "macro F1",
            "wanted",
            "right",
            "verdicts",
            "false alarms",
            "missed discards",
            "doomed, trusted",
            "calibration",
            "Brier skill",
        )
    ]
    for view in VIEWS:
        found, calibrated = result.score(view, half), result.calibration(view, half)
        rows.append(
            (
                view.words,
                str(found.cases),
                f1_words(found),
                wanted_words(view),
                *shares(found),
                error_words(calibrated),
                skill_words(calibrated),
            )
        )
    return columns(rows)


def f1_words(found: Score) -> str:
    """With its interval."""
    if found.macro_f1 is None:
        return "–"
    interval = found.macro_f1_interval
    return f"{found.macro_f1:.3f}" + (f" ({interval[0]:.2f}–{interval[1]:.2f})" if interval else "")


def wanted_words(view: View) -> str:
    """The macro F1 that is wanted of a view."""
    return "–" if view.wanted_f1 is None else f"≥ {view.wanted_f1:.2f}"


def shares(found: Score) -> tuple[str, ...]:
    """Right causes, right verdicts, false alarms, missed discards, trusted though doomed."""
    return tuple(
        share_words(one)
        for one in (
            found.right,
            found.verdicts_right,
            found.false_alarms,
            found.missed_discards,
            found.doomed_trusted,
        )
    )


def share_words(share: Share) -> str:
    """A percentage and what it is of."""
    return "–" if share.value is None else f"{share.value:.1%} of {share.of}"


def error_words(found: Calibration) -> str:
    """The pooled error."""
    return "–" if found.error is None else f"{found.error:.3f}"


def skill_words(found: Calibration) -> str:
    """By how much the stated confidence is better than the share of right answers."""
    return "–" if found.skill is None else f"{found.skill:.0%}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned; the first column to the left."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if not index else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _of_view(result: Result, view: View, half: str) -> Iterator[str]:
    found = result.score(view, half)
    yield f"{view.words.upper()}"
    if not found.cases:
        yield "no such capture was taken"
        return
    rows = [("injected cause", "made", "precision", "recall", "F1", "")]
    for each in found.causes:
        interval = (
            f"({each.f1_interval[0]:.2f}–{each.f1_interval[1]:.2f})" if each.f1_interval else ""
        )
        value = "–" if each.f1 is None else f"{each.f1:.2f}"
        rows.append(
            (
                each.cause,
                str(each.recall.of),
                _percent(each.precision),
                _percent(each.recall),
                value,
                interval,
            )
        )
    yield from columns(rows)
    yield from ("", *transitions(found), "", *matrix(found))
    yield from ("", *reliability(result.calibration(view, half)))


def _percent(share: Share) -> str:
    return "–" if share.value is None else f"{share.value:.0%}"


def transitions(found: Score) -> list[str]:
    """How often a verdict ended where it should not, and what sets and alternatives came to."""
    rows = [("wanted → given", "share", "at most")]
    for (wanted, given), share in found.transitions.items():
        rows.append((f"{wanted} → {given}", share_words(share), f"{share.interval[1]:.1%}"))
    rows.append(("sets of causes, right", share_words(found.sets), ""))
    rows.append(("right, one name", share_words(found.right_alone), ""))
    wrong = found.confidently_wrong
    rows.append(("wrong with 0.9 and more", share_words(wrong), f"{wrong.interval[1]:.1%}"))
    return columns(rows)


def matrix(found: Score) -> list[str]:
    """Rows: injected causes. Columns: answers; an accepted name is on the diagonal."""
    made = [each.cause for each in found.causes]
    answered = [*made, *sorted({name for _, name in found.confusion} - set(made))]
    rows = [("injected ↓  answered →", *(_letters(index) for index in range(len(answered))))]
    for cause in made:
        counts = (found.confusion.get((cause, name), 0) for name in answered)
        rows.append(
            (
                f"{_letters(answered.index(cause))} {_SHORT.get(cause, cause)}",
                *(str(count) if count else "·" for count in counts),
            )
        )
    keys = ", ".join(
        f"{_letters(index)} {name}" for index, name in enumerate(answered) if index >= len(made)
    )
    return [*columns(rows), *([f"also answered: {keys}"] if keys else [])]


def _letters(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else f"A{chr(ord('A') + index - 26)}"


def reliability(found: Calibration) -> list[str]:
    """Stated and observed, by bin."""
    rows = [("confidence", "answers", "stated", "right", "95 % interval", "")]
    for each in found.bins:
        low, high = each.interval
        holds = {True: "holds", False: "does not hold", None: "too few"}[each.holds]
        span = f"{each.low:.2f}–{each.high:.2f}"
        rows.append(
            (
                span,
                str(each.answers),
                f"{each.stated:.2f}",
                f"{each.observed:.2f}",
                f"{low:.2f}–{high:.2f}",
                holds,
            )
        )
    return columns(rows)


def _compensation(result: Result, half: str) -> Iterator[str]:
    yield "WHAT THE NETWORK WOULD HAVE GIVEN TRANSFERS DISCARDED FOR STALLS"
    head = (
        "discarded",
        "with a twin",
        "estimated",
        f"within {NEAR:.0%}",
        "median error",
        "in the interval",
        "silences removed",
    )
    rows = [("", *head)]
    for view in VIEWS:
        found = result.compensation(view, half)
        counts = (str(found.discarded), str(found.comparable), str(found.available))
        middle = "–" if found.median_error is None else f"{found.median_error:+.1%}"
        rows.append(
            (
                view.words,
                *counts,
                share_words(found.within),
                middle,
                share_words(found.covered),
                share_words(found.removed_within),
            )
        )
    yield from columns(rows)


def _kernel(result: Result, half: str) -> Iterator[str]:
    yield "SHARES OF TIME: THE SENDER'S CAPTURE AGAINST ITS KERNEL"
    rows = [("", "transfers", "median difference", "within 0.05", "of the plain")]
    for each in result.agreements(half):
        middle = "–" if each.median_difference is None else f"{each.median_difference:+.3f}"
        rows.append(
            (
                each.what,
                str(each.transfers),
                middle,
                str(each.near),
                f"{each.plain_near} of {each.plain}",
            )
        )
    yield from columns(rows)
    yield "plain: not paced by BBR, not from a guest, not from a stopped process"
    yield (
        f"limited by their send buffer for half of their busy time, according to the kernel: "
        f"{result.buffer_limited(half)}"
    )
    if (steps := result.equal_steps(half)) is not None:
        transfers, count, share = steps
        yield (
            f"step by step: capture and kernel alike in {share:.1%} of {count} steps of 10 ms, "
            f"{transfers} transfers"
        )


def _missing(result: Result) -> Iterator[str]:
    if result.not_made:
        yield "NOT MADE (not counted)"
        yield from columns(
            [
                (kind, outcome, str(count), why[:90])
                for (kind, outcome, why), count in sorted(result.not_made.items())
            ]
        )
    for name, share in sorted(result.twins.unlike.items()):
        yield f"not its designed rate: {name} gave {share:.0%}"


def wrong_answers(result: Result, half: str) -> str:
    """Every wrong cause or verdict, with all its evidence."""
    found = (
        _wrong(one, view)
        for one in result.chosen(half)
        for view in VIEWS
        if (case := one.case(view)) is not None and case.counts and not case.is_all_right
    )
    return "\n".join(found) + "\n"


def _wrong(one: Judged, view: View) -> str:
    answer, wanted = one.answers[view.name], one.label.wanted[view.knowledge]
    cost = "" if one.label.cost is None else f", cost {one.label.cost:.0%}"
    evidence = {
        key: _short(value) for key, value in answer.evidence.items() if value not in (None, ())
    }
    return "\n".join(
        (
            (
                f"## {one.stored['name']} ({view.name}, {one.label.standing}{cost}) dose "
                f"{json.dumps(one.stored['dose'])}"
            ),
            (
                f"network "
                f"{json.dumps({k: v for k, v in one.stored['network'].items() if v is not None})}"
            ),
            f"wanted {' | '.join(wanted.causes)} → {' | '.join(wanted.verdicts)}",
            (
                f"got    {' | '.join(answer.causes)} {answer.confidence:.2f} → {answer.verdict}, "
                f"rule {answer.rule}, flags {list(answer.flags)}"
            ),
            f"kernel {json.dumps(one.stored.get('kernel'))}",
            f"{json.dumps(evidence)}",
            "",
        )
    )


def _short(value: Any) -> Any:  # noqa: ANN401 - whatever evidence holds
    if isinstance(value, float):
        return float(f"{value:.5g}")
    return [_short(one) for one in value] if isinstance(value, (list, tuple)) else value
