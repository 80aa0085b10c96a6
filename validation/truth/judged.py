"""What the rules say about a transfer that was kept: asked anew each time, of the same numbers.

Three captures are judged, each alone: beside the sender, beside the receiver, in the middle. Of the capture alone nothing is declared.
With what the run knows, the sender's capture is judged as `trustbed run` judges it, with the declared workload, the sending kernel's
account of the socket and samples of the sending host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from trustbed.diagnose.diagnosis import Diagnosis, Shares, diagnose
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.kernel import KernelTimes, with_kernel_times
from trustbed.diagnose.quality import CaptureQuality, Quality

STOPPED = "T"
"""The state of a stopped process, as proc_pid_stat(5) has it."""

Kept = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said, and of which numbers."""

    cause: str
    verdict: str
    confidence: float
    rule: str
    flags: tuple[str, ...]
    evidence: Mapping[str, Any]
    alternatives: tuple[str, ...]


def judge(kept: Kept, place: str, *, known: bool = False) -> Answer | None:
    """The answer for one capture; ``None`` where it was not taken or the transfer is not in it."""
    capture = kept.get("captures", {}).get(place)
    if capture is None or capture["row"] is None:
        return None
    row = capture["row"]
    quality = Quality.of(row, CaptureQuality.of(capture["facts"]))
    evidence = Evidence.from_transfer(row, workload=_workload(kept) if known else "unknown")
    flags: tuple[str, ...] = ()
    if known:
        evidence, flags = _with_host(evidence, kept)
    return _answer(diagnose(evidence, quality=quality, flags=flags, shares=Shares.from_transfer(row)), evidence)


def _workload(kept: Kept) -> Any:  # noqa: ANN401 - a literal
    """What an experimenter says of the sender: a program with pauses of its own is not declared at all."""
    return "unknown" if kept["kind"] == "bursty-writer" else "bulk"


def _with_host(evidence: Evidence, kept: Kept) -> tuple[Evidence, tuple[str, ...]]:
    kernel = kept.get("kernel") or {}
    flags: tuple[str, ...] = ()
    if kernel.get("busy_ns") is not None:
        times = KernelTimes(
            busy_seconds=kernel["busy_ns"] / 1e9,
            rwnd_limited_seconds=_seconds(kernel.get("receive_window_limited_ns")),
            sndbuf_limited_seconds=_seconds(kernel.get("send_buffer_limited_ns")),
            send_buffer_bytes=kernel.get("send_buffer_bytes"),
        )
        evidence, flags = with_kernel_times(evidence, times)
    share = processor_share(kept)
    return (evidence if share is None else replace(evidence, cpu_share=share)), flags


def processor_share(kept: Kept) -> float | None:
    """Of the time in which the sender's processes wanted a processor, the share in which they had one; ``None`` where nobody looked.

    A process that was found stopped wanted one for as long as it is found so; one that is stopped and continued in step with the looks is
    found always or never.
    """
    rows = [row for name, rows in (kept.get("samples") or {}).items() if name.endswith("processes") for row in rows]
    ran: int = sum(row.get("ran_ns") or 0 for row in rows)
    waited: int = sum(row.get("waited_ns") or 0 for row in rows)
    if ran + waited == 0:
        return None
    stopped: float = sum(row.get("state") == STOPPED for row in rows) / len(rows)
    return ran / (ran + waited) * (1 - stopped)


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _answer(diagnosis: Diagnosis, evidence: Evidence) -> Answer:
    return Answer(
        cause=diagnosis.cause,
        verdict=diagnosis.verdict,
        confidence=diagnosis.confidence,
        rule=diagnosis.rule,
        flags=diagnosis.flags,
        evidence=asdict(evidence),
        alternatives=tuple(other.cause for other in diagnosis.alternatives),
    )
