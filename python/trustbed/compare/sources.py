"""What can stand as a testbed: the cells of run directories, and results of other programs.

A part is what one testbed did in one case: a cell of a run, or a directory of results. It knows
what its workloads were asked, and gives an observation per repetition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from trustbed.compare import calls
from trustbed.compare.calls import WrittenCalls
from trustbed.compare.observing import Observation, chosen_point, observe, points
from trustbed.compare.workloads import Asked, asked_of
from trustbed.report.run.reading import Repetition
from trustbed.report.run.reading import Run as Reading
from trustbed.run.directory import SCENARIO
from trustbed.scenario import Scenario, ScenarioError, ScenarioFile, load

FACTS = {
    "kernel": "kernel",
    "machine": "architecture",
    "processor": "processor",
    "hypervisor": "hypervisor",
}
"""Facts of ``host.json`` that are shown, and their names."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A repetition: its name, its round, and what was observed."""

    name: str
    round: int
    found: Observation


class Part(Protocol):
    """One testbed in one case."""

    @property
    def workloads(self) -> Mapping[str, Asked]:
        """What each workload was asked."""

    @property
    def planned(self) -> int:
        """How many repetitions it should have."""

    def points(self, workloads: Collection[str], warm_up: int) -> frozenset[str] | None:
        """The capture points of all its repetitions that count; ``None``: no repetition counts.

        Rounds below ``warm_up`` do not count.
        """

    @property
    def preferred(self) -> Sequence[str]:
        """The hosts beside which packets are best counted."""

    @property
    def dropped(self) -> str:
        """What is dropped at the beginning of a repetition, in words."""

    def observed(self, called: Mapping[str, str], point: str | None) -> list[Observed]:
        """Every repetition; ``called`` is how metrics of each workload are prefixed."""

    def written(self, kept: Collection[str]) -> list[Mapping[str, WrittenCalls]]:
        """The calls that traces of the named repetitions wrote down, by trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """A cell of a run directory."""

    repetitions: Sequence[Repetition]
    workloads: Mapping[str, Asked]
    preferred: Sequence[str] = ()
    dropped: str = ""

    @property
    def planned(self) -> int:
        """As of :class:`Part`."""
        return len(self.repetitions)

    def points(self, workloads: Collection[str], warm_up: int) -> frozenset[str] | None:
        """As of :class:`Part`."""
        return points((one for one in self.repetitions if one.round >= warm_up), workloads)

    def observed(self, called: Mapping[str, str], point: str | None) -> list[Observed]:
        """As of :class:`Part`."""
        return [
            Observed(one.directory, one.round, observe(one, called, point=point))
            for one in self.repetitions
        ]

    def written(self, kept: Collection[str]) -> list[Mapping[str, WrittenCalls]]:
        """As of :class:`Part`."""
        return [calls.written(one) for one in self.repetitions if one.directory in kept]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCell:
    """A part with the levels of the factors under which it was carried out."""

    levels: Mapping[str, str]
    label: str
    part: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A run directory, or a directory of results.

    Attributes:
        name: What it is called in the report.
        path: The directory.
        cells: One per combination of its factors.
        factors: Keys of the factors and their levels.
        facts: Kernel, architecture and version, where known.
        notes: What could not be read.
    """

    name: str
    path: Path
    cells: Sequence[SourceCell]
    factors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


def read_run(path: Path, name: str) -> Source:
    """A run directory, complete or not.

    Raises:
        RunDirectoryError: There is none, or it is damaged.
    """
    reading = Reading(path)
    scenarios, notes = _scenarios(path, reading)
    cells = []
    for cell in reading.cells:
        number = cell["number"]
        repetitions, scenario = reading.of(number), scenarios.get(number)
        part = RunPart(
            repetitions=repetitions,
            workloads=_workloads(scenario, repetitions),
            preferred=_preferred(scenario),
            dropped=_dropped(scenario),
        )
        levels = dict(cell.get("levels") or {})
        cells.append(SourceCell(levels=levels, label=str(cell["label"]), part=part))
    factors = {one["key"]: tuple(one["levels"]) for one in reading.manifest.get("factors") or ()}
    return Source(
        name=name, path=path, cells=cells, factors=factors, facts=_facts(reading), notes=notes
    )


