"""Answers of the suite: does background matter, by load or bursts, which way, queue or loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from trustbed.sensitivity.judge.effects import (
    STEADY,
    Seen,
    beyond,
    quiet_of,
    slowdowns,
    surely,
    together,
    together_beyond,
)
from trustbed.sensitivity.judge.wording import SLOW, interval, percent
from trustbed.sensitivity.model import Said
from trustbed.sensitivity.plan import QUIET
from trustbed.sensitivity.statistics import Effect, determined

NEGLIGIBLE = math.log(1.05)
"""What a slowdown must exceed to matter."""
APART = 0.15
"""By how much one of queue and loss must explain more than the other to be named."""
EXPLAINED = 0.5


def matters(seen: Sequence[Seen], word: str = SLOW) -> Said:
    """Does background matter here at all? ``word``: what a larger number means."""
    others = [one for one in seen if one.treatment.name != QUIET]
    quiet = quiet_of(seen)
    broken = [one for one in others if one.broken > len(one.logs) and quiet.broken == 0]
    if broken:
        names = ", ".join(one.treatment.label for one in broken)
        return Said(
            answer="yes",
            sentence=f"Background matters: beside {names} the application mostly gave no result, "
            "and alone it always did.",
        )
    found = [
        (one.treatment.label, slow)
        for one, slow in zip(seen, slowdowns(seen), strict=True)
        if one.treatment.name != QUIET and slow is not None and slow.low is not None
    ]
    if not found:
        return Said(
            answer="unknown",
            sentence="Fewer than two rounds have both a background and the application alone.",
        )
    most = max(found, key=lambda one: surely(one[1]))
    worst = f"{most[0]} makes it {interval(most[1])} {word} as without background"
    if any(slow.excludes(NEGLIGIBLE) for _, slow in found):
        return Said(answer="yes", sentence=f"Background matters: {worst}.")
    if len(found) == len(others) and all(slow.within(NEGLIGIBLE) for _, slow in found):
        return Said(
            answer="no",
            sentence="Background does not matter here: beside all of them the application is "
            f"within 5 % of what it is alone ({worst}).",
        )
    if (mean := in_the_mean(together(seen))) is not None:
        load, slow = mean
        return Said(
            answer="yes",
            sentence=f"Background matters: in the mean those at {percent(load)} make it "
            f"{interval(slow)} {word} as without. It is certain of no single one: {worst}.",
        )
    return Said(
        answer="unknown",
        sentence=f"Too uncertain to say whether background matters: {worst}.",
    )


def in_the_mean(found: Mapping[float, Effect]) -> tuple[float, Effect] | None:
    """The load whose backgrounds together matter, and by how much at least the most."""
    sure = [(load, one) for load, one in found.items() if one.excludes(NEGLIGIBLE)]
    return max(sure, key=lambda one: abs(surely(one[1])), default=None)


def kind(seen: Sequence[Seen], word: str = SLOW) -> Said:
    """Is it the mean load, or what the traffic is like at the same load?"""
    slow = dict(zip((one.treatment.label for one in seen), slowdowns(seen), strict=True))
    steady = [
        found
        for one in seen
        if one.treatment.name == STEADY and not one.treatment.reverse
        if (found := slow[one.treatment.label]) is not None
    ]
    more = [
        (one, found)
        for one, found in zip(seen, beyond(seen), strict=True)
        if found is not None and found.low is not None
    ]
    if not steady or not more:
        return Said(
            answer="unknown",
            sentence="No background could be compared with constant traffic of its rate, so load "
            "and burstiness cannot be told apart.",
        )
    load = any(found.excludes(NEGLIGIBLE) for found in steady)
    heavy = max(steady, key=lambda found: found.value)
    most, by = max(more, key=lambda one: abs(surely(one[1])))
    bursts = any(found.excludes(NEGLIGIBLE) for _, found in more)
    mean = None if bursts else in_the_mean(together_beyond(seen))
    told = (
        f"constant traffic makes it up to {interval(heavy)} {word} as none; over constant traffic "
        f"of the same rate, {most.treatment.label} makes it {interval(by)} {word}"
    )
    if mean is not None:
        bursts, by = True, mean[1]
        told += f", all those at {percent(mean[0])} in the mean {interval(by)}"
    if bursts and by.value < 0:
        return Said(
            answer="load",
            sentence="The mean load, and less of it where the background gives way to the "
            f"application: {told}.",
        )
    if bursts and load:
        bigger = "burstiness" if abs(by.value) > abs(heavy.value) else "load"
        return Said(answer="both", sentence=f"Both, {bigger} more: {told}.")
    if bursts and all(found.within(NEGLIGIBLE) for found in steady):
        return Said(answer="burstiness", sentence=f"Burstiness, not the mean load: {told}.")
    if bursts:
        return Said(
            answer="burstiness, perhaps load",
            sentence="Burstiness matters; whether the mean load does as well is within the "
            f"uncertainty: {told}.",
        )
    close = all(found.within(NEGLIGIBLE) for _, found in more)
    if load and close:
        return Said(
            answer="load",
            sentence=f"The mean load; what the traffic is like makes less than 5 %: {told}.",
        )
    if close and all(found.within(NEGLIGIBLE) for found in steady):
        return Said(answer="neither", sentence=f"Neither: {told}.")
    return Said(
        answer="load, perhaps more" if load else "unknown",
        sentence=f"{'Load matters; whether' if load else 'Whether'} burstiness does is within the "
        f"uncertainty: {told}.",
    )


def direction(seen: Sequence[Seen], word: str = SLOW) -> Said:
    """Does traffic against the application's data matter?"""
    slow = dict(zip((one.treatment.label for one in seen), slowdowns(seen), strict=True))
    pairs = [
        (one.treatment.label, ahead, found)
        for one in seen
        if one.treatment.reverse
        if (found := slow[one.treatment.label]) is not None and found.low is not None
        if (ahead := slow.get(one.treatment.label.removesuffix(" reverse"))) is not None
    ]
    if not pairs:
        return Said(answer="unknown", sentence="Traffic against the data was not tried.")
    label, ahead, back = max(pairs, key=lambda one: surely(one[2]))
    told = f"{label} makes it {interval(back)} {word}, with the data {interval(ahead)}"
    forward, backward = (
        [
            slow[one.treatment.label]
            for one in seen
            if one.treatment.name != QUIET and one.treatment.reverse is reverse
        ]
        for reverse in (False, True)
    )
    answer, sentence = _direction(forward, backward)
    return Said(answer=answer, sentence=f"{sentence}: {told}.")


