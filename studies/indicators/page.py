"""The page of the study.

How exact the spin monitor is, what each indicator tells and costs, and which is chosen. Pure.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from studies.indicators import cost
from studies.indicators.figures import Case, Figures, Point, figures
from studies.indicators.held import Held
from studies.indicators.indicators import CHEAP, SPIN, Indicator
from studies.indicators.plan import (
    COST_SECONDS,
    DISTURBED,
    QUOTAS,
    SECONDS,
    SPIN_SECONDS,
    WAKEUP_MS,
    Watched,
)

MOST_ERROR = 0.02
HALF_ERROR = 0.03
MOST_COST = 0.01
"""Of a core: what a indicator may cost that is called cheap."""
_TWINS = 2
WIDTH = 140

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A indicator, of which transfers its figures are, and what it costs.

    ``None`` where that was not measured.
    """

    indicator: Indicator
    of: str
    figures: Figures
    cost: float | None

    @property
    def is_cheap(self) -> bool:
        """Whether it costs what a indicator may."""
        return self.cost is not None and self.cost <= MOST_COST


def render(rows: Sequence[Row], *, missing: int, seed: int) -> str:
    """The section, from everything that was measured."""
    made = [row for row in rows if row["outcome"] == "made"]
    told = list(indicators(made))
    parts = [
        _introduction(rows, missing, seed),
        _accuracy(made),
        _indicators(told),
        _costs(made),
        _spinning(made),
        _chosen(told),
        _not_made(rows),
    ]
    return "\n".join(part for part in parts if part)


def _introduction(rows: Sequence[Row], missing: int, seed: int) -> str:
    transfers = [row for row in rows if row["part"] == "transfer"]
    left = f" {missing} of its steps are missing here." if missing else ""
    return "## Indicators of a processor that is withheld\n\n" + _prose(
        f"""A monitor that spins sees whatever a process is refused, and burns a core. How exact is
        it, and which cheaper indicator tells as
        well that a sender paused? Transfers of `make truth` with seed {seed} whose sending process
        is stopped, held by a quota, or beside
        a spinner, for {SECONDS} s each, disturbed for {DISTURBED["duration"]} from
        {DISTURBED["start"]} on, and undisturbed ones; each
        made twice, watched by everything cheap at once and by the spin monitor. Wakeups, the
        monitor
        and what reads the quota are processes
        of the sending host, disturbed with the sender, and while they are stopped they look later;
        the rest looks from outside.
        {len(transfers)} transfers were made.{left}"""
    )


def _accuracy(made: Sequence[Row]) -> str:
    found: dict[str, list[Row]] = {}
    for row in made:
        if row["part"] == "accuracy" and row["share"] is not None:
            found.setdefault(row["case"], []).append(row)
    if not found:
        return "### Accuracy of the spin monitor\n\nNothing has been measured yet.\n"
    expected = {f"quota {share:.0%}": share for share in QUOTAS} | {"competitor": 0.5}
    lines = []
    for case in (*expected, "free"):
        if case not in found:
            continue
        shares, known = [row["share"] for row in found[case]], expected.get(case)
        worst = "" if known is None else f"{max(abs(share - known) for share in shares) * 100:.2f}"
        charged = [row["charged_share"] for row in found[case] if row["charged_share"] is not None]
        granted = f"{median(charged):.2%}" if charged else ""
        lines.append(
            (
                case,
                "" if known is None else f"{known:.0%}",
                f"{median(shares):.2%}",
                worst,
                granted,
                len(shares),
            )
        )
    quotas = [
        abs(row["share"] - row["known"])
        for case in found
        if case in expected and case != "competitor"
        for row in found[case]
    ]
    halves = [abs(row["share"] - 0.5) for row in found.get("competitor", ())]
    verdicts = [
        *(_verdict("quotas", quotas, MOST_ERROR) if quotas else ()),
        *(_verdict("one competitor of ordinary priority", halves, HALF_ERROR) if halves else ()),
    ]
    versions = sorted(
        {str(row["version"]) for rows in found.values() for row in rows if row.get("version")}
    )
    groups = f" Control groups of version {', '.join(versions)}." if versions else ""
    text = f"""The share of a core that it says it had, in {SPIN_SECONDS:g} s, rounds of all cases
        one after the other. Quotas are of
        periods of 100 ms.{groups} Beside it stands what the kernel charged the monitor for. What it
        was charged for and did not have, as a
        hypervisor can do it, counts as its error here, although it is what a spin monitor is
        for."""
    table = _table(
        ("case", "known", "median", "worst error, points", "charged, median", "rounds"), lines
    )
    return f"### Accuracy of the spin monitor\n\n{_prose(text)}\n{table}\n" + "".join(
        f"- {verdict}\n" for verdict in verdicts
    )


