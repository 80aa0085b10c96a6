"""A campaign so far, as text for a terminal: at most 100 columns, readable without colour.

Order: what it is and how far; hosts that are not there; then, per pair of hosts, its rounds, what the network gives, which rounds
measured a host instead and why, and the table of the papers: per index and role the throughput that the window allows (X₀), and what was
measured. The same model gives the same text at the same width.
"""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trustbed.report import words
from trustbed.report.paint import Paint

WIDEST = 100
NARROWEST = 60
_PLAIN = Paint()
_LABEL = 12
_ORDER = ("complete", "partial", "failed", "overrun", "unreachable", "missed", "interrupted")
_HEAD = ("index", "role", "conn.", "failed", "ideal", "min", "mean", "max", "RTT", "loss", "spacing", "more")
Row = Mapping[str, Any]


def render(model: Row, *, now_ns: int, columns: int = WIDEST, paint: Paint = _PLAIN) -> str:
    """All of it, with a newline at the end; ``now_ns`` is the moment that is told of."""
    width = max(NARROWEST, min(columns, WIDEST))
    blocks = [list(_head(model, now_ns, width)), list(_absent(model, width, paint))]
    blocks += [list(_pair(pair, model["campaign"], width, paint)) for pair in model["pairs"]]
    blocks.append([line for text in avoided(model["avoid"]) for line in _wrapped(text, width)])
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def avoided(avoid: Row) -> Iterator[str]:
    """Which senders and which hours of the day had more of their rounds discarded than the others, each a sentence; none where none had."""
    for name, kind, hint in (("hosts", "sender", ""), ("hours", "hour", " o'clock UTC")):
        for one in avoid[name]:
            if one["avoid"]:
                low, high = one["interval"]["low"], one["interval"]["high"]
                share = f"{words.percent(one['discarded'] / one['rounds'])} of its {words.counted(one['rounds'], 'round')} measured a host"
                yield f"{kind} to avoid: {one['what']}{hint}, {share} ({words.percent(low)} to {words.percent(high)}), more than elsewhere"


def _head(model: Row, now_ns: int, width: int) -> Iterator[str]:
    campaign = model["campaign"]
    yield from _wrapped(" · ".join([campaign["name"], *([campaign["about"]] if campaign["about"] else [])]), width)
    yield from _wrapped(" · ".join(standing(campaign, now_ns)), width)


def standing(campaign: Row, now_ns: int) -> list[str]:
    """How far it is."""
    left = (campaign["ends_ns"] - now_ns) / 1e9
    state = "finished" if campaign["finished"] else "at work" if campaign["at_work"] else "not at work: the same command continues it"
    facts = [state, f"began {_moment(campaign['began_ns'])}"]
    if left > 0 and not campaign["finished"]:
        facts.append(f"{words.duration(left)} left")
    limit = campaign["disk_limit_bytes"]
    facts.append(f"disk {words.size(campaign['disk_bytes'])}" + ("" if limit is None else f" of {words.size(limit)}"))
    if campaign["removed_captures"]:
        facts.append(f"{words.counted(campaign['removed_captures'], 'round')} without captures by now")
    return facts


def _absent(model: Row, width: int, paint: Paint) -> Iterator[str]:
    for text in absent(model):
        yield from (paint("warning", line) for line in _wrapped(text, width))


def absent(model: Row) -> Iterator[str]:
    """Hosts that are not there, each a sentence."""
    for one in model["hosts"]:
        if one["up"] is False:
            yield f"{one['host']} is not there since {_moment(one['since_ns'])}: {one['why']}"


def _pair(pair: Row, campaign: Row, width: int, paint: Paint) -> Iterator[str]:
    yield paint("strong", f"{pair['pair']}  ({pair['sender']} → {pair['receiver']})")
    yield from _labelled("rounds", rounds(pair["rounds"], campaign), width)
    if not pair["judged"]:
        return
    yield from _labelled("network", network(pair["statement"]), width)
    discarded = pair["statement"]["discarded"]
    if discarded:
        text = f"{words.counted(discarded, 'round')} of {pair['judged']} measured a host instead, and must not be used"
        yield from (paint("discard", line) for line in _labelled("discard", text, width))
    yield from _labelled("causes", _causes(pair["causes"]), width)
    yield from _labelled("hosts", "; ".join(host(role, pair["hosts"][role]) for role in ("sender", "receiver")), width)
    if pair["flags"]:
        yield from _labelled("flags", ", ".join(f"{name} in {count}" for name, count in pair["flags"].items()), width)
    yield ""
    yield from _table(pair["aggregates"])
    for one in pair["predictions"]:
        if one["error_median"] is not None:
            yield from _labelled("prediction", prediction(one), width)


