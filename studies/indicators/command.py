"""`python -m studies indicators`.

Which cheap indicator tells that a sender paused, and its page; 10 minutes.

What was measured is kept in a file, a line per step; the command goes on where it was left, so that
it can be done in parts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies import pages
from studies.indicators import page, plan
from studies.indicators.plan import Step
from validation import captures
from validation.ending import ending_in_order
from validation.truth.calm import Calm, Senses

NAME = "indicators"
MINUTES = 30.0
ALLOWANCE_SECONDS = 60.0
_ATTEMPTS = 3
"""How often a step is tried at most that failed, or that the machine spoilt."""
_DONE = frozenset({"made", "not made"})

Row = dict[str, Any]


def main(words: Sequence[str]) -> int:
    """Runs the command.

    0 when everything is done, 1 when something is left, 2 when it cannot go on.
    """
    options = _parse(words)
    file = options.directory / f"seed-{options.seed}.jsonl"
    wanted = plan.steps(options.seed)
    rows = load(file)
    if not options.score_only:
        try:
            rows += _measure(left(wanted, rows), file, options)
        except _failures() as error:
            print(f"error: {getattr(error, 'message', error)}", file=sys.stderr)
            print(
                f"hint: {getattr(error, 'hint', 'the same command goes on with this step')}",
                file=sys.stderr,
            )
            return 2
    missing = len(left(wanted, rows))
    text = page.render(latest(wanted, rows), missing=missing, seed=options.seed)
    if options.print or (missing and not options.partial):
        print(text)
    else:
        pages.write(options.output, f"python -m studies {NAME}", text)
    print(f"{len(wanted) - missing} of {len(wanted)} steps done, {file}", file=sys.stderr)
    return 1 if missing else 0


def _parse(words: Sequence[str]) -> argparse.Namespace:
    root = captures.project()
    parser = argparse.ArgumentParser(
        prog=f"python -m studies {NAME}", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="begin no step after so many (default: %(default)g)",
    )
    parser.add_argument(
        "--directory",
        type=Path,
        default=root / "build" / NAME,
        help="where steps are kept (default: build/indicators)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=2,
        help="decides which transfers are made (default: %(default)s)",
    )
    parser.add_argument(
        "--score-only", action="store_true", help="measure nothing: tell of what was measured"
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=ALLOWANCE_SECONDS,
        metavar="SECONDS",
        help=(
            "while others take the machine, wait before the next step; so long in all at most "
            "(default: %(default)g)"
        ),
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=pages.page(NAME),
        help="the page (default: studies/indicators/README.md)",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="write the section even though steps are missing; it says how many",
    )
    parser.add_argument("--print", action="store_true", help="print the section instead")
    return parser.parse_args(words)


def load(file: Path) -> list[Row]:
    """What was measured so far. A last line that was cut is left out: its step is done again."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    if lines[-1]:
        file.write_text("".join(line + "\n" for line in lines[:-1]), encoding="utf-8")
    return [json.loads(line) for line in lines[:-1]]


def left(wanted: Sequence[Step], rows: Sequence[Row]) -> list[Step]:
    """Steps that are not done: not tried yet, or less than three times and never well."""
    tried = Counter(row["key"] for row in rows)
    done = {row["key"] for row in rows if row["outcome"] in _DONE}
    return [step for step in wanted if step.key not in done and tried[step.key] < _ATTEMPTS]


def latest(wanted: Sequence[Step], rows: Sequence[Row]) -> list[Row]:
    """Of each step what came of it at last, in the order of the plan."""
    found = {row["key"]: row for row in rows}
    return [found[step.key] for step in wanted if step.key in found]


def _failures() -> tuple[type[Exception], ...]:
    from trustbed.agent.client import AgentError
    from trustbed.testbed import TestbedError

    return AgentError, TestbedError


def _measure(missing: Sequence[Step], file: Path, options: argparse.Namespace) -> list[Row]:
    from trustbed.testbed import prepare

    prepare()
    file.parent.mkdir(parents=True, exist_ok=True)
    begun, minutes, found = time.monotonic(), float(options.minutes), []

    def is_over() -> bool:
        return time.monotonic() - begun >= minutes * 60

    calm = Calm(options.wait, Senses(say=_say, is_over=is_over))
    with ending_in_order(), file.open("a", encoding="utf-8") as stream:
        for number, step in enumerate(missing):
            if is_over():
                break
            if sys.stderr.isatty():
                print(
                    f"\r{number} of {len(missing)} in {time.monotonic() - begun:.0f} s\x1b[K",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
            before = dict(calm.wait())
            row = {**about(step), "before": before, **carry_out(step)}
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            found.append(row)
    return found


def _say(lost: float, left_seconds: float) -> None:
    print(
        f"others take {lost:.0%} of the machine: waiting, {left_seconds:.0f} s more at most",
        file=sys.stderr,
    )


def about(step: Step) -> Row:
    """What a step is, beside what came of it."""
    told: Row = {"key": step.key, "part": step.part}
    match step:
        case plan.Accuracy():
            return told | {"case": step.case, "round": step.round}
        case plan.Cost():
            return told | {"round": step.round}
        case plan.Transfer():
            one = step.planned
            return told | {
                "name": one.name,
                "kind": one.kind,
                "is_odd": one.is_odd,
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
