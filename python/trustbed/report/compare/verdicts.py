"""What all forms of a comparison share: its summary, its rows, and which verdicts fail a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trustbed.compare import words
from trustbed.compare.metrics import LEVEL_TITLES, METRICS, base
from trustbed.compare.model import (
    CandidateResult,
    CaseResult,
    Comparison,
    Level,
    LevelResult,
    MetricResult,
)
from trustbed.report.words import counted, listed

FAILURES: Mapping[str, str] = {
    "beyond": "a metric certainly differs by more than the tolerance",
    "different": "a metric certainly differs",
    "open": "a metric certainly differs, is not certainly equivalent, or was not judged, or "
    "system calls come in another order",
}
"""What ``--fail-on`` takes, the strictest last."""


PLUS_MINUS = "±: half of the mean's 95 % interval (Student's t)."
"""What stands behind means, beside :func:`basis` in every form that has it."""


def fails(one: MetricResult, fail_on: str | None) -> bool:
    """Whether a metric fails a check.

    ``open`` fails what a testbed has and was not judged, too: it is not certainly equivalent.
    """
    if fail_on is None:
        return False
    if one.verdict == "not_compared":
        return fail_on == "open" and not (one.reference is None and one.candidate is None)
    if fail_on == "beyond":
        return bool(one.beyond)
    return bool(one.different) or (fail_on == "open" and one.equivalent is not True)


def not_judged(candidate: CandidateResult) -> str | None:
    """Why no metric of a candidate was judged; ``None`` if one was.

    Any check fails then: whatever it asks for was not looked at.
    """
    if any(one.verdict != "not_compared" for one in candidate.metrics):
        return None
    notes = [one.note for one in candidate.metrics if one.note]
    return notes[0] if notes else candidate.levels[0].sentence.removesuffix(".")


def summary(found: Comparison) -> str:
    """The levels at which anything differs, in one sentence."""
    by_verdict: dict[str, list[str]] = {}
    candidates = [candidate for case in found.cases for candidate in case.candidates]
    for level in LEVEL_TITLES:
        verdict = _overall(found, level)
        title = LEVEL_TITLES[level].lower()
        if level == "system_calls" and verdict == "equivalent" and any(map(disordered, candidates)):
            title = f"{title} (in number: their order differs)"
        by_verdict.setdefault(verdict, []).append(title)
    said = []
    for verdict, word in (
        ("different", "different at"),
        ("equivalent", "equivalent at"),
        ("open", "open at"),
        ("not_compared", "not compared:"),
    ):
        if verdict in by_verdict:
            said.append(f"{word} {listed(by_verdict[verdict])}")
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def disordered(candidate: CandidateResult) -> bool:
    """Whether the order of its system calls is outside the reference's own spread."""
    return candidate.chains is not None and candidate.chains.consistent is False


def _overall(found: Comparison, level: Level) -> str:
    """The verdict of a level over all cases and candidates, the gravest that there is."""
    verdicts = {
        one.verdict
        for case in found.cases
        for candidate in case.candidates
        for one in candidate.levels
        if one.level == level
    }
    grave = (one for one in ("different", "open", "equivalent") if one in verdicts)
    return next(grave, "not_compared")


def basis(found: Comparison) -> str:
    """What the verdicts rest on."""
    own = {
        f"{words.titled(one)} {100 * one.tolerance:g} %": None
        for _, _, one in found.metrics()
        if one.tolerance != found.tolerance
    }
    single = f" ({', '.join(own)})" if own else ""
    return (
        f"Similar: the means differ by at most {100 * found.tolerance:g} % of "
        f"{found.reference}{single}. Equivalent: certainly so (two one-sided Welch tests at 5 %). "
        f"Different: certainly by more than {100 * found.resolution:g} %, all "
        f"{counted(found.family, 'test')} of this report together at 5 % (Welch, Holm)."
    )


def heading(case: CaseResult, candidate: CandidateResult) -> str:
    """``guest against metal, 1MB``."""
    case_words = f", {case.label}" if case.label else ""
    return f"{candidate.testbed} against {case.reference}{case_words}"


def of_level(candidate: CandidateResult, level: LevelResult) -> list[MetricResult]:
    """The metrics of a level."""
    return [one for one in candidate.metrics if one.level == level.level]


def mean(one: MetricResult, which: str) -> tuple[str, str]:
    """A side's mean, and half of its 95 % interval."""
    side = one.reference if which == "reference" else one.candidate
    if side is None:
        return "–", ""
    return words.value(side.mean, one.unit), words.half(side.half_width, one.unit)


def both(one: MetricResult, which: str) -> str:
    """The same in one piece."""
    return " ".join(mean(one, which)).strip()


def counts(one: MetricResult) -> str:
    """Repetitions on both sides: ``10``, ``10, 9``."""
    sides = [0 if side is None else side.count for side in (one.reference, one.candidate)]
    return str(sides[0]) if sides[0] == sides[1] else f"{sides[0]}, {sides[1]}"


def changed_calls(candidate: CandidateResult) -> Iterator[str]:
    """The system calls that differ most, a sentence for each workload.

    Only where the number of calls or reads differs for certain: a name alone is no finding.
    """
    counted_for = {
        one.key.rpartition(".")[0]: one.per
        for one in candidate.metrics
        if base(one.key) in ("system_calls", "reads") and one.verdict == "different"
    }
    for name, calls in candidate.calls.items():
        if name in counted_for:
            said = listed(
                [
                    f"{one.name} {words.value(one.candidate, '1')} instead of "
                    f"{words.value(one.reference, '1')}"
                    for one in calls
                ]
            )
            of = f" of {name}" if name else ""
            yield f"Calls that differ most, per {counted_for[name]}{of}: {said}."


def meanings(metrics: Sequence[MetricResult]) -> Iterator[tuple[str, str]]:
    """What usually causes the differences that were found, each cause once."""
    by_cause: dict[str, list[str]] = {}
    for one in metrics:
        causes = METRICS[base(one.key)].causes
        if one.verdict == "different" and causes:
            by_cause.setdefault(causes, []).append(words.titled(one))
    for causes, titles in by_cause.items():
        yield listed(list(dict.fromkeys(titles))), causes


def left_out(found: Comparison) -> Iterator[str]:
    """Repetitions that do not count, by testbed and reason."""
    for testbed in found.testbeds:
        by_reason: dict[str, list[str]] = {}
        for one in testbed.left_out:
            where = f"{one.repetition} ({one.case})" if one.case else one.repetition
            by_reason.setdefault(one.reason, []).append(where)
        for reason, names in by_reason.items():
            shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
            yield f"{testbed.name}: {shown}: {reason}"
