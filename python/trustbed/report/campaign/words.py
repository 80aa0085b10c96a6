"""The sentences about a campaign, for the page and the terminal.

The network's throughput, rounds that measured a host, hours and hosts to avoid.

Takes the model of :func:`trustbed.campaign.results.read_model`. Where there is no evidence, the
text states that.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trustbed.campaign.statistics.avoidance import DAYS, FEWEST
from trustbed.diagnose.causes import cause_in_words
from trustbed.report import words

if TYPE_CHECKING:  # the plan of a campaign needs words only, and no results
    from trustbed.campaign.model import (
        Avoid,
        CampaignModel,
        CampaignState,
        HostState,
        MeanLoad,
        PairResults,
        Statement,
    )
    from trustbed.campaign.statistics.avoidance import (
        HostGroup,
        HostTable,
        HourRange,
        HourTable,
        Share,
    )
    from trustbed.campaign.statistics.path import DelaySummary, DirectionSummary, EstimatorSummary
    from trustbed.campaign.statistics.prediction import Prediction
    from trustbed.campaign.statistics.two_point import TwoPointSums

OUTCOMES = ("complete", "partial", "failed", "overrun", "unreachable", "missed", "interrupted")
TOOK_PLACE = ("complete", "partial")
_MOST_RUNS = 0.9
"""The text mentions invalid runs of an estimator if fewer than this share could be used."""
_ENDED_EARLY = {
    "time_limit": "its time was over",
    "byte_limit": "it had sent all that it may",
    "sender_late": "ten runs in a row were invalid, mostly because the sender was late",
    "no_room": "ten runs in a row were invalid, mostly because the sender's queue was full",
    "receiver_dropped": (
        "ten runs in a row were invalid, mostly because the receiver's socket was full"
    ),
    "clock_stepped": (
        "ten runs in a row were invalid, mostly because the receiver's clock was stepped"
    ),
    "receiver_lost": "the receiver was lost",
    "unusable": "fewer than half of its streams could be used",
    "stopped": "it was stopped",
}
USE_WORDS = {
    "trust": "may be used",
    "review": "look first",
    "discard": "measured a host",
    "not_judged": "not judged",
}


def moment(nanoseconds: int | None) -> str:
    """A moment to the minute, in UTC."""
    if nanoseconds is None:
        return words.UNKNOWN
    return datetime.datetime.fromtimestamp(nanoseconds // 1_000_000_000, datetime.UTC).strftime(
        "%Y-%m-%d %H:%M UTC"
    )


def length(nanoseconds: int) -> str:
    """A round length of time: 15 min, 1 h; others like durations elsewhere."""
    for unit, name in ((86_400 * 10**9, "d"), (3600 * 10**9, "h"), (60 * 10**9, "min")):
        if nanoseconds and nanoseconds % unit == 0:
            return f"{nanoseconds // unit} {name}"
    return words.duration(nanoseconds / 1e9)


def windows(clamps: Mapping[str, int | None]) -> str:
    """The receiver's window clamps, by role."""
    if all(size is None for size in clamps.values()):
        return "windows not limited"
    return "windows of " + " and ".join(
        f"any size for {role}" if size is None else f"{words.size(size)} for {role}"
        for role, size in clamps.items()
    )


def between(low: float | None, high: float | None) -> str:
    """An interval of shares."""
    return "" if low is None or high is None else f"{words.percent(low)} to {words.percent(high)}"


def state(campaign: CampaignState) -> str:
    """Whether it is finished, running, or waits to be continued."""
    return standing(finished=campaign.finished, at_work=campaign.at_work)


def standing(*, finished: bool, at_work: bool) -> str:
    """The same of anything that goes on when its command is repeated."""
    if finished:
        return "finished"
    return "at work" if at_work else "not at work: the same command continues it"


