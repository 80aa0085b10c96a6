"""Findings from what was tried on a host for some seconds; see :mod:`trustbed.host_check.findings`.

Bias: seconds. A machine that passes has passed now; one that fails may have been disturbed once.
"""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.findings import Finding
from trustbed.findings.words import count_words, percent_words, seconds_words
from trustbed.host_check.catalogue import finding
from trustbed.host_check.facts import HostFacts
from trustbed.host_check.thresholds import HostThresholds

HOST = "host"


def _clock_set(facts: HostFacts, _limits: HostThresholds) -> Iterator[Finding]:
    if facts.number("live.clock.steps"):
        moved = facts.seconds("live.clock.stepped_ns") or 0.0
        message = (
            f"the real-time clock was moved by {seconds_words(moved)} within the seconds of "
            f"the check"
        )
        yield finding("machine_clock_set", message, value=abs(moved), threshold=0.0, scope=HOST)


def _wakes(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    exact = facts.part("live.sleeping_exactly")
    p99 = None if exact is None else exact.seconds("late_p99_ns")
    if exact is None or p99 is None or p99 < limits.late_seconds:
        return
    times = ", ".join(
        f"{seconds_words(exact.seconds(f'late_{key}_ns'))} ({key})"
        for key in ("p50", "p99", "most")
    )
    ordinary = facts.seconds("live.sleeping.late_p99_ns")
    other = "" if ordinary is None else f"; of ordinary threads p99 {seconds_words(ordinary)}"
    yield finding(
        "machine_wakes_late",
        f"sleeps of a millisecond ended late by {times}",
        value=p99,
        threshold=limits.late_seconds,
        scope=HOST,
        evidence=(
            f"{count_words(exact.count('sleeps') or 0, 'sleep')}, priority "
            f"{exact.text('priority') or 'unknown'}{other}"
        ),
        severity="error" if p99 >= limits.very_late_seconds else None,
    )


def _halts(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    halting, polling = (
        facts.seconds(f"live.{name}.late_p99_ns")
        for name in ("sleeping_exactly", "sleeping_polling")
    )
    if facts.text("live.sleeping_polling.idle") != "poll" or halting is None or polling is None:
        return
    saved = halting - polling
    if saved >= limits.polling_saves_seconds and polling <= halting * limits.polling_late_share:
        late = (
            f"late by {seconds_words(halting)} (p99), by {seconds_words(polling)} while no "
            f"processor halted"
        )
        message = f"sleeps of a millisecond ended {late}"
        yield finding(
            "machine_halts",
            message,
            value=saved,
            threshold=limits.polling_saves_seconds,
            scope=HOST,
        )


def _spinning(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    share, longest = (
        facts.number("live.spinning.share"),
        facts.seconds("live.spinning.longest_gap_ns"),
    )
    threshold = seconds_words(facts.seconds("live.spinning.threshold_ns"))
    gaps = facts.count("live.spinning.gaps") or 0
    evidence = (
        f"{count_words(gaps, 'gap')} longer than {threshold} in "
        f"{seconds_words(facts.seconds('live.spinning.lasted_ns'))}"
    )
    lost = None if share is None else 1.0 - share
    if lost is not None and lost >= limits.lost_share:
        yield finding(
            "machine_gaps",
            f"a spinning thread lost {percent_words(lost)} of its time",
            value=lost,
            threshold=limits.lost_share,
            scope=HOST,
            evidence=evidence,
            severity="error" if lost > limits.starved_share else None,
        )
    if longest is not None and longest >= limits.gap_seconds:
        message = f"a spinning thread was off its processor for {seconds_words(longest)} at once"
        yield finding(
            "machine_long_gap",
            message,
            value=longest,
            threshold=limits.gap_seconds,
            scope=HOST,
            evidence=evidence,
        )
    excess = facts.number("live.spinning.charged_excess_share")
    if excess is not None and excess > limits.hidden_steal_share:
        message = (
            f"a spinning thread was charged {percent_words(excess)} of a processor more than it had"
        )
        yield finding(
            "machine_hidden_steal",
            message,
            value=excess,
            threshold=limits.hidden_steal_share,
            scope=HOST,
            evidence=evidence,
        )


def _loopback(facts: HostFacts, limits: HostThresholds) -> Iterator[Finding]:
    sent, captured = facts.count("live.loopback.sent"), facts.count("live.loopback.captured")
    if facts.flag("ended_early") or sent is None or captured is None:
        return
    if captured < sent:
        dropped = facts.count("live.loopback.dropped") or 0
        message = (
            f"{count_words(sent - captured, 'packet')} of {sent} on loopback were not captured"
        )
        evidence = f"{dropped} dropped for want of room, by the kernel's count"
        yield finding(
            "machine_capture_lost",
            message,
            value=float(sent - captured),
            threshold=0.0,
            scope=HOST,
            evidence=evidence,
        )
    outside = facts.seconds("live.loopback.stamped_outside_most_ns")
    if outside is not None and outside >= limits.stamp_seconds:
        count = facts.count("live.loopback.stamped_outside") or 0
        where = f"up to {seconds_words(outside)} outside of the call that sent the packet"
        message = f"{count_words(count, 'stamp')} of {captured} lie {where}"
        yield finding(
            "machine_stamps_wrong",
            message,
            value=outside,
            threshold=limits.stamp_seconds,
            scope=HOST,
        )


CHECKS = (_clock_set, _wakes, _halts, _spinning, _loopback)
