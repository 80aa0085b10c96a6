"""The figures of Vishwanath and Vahdat (USENIX ATC 2008): files, directions, comparisons. Pure.

A comparison takes the cells of the figure's runs by the name of their file, and returns a check for
every statement of the study that the scale allows to repeat.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from studies.background.checks import (
    Cell,
    Cells,
    Check,
    Values,
    Verdict,
    below,
    cell,
    differs,
    factor,
    points,
    ratio,
)

Runs = Mapping[str, Cells]
"""The cells of runs by the names of their files, without the ending."""
HARDLY = 1.1
"""A slowdown that hardly matters: the study gives no number."""
_USERS = ("web", "bursty")
_SHARES = (0.05, 0.5, 0.95)
_LOSSES = ("0.1%", "0.5%", "1%", "2%")
_CAPACITIES = ("5Mbit/s", "10Mbit/s", "20Mbit/s", "100Mbit/s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of the study.

    Attributes:
        number: Its number, or numbers.
        published: The direction that the study reports.
        files: The scenarios that repeat it, without ``.toml``.
        compare: The checks, from the cells of these files.
    """

    number: str
    published: str
    files: Sequence[str]
    compare: Callable[[Runs], Sequence[Check]]


def _generation(runs: Runs) -> list[Check]:
    cells = runs["figure-04"]

    def slower(what: str, transport: str) -> Values:
        return cell(cells, f"{what} {transport}").medians

    return [
        factor(
            f"{name}: median over UDP / over TCP > 1",
            ratio(slower(what, "udp"), slower(what, "tcp")),
        )
        for what, name in (("cbr", "CBR"), ("poisson", "Poisson"), ("playback", "playback"))
    ]


def _losses(runs: Runs) -> list[Check]:
    cells = runs["figure-05"]
    users = cell(cells, "0%, web")
    compared = {
        loss: differs(cell(cells, f"{loss}, none"), users, shares=_SHARES) for loss in _LOSSES
    }
    rounds = min(count for _, count in compared.values())
    same = [loss for loss, (is_other, _) in compared.items() if not is_other]
    verdict: Verdict = "missing" if rounds < 2 else "open" if same else "found"
    measured = (
        "not measured"
        if rounds < 2
        else f"not told apart from the model: {', '.join(same)}"
        if same
        else "every loss rate differs at the 5th, 50th or 95th percentile"
    )
    statement = "no loss rate of 0.1, 0.5, 1, 2 % has the model's distribution"
    return [Check(statement=statement, measured=measured, rounds=rounds, verdict=verdict)]


def _shift_and_width(runs: Runs) -> list[Check]:
    found = []
    for size in ("4KB", "1MB"):
        none, poisson, users = (
            cell(runs["figure-06-07"], f"{size}, {name}") for name in ("none", "poisson", "web")
        )
        found += [
            factor(
                f"{size}: median beside Poisson / without > 1", ratio(poisson.medians, none.medians)
            ),
            factor(
                f"{size}: 5th to 95th percentile, beside the model / beside Poisson > 1",
                ratio(users.spread, poisson.spread),
            ),
            below(
                f"{size}: 5th percentile beside the model / beside Poisson < 1",
                ratio(users.at(0.05), poisson.at(0.05)),
            ),
        ]
    return found


def _capacities(runs: Runs) -> list[Check]:
    cells = runs["figure-08"]
    slowdowns = {
        rate: ratio(cell(cells, f"{rate}, web").medians, cell(cells, f"{rate}, none").medians)
        for rate in _CAPACITIES
    }
    return [
        factor(
            f"slowdown at {slower} / at {faster} > 1",
            ratio(slowdowns[slower], slowdowns[faster]),
        )
        for slower, faster in itertools.pairwise(_CAPACITIES)
    ]


def _mean_rates(runs: Runs) -> list[Check]:
    cells = runs["figure-09"]
    none = cell(cells, "none")
    found = []
    for name, words in (("web", "the model"), ("bursty", "HB")):
        low, high = (cell(cells, f"{name}, {rate}Mbit/s") for rate in ("2.5", "9.9"))
        found += [
            below(
                f"slowdown beside {words} at 2.5 Mbit/s < {HARDLY}",
                ratio(low.medians, none.medians),
                least=HARDLY,
            ),
            factor(
                f"median beside {words} at 9.9 / at 2.5 Mbit/s > 1",
                ratio(high.medians, low.medians),
            ),
        ]
    return found


