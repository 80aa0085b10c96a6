"""One transfer's diagnosis: evidence in, cause, confidence, verdict, flags and words out.

Joins the parts in their order: numbers, rule, score, limits of the capture's quality, confidence,
verdict, flags, words. Pure: no file, no clock; the same evidence always gives the same diagnosis.

Bias: none of its own; see the rules and the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trustbed.diagnose import budget
from trustbed.diagnose.ambiguity import Alternative, alternatives_of
from trustbed.diagnose.calibration import (
    LEAST_FOR_DISCARD,
    UNCOUNTED,
    CapturePoint,
    Model,
    Stated,
    capture_point_of,
    kind_of,
    stated_of,
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

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The set of causes among which the packets do not decide, the named one first.

        One name where they decide, or where the verdict is not *review*.
        """
        return _set_of(self.cause, self.verdict, self.alternatives)


def _set_of(
    cause: Cause, verdict: Verdict, alternatives: tuple[Alternative, ...]
) -> tuple[Cause, ...]:
    if verdict != "review":
        return (cause,)
    return (cause, *(other.cause for other in alternatives if other.indeterminate))


class Outcome(NamedTuple):
    """What is kept of the diagnosis of every transfer, however many there are.

    The fields are those of :class:`Diagnosis`.
    """

    cause: Cause
    confidence: float
    verdict: Verdict
    rule: str
    flags: tuple[str, ...]
    compensation: Compensation | None = None


class Decision(NamedTuple):
    """A diagnosis before its words: what decided, and what it decided.

    ``score`` and ``confidence`` are in hundredths. ``doubted``: a flag cost the trust.
    """

    case: Case
    decided_by: Rule
    score: int
    confidence: int
    verdict: Verdict
    flags: tuple[str, ...]
    limits: tuple[AppliedLimit, ...] = ()
    capture_point: CapturePoint | None = None
    stated: Stated | None = None
    compensation: Compensation | None = None
    doubted: bool = False

    @property
    def cause(self) -> Cause:
        """What limited the transfer."""
        return self.decided_by.cause

    @property
    def numbers(self) -> Numbers | None:
        """Those of a transfer that can be judged."""
        return None if self.decided_by.cause == "insufficient" else self.case.numbers

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other causes that leave the same packets."""
        return alternatives_of(self.decided_by, self.case, self.flags)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """As those of :class:`Diagnosis`."""
        return _set_of(self.cause, self.verdict, self.alternatives)

    @property
    def outcome(self) -> Outcome:
        """What of it is kept."""
        rule = self.decided_by
        return Outcome(
            rule.cause,
            self.confidence / 100,
            self.verdict,
            rule.name,
            self.flags,
            self.compensation,
        )


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
    return worded(
        decide(evidence, quality=quality, flags=flags, thresholds=thresholds, model=model), shares
    )


def decide(
    evidence: Evidence,
    *,
    quality: Quality = UNTOUCHED,
    flags: tuple[str, ...] = (),
    thresholds: Thresholds = THRESHOLDS,
    model: Model | None = MODEL,
) -> Decision:
    """The same without words."""
    case = Case.of(evidence, thresholds)
    rule = first_match(case)
    if rule.cause == "insufficient":
        hundredths = CONFIDENCE["insufficient"].hundredths(case)
        verdict = verdict_of("insufficient", case, hundredths)
        return Decision(case, rule, hundredths, hundredths, verdict, (rule.name,))
    limits = limits_of(rule.cause, quality, evidence, thresholds)
    score = capped(min(rule.most, CONFIDENCE[rule.cause].hundredths(case)), limits)
    capture_point = capture_point_of(quality.at, evidence)
    codes = [applied.limit.code for applied in limits]
    kind = kind_of(rule.name, codes)
    known = stated_of(model, case, capture_point, cause=rule.cause, kind=kind, score=score)
    verdict = held(verdict_of(rule.cause, case, score), limits)
    raised = (*flags, *_flags(case, rule))
    if verdict == "discard" and known is not None and not known.carries_a_discard:
        verdict, raised = "review", (*raised, "little_validated")
    doubted = verdict == "trust" and not DOUBTFUL.isdisjoint(raised)
    if doubted or SENT_AT_OTHER_END in raised:
        verdict = "review"
    return Decision(
        case,
        rule,
        score,
        _confidence(score, known, case),
        verdict,
        (*raised, *codes),
        limits,
        capture_point,
        known,
        compensated(case, rule.cause, verdict, quality),
        doubted,
    )


def worded(decision: Decision, shares: Shares | None = None) -> Diagnosis:
    """The diagnosis: a decision with its words."""
    case, rule, verdict = decision.case, decision.decided_by, decision.verdict
    if rule.cause == "insufficient":
        return _insufficient(decision, shares)
    impossible = decision.doubted and not IMPOSSIBLE.isdisjoint(decision.flags)
    return Diagnosis(
        cause=rule.cause,
        score=decision.score / 100,
        confidence=decision.confidence / 100,
        verdict=verdict,
        flags=decision.flags,
        rule=rule.name,
        headline=headline(decision.causes, verdict, impossible=impossible),
        reasons=(
            *reasons_of(rule.cause, case),
            *(f"capture: {applied.limit.wording(case.thresholds)}" for applied in decision.limits),
        ),
        next_step=next_step_of(decision.causes, verdict),
        numbers=case.numbers,
        alternatives=decision.alternatives,
        limits=decision.limits,
        shares=shares,
        capture_point=decision.capture_point,
        stated=decision.stated,
        compensation=decision.compensation,
        loss=case.evidence.loss,
    )


def _confidence(score: int, known: Stated | None, case: Case) -> int:
    """In hundredths: what answers like this one were worth, else the score, within bounds."""
    if known is not None and known.hundredths is not None:
        return known.hundredths
    return min(score, UNCOUNTED) if budget.is_known(case.evidence) else score


def _insufficient(decision: Decision, shares: Shares | None) -> Diagnosis:
    verdict = decision.verdict
    return Diagnosis(
        cause="insufficient",
        score=decision.score / 100,
        confidence=decision.confidence / 100,
        verdict=verdict,
        flags=decision.flags,
        rule=decision.decided_by.name,
        headline=headline(("insufficient",), verdict),
        reasons=reasons_of("insufficient", decision.case),
        next_step=next_step_of(("insufficient",), verdict),
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
TOO_SHORT_OUTCOME = decide(Evidence(too_short=True)).outcome
"""The same without words."""