def _direction(
    forward: Sequence[Effect | None], backward: Sequence[Effect | None]
) -> tuple[str, str]:
    """The answer about direction, and its sentence, from the effects of all backgrounds.

    A background whose effect is not known can matter.
    """
    ahead, back = (_any_matters(found) for found in (forward, backward))
    not_ahead, not_back = (_none_matters(found) for found in (forward, backward))
    if back:
        if ahead:
            return "both", "Traffic against the data matters too"
        if not_ahead:
            return "reverse", "Only traffic against the data matters"
        return (
            "reverse, perhaps forward",
            "Traffic against the data matters; whether traffic with the data does as well is "
            "within the uncertainty",
        )
    if not_back:
        if ahead:
            return "forward", "Only traffic with the data matters"
        if not_ahead:
            return "neither", "Neither does"
        return (
            "unknown",
            "Traffic against the data does not matter; whether traffic with the data does is "
            "within the uncertainty",
        )
    return "unknown", "Whether traffic against the data matters is within the uncertainty"


def _any_matters(found: Sequence[Effect | None]) -> bool:
    return any(one is not None and one.excludes(NEGLIGIBLE) for one in found)


def _none_matters(found: Sequence[Effect | None]) -> bool:
    return all(one is not None and one.within(NEGLIGIBLE) for one in found)


def way(seen: Sequence[Seen]) -> Said:
    """Does it act by the queue, or by losses? From all repetitions."""
    quiet = quiet_of(seen)
    rows = [
        (one.logs[key] - quiet.logs[key], one.queues[key], one.losses[key])
        for one in seen
        if not one.treatment.reverse
        for key in sorted(one.logs.keys() & quiet.logs.keys() & one.queues.keys())
    ]
    if not rows:
        return Said(answer="unknown", sentence="What the link did was not recorded.")
    ys, queues, losses = ([row[place] for row in rows] for place in range(3))
    by_queue, by_loss = determined(ys, queues), determined(ys, losses)
    if not any(losses):
        if (by_queue or 0.0) >= EXPLAINED:
            return Said(
                answer="queue",
                sentence="The queue: no packet was lost, and the queue's mean delay explains "
                f"{by_queue:.0%} of the differences between repetitions.".replace("%", " %"),
            )
        return Said(
            answer="unknown",
            sentence="No packet was lost, and the queue's mean delay explains only "
            f"{by_queue or 0.0:.0%} of the differences between repetitions.".replace("%", " %"),
        )
    told = (
        f"the queue's mean delay explains {by_queue or 0.0:.0%}, the share of lost packets "
        f"{by_loss or 0.0:.0%}, both {determined(ys, queues, losses) or 0.0:.0%} of the "
        "differences between repetitions"
    ).replace("%", " %")
    apart = (by_queue or 0.0) - (by_loss or 0.0)
    if max(by_queue or 0.0, by_loss or 0.0) < EXPLAINED:
        return Said(answer="unknown", sentence=f"Neither by itself: {told}.")
    if apart > APART:
        return Said(answer="queue", sentence=f"The queue rather than losses: {told}.")
    if apart < -APART:
        return Said(answer="loss", sentence=f"Losses rather than the queue: {told}.")
    return Said(
        answer="not separable",
        sentence=f"Queue and losses come together, and cannot be told apart here: {told}.",
    )
