"""The library's entry point for sensitivity studies."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from trustbed.report import words
from trustbed.run.execution.listener import Listener
from trustbed.run.session_about import session_about
from trustbed.sensitivity import kept
from trustbed.sensitivity.design import Options, Planned, planned
from trustbed.sensitivity.judge.effects import LEAST_ROUNDS
from trustbed.sensitivity.model import Sensitivity
from trustbed.sensitivity.plan import SensitivityError
from trustbed.sensitivity.study import Study


def check_budget(plan: Planned, options: Options) -> None:
    """Checks that the least that says anything fits into the budget.

    Raises:
        SensitivityError: It does not.
    """
    if plan.least_seconds > options.budget_seconds:
        raise SensitivityError(
            f"{LEAST_ROUNDS} rounds of everything take about "
            f"{words.duration(plan.least_seconds)}, and the budget is "
            f"{words.duration(options.budget_seconds)}",
            f"give --budget {math.ceil(plan.least_seconds / 60)}min, fewer --backgrounds or "
            "--loads, or a shorter duration",
        )


def sensitivity(
    scenario: str | os.PathLike[str],
    out: str | os.PathLike[str],
    options: Options | None = None,
    *,
    listener: Callable[[str, int], Listener] | None = None,
    about: Mapping[str, object] | None = None,
) -> Sensitivity:
    """Carries out a study, or continues it, and writes ``sensitivity.json`` into ``out``.

    ``listener`` makes the listener of each part from its title and its number of cells. Without
    root the process goes into a user namespace of its own for good, so call this before threads are
    started.

    Raises ``ScenarioError``, ``SensitivityError``, ``RunDirectoryError``, ``TestbedError``,
    ``AgentError`` or ``RunError``; each has a ``message`` and a ``hint``.
    """
    chosen = options or Options()
    earlier = kept.read(Path(out))
    plan = planned(scenario, chosen, earlier.ceiling, earlier.sender_for(chosen.workload))
    check_budget(plan, chosen)
    facts = about or session_about()
    study = Study(plan, Path(out), earlier, chosen, listener, facts)
    if not plan.where.is_known and (sender := study.measured_sender()) is not None:
        earlier = kept.read(Path(out))
        plan = planned(scenario, chosen, earlier.ceiling, sender)
        study = Study(plan, Path(out), earlier, chosen, listener, facts)
    return study.carry_out()
