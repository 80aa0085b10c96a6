"""One transfer's diagnosis: evidence in, cause, confidence, verdict, flags and words out.

Joins the parts in their order: numbers, rule, score, limits of the capture's quality, confidence,
verdict, flags, words. Pure: no file, no clock; the same evidence always gives the same diagnosis.

Bias: none of its own; see the rules and the limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.diagnose import budget
from trustbed.diagnose.ambiguity import Alternative, alternatives_of
from trustbed.diagnose.calibration import (
    LEAST_FOR_DISCARD,
    UNCOUNTED,
    Answered,
    CapturePoint,
    Model,
    Stated,
    capture_point_of,
    kind_of,
    stated,
)
from trustbed.diagnose.calibration_table import MODEL
from trustbed.diagnose.causes import Cause, Verdict, headline, next_step_of
from trustbed.diagnose.compensation import Compensation, compensated
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.confidence import CONFIDENCE
from trustbed.diagnose.evidence import DELIVERY_RATE, Evidence
from trustbed.diagnose.limits import AppliedLimit, capped, held, limits_of
from trustbed.diagnose.numbers import Numbers
from trustbed.diagnose.quality import UNTOUCHED, Quality
from trustbed.diagnose.rules import Rule, first_match
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.diagnose.time_budget import Shares
from trustbed.diagnose.two_point import SENT_AT_OTHER_END
from trustbed.diagnose.verdicts import verdict_of
from trustbed.diagnose.wording import reasons_of

FLAGS: dict[str, str] = {
    "failed": "the transfer did not complete",
    "too_short": "shorter than 10 round trips, or less than 64 kB delivered",
    "loss_model_refuted": (
        "the loss model was left out: too few losses, or the transfer was faster than it allows"
    ),
    "capacity_refuted": "a steady rate is no full link's: no queue stood in front of it",
    "isolated_long_pause": "one pause exceeded the base RTT, but pauses as a whole are short",
    "exceeds_window_bound": "faster than window and RTT allow: one is wrong, trust becomes review",
    "exceeds_capacity": "faster than the capacity given: it is wrong, so trust becomes review",
    "mostly_idle": (
        "less than one packet was in flight on average: a queue alone did not set the speed, so "
        "trust becomes review"
    ),
    SENT_AT_OTHER_END: (
        "the other capture was taken at its sender: judged at the wrong end, so review"
    ),
    "little_validated": (
        f"fewer than {LEAST_FOR_DISCARD} validated answers of this cause from this capture point: "
        "discard becomes review"
    ),
    "self_queueing": "the transfer filled the link and inflated its own RTT",
    "kernel_rwnd_limited": (
        "by the sender's kernel the receive window limited it for half of its busy time or more"
    ),
    "sndbuf_limited": (
        "by the sender's kernel the send buffer limited it for half of its busy time or more"
    ),
}
"""Every flag that a diagnosis itself raises; the codes of applied limits come on top."""

IMPOSSIBLE = frozenset({"exceeds_window_bound", "exceeds_capacity"})
DOUBTFUL = IMPOSSIBLE | {"mostly_idle"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why a transfer ran at its speed, and whether the number may be used.

    ``score`` is what was counted for the cause, 0.05…0.99; the verdict follows from it.
    ``confidence`` is the same as a probability, where enough is known: ``stated`` holds what is
    known of answers like this one, and ``capture_point`` is where the capture was taken.
    ``numbers`` is ``None`` for a transfer that cannot be judged. ``limits`` are the weaknesses of
    the capture that concern this cause; their codes are also among ``flags``. ``compensation``
    estimates, for a transfer discarded for stalls of its host, what the network would have given.
    ``loss`` is the share of data packets lost, wherever they were lost, that was judged.
    """

    cause: Cause
    score: float
    confidence: float
    verdict: Verdict
    flags: tuple[str, ...]
    rule: str
    headline: str
    reasons: tuple[str, ...]
    next_step: str
    numbers: Numbers | None = None
    alternatives: tuple[Alternative, ...] = ()
    limits: tuple[AppliedLimit, ...] = ()
    shares: Shares | None = None
    capture_point: CapturePoint | None = None
    stated: Stated | None = None
    compensation: Compensation | None = None
    loss: float | None = None


