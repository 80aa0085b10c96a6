"""Explains one diagnosis: the rule that fired, its evidence, its confidence, what would change it.

Uses the same rules, conditions and tables as the diagnosis, so the two cannot differ. What would
change the verdict is tried, not worded: the evidence is changed in one respect and judged again. An
unknown number is listed only where knowing it could change the rule or the score.

Bias: changes are tried one at a time; two together may do what neither does alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from trustbed.diagnose.budget import is_known
from trustbed.diagnose.calibration import (
    CAPTURE_POINTS,
    PREVALENCES,
    Stated,
    at_prevalence,
    most_of,
)
from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.diagnose.conditions import Case, Condition
from trustbed.diagnose.confidence import CONFIDENCE, HIGHEST
from trustbed.diagnose.diagnosis import FLAGS, Diagnosis, diagnose
from trustbed.diagnose.evidence import SOURCES, Evidence, Row, Workload
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.host import HostEvidence, with_host
from trustbed.diagnose.quality import UNTOUCHED, CaptureQuality, Quality
from trustbed.diagnose.rules import RULES, STAGES, Rule, Stage
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.diagnose.time_budget import Shares
from trustbed.findings.words import number_words, percent_words, rate_words, seconds_words


def explain_row(
    row: Row,
    capture: CaptureFacts,
    *,
    workload: Workload = "unknown",
    capacity: float | None = None,
    host: HostEvidence | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> list[str]:
    """Explain the diagnosis of one row of the transfers table.

    Arguments as for :func:`trustbed.diagnose.judge.judge_row`.
    """
    flags: tuple[str, ...] = ()
    evidence = Evidence.from_transfer(row, workload=workload, capacity_bits_per_second=capacity)
    if host is not None:
        evidence, flags = with_host(evidence, host, thresholds=thresholds)
    return explain(
        evidence,
        quality=Quality.of(row, CaptureQuality.of(capture)),
        flags=flags,
        shares=Shares.from_transfer(row),
        thresholds=thresholds,
    )


def explain(
    evidence: Evidence,
    *,
    quality: Quality = UNTOUCHED,
    flags: tuple[str, ...] = (),
    shares: Shares | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> list[str]:
    """Explain the diagnosis of this evidence, as lines of text without markup.

    ``flags`` are those that came with it, ``shares`` what its time went to.
    """
    case = Case.of(evidence, thresholds)
    diagnosis = diagnose(evidence, quality=quality, flags=flags, thresholds=thresholds)
    lines = [
        f"{diagnosis.headline}",
        f"cause {_causes(diagnosis)}, confidence {diagnosis.confidence:.2f}, "
        f"verdict {diagnosis.verdict} ({VERDICTS[diagnosis.verdict]})",
        *(f"  {reason}" for reason in diagnosis.reasons),
    ]
    for title, part in (
        ("Where the time went", _spent(evidence, shares)),
        ("Rule that fired", _fired(case)),
        ("Evidence", (*_evidence(case), *_missing(evidence, diagnosis, thresholds, quality))),
        ("Confidence", _confidence(case, diagnosis)),
        ("Flags", _flags(diagnosis)),
        ("What the capture limits", _limits(diagnosis)),
        ("Other readings", _alternatives(diagnosis)),
        ("Without the stalls", _without_stalls(evidence, diagnosis)),
        ("What would change it", _changes(evidence, diagnosis, case, quality, flags)),
        ("Next step", iter((diagnosis.next_step,))),
        ("Rules, in order", _rules(case)),
    ):
        body = [f"  {line}" for line in part]
        if body:
            lines += ["", title, *body]
    return lines


def _causes(diagnosis: Diagnosis) -> str:
    return " or ".join(f"{cause} ({CAUSES[cause].meaning})" for cause in diagnosis.causes)


def _spent(evidence: Evidence, shares: Shares | None) -> Iterator[str]:
    if shares is not None and (spent := shares.spent(evidence.duration_seconds)):
        yield spent


def _evidence(case: Case) -> Iterator[str]:
    evidence, numbers = case.evidence, case.numbers
    yield f"throughput {rate_words(evidence.throughput_bytes_per_second)}"
    for name, bound in (
        ("window and base RTT allow (X₀)", numbers.x0_bytes_per_second),
        ("window and mean RTT allow (X₁)", numbers.x1_bytes_per_second),
        ("loss allows (X₂)", numbers.x2_bytes_per_second),
        ("capacity allows (X₃)", numbers.x3_bytes_per_second),
    ):
        if bound is not None:
            yield f"{name} {rate_words(bound)}"
    yield (
        f"r = throughput / expected = {number_words(numbers.ratio)}, i = RTT / base RTT = "
        f"{number_words(numbers.rtt_inflation)}"
    )
    yield (
        f"RTT {seconds_words(evidence.rtt_seconds)}, base "
        f"{seconds_words(evidence.rtt_base_seconds)}, loss {percent_words(evidence.loss)}"
    )
    long = {None: "unknown", True: "long", False: "not long"}[numbers.long_pauses]
    yield (
        f"pauses longer than the RTT f = {percent_words(evidence.long_pause_fraction)}, "
        f"idle with open window (long silences) h = "
        f"{percent_words(evidence.idle_open_window_fraction)}{_other_pauses(evidence)}: {long}"
    )


def _other_pauses(evidence: Evidence) -> str:
    at_rate, empty = evidence.idle_open_window_at_rate_fraction, evidence.empty_fraction
    shown = "" if at_rate is None else f" (h′ = {percent_words(at_rate)})"
    return shown if empty is None else f"{shown}, nothing outstanding {percent_words(empty)}"


TRIED_FOR_UNKNOWN = (0.0, 1.0, 1e9)
"""Nothing, all of a share (or yes), and more than can be.

