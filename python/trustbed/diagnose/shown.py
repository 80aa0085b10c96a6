"""The numbers printed beside a condition, where several conditions compare the same ones."""

from __future__ import annotations

from collections.abc import Callable

from trustbed.diagnose.conditions import Case
from trustbed.findings.words import number_words, percent_words, rate_words


def inflation_shown(case: Case) -> str:
    """The RTT's inflation."""
    return f"i = {number_words(case.numbers.rtt_inflation)}"


def share_shown(name: str, value: Callable[[Case], float | None]) -> Callable[[Case], str]:
    """A share of the time under its name."""
    return lambda case: f"{name} = {percent_words(value(case))}"


def rates_shown(case: Case) -> str:
    """Rates before and after the bend, and how steady the delivery was."""
    evidence = case.evidence
    return (
        f"{rate_words(evidence.burst_rate_bytes_per_second)} then "
        f"{rate_words(evidence.sustained_rate_bytes_per_second)}, "
        f"P10 = {rate_words(evidence.rate_low_bytes_per_second)}, P90 = "
        f"{rate_words(evidence.rate_high_bytes_per_second)}"
    )