def _verdict(what: str, errors: Sequence[float], most: float) -> Iterator[str]:
    worst = max(errors)
    kept = "kept" if worst <= most else "NOT kept"
    yield f"{what}: worst error {worst * 100:.2f} points, allowed {most * 100:g}: {kept}"


def indicators(made: Sequence[Row]) -> Iterator[Told]:
    """Every indicator with its figures.

    The monitor once against the transfer beside it, once against its undisturbed-by-it twin.
    """
    costs = measured_costs(made)
    transfers = [row for row in made if row["part"] == "transfer"]
    held = {(row["name"], row["watched"]): Held.read(row["held"]) for row in transfers}
    for indicator in CHEAP:
        cases = list(_cases(transfers, indicator, held, watched="cheap", of="cheap"))
        if cases:
            yield Told(
                indicator=indicator, of="", figures=figures(cases), cost=costs.get(indicator.costs)
            )
    sides: tuple[tuple[str, Watched], ...] = (("the twin", "cheap"), ("beside it", "spin"))
    for of, watched in sides:
        for indicator in SPIN:
            cases = list(_cases(transfers, indicator, held, watched="spin", of=watched))
            if cases:
                yield Told(
                    indicator=indicator,
                    of=of,
                    figures=figures(cases),
                    cost=costs.get(indicator.costs),
                )


def measured_costs(made: Sequence[Row]) -> dict[str, float]:
    """Shares of a core, medians of all rounds."""
    rounds = [cost.more(row["shares"]) for row in made if row["part"] == "cost"]
    found = {name: median(one[name] for one in rounds) for name in cost.SAMPLERS} if rounds else {}
    charged = [
        row["charged_share"]
        for row in made
        if row["part"] == "accuracy" and row["case"] == "free" and row["charged_share"]
    ]
    return found | ({"spin": median(charged)} if charged else {})


def _cases(
    transfers: Iterable[Row],
    indicator: Indicator,
    held: Mapping[tuple[str, str], Held],
    *,
    watched: Watched,
    of: Watched,
) -> Iterator[Case]:
    """Indicator values during transfers, each with what was held back in the same second.

    Held back in the transfer itself, or in its twin at the same offset from the start.
    """
    for row in transfers:
        pauses = held.get((row["name"], of))
        if row["watched"] != watched or pauses is None:
            continue
        said = [
            (value, pauses.during(begin, end))
            for begin, end, value in row["seen"].get(indicator.name, ())
        ]
        points = tuple(
            Point(value, second.share, second.is_long_pause)
            for value, second in said
            if second is not None
        )
        if points:
            yield Case(is_odd=row["is_odd"], points=points)


def _indicators(told: Sequence[Told]) -> str:
    if not told:
        return ""
    head = (
        "indicator",
        "seconds",
        "oversize",
        "ρ (95 %)",
        "oversize from",
        "precision",
        "recall",
        "F1",
        "of a core",
    )
    lines = []
    for one in told:
        found, of = one.figures, f", against {one.of}" if one.of else ""
        scored = found.even
        lines.append(
            (
                one.indicator.words + of,
                found.seconds,
                found.oversize,
                _correlation(found),
                "never" if math.isinf(found.threshold) else one.indicator.shown(found.threshold),
                _percent(scored.precision),
                _percent(scored.recall),
                _percent(scored.f1 if scored.hits + scored.misses else None),
                "–"
                if one.cost is None
                else f"{one.cost:.3%}"
                if one.cost < 0.1
                else f"{one.cost:.0%}",
            )
        )
    text = f"""Seconds are those in which a indicator looked; their pauses are *oversize* by the
        thresholds of a diagnosis, asked of that
        second. ρ is Spearman's, of what the indicator said and the share of the second that the
        sender held back; its interval is a
        bootstrap of transfers. From which value on a second is called oversize was chosen on odd
        seeds (highest F1), precision and recall
        are of even ones. Cost is what a sampler used in {COST_SECONDS:g} s more than without the
        indicator; for PSI and steal, which cannot
        be left out, it is that of all that cannot."""
    return f"### What each indicator tells\n\n{_prose(text)}\n{_table(head, lines)}"


def _correlation(found: Figures) -> str:
    if found.correlation is None:
        return "–"
    inside = "" if found.interval is None else f" ({found.interval[0]:.2f}…{found.interval[1]:.2f})"
    return f"{found.correlation:.2f}{inside}"


def _costs(made: Sequence[Row]) -> str:
    costs = measured_costs(made)
    words = {
        cost.LEAST: "what cannot be left out: shares of the machine, PSI, interfaces",
        "processes": "run-queue delay of two processes",
    }
    words |= {
        "cgroups": "the sampler's own control groups",
        "spin": "the spin monitor, by what the kernel charged",
    }
    lines = [
        (words.get(name, name), f"{share:.3%}" if share < 0.1 else f"{share:.0%}")
        for name, share in costs.items()
    ]
    return f"### Costs\n\n{_table(('sampler', 'of a core'), lines)}" if lines else ""