Where none of these matters, no number does.
"""

OF_LOSSES = frozenset({"loss_delay_rank", "queued_before_loss"})
"""Not unknown where nothing was lost: then there is nothing to measure."""


def _missing(
    evidence: Evidence, diagnosis: Diagnosis, thresholds: Thresholds, quality: Quality
) -> Iterator[str]:
    """Names the unknown numbers that another rule or another score could have come of."""

    def matters(field: str) -> bool:
        for value in TRIED_FOR_UNKNOWN:
            changed = evidence.with_value(field, value)
            other = diagnose(changed, quality=quality, thresholds=thresholds)
            if other.cause != "insufficient" and (other.rule, other.score) != (
                diagnosis.rule,
                diagnosis.score,
            ):
                return True
        return False

    unknown = [source.field for source in SOURCES if getattr(evidence, source.field) is None]
    open_fields = [
        field
        for field in unknown
        if (evidence.loss_events or field not in OF_LOSSES)
        and field != "unattributed"  # it is a part of what is known, or there is no budget
        and matters(field)
    ]
    if open_fields:
        yield "unknown, and could change the cause or its score: " + ", ".join(open_fields)


def _fired(case: Case) -> Iterator[str]:
    for stage in STAGES:
        if not stage.entered(case):
            continue
        for rule in stage.rules:
            if rule.fires(case):
                yield f"{rule.name}: {rule.cause}{_because(rule, stage, case)}"
                return


def _rules(case: Case) -> Iterator[str]:
    for stage in STAGES:
        if not stage.entered(case):
            yield _not_entered(stage, case)
            continue
        yield _entered(stage, case)
        for rule in stage.rules:
            if rule.fires(case):
                yield f"  → {rule.name}: {rule.cause}{_because(rule, stage, case)}"
                return
            yield f"  – {rule.name} ({rule.cause}): {_failing(rule, case)}"


def _not_entered(stage: Stage, case: Case) -> str:
    assert stage.entered_when is not None
    return f"{stage.title} Not entered: {_stated(stage.entered_when, case)}"


def _entered(stage: Stage, case: Case) -> str:
    return (
        stage.title
        if stage.entered_when is None
        else f"{stage.title} Entered: {_stated(stage.entered_when, case)}"
    )


def _stated(condition: Condition, case: Case) -> str:
    return f"{condition.wording(case.thresholds)} [{condition.shown(case)}]"


def _because(rule: Rule, stage: Stage, case: Case) -> str:
    reasons = [_stated(condition, case) for condition in rule.conditions]
    if not reasons and stage.entered_when is not None:
        reasons.append(_stated(stage.entered_when, case))
    if not rule.conditions and len(stage.rules) > 1:
        reasons.append("no rule before it matched")
    return ", because " + " and ".join(reasons)


def _failing(rule: Rule, case: Case) -> str:
    return "needs " + " and ".join(
        _stated(condition, case) for condition in rule.conditions if not condition.holds(case)
    )


def _confidence(case: Case, diagnosis: Diagnosis) -> Iterator[str]:
    table = CONFIDENCE[diagnosis.cause]
    yield f"{table.base / 100:.2f} for {diagnosis.cause}"
    for points, condition in table.additions:
        mark = f"{points / 100:+.2f}" if condition.holds(case) else "–"
        yield f"{mark:5} {_stated(condition, case)}"
    most = next(rule.most for rule in RULES if rule.name == diagnosis.rule)
    if most < HIGHEST:
        yield f"at most {most / 100:.2f}: the packets leave another reading"
    for applied in diagnosis.limits:
        yield f"at most {applied.limit.cap / 100:.2f}: {applied.limit.wording(case.thresholds)}"
    yield f"= {diagnosis.score:.2f}"
    yield from _as_probability(diagnosis)


def _as_probability(diagnosis: Diagnosis) -> Iterator[str]:
    known = diagnosis.stated
    if known is None or diagnosis.capture_point is None:
        return
    where = CAPTURE_POINTS[diagnosis.capture_point]
    if known.hundredths is None:
        most = ", the most there is" if diagnosis.confidence < diagnosis.score else ""
        yield f"stated as {diagnosis.confidence:.2f}{most}: outside what was tried: {known.outside}"
        return
    counted, kind = known.counted, known.kind
    of_its_kind = f"{kind.right} of the {kind.of} by" if kind.of else "none was by"
    yield (
        f"stated as {diagnosis.confidence:.2f}, from this score, the costs above and the path: of "
        f"{counted.of} validated answers of {diagnosis.cause}, {where}, {counted.right} were "
        f"right; {of_its_kind} {diagnosis.rule} on captures with the same limits"
    )
    if kind.of and known.hundredths == most_of(kind):
        yield f"at most {known.hundredths / 100:.2f}: more than {kind.right} of {kind.of} allow"
    yield from _elsewhere(diagnosis.confidence, known)


def _elsewhere(confidence: float, known: Stated) -> Iterator[str]:
    """The prior, and what the confidence becomes with another."""
    if not 0 < known.made < 1:
        return
    others = ", ".join(
        f"{at_prevalence(confidence, known.made, share):.2f} among {percent_words(share)}"
        for share in PREVALENCES
    )
    yield (
        f"{percent_words(known.made)} of the validated transfers had this cause; where fewer or "
        f"more have it: {others}"
    )


def _flags(diagnosis: Diagnosis) -> Iterator[str]:
    for flag in diagnosis.flags:
        if flag in FLAGS:
            yield f"{flag}: {FLAGS[flag]}"


def _limits(diagnosis: Diagnosis) -> Iterator[str]:
    for applied in diagnosis.limits:
        yield f"{applied.limit.code}: what may still be concluded is {applied.limit.remains}"


def _alternatives(diagnosis: Diagnosis) -> Iterator[str]:
    for alternative in diagnosis.alternatives:
        neither = " (the packets favour neither)" if alternative.indeterminate else ""
        yield (
            f"{alternative.cause}: {alternative.hint}{neither}; settled by {alternative.settled_by}"
        )


def _without_stalls(evidence: Evidence, diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.compensation is not None:
        yield diagnosis.compensation.words(evidence.throughput_bytes_per_second)


def _changes(
    evidence: Evidence,
    diagnosis: Diagnosis,
    case: Case,
    quality: Quality,
    flags: tuple[str, ...],
) -> Iterator[str]:
    for words, changed in _what_ifs(case):
        if changed == evidence:
            continue
        other = diagnose(changed, quality=quality, flags=flags, thresholds=case.thresholds)
        if (other.cause, other.verdict) != (diagnosis.cause, diagnosis.verdict):
            yield f"{words}: {other.cause}, confidence {other.confidence:.2f}, {other.verdict}"
    if diagnosis.limits:
        other = diagnose(
            replace(evidence, unattributed=0.0),
            quality=replace(UNTOUCHED, at=quality.at),
            flags=flags,
            thresholds=case.thresholds,
        )
        if other.verdict != diagnosis.verdict:
            yield (
                f"a capture without these weaknesses: confidence {other.confidence:.2f}, "
                f"{other.verdict}"
            )


WhatIf = tuple[str, Callable[[Case], Evidence | None]]


def _at_rate(share: Callable[[Thresholds], float]) -> Callable[[Case], Evidence | None]:
    def changed(case: Case) -> Evidence | None:
        expected = case.numbers.expected_bytes_per_second
        return (
            None
            if expected is None
            else replace(
                case.evidence, throughput_bytes_per_second=share(case.thresholds) * expected
            )
        )

    return changed


def _inflated(case: Case) -> Evidence | None:
    base = case.evidence.rtt_base_seconds
    return (
        replace(case.evidence, rtt_seconds=1.01 * case.thresholds.inflation * base)
        if base
        else None
    )


def _at_base(case: Case) -> Evidence | None:
    base = case.evidence.rtt_base_seconds
    return replace(case.evidence, rtt_seconds=base) if base else None


def _without_pauses(case: Case) -> Evidence:
    none = dict.fromkeys(
        (
            "long_pause_fraction",
            "idle_open_window_fraction",
            "idle_open_window_at_rate_fraction",
            "empty_fraction",
            *(("idle_sender", "idle_application", "think") if is_known(case.evidence) else ()),
        ),
        0.0,
    )
    return replace(case.evidence, **none)  # type: ignore[arg-type]


def _without_loss(case: Case) -> Evidence:
    evidence = replace(case.evidence, loss=0.0, loss_events=0, loss_delay_rank=None)
    if not is_known(evidence):
        return evidence
    return replace(evidence, timeout=0.0, recovery=0.0, below_path=0.0)


WHAT_IFS: tuple[WhatIf, ...] = (
    ("with --workload bulk", lambda case: replace(case.evidence, workload="bulk")),
    ("with --workload interactive", lambda case: replace(case.evidence, workload="interactive")),
    (
        "with a CPU share of 0.5 measured on the sender",
        lambda case: replace(case.evidence, cpu_share=0.5),
    ),
    (
        "with a CPU share of 1.0 measured on the sender",
        lambda case: replace(case.evidence, cpu_share=1.0),
    ),
    ("without pauses", _without_pauses),
    (
        "idle with an open window for half of the time",
        lambda case: replace(case.evidence, idle_open_window_fraction=0.5),
    ),
    ("with the throughput that is expected", _at_rate(lambda _thresholds: 1.0)),
    (
        "with half of the throughput that is expected",
        _at_rate(lambda thresholds: 0.5 * min(1.0, thresholds.explained_ratio / 0.8)),
    ),
    ("with the RTT at its base", _at_base),
    ("with the RTT inflated beyond the threshold", _inflated),
    ("without loss", _without_loss),
    (
        "with a loss of 1 % in many events",
        lambda case: replace(case.evidence, loss=0.01, loss_events=1000),
    ),
    (
        "with losses at delays like all others",
        lambda case: replace(case.evidence, loss_delay_rank=0.5),
    ),
    (
        "with samples that show a sender that always had its processor",
        lambda case: replace(case.evidence, processor_missed=0.0),
    ),
    (
        "with a reset in the sender's kernel log",
        lambda case: replace(case.evidence, kernel_reset=True),
    ),
)
"""Changes in one respect that are tried."""


def _what_ifs(case: Case) -> Iterator[tuple[str, Evidence]]:
    for words, change in WHAT_IFS:
        changed = change(case)
        if changed is not None:
            yield words, changed
