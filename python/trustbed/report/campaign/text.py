"""A campaign so far, as text for a terminal: at most 100 columns, readable without colour.

Order: the campaign and its progress; unreachable hosts; then, per pair of hosts, its rounds, the
network's throughput, rounds that measured a host instead and why, two-point results, how many more
rounds are needed, and the papers' table: per index and role the throughput that the window allows
(X₀), and the measured one. At the end which hours and hosts to avoid. The same model gives the same
text at the same width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trustbed.report import words
from trustbed.report.campaign import words as campaign_words
from trustbed.report.paint import Paint
from trustbed.report.text import PLAIN, fitted, joined, table, wrapped
from trustbed.report.text import WIDEST as WIDEST

if TYPE_CHECKING:
    from trustbed.campaign.model import (
        CampaignModel,
        CampaignState,
        CauseConnections,
        PairResults,
    )
    from trustbed.campaign.statistics.aggregate import Aggregate

_LABEL = 12
_HEAD = (
    "index",
    "role",
    "conn.",
    "failed",
    "ideal",
    "min",
    "mean",
    "max",
    "RTT",
    "loss",
    "spacing",
    "more",
)


def render(
    model: CampaignModel, *, now_ns: int, columns: int = WIDEST, paint: Paint = PLAIN
) -> str:
    """The text, with a newline at the end; ``now_ns`` is the time of the report."""
    width = fitted(columns)
    blocks = [list(_head(model, now_ns, width)), list(_absent(model, width, paint))]
    blocks += [list(_pair(pair, model.campaign, width, paint)) for pair in model.pairs]
    blocks.append(list(_avoid(model, width, paint)))
    return joined(*blocks)


def _head(model: CampaignModel, now_ns: int, width: int) -> Iterator[str]:
    campaign = model.campaign
    left = (campaign.ends_ns - now_ns) / 1e9
    yield from wrapped(
        " · ".join([campaign.name, *([campaign.about] if campaign.about else [])]), width
    )
    facts = [campaign_words.state(campaign), f"began {campaign_words.moment(campaign.began_ns)}"]
    if left > 0 and not campaign.finished:
        facts.append(f"{words.duration(left)} left")
    limit = campaign.disk_limit_bytes
    facts.append(
        f"disk {words.size(campaign.disk_bytes)}"
        + ("" if limit is None else f" of {words.size(limit)}")
    )
    if campaign.removed_captures:
        facts.append(f"{words.counted(campaign.removed_captures, 'round')} without captures by now")
    yield from wrapped(" · ".join(facts), width)


def _absent(model: CampaignModel, width: int, paint: Paint) -> Iterator[str]:
    for host in model.hosts:
        if host.up is False:
            text = (
                f"{host.host} is unreachable since {campaign_words.moment(host.since_ns)}: "
                f"{host.why}"
            )
            yield from (paint("warning", line) for line in wrapped(text, width))


def _pair(pair: PairResults, campaign: CampaignState, width: int, paint: Paint) -> Iterator[str]:
    yield paint("strong", f"{pair.pair}  ({pair.sender} → {pair.receiver})")
    yield from _labelled("rounds", campaign_words.rounds(pair, campaign), width)
    if not pair.judged:
        return
    yield from _labelled("network", campaign_words.network(pair.statement), width)
    if bad := campaign_words.discarded(pair):
        yield from (paint("discard", line) for line in _labelled("discard", bad, width))
    yield from _labelled("more", campaign_words.wanting(pair.statement, campaign), width)
    yield from _labelled("causes", _causes(pair.causes), width)
    yield from _labelled(
        "hosts",
        "; ".join(campaign_words.host(role, load) for role, load in pair.hosts.items()),
        width,
    )
    for row in pair.two_point:
        if row.role == "data":
            yield from _labelled("two-point", campaign_words.two_point(row), width)
    if pair.path.delay is not None:
        yield from _labelled("delay", campaign_words.delay(pair.path.delay), width)
    for estimate in pair.path.bandwidth:
        yield from _labelled("available", campaign_words.available(estimate), width)
    if pair.flags:
        yield from _labelled(
            "flags", ", ".join(f"{name} in {count}" for name, count in pair.flags.items()), width
        )
    yield ""
    rows = [_cells(one) for one in pair.aggregates]
    yield from table(_HEAD, rows, left=2, margin="  ")
    for prediction in pair.predictions:
        if prediction.error_median is not None:
            yield from _labelled("prediction", campaign_words.prediction(prediction), width)


def _avoid(model: CampaignModel, width: int, paint: Paint) -> Iterator[str]:
    """Which hours and hosts, or why that is unknown; hosts that were down."""
    if not any(pair.judged for pair in model.pairs):
        return
    avoid = model.avoid
    yield paint("strong", "To avoid")
    lines = [
        *campaign_words.hours(avoid),
        *campaign_words.hosts(avoid),
        *campaign_words.absences(model.hosts),
    ]
    for text in lines:
        yield from wrapped(text, width, first="  ", rest="    ")


def _causes(causes: Sequence[CauseConnections]) -> str:
    if not causes:
        return "none was judged"
    shown = []
    for role in ("data", "probe"):
        own = [one for one in causes if one.role == role]
        if own:
            shown.append(
                f"{role}: "
                + ", ".join(
                    f"{one.cause} {one.connections} ({one.verdict.replace('_', ' ')})"
                    for one in own
                )
            )
    return "; ".join(shown)


def _cells(one: Aggregate) -> tuple[str, ...]:
    bound = "!" if one.exceeds_window_bound else ""
    return (
        one.index,
        one.role,
        str(one.connections),
        str(one.failures),
        words.rate(one.x0),
        words.rate(one.throughput_min),
        words.rate(one.throughput_mean) + bound,
        words.rate(one.throughput_max),
        words.duration(one.rtt_mean),
        words.percent(one.loss_pooled),
        words.duration(one.spacing_mean),
        words.UNKNOWN if one.rounds_wanting is None else str(one.rounds_wanting),
    )


def _labelled(label: str, text: str, width: int) -> list[str]:
    return wrapped(text, width, first=f"  {label.ljust(_LABEL)}", rest=" " * (_LABEL + 2))
