"""The library's entry point for runs: carries out a scenario and judges every repetition.

It joins both halves: :mod:`trustbed.run` writes a run directory, :mod:`trustbed.run.judge` judges
what is in it, and :mod:`trustbed.run.results` shows it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from trustbed.run.directory import RunDirectory
from trustbed.run.execution.ceiling import Ceiling
from trustbed.run.execution.listener import Listener
from trustbed.run.execution.session import Session
from trustbed.run.judge import judge
from trustbed.run.results import Run, open_run
from trustbed.run.session_about import session_about
from trustbed.scenario import ScenarioFile, load


def run(
    scenario: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    repetitions: int | None = None,
    listener: Listener | None = None,
) -> Run:
    """Carries out a scenario, or continues an interrupted run, and judges every repetition.

    ``out`` is the run directory (default: the name of the scenario's file with ``.run``);
    ``repetitions`` replaces the scenario's number, and more than before are added to a run that is
    complete. Without root the process goes into a user namespace of its own for good, so call this
    before threads are started.

    Raises ``ScenarioError``, ``RunDirectoryError``, ``TestbedError``, ``AgentError`` or
    ``RunError``; each has a ``message`` and a ``hint``.
    """
    study = load(Path(scenario))
    directory = RunDirectory(Path(out) if out is not None else default_directory(study))
    session_of(
        study, directory, about=session_about(), repetitions=repetitions, listener=listener
    ).carry_out()
    return open_run(directory.path)


def default_directory(study: ScenarioFile) -> Path:
    """The default directory of a run, in the current one."""
    return Path(f"{study.file.stem}.run")


def session_of(
    study: ScenarioFile,
    directory: RunDirectory,
    *,
    about: Mapping[str, object],
    repetitions: int | None = None,
    listener: Listener | None = None,
    known_ceiling: Ceiling | None = None,
) -> Session:
    """A session that judges every repetition that it carries out.

    ``known_ceiling`` is what this machine sustains, if it was measured before.
    """
    return Session(
        study,
        directory,
        judge=judge,
        about=about,
        repetitions=repetitions,
        listener=listener,
        known_ceiling=known_ceiling,
    )
