"""Carries out a live part of `make demo` in a process of its own.

`python -m tools.carry_out NAME SCENARIO DIRECTORY`, the name of a study or of testbeds
(:mod:`tools.stories`).

Without root networks can be made only in a user namespace, and a process can go into one only as
long as it has a single thread, which importing Arrow ends. So this one goes first and imports
later, and the demo itself stays where it is. Progress is on standard error; on standard output is
one JSON object: `again`, what had to be done twice and why, or `message`, `hint` and `forbidden`.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.stories import STUDIES, Study
from trustbed.agent.client import AgentError
from trustbed.run.directory import RunDirectory
from trustbed.run.execution.listener import Listener
from trustbed.run.execution.progress import Forecast
from trustbed.run.matrix import Repetition
from trustbed.scenario import Cell, load
from trustbed.testbed import TestbedError, prepare

if TYPE_CHECKING:
    from trustbed.run.execution.session import Session


MOST_WAITING = 0.1
"""Largest share of time a sender may wait for a CPU; above it, others may starve it."""

MOST_LATE_SECONDS = 0.1
"""A sampler that looks later than this stalled itself, and most of the machine with it."""


def invalid(repetition: Mapping[str, Any]) -> str:
    """Why a repetition says nothing about its transfer: it failed, or the emulator was late.

    Empty if it does.

    One that is to be discarded for what its packets say is not invalid: that is what it was to find
    out.
    """
    grave = {found["message"] for found in repetition["findings"] if found["severity"] == "error"}
    return (
        str(repetition["why"])
        if repetition["use"] == "discard" and repetition["why"] in grave
        else ""
    )


def waited(repetition: Path) -> float:
    """The largest share of time that a process of the repetition was runnable without a CPU.

    Other processes had the CPU meanwhile.
    """
    import pyarrow.parquet

    file = repetition / "samples" / "processes.parquet"
    spans: dict[int, list[int]] = {}
    for row in pyarrow.parquet.read_table(file).to_pylist() if file.is_file() else ():
        if row["waited_ns"] is not None:  # the first look has nothing to compare with
            span = spans.setdefault(row["process"], [0, 0])
            span[0] += row["waited_ns"]
            span[1] += row["interval_ns"]
    return max((wanted / whole for wanted, whole in spans.values() if whole), default=0.0)


def late_seconds(repetition: Path) -> float:
    """By how much the look at the machine that came latest was late."""
    import pyarrow.parquet

    file = repetition / "samples" / "machine.parquet"
    looks = (
        pyarrow.parquet.read_table(file, columns=["late_ns"]).column("late_ns").to_pylist()
        if file.is_file()
        else ()
    )
    return max((late for late in looks if late is not None), default=0) / 1e9


def disturbed(repetition: Path) -> str:
    """What else may have decided a transfer that did not end as it was meant to.

    Empty if nothing is known.

    By itself it proves nothing: a guest's threads wait often, and mostly for less time than
    matters.
    """
    late = late_seconds(repetition)
    if late > MOST_LATE_SECONDS:
        return f"the machine stalled for {late:.2f} s"
    share = waited(repetition)
    return (
        f"others had its processor for {100 * share:.0f} % of the time"
        if share > MOST_WAITING
        else ""
    )


class _Told(Listener):
    """A line for every repetition that begins."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def on_repetition(self, repetition: Repetition, cell: Cell, forecast: Forecast) -> None:
        print(f"{self._names[cell.number]} …", file=sys.stderr, flush=True)


def carry_out(session: Session, directory: RunDirectory, study: Study) -> dict[str, str]:
    """Everything once, and what was invalid or disturbed a second time.

    Returns what that was, and why.
    """
    from trustbed.run.results import open_run

    session.carry_out()
    again = {}
    for one in open_run(directory.path).repetitions:
        story, path = study.stories[one["cell"]], directory.repetition(one["directory"])
        # A sender that does not get its processor before its time is over sends nothing, and there
        # is nothing to judge.
        unseen = "" if any(one["verdicts"].values()) else "no transfer was seen"
        why = invalid(one) or unseen or (disturbed(path) if one["use"] != story.meant else "")
        if why:
            again[story.name] = why
            shutil.rmtree(path)
    if again:
        session.carry_out()
    return again


def carried_out(name: str, file: Path, directory: RunDirectory) -> dict[str, object]:
    """The experiment, told; imports what :func:`main` must not."""
    from trustbed import __version__
    from trustbed.run.api import session_of
    from trustbed.run.execution.execute import RunError

    scenario = load(file)
    study = next((one for one in STUDIES if one.name == name), None)
    if study is not None:
        scenario = study.chosen(scenario)
        names: Sequence[str] = study.names
    else:
        names = [" ".join(cell.levels.values()) for cell in scenario.cells]
    about = {"version": __version__, "command": "make demo"}
    session = session_of(scenario, directory, about=about, listener=_Told(names))
    try:
        if study is None:  # a comparison leaves out what was invalid, and says so
            session.carry_out()
            return {"again": {}}
        return {"again": carry_out(session, directory, study)}
    except (AgentError, RunError) as error:
        return {"message": error.message, "hint": error.hint, "forbidden": False}


def main(words: Sequence[str]) -> int:
    """The process."""
    name, scenario, subdirectory = words
    try:
        prepare()
        told = carried_out(name, Path(scenario), RunDirectory(Path(subdirectory)))
    except TestbedError as error:
        told = {"message": error.message, "hint": error.hint, "forbidden": True}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
