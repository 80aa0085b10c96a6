"""A campaign in words, on the page and in the terminal alike.

What the network gives, what measured a host, what to avoid.

Takes the model of :func:`trustbed.campaign.results.read_model`. Where there is no evidence, the
text states that.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from trustbed.campaign.statistics.avoidance import DAYS, FEWEST
from trustbed.diagnose.causes import cause_in_words
from trustbed.report import words
from trustbed.report.records import Row

Model = Row

OUTCOMES = ("complete", "partial", "failed", "overrun", "unreachable", "missed", "interrupted")
TOOK_PLACE = ("complete", "partial")
_MOST_RUNS = 0.9
"""Of an estimator's runs, which its hosts or the network spoil.

Where so many could be used, the text omits the rest.
"""
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


def state(campaign: Row) -> str:
    """Whether it is finished, at work, or waits to be continued."""
    return (
        "finished"
        if campaign["finished"]
        else "at work"
        if campaign["at_work"]
        else "not at work: the same command continues it"
    )


def headline(model: Model) -> str:
    """The campaign in one sentence."""
    pairs = model["pairs"]
    rounds = sum(pair["judged"] for pair in pairs)
    bad = sum(pair["statement"]["discarded"] for pair in pairs)
    if not rounds:
        return "No round has been judged yet."
    if not any(sum(pair["uses"].values()) for pair in pairs):
        return (
            f"{words.counted(rounds, 'round')}, and no capture shows whether they "
            "measured the network."
        )
    if len(pairs) == 1 and pairs[0]["statement"]["network"]["throughput_mean"] is not None:
        pair = pairs[0]
        return (
            f"{_first(network(pair['statement']))} from {pair['sender']} to {pair['receiver']}"
            + (
                f"; {words.count(bad)} of {words.counted(rounds, 'round')} measured a host instead."
                if bad
                else "."
            )
        )
    where = f"{words.counted(rounds, 'round')} between {words.counted(len(pairs), 'pair')} of hosts"
    return (
        f"Of {where}, {words.count(bad)} measured a host instead."
        if bad
        else f"All {where} may be used."
    )


def _first(text: str) -> str:
    return text.split(", from ")[0]


def network(statement: Row) -> str:
    """The throughput of the network: the statement that a campaign is for."""
    usable, everything = statement["network"], statement["everything"]
    if usable["throughput_mean"] is None:
        return "its throughput is unknown: no usable round measured it"
    interval = usable["throughput_interval"]
    reach = (
        ""
        if interval is None
        else f" ({words.rate(max(0.0, interval['low']))} to {words.rate(interval['high'])})"
    )
    text = (
        f"{words.rate(usable['throughput_mean'])}{reach} per data connection, from "
        f"{words.counted(usable['rounds'], 'round')}"
    )
    if statement["discarded"] and everything["throughput_mean"] is not None:
        text += f"; {words.rate(everything['throughput_mean'])} with those that measured a host"
    return text


def discarded(pair: Row) -> str:
    """How many rounds measured a host instead, and why; empty where none did."""
    statement = pair["statement"]
    if not statement["discarded"]:
        return ""
    why = ", ".join(f"{cause_in_words(one['cause'])} ({one['rounds']})" for one in statement["why"])
    share = words.percent(statement["discarded"] / pair["judged"])
    of = (
        f"{words.count(statement['discarded'])} of {words.counted(pair['judged'], 'round')} "
        f"({share})"
    )
    text = f"{of} measured a host instead, and must not be used"
    return f"{text}: {why}" if why else text


def wanting(pair: Row, campaign: Row) -> str:
    """How many more rounds the configured interval needs."""
    statement = pair["statement"]
    reach = f"± {words.percent(campaign['half_width'])} at {words.percent(campaign['confidence'])}"
    more, in_all = statement["rounds_wanting"], statement["rounds_wanting_all"]
    if more is None:
        return f"too few rounds to estimate how many {reach} would need"
    if not more:
        return f"the configured interval ({reach}) is reached"
    text = (
        f"{words.counted(more, 'more round')} that may be used would give the configured "
        f"interval ({reach})"
    )
    lasts = _lasting(in_all * campaign["period_ns"] / 1e9)
    if in_all == more:
        return f"{text}: that takes {lasts}"
    return (
        f"{text}: that takes {words.counted(in_all, 'more round')}, {lasts}, if as many may be "
        "used as so far"
    )


def rounds(pair: Row, campaign: Row) -> str:
    """How many rounds came to what."""
    of = pair["rounds"]
    known = [f"{words.count(of[name])} {name}" for name in OUTCOMES if of.get(name)]
    left = to_come(pair)
    running = (
        []
        if of["running"] is None or not campaign["at_work"]
        else [f"round {of['running']} is under way"]
    )
    return (
        ", ".join([*known, *running, *([f"{words.count(left)} to come"] if left > 0 else [])])
        or "none yet"
    )


def to_come(pair: Row) -> int:
    """Rounds that have neither begun nor been skipped."""
    of = pair["rounds"]
    return int(
        of["asked"] - sum(of.get(name, 0) for name in OUTCOMES) - (of["running"] is not None)
    )


def host(role: str, load: Row) -> str:
    """A host's mean measurements."""
    shares = [("busy", "busy_share"), ("stolen", "steal_share"), ("throttled", "throttled_share")]
    reported = [
        f"{words.percent(load[key])} {name}" for name, key in shares if load[key] is not None
    ]
    if load["wakeup_latency_max_ns"] is not None:
        reported.append(
            f"woke up {words.duration(load['wakeup_latency_max_ns'] / 1e9)} late at most"
        )
    return f"{role} {', '.join(reported) or 'unknown'}"


