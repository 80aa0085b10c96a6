"""The section of docs/validation.md: accepted answers, then results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from trustbed.diagnose.compensation_table import HIGH, LOW, NEAR, WANTED_SHARE
from validation.truth import pictures, situations
from validation.truth import text as text_of
from validation.truth.calibration import LEAST, WANTED_ERROR, WANTED_SKILL, Calibration
from validation.truth.families import FAMILIES
from validation.truth.kinds import KINDS, table
from validation.truth.labels import (
    BUILT_SHARE,
    BUILT_SHARE_OF_DROPS,
    BUILT_SHARE_OF_GUEST,
    CLEAR,
    SLIGHT,
)
from validation.truth.looks import Look, of_plan
from validation.truth.result import VIEWS, Result, View
from validation.truth.score import Score, Share

REPORTED = "report"
OTHER = "development"
LETTERS = {"sender-known": "K", "sender": "S", "receiver": "R", "middle": "M", "inside": "I"}
DIRECTORY = "validation"
"""The directory of the pictures, beside the page."""
_LOWEST = 3
"""Number of causes named where a macro F1 is lower than wanted."""

_HEAD = f"""## How often the verdict is right

`make truth` makes transfers whose limiting cause is known because it was injected. They run on
emulated networks that have one known limit by design, undisturbed or with one disturbance, in doses
from one that stops the transfer down to one without effect. Each transfer is captured at the
sender, at the receiver, at the router between them, and within a guest that sends; each capture is
judged alone, the sender's once more with the host's samples.

A transfer is labelled by its disturbance *and* by what that cost against undisturbed transfers on
the same network (its twins, of which each network has four, or three with a guest): less than
{SLIGHT:.0%} of the throughput counts as healthy, {SLIGHT:.0%} to {CLEAR:.0%} is scored separately.
The rate of a network is calculated with the window that the receiver really offered, and a twin
counts in proportion to it: a window that stayed small by chance is not a cost of the disturbance.
Undisturbed transfers that stay below {BUILT_SHARE:.0%} of that (guests below
{BUILT_SHARE_OF_GUEST:.0%}, because their processor is emulated; queues that drop early below
{BUILT_SHARE_OF_DROPS:.0%}), and transfers without a twin, are unclear and are not counted.

Networks come in families, and no rate, round trip or queue belongs to families of both halves.
Rules are developed and their confidence is fitted on one half; the results here are of the other.
Transfers of one network are alike, so intervals (95 %) come from drawing whole networks.

{{families}}
### Accepted answers

Fixed before the first score. The first cause is the injected one; others are further true names of
the same limit. A set of causes counts as right only if it holds the injected one and at most one
other, and is counted apart as well. A healthy transfer must be trusted, and named after what limits
its network; if the disturbance belongs to the network itself, its name is right, too.

"""

_COMPENSATION = """\
Of a transfer that is discarded because its host stalled, `trustbed.diagnose.compensation`
estimates what the network would have given: the rate that its window allows, less slow start. Here
the estimate is compared with the transfer's undisturbed twins. An estimate is made only under
conditions that were fixed on an earlier plan, as its interval was. Where the path was disturbed as
well, or the link of the host was down, there is nothing to compare with. *Silences removed* is the
obvious alternative, bytes over the time in which the sender was not idle with an open window, for
the same transfers."""

_BEFORE = """\
Plans 1 and 2 split transfers by their seed, not by the family of their network, and accepted both
answers to the question whether the machine or its application paused. Their last scores of unseen
seeds (macro-F1 0.849 with host samples, 0.909, 0.875 and 0.889) are not comparable with these.

"""

_LOOKS = """\
Every time the report half was scored, the first look first. Only that one was taken before any of
its mistakes could be read.

