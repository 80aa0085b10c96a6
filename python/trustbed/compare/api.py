"""The library's entry point for comparisons of testbeds.

A testbed is a run, or a directory with results of other programs or with traces of system calls. A
comparison reads directories and carries nothing out; :mod:`trustbed.compare.explain` does, where
it is asked which setting closes a gap.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from trustbed.compare import tracing_cost, transfer_causes
from trustbed.compare.cases import (
    Arrangement,
    Gathered,
    by_factor,
    by_sources,
    check_work,
    gather,
    measured_apart,
)
from trustbed.compare.chains import MOST_ORDER, chains_of
from trustbed.compare.error import CompareError
from trustbed.compare.imported import read_results
from trustbed.compare.judge import Rules, judge
from trustbed.compare.metrics import METRICS, base
from trustbed.compare.model import CaseResult, Comparison
from trustbed.compare.sources import Source, planned, read_run
from trustbed.compare.statistics import RESOLUTION, TOLERANCE
from trustbed.compare.traced import TRACES, read_traces
from trustbed.run.directory import MANIFEST
from trustbed.run.owned_directory import kind_of
from trustbed.scenario import ScenarioFile

SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a comparison is asked for.

    Attributes:
        by: The factor whose levels are the testbeds, of a single run.
        reference: The testbed or level that the others are compared with; ``None``: the first.
        tolerance: The share of the reference that counts as similar.
        tolerances: The same of single metrics, by key.
        resolution: The smallest difference that counts.
        warm_up: Rounds that are dropped at the beginning.
        seed: Of the simulation of further repetitions.
        order: Calls of a state of chains of system calls, 1 to 4.
    """

    by: str | None = None
    reference: str | None = None
    tolerance: float = TOLERANCE
    tolerances: Mapping[str, float] = field(default_factory=dict)
    resolution: float = RESOLUTION
    warm_up: int = 0
    seed: int = SEED
    order: int = 1


def compare(*testbeds: str | os.PathLike[str], options: Options | None = None) -> Comparison:
    """Compares testbeds: run directories, or directories of results or traces of other programs.

    One run whose scenario has a factor is several testbeds. ``NAME=PATH`` gives a testbed a name.

    Raises:
        CompareError: There are not two testbeds, or they did something else.
        RunDirectoryError: A run is damaged.
    """
    chosen = options or Options()
    check(chosen)
    sources = read_sources([os.fspath(one) for one in testbeds])
    return compared(arrange(sources, chosen), chosen)


def check(options: Options) -> None:
    """Checks tolerances and resolution, which need no testbed.

    Raises:
        CompareError: One of these, or the order of chains, is out of its range, or a metric does
            not exist.
    """
    for share in (options.tolerance, *options.tolerances.values()):
        if not 0 < share < 1:
            raise CompareError(
                f"a tolerance of {100 * share:g} % is none",
                "give more than 0 % and less than 100 %: 10% or 0.1 is a tenth",
            )
    for key in options.tolerances:
        if base(key) not in METRICS:
            raise CompareError(f"no metric is called {key}", f"there are: {', '.join(METRICS)}")
    if not options.resolution >= 0:
        raise CompareError(
            f"a smallest difference of {100 * options.resolution:g} % is none",
            "give 0 % or more, and at most the tolerance",
        )
    if options.order not in range(1, MOST_ORDER + 1):
        raise CompareError(
            f"there are no chains of order {options.order}", f"give 1 to {MOST_ORDER}"
        )
    least = min((options.tolerance, *options.tolerances.values()))
    if options.resolution > least:
        raise CompareError(
            f"the smallest difference, {100 * options.resolution:g} %, exceeds what is similar, "
            f"{100 * least:g} %",
            "give at most the tolerance",
        )


def check_scenario(study: ScenarioFile, options: Options) -> None:
    """Checks that a scenario has the testbeds that are asked for, before anything of it is run.

    Raises:
        CompareError: It has no such factor or level, or its testbeds are asked for different work.
    """
    check_work(arrange([planned(study)], options))


