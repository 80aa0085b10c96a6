"""Judges stored transfers: anew each time, from the same numbers.

Every capture is judged alone: at the sender, at the receiver, in the middle, and within a guest
that sends. For the capture alone nothing is declared. With the knowledge of the run, the sender's
capture is judged as `trustbed run` judges it, with the declared workload, the sending kernel's
counters of the socket and samples of the sending host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from trustbed.diagnose.calibration import Answered, kind_of
from trustbed.diagnose.compensation import STALLS, Compensation, estimated
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.diagnosis import Diagnosis, diagnose
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.host import HostEvidence, kernel_times, processor_of, with_host
from trustbed.diagnose.quality import CaptureQuality, Quality
from trustbed.diagnose.thresholds import THRESHOLDS
from trustbed.diagnose.time_budget import Shares
from validation.truth.kinds import KINDS

Stored = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with its evidence.

    ``causes`` are the names that it gives: one, or those of a set among which the packets do not
    decide.

    ``answered`` is what its confidence follows from; ``None`` where the capture point is unknown
    or nothing could be judged.

    ``estimate`` exists for every transfer that is discarded for stalls of its host, even if it is
    not good enough to be shown.
    """

    cause: str
    causes: tuple[str, ...]
    verdict: str
    score: float
    confidence: float
    rule: str
    flags: tuple[str, ...]
    evidence: Mapping[str, Any]
    alternatives: tuple[str, ...]
    answered: Answered | None
    estimate: Compensation | None = None


def judge(stored: Stored, point: str, *, known: bool = False) -> Answer | None:
    """The answer for one capture; ``None`` where it was not taken or the transfer is not in it."""
    capture = stored.get("captures", {}).get(point)
    if capture is None or capture["row"] is None:
        return None
    row = capture["row"]
    quality = Quality.of(row, CaptureQuality.of(capture["facts"]))
    evidence, flags = evidence_of(stored, row, known=known)
    return _answer(
        diagnose(evidence, quality=quality, flags=flags, shares=Shares.from_transfer(row)),
        evidence,
        quality,
    )


def evidence_of(
    stored: Stored, row: Mapping[str, Any], *, known: bool
) -> tuple[Evidence, tuple[str, ...]]:
    """The evidence of a capture's row, and the flags that come with it."""
    evidence = Evidence.from_transfer(row, workload=_workload(stored) if known else "unknown")
    return _with_host(evidence, stored) if known else (evidence, ())


def _workload(stored: Stored) -> Any:  # noqa: ANN401 - a literal
    """The declared workload."""
    return KINDS[stored["kind"]].workload


def _with_host(evidence: Evidence, stored: Stored) -> tuple[Evidence, tuple[str, ...]]:
    """Adds evidence of the host, as `trustbed run` does."""
    kernel, samples = stored.get("kernel") or {}, stored.get("samples") or {}
    host: HostEvidence = processor_of(_rows(samples, "processes"), _rows(samples, "cgroups"))
    fixed = (
        stored["kind"] == "send-buffer" or stored["network"].get("send_buffer_bytes") is not None
    )
    times = kernel_times(kernel, send_buffer_bytes=kernel.get("send_buffer_bytes"), declared=fixed)
    return with_host(evidence, replace(host, kernel=times))


def _rows(samples: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [row for name, rows in samples.items() if name.split(".")[-1] == kind for row in rows]


def _answer(diagnosis: Diagnosis, evidence: Evidence, quality: Quality) -> Answer:
    stalled = diagnosis.verdict == "discard" and diagnosis.cause in STALLS
    return Answer(
        cause=diagnosis.cause,
        causes=diagnosis.causes,
        verdict=diagnosis.verdict,
        score=diagnosis.score,
        confidence=diagnosis.confidence,
        rule=diagnosis.rule,
        flags=diagnosis.flags,
        evidence=asdict(evidence),
        alternatives=tuple(other.cause for other in diagnosis.alternatives),
        answered=_answered(diagnosis, evidence),
        estimate=estimated(Case.of(evidence, THRESHOLDS), diagnosis.cause, quality)
        if stalled
        else None,
    )


def _answered(diagnosis: Diagnosis, evidence: Evidence) -> Answered | None:
    if diagnosis.capture_point is None:
        return None
    return Answered.of(
        Case.of(evidence, THRESHOLDS),
        diagnosis.capture_point,
        cause=diagnosis.cause,
        kind=kind_of(diagnosis.rule, (applied.limit.code for applied in diagnosis.limits)),
        score=round(100 * diagnosis.score),
    )
