"""`python -m studies departure_error`.

Makes an emulator late, sees what that does, and writes its page.

What was measured is kept in a file, a line per trial; the command goes on where it was left, so
that it can be done in parts.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies import pages
from studies.departure_error import cases, effects, page
from validation import captures

NAME = "departure_error"
_ATTEMPTS = 3
"""How often a trial is carried out at most, when the machine itself was busy."""
_PATIENCE_SECONDS = 30.0

Row = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Runs the command: 0 when all trials are done, 1 when some are left, 2 when one failed."""
    options = _parse(arguments)
    rows = load(options.results)
    wanted = [trial for seed in options.seeds for trial in cases.trials(seed)]
    left = _left(wanted, rows)
    if left and options.minutes > 0:
        try:
            rows += _measure(left, options.results, options.minutes)
        except _failures() as error:
            print(f"error: {getattr(error, 'message', error)}", file=sys.stderr)
            print(
                f"hint: {getattr(error, 'hint', 'the same command goes on with this trial')}",
                file=sys.stderr,
            )
            return 2
    missing = len(_left(wanted, rows))
    text = page.render([row for row in rows if row["seed"] in options.seeds])
    if options.print or (missing and not options.partial):
        print(text)
    else:
        pages.write(options.output, f"python -m studies {NAME}", text)
    print(
        f"{len(wanted) - missing} of {len(wanted)} trials done, {options.results}", file=sys.stderr
    )
    return 1 if missing else 0


def _left(wanted: Sequence[cases.Trial], rows: Sequence[Row]) -> list[cases.Trial]:
    """Trials that are not done.

    Not yet carried out, or less than three times and never without the machine's taking part.
    """
    tried = Counter(row["key"] for row in rows)
    clean = {row["key"] for row in rows if effects.is_clean(row)}
    return [trial for trial in wanted if trial.key not in clean and tried[trial.key] < _ATTEMPTS]


def _failures() -> tuple[type[Exception], ...]:
    from studies.departure_error.trial import TrialError
    from trustbed.run.execution.execute import RunError
    from trustbed.testbed import TestbedError

    return RunError, TestbedError, TrialError


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    root = captures.project()
    parser = argparse.ArgumentParser(prog=f"python -m studies {NAME}", description=__doc__)
    parser.add_argument(
        "--seeds",
        type=int,
        nargs="+",
        default=[1],
        help="whose trials are made and told of (default: 1)",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        help="begin no trial after so many (default: 60); 0 only renders",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=root / "build" / "departure_error.jsonl",
        help="where trials are kept",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=pages.page(NAME),
        help="the page (default: studies/departure_error/README.md)",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="write the section even though trials are missing; it says how many",
    )
    parser.add_argument("--print", action="store_true", help="print the section instead")
    return parser.parse_args(arguments)


def load(path: Path) -> list[Row]:
    """What was measured so far. A last line that was cut is left out: its trial is done again."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[-1]:
        path.write_text("".join(line + "\n" for line in lines[:-1]), encoding="utf-8")
    return [json.loads(line) for line in lines[:-1]]


def _measure(left: Sequence[cases.Trial], path: Path, minutes: float) -> list[Row]:
    from studies.departure_error import trial as carrying
    from trustbed.testbed import prepare

    prepare()
    path.parent.mkdir(parents=True, exist_ok=True)
    begun, found = time.monotonic(), []
    with path.open("a", encoding="utf-8") as stream:
        for number, trial in enumerate(left):
            spent = time.monotonic() - begun
            if spent > minutes * 60:
                break
            if sys.stderr.isatty():
                print(
                    f"\r{number} of {len(left)} in {spent:.0f} s",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
            row = carrying.carry_out(trial)
            if not effects.is_clean(row):
                carrying.wait_for_calm(_PATIENCE_SECONDS)
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            found.append(row)
    return found