def prediction(one: Row) -> str:
    """How well the probes of an index predict its data."""
    errors = (
        f"{words.percent(one['error_median'])} off at the median, "
        f"{words.percent(one['error_p90'])} at nine of ten"
    )
    return (
        f"index {one['index']}: data from probes, {errors} "
        f"({words.counted(one['predicted'], 'pair')})"
    )


def delay(found: Row) -> str:
    """What test packets show of either direction.

    One-way delays above the minimum of their round, which a clock's offset does not affect.
    """
    rounds, failed = words.counted(found["rounds"], "round"), found["failed_rounds"]
    if failed == found["rounds"]:
        return f"the measurement failed in {rounds}"
    sent = words.counted(found["sent_probes"], "test packet")
    if not found["answered_probes"]:
        return f"of {sent} none came back in {rounds}{_failed(failed)}"
    parts = []
    if found["round_trip_least_seconds"] is not None:
        parts.append(f"round trip {words.duration(found['round_trip_least_seconds'])} at least")
    if directions := [
        reported
        for word, direction in (("there", "forward"), ("back", "backward"))
        if (reported := _direction(word, found[direction]))
    ]:
        parts.append(", ".join(directions))
    known = found["lost_share"] is None or all(
        found[direction]["lost_share"] is not None for direction in ("forward", "backward")
    )
    lost = "" if known else f", {words.percent(found['lost_share'])} of them lost"
    parts.append(f"{sent} in {rounds}{lost}{_failed(failed)}")
    if found["clock_stepped_rounds"]:
        parts.append(
            f"a clock was stepped in {found['clock_stepped_rounds']}, which have no delays"
        )
    return "; ".join(parts)


def _direction(word: str, found: Row) -> str:
    reported = []
    if found["above_least_p50_mean_seconds"] is not None:
        reported.append(f"{words.duration(found['above_least_p50_mean_seconds'])} above the least")
        reported.append(f"jitter {words.duration(found['jitter_mean_seconds'])}")
    if found["lost_share"] is not None:
        reported.append(f"{words.percent(found['lost_share'])} lost")
    return f"{word} {', '.join(reported)}" if reported else ""


def _failed(rounds: int) -> str:
    return f"; the measurement failed in {rounds}" if rounds else ""


def available(found: Row) -> str:
    """An estimator's results for the available bandwidth, in bits of IP packets.

    Means over rounds, of intervals and of bounds apart.
    """
    name, rounds = found["estimator"], found["rounds"]
    if found["failed_rounds"] == rounds:
        return f"{name} failed in {words.counted(rounds, 'round')}"
    kept = _means(found)
    parts = [f"{text} by {name}, mean of {_of(count, rounds)}" for text, count in kept[:1]]
    parts += [f"{text}, mean of {count}" for text, count in kept[1:]]
    if missing := rounds - found["failed_rounds"] - sum(count for _, count in kept):
        parts.append(
            f"nothing found in {missing}"
            if kept
            else f"{name} found nothing in {_of(missing, rounds)}"
        )
    early = [
        f"{_ENDED_EARLY[one['ending']]} ({one['rounds']})"
        for one in found["endings"]
        if one["early"]
    ]
    parts += [f"ended early because {', '.join(early)}"] if early else []
    if found["runs_used"] < _MOST_RUNS * found["runs"] and all(
        one["ending"] != "unusable" for one in found["endings"]
    ):
        parts.append(
            f"{words.count(found['runs_used'])} of {words.counted(found['runs'], 'run')} could be "
            "used"
        )
    return "; ".join(parts) + _failed(found["failed_rounds"])


def _means(found: Row) -> list[tuple[str, int]]:
    """Intervals, then bounds that are all that is known, each with the count of its rounds."""
    kept = []
    if found["estimates"]:
        low, high = (
            words.rate(found[f"{end}_mean_bits_per_second"] / 8) for end in ("low", "high")
        )
        kept.append((low if low == high else f"{low} to {high}", found["estimates"]))
    for bound, text in (("at_least", "at least"), ("at_most", "at most")):
        if found[f"{bound}_rounds"]:
            kept.append(
                (
                    f"{text} {words.rate(found[f'{bound}_mean_bits_per_second'] / 8)}",
                    found[f"{bound}_rounds"],
                )
            )
    return kept


