"""Effects in the words of an answer."""

from __future__ import annotations

from trustbed.findings.words import is_open
from trustbed.sensitivity.judge.effects import ratio
from trustbed.sensitivity.model import Ratio
from trustbed.sensitivity.statistics import Effect
from trustbed.sensitivity.words import factor, number

SLOW = "as slow"


def percent(share: float) -> str:
    """``60 %``, of a load."""
    return f"{100 * share:.0f} %"


def interval(found: Effect) -> str:
    """``1.3 times (1.2 to 1.4)``, from log ratios."""
    value = ratio(found)
    assert value is not None
    return ratio_interval(value)


def ratio_interval(found: Ratio) -> str:
    """The same of factors."""
    if found.low is None or found.high is None:
        return factor(found.value)
    if is_open(found.low, found.high):
        return f"{factor(found.value)} (too few rounds for an interval)"
    return f"{factor(found.value)} ({number(found.low)} to {number(found.high)})"
