"""Results of campaigns on the papers' paths, beside the papers' own.

Published: "Traffic Anomaly Analysis and Characteristics on a Virtualized Network Testbed"
(PlanetLab), "Internet Traffic Characteristics of Virtual Machine on Amazon EC2". Throughputs in
KBps of 1000 bytes per second, as they print them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trustbed.campaign.model import CampaignModel
from trustbed.campaign.statistics.aggregate import Aggregate


@dataclass(frozen=True, kw_only=True)
class Values:
    """Of the data connections of a pair.

    Throughputs in KBps, round-trip times in seconds, loss in percent.
    """

    ideal: float | None
    least: float | None
    mean: float | None
    most: float | None
    ping: float | None
    rtt: float | None
    loss: float | None


@dataclass(frozen=True, kw_only=True)
class Published:
    """A paper's results for a path, and the causes that agree with them."""

    title: str
    values: Values
    conclusion: str
    causes: frozenset[str]


PUBLISHED: Mapping[str, Published] = {
    "beta-alpha": Published(
        title="β to α",
        values=Values(
            ideal=1475.1, least=893.4, mean=1073.7, most=1236.5, ping=0.0428, rtt=0.0556, loss=0.049
        ),
        conclusion="congestion",
        causes=frozenset({"network_congestion"}),
    ),
    "delta-gamma": Published(
        title="δ to γ",
        values=Values(
            ideal=760.6, least=680.4, mean=730.6, most=739.2, ping=0.083, rtt=0.0829, loss=0.015
        ),
        conclusion="the window",
        causes=frozenset({"window_limited"}),
    ),
    "lambda-kappa": Published(
        title="λ to κ",
        values=Values(
            ideal=3156.7, least=251.9, mean=288.6, most=413.1, ping=0.02, rtt=0.0225, loss=0.001
        ),
        conclusion="the host",
        causes=frozenset({"host_scheduling"}),
    ),
    "nu-mu": Published(
        title="ν to μ",
        values=Values(
            ideal=701.5, least=128.7, mean=241.9, most=363.3, ping=0.09, rtt=0.0974, loss=0.001
        ),
        conclusion="the host",
        causes=frozenset({"host_scheduling"}),
    ),
    # Tables of the means of I0 to I9; throughputs are given for single runs only.
    "client-instance": Published(
        title="EC2",
        values=Values(
            ideal=None, least=None, mean=None, most=None, ping=0.2131, rtt=0.2167, loss=1.04
        ),
        conclusion="loss",
        causes=frozenset({"network_loss"}),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Found:
    """A campaign's results for a pair."""

    pair: str
    values: Values
    rounds: int
    discarded: int
    causes: Counter[tuple[str, str]]

    @property
    def as_published(self) -> bool:
        """Whether most of its data connections have the cause that the paper names."""
        (cause, _), _ = self.causes.most_common(1)[0] if self.causes else (("", ""), 0)
        return cause in PUBLISHED[self.pair].causes


def found(pair: str, model: CampaignModel) -> Found:
    """A pair of a campaign's model: its data connections, all indices together."""
    results = next(one for one in model.pairs if one.pair == pair)
    data = [one for one in results.aggregates if one.role == "data"]
    causes: Counter[tuple[str, str]] = Counter()
    for one in results.causes:
        if one.role == "data":
            causes[one.cause, one.verdict] += one.connections
    values = Values(
        ideal=_mean([(one, one.x0) for one in data], 1e3),
        least=min(_kilobytes(one.throughput_min for one in data), default=None),
        mean=_mean([(one, one.throughput_mean) for one in data], 1e3),
        most=max(_kilobytes(one.throughput_max for one in data), default=None),
        ping=_mean([(one, one.rtt_base_mean) for one in data]),
        rtt=_mean([(one, one.rtt_mean) for one in data]),
        loss=_mean([(one, one.loss_mean) for one in data], 0.01),
    )
    return Found(
        pair=pair,
        values=values,
        rounds=results.judged,
        discarded=results.statement.discarded,
        causes=causes,
    )


def _mean(values: Iterable[tuple[Aggregate, float | None]], unit: float = 1.0) -> float | None:
    """Weighted by the connections of each aggregate."""
    known = [(value, one.connections) for one, value in values if value is not None]
    total = sum(count for _, count in known)
    return sum(value * count for value, count in known) / total / unit if total else None


def _kilobytes(rates: Iterable[float | None]) -> list[float]:
    return [rate / 1e3 for rate in rates if rate is not None]


def render(rows: Sequence[Found]) -> str:
    """The page: a table of the papers' numbers and ours, and what limits each pair."""
    lines = [
        "# The papers' paths, measured again",
        "",
        (
            "Four pairs of PlanetLab nodes and one of EC2 that two papers (Lee, Abe, Hirotsu, "
            "Umemura) measured with connection pairs, made"
        ),
        (
            "anew: hosts in namespaces, each with its own sshd, over emulated links with the "
            "papers' round-trip times, windows and losses;"
        ),
        (
            "Poisson traffic of others where the paper found congestion; a sender that gets "
            "its processor in rations where it found one that"
        ),
        (
            "was withheld. `python -m studies papers` makes them, measures them by two "
            "campaigns ([planetlab.toml](planetlab.toml),"
        ),
        (
            "[ec2.toml](ec2.toml)), and writes this page. What the campaigns say is in "
            "[planetlab.txt](planetlab.txt) and [ec2.txt](ec2.txt)."
        ),
        "",
        (
            "The two files cannot be carried out by themselves: the inventory that they name, "
            "`hosts.toml`, is made by that command in"
        ),
        (
            "`build/papers`, and leads to hosts that stand only while it runs. To measure "
            "hosts of your own by the same sizes, give"
        ),
        (
            "`inventory` [a file of yours](../../docs/inventory.md), and senders and "
            "receivers names of its hosts."
        ),
        "",
        (
            "Data connections; throughputs in KBps (1000 bytes a second), all rounds, also "
            "those to be discarded, as the papers count them:"
        ),
        "",
        "| path | | ideal | min | mean | max | ping | RTT | loss |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in rows:
        published = PUBLISHED[one.pair]
        lines.append(f"| {published.title} | published | {_cells(published.values)} |")
        lines.append(f"| | here | {_cells(one.values)} |")
    lines += [
        "",
        "What limits them:",
        "",
        "| path | published | here | discarded | |",
        "|---|---|---|---|---|",
    ]
    for one in rows:
        published = PUBLISHED[one.pair]
        causes = ", ".join(
            f"{cause} {count} ({verdict})" for (cause, verdict), count in one.causes.most_common()
        )
        lines.append(
            f"| {published.title} | {published.conclusion} | {causes} | {one.discarded} of "
            f"{one.rounds} rounds | "
            f"{'the same' if one.as_published else '**differs**'} |"
        )
    lines += [
        "",
        (
            "What is not the papers': the reasons. How full the path of β was, and how λ and "
            "ν were scheduled, is not printed; they were"
        ),
        (
            "chosen so that throughput and delay come near. `ideal` is the window over the "
            "round-trip time of the pings, in payload."
        ),
        "",
        (
            "All hosts here are namespaces of one machine. How *busy* it was, what was "
            "*stolen* from it, and, of hosts that are not starved,"
        ),
        (
            "how late something *woke up* is no host's own: every host reads the same "
            "`/proc/stat`, in which all hosts stand, their captures,"
        ),
        (
            "the emulator, the traffic of others, and the pairs that are measured at the same "
            "time. Nearly the same shares stand beside rounds"
        ),
        (
            "that are trusted and beside rounds that are to be discarded. No verdict rests on "
            "them: what a sender missed of its processor is"
        ),
        "taken from its own processes and its own control group. *Throttled* is of that group.",
    ]
    return "\n".join(lines) + "\n"


def _cells(values: Values) -> str:
    rates = [_number(one, 1) for one in (values.ideal, values.least, values.mean, values.most)]
    times = ["–" if one is None else f"{one * 1e3:.1f} ms" for one in (values.ping, values.rtt)]
    return " | ".join([*rates, *times, "–" if values.loss is None else f"{values.loss:.3f} %"])


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