"""


def _families() -> str:
    rows: list[tuple[object, ...]] = [
        ("family", "half", "network", "Mbit/s", "round trip, ms", "queue, BDP", "discipline")
    ]
    rows += [
        (
            one.name,
            one.half,
            one.words,
            _list(one.rates),
            _list(one.trips),
            _list(one.queues),
            ", ".join(dict.fromkeys(one.disciplines))
            + (f", jitter {one.jitter:.0%}" if one.jitter else ""),
        )
        for one in FAMILIES
    ]
    return _table(rows)


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def table_only() -> str:
    """The section before anything was scored."""
    return _HEAD.replace("{families}", _families()) + table()


def render(result: Result, looked: Sequence[Look] = ()) -> str:
    """The section with the result; ``looked``: every look at the report half so far."""
    parts = [
        table_only(),
        _result(result),
        _looked(result, looked),
        _figures(result),
        *(_view(result, view) for view in VIEWS),
    ]
    parts += [_situations(result), _compensation(result), _kernel(result)]
    return "\n".join([*parts, _made(result), _wrong(result)])


def _table(rows: Sequence[Sequence[object]]) -> str:
    """The first row is the head."""
    lines = [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def _result(result: Result) -> str:
    guests = sum(one.stored["network"]["guest"] is not None for one in result.made)
    reported, other = (len(result.chosen(half)) for half in (REPORTED, OTHER))
    text = (
        f"\n### Results\n\n{len(result.made)} transfers{_of_plan(result)}, {guests} of them with a "
        f"guest; {reported} of the families that are scored here, {other} of those that rules are "
        f"developed on. {_waited(result)}Intervals: 95 %.\n\n{_BEFORE}"
    )
    rows: list[tuple[str, ...]] = [
        (
            "",
            "cases",
            "macro F1",
            "wanted",
            "cause right",
            "verdict right",
            "false alarms",
            "missed discards",
            "doomed, trusted",
            "calibration error",
            "Brier skill",
        )
    ]
    for half in (REPORTED, OTHER):
        for view in VIEWS:
            found = result.score(view, half)
            words = view.words if half == REPORTED else f"*development: {view.words}*"
            calibrated = result.calibration(view, half)
            rows.append(
                (
                    words,
                    str(found.cases),
                    text_of.f1_words(found),
                    _wanted(found, view),
                    *_shares(found),
                    text_of.error_words(calibrated),
                    text_of.skill_words(calibrated).replace("%", " %"),
                )
            )
    return f"{text}{_table(rows)}{_short_of(result)}"


def _wanted(found: Score, view: View) -> str:
    """The wanted macro F1, and whether it is reached."""
    if view.wanted_f1 is None:
        return "–"
    if found.macro_f1 is None:
        return f"{view.wanted_f1:.2f}"
    return f"{view.wanted_f1:.2f}: {'met' if found.macro_f1 >= view.wanted_f1 else '**missed**'}"


def _short_of(result: Result) -> str:
    """The views that miss the wanted macro F1.

    Names the causes that cost most, and views with less knowledge that do better.
    """
    text = ""
    scores = {view.name: result.score(view, REPORTED) for view in VIEWS}
    for view in VIEWS:
        found, reached = scores[view.name], scores[view.name].macro_f1
        if reached is None or view.wanted_f1 is None or reached >= view.wanted_f1:
            continue
        lowest = sorted(
            ((one.f1, one) for one in found.causes if one.f1 is not None), key=lambda pair: pair[0]
        )[:_LOWEST]
        named = ", ".join(
            f"`{one.cause}` {value:.2f} (of {one.recall.of})" for value, one in lowest
        )
        text += (
            f"\n**Missed**: {view.words}, {reached:.3f} where {view.wanted_f1:.2f} was wanted. "
            f"A macro F1 counts every cause alike, however few transfers\nhave it. The "
            f"lowest are {named}.\n"
        )
        less = next(
            (one for one in VIEWS if view.known and one.point == view.point and not one.known), None
        )
        alone = scores[less.name] if less is not None else None
        if (
            less is not None
            and alone is not None
            and alone.macro_f1 is not None
            and alone.macro_f1 > reached
        ):
            text += (
                f"It is also less than the {alone.macro_f1:.3f} of the "
                f"{less.words}{_worse(found, alone)}.\n"
            )
    return text


def _worse(found: Score, alone: Score) -> str:
    """Causes that are recognised less well although more is known."""
    before = {one.cause: one.f1 for one in alone.causes}
    worse = [
        f"`{one.cause}`, {one.f1:.2f} instead of {earlier:.2f} (of {one.recall.of})"
        for one in found.causes
        if one.f1 is not None
        and (earlier := before.get(one.cause)) is not None
        and one.f1 < earlier
    ]
    return f": worse is {', '.join(worse)}" if worse else ""


def _of_plan(result: Result) -> str:
    """States what is missing of the plan; the rest has all kinds in proportion."""
    missing = (result.planned or 0) - len(result.transfers)
    return (
        f" of the {result.planned} planned (the rest is not made yet)"
        if result.planned and missing > 0
        else ""
    )


def _shares(found: Score) -> tuple[str, ...]:
    return tuple(
        _share(one)
        for one in (
            found.right,
            found.verdicts_right,
            found.false_alarms,
            found.missed_discards,
            found.doomed_trusted,
        )
    )


def _share(share: Share) -> str:
    if share.value is None:
        return "–"
    low, high = share.interval
    return f"{share.value:.1%} of {share.of} ({low:.1%}–{high:.1%})"


def _figures(result: Result) -> str:
    names = pictures.pictures(result, REPORTED)
    return "\n" + "\n".join(f"![{name}]({DIRECTORY}/{name}.svg)\n" for name in names)


def _view(result: Result, view: View) -> str:
    found = result.score(view, REPORTED)
    if not found.cases:
        return f"\n#### {view.words.capitalize()}\n\nNo such capture was taken.\n"
    rows: list[tuple[object, ...]] = [("injected cause", "made", "precision", "recall", "F1")]
    for each in found.causes:
        interval = (
            f" ({each.f1_interval[0]:.2f}–{each.f1_interval[1]:.2f})" if each.f1_interval else ""
        )
        value = "–" if each.f1 is None else f"{each.f1:.2f}{interval}"
        rows.append(
            (f"`{each.cause}`", each.recall.of, _share(each.precision), _share(each.recall), value)
        )
    bins: list[tuple[object, ...]] = [
        ("stated confidence", "answers", "mean", "right", "stated within interval")
    ]
    calibrated = result.calibration(view, REPORTED)
    for one in calibrated.bins:
        low, high = one.interval
        holds = {True: "yes", False: "**no**", None: "too few"}[one.holds]
        bins.append(
            (
                f"{one.low:.2f}–{one.high:.2f}",
                one.answers,
                f"{one.stated:.2f}",
                f"{one.observed:.2f} ({low:.2f}–{high:.2f})",
                holds,
            )
        )
    ends: list[tuple[object, ...]] = [("wanted", "given", "share")]
    ends += [(wanted, given, _share(one)) for (wanted, given), one in found.transitions.items()]
    sets = (
        f"Answers with one name that are right: {_share(found.right_alone)}. Sets of causes that "
        f"are right: {_share(found.sets)}. Wrong with a confidence of 0.9 and more: "
        f"{_share(found.confidently_wrong)}.\n"
    )
    slight = f"Slight disturbances, scored apart: {_share(found.slight)} named acceptably.\n"
    return (
        f"\n#### "
        f"{view.words.capitalize()}\n\n{_table(rows)}\n{_table(ends)}\n{sets}\n{_table(bins)}\n"
        f"{_pooled(calibrated)}\n{slight}"
    )


def _pooled(found: Calibration) -> str:
    """A summary of the reliability table."""
    held = [each.holds for each in found.bins if each.holds is not None]
    met = "" if found.error is None else ": met" if found.error <= WANTED_ERROR else ": **missed**"
    return (
        f"Pooled calibration error (bins weighted by their answers): "
        f"{text_of.error_words(found)}, wanted at most {WANTED_ERROR:.2f}"
        f"{met}. Of the bins with {LEAST} answers and more {sum(held)} of {len(held)} hold. Brier "
        f"skill over the share of right answers: {text_of.skill_words(found).replace('%', ' %')}, "
        f"wanted at least {100 * WANTED_SKILL:.0f} %.\n"
    )


def _situations(result: Result) -> str:
    return (
        "\n#### Fifteen situations\n\nMost of them were judged wrongly when they were tried for "
        "the first time. Families of both halves, each from the capture that it is about, without "
        f"host samples.\n\n{_table(list(situations.rows(result)))}"
    )


def _compensation(result: Result) -> str:
    """Estimates for transfers that were discarded because their host stalled.

    Only captures at the sender are discarded for that.
    """
    views = [view for view in VIEWS if view.point == "sender"]
    rows: list[tuple[object, ...]] = [
        (
            "",
            "discarded",
            "with a twin",
            "estimated",
            f"within {NEAR:.0%}",
            "median error",
            "in the interval",
            "silences removed",
        )
    ]
    for half in (REPORTED, OTHER):
        for view in views:
            found = result.compensation(view, half)
            words = view.words if half == REPORTED else f"*development: {view.words}*"
            middle = "–" if found.median_error is None else f"{found.median_error:+.1%}"
            shares = (
                _share(found.within),
                middle,
                _share(found.covered),
                _share(found.removed_within),
            )
            rows.append((words, found.discarded, found.comparable, found.available, *shares))
    text = (
        f"\n#### What the network would have "
        f"given\n\n{_COMPENSATION}\n\n{_table(rows)}\n{_shown(result, views)}\n"
    )
    for view in views:
        reasons = result.compensation(view, REPORTED).why_not
        if reasons:
            none: list[tuple[object, ...]] = [(f"no estimate, {view.words}", "transfers"), *reasons]
            text += f"\n{_table(none)}"
    return text


def _shown(result: Result, views: Sequence[View]) -> str:
    """Whether these figures allow showing the estimate, and its interval on the other half."""
    shares = [result.compensation(view, REPORTED).within for view in views]
    enough = all(share.of and share.hits >= WANTED_SHARE * share.of for share in shares)
    wanted = f"within {NEAR:.0%} in {WANTED_SHARE:.0%} of the cases that it is available for"
    words = (
        f"Reports show "
        f"{'it beside the measured value, for it is' if enough else 'no estimate, for it is not'} "
        f"{wanted}."
    )
    bounds = [
        found for view in views if (found := result.compensation(view, OTHER).central) is not None
    ]
    if not bounds:
        few = "Reports show no estimate: the development half has too few for an interval."
        return few if enough else words
    low, high = min(each[0] for each in bounds), max(each[1] for each in bounds)
    return (
        f"{words} Its interval is {LOW:.2f} to {HIGH:.2f} times the estimate; 95 % of the "
        f"development half lie from {low:.3f} to {high:.3f}."
    )


def _kernel(result: Result) -> str:
    rows: list[tuple[object, ...]] = [
        (
            "share of time",
            "transfers",
            "median difference",
            "within 0.05",
            "without BBR, guests and stopped processes",
        )
    ]
    for each in result.agreements(REPORTED):
        middle = "–" if each.median_difference is None else f"{each.median_difference:+.3f}"
        rows.append(
            (each.what, each.transfers, middle, each.near, f"{each.plain_near} of {each.plain}")
        )
    limited = (
        f"Limited by the send buffer for half of the busy time, according to the kernel: "
        f"{result.buffer_limited(REPORTED)} transfers.\n"
    )
    if (steps := result.equal_steps(REPORTED)) is not None:
        transfers, count, share = steps
        limited += (
            f"Step by step, {count} steps of 10 ms of {transfers} transfers: both say alike "
            f"whether there was something to send in {share:.1%}.\n"
        )
    return f"\n#### The sender's capture against its kernel\n\n{_table(rows)}\n{limited}"


def _made(result: Result) -> str:
    """The labels of each kind, and what could not be made."""
    standings = result.standings(REPORTED)
    names = ("healthy", "slight", "disturbed", "unclear")
    rows: list[tuple[object, ...]] = [("kind", *names)]
    rows += [(f"`{kind}`", *(standings.get((kind, name), 0) for name in names)) for kind in KINDS]
    text = (
        f"\n#### Transfers by label\n\nTransfers of the report half by what their disturbance "
        f"cost.\n\n{_table(rows)}"
    )
    if result.not_made:
        lost: list[tuple[object, ...]] = [("kind", "outcome", "transfers", "why")]
        alike: Counter[tuple[str, str, str]] = Counter()
        for (kind, how, why), n in result.not_made.items():
            alike[kind, how, _without_figures(why)] += n
        lost += [(f"`{kind}`", how, n, why) for (kind, how, why), n in sorted(alike.items())]
        text += f"\nNot made, and not counted:\n\n{_table(lost)}"
    if result.twins.unlike:
        text += "\nNetworks that did not reach their designed rate, left out:\n\n"
        text += _table(
            [
                ("network", "share"),
                *(
                    (f"`{name}`", f"{share:.0%}")
                    for name, share in sorted(result.twins.unlike.items())
                ),
            ]
        )
    return text


def _waited(result: Result) -> str:
    """How often a run checked whether others used the machine, where it did."""
    before = [stored["before"] for stored in result.transfers if stored.get("before")]
    if not before:
        return ""
    waits = [one["waited_seconds"] for one in before if one["waited_seconds"]]
    return (
        f"Before {len(waits)} of {len(before)} the run waited until others no longer used the "
        f"machine, {sum(waits) / 60:.0f} min in all. "
    )


def _without_figures(why: str) -> str:
    """The common part of reasons of one kind: each transfer has figures of its own."""
    return re.sub(r"^[\d.]+ % of ", "", why).split(", at most ")[0].split(" by ")[0]


def _looked(result: Result, looked: Sequence[Look]) -> str:
    """The log of looks at this plan's report half."""
    looks = of_plan(looked, result.identity)
    if not looks:
        return ""
    rows: list[tuple[object, ...]] = [
        ("look", "date", "commit", "view", "cases", "macro F1", "false alarms", "doomed, trusted")
    ]
    for number, look in enumerate(looks, 1):
        for view in VIEWS:
            if (found := look.views.get(view.name)) is not None:
                f1 = "–" if found.macro_f1 is None else f"{found.macro_f1:.3f}"
                rows.append(
                    (
                        number,
                        look.date,
                        f"`{look.commit}`",
                        view.words,
                        found.cases,
                        f1,
                        _counts(found.false_alarms),
                        _counts(found.doomed_trusted),
                    )
                )
    return f"\n#### Looks\n\n{_LOOKS}{_table(rows)}"


