"""The numbers printed beside a condition, where several conditions compare the same ones."""

from __future__ import annotations

from collections.abc import Callable

from trustbed.diagnose.conditions import Case
from trustbed.findings.words import number_words, percent_words


def inflation_shown(case: Case) -> str:
    """The RTT's inflation."""
    return f"i = {number_words(case.numbers.rtt_inflation)}"


def share_shown(name: str, value: Callable[[Case], float | None]) -> Callable[[Case], str]:
    """A share of the time under its name."""
    return lambda case: f"{name} = {percent_words(value(case))}"