def diagnose(
    evidence: Evidence,
    *,
    quality: Quality = UNTOUCHED,
    flags: tuple[str, ...] = (),
    shares: Shares | None = None,
    thresholds: Thresholds = THRESHOLDS,
    model: Model | None = MODEL,
) -> Diagnosis:
    """Judge one transfer.

    ``flags`` are those that came with the evidence (see :mod:`trustbed.diagnose.kernel`). Never
    raises.
    """
    case = Case.of(evidence, thresholds)
    rule = first_match(case)
    if rule.cause == "insufficient":
        return _insufficient(rule, case, shares)
    limits = limits_of(rule.cause, quality, evidence, thresholds)
    score = capped(min(rule.most, CONFIDENCE[rule.cause].hundredths(case)), limits)
    capture_point = capture_point_of(quality.at, evidence)
    kind = kind_of(rule.name, (applied.limit.code for applied in limits))
    known = stated(
        model,
        None
        if capture_point is None
        else Answered.of(case, capture_point, cause=rule.cause, kind=kind, score=score),
    )
    verdict = held(verdict_of(rule.cause, case, score), limits)
    raised = (*flags, *_flags(case, rule))
    if verdict == "discard" and known is not None and not known.carries_a_discard:
        verdict, raised = "review", (*raised, "little_validated")
    all_flags = (*raised, *(applied.limit.code for applied in limits))
    doubted = verdict == "trust" and not DOUBTFUL.isdisjoint(raised)
    if doubted or SENT_AT_OTHER_END in raised:
        verdict = "review"
    return Diagnosis(
        cause=rule.cause,
        score=score / 100,
        confidence=_confidence(score, known, case) / 100,
        verdict=verdict,
        flags=all_flags,
        rule=rule.name,
        headline=headline(
            rule.cause, verdict, impossible=doubted and not IMPOSSIBLE.isdisjoint(raised)
        ),
        reasons=(
            *reasons_of(rule.cause, case),
            *(f"capture: {applied.limit.wording(thresholds)}" for applied in limits),
        ),
        next_step=next_step_of(rule.cause, verdict),
        numbers=case.numbers,
        alternatives=alternatives_of(rule, case, all_flags),
        limits=limits,
        shares=shares,
        capture_point=capture_point,
        stated=known,
        compensation=compensated(case, rule.cause, verdict, quality),
        loss=evidence.loss,
    )


def _confidence(score: int, known: Stated | None, case: Case) -> int:
    """In hundredths: what answers like this one were worth, else the score, within bounds."""
    if known is not None and known.hundredths is not None:
        return known.hundredths
    return min(score, UNCOUNTED) if budget.is_known(case.evidence) else score


def _insufficient(rule: Rule, case: Case, shares: Shares | None) -> Diagnosis:
    hundredths = CONFIDENCE["insufficient"].hundredths(case)
    verdict = verdict_of("insufficient", case, hundredths)
    return Diagnosis(
        cause="insufficient",
        score=hundredths / 100,
        confidence=hundredths / 100,
        verdict=verdict,
        flags=(rule.name,),
        rule=rule.name,
        headline=headline("insufficient", verdict),
        reasons=reasons_of("insufficient", case),
        next_step=next_step_of("insufficient", verdict),
        shares=shares,
    )


def _flags(case: Case, rule: Rule) -> tuple[str, ...]:
    evidence, numbers, thresholds = case.evidence, case.numbers, case.thresholds
    throughput = evidence.throughput_bytes_per_second or 0.0
    raised = []
    if numbers.loss_model_refuted:
        raised.append("loss_model_refuted")
    if numbers.capacity_refuted:
        raised.append("capacity_refuted")
    if (
        numbers.long_pauses is False
        and evidence.rtt_base_seconds
        and (evidence.spacing_max_seconds or 0.0) > evidence.rtt_base_seconds
    ):
        raised.append("isolated_long_pause")
    if (
        numbers.x1_bytes_per_second
        and throughput > thresholds.window_exceeded * numbers.x1_bytes_per_second
    ):
        raised.append("exceeds_window_bound")
    # A capacity measured in the transfer is what it ended with: a burst before it exceeds nothing.
    given = evidence.capacity_source != DELIVERY_RATE
    if (
        given
        and numbers.x3_bytes_per_second
        and throughput > thresholds.capacity_exceeded * numbers.x3_bytes_per_second
    ):
        raised.append("exceeds_capacity")
    if rule.flag is not None and (rule.flag_when is None or rule.flag_when.holds(case)):
        raised.append(rule.flag)
    return tuple(raised)


TOO_SHORT = diagnose(Evidence(too_short=True))
"""The diagnosis of every transfer that is too short to judge.

One shared object, however many of them there are.
"""
