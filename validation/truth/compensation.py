"""How near the estimate of what the network would have given comes to the undisturbed twins, for transfers that were discarded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trustbed.diagnose.compensation import CAUSES, Estimate, without_pauses
from trustbed.diagnose.diagnosis import diagnose
from trustbed.diagnose.evidence import Evidence
from validation.truth.intervals import wilson
from validation.truth.result import Judged, Result, View

WITHIN, WANTED = 0.10, 0.90


@dataclass(frozen=True, slots=True, kw_only=True)
class Compensated:
    """What came of the discarded transfers of a view.

    Attributes:
        discarded: Those discarded because their machine stood still, whose cost is known.
        ratios: Of those with an estimate: the estimate over what the twins had.
        covered: How many of their twins lay in the interval.
        reasons: Why there was none for the others.
    """

    discarded: int
    ratios: Sequence[float]
    covered: int
    reasons: Counter[str]

    @property
    def within(self) -> int:
        """Estimates that were near enough."""
        return sum(abs(ratio - 1) <= WITHIN for ratio in self.ratios)


def compensated(result: Result, view: View, seeds: str) -> Compensated:
    """Everything of a view."""
    ratios, covered, discarded = [], 0, 0
    reasons: Counter[str] = Counter()
    for estimate, would in _estimates(result.chosen(seeds), view):
        discarded += 1
        if estimate.bytes_per_second is None or estimate.low is None or estimate.high is None:
            reasons[estimate.reason or ""] += 1
            continue
        ratios.append(estimate.bytes_per_second / would)
        covered += estimate.low <= would <= estimate.high
    return Compensated(discarded=discarded, ratios=ratios, covered=covered, reasons=reasons)


def _estimates(judged: Sequence[Judged], view: View) -> Iterator[tuple[Estimate, float]]:
    """The estimate for each, and what its undisturbed twins had, in B/s."""
    for one in judged:
        answer, cost = one.answers.get(view.name), one.label.cost
        if answer is None or answer.verdict != "discard" or answer.cause not in CAUSES or cost is None or cost >= 1:
            continue
        evidence = Evidence(**answer.evidence)
        numbers = diagnose(evidence).numbers
        if numbers is not None and evidence.throughput_bytes_per_second:
            yield without_pauses(evidence, numbers), evidence.throughput_bytes_per_second / (1 - cost)


def render(result: Result, views: Sequence[View]) -> str:
    """The section."""
    lines = [
        "\n## What the network would have given\n",
        "Of transfers that were discarded because their machine stood still: the rate that their window allowed at the round trips that",
        "they saw, where what they sent without the pauses comes to it and nothing else slowed them, against what their undisturbed",
        "twins had (`trustbed.diagnose.compensation`). The condition and the interval were made on odd seeds. It is to be shown only",
        f"where {WANTED:.0%} of the estimates lie within {WITHIN:.0%}; on even seeds, looked at once, beside host samples they do not.\n",
        "| | discarded | estimate | within 10 % | in the interval (90 % wanted) |",
        "|---|---|---|---|---|",
    ]
    for seeds in ("even", "odd"):
        for view in views:
            found = compensated(result, view, seeds)
            words = view.words if seeds == "even" else f"*odd seeds: {view.words}*"
            made = len(found.ratios)
            near, inside = (_share(hits, made) for hits in (found.within, found.covered))
            lines.append(f"| {words} | {found.discarded} | {made} | {near} | {inside} |")
    reasons = compensated(result, views[0], "even").reasons
    told = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    lines.append(f"\nWhy there was none, {views[0].words}: {told or 'there always was'}.\n")
    return "\n".join(lines)


def _share(hits: int, of: int) -> str:
    if of == 0:
        return "–"
    low, high = wilson(hits, of)
    return f"{hits / of:.1%} ({low:.1%}–{high:.1%})"
