"""The section of docs/validation.md about transfers of others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from validation.external.policing import STALLS, Connection
from validation.external.score import Case, Tally, confusions, grouped
from validation.truth.intervals import wilson

WANTED: Final[Mapping[str, float]] = {"sender": 0.92, "receiver": 0.85, "middle": 0.85}
WANTED_POLICED: Final[Mapping[str, str]] = {
    "alone": "≥ 90 %",
    "sharing": "≥ 60 %",
    "other": "≤ 1 %",
}
SHOWN_CONFUSIONS: Final = 3

_GROUPS: Final[Mapping[str, str]] = {
    "alone": "policed, alone in the policer",
    "sharing": "policed, sharing it with another client or other traffic",
    "other": "not policed, called policed",
    "untouched": "behind a policer that took less than 1 %, called policed",
}
_HEAD: Final = """## On networks that others made

`python -m validation external` judges transfers that trustbed's laboratory did not make: traces of
a carrier's policer and shaper, another TCP (ns-3's) on simulated paths, and links that follow
cellular traces. Each capture is judged alone, with its capture point given and nothing else. An
answer is right when its cause *and* its verdict are accepted; an answer that is a set of causes
counts only if it holds an accepted one and has at most two names. No host stalled in any of these
captures, so that every discard is wrong.
"""


def text(
    *,
    policing: Sequence[Connection] | None,
    simulated: Sequence[Case] | None,
    accepted: Mapping[str, str],
    cellular: Sequence[Case] | None,
) -> str:
    """The section. A part of which nothing was scored says so; ``None`` was not wanted.

    ``accepted`` says by kind what is true of simulated transfers.
    """
    parts = [_HEAD, _discards(policing or (), [*(simulated or ()), *(cellular or ())])]
    if policing is not None:
        parts.append(_policing(policing))
    if simulated is not None:
        parts.append(_simulated(simulated, accepted))
    if cellular is not None:
        parts.append(_cellular(cellular))
    return "\n".join(parts)


def percent(hits: int, of: int) -> str:
    """A share with its interval."""
    if not of:
        return "–"
    low, high = wilson(hits, of)
    return f"{hits / of:.0%} of {of} ({low:.0%}–{high:.0%})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _discards(policing: Sequence[Connection], cases: Sequence[Case]) -> str:
    wrong = [case.said for case in cases if case.is_discard]
    wrong += [_said(one) for one in policing if one.answer and one.answer.verdict == "discard"]
    total = len(cases) + len(policing)
    if not wrong:
        return f"Discards: none of {total} answers.\n"
    counts = ", ".join(f"{number} × {said}" for said, number in Counter(wrong).most_common())
    return f"Discards: **{len(wrong)}** of {total} answers, each wrong: {counts}.\n"


def _said(one: Connection) -> str:
    answer = one.answer
    return f"{' or '.join(answer.names)} → {answer.verdict}" if answer else "not found"


def _stalls(named: Mapping[str, int], connections: int) -> str:
    """For how many connections each stall of a host is among the causes named."""
    each = ", ".join(f"`{name}` for {number}" for name, number in sorted(named.items()))
    return f"Stalls among the causes named for these {connections} connections: {each or 'none'}."


def _policing(found: Sequence[Connection]) -> str:
    head = "### A carrier's policer and shaper\n"
    if not found:
        return f"{head}\nNot scored: TRUSTBED_POLICING names no directory with captures.\n"
    rows = []
    for group, words in _GROUPS.items():
        some = [one for one in found if one.group == group]
        rows.append(
            (
                words,
                percent(sum(one.is_policed_by_paper for one in some), len(some)),
                percent(sum(one.is_policed_by_us for one in some), len(some)),
                WANTED_POLICED.get(group, ""),
            )
        )
    stalls = Counter(
        name
        for one in found
        if one.answer is not None
        for name in STALLS.intersection(one.answer.names)
    )
    by_object = [one for one in found if one.group in ("alone", "sharing")]
    return (
        f"{head}\nConnections of a part of the validation set of Flach et al. (SIGCOMM 2016; "
        "repository USC-NSL/policing-detection, Apache-2.0), captured beside the server. A policed "
        "connection lost 1 % and more. The paper's detector is computed from "
        "the packets by an implementation of its own (`validation/external/detector.py`); a "
        "connection counts as found when one of its objects is. Of its published results for the "
        "whole set, 88 % are found of those alone in their policer and 32 % of those that share "
        "it, at 2.6 % false.\n\n"
        + _table(("connections", "paper's detector", "trustbed", "wanted"), rows)
        + (
            f"\nOf {sum(one.objects for one in by_object)} objects of policed connections the "
            f"detector finds {sum(one.objects_policed for one in by_object)}; trustbed finds an "
            f"empty bucket in {_total(by_object, 'exchanges_bucket_empty')} of "
            f"{_total(by_object, 'exchanges_lossy')} exchanges that lost packets. "
            f"{_stalls(stalls, len(found))}\n\n"
        )
        + _table(
            ("connections", "said instead of policed, or policed instead of the truth"),
            [
                (words, _listed(_wrong(found, group)))
                for group, words in _GROUPS.items()
                if _wrong(found, group)
            ],
        )
    )


def _total(found: Iterable[Connection], column: str) -> int:
    return sum(getattr(one.answer, column) or 0 for one in found if one.answer)


def _wrong(found: Sequence[Connection], group: str) -> list[tuple[str, int]]:
    is_wanted = group in ("alone", "sharing")
    said = Counter(
        _said(one)
        for one in found
        if one.group == group and one.is_policed_by_us != is_wanted and group != "untouched"
    )
    return said.most_common()


def _listed(counts: Sequence[tuple[str, int]], shown: int = 6) -> str:
    words = [f"{said} ({number})" for said, number in counts[:shown]]
    rest = sum(number for _, number in counts[shown:])
    return ", ".join([*words, f"others ({rest})"] if rest else words)


def _simulated(cases: Sequence[Case], accepted: Mapping[str, str]) -> str:
    head = "### Another TCP on simulated paths\n"
    if not cases:
        return f"{head}\nNot scored: nothing was simulated here (Debian: libns3-dev).\n"
    kinds = grouped(cases, lambda case: case.kind)
    made = len({case.name for case in cases})
    return (
        f"{head}\n{made} transfers of {len(kinds)} kinds, made by ns-3 "
        "(`validation/external/ns3`): a draw whose limit had no effect in the simulation's own "
        "account is no transfer of its kind and is drawn again. A third of them is of each family "
        "of networks: *near* (4–40 Mbit/s, 12–60 ms, CUBIC and NewReno), *far* (2–80 Mbit/s, "
        "50–180 ms, Reno and CUBIC, mostly downloads) and *plain* (1–20 Mbit/s, 8–120 ms, short "
        "segments and an RTO of at least 1 s, as ns-3 has by default).\n\n"
        + _points(cases, WANTED)
        + "\n"
        + _table(
            ("kind", "accepted", *WANTED, "said instead"),
            [_kind(kind, some, accepted[kind]) for kind, some in kinds.items()],
        )
    )


def _points(cases: Sequence[Case], wanted: Mapping[str, float]) -> str:
    by_point = grouped(cases, lambda case: case.point)
    families = sorted({case.family for case in cases})
    rows = []
    for point, share in wanted.items():
        some = by_point.get(point, [])
        tally = Tally.count(some)
        rows.append(
            (
                f"capture of the {point}" if point != "middle" else "capture midway",
                percent(tally.right, tally.of),
                f"≥ {share:.0%}",
                *(_right(case for case in some if case.family == each) for each in families),
                percent(tally.causes_right, tally.of),
                str(tally.sets_right),
                str(tally.discards),
            )
        )
    return _table(
        (
            "",
            "cause and verdict right",
            "wanted",
            *families,
            "cause right",
            "right as a set",
            "discards",
        ),
        rows,
    )


def _right(cases: Iterable[Case]) -> str:
    tally = Tally.count(cases)
    return f"{tally.right}/{tally.of}" if tally.of else "–"


def _kind(kind: str, cases: Sequence[Case], accepted: str) -> tuple[str, ...]:
    def at(point: str) -> str:
        return _right(case for case in cases if case.point == point)

    return (
        f"`{kind}`",
        accepted,
        *(at(point) for point in WANTED),
        _listed(confusions(cases), SHOWN_CONFUSIONS),
    )


def _cellular(cases: Sequence[Case]) -> str:
    head = "### Cellular links\n"
    if not cases:
        return f"{head}\nNot scored: no transfer was made here (root and network namespaces).\n"
    made = len({case.name for case in cases})
    verdicts = Counter(case.said for case in cases)
    return (
        f"{head}\n{made} bulk transfers of 15 s over links of `trustbed run` that follow synthetic "
        "cellular traces (3–24 Mbit/s in the mean, fades of 0.1–0.5 s). Accepted: "
        f"{', '.join(cases[0].accepted)} → {' or '.join(cases[0].verdicts)}.\n\n"
        + _table(
            ("", *WANTED),
            [
                (
                    "cause and verdict right",
                    *(_right(case for case in cases if case.point == point) for point in WANTED),
                )
            ],
        )
        + f"\nSaid: {_listed(verdicts.most_common(), 8)}.\n"
    )