def planned(study: ScenarioFile) -> Source:
    """A scenario as the run that it will be: its cells, without repetitions."""
    cells = [
        SourceCell(
            levels=dict(cell.levels),
            label=cell.label,
            part=RunPart(repetitions=(), workloads=_workloads(cell.scenario, ())),
        )
        for cell in study.cells
    ]
    factors = {one.key: one.levels for one in study.factors}
    return Source(name=study.file.stem, path=study.file, cells=cells, factors=factors)


def _scenarios(path: Path, reading: Reading) -> tuple[Mapping[int, Scenario], list[str]]:
    """The scenario of every cell; without them what was asked is not known."""
    try:
        study = load(path / SCENARIO)
    except ScenarioError as error:
        return {}, [
            f"{path}: its scenario cannot be read any more, so whether the workloads were the same "
            f"was not checked ({error.message})"
        ]
    if len(study.cells) != len(reading.cells):
        return {}, [f"{path}: its scenario has other cells than the run"]
    return {cell.number: cell.scenario for cell in study.cells}, []


def _workloads(scenario: Scenario | None, repetitions: Sequence[Repetition]) -> Mapping[str, Asked]:
    if scenario is not None:
        return {one.name: asked_of(one) for one in scenario.workloads}
    return {row["name"]: {} for one in repetitions for row in one.workloads}


def _preferred(scenario: Scenario | None) -> Sequence[str]:
    if scenario is None:
        return ()
    senders = [one.data_from or one.to or one.host for one in scenario.workloads]
    ends = [name for one in scenario.workloads for name in (one.to, one.host)]
    return tuple(dict.fromkeys(name for name in (*senders, *ends) if name is not None))


def _dropped(scenario: Scenario | None) -> str:
    if scenario is None:
        return ""
    said = [f"{scenario.warm_up_ns / 1e9:g} s before the workloads begin"]
    said += [
        f"requests of the first {one.discard_ns / 1e9:g} s of {one.name}"
        for one in scenario.workloads
        if one.discard_ns
    ]
    return ", ".join(said)


def _facts(reading: Reading) -> Mapping[str, str]:
    """Of the machine that the run was carried out on, or of those that its hosts are."""
    machines = {
        f"{host} ({one.get('way')})": f"{one.get('kernel')}, {one.get('machine')}"
        for each in reading.repetitions
        for host, one in (each.record.get("machines") or {}).items()
    }
    found = machines or {
        name: str(reading.host[key])
        for key, name in FACTS.items()
        if reading.host.get(key) is not None
    }
    guests = {
        str(accelerator)
        for one in reading.repetitions
        for guest in (one.record.get("guests") or {}).values()
        if (accelerator := (guest or {}).get("accelerator")) is not None
    }
    if guests:
        found["accelerator of guests"] = ", ".join(sorted(guests))
    engines = {
        f"{one.get('engine')} {one.get('engine_version')}"
        for each in reading.repetitions
        for one in (each.record.get("containers") or {}).values()
    }
    if engines:
        found["engine of containers"] = ", ".join(sorted(engines))
    versions = {
        str(one["version"])
        for one in reading.manifest.get("sessions") or ()
        if one.get("version") is not None
    }
    return found | ({"trustbed": ", ".join(sorted(versions))} if versions else {})


def common_point(
    parts: Sequence[Part], called: Sequence[Mapping[str, str]], *, warm_up: int = 0
) -> str | None:
    """The capture point at which packets of all parts can be counted.

    Args:
        parts: The testbeds of a case.
        called: The workloads of each that are compared.
        warm_up: Rounds that are dropped at the beginning.
    """
    known = [part.points(own, warm_up) for part, own in zip(parts, called, strict=True)]
    captured = [one for one in known if one is not None]
    if not captured:
        return None
    both = frozenset.intersection(*captured)
    preferred = next((part.preferred for part in parts if part.preferred), ())
    return chosen_point(both, preferred)
