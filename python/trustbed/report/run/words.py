"""A run in words, for page and terminal: headline, results, unusable repetitions.

Takes the model of :mod:`trustbed.report.run.model`. An unknown number leaves its sentence out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from trustbed.diagnose.causes import cause_in_words
from trustbed.report import words
from trustbed.report.records import Json, Row
from trustbed.report.run.factors import short
from trustbed.report.run.records import (
    CellResults,
    Limit,
    RepetitionSummary,
    RunModel,
    Slowdown,
    WorkloadResult,
)

Found = tuple[CellResults, WorkloadResult]

MEASURES = {
    "response_time": "response time",
    "mean_response_time": "response time",
    "throughput": "throughput",
    "jitter": "jitter",
    "video_rate": "video rate",
    "estimation_error": "error of the estimate",
}
"""What a result is called."""

FLAGS = {
    "noisy_baseline": "noisy baseline: without background, response times already vary by over 5 %",
    "short_baseline": "short baseline: fewer than 100 requests without background",
}
USES = ("discard", "review", "not_judged", "missing", "trust")
"""The worst first."""
USE_WORDS = {
    "discard": "discard",
    "review": "review",
    "not_judged": "not judged",
    "missing": "not carried out",
    "trust": "trust",
}
_SMALL = 1.05
_TRANSFER = re.compile(r"\d+\.[01]")


def times(ratio: float | None) -> str:
    """A ratio as a factor: 2.94 ×."""
    return words.UNKNOWN if ratio is None else f"{factor(ratio)} ×"


def factor(ratio: float | None) -> str:
    """A ratio alone: 2.94."""
    return words.UNKNOWN if ratio is None else f"{ratio:.2f}" if ratio < 99.5 else f"{ratio:.0f}"


def span(low: float | None, high: float | None, shape: Callable[[float | None], str]) -> str:
    """An interval as ``LOW to HIGH``.

    Empty where there is none, and where no value varied, since that does not mean certainty.
    """
    return "" if low is None or high is None or low == high else f"{shape(low)} to {shape(high)}"


def factor_span(low: float | None, high: float | None) -> str:
    """An interval of a ratio; ``open`` where it takes more repetitions to say anything."""
    if low is not None and high is not None and words.is_open(low, high):
        return "open"
    return span(low, high, factor)


def middle(workload: WorkloadResult) -> tuple[float | None, str]:
    """The one number that represents a workload's result, and its text."""
    value = workload.middle.value
    return value, shape_of(workload)(value)


def shape_of(workload: WorkloadResult) -> Callable[[float | None], str]:
    """The format of a result of this kind: a rate, an error in percent, or a time."""
    if workload.is_error:
        return signed_percent
    return words.bits if workload.is_rate else words.duration


def measure(workload: WorkloadResult) -> str:
    """What the result of a workload is called: ``throughput``."""
    return MEASURES.get(workload.measure or "", "result")


def signed_percent(value: float | None) -> str:
    """An error in percent with its sign: +3.4 %, -12 %."""
    if value is None:
        return words.UNKNOWN
    shown = f"{value:+.0f} %" if abs(value) >= 9.95 else f"{value:+.1f} %"
    return "0.0 %" if shown in ("+0.0 %", "-0.0 %") else shown


def percent_points(value: float) -> str:
    """A deviation of errors in percent: 3.4 %."""
    return signed_percent(value).removeprefix("+")


def measure_of(workload: WorkloadResult) -> str:
    """What the number that represents a result is, in words."""
    word = measure(workload)
    return f"{workload.middle_name} {word}" if word == "response time" else word


def central(workload: WorkloadResult) -> Slowdown | None:
    """The slowdown that represents a workload: of the median, else of the mean."""
    return next((point for point in workload.slowdown if point.share in (0.5, None)), None)


def headline(model: RunModel) -> str:
    """The run in one sentence."""
    about, cells = model.run, model.cells
    if not about.complete:
        return "No repetition is complete yet."
    if all(cell.only_discarded or not cell.counted for cell in cells):
        return "No repetition may be used: the testbed was measured, not the network."
    usable = _usable(model)
    found = [
        (cell, workload) for cell in usable for workload in cell.workloads[:1] if workload.measure
    ]
    return (
        _slowed(found)
        or _ranged(found)
        or _lost(usable)
        or "No workload left a result that can be read."
    )


