"""`python -m studies departure_error`.

Makes an emulator late, sees what that does, and writes its page.

What was measured is kept in a file, a line per trial; the command goes on where it was left, so
that it can be done in parts.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from studies import steps
from studies.departure_error import cases, effects, page
from studies.steps import Row, Steps, over_after
from validation import captures

NAME = "departure_error"
_PATIENCE_SECONDS = 30.0


def main(arguments: Sequence[str]) -> int:
    """Runs the command: 0 when all trials are done, 1 when some are left, 2 when one failed."""
    options = _parse(arguments)
    wanted = [trial for seed in options.seeds for trial in cases.trials(seed)]
    trials = Steps(wanted=wanted, file=options.results, is_done=effects.is_clean)
    rows = trials.load()
    if trials.left(rows) and options.minutes > 0:
        try:
            rows += trials.measure(rows, _carry_out, over_after(options.minutes))
        except _failures() as error:
            return steps.failed(error)
    text = page.render([row for row in rows if row["seed"] in options.seeds])
    return trials.conclude(rows, text, NAME, options)


def _failures() -> tuple[type[Exception], ...]:
    from studies.departure_error.trial import TrialError
    from trustbed.run.execution.execute import RunError
    from trustbed.testbed import TestbedError

    return RunError, TestbedError, TrialError


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    root = captures.project()
    parser = argparse.ArgumentParser(prog=f"python -m studies {NAME}", description=__doc__)
    add = parser.add_argument
    add("--seeds", type=int, nargs="+", default=[1], help="whose trials are made (default: 1)")
    add(
        "--minutes",
        type=float,
        default=60.0,
        help="begin no trial after so many (default: 60); 0 only renders",
    )
    results = root / "build" / "departure_error.jsonl"
    add("--results", type=Path, default=results, help="where trials are kept")
    steps.add_page_options(parser, NAME)
    return parser.parse_args(arguments)


def _carry_out(trial: cases.Trial) -> Row:
    from studies.departure_error import trial as carrying

    row = carrying.carry_out(trial)
    if not effects.is_clean(row):
        carrying.wait_for_calm(_PATIENCE_SECONDS)
    return row