def _spinning(made: Sequence[Row]) -> str:
    """What the monitor does to the transfer that it watches."""
    by_name: dict[str, dict[str, Row]] = {}
    for row in made:
        if row["part"] == "transfer":
            by_name.setdefault(row["name"], {})[row["watched"]] = row
    lines = []
    for kind in sorted({row["kind"] for row in made if row["part"] == "transfer"}):
        pairs = [
            both
            for both in by_name.values()
            if len(both) == _TWINS and both["spin"]["kind"] == kind
        ]
        if not pairs:
            continue
        ratios = [
            both["spin"]["payload_bits_per_second"]
            / (both["cheap"]["payload_bits_per_second"] or math.inf)
            for both in pairs
        ]
        shares = [[_held_back(both[watched]) for both in pairs] for watched in ("cheap", "spin")]
        late = sum(both["spin"]["emulator_was_late"] for both in pairs)
        lines.append(
            (
                kind,
                len(pairs),
                f"{median(ratios):.0%}",
                *(f"{median(side):.1%}" for side in shares),
                late,
            )
        )
    if not lines:
        return ""
    head = (
        "what is done",
        "pairs",
        "throughput beside the monitor",
        "held back without it",
        "held back beside it",
        "emulator late",
    )
    text = """Medians over transfers: throughput beside the monitor as a share of its twin's, and
        the share of the time that the sender
        held back. A monitor that shares its host's quota or processor takes a part of it: pauses
        are then its own doing, which is why it
        is held against the twin."""
    return f"### What the monitor does to what it watches\n\n{_prose(text)}\n{_table(head, lines)}"


def _held_back(row: Row) -> float:
    second = Held.read(row["held"]).during(0, SECONDS * 1_000_000_000)
    return 0.0 if second is None else second.share


def chosen(told: Sequence[Told]) -> Told | None:
    """The cheap indicator with the highest F1 on odd seeds, of several the cheaper one.

    None where none tells anything.
    """
    cheap = [
        one for one in told if one.indicator in CHEAP and one.is_cheap and one.figures.odd.hits
    ]
    return min(cheap, key=lambda one: (-one.figures.odd.f1, one.cost or 0.0), default=None)


def _chosen(told: Sequence[Told]) -> str:
    best = chosen(told)
    text = "### What is chosen\n\n"
    if best is None:
        return f"{text}No cheap indicator has told anything yet.\n"
    monitor = next((one for one in told if one.indicator is SPIN[0] and one.of == "the twin"), None)
    beside = "" if monitor is None else f", beside {_f1(monitor)} of the spin monitor"
    usual = max(
        (one for one in told if one.indicator.always and one.figures.odd.hits),
        key=lambda one: one.figures.odd.f1,
        default=None,
    )
    lines = [
        f"By F1 on odd seeds, among those that cost at most {MOST_COST:.0%} of a core: "
        f"**{best.indicator.words}**. On even seeds its F1 is "
        f"{_f1(best)}{beside}.",
    ]
    if best.indicator.always:
        lines.append("Every run takes it, unless `[samples]` says otherwise: it stays the default.")
    else:
        lines.append(
            f'No run takes it unless asked for: `wakeups = "{WAKEUP_MS}ms"` below `[samples]`.'
        )
        if usual is not None:
            lines.append(
                f"Of what every run takes, the best is: {usual.indicator.words}, F1 {_f1(usual)}."
            )
    dear = [
        one.indicator.words
        for one in told
        if one.indicator in CHEAP and one.cost is not None and not one.is_cheap
    ]
    lines += [f"Too dear: {', '.join(dear)}."] if dear else []
    return text + "\n".join(f"- {line}" for line in lines) + "\n"


def _f1(one: Told) -> str:
    scored = one.figures.even
    return _percent(scored.f1 if scored.hits + scored.misses else None)


def _not_made(rows: Sequence[Row]) -> str:
    found = [
        (row["key"], row["outcome"], row.get("reason") or "")
        for row in rows
        if row["outcome"] != "made"
    ]
    return (
        "### What could not be measured\n\n" + _table(("step", "outcome", "why"), found)
        if found
        else ""
    )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _table(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    texts = [f"| {' | '.join(head)} |"]
    texts += ["|" + "---|" * (texts[0].count("|") - 1)]
    texts += [f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines]
    return "\n".join(texts) + "\n"


def _prose(text: str) -> str:
    """A paragraph in lines that a page may have."""
    return (
        textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
        + "\n"
    )
