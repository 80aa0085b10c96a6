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
from trustbed.sensitivity.statistics import Effect, correlation, determined

NEGLIGIBLE = math.log(1.05)
"""What a slowdown must exceed to matter."""
APART = 0.15
"""By how much one of queue and loss must explain more than the other to be named."""
EXPLAINED = 0.5
YIELDS = "load, less where it gives way"
"""The kind of an application that takes more from users behind real TCP than from packets."""


def matters(seen: Sequence[Seen], word: str = SLOW) -> Said:
    """Does background matter here at all? ``word``: what a larger number means."""
    others = [one for one in seen if one.treatment.name != QUIET]
    quiet = quiet_of(seen)
    broken = [one for one in others if one.is_broken and quiet.broken == 0]
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
    at_times = [one for one in others if one.broken and quiet.broken == 0]
    if at_times:
        counts = ", ".join(
            f"in {one.broken} of {one.broken + len(one.logs)} repetitions beside "
            f"{one.treatment.label}"
            for one in at_times
        )
        return Said(
            answer="unknown",
            sentence="Too uncertain to say whether background matters: the application gave no "
            f"result {counts}, and alone it always did; where it did, {worst}.",
        )
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
    costs = [one for one in more if (one[1].low or 0.0) > NEGLIGIBLE]
    yields = [one for one in more if (one[1].high or 0.0) < -NEGLIGIBLE]
    # One that gives way does not undo what another costs.
    most, by = max(costs or more, key=lambda one: abs(surely(one[1])))
    bursts = bool(costs)
    mean = None if costs or yields else in_the_mean(together_beyond(seen))
    told = (
        f"constant traffic makes it up to {interval(heavy)} {word} as none; over constant traffic "
        f"of the same rate, {most.treatment.label} makes it {interval(by)} {word}"
    )
    if costs and yields:
        least, less = min(yields, key=lambda one: one[1].value)
        told += f", and {least.treatment.label}, which gives way, {interval(less)}"
    flat = all(found.within(NEGLIGIBLE) for found in steady)
    slowed = in_the_mean(together(seen)) if flat else None
    if not costs and not yields and mean is None:
        for at, one in together_beyond(seen).items():
            if one.low is not None:
                told += f", all those at {percent(at)} in the mean {interval(one)}"
        if slowed is not None and slowed[1].value > 0:
            # Constant traffic costs nothing, and all together they do.
            bursts, by = True, slowed[1]
            told += f"; those at {percent(slowed[0])} make it {interval(by)} {word} as none"
    if mean is not None:
        bursts, by = mean[1].value > 0, mean[1]
        told += f", all those at {percent(mean[0])} in the mean {interval(by)}"
    if not bursts and (yields or mean is not None):
        return Said(
            answer=YIELDS if load else "unknown",
            sentence="The mean load, and less of it where the background gives way to the "
            f"application: {told}."
            if load
            else "Whether load matters is within the uncertainty; backgrounds give way to the "
            f"application: {told}.",
        )
    if bursts and load:
        bigger = "burstiness" if abs(by.value) > abs(heavy.value) else "load"
        return Said(answer="both", sentence=f"Both, {bigger} more: {told}.")
    if bursts and flat:
        return Said(answer="burstiness", sentence=f"Burstiness, not the mean load: {told}.")
    if bursts:
        return Said(
            answer="burstiness, perhaps load",
            sentence="Burstiness matters; whether the mean load does as well is within the "
            f"uncertainty: {told}.",
        )
    whole = not any(one.broken for one in seen if not one.treatment.reverse)
    close = whole and all(found.within(NEGLIGIBLE) for _, found in more)
    if load and close:
        return Said(
            answer="load",
            sentence=f"The mean load; what the traffic is like makes less than 5 %: {told}.",
        )
    if load and whole and _alike(seen, [found for _, found in more]):
        return Said(
            answer="load",
            sentence="The mean load; in the mean of all of them, what the traffic is like makes "
            f"less than 5 %: {told}.",
        )
    if close and flat:
        return Said(answer="neither", sentence=f"Neither: {told}.")
    return Said(
        answer="load, perhaps more" if load else "unknown",
        sentence=f"{'Load matters; whether' if load else 'Whether'} burstiness does is within the "
        f"uncertainty: {told}.",
    )


def _alike(seen: Sequence[Seen], found: Sequence[Effect]) -> bool:
    """Whether backgrounds cost what constant traffic costs in the mean, and none is far off it.

    A mean that is near hides two that are far, in opposite directions.
    """
    means = together_beyond(seen)
    near = all(one.within(NEGLIGIBLE) for one in means.values())
    return bool(means) and near and all(abs(one.value) < 2 * NEGLIGIBLE for one in found)


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
    against = [one for one in seen if one.treatment.reverse]
    broken = [one for one in against if one.is_broken and quiet_of(seen).broken == 0]
    if broken:
        names = " and ".join(one.treatment.label for one in broken)
        with_too = _any_matters(_every(seen, slow, reverse=False))
        return Said(
            answer="both" if with_too else "reverse, perhaps forward",
            sentence="Traffic against the data matters: beside "
            f"{names} the application mostly gave no result.",
        )
    if not pairs:
        why = "has too few usable repetitions" if against else "was not tried"
        return Said(answer="unknown", sentence=f"Traffic against the data {why}.")
    label, with_it, back = max(pairs, key=lambda one: surely(one[2]))
    told = f"{label} makes it {interval(back)} {word}, with the data {interval(with_it)}"
    forward, backward = (_every(seen, slow, reverse=reverse) for reverse in (False, True))
    answer, sentence = _direction(forward, backward)
    return Said(answer=answer, sentence=f"{sentence}: {told}.")


def _every(
    seen: Sequence[Seen], slow: Mapping[str, Effect | None], *, reverse: bool
) -> list[Effect | None]:
    """The effects of all backgrounds of one direction."""
    return [
        slow[one.treatment.label]
        for one in seen
        if one.treatment.name != QUIET and one.treatment.reverse is reverse
    ]


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
    # What falls where the application slows down is no cause: a sender that backs off empties its
    # own queue.
    by_queue, by_loss = (
        determined(ys, own) if (correlation(own, ys) or 0.0) > 0 else None
        for own in (queues, losses)
    )
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
    known = [own for own, by in ((queues, by_queue), (losses, by_loss)) if by is not None]
    both = (determined(ys, *known) or 0.0) if known else 0.0
    told = (
        f"the queue's mean delay explains {by_queue or 0.0:.0%}, the share of lost packets "
        f"{by_loss or 0.0:.0%}, both {both:.0%} of the "
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