def headline(model: CampaignModel) -> str:
    """The campaign in one sentence."""
    pairs = model.pairs
    rounds = sum(pair.judged for pair in pairs)
    bad = sum(pair.statement.discarded for pair in pairs)
    if not rounds:
        return "No round has been judged yet."
    if not any(sum(pair.uses.values()) for pair in pairs):
        return (
            f"{words.counted(rounds, 'round')}, and no capture shows whether they "
            "measured the network."
        )
    if len(pairs) == 1 and pairs[0].statement.network.throughput_mean is not None:
        pair = pairs[0]
        return f"{_first(network(pair.statement))} from {pair.sender} to {pair.receiver}" + (
            f"; {words.count(bad)} of {words.counted(rounds, 'round')} measured a host instead."
            if bad
            else "."
        )
    where = f"{words.counted(rounds, 'round')} between {words.counted(len(pairs), 'pair')} of hosts"
    if bad:
        return f"Of {where}, {words.count(bad)} measured a host instead."
    usable = sum(pair.uses["trust"] for pair in pairs)
    if usable == rounds:
        return f"All {where} may be used."
    doubted, unknown = sum(pair.uses["review"] for pair in pairs), rounds - usable
    unknown -= doubted
    parts = [
        (usable, "may be used"),
        (doubted, "to be looked at"),
        (unknown, "without a capture to judge"),
    ]
    said = ", ".join(f"{words.count(count)} {what}" for count, what in parts if count)
    return f"{where}: {said}."


def _first(text: str) -> str:
    return text.split(", from ")[0]


def network(statement: Statement) -> str:
    """The throughput of the network: the statement that a campaign is for."""
    usable, everything = statement.network, statement.everything
    if usable.throughput_mean is None:
        return "its throughput is unknown: no usable round measured it"
    interval = usable.throughput_interval
    reach = (
        ""
        if interval is None
        else f" ({words.rate(max(0.0, interval.low))} to {words.rate(interval.high)})"
    )
    text = (
        f"{words.rate(usable.throughput_mean)}{reach} per data connection, from "
        f"{words.counted(usable.rounds, 'round')}"
    )
    if statement.discarded and everything.throughput_mean is not None:
        text += f"; {words.rate(everything.throughput_mean)} with those that measured a host"
    return text


def discarded(pair: PairResults) -> str:
    """How many rounds measured a host instead, and why; empty where none did."""
    statement = pair.statement
    if not statement.discarded:
        return ""
    why = ", ".join(f"{cause_in_words(one.cause)} ({one.rounds})" for one in statement.why)
    known = max(statement.discarded, sum(pair.uses.values()))  # others show no host
    share = words.percent(statement.discarded / known)
    of = f"{words.count(statement.discarded)} of {words.counted(known, 'round')} ({share})"
    text = f"{of} measured a host instead, and must not be used"
    return f"{text}: {why}" if why else text


def wanting(statement: Statement, campaign: CampaignState) -> str:
    """How many more rounds the configured interval needs."""
    reach = f"± {words.percent(campaign.half_width)} at {words.percent(campaign.confidence)}"
    more, in_all = statement.rounds_wanting, statement.rounds_wanting_all
    if more is None or in_all is None:
        return f"too few rounds to estimate how many {reach} would need"
    if not more:
        return f"the configured interval ({reach}) is reached"
    text = (
        f"{words.counted(more, 'more round')} that may be used would give the configured "
        f"interval ({reach})"
    )
    lasts = _duration(in_all * campaign.period_ns / 1e9)
    if in_all == more:
        return f"{text}: that takes {lasts}"
    return (
        f"{text}: that takes {words.counted(in_all, 'more round')}, {lasts}, if as many may be "
        "used as so far"
    )


def rounds(pair: PairResults, campaign: CampaignState) -> str:
    """How many rounds had each outcome."""
    of = pair.rounds
    known = [f"{words.count(of[name])} {name}" for name in OUTCOMES if of.get(name)]
    left = to_come(pair)
    running = (
        []
        if of["running"] is None or not campaign.at_work
        else [f"round {of['running']} is under way"]
    )
    return (
        ", ".join([*known, *running, *([f"{words.count(left)} to come"] if left > 0 else [])])
        or "none yet"
    )


def to_come(pair: PairResults) -> int:
    """Rounds that have neither begun nor been skipped."""
    of = pair.rounds
    ended = sum(of.get(name) or 0 for name in OUTCOMES)
    return (of["asked"] or 0) - ended - (of["running"] is not None)


def host(role: str, load: MeanLoad) -> str:
    """A host's mean measurements."""
    shares = [
        ("busy", load.busy_share),
        ("stolen", load.steal_share),
        ("throttled", load.throttled_share),
    ]
    reported = [f"{words.percent(share)} {name}" for name, share in shares if share is not None]
    if load.wakeup_latency_max_ns is not None:
        reported.append(f"woke up {words.duration(load.wakeup_latency_max_ns / 1e9)} late at most")
    return f"{role} {', '.join(reported) or 'unknown'}"


