"""Findings about the measurement of bursts: what weakens or changes the meaning of its numbers.

Each check concerns one weakness; those of the capture itself are the same as for verdicts, as far
as they concern arrival times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trustbed.diagnose.catalogue import finding
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.findings import capture_findings
from trustbed.findings import Finding
from trustbed.findings.words import count_words, percent_words, seconds_words

Model = Mapping[str, Any]

SILENCE_SHARE = 0.5
SILENCE_SECONDS = 1.0
"""A longer silence than both is taken for a clock that jumped, or two captures in one file."""
_SHARED = frozenset(
    {
        "read_problem",
        "capture_kernel_drops",
        "records_out_of_order",
        "timestamps_missing",
        "coarse_timestamps",
        "bunched_timestamps",
    }
)
"""Findings about captures that concern arrival times and lengths as much as verdicts."""


def _no_packets(facts: CaptureFacts, model: Model) -> Iterator[Finding]:
    if not model["packets"]:
        left_out = sum((model.get("left_out") or {}).values())
        why = (
            f"; {count_words(left_out, 'frame')} left out by the filter or without an IP header"
            if left_out
            else ""
        )
        yield finding(
            "burst_no_packets",
            f"no packets to measure{why}",
            value=float(facts.get("records") or 0),
        )


def _no_whole_window(_facts: CaptureFacts, model: Model) -> Iterator[Finding]:
    if model["packets"] and model["windows"] and not (model["summary"] or {}).get("windows"):
        length = model["window_seconds"]
        yield finding(
            "burst_no_whole_window",
            f"the capture ends within its first window of {seconds_words(length)}",
            value=model["duration_seconds"],
            threshold=length,
        )


def _clock_steps(facts: CaptureFacts, _model: Model) -> Iterator[Finding]:
    steps = facts.get("clock_steps") or 0
    if steps:
        size = (facts.get("clock_step_max_ns") or 0) / 1e9
        yield finding(
            "burst_clock_steps",
            f"the clock stepped back {count_words(steps, 'time')}, by up to {seconds_words(size)}",
            value=float(steps),
            evidence=f"first at record {facts.get('clock_step_index')}",
        )


def _silence(_facts: CaptureFacts, model: Model) -> Iterator[Finding]:
    silence, duration = (
        (model.get("rates") or {}).get("longest_silence_seconds") or 0.0,
        model["duration_seconds"] or 0.0,
    )
    if silence > max(SILENCE_SHARE * duration, SILENCE_SECONDS) and model["packets"] > 2:
        yield finding(
            "burst_silence",
            f"nothing arrived for {seconds_words(silence)}, "
            f"{percent_words(silence / duration)} of the capture",
            value=silence / duration,
            threshold=SILENCE_SHARE,
        )


def _super_packets(facts: CaptureFacts, model: Model) -> Iterator[Finding]:
    fact: Mapping[str, Any] = facts
    super_packets = fact.get("super_packets") or 0
    if super_packets:
        guessed = fact.get("super_packets_guessed") or 0
        how = (
            "spread at the rate of the link" if model["offload"] == "spread" else "all at its time"
        )
        doubt = f"; for {guessed} of them the segment size is a guess" if guessed else ""
        yield finding(
            "burst_super_packets",
            f"{count_words(super_packets, 'super-packet')} counted as "
            f"{fact.get('super_packet_frames')} frames, {how}{doubt}",
            value=float(super_packets),
            evidence=(
                f"{fact.get('super_packets_not_spread') or 0} stacked because their direction "
                f"is not known"
            ),
        )


def _without_ip(_facts: CaptureFacts, model: Model) -> Iterator[Finding]:
    without = (model.get("left_out") or {}).get("without_ip") or 0
    if without:
        yield finding(
            "burst_without_ip",
            f"{count_words(without, 'frame')} without an IP header left out",
            value=float(without),
        )


CHECKS: tuple[Callable[[CaptureFacts, Model], Iterator[Finding]], ...] = (
    _no_packets,
    _no_whole_window,
    _clock_steps,
    _silence,
    _super_packets,
    _without_ip,
)


def burst_findings(facts: CaptureFacts, model: Model) -> list[Finding]:
    """Every finding, those about the capture first."""
    about_capture = [found for found in capture_findings(facts) if found.code in _SHARED]
    return [*about_capture, *(found for check in CHECKS for found in check(facts, model))]