def _usable(model: RunModel) -> list[CellResults]:
    return [cell for cell in model.cells if cell.counted and not cell.only_discarded]


def _worst(
    found: Sequence[Found],
) -> tuple[float, CellResults, WorkloadResult, Slowdown] | None:
    """Cell, workload and quantile of the largest slowdown."""
    compared = [
        (point.ratio, cell, workload, point)
        for cell, workload in found
        if not cell.is_baseline and (point := central(workload)) and point.ratio
    ]
    return max(compared, key=lambda one: one[0], default=None)


def _slowed(found: Sequence[Found]) -> str:
    worst = _worst(found)
    if worst is None:
        return ""
    ratio, cell, workload, _ = worst
    if workload.measure in ("jitter", "video_rate"):
        return _played(ratio, cell, workload)
    if ratio < _SMALL:
        return (
            f"Background traffic slows {workload.name} down by less than "
            f"{words.percent(_SMALL - 1)}."
        )
    return (
        f"Background traffic makes {workload.name} up to {factor(ratio)} times slower "
        f"({cell.label})."
    )


def _played(ratio: float, cell: CellResults, workload: WorkloadResult) -> str:
    """What background traffic does to a media stream or a video."""
    what = f"the {measure(workload)} of {workload.name}"
    if ratio < _SMALL:
        return f"Background traffic makes {what} worse by less than {words.percent(_SMALL - 1)}."
    times_as = "as large" if workload.measure == "jitter" else "lower"
    return f"Background traffic makes {what} up to {factor(ratio)} times {times_as} ({cell.label})."


def assurance(model: RunModel) -> str:
    """The reliability of the headline's number, where it is a slowdown."""
    found = [
        (cell, workload)
        for cell in _usable(model)
        for workload in cell.workloads[:1]
        if workload.measure
    ]
    worst = _worst(found)
    if worst is None or worst[0] < _SMALL:
        return ""
    _, _, workload, point = worst
    if point.low is None or point.high is None:
        return ""
    between = f"with 95 % confidence between {factor(point.low)} and {factor(point.high)} times"
    if point.basis == "requests":
        return (
            f"Within its only repetition {between}; what a second repetition would give is not "
            "known."
        )
    quiet = "the median" if point.share == 0.5 else "the mean"
    over = f"That is {quiet} over {words.counted(workload.repetitions, 'repetition')}"
    if words.is_open(point.low, point.high):
        return f"{over}, which differ too much to say how certain it is: more of them would tell."
    return f"{over}, {between}."


def _ranged(found: Sequence[Found]) -> str:
    known = [
        (value, text, cell, workload)
        for cell, workload in found
        for value, text in (middle(workload),)
        if value is not None
    ]
    if not known:
        return ""
    least, most = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    kind = least[3]
    what = f"The {measure(kind)} of {kind.name} is"
    if len(known) == 1:
        timed = kind.measure in ("response_time", "mean_response_time")
        return f"{what} {least[1]}{' by the median' if timed else ''}."
    return f"{what} between {least[1]} ({least[2].label}) and {most[1]} ({most[2].label})."


def _lost(cells: Sequence[CellResults]) -> str:
    known = [
        (one.loss_share, cell, one)
        for cell in cells
        for one in cell.backgrounds
        if one.loss_share is not None
    ]
    if not known:
        return ""
    least, most = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    if len(known) == 1:
        return f"{words.percent(most[0])} of the packets of {most[2].name} are lost."
    return (
        f"Of the packets of {most[2].name} between {words.percent(least[0])} "
        f"({least[1].label}) and {words.percent(most[0])} ({most[1].label}) are lost."
    )


