"""Runs a candidate again with one setting changed at a time, and says which one closes the gap.

Reference, candidate and every changed candidate are runs of their own, with a directory each, which
take turns: a round has each once, in an order that is drawn anew, so that a drift of the machine
meets all of them. Rounds go on until the budget is spent, at most as many as were asked for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trustbed.compare.cases import prefixes
from trustbed.compare.closing import Changed, Measured, closing
from trustbed.compare.error import CompareError
from trustbed.compare.model import Ablation, Comparison
from trustbed.compare.settings import Setting, cell_keys, settings, study_of
from trustbed.compare.sources import Source, common_point, read_run
from trustbed.compare.words import titled
from trustbed.errors import TrustbedError
from trustbed.report.words import duration
from trustbed.run.api import session_of
from trustbed.run.directory import SCENARIO, RunDirectory
from trustbed.run.execution.listener import Listener
from trustbed.run.session_about import session_about
from trustbed.scenario import Cell, ScenarioFile, load
from trustbed.scenario.file import keys_of
from trustbed.scenario.positions import Keys

REPETITIONS = 5
LEAST = 3
BUDGET_SECONDS = 1800.0
_OVERHEAD_SECONDS = 1.0
_SECOND = 1e9
REFERENCE, CANDIDATE = "reference", "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be run: rounds, and seconds after which no round begins."""

    repetitions: int = REPETITIONS
    seconds: float = BUDGET_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """A run that takes turns with the others."""

    name: str
    directory: str
    study: ScenarioFile
    setting: Setting | None = None

    @property
    def seconds(self) -> float:
        """The expected time of a repetition."""
        return self.study.first.expected_ns / _SECOND + _OVERHEAD_SECONDS


Listening = Callable[[str], Listener]
"""Makes the listener of a run from its title."""


def explain(
    found: Comparison,
    sources: Sequence[Source],
    out: Path,
    *,
    budget: Budget | None = None,
    listening: Listening | None = None,
    about: Mapping[str, object] | None = None,
) -> list[Ablation]:
    """What closes the gap of every candidate that is different anywhere, in its first such case.

    Needs the run directories with their scenarios. Without root the process goes into a user
    namespace of its own for good, so call this before threads are started.

    Raises:
        CompareError: A testbed has no scenario that could be run again, or the budget is too small.
        ScenarioError, RunDirectoryError, TestbedError, AgentError, RunError: As of a run.
    """
    allowed = budget or Budget()
    chosen = [
        (case.label, candidate.testbed)
        for case in found.cases
        for candidate in case.candidates
        if any(one.verdict == "different" for one in candidate.levels)
    ]
    answers, done = [], set()
    for label, testbed in chosen:
        if testbed in done:
            continue
        done.add(testbed)
        scenarios = [_keys(found, sources, label, name) for name in (found.reference, testbed)]
        study = _Study(found, (label, testbed), scenarios, out / _file_name(testbed), allowed)
        answers.append(study.answer(listening or (lambda _: Listener()), about or session_about()))
    return answers


def _file_name(testbed: str) -> str:
    kept = "".join(one if one.isalnum() or one in "-_." else "-" for one in testbed)
    return kept.strip(".-") or "candidate"


def _keys(
    found: Comparison, sources: Sequence[Source], label: str, testbed: str
) -> tuple[ScenarioFile, Keys]:
    """The keys of the cell that a testbed was in a case."""
    source = next((one for one in sources if one.name == testbed), sources[0])
    file = source.path / SCENARIO
    if not file.is_file():
        raise CompareError(
            f"{testbed} has no scenario that could be run again, {source.path}",
            "--explain needs runs of trustbed run, or a scenario",
        )
    study = load(file)
    wanted = [cell for cell in study.cells if _is_of(cell, found, label, testbed, len(study.cells))]
    if not wanted:
        raise CompareError(
            f"the cell of {testbed} is not in its scenario, {file}", "restore the run directory"
        )
    levels = wanted[0].levels
    factors = {
        factor.key: (
            tuple(str(part) for part in factor.path),
            factor.values[factor.levels.index(levels[factor.key])],
        )
        for factor in study.factors
        if levels[factor.key] in factor.levels
    }
    return study, cell_keys(keys_of(study), factors)


def _is_of(cell: Cell, found: Comparison, label: str, testbed: str, cells: int) -> bool:
    """Whether a cell is that of a testbed in a case."""
    if found.by == "run":
        return cells == 1 or cell.label == label
    others = ", ".join(level for key, level in cell.levels.items() if key != found.by)
    return cell.levels.get(found.by) == testbed and others == label