def rounds(found: Row, campaign: Row) -> str:
    """How many rounds, by what became of them."""
    known = [f"{found[name]} {name}" for name in _ORDER if found.get(name)]
    left = found["asked"] - sum(found.get(name, 0) for name in _ORDER) - (found["running"] is not None)
    running = [] if found["running"] is None or not campaign["at_work"] else [f"round {found['running']} is under way"]
    return ", ".join([*known, *running, *([f"{words.count(left)} to come"] if left > 0 else [])]) or "none yet"


def network(statement: Row) -> str:
    """What the network gives: the statement that a campaign is made for."""
    usable, everything = statement["network"], statement["everything"]
    if usable["throughput_mean"] is None:
        return "no round that may be used says what it gives"
    interval = usable["throughput_interval"]
    reach = "" if interval is None else f" ({words.rate(max(0.0, interval['low']))} to {words.rate(interval['high'])})"
    text = f"{words.rate(usable['throughput_mean'])}{reach} per data connection, from {words.counted(usable['rounds'], 'round')}"
    if statement["discarded"] and everything["throughput_mean"] is not None:
        text += f"; {words.rate(everything['throughput_mean'])} with those that measured a host"
    return text


def _causes(causes: Sequence[Row]) -> str:
    if not causes:
        return "none was judged"
    shown = []
    for role in ("data", "probe"):
        own = [one for one in causes if one["role"] == role]
        if own:
            shown.append(
                f"{role}: " + ", ".join(f"{one['cause']} {one['connections']} ({one['verdict'].replace('_', ' ')})" for one in own)
            )
    return "; ".join(shown)


def host(role: str, seen: Row) -> str:
    """What a host was like while it was measured."""
    shares = [("busy", "busy_share"), ("stolen", "steal_share"), ("throttled", "throttled_share")]
    told = [f"{words.percent(seen[key])} {name}" for name, key in shares if seen[key] is not None]
    if seen["nap_late_max_ns"] is not None:
        told.append(f"woke up {words.duration(seen['nap_late_max_ns'] / 1e9)} late at most")
    return f"{role} {', '.join(told) or 'tells nothing'}"


def _table(aggregates: Sequence[Row]) -> Iterator[str]:
    rows = [_HEAD, *(_cells(one) for one in aggregates)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        cells = [cell.ljust(width) if place < 2 else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield ("  " + "  ".join(cells)).rstrip()


def _cells(one: Row) -> tuple[str, ...]:
    bound = "!" if one["exceeds_window_bound"] else ""
    return (
        one["index"],
        one["role"],
        str(one["connections"]),
        str(one["failures"]),
        words.rate(one["x0"]),
        words.rate(one["throughput_min"]),
        words.rate(one["throughput_mean"]) + bound,
        words.rate(one["throughput_max"]),
        words.duration(one["rtt_mean"]),
        words.percent(one["loss_pooled"]),
        words.duration(one["spacing_mean"]),
        words.UNKNOWN if one["rounds_wanting"] is None else str(one["rounds_wanting"]),
    )


def prediction(one: Row) -> str:
    """How well probes predict data."""
    errors = f"{words.percent(one['error_median'])} off at the median, {words.percent(one['error_p90'])} at nine of ten"
    return f"index {one['index']}: data from probes, {errors} ({words.counted(one['predicted'], 'pair')})"


def _labelled(label: str, text: str, width: int) -> list[str]:
    return _wrapped(text, width, first=f"  {label.ljust(_LABEL)}", rest=" " * (_LABEL + 2))


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False) or [
        first
    ]


def _moment(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return words.UNKNOWN
    return datetime.datetime.fromtimestamp(nanoseconds // 1_000_000_000, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
