"""The live part of `make demo`.

Transfers over an emulated link, in network namespaces of their own, and what their packets say.

First the network of `examples/demo.toml`: undisturbed, beside traffic of others, losing packets.
Then a starved sender beside the same one left alone: a guest (`examples/starved-guest.toml`), or a
process where guests cannot be run (`examples/starved-process.toml`). They are carried out by
:mod:`tools.carry_out`, and each is judged as the run itself judges it.

A repetition that was invalid, because the emulator was too late or something fell apart, is carried
out once more, and that is said. One that is invalid again gets no verdict: it would be about this
machine. A transfer that is to be discarded for what its packets say is not invalid. One that does
not end as it was meant to, while others had its processor, is carried out once more too; the second
verdict stands, whatever it is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs, to_builtins

import trustbed
from tools.carry_out import disturbed, invalid
from tools.stories import GUEST, NETWORK, PROCESS, Story, Study, Testbeds
from trustbed.report.records import Row
from trustbed.report.run.records import RunModel
from trustbed.run import judge as judging
from trustbed.run.directory import RunDirectory
from trustbed.run.host_evidence import host_of
from trustbed.run.results import Run, open_run
from trustbed.scenario import Scenario, load

ROOT = Path(__file__).resolve().parent.parent
SENDER = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A transfer that was carried out, and what its packets say.

    Nothing where its repetition was invalid.

    ``stood`` is the share of the time for which its sender was kept from running on purpose, as
    whoever did it reports; ``disturbed`` says that others did so too.
    """

    story: Story
    scenario: Scenario
    capture: trustbed.Capture | None
    repetition: Mapping[str, Any]
    stood: float | None = None
    disturbed: str = ""

    @property
    def main(self) -> Row | None:
        """The transfer that the story is about."""
        found = () if self.capture is None else self.capture.overview.transfers
        return max(found, key=lambda row: row["unique_bytes"], default=None)

    @property
    def departure_error(self) -> str:
        """The emulator's own error, in words."""
        found = next(
            (
                one["message"]
                for one in self.repetition["findings"]
                if one["code"] == "run_emulator_late"
            ),
            None,
        )
        return found or "how late the emulator was is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What was carried out.

    ``again`` names what had to be done twice, with the reason; ``instead`` says why it was not what
    one would have wanted.
    """

    study: Study
    transfers: Sequence[Judged]
    model: RunModel
    again: Mapping[str, str]
    instead: str = ""

    @property
    def late_seconds(self) -> float | None:
        """The emulator's p99 departure error in the worst usable transfer."""
        return max(
            (
                late
                for one in self.transfers
                if one.capture is not None and (late := one.repetition["emulator"]["p99_seconds"])
            ),
            default=None,
        )

    def control_of(self, one: Judged) -> Judged | None:
        """The transfer beside it, if both may be compared."""
        found = next(
            (other for other in self.transfers if other.story.name == one.story.beside), None
        )
        return (
            found
            if found is not None and one.capture is not None and found.capture is not None
            else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Why there is no experiment.

    ``forbidden``: by this machine, which is no fault of trustbed's.
    """

    study: Study | Testbeds
    message: str
    hint: str
    forbidden: bool


Found = Experiment | Missing


def experiments(subdirectory: Path) -> Iterator[Found]:
    """Carries out one after the other.

    Where the first could not be made, the second could not either.
    """
    network = carry_out(NETWORK, subdirectory)
    yield network
    if isinstance(network, Experiment):
        yield starved(subdirectory)


def starved(subdirectory: Path) -> Found:
    """A starved guest, or a starved process where guests cannot be run."""
    guest = carry_out(GUEST, subdirectory)
    if isinstance(guest, Experiment):
        return guest
    process = carry_out(PROCESS, subdirectory)
    return replace(process, instead=guest.message) if isinstance(process, Experiment) else process


def carry_out(study: Study, subdirectory: Path, *, scenario: Path | None = None) -> Found:
    """Carries a study out in a subdirectory below this one, or says why that was not possible.

    ``scenario`` is another file with its cells.
    """
    file, directory = scenario or study.file, RunDirectory(subdirectory / f"{study.name}.run")
    told = told_of(study, file, directory)
    if isinstance(told, Missing):
        return told
    cells, model = study.chosen(load(file)).cells, _named(study, open_run(directory.path))
    transfers = [
        _judged(directory, cell.scenario, story, to_builtins(repetition))
        for cell, story, repetition in zip(cells, study.stories, model.repetitions, strict=True)
    ]
    return Experiment(study=study, transfers=transfers, model=model, again=told)


def told_of(
    planned: Study | Testbeds, file: Path, directory: RunDirectory
) -> dict[str, str] | Missing:
    """Carries out a scenario's cells in a process of its own.

    Returns what was done twice, with the reason, or why nothing was done.
    """
    words = [planned.name, str(file), str(directory.path)]
    command = [sys.executable, "-m", "tools.carry_out", *words]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        return Missing(
            study=planned,
            message=f"it ended with exit code {ended.returncode}",
            hint="read what it said",
            forbidden=False,
        )
    told = json.loads(ended.stdout)
    return Missing(study=planned, **told) if "again" not in told else dict(told["again"])


def _named(study: Study, run: Run) -> RunModel:
    """The model of the run with the demo's names for its cells, in the order of the stories."""
    model, names = run.model, study.names
    cells = [structs.replace(one, label=names[one.number]) for one in model.cells]
    repetitions = [structs.replace(one, label=names[one.cell]) for one in model.repetitions]
    queues = [structs.replace(one, label=names[one.cell]) for one in model.queues]
    return structs.replace(
        model,
        cells=sorted(cells, key=lambda one: names.index(one.label)),
        repetitions=sorted(repetitions, key=lambda one: names.index(one.label)),
        queues=sorted(queues, key=lambda one: names.index(one.label)),
    )


def _judged(
    directory: RunDirectory, scenario: Scenario, story: Story, repetition: Mapping[str, Any]
) -> Judged:
    """The sender-side packets, judged as the run itself judged them, with the run's evidence."""
    record, path = (
        directory.record(repetition["directory"]),
        directory.repetition(repetition["directory"]),
    )
    stood = max(
        (one["stopped_share"] for fault in record["faults"] for one in fault["reports"]),
        default=None,
    )
    judged = Judged(
        story=story,
        scenario=scenario,
        capture=None,
        repetition=repetition,
        stood=stood,
        disturbed=disturbed(path),
    )
    if invalid(repetition):
        return judged
    capture = trustbed.analyze(
        path / "captures" / f"{SENDER}.pcapng",
        at="sender",
        workload="bulk",
        capacity=judging.capacity(scenario),
        host_of=host_of(record, path, scenario),
    )
    return replace(judged, capture=capture)
