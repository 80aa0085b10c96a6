"""`python -m studies indicators`.

Which cheap indicator tells that a sender paused, and its page; 10 minutes.

What was measured is kept in a file, a line per step; the command goes on where it was left, so that
it can be done in parts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from studies import steps
from studies.indicators import page, plan
from studies.indicators.plan import Step
from studies.steps import Row, Steps, over_after
from validation import captures
from validation.truth.calm import Calm, Senses

NAME = "indicators"
MINUTES = 30.0
ALLOWANCE_SECONDS = 60.0
_DONE = frozenset({"made", "not made"})


def main(words: Sequence[str]) -> int:
    """Runs the command.

    0 when everything is done, 1 when something is left, 2 when it cannot go on.
    """
    options = _parse(words)
    wanted = plan.steps(options.seed)
    file = options.directory / f"seed-{options.seed}.jsonl"
    study = Steps(wanted=wanted, file=file, is_done=lambda row: row["outcome"] in _DONE)
    rows = study.load()
    if not options.score_only:
        is_over = over_after(options.minutes)
        calm = Calm(options.wait, Senses(report=_say, is_over=is_over))

        def step_when_calm(step: Step) -> Row:
            before = dict(calm.wait())
            return {**about(step), "before": before, **carry_out(step)}

        try:
            rows += study.measure(rows, step_when_calm, is_over)
        except _failures() as error:
            return steps.failed(error)
    missing = len(study.left(rows))
    text = page.render(latest(wanted, rows), missing=missing, seed=options.seed)
    return study.conclude(rows, text, NAME, options)


def _parse(words: Sequence[str]) -> argparse.Namespace:
    root = captures.project()
    parser = argparse.ArgumentParser(
        prog=f"python -m studies {NAME}", description=(__doc__ or "").split("\n\n")[0]
    )
    add = parser.add_argument
    add(
        "--minutes",
        type=float,
        default=MINUTES,
        help="begin no step after so many (default: %(default)g)",
    )
    add(
        "--directory",
        type=Path,
        default=root / "build" / NAME,
        help="where steps are kept (default: build/indicators)",
    )
    add("--seed", type=int, default=2, help="which transfers are made (default: %(default)s)")
    add("--score-only", action="store_true", help="measure nothing, render what was measured")
    add(
        "--wait",
        type=float,
        default=ALLOWANCE_SECONDS,
        metavar="SECONDS",
        help="wait so long in all for a calm machine between steps (default: %(default)g)",
    )
    steps.add_page_options(parser, NAME)
    return parser.parse_args(words)


def latest(wanted: Sequence[Step], rows: Sequence[Row]) -> list[Row]:
    """Of each step what came of it at last, in the order of the plan."""
    found = {row["key"]: row for row in rows}
    return [found[step.key] for step in wanted if step.key in found]


def _failures() -> tuple[type[Exception], ...]:
    from trustbed.agent.client import AgentError
    from trustbed.testbed import TestbedError

    return AgentError, TestbedError


def _say(lost: float, left_seconds: float) -> None:
    print(
        f"others take {lost:.0%} of the machine: waiting, {left_seconds:.0f} s more at most",
        file=sys.stderr,
    )


def about(step: Step) -> Row:
    """What a step is, beside what came of it."""
    row: Row = {"key": step.key, "part": step.part}
    match step:
        case plan.Accuracy():
            return row | {"case": step.case, "round": step.round}
        case plan.Cost():
            return row | {"round": step.round}
        case plan.Transfer():
            one = step.planned
            return row | {
                "name": one.name,
                "kind": one.kind,
                # Rows of earlier plans were split by the oddness of a seed.
                "is_odd": one.half == "development",
                "dose": step.dose,
                "watched": step.watched,
            }


def carry_out(step: Step) -> Row:
    """What came of a step."""
    from studies.indicators import accuracy, cost, transfer

    match step:
        case plan.Accuracy():
            return accuracy.carry_out(step)
        case plan.Cost():
            return cost.carry_out()
        case plan.Transfer():
            return transfer.carry_out(step)