class _Study:
    """The runs of one candidate."""

    def __init__(
        self,
        found: Comparison,
        case_and_testbed: tuple[str, str],
        scenarios: Sequence[tuple[ScenarioFile, Keys]],
        out: Path,
        budget: Budget,
    ) -> None:
        (reference_file, reference), (file, candidate) = scenarios
        self._found = found
        self._label, testbed = case_and_testbed
        self._testbed = testbed
        self._out = out
        self._budget = budget
        tried, skipped = settings(file, candidate, reference)
        self._skipped = list(skipped)
        self._variants = [
            _Variant(
                name=REFERENCE,
                directory="reference",
                study=study_of(reference_file, reference, REFERENCE),
            ),
            _Variant(
                name=CANDIDATE,
                directory="candidate",
                study=study_of(file, candidate, CANDIDATE),
            ),
        ]
        for number, one in enumerate(tried):
            variant = _Variant(
                name=one.name, directory=f"changed-{number:02d}", study=one.study, setting=one
            )
            self._add(variant)
        if len(self._variants) < 3:
            raise CompareError(
                f"{testbed}: no setting could be changed within "
                f"{duration(budget.seconds)}: {'; '.join(self._skipped) or 'there is none'}",
                f"give --budget more: {LEAST} rounds are the least",
            )

    def _add(self, variant: _Variant) -> None:
        """Takes a variant if the least rounds of all still fit into the budget."""
        needed = LEAST * sum(one.seconds for one in (*self._variants, variant))
        if needed <= self._budget.seconds:
            self._variants.append(variant)
        else:
            self._skipped.append(f"{variant.name}: not within {duration(self._budget.seconds)}")

    def answer(self, listening: Listening, about: Mapping[str, object]) -> Ablation:
        """Carries out the rounds, and judges them."""
        begun, rounds = time.monotonic(), 0
        self._out.mkdir(parents=True, exist_ok=True)
        broken: dict[str, str] = {}
        each = sum(one.seconds for one in self._variants)
        while rounds < self._budget.repetitions:
            if rounds >= LEAST and time.monotonic() - begun + each > self._budget.seconds:
                break
            for variant in self._order(rounds):
                if variant.name not in broken:
                    self._run(variant, rounds + 1, listening, about, broken)
            rounds += 1
        return self._judged(rounds, time.monotonic() - begun, broken)

    def _order(self, number: int) -> list[_Variant]:
        ordered = list(self._variants)
        random.Random(f"{self._found.seed} {self._testbed} {number}").shuffle(ordered)
        return ordered

    def _run(
        self,
        variant: _Variant,
        repetitions: int,
        listening: Listening,
        about: Mapping[str, object],
        broken: dict[str, str],
    ) -> None:
        """One more repetition of a variant; a changed one that cannot run is left out."""
        directory = RunDirectory(self._out / variant.directory)
        session = session_of(
            variant.study,
            directory,
            about=about,
            repetitions=repetitions,
            listener=listening(variant.name),
        )
        try:
            session.carry_out()
        except TrustbedError as error:
            if variant.setting is None:
                raise
            broken[variant.name] = error.message

    def _known(self) -> dict[str, float]:
        """The metrics in which the comparison found the candidate different, and by how much."""
        return {
            one.key: one.difference
            for case, candidate, one in self._found.metrics()
            if (case.label, candidate.testbed) == (self._label, self._testbed)
            and one.different
            and one.difference is not None
        }

    def _judged(self, rounds: int, seconds: float, broken: Mapping[str, str]) -> Ablation:
        kept = [one for one in self._variants if one.name not in broken]
        parts = [read_run(self._out / one.directory, one.name).cells[0].part for one in kept]
        called = prefixes([one.name for one in kept], parts)
        point = common_point(parts, called)
        values: list[Measured] = []
        for part, names in zip(parts, called, strict=True):
            held: dict[str, list[float]] = {}
            for one in part.observed(names, point):
                if one.found.invalid is None:
                    for key, value in one.found.values.items():
                        held.setdefault(key, []).append(value)
            values.append(held)
        titles = {one.key: titled(one) for _, _, one in self._found.metrics()}
        changed = [
            Changed(
                name=one.name,
                change=one.setting.change,
                values=own,
                is_reference=one.setting.is_reference,
            )
            for one, own in zip(kept, values, strict=True)
            if one.setting is not None
        ]
        return closing(
            self._testbed,
            values[0],
            values[1],
            changed,
            titles=titles,
            known=self._known(),
            resolution=self._found.resolution,
            skipped=[*self._skipped, *(f"{name}: {why}" for name, why in broken.items())],
            rounds=rounds,
            seconds=seconds,
        )