def prediction(one: Prediction) -> str:
    """How well the probes of an index predict its data."""
    errors = (
        f"{words.percent(one.error_median)} off at the median, "
        f"{words.percent(one.error_p90)} at nine of ten"
    )
    return f"index {one.index}: data from probes, {errors} ({words.counted(one.predicted, 'pair')})"


def delay(found: DelaySummary) -> str:
    """What test packets show of either direction.

    One-way delays above the minimum of their round, which a clock's offset does not affect.
    """
    rounds, failed = words.counted(found.rounds, "round"), found.failed_rounds
    if failed == found.rounds:
        return f"the measurement failed in {rounds}"
    sent = words.counted(found.sent_probes, "test packet")
    if not found.answered_probes:
        return f"of {sent} none came back in {rounds}{_failed(failed)}"
    parts = []
    if found.round_trip_least_seconds is not None:
        parts.append(f"round trip {words.duration(found.round_trip_least_seconds)} at least")
    directions = {"there": found.forward, "back": found.backward}
    if texts := [text for word, one in directions.items() if (text := _direction(word, one))]:
        parts.append(", ".join(texts))
    known = found.lost_share is None or all(
        one.lost_share is not None for one in directions.values()
    )
    lost = "" if known else f", {words.percent(found.lost_share)} of them lost"
    parts.append(f"{sent} in {rounds}{lost}{_failed(failed)}")
    if found.clock_stepped_rounds:
        parts.append(f"a clock was stepped in {found.clock_stepped_rounds}, which have no delays")
    return "; ".join(parts)


def _direction(word: str, found: DirectionSummary) -> str:
    reported = []
    if found.above_least_p50_mean_seconds is not None:
        reported.append(f"{words.duration(found.above_least_p50_mean_seconds)} above the least")
        reported.append(f"jitter {words.duration(found.jitter_mean_seconds)}")
    if found.lost_share is not None:
        reported.append(f"{words.percent(found.lost_share)} lost")
    return f"{word} {', '.join(reported)}" if reported else ""


def _failed(rounds: int) -> str:
    return f"; the measurement failed in {rounds}" if rounds else ""


def available(found: EstimatorSummary) -> str:
    """An estimator's results for the available bandwidth, in bits of IP packets.

    Means over rounds, of intervals and of bounds apart.
    """
    name, rounds = found.estimator, found.rounds
    if found.failed_rounds == rounds:
        return f"{name} failed in {words.counted(rounds, 'round')}"
    means = _means(found)
    parts = [f"{text} by {name}, mean of {_of(count, rounds)}" for text, count in means[:1]]
    parts += [f"{text}, mean of {count}" for text, count in means[1:]]
    if missing := rounds - found.failed_rounds - sum(count for _, count in means):
        parts.append(
            f"nothing found in {missing}"
            if means
            else f"{name} found nothing in {_of(missing, rounds)}"
        )
    early = [f"{_ENDED_EARLY[one.ending]} ({one.rounds})" for one in found.endings if one.early]
    parts += [f"ended early because {', '.join(early)}"] if early else []
    if found.runs_used < _MOST_RUNS * found.runs and all(
        one.ending != "unusable" for one in found.endings
    ):
        parts.append(
            f"{words.count(found.runs_used)} of {words.counted(found.runs, 'run')} could be used"
        )
    return "; ".join(parts) + _failed(found.failed_rounds)


def _means(found: EstimatorSummary) -> list[tuple[str, int]]:
    """Intervals, then bounds that are all that is known, each with the count of its rounds."""
    means = []
    if found.estimates:
        low, high = _bits(found.low_mean_bits_per_second), _bits(found.high_mean_bits_per_second)
        means.append((low if low == high else f"{low} to {high}", found.estimates))
    if found.at_least_rounds:
        bound = _bits(found.at_least_mean_bits_per_second)
        means.append((f"at least {bound}", found.at_least_rounds))
    if found.at_most_rounds:
        means.append((f"at most {_bits(found.at_most_mean_bits_per_second)}", found.at_most_rounds))
    return means


def _bits(per_second: float | None) -> str:
    return words.rate(None if per_second is None else per_second / 8)


def _of(count: int, rounds: int) -> str:
    whole = words.counted(rounds, "round")
    return whole if count == rounds else f"{words.count(count)} of {whole}"