def _streams(runs: Runs) -> list[Check]:
    cells = runs["figure-10"]
    jitter = {
        (rate, name): cell(cells, f"{rate}Mbit/s, {name}").jitter
        for rate in ("3.5", "4", "6")
        for name in ("web", "bursty")
    }
    return [
        *(
            factor(
                f"jitter beside {words} at {slower} / at {faster} Mbit/s > 1",
                ratio(jitter[slower, name], jitter[faster, name]),
            )
            for name, words in (("web", "the model"), ("bursty", "HB"))
            for slower, faster in (("3.5", "4"), ("4", "6"))
        ),
        factor(
            "jitter at 3.5 Mbit/s beside HB / beside the model > 1",
            ratio(jitter["3.5", "bursty"], jitter["3.5", "web"]),
        ),
    ]


def _buffers(runs: Runs) -> list[Check]:
    cells = runs["figure-11"]
    return [
        factor(
            f"jitter beside {words} with a buffer of 10 s / without > 1",
            ratio(cell(cells, f"10s, {name}").jitter, cell(cells, f"0s, {name}").jitter),
        )
        for name, words in (("web", "the model"), ("bursty", "HB"))
    ]


def _estimators(runs: Runs) -> list[Check]:
    found = []
    for file in ("figure-12-30", "figure-12-50", "figure-12-70"):
        for tool, name in (("pathload", "pathload"), ("pathchirp", "pathChirp")):
            steady, bursty = (
                _magnitude([cell(runs[file], f"{model}, {tool}") for model in models])
                for models in (("cbr", "poisson"), _USERS)
            )
            more = {
                number: bursty[number] - steady[number] for number in bursty if number in steady
            }
            found.append(
                points(
                    f"{name} at {file[-2:]} Mbit/s of the study: absolute error beside model and "
                    "HB - beside CBR and Poisson > 0",
                    more,
                )
            )
    return found


def _magnitude(cells: Cells) -> Values:
    """The mean size of the errors of several cells, in the rounds that all of them have."""
    rounds = set.intersection(*(set(one.errors) for one in cells))
    return {
        number: sum(abs(one.errors[number]) for one in cells) / len(cells)
        for number in sorted(rounds)
    }


def _reverse(runs: Runs) -> list[Check]:
    cells = runs["figure-13"]
    none = cell(cells, "none")
    reverse: Sequence[tuple[str, Cell]] = (
        ("Poisson", cell(cells, "poisson from client")),
        ("the model", cell(cells, "web from server")),
    )
    return [
        factor(
            f"median beside {name} on the reverse path / without > 1",
            ratio(one.medians, none.medians),
        )
        for name, one in reverse
    ]


def _time_scales(runs: Runs) -> list[Check]:
    found = []
    for size, hits, spares in (("1MB", "traffic1", "traffic2"), ("4KB", "traffic2", "traffic1")):
        above, under = (cell(runs["figure-14"], f"{size}, {name}.model") for name in (hits, spares))
        names = tuple(name.capitalize() for name in (hits, spares))
        found.append(
            factor(
                f"{size}: mean beside {names[0]} / beside {names[1]} > 1",
                ratio(above.means, under.means),
            )
        )
    return found


FIGURES: tuple[Figure, ...] = (
    Figure(
        number="4",
        published="UDP delays fetches more than TCP of the same mean rate",
        files=("figure-04",),
        compare=_generation,
    ),
    Figure(
        number="5",
        published="no fixed loss rate reproduces the distribution beside the model",
        files=("figure-05",),
        compare=_losses,
    ),
    Figure(
        number="6, 7",
        published="Poisson shifts the distribution, the model widens it; faster 5th percentile",
        files=("figure-06-07",),
        compare=_shift_and_width,
    ),
    Figure(
        number="8",
        published="the slowdown falls as the capacity grows",
        files=("figure-08",),
        compare=_capacities,
    ),
    Figure(
        number="9",
        published="bursty alone is not enough: the mean rate decides",
        files=("figure-09",),
        compare=_mean_rates,
    ),
    Figure(
        number="10",
        published="jitter grows as capacity comes closer to the load, and with burstiness",
        files=("figure-10",),
        compare=_streams,
    ),
    Figure(
        number="11",
        published="a buffer of 10 s leaves later deadlines: jitter grows",
        files=("figure-11",),
        compare=_buffers,
    ),
    Figure(
        number="12",
        published="estimators are worse beside bursty traffic than beside CBR and Poisson",
        files=("figure-12-30", "figure-12-50", "figure-12-70"),
        compare=_estimators,
    ),
    Figure(
        number="13",
        published="traffic on the reverse path slows forward transfers down",
        files=("figure-13",),
        compare=_reverse,
    ),
    Figure(
        number="14",
        published="Traffic1 hits objects of 1 MB, Traffic2 those of 4 KB",
        files=("figure-14",),
        compare=_time_scales,
    ),
)
"""In the order of the study."""