def _counts(share: tuple[int, int]) -> str:
    hits, of = share
    return f"{hits} of {of}"


def _wrong(result: Result) -> str:
    """The confusions, by kind, answer and verdict, the most frequent first."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    seen: dict[tuple[str, str, str, str], Counter[str]] = {}
    for one in result.chosen(REPORTED):
        for view in VIEWS:
            case = one.case(view)
            if case is None or not case.counts or case.is_all_right:
                continue
            key = (case.kind, case.made, " or ".join(case.causes), case.verdict)
            found[key] += 1
            seen.setdefault(key, Counter())[LETTERS[view.name]] += 1
    if not found:
        return "\n#### Wrong answers\n\nNone.\n"
    rows: list[tuple[object, ...]] = [("kind", "made", "answer", "verdict", "answers", "views")]
    rows += [
        (
            f"`{kind}`",
            f"`{made}`",
            f"`{answer}`",
            verdict,
            number,
            ", ".join(f"{letter} {n}" for letter, n in sorted(seen[key].items())),
        )
        for key, number in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        for kind, made, answer, verdict in [key]
    ]
    return (
        "\n#### Wrong answers\n\nEvery wrong cause or verdict about healthy and clearly disturbed "
        "transfers. Views: K with host samples, S at the sender, R at the receiver, M in the "
        f"middle, I within the guest.\n\n{_table(rows)}"
    )
