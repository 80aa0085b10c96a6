"""The page of the study.

What was done, the noise, what stops did, which rule tells harm best, what the rule in use misses.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from studies.departure_error import rules
from studies.departure_error.cases import (
    CASES,
    DISTURBANCES,
    GROUPS,
    INTERVALS_MS,
    LONG,
    STOPS_MS,
    TRANSFER_SECONDS,
    trials,
)
from studies.departure_error.effects import HARM, UNASKED_NS, Noise, Outcome, is_clean, outcomes
from trustbed.diagnose.run_findings import MEDIAN_SECONDS, STALL_SHARE, run_findings

Row = dict[str, Any]
Rule = Callable[[Outcome], bool]


def in_use(one: Outcome) -> bool:
    """Whether a repetition with this departure_error is discarded for it.

    The product's own rule.
    """
    late = one.late
    told = {
        "packets": late["packets"],
        "p50_ns": late["p50_ns"],
        "p99_ns": late["p99_ns"],
        "max_ns": late["max_ns"],
    }
    told |= {
        "late_by_more_than_a_packet_time": late["later_than_frame_time"],
        "overdue_share": late["overdue_1ms_share"],
    }
    return any(
        found.severity == "error" for found in run_findings({"emulator": {"departure_error": told}})
    )


def by_argument(one: Outcome) -> bool:
    """The rule that was set before anything was measured.

    Three thresholds, the second against the packet's own time.
    """
    late = one.late
    return (
        late["p99_ns"] >= 1e6
        or (late["later_than_own_time"] >= 0.05 and late["p99_ns"] >= 5e5)
        or late["max_ns"] >= 5e7
    )


def render(rows: Sequence[Row]) -> str:
    """The section, from everything that was measured."""
    found, noises = outcomes(rows)
    disturbed = [one for one in found if one.stop_ms is not None and one.clean]
    if not disturbed:
        return "## Departure error of the emulator\n\nNothing has been measured yet."
    parts = [
        _introduction(rows, found),
        _noise(noises),
        _effects(disturbed),
        _rules(found),
        _frames(found),
        _chosen(found),
        _odd(found),
    ]
    return "\n".join(parts)


def _table(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    texts = [f"| {' | '.join(head)} |"]
    texts += ["|" + "---|" * (texts[0].count("|") - 1)]
    texts += [f"| {' | '.join(str(cell) for cell in line)} |" for line in lines]
    return "\n".join(texts) + "\n"


def _percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:.{digits}%}"


def _introduction(rows: Sequence[Row], found: Sequence[Outcome]) -> str:
    clean = sum(map(is_clean, rows))
    seeds = sorted({row["seed"] for row in rows})
    wanted = {trial.key for seed in seeds for trial in trials(seed)}
    missing = len(wanted - {row["key"] for row in rows if is_clean(row)})
    late = _percent(HARM)
    held = len(rows) - clean
    return f"""## Departure error of the emulator

{_missing(missing, len(wanted))}\
How late may an emulator be before a repetition is worthless? {len(CASES)} links with a transfer
each, in {len(GROUPS)} groups,
for {TRANSFER_SECONDS:g} s at a time: undisturbed, and while the emulator's process was stopped
(SIGSTOP, SIGCONT) under
{len(DISTURBANCES) + 1} disturbances. Each link's departure_error is from the ledger. A transfer
was *harmed* when its throughput or its median
round trip (of fetches: requests per second, median response time) differed by more than {late} from
the median of its undisturbed
twins, and by more than any twin did, or when its cause was one that no twin had.

