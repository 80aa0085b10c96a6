"""Numbers and verdicts of a comparison in words."""

from __future__ import annotations

from collections.abc import Sequence

from trustbed.compare.model import MetricResult, Verdict
from trustbed.findings import words

MOST_NAMED = 3
VERDICTS: dict[Verdict, str] = {
    "different": "different",
    "equivalent": "equivalent",
    "open": "open",
    "not_compared": "not compared",
}


def value(number: float | None, unit: str) -> str:
    """A mean with its unit: ``1,250 /s``, ``2.31 ms``, ``5.02``."""
    if number is None:
        return "–"
    if unit == "s":
        return words.seconds_words(number)
    if unit == "B":
        return words.bytes_words(number)
    if unit == "bit/s":
        return words.rate_words(number / 8)
    shown = f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"
    return f"{shown} /s" if unit == "1/s" else shown


def half(width: float | None, unit: str) -> str:
    """Half of an interval, to two digits: ``± 0.25 /s``; empty where there is none."""
    if width is None:
        return ""
    if unit not in ("1", "1/s"):
        return f"± {value(width, unit)}"
    shown = f"{width:,.0f}" if width >= 100 else f"{width:.2g}"
    return f"± {shown} /s" if unit == "1/s" else f"± {shown}"


def percent(number: float | None) -> str:
    """A signed difference: ``+5.1 %``, ``−12 %``; a dash where there is none."""
    if number is None:
        return "–"
    shown = f"{number:+.0f}" if abs(number) >= 100 else f"{number:+.1f}"
    if float(shown) == 0:
        shown = shown.lstrip("+-")
    return f"{shown} %".replace("-", "−")


def interval(one: MetricResult) -> str:
    """``−1.2 % to +3.4 %``; empty without one."""
    if one.low_percent is None or one.high_percent is None:
        return ""
    return f"{percent(one.low_percent)} to {percent(one.high_percent)}"


def titled(one: MetricResult) -> str:
    """``reads/request``; with several workloads, the workload first."""
    workload = one.key.rpartition(".")[0]
    return f"{workload}: {one.title}" if workload else one.title


def outcome(one: MetricResult) -> str:
    """The verdict with what qualifies it: ``different, within 10 %``."""
    if one.verdict != "different":
        return VERDICTS[one.verdict]
    within = f"{100 * one.tolerance:g} %"
    if one.beyond:
        return f"different, beyond {within}"
    return f"different, within {within}" if one.equivalent else "different"


def yes(found: bool | None) -> str:
    """``yes``, ``no``, or a dash where there is no answer."""
    return "–" if found is None else "yes" if found else "no"


def level_sentence(verdict: Verdict, metrics: Sequence[MetricResult], why: str) -> str:
    """What a level's verdict rests on; what differs beyond the tolerance is named first."""
    if verdict == "not_compared":
        return f"Not compared: {why}."
    count = sum(one.similar is not None for one in metrics)
    similar = f"{sum(one.similar is True for one in metrics)} of {count} similar"
    if verdict == "equivalent":
        return f"Equivalent: {similar}, and all within the tolerance, uncertainty counted."
    named = sorted(
        (one for one in metrics if one.verdict == verdict), key=lambda one: not one.beyond
    )
    shown = ", ".join(_named(one) for one in named[:MOST_NAMED])
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    if verdict == "different":
        return f"Different: {shown}{more}; {similar}."
    return f"Open: {shown}{more} neither equivalent nor different for certain; {similar}."


def _named(one: MetricResult) -> str:
    if one.difference_percent is None:
        mean = None if one.candidate is None else one.candidate.mean
        return f"{titled(one)} {value(mean, one.unit)} instead of 0"
    return f"{titled(one)} {percent(one.difference_percent)}"


def needed(one: MetricResult) -> str:
    """How many repetitions would settle an open metric, of each testbed, and how many are new."""
    from trustbed.compare.needed import MOST

    if one.verdict != "open":
        return ""
    count = one.repetitions_needed
    if count is None:
        return f"more than {MOST}"
    there = min(0 if side is None else side.count for side in (one.reference, one.candidate))
    return f"{count} ({count - there} more)"
