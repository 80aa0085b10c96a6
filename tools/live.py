"""The live part of `make demo`: one transfer three times over an emulated link, in network namespaces of its own.

The scenario is `examples/demo.toml`; three of its four combinations are carried out, and each is judged from the packets beside its sender.
A repetition that had to be discarded, because the emulator was too late or something fell apart, is carried out once more, and both are
said. One that has to be discarded again gets no verdict: it would be about this machine.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trustbed
from trustbed import judging
from trustbed.agent import AgentError
from trustbed.experiment import session_of
from trustbed.run.directory import RunDirectory
from trustbed.run.execute import RunError
from trustbed.run.listener import Listener
from trustbed.run.matrix import Repetition
from trustbed.run.progress import Forecast
from trustbed.run.session import Session
from trustbed.run_report import Run, open_run
from trustbed.scenario import Cell, Scenario, ScenarioFile, load
from trustbed.testbed import TestbedError, prepare

SCENARIO = Path(__file__).resolve().parent.parent / "examples" / "demo.toml"
SENDER = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A cell of the scenario: its levels, what the demo calls it, and what happens in it."""

    name: str
    levels: tuple[str, str]
    text: str
    beside: str | None = None


STORIES = (
    Story(
        name="live-healthy",
        levels=("none", "0%"),
        text="Nobody else on the link, nothing lost. The receiver's buffer is smaller than what fits into the path, so its window is the "
        "limit: the number is true, and says something about the receiver.",
    ),
    Story(
        name="live-background",
        levels=("poisson", "0%"),
        text="The same transfer, and others send 14 Mbit/s at random moments through the same 20 Mbit/s. Packets wait in the link's "
        "queue, and the RTT shows it. This is the network under load: the number is true.",
        beside="live-healthy",
    ),
    Story(
        name="live-loss",
        levels=("none", "1%"),
        text="The same transfer, nobody else, but the link loses one packet in a hundred. We know that it was the link, because we "
        "made it; the packets beside the sender cannot say where they were lost, so somebody has to look.",
        beside="live-healthy",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A transfer that was carried out: what its packets say, and what may be done with its repetition."""

    story: Story
    capture: trustbed.Capture
    repetition: Mapping[str, Any]

    @property
    def usable(self) -> bool:
        """Whether it was the network that was measured."""
        return bool(self.repetition["use"] != "discard")

    @property
    def lateness(self) -> str:
        """The emulator's own error, in words."""
        found = next((one["message"] for one in self.repetition["findings"] if one["code"] == "run_emulator_late"), None)
        return found or "how late the emulator was is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What was carried out, by which scenario; ``again`` names what had to be done twice, with the reason."""

    scenario: Scenario
    transfers: Sequence[Judged]
    model: Mapping[str, Any]
    again: Mapping[str, str]

    @property
    def late_seconds(self) -> float | None:
        """How late the emulator was at the 99th percentile, in the worst transfer that may be used."""
        return max((late for one in self.transfers if one.usable and (late := one.repetition["emulator"]["p99_seconds"])), default=None)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no experiment. ``forbidden``: by this machine, which is no fault of trustbed's."""

    message: str
    hint: str
    forbidden: bool


def allowed() -> Missing | None:
    """Makes sure that networks can be made here, without root in a user namespace. To be called before anything starts threads."""
    try:
        prepare()
    except TestbedError as error:
        return Missing(error.message, error.hint, forbidden=True)
    return None


def chosen(study: ScenarioFile) -> ScenarioFile:
    """The scenario with the cells of the stories alone, in their order."""
    cells = {tuple(cell.levels.values()): cell for cell in study.cells}
    return replace(study, cells=tuple(replace(cells[story.levels], number=number) for number, story in enumerate(STORIES)))


class _Told(Listener):
    """A line on standard error for every transfer that begins."""

    def on_repetition(self, repetition: Repetition, cell: Cell, forecast: Forecast) -> None:
        print(f"{STORIES[cell.number].name} …", file=sys.stderr, flush=True)


def carry_out(folder: Path, *, scenario: Path = SCENARIO) -> Experiment | Missing:
    """Carries the experiment out in a folder, or says why that was not possible."""
    study, directory = chosen(load(scenario)), RunDirectory(folder)
    session = session_of(study, directory, about={"version": trustbed.__version__, "command": "make demo"}, listener=_Told())
    try:
        again = _carry_out(session, directory)
    except (TestbedError, AgentError, RunError) as error:
        return Missing(error.message, error.hint, forbidden=isinstance(error, TestbedError))
    model = _named(open_run(folder))
    transfers = [_judged(directory, study, story, one) for story in STORIES for one in model["repetitions"] if one["label"] == story.name]
    return Experiment(scenario=study.first, transfers=transfers, model=model, again=again)


def _carry_out(session: Session, directory: RunDirectory) -> dict[str, str]:
    """Everything once, and what cannot be used a second time. Returns what that was, and why."""
    session.carry_out()
    again = {}
    for one in open_run(directory.path).repetitions:
        if one["use"] == "discard":
            again[STORIES[one["cell"]].name] = str(one["why"])
            shutil.rmtree(directory.repetition(one["folder"]))
    if again:
        session.carry_out()
    return again


def _named(run: Run) -> dict[str, Any]:
    """The model of the run with the demo's names for its cells, in the order of the stories."""
    names = [story.name for story in STORIES]
    model = dict(run.model)
    for part, key in (("cells", "number"), ("repetitions", "cell"), ("queues", "cell")):
        model[part] = sorted(({**row, "label": names[row[key]]} for row in model[part]), key=lambda row: names.index(row["label"]))
    return model


def _judged(directory: RunDirectory, study: ScenarioFile, story: Story, repetition: Mapping[str, Any]) -> Judged:
    """The packets beside the sender, judged with what the scenario knows, as the run itself judged them."""
    file = directory.repetition(repetition["folder"]) / "captures" / f"{SENDER}.pcapng"
    capture = trustbed.analyze(file, at="sender", workload="bulk", capacity=judging.capacity(study.first))
    return Judged(story=story, capture=capture, repetition=repetition)
