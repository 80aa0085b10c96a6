"""The live part of `make demo`: one transfer three times over an emulated link, in network namespaces of its own.

The scenario is `examples/demo.toml`; three of its four combinations are carried out (:mod:`tools.carry_out`), and each is judged from the
packets beside its sender. A repetition that had to be discarded, because the emulator was too late or something fell apart, is carried out
once more, and that is said. One that has to be discarded again gets no verdict: it would be about this machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustbed
from tools.carry_out import NAMES, chosen
from trustbed import judging
from trustbed.run.directory import RunDirectory
from trustbed.run_report import Run, open_run
from trustbed.scenario import Scenario, ScenarioFile, load

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "examples" / "demo.toml"
SENDER = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A cell of the scenario, by the name that the demo gives it: what happens in it, and the cell that is its control."""

    name: str
    text: str
    beside: str | None = None


STORIES = (
    Story(
        name="live-healthy",
        text="Nobody else on the link, nothing lost. The receiver's buffer is smaller than what fits into the path: the window that it "
        "allows is the limit, and the transfer reaches it. The number is true.",
    ),
    Story(
        name="live-background",
        text="The same transfer, and others send 14 Mbit/s at random moments through the same 20 Mbit/s. Packets wait in the link's "
        "queue, and the RTT shows it. This is the network under load: the number is true.",
        beside="live-healthy",
    ),
    Story(
        name="live-loss",
        text="The same transfer, nobody else, but the link loses one packet in a hundred. We know that it was the link, because we "
        "made it; the packets beside the sender cannot say where they were lost, so somebody has to look.",
        beside="live-healthy",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A transfer that was carried out, and what its packets say: nothing where its repetition has to be discarded."""

    story: Story
    capture: trustbed.Capture | None
    repetition: Mapping[str, Any]

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
        return max(
            (late for one in self.transfers if one.capture is not None and (late := one.repetition["emulator"]["p99_seconds"])),
            default=None,
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no experiment. ``forbidden``: by this machine, which is no fault of trustbed's."""

    message: str
    hint: str
    forbidden: bool


def carry_out(folder: Path, *, scenario: Path = SCENARIO) -> Experiment | Missing:
    """Carries the experiment out in a folder, or says why that was not possible."""
    command = [sys.executable, "-m", "tools.carry_out", str(scenario), str(folder)]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        return Missing(f"it ended with exit code {ended.returncode}", "read what it said", forbidden=False)
    told = json.loads(ended.stdout)
    if "again" not in told:
        return Missing(told["message"], told["hint"], forbidden=told["forbidden"])
    study, directory, model = chosen(load(scenario)), RunDirectory(folder), _named(open_run(folder))
    transfers = [_judged(directory, study, story, one) for story in STORIES for one in model["repetitions"] if one["label"] == story.name]
    return Experiment(scenario=study.first, transfers=transfers, model=model, again=told["again"])


def _named(run: Run) -> dict[str, Any]:
    """The model of the run with the demo's names for its cells, in the order of the stories."""
    model = dict(run.model)
    for part, key in (("cells", "number"), ("repetitions", "cell"), ("queues", "cell")):
        model[part] = sorted(({**row, "label": NAMES[row[key]]} for row in model[part]), key=lambda row: NAMES.index(row["label"]))
    return model


def _judged(directory: RunDirectory, study: ScenarioFile, story: Story, repetition: Mapping[str, Any]) -> Judged:
    """The packets beside the sender, judged with what the scenario knows, as the run itself judged them."""
    if repetition["use"] == "discard":
        return Judged(story=story, capture=None, repetition=repetition)
    file = directory.repetition(repetition["folder"]) / "captures" / f"{SENDER}.pcapng"
    capture = trustbed.analyze(file, at="sender", workload="bulk", capacity=judging.capacity(study.first))
    return Judged(story=story, capture=capture, repetition=repetition)
