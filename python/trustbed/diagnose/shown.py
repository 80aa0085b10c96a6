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


def limits_shown(case: Case) -> str:
    """The shares of what bound the transfer."""
    shares = case.budget
    return (
        f"window {percent_words(shares.window)}, path {percent_words(shares.path)}, losses and "
        f"marks {percent_words(shares.loss)}, growing {percent_words(shares.start)}, below the "
        f"window without queue {percent_words(shares.buffer)}"
    )