def _of(count: int, rounds: int) -> str:
    whole = words.counted(rounds, "round")
    return whole if count == rounds else f"{words.count(count)} of {whole}"


def two_point(row: Row) -> str:
    """What a two-point capture shows of the connections of a role."""
    parts = [
        (
            f"{words.count(row['lost_between'])} of {words.counted(row['sent'], 'frame')} lost "
            "between the hosts"
        )
    ]
    if row["lost_between"]:
        parts[0] += f" ({words.percent(row['lost_between_share'])})"
    if row["owd_increase_p50_seconds"] is not None:
        parts.append(
            f"one way {words.duration(row['owd_increase_p50_seconds'])} above the least (p50)"
        )
    if row["turnaround_p50_seconds"] is not None:
        parts.append(
            f"the receiver took {words.duration(row['turnaround_p50_seconds'])} of a round trip "
            f"({words.percent(row['receiver_share'])})"
        )
    return ", ".join(parts)


# What to avoid.


def share(row: Row) -> str:
    """Counts, their share and its interval."""
    of = f"{words.count(row['discarded'])} of {words.counted(row['rounds'], 'round')}"
    return f"{of} ({words.percent(row['share'])}; {between(row['share_low'], row['share_high'])})"


def hours(avoid: Row) -> list[str]:
    """Which hours of the day to avoid, a sentence each; or why none can be named."""
    of = avoid["hours"]
    if not of["rounds"]:
        return ["No statement about hours is possible: no round was judged."]
    if not of["discarded"]:
        return [_none_discarded("hour", of)]
    if not of["enough"]:
        seen = f"{words.counted(of['rounds'], 'round')} on {words.counted(of['days'], 'day')}"
        return [
            (
                f"No statement about hours is possible yet: {seen}. An hour counts from "
                f"{FEWEST} rounds on {DAYS} days on."
            )
        ]
    if not of["avoid"]:
        return [
            (
                f"No hour stands out: {share(of)} are to be discarded, in no hour more than "
                "chance allows."
            )
        ]
    return [
        (
            f"Avoid {span(one)}: {_against(one)}. It was so on {one['days_discarded']} of "
            f"{words.counted(one['days'], 'day')}."
        )
        for one in of["avoid"]
    ]


def _none_discarded(what: str, of: Row) -> str:
    if of["rounds"] < FEWEST:
        return (
            f"No statement about {what}s is possible yet: "
            f"{words.counted(of['rounds'], 'round')}, none of them to be discarded."
        )
    return (
        f"No {what} is to be avoided so far: none of {words.counted(of['rounds'], 'round')} is to "
        "be discarded."
    )


def span(row: Row) -> str:
    """A range of hours."""
    return f"{row['from']:02}:00 to {row['to']:02}:00 UTC"


def hosts(avoid: Row) -> list[str]:
    """Which hosts to avoid, a sentence each; or why none can be named."""
    of = avoid["hosts"]
    if not of["rounds"]:
        return ["No statement about hosts is possible: no round was judged."]
    if not of["discarded"]:
        return [_none_discarded("host", of)]
    if not of["enough"]:
        alone = len(of["parts"]) == 2
        why = (
            "two that only met each other cannot be compared with others"
            if alone
            else f"a host counts from {FEWEST} rounds on, and as many without it"
        )
        return [f"No statement about hosts is possible yet: {why}."]
    if not of["avoid"]:
        return [
            (
                f"No host stands out: {share(of)} are to be discarded, at no host more than "
                "chance allows."
            )
        ]
    return [_host_to_avoid(one) for one in of["avoid"]]


def _host_to_avoid(group: Row) -> str:
    first, *rest = (f"{one['host']} as {one['role']}" for one in group["parts"])
    same = f" (or {' or '.join(rest)}: no other host met them)" if rest else ""
    when = (
        f"; it is worst from {words.listed([span(one) for one in group['hours']])}"
        if group["hours"]
        else ""
    )
    return f"Avoid {first}{same}: {_against(group)}{when}."


def _against(row: Row) -> str:
    return (
        f"{share(row)} are to be discarded, of the others {words.percent(row['others']['share'])}"
    )


def absences(hosts: Sequence[Row]) -> list[str]:
    """Hosts that were down, and what that cost."""
    return [
        f"{one['host']} was down {_times(len(one['down']))}, for {away(one)}"
        + (
            f": {words.counted(one['lost_rounds'], 'round')} did not take place."
            if one["lost_rounds"]
            else "."
        )
        for one in hosts
        if one["down"]
    ]


def away(host: Row) -> str:
    """The total downtime of a host."""
    return _lasting(host["down_seconds"])


def _lasting(seconds: float) -> str:
    return words.duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min")


def _times(count: int) -> str:
    return "once" if count == 1 else words.counted(count, "time")
