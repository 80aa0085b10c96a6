"""From cause and score to the verdict: whether the number may be used."""

from __future__ import annotations

from trustbed.diagnose.causes import CAUSES, Cause, Verdict
from trustbed.diagnose.conditions import FAILED, HEALTH_KNOWN, Case


def verdict_of(cause: Cause, case: Case, hundredths: int) -> Verdict:
    """The verdict before the flags and the capture's quality apply."""
    rule = CAUSES[cause].verdict
    if rule == "by_score":
        return "discard" if hundredths >= case.thresholds.discard_hundredths else "review"
    if rule == "if_failed":
        return "discard" if FAILED.holds(case) else "not_judged"
    if rule == "if_health_known":
        return "trust" if HEALTH_KNOWN.holds(case) else "review"
    return rule