def standing(model: RunModel) -> str:
    """The progress of the run, and how many of its repetitions are usable."""
    about = model.run
    uses, planned, complete = about.uses, about.planned, about.complete
    progress = (
        f"{words.counted(planned, 'repetition')}"
        if complete == planned
        else f"{complete} of {words.counted(planned, 'repetition')} carried out"
    )
    parts = [progress]
    if uses.get("discard"):
        parts.append(
            f"{uses['discard']} to be discarded, which {'does' if uses['discard'] == 1 else 'do'} "
            "not count below"
        )
    if uses.get("review"):
        parts.append(f"{uses['review']} to be looked at before use")
    if uses.get("not_judged"):
        parts.append(f"{uses['not_judged']} not judged")
    if len(parts) == 1 and complete:
        parts.append("all of them may be used")
    return "; ".join(parts) + "."


def limits(transfers: Sequence[Limit]) -> list[tuple[str, str, int]]:
    """Causes in words, with verdict and count: ``slowed by packet loss``, ``review``, 3."""
    return [(cause_in_words(one.cause), one.verdict, one.count) for one in transfers]


def why(repetition: RepetitionSummary) -> str:
    """Why a repetition has its use, with the causes of the transfers that decided it."""
    message = repetition.why
    blamed = [
        what for what, verdict, _ in limits(repetition.transfers) if verdict == repetition.use
    ]
    graver = any(finding["severity"] == "error" for finding in repetition.findings)
    return (
        f"{message}: {', '.join(dict.fromkeys(blamed))}"
        if message and blamed and not graver
        else message
    )


def notes(cells: Sequence[CellResults], workload: str) -> list[str]:
    """The caveats on the results of a group of cells, each stated once."""
    own = [(cell, one) for cell in cells for one in cell.workloads if one.name == workload]
    message = [FLAGS[flag] for flag in FLAGS if any(flag in one.flags for _, one in own)]
    single = [short(cell, cells) for cell, one in own if one.measure and one.repetitions == 1]
    if single:
        which = (
            "every cell has"
            if len(single) == len(own)
            else f"{', '.join(single)} {'has' if len(single) == 1 else 'have'}"
        )
        message.append(
            f"{which} a single repetition: its intervals do not cover the variation "
            "between repetitions"
        )
    bad = [short(cell, cells) for cell, _ in own if cell.only_discarded]
    if bad:
        message.append(
            f"every repetition of {', '.join(bad)} is to be discarded; its numbers are shown, and "
            "must not be used"
        )
    return message


def gathered(repetitions: Sequence[RepetitionSummary]) -> list[Json]:
    """Findings of all repetitions, one row per kind and severity.

    Each row is the finding with the largest value, with the number of repetitions that have it.
    Findings about single transfers, and infos about captures, are left out: they are in the
    repetitions' own files.
    """
    grouped: dict[tuple[str, str], list[tuple[RepetitionSummary, Row]]] = {}
    for one in repetitions:
        for finding in one.findings:
            of_capture = finding["severity"] == "info" and not finding["code"].startswith("run_")
            if not of_capture and not _TRANSFER.fullmatch(str(finding.get("scope") or "")):
                grouped.setdefault((finding["code"], finding["severity"]), []).append(
                    (one, finding)
                )
    rows = []
    for pairs in grouped.values():
        worst_of, worst = max(pairs, key=lambda pair: pair[1].get("value") or 0.0)
        count, judged = (
            len({one.directory for one, _ in pairs}),
            sum(bool(one.use in ("trust", "review", "discard")) for one in repetitions),
        )
        rows.append(
            {
                **worst,
                "message": f"{worst['message']} ({worst_of.directory})",
                "found_in": f"{count} of {judged}",
                "count": count,
            }
        )
    reported = [
        row for row in rows if row["severity"] != "error" or row["count"] > 1
    ]  # a single error is shown with its repetition
    return sorted(reported, key=lambda row: (-_GRAVITY[row["severity"]], row["code"]))


_GRAVITY = {"info": 0, "warning": 1, "error": 2}


def unusable(model: RunModel) -> Iterator[RepetitionSummary]:
    """Repetitions to be discarded or reviewed, the worst first."""
    for use in USES[:-1]:
        yield from (one for one in model.repetitions if one.use == use)


def departure_error(model: RunModel) -> float | None:
    """The largest 99th percentile of the departure error over all repetitions that count."""
    known = [
        one.emulator.p99_seconds
        for one in model.repetitions
        if one.emulator.p99_seconds is not None and one.use != "discard"
    ]
    return max(known, default=None)
