"""What to do about the answers: the backgrounds to use, and what they must be like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trustbed.sensitivity.judge.answers import NEGLIGIBLE, YIELDS, in_the_mean
from trustbed.sensitivity.judge.effects import Seen, quiet_of, slowdowns, surely, together
from trustbed.sensitivity.judge.wording import SLOW, interval
from trustbed.sensitivity.model import Said
from trustbed.sensitivity.plan import QUIET, Treatment


def bracket(seen: Sequence[Seen]) -> tuple[Treatment, ...]:
    """The fewest backgrounds between which all the others lie, with none at all.

    The slowest is the one with the highest lower end of its interval. Of those whose slowdown is
    as large within the uncertainty, the one at the lower load: it needs less to show the same. Of
    those at that load the surest: who measures beside it finds that slowdown again. Where it is
    certain of the mean of a load alone, the surest of those that are as slow as that. One beside
    which the application gave no result is slower than any. Empty where nothing is certain.
    """
    quiet = quiet_of(seen)
    broken = [
        one.treatment
        for one in seen
        if one.treatment.name != QUIET and one.is_broken and quiet.broken == 0
    ]
    if broken:
        return (quiet.treatment, min(broken, key=lambda one: one.load))
    known = [
        (one.treatment, found)
        for one, found in zip(seen, slowdowns(seen), strict=True)
        if found is not None and one.treatment.name != QUIET
    ]
    mean = in_the_mean(together(seen))
    if not known or (mean is None and not any(found.excludes() for _, found in known)):
        return ()
    slowest = max(known, key=lambda one: surely(one[1]))
    fastest = min(known, key=lambda one: one[1].value)
    least = slowest[1].low if slowest[1].low is not None else slowest[1].value
    alike = [one for one in known if one[1].value >= least and surely(one[1]) > 0] or [slowest]
    highest = min(alike, key=lambda one: (one[0].load, -surely(one[1])))
    if mean is not None and not any(found.excludes(NEGLIGIBLE) for _, found in known):
        load, slow = mean
        as_slow = [
            one
            for one in known
            if one[0].load == load and not one[0].reverse and one[1].value >= slow.value
        ]
        highest = min(as_slow, key=lambda one: one[1].half_width, default=highest)
    chosen = [quiet.treatment]
    if fastest[1].value < 0 and fastest[1].excludes():
        chosen.append(fastest[0])
    if highest[0] not in chosen:
        chosen.append(highest[0])
    return tuple(chosen)


def outside(seen: Sequence[Seen], chosen: Sequence[Treatment], word: str = SLOW) -> tuple[str, ...]:
    """The backgrounds beside which it was slower than it can be beside those of a bracket.

    Their intervals are so wide that nobody knows whether it is.
    """
    found = [
        (one.treatment, slowdown)
        for one, slowdown in zip(seen, slowdowns(seen), strict=True)
        if slowdown is not None
    ]
    ends = [
        slowdown.value if slowdown.high is None else slowdown.high
        for treatment, slowdown in found
        if treatment in chosen
    ]
    return tuple(
        f"{treatment.label}, {interval(slowdown)} {word}"
        for treatment, slowdown in found
        if ends and slowdown.value > max(ends)
    )


def advice(
    answers: Mapping[str, Said], chosen: Sequence[Treatment], beyond: Sequence[str] = ()
) -> tuple[str, ...]:
    """What to do, from the answers; ``beyond`` may be backgrounds outside of the chosen ones."""
    found = []
    if answers["matters"].answer == "no":
        found.append(
            "Evaluate it without background, and say so with this page: at these loads and on "
            "this link background changes nothing that these rounds could see."
        )
        return tuple(found)
    if answers["kind"].answer == "load":
        found.append("Constant traffic at the right mean rate is enough as background.")
    elif answers["kind"].answer == YIELDS:
        found.append(
            "Constant traffic at the right mean rate costs it more than users behind real TCP do, "
            "who give way: take it for the worst, and a model of users for what is usual."
        )
    elif answers["kind"].answer in ("both", "burstiness", "burstiness, perhaps load"):
        found.append(
            "Constant or Poisson traffic is not enough: use backgrounds with the burstiness that "
            "its users will meet, at the same mean rate."
        )
    if answers["scales"].answer not in ("unknown", "none"):
        scales = answers["scales"].answer
        found.append(
            f"If your network is burstier than these backgrounds at these time scales, they are "
            f"not enough: {scales}. Compare the energy there (trustbed burst CAPTURE)."
            if answers["kind"].answer in ("load", YIELDS, "neither")
            else f"A background must be realistic at these time scales: {scales}. Compare its "
            "energy there with that of the network which you care about (trustbed burst CAPTURE)."
        )
    if answers["direction"].answer == "reverse":
        found.append(
            "Put the background on the reverse path, where acknowledgements and requests queue: "
            "in the direction of the data it changes less than 5 %."
        )
    elif answers["direction"].answer in ("both", "reverse, perhaps forward"):
        found.append("Put background on the reverse path as well, where acknowledgements queue.")
    if len(chosen) > 1:
        others = "all the others" if beyond else "everything that was tried"
        found.append(
            f"Report it beside {' and '.join(one.label for one in chosen)}: {others} "
            + ("lie" if beyond else "lies")
            + " between them, within the uncertainty."
        )
    if not chosen:
        found.append(
            "No background is certain to change it yet, so none can be named to report it beside."
        )
    if beyond:
        found.append(f"More rounds would tell whether these lie beyond them: {'; '.join(beyond)}.")
    if any(one.answer == "unknown" for one in answers.values()):
        found.append("Where an answer is unknown, give more time (--budget) or longer repetitions.")
    return tuple(found)
