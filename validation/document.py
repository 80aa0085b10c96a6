"""The section of docs/validation.md about other tools.

What was compared and equal, which reasons explain the rest, and what remains unexplained.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from validation import tcptrace, trustbed_side, tshark
from validation.reasons_counts import COUNTS
from validation.reasons_cut import CUTS
from validation.reasons_foreign import FOREIGN, NOTES
from validation.reasons_samples import SAMPLES
from validation.reasons_tshark import BEYOND_FRAME, LENGTHS, REASONS
from validation.run import Outcome

WANTED = 0.99
INTRODUCTION = """## Agreement with tcptrace and tshark

Every capture is read by trustbed, by `tcptrace -n -l -r` and by `tshark`, and compared per
connection and direction: packets, payload bytes, unique bytes, retransmitted packets and bytes, and
RTT samples with their count, minimum, mean and maximum against tcptrace; packets, payload bytes and
the flags of `tcp.analysis.*`, frame by frame, against tshark. `recordings/` are shipped; `traces/`
are captures of others, which are not: [traces.md](traces.md) lists where to get them.

A direction is *equal* when every field is, RTTs to the precision that tcptrace prints. It is
*explained* when, for every field that differs, all of this holds: an independent slow reader of the
packets (`validation/`, which shares nothing with trustbed) arrives at exactly trustbed's numbers by
trustbed's definitions and at exactly the tool's numbers by the tool's rules, and every packet,
sample or frame on which the two differ satisfies one of the named reasons below, each a predicate
over packets that also bounds what it may explain. Everything else is *unexplained*, and listed.
"""


class Named(Protocol):
    """The common interface of all kinds of reasons."""

    @property
    def name(self) -> str:
        """The reason's name in tables."""

    @property
    def meaning(self) -> str:
        """The reason's meaning, as a sentence."""


def share(outcomes: Iterable[Outcome]) -> float:
    """Directions equal or explained, of all."""
    states: Counter[str] = Counter()
    for outcome in outcomes:
        states.update(outcome.states)
    total = sum(states.values())
    return 1.0 if total == 0 else 1 - states["unexplained"] / total


def meanings() -> dict[str, str]:
    """Every reason by tool.name, with its sentence."""
    found: dict[str, str] = {}
    by_tool: tuple[tuple[str, tuple[Named, ...]], ...] = (
        ("tcptrace", (*COUNTS, *SAMPLES)),
        ("tshark", (*REASONS, *LENGTHS, *NOTES)),
        ("trustbed", FOREIGN),
    )
    for tool, reasons in by_tool:
        for reason in reasons:
            found.setdefault(f"{tool}.{reason.name}", reason.meaning)
    for cut in CUTS:
        for tool in ("tcptrace", "tshark") if cut.tool == "both" else (cut.tool,):
            found[f"{tool}.{cut.name}"] = cut.meaning
    return found | {"tshark.beyond_frame": BEYOND_FRAME}


def render(outcomes: list[Outcome]) -> str:
    """The section."""
    compared = [outcome for outcome in outcomes if not outcome.why_not]
    parts = [
        INTRODUCTION,
        _versions(),
        _summary(compared),
        _fields(compared),
        _reasons(compared),
        _unexplained(compared),
    ]
    return "\n".join([*parts, _files(compared), _not_compared(outcomes)])


def _versions() -> str:
    return f"Versions: {trustbed_side.version()}, {tcptrace.version()}, {tshark.version()}.\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join('---' for _ in head)}|"]
    lines += [
        f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    ]
    return "\n".join(lines) + "\n"


def _summary(outcomes: list[Outcome]) -> str:
    states: Counter[str] = Counter()
    for outcome in outcomes:
        states.update(outcome.states)
    total = sum(states.values())
    rows = [
        (state, states[state], f"{states[state] / total:.2%}" if total else "")
        for state in ("equal", "explained", "unexplained")
    ]
    head = (
        f"### Result\n\n{total} directions of {sum(o.connections for o in outcomes)} "
        f"connections in {len(outcomes)} captures: "
    )
    met = "met" if share(outcomes) >= WANTED else "**missed**"
    found = f"{share(outcomes):.2%} equal or explained (wanted: {WANTED:.0%}, {met})."
    return f"{head}{found}\n\n{_table(('state', 'directions', 'share'), rows)}"


def _fields(outcomes: list[Outcome]) -> str:
    totals: Counter[tuple[str, str, str]] = Counter()
    for outcome in outcomes:
        totals.update(outcome.fields)
    names = list(dict.fromkeys((tool, name) for tool, name, _ in totals))
    names.sort(key=lambda pair: pair[0])
    rows = [
        (
            tool,
            name,
            *(totals[tool, name, state] for state in ("equal", "explained", "unexplained")),
        )
        for tool, name in names
    ]
    return "### Fields\n\n" + _table(("tool", "field", "equal", "explained", "unexplained"), rows)


def _reasons(outcomes: list[Outcome]) -> str:
    used: Counter[str] = Counter()
    for outcome in outcomes:
        used.update(outcome.reasons)
    known = meanings()
    rows = [
        (f"`{name}`", count, known.get(name, "**not a known reason**"))
        for name, count in sorted(used.items(), key=lambda kv: (-kv[1], kv[0]))
    ]
    unused = sorted(f"`{name}`" for name in known if not used[name])
    text = (
        "### Reasons\n\nThe tool that differs, the reason, and the directions it takes part in.\n\n"
        + _table(("reason", "directions", "situation"), rows)
    )
    return f"{text}\nNot needed by any capture: {', '.join(unused)}.\n" if unused else text


def unknown_reasons(outcomes: Iterable[Outcome]) -> list[str]:
    """Reasons that were given but are not documented."""
    known = meanings()
    return sorted({name for outcome in outcomes for name in outcome.reasons if name not in known})


def _unexplained(outcomes: list[Outcome]) -> str:
    found = [each for outcome in outcomes for each in outcome.unexplained]
    if not found:
        return "### Unexplained\n\nNone.\n"
    rows = [
        (
            each.capture,
            each.connection,
            f"{each.source} → {each.destination}",
            "<br>".join(each.details),
        )
        for each in found
    ]
    return f"### Unexplained\n\n{_table(('capture', 'connection', 'direction', 'what'), rows)}"


def _files(outcomes: list[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        notes = [
            f"tcptrace: {outcome.tcptrace}" if outcome.tcptrace else "",
            f"tshark: {outcome.tshark}" if outcome.tshark else "",
        ]
        reasons = ", ".join(
            f"{name} {count}"
            for name, count in sorted(outcome.reasons.items(), key=lambda kv: (-kv[1], kv[0]))
        )
        cells = (
            outcome.states["equal"],
            outcome.states["explained"],
            outcome.states["unexplained"],
        )
        rows.append(
            (
                outcome.name,
                outcome.connections,
                outcome.directions,
                *cells,
                reasons,
                "; ".join(filter(None, notes)),
            )
        )
    head = (
        "capture",
        "connections",
        "directions",
        "equal",
        "explained",
        "unexplained",
        "explained by",
        "not read by",
    )
    return "### Captures\n\n" + _table(head, rows)


def _not_compared(outcomes: list[Outcome]) -> str:
    rows = [(outcome.name, outcome.why_not) for outcome in outcomes if outcome.why_not]
    if not rows:
        return ""
    text = (
        "### Not compared\n\nFiles that are not captures, that are damaged (each reader "
        "stops at another offset, and trustbed goes\n"
        "on), or whose link layer trustbed refuses.\n\n"
    )
    return text + _table(("file", "why"), rows)
