"""Testbeds into cases: which parts are compared with which, and what their repetitions gave.

Several sources are a testbed each, and a case is a combination of factors that all of them have. Of
one source a factor's levels are the testbeds, and a case is a combination of the other factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trustbed.compare.calls import WrittenCalls
from trustbed.compare.error import CompareError
from trustbed.compare.judge import CaseValues, Values
from trustbed.compare.metrics import LEVEL_TITLES
from trustbed.compare.model import LEVELS, LeftOut, TestbedResult
from trustbed.compare.sources import (
    Observed,
    Part,
    Source,
    SourceCell,
    common_point,
)
from trustbed.compare.workloads import matched

ENOUGH = 10
"""Repetitions of each testbed that the method asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Testbed:
    """One testbed: its parts by case."""

    __test__ = False  # it is no test, whatever pytest makes of the name

    name: str
    source: Source
    parts: Mapping[str, Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Testbeds, the reference first, and the labels of the cases that all of them have."""

    by: str
    testbeds: Sequence[Testbed]
    cases: Sequence[str]
    interleaved: bool
    unmatched: Sequence[str] = ()


@dataclass(slots=True)
class Gathered:
    """What the repetitions gave: values by case, and a record of every testbed.

    ``written`` has the calls that repetitions that count wrote down, by case and testbed.
    """

    cases: list[CaseValues] = field(default_factory=list)
    testbeds: list[TestbedResult] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    written: dict[tuple[str, str], list[Mapping[str, WrittenCalls]]] = field(default_factory=dict)


def by_sources(sources: Sequence[Source], reference: str | None) -> Arrangement:
    """Every source a testbed, the first the reference unless one is named."""
    ordered = _first([source.name for source in sources], reference, "testbed")
    known = {source.name: source for source in sources}
    single = all(len(source.cells) == 1 for source in sources)
    testbeds = [
        Testbed(
            name=name,
            source=known[name],
            parts={"" if single else cell.label: cell.part for cell in known[name].cells},
        )
        for name in ordered
    ]
    testbeds, cases, unmatched = _common(testbeds, chosen=reference is not None)
    return Arrangement(
        by="run", testbeds=testbeds, cases=cases, interleaved=False, unmatched=unmatched
    )


def measured_apart(arranged: Arrangement) -> Iterable[str]:
    """A word where testbeds were measured by different programs, which count differently."""
    for fact in ("program", "traced by"):
        by = {one.name: one.source.facts.get(fact) for one in arranged.testbeds}
        if len(set(by.values())) > 1:
            listed = ", ".join(f"{name} by {program or 'a run'}" for name, program in by.items())
            yield (
                f"the testbeds were measured by different programs, which may count differently: "
                f"{listed}"
            )


def by_factor(source: Source, by: str | None, reference: str | None) -> Arrangement:
    """Every level of a factor a testbed, the first the reference unless one is named.

    Raises:
        CompareError: There is no such factor, or several and none is named.
    """
    key = _factor(source, by)
    levels = _first(source.factors[key], reference, f"level of {key}")
    # Of testbeds that differ in no other factor there is one case, without a label.
    parts: dict[str, dict[str, Part]] = {level: {} for level in levels}
    for cell in source.cells:
        own = cell.levels.get(key)
        if own in parts:
            parts[own][_others(cell, key)] = cell.part
    testbeds = [
        Testbed(name=level, source=source, parts=held) for level, held in parts.items() if held
    ]
    if len(testbeds) < 2:
        raise CompareError(
            f"{key} has the same effect at all its levels, {source.path}",
            "name another factor with --by",
        )
    testbeds, cases, unmatched = _common(testbeds, chosen=reference is not None)
    return Arrangement(
        by=key, testbeds=testbeds, cases=cases, interleaved=True, unmatched=unmatched
    )


def _factor(source: Source, by: str | None) -> str:
    known = ", ".join(source.factors) or "none"
    if by is not None:
        names = [key for key in source.factors if key == by or key.endswith(f".{by}")]
        if len(names) != 1:
            raise CompareError(f"no factor is called {by}, {source.path}", f"there are: {known}")
        return names[0]
    varied = [key for key, levels in source.factors.items() if len(levels) > 1]
    if not varied:
        raise CompareError(
            f"one testbed only, {source.path}",
            "give two runs, or one of a scenario with a factor",
        )
    if len(varied) > 1:
        raise CompareError(
            f"several factors, {source.path}: {', '.join(varied)}",
            f"say which one is the testbed: --by {varied[0]}",
        )
    return varied[0]


def _first(names: Sequence[str], reference: str | None, what: str) -> list[str]:
    if reference is None:
        return list(names)
    if reference not in names:
        raise CompareError(f"no {what} is called {reference}", f"there are: {', '.join(names)}")
    return [reference, *(name for name in names if name != reference)]


def levels_of(arranged: Arrangement, testbed: Testbed) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The cases of a testbed: label, and the levels of its factors but that of the testbeds."""
    for cell in testbed.source.cells:
        if arranged.by == "run":
            yield cell.label, cell.levels
        elif cell.levels.get(arranged.by) == testbed.name:
            rest = {name: level for name, level in cell.levels.items() if name != arranged.by}
            yield _others(cell, arranged.by), rest


def _others(cell: SourceCell, key: str) -> str:
    return ", ".join(level for name, level in cell.levels.items() if name != key)


def _common(
    testbeds: Sequence[Testbed], *, chosen: bool
) -> tuple[list[Testbed], list[str], list[str]]:
    """The testbeds that share cases, these cases, and a word about everything left out.

    The reference is the first testbed; unless it was chosen, the first that shares any.
    """
    compared = _matched(testbeds[:1] if chosen else testbeds, testbeds)
    common = [label for label in compared[0].parts if all(label in one.parts for one in compared)]
    if len(compared) < 2 or not common:
        raise CompareError(
            "the testbeds have no case in common: "
            + "; ".join(f"{one.name} has {_listed(one)}" for one in testbeds),
            "compare runs of the same scenario",
        )
    unmatched = [
        f"{one.name}: no case in common with {compared[0].name}"
        for one in testbeds
        if one not in compared
    ]
    unmatched += [
        f"{label}: only in {', '.join(one.name for one in compared if label in one.parts)}"
        for label in dict.fromkeys(label for one in compared for label in one.parts)
        if label not in common
    ]
    return compared, common, unmatched


def _matched(references: Sequence[Testbed], testbeds: Sequence[Testbed]) -> list[Testbed]:
    """The first reference that shares a case with another testbed, and those that share one."""
    for first in references:
        others = [one for one in testbeds if one is not first and first.parts.keys() & one.parts]
        if others:
            return [first, *others]
    return [references[0]]


def _listed(testbed: Testbed) -> str:
    return " / ".join(testbed.parts)


# Values.


def gather(arranged: Arrangement, *, warm_up: int) -> Gathered:
    """Reads every repetition; drops the first ``warm_up`` rounds of each testbed.

    Raises:
        CompareError: Two testbeds did something else.
    """
    found = Gathered()
    left_out: dict[str, list[LeftOut]] = {one.name: [] for one in arranged.testbeds}
    used = dict.fromkeys(left_out, 0)
    dropped = dict.fromkeys(left_out, 0)
    names = [one.name for one in arranged.testbeds]
    for label in arranged.cases:
        traced: dict[str, bool] = {}
        parts = [one.parts[label] for one in arranged.testbeds]
        called = prefixes(names, parts, label)
        found.caveats += _alone(arranged.testbeds, parts, called, label)
        point = common_point(parts, called, warm_up=warm_up)
        values = []
        for testbed, part, prefixed in zip(arranged.testbeds, parts, called, strict=True):
            kept = []
            for one in part.observed(prefixed, point):
                why = "a round of the warm-up" if one.round < warm_up else one.found.invalid
                if why is None:
                    kept.append(one)
                else:
                    left_out[testbed.name].append(
                        LeftOut(repetition=one.name, case=label, reason=why)
                    )
            used[testbed.name] += len(kept)
            found.written[label, testbed.name] = part.written({one.name for one in kept})
            if kept:
                traced[testbed.name] = any(one.found.traced for one in kept)
            dropped[testbed.name] += sum(one.found.dropped_at_start for one in kept)
            values.append(_values(testbed.name, kept))
            found.caveats += _incomplete(testbed.name, label, part.planned, kept)
        found.caveats += _traced(traced, label)
        found.cases.append(CaseValues(label=label, reference=values[0], candidates=values[1:]))
    found.testbeds = [
        TestbedResult(
            name=one.name,
            source=str(one.source.path),
            planned=sum(one.parts[label].planned for label in arranged.cases),
            used=used[one.name],
            left_out=tuple(left_out[one.name]),
            warm_up=_warm_up(one, arranged.cases, dropped[one.name], warm_up),
            facts=one.source.facts,
        )
        for one in arranged.testbeds
    ]
    return found


def check_work(arranged: Arrangement) -> None:
    """Checks that the testbeds are asked for the same work in every case.

    Raises:
        CompareError: One is asked for something else.
    """
    for label in arranged.cases:
        prefixes(
            [one.name for one in arranged.testbeds],
            [one.parts[label] for one in arranged.testbeds],
            label,
        )


def prefixes(names: Sequence[str], parts: Sequence[Part], label: str = "") -> list[dict[str, str]]:
    """How the metrics of each testbed's workloads are prefixed: those that all have.

    Without a prefix where there is only one.

    Raises:
        CompareError: They have none in common, or one that was asked something else.
    """
    first = parts[0]
    pairs: list[Mapping[str, str]] = [{name: name for name in first.workloads}]
    for name, part in zip(names[1:], parts[1:], strict=True):
        where = f"{names[0]} and {name}" + (f", {label}" if label else "")
        pairs.append(dict(matched(first.workloads, part.workloads, where)))
    common = [name for name in first.workloads if all(name in one for one in pairs)]
    if not common:
        have = "; ".join(
            f"{name} has {', '.join(part.workloads) or 'none'}"
            for name, part in zip(names, parts, strict=True)
        )
        raise CompareError(
            f"the testbeds have no workload in common{f', {label}' if label else ''}: {have}",
            "compare runs of the same scenario",
        )
    alone = len(common) == 1
    return [{one[name]: "" if alone else name for name in common} for one in pairs]


def _alone(
    testbeds: Sequence[Testbed],
    parts: Sequence[Part],
    called: Sequence[Mapping[str, str]],
    label: str,
) -> Iterable[str]:
    """A word about every workload that not all testbeds have."""
    where = f" ({label})" if label else ""
    for testbed, part, names in zip(testbeds, parts, called, strict=True):
        rest = [name for name in part.workloads if name not in names]
        if rest:
            listed = ", ".join(rest)
            yield f"{testbed.name}{where}: not compared, since not all testbeds have it: {listed}"


def _values(testbed: str, kept: Sequence[Observed]) -> Values:
    metrics: dict[str, list[float]] = {}
    per: dict[str, str] = {}
    absent: dict[str, str] = {}
    calls: dict[str, list[Mapping[str, float]]] = {}
    for one in kept:
        for key, value in one.found.values.items():
            metrics.setdefault(key, []).append(value)
        per |= one.found.per
        absent = one.found.absent | absent
        for name, counts in one.found.calls.items():
            calls.setdefault(name, []).append(counts)
    if not kept:
        absent = dict.fromkeys(LEVELS, "no repetition counts")
    causes = [cause for one in kept for cause in one.found.causes]
    return Values(
        testbed=testbed, metrics=metrics, per=per, absent=absent, calls=calls, causes=causes
    )


def _incomplete(testbed: str, label: str, planned: int, kept: Sequence[Observed]) -> Iterable[str]:
    """What the method asks for and is not there."""
    where = f"{testbed} ({label})" if label else testbed
    if len(kept) < ENOUGH:
        yield (
            f"{where}: {len(kept)} of {planned} repetitions count; the method asks for {ENOUGH}, "
            f"{max(1, ENOUGH - len(kept))} more"
        )
    counts: dict[str, int] = {}
    for one in kept:
        for level in one.found.absent:
            counts[level] = counts.get(level, 0) + 1
    for level in LEVELS:
        if 0 < counts.get(level, 0) < len(kept):
            why = next(one.found.absent[level] for one in kept if level in one.found.absent)
            yield (
                f"{where}: {LEVEL_TITLES[level].lower()} of {counts[level]} of {len(kept)} "
                f"repetitions is left out: {why}"
            )


def _traced(traced: Mapping[str, bool], label: str) -> Iterable[str]:
    """A word where some testbeds were traced and others not: tracing slows what is traced."""
    apart = [name for name, was in traced.items() if was]
    if apart and len(apart) < len(traced):
        where = f" ({label})" if label else ""
        others = ", ".join(name for name in traced if name not in apart)
        yield (
            f"system calls of {', '.join(apart)} were traced, and those of {others} not{where}: "
            "what tracing costs counts as a difference"
        )


def _warm_up(testbed: Testbed, cases: Sequence[str], requests: int, rounds: int) -> str:
    said = [part.dropped for label in cases if (part := testbed.parts[label]).dropped]
    parts = list(dict.fromkeys(said))
    if requests:
        parts.append(f"{requests} requests in all")
    if rounds:
        parts.insert(0, "1 round" if rounds == 1 else f"{rounds} rounds")
    return "; ".join(parts)
