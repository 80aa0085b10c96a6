"""Carries out the live part of `make demo` in a process of its own: `python -m tools.carry_out SCENARIO FOLDER`.

Without root networks can be made only in a user namespace, and a process can go into one only as long as it has a single thread, which
importing Arrow ends. So this one goes first and imports later, and the demo itself stays where it is. Progress is on standard error; on
standard output is one JSON object: `again`, what had to be done twice and why, or `message`, `hint` and `forbidden`.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.agent import AgentError
from trustbed.run.directory import RunDirectory
from trustbed.run.listener import Listener
from trustbed.run.matrix import Repetition
from trustbed.run.progress import Forecast
from trustbed.scenario import Cell, ScenarioFile, load
from trustbed.testbed import TestbedError, prepare

if TYPE_CHECKING:
    from trustbed.run.session import Session

CELLS: Mapping[str, tuple[str, str]] = {
    "live-healthy": ("none", "0%"),
    "live-background": ("poisson", "0%"),
    "live-loss": ("none", "1%"),
}
"""What the demo calls the cells that it carries out, and their levels."""
NAMES = tuple(CELLS)


def chosen(study: ScenarioFile) -> ScenarioFile:
    """The scenario with these cells alone, in their order."""
    cells = {tuple(cell.levels.values()): cell for cell in study.cells}
    return replace(study, cells=tuple(replace(cells[levels], number=number) for number, levels in enumerate(CELLS.values())))


class _Told(Listener):
    """A line for every transfer that begins."""

    def on_repetition(self, repetition: Repetition, cell: Cell, forecast: Forecast) -> None:
        print(f"{NAMES[cell.number]} …", file=sys.stderr, flush=True)


def carry_out(session: Session, directory: RunDirectory) -> dict[str, str]:
    """Everything once, and what must not be used a second time. Returns what that was, and why."""
    from trustbed.run_report import open_run

    session.carry_out()
    again = {}
    for one in open_run(directory.path).repetitions:
        if one["use"] == "discard":
            again[NAMES[one["cell"]]] = str(one["why"])
            shutil.rmtree(directory.repetition(one["folder"]))
    if again:
        session.carry_out()
    return again


def carried_out(scenario: Path, directory: RunDirectory) -> dict[str, object]:
    """The experiment, told; imports what :func:`main` must not."""
    from trustbed import __version__
    from trustbed.experiment import session_of
    from trustbed.run.execute import RunError

    about = {"version": __version__, "command": "make demo"}
    try:
        return {"again": carry_out(session_of(chosen(load(scenario)), directory, about=about, listener=_Told()), directory)}
    except (AgentError, RunError) as error:
        return {"message": error.message, "hint": error.hint, "forbidden": False}


def main(words: Sequence[str]) -> int:
    """The process."""
    try:
        prepare()
        told = carried_out(Path(words[0]), RunDirectory(Path(words[1])))
    except TestbedError as error:
        told = {"message": error.message, "hint": error.hint, "forbidden": True}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