def two_point(row: TwoPointSums) -> str:
    """What a two-point capture shows of the connections of a role."""
    parts = [
        (
            f"{words.count(row.lost_between)} of {words.counted(row.sent, 'frame')} lost "
            "between the hosts"
        )
    ]
    if row.lost_between:
        parts[0] += f" ({words.percent(row.lost_between_share)})"
    if row.owd_increase_p50_seconds is not None:
        parts.append(
            f"one way {words.duration(row.owd_increase_p50_seconds)} above the least (p50)"
        )
    if row.turnaround_p50_seconds is not None:
        parts.append(
            f"the receiver took {words.duration(row.turnaround_p50_seconds)} of a round trip "
            f"({words.percent(row.receiver_share)})"
        )
    return ", ".join(parts)


# What to avoid.


def share(row: Share) -> str:
    """Counts, their share and its interval."""
    of = f"{words.count(row.discarded)} of {words.counted(row.rounds, 'round')}"
    return f"{of} ({words.percent(row.share)}; {between(row.share_low, row.share_high)})"


def hours(avoid: Avoid) -> list[str]:
    """Which hours of the day to avoid, a sentence each; or why none can be named."""
    of = avoid.hours
    if not of.rounds:
        return ["No statement about hours is possible: no round was judged."]
    if not of.discarded:
        return [_none_discarded("hour", of)]
    if not of.enough:
        seen = f"{words.counted(of.rounds, 'round')} on {words.counted(of.days, 'day')}"
        return [
            (
                f"No statement about hours is possible yet: {seen}. An hour counts from "
                f"{FEWEST} rounds on {DAYS} days on."
            )
        ]
    if not of.avoid:
        return [
            (
                f"No hour stands out: {share(of)} are to be discarded, in no hour more than "
                "chance allows."
            )
        ]
    return [
        (
            f"Avoid {span(one)}: {_against(one)}. It was so on {one.days_discarded} of "
            f"{words.counted(one.days, 'day')}."
        )
        for one in of.avoid
    ]


def _none_discarded(what: str, of: HourTable | HostTable) -> str:
    if of.rounds < FEWEST:
        return (
            f"No statement about {what}s is possible yet: "
            f"{words.counted(of.rounds, 'round')}, none of them to be discarded."
        )
    return (
        f"No {what} is to be avoided so far: none of {words.counted(of.rounds, 'round')} is to "
        "be discarded."
    )


def span(row: HourRange) -> str:
    """A range of hours."""
    return f"{row.first:02}:00 to {row.to:02}:00 UTC"


def hosts(avoid: Avoid) -> list[str]:
    """Which hosts to avoid, a sentence each; or why none can be named."""
    of = avoid.hosts
    if not of.rounds:
        return ["No statement about hosts is possible: no round was judged."]
    if not of.discarded:
        return [_none_discarded("host", of)]
    if not of.enough:
        alone = len(of.parts) == 2
        why = (
            "two that only met each other cannot be compared with others"
            if alone
            else f"a host counts from {FEWEST} rounds on, and as many without it"
        )
        return [f"No statement about hosts is possible yet: {why}."]
    if not of.avoid:
        return [
            (
                f"No host stands out: {share(of)} are to be discarded, at no host more than "
                "chance allows."
            )
        ]
    return [_host_to_avoid(one) for one in of.avoid]


def _host_to_avoid(group: HostGroup) -> str:
    first, *rest = (f"{one.host} as {one.role}" for one in group.parts)
    same = f" (or {' or '.join(rest)}: no other host met them)" if rest else ""
    when = (
        f"; it is worst from {words.listed([span(one) for one in group.hours])}"
        if group.hours
        else ""
    )
    return f"Avoid {first}{same}: {_against(group)}{when}."


def _against(row: HourRange | HostGroup) -> str:
    return f"{share(row)} are to be discarded, of the others {words.percent(row.others.share)}"


def absences(hosts: Sequence[HostState]) -> list[str]:
    """Hosts that were down, and what that cost."""
    return [
        f"{one.host} was down {_times(len(one.down))}, for {downtime(one)}"
        + (
            f": {words.counted(one.lost_rounds, 'round')} did not take place."
            if one.lost_rounds
            else "."
        )
        for one in hosts
        if one.down
    ]


def downtime(host: HostState) -> str:
    """The total downtime of a host."""
    return _duration(host.down_seconds)


def _duration(seconds: float) -> str:
    return words.duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min")


def _times(count: int) -> str:
    return "once" if count == 1 else words.counted(count, "time")