{len(rows)} trials were made, of seeds {", ".join(map(str, seeds))}. In {clean} of them nothing but
the emulator stood still:
no packet was late by more than {UNASKED_NS / 1e6:g} ms beyond the stops that were made. In the
other {held} the machine itself was
held up by its hypervisor, senders and receivers with it. These are judged apart: it is what happens
to an emulator in earnest. They
are made again up to twice. A machine that is left alone makes all of them in 12 minutes.
"""


def _missing(missing: int, wanted: int) -> str:
    """What the section does not rest on, before anything else."""
    if not missing:
        return ""
    return (
        f"**Not complete**: of the {wanted} trials that the command asks for, {missing} "
        f"are missing: they were not made, or only while the "
        "machine\nitself was held up. What is said of an emulator that was stopped alone "
        "rests on the others.\n\n"
    )


def _noise(noises: dict[tuple[int, str], Noise]) -> str:
    lines = []
    for name, case in CASES.items():
        own = [noise for (_, each), noise in noises.items() if each == name]
        if own:
            most = (
                _percent(max(getattr(noise, key) for noise in own), 1)
                for key in ("throughput", "rtt_p50", "rtt_p99")
            )
            causes = sorted({str(cause) for noise in own for cause in noise.causes})
            lines.append((case.words, sum(noise.twins for noise in own), *most, ", ".join(causes)))
    text = (
        "### Noise\n\nThe largest deviation of an undisturbed twin from the median of the "
        "others.\n\n"
    )
    return text + _table(
        ("link and transfer", "twins", "throughput ±", "RTT p50 ±", "RTT p99 ±", "causes"), lines
    )


def _effects(disturbed: Sequence[Outcome]) -> str:
    """Of every stop and interval: the share of transfers harmed, and the median changes."""
    lines = []
    for stop in (*STOPS_MS, LONG.stop_ms):
        own = [
            [one for one in disturbed if (one.stop_ms, one.every_ms) == (stop, every)]
            for every in INTERVALS_MS
        ]
        if any(own):
            lines.append((f"{stop:g} ms", *map(_effect, own)))
    text = (
        "### What stops did\n\nOnly the emulator stood still. Transfers harmed, of how "
        "many; in brackets the median changes of "
        "throughput, of the median\nand of the 99th percentile of round trips.\n\n"
    )
    return text + _table(
        ("stop", *("once" if every is None else f"every {every} ms" for every in INTERVALS_MS)),
        lines,
    )


def _effect(own: Sequence[Outcome]) -> str:
    if not own:
        return ""
    changes = (
        statistics.median(getattr(one.change, key) for one in own)
        for key in ("throughput", "rtt_p50", "rtt_p99")
    )
    return (
        f"{sum(one.harmful for one in own)} of {len(own)} "
        f"({', '.join(f'{change:+.1%}' for change in changes)})"
    )


def _rules(found: Sequence[Outcome]) -> str:
    """Each half of the transfers is judged with the threshold that is best for the other."""
    first, second = halves(found)
    of_first = set(map(id, first))
    lines = [
        ("**in use**", *_figures(found, in_use)),
        ("set by argument", *_figures(found, by_argument)),
    ]
    for candidate in rules.CANDIDATES:
        best = [rules.best(half, candidate.score) for half in (first, second)]

        def discards(
            one: Outcome, score: rules.Score = candidate.score, best: list[float] = best
        ) -> bool:
            return score(one) >= best[id(one) in of_first]

        lines.append((candidate.words.format(*sorted(best)), *_figures(found, discards)))
    text = (
        "### Rules\n\nOf what a rule discards, the share that was harmed (precision), and "
        "of what was harmed, the share that it "
        "discards (recall),\nwith their harmonic mean. For a single number the best "
        "threshold of each half of the transfers was found, "
        "and used on the other half;\nthe rule in use was set on these very transfers, "
        "which flatters it.\n\n"
    )
    head = (
        "rule",
        "emulator stopped: precision",
        "recall",
        "F1",
        "machine held up: precision",
        "recall",
        "F1",
    )
    return text + _table(head, lines)


def halves(found: Sequence[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Every second transfer of each case, in the order of their making, and the others."""
    first: list[Outcome] = []
    second: list[Outcome] = []
    for case in CASES:
        own = [one for one in found if one.case == case]
        first += own[0::2]
        second += own[1::2]
    return first, second


def _figures(found: Sequence[Outcome], discards: Rule) -> tuple[str, ...]:
    cells: list[str] = []
    for clean in (True, False):
        scored = rules.scored([one for one in found if one.clean is clean], discards)
        cells += [_percent(scored.precision), _percent(scored.recall), _percent(scored.f1)]
    return tuple(cells)


def _frames(found: Sequence[Outcome]) -> str:
    twins = [one for one in found if one.stop_ms is None and one.clean]
    lines = []
    for megabits in sorted({CASES[one.case].megabits for one in twins}):
        own = [one.late for one in twins if CASES[one.case].megabits == megabits]
        shares = (
            _percent(max(late[key] for late in own), 1)
            for key in ("later_than_own_time", "later_than_frame_time")
        )
        lines.append((f"{megabits} Mbit/s", len(own), *shares))
    text = (
        "### Later than a packet's own time, or than a full frame's\n\nThe largest share "
        "of packets in an undisturbed transfer. An "
        "acknowledgement takes a few microseconds on its link, and no emulator is\nmore "
        "exact than that: `late_by_more_than_a_packet_time` "
        "counts against the time of a full frame (1514 bytes) on the slowest link of the way.\n\n"
    )
    return text + _table(
        ("link", "transfers", "later than own time", "later than a full frame's"), lines
    )