def read_sources(given: Sequence[str]) -> list[Source]:
    """The testbeds' directories, each with a name of its own.

    Raises:
        CompareError: There is nothing to read, or two have one name.
        RunDirectoryError: A run is damaged.
    """
    if not given:
        raise CompareError("no testbed given", "for example: trustbed compare metal.run guest.run")
    found = []
    for word in given:
        name, path = named(word)
        if not path.exists():
            raise CompareError(
                f"no such directory, {path}", "name what trustbed run has made, or results"
            )
        if kind_of(path) == "campaign":
            raise CompareError(
                f"this is a campaign, {path}", f"trustbed campaign report {path} compares its paths"
            )
        if (path / MANIFEST).is_file():
            found.append(read_run(path, name))
        else:
            traced = read_traces(path, name)
            found.append(traced or read_results(path, name, others=f", or {TRACES}"))
    names = [source.name for source in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CompareError(
            f"two testbeds are called {twice}", f"give one another name: other={given[-1]}"
        )
    return found


def named(word: str) -> tuple[str, Path]:
    """The name and the path of ``NAME=PATH`` or ``PATH``."""
    name, equals, rest = word.partition("=")
    if equals and name and rest and not Path(word).exists():
        return name, Path(rest)
    path = Path(word)
    return path.resolve().name.removesuffix(".run") or word, path


def arrange(sources: Sequence[Source], options: Options) -> Arrangement:
    """Which parts are the testbeds.

    Raises:
        CompareError: There are not two.
    """
    if len(sources) == 1:
        return by_factor(sources[0], options.by, options.reference)
    if options.by is not None:
        raise CompareError(
            "--by is for the factor of one run, and several are given",
            "leave it out: every run is a testbed",
        )
    return by_sources(sources, options.reference)


def compared(arranged: Arrangement, options: Options) -> Comparison:
    """The comparison of arranged testbeds.

    Raises:
        CompareError: Two testbeds did something else.
    """
    gathered = gather(arranged, warm_up=options.warm_up)
    rules = Rules(
        tolerance=options.tolerance,
        of_metric=options.tolerances,
        resolution=options.resolution,
        seed=options.seed,
    )
    judged, family = judge(gathered.cases, rules)
    _check_tolerances(options, judged)
    cases = tuple(_with_chains(case, gathered, options.order) for case in judged)
    sources = {one.source.path: one.source for one in arranged.testbeds}
    caveats = [note for source in sources.values() for note in source.notes]
    caveats += [*measured_apart(arranged), *tracing_cost.caveats(arranged.by, gathered.cases)]
    caveats += tracing_cost.of_cases(arranged, gathered.cases)
    caveats += [word for case in gathered.cases for word in transfer_causes.differences(case)]
    if not arranged.interleaved:
        caveats.append(
            "the testbeds were not run in turns, so a drift of the machine between the runs counts "
            "as a difference; one scenario with the testbeds as a factor is run in random blocks"
        )
    names = [one.name for one in arranged.testbeds]
    return Comparison(
        title=" against ".join([", ".join(names[1:]), names[0]]),
        by=arranged.by,
        reference=names[0],
        interleaved=arranged.interleaved,
        tolerance=options.tolerance,
        resolution=options.resolution,
        family=family,
        seed=options.seed,
        testbeds=tuple(gathered.testbeds),
        cases=cases,
        not_compared=tuple(arranged.unmatched),
        caveats=tuple([*gathered.caveats, *caveats]),
    )


def _check_tolerances(options: Options, judged: Sequence[CaseResult]) -> None:
    """Checks that every metric of a workload that has a tolerance of its own is there.

    Raises:
        CompareError: One is not: the workload's name is mistyped.
    """
    cases = [candidate for case in judged for candidate in case.candidates]
    known = {metric.key for candidate in cases for metric in candidate.metrics}
    for key in options.tolerances:
        if "." in key and key not in known:
            raise CompareError(
                f"no testbed has the metric {key}, so it needs no tolerance",
                f"there are: {', '.join(sorted(known)) or 'none'}",
            )


def _with_chains(case: CaseResult, gathered: Gathered, order: int) -> CaseResult:
    """A case with the chains of system calls of its candidates, where they were traced."""
    reference = gathered.written[case.label, case.reference]
    candidates = []
    for one in case.candidates:
        own = gathered.written[case.label, one.testbed]
        found = chains_of(reference, own, (case.reference, one.testbed), order=order)
        candidates.append(replace(one, chains=found))
    return replace(case, candidates=tuple(candidates))