def _chosen(found: Sequence[Outcome]) -> str:
    score = rules.BY_NAME["overdue 1ms"].score
    stopped, held = (
        rules.best([one for one in found if one.clean is clean], score) for clean in (True, False)
    )
    calm = max(one.late["overdue_1ms_share"] for one in found if one.clean and one.stop_ms is None)
    single = [
        one
        for one in found
        if one.clean and one.stop_ms is not None and one.stop_ms >= 50 and one.every_ms is None
    ]
    tails = [
        one
        for one in found
        if one.clean and one.stop_ms is not None and not one.harmful and not in_use(one)
    ]
    harmed, grown = (
        sum(one.harmful for one in single),
        sum(one.change.rtt_p99 > HARM for one in tails),
    )
    limit, median, harm = f"{STALL_SHARE:.0%}", f"{MEDIAN_SECONDS * 1e3:g} ms", f"{HARM:.0%}"
    return f"""### What was chosen

A repetition is discarded when packets were overdue by more than 1 ms for {limit} of the time and
more (`overdue_share` in the
emulator's report), or when half of them were {median} late and more.

- What stops do depends on what they interrupt. A queue and a window bridge what is short against
the round trip: the emulator sends what
  was due when it goes on, and nothing is lost but order in time. Where only the emulator stands
  still, departure_error of p99 against the base
  RTT therefore tells best, and no rule that knows nothing of the link has a high precision.
- What holds up an emulator in earnest holds up senders and receivers too. There the same
departure_error
is a sign of more: harm begins at
  an overdue share of {held:.1%} (best threshold of all such transfers), not at {stopped:.1%} as
  where only the emulator was stopped.
  The rule is for that, and takes the side of recall: a repetition that is discarded in vain costs a
  repetition, one that is kept in
  spite of harm costs a conclusion. Undisturbed, the share was at most {calm:.1%}.
- It finds as much as the three thresholds that were set by argument do together, being one. p99
alone overlooks stops of 100 ms in every
  second where few packets are under way meanwhile; the largest departure_error overlooks how often;
  the
  share of packets later than their own
  time is large in undisturbed transfers, and does worst of all.
- A single stall is no reason by itself: of {len(single)} transfers with one stop of 50 to 250 ms,
{harmed} were harmed. It counts as
  what it is of the time.
- The median is a matter of definition, not of this experiment, in which stops make single packets
late: {median}, both ways, are
  {harm} of a round trip of 10 ms.
- Tails are not protected: in {grown} of {len(tails)} transfers that were neither harmed nor
discarded the 99th percentile of round
  trips grew by more than {harm}. Whoever reports tails has to look at the departure_error that
  stands beside them.
"""


def _odd(found: Sequence[Outcome]) -> str:
    missed = [one for one in found if one.harmful and not in_use(one)]
    vain = [
        sum(one.clean is clean and not one.harmful and in_use(one) for one in found)
        for clean in (True, False)
    ]
    lines = []
    for one in missed:
        change = one.change
        stops = (
            "none"
            if one.stop_ms is None
            else (
                f"{one.stop_ms:g} ms, "
                f"{'once' if one.every_ms is None else f'every {one.every_ms} ms'}"
            )
        )
        late = (
            _percent(one.late["overdue_1ms_share"], 1),
            f"{one.late['p99_ns'] / 1e6:.2f}",
            f"{one.late['max_ns'] / 1e6:.1f}",
        )
        changes = (f"{each:+.1%}" for each in (change.throughput, change.rtt_p50, change.rtt_p99))
        who = "emulator" if one.clean else "machine"
        lines.append(
            (
                CASES[one.case].words,
                who,
                stops,
                *late,
                *changes,
                "changed" if change.cause_changed else "",
            )
        )
    text = (
        f"### Where the rule in use is wrong\n\nIn vain it discards {vain[0]} transfers "
        f"of an emulator that was stopped alone, and "
        f"{vain[1]} of a machine that was held up.\nThese were harmed, and it keeps them; "
        f"a median round trip mostly, which hangs on "
        "where in the window's sawtooth three seconds end.\n\n"
    )
    head = (
        "link and transfer",
        "held up",
        "stops",
        "overdue",
        "p99, ms",
        "most, ms",
        "throughput",
        "RTT p50",
        "RTT p99",
        "cause",
    )
    return text + _table(head, lines)
