"""`python -m validation truth`: transfers of known cause, and how often their verdict is right.

python -m validation truth               all of it, some three hours; resumes where it stopped
python -m validation truth --minutes 10  a part that has all kinds in proportion
python -m validation truth --retry       repeat what was invalid
python -m validation truth --only loss   kinds whose name contains this
python -m validation truth --score-only  no new transfers: judge the stored ones with today's rules
python -m validation truth --restore     go on from the transfers that were published
python -m validation truth --rows        no new transfers: judge the published rows
python -m validation truth --score-only --half report --document
                                         a look at the families that are reported: it is logged
python -m validation truth --fit         no new transfers: fit the confidence of each score to the
                                         development families and write it into the package
python -m validation truth --rows --ablate
                                         what each threshold and each rule is worth
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path

from validation import captures, sections
from validation.ending import ending_in_order
from validation.truth import ablation, fit, looks, page, pictures, published, text
from validation.truth.calm import ALLOWANCE_SECONDS, Calm, Senses
from validation.truth.carry import FAILED, MADE, NOT_MADE, Stored, carry_out
from validation.truth.kinds import KINDS
from validation.truth.measured import again
from validation.truth.plan import ROUNDS, Plan, Planned
from validation.truth.progress import Progress
from validation.truth.result import SELECTIONS, Result
from validation.truth.store import Store, StoreError

SECTION = "truth"
COMMAND = "make truth"
MINUTE = 60.0
JOBS, BESIDE_MEGABITS = 5, 140
"""Transfers at the same time, and the sum of the rates of their narrow links.

An emulator that has to forward more beside others is late, and its transfer invalid.
"""
SEED = 3
"""Of every plan so far: no transfer of plans 1 and 2 is made again."""


def main(words: Sequence[str]) -> int:
    """Runs the command.

    0 when something was scored, 1 when transfers failed, 2 when nothing could be scored.
    """
    options = _parse(words)
    store = Store(options.directory)
    if options.table:
        sections.write(_document(), SECTION, COMMAND, page.table_only())
        return 0
    try:
        if options.restore:
            number = published.restore(store, options.restore)
            print(f"{number} published transfers added to {store.directory}", file=sys.stderr)
        failed = (
            0
            if options.score_only or options.again or options.fit or options.rows or options.ablate
            else _make(Plan(options.seed), store, options)
        )
        if options.again:
            _measure_again(store)
        result = published.read(options.rows) if options.rows else Result.of(store)
    except StoreError as error:
        print(f"error: {error}", file=sys.stderr)
        print(f"hint: {error.hint}", file=sys.stderr)
        return 2
    if not result.made:
        print("error: nothing to score", file=sys.stderr)
        print("hint: make transfers first: python -m validation truth", file=sys.stderr)
        return 2
    if options.fit:
        return _fit(result)
    if options.ablate:
        sys.stdout.write(ablation.table(ablation.Ablation(result)))
        return 0
    _show(result, options)
    return 1 if failed else 0


def _parse(words: Sequence[str]) -> argparse.Namespace:
    words_of_module, examples = (__doc__ or "").split("\n\n", 1)
    parser = argparse.ArgumentParser(
        prog="python -m validation truth",
        description=words_of_module,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--directory",
        type=Path,
        default=captures.project() / "truth-data",
        help="directory of the transfers of one plan",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SEED,
        help="seed of all transfers; a directory holds those of one seed (default: %(default)s)",
    )
    parser.add_argument(
        "--make",
        choices=tuple(SELECTIONS),
        default="all",
        help="families of networks on which transfers are made (default: all)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="KIND",
        help="kinds whose name contains this (repeatable)",
    )
    parser.add_argument("--minutes", type=float, help="stop after this many minutes")
    parser.add_argument("--limit", type=int, help="make at most this many transfers")
    parser.add_argument(
        "--jobs",
        type=int,
        default=JOBS,
        help=(
            "transfers at the same time where no processor is kept busy, up to "
            f"{BESIDE_MEGABITS} Mbit/s together (default: %(default)s)"
        ),
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=ALLOWANCE_SECONDS,
        metavar="SECONDS",
        help=(
            "while others use the machine, wait before the next transfer; at most this long in "
            "a run, 0: never (default: %(default)g)"
        ),
    )
    parser.add_argument(
        "--keep", action="store_true", help="store the captures as well, to measure them again"
    )
    parser.add_argument(
        "--retry",
        action="store_true",
        help="retry what could not be made, failed or was invalid",
    )
    parser.add_argument(
        "--score-only", action="store_true", help="make nothing: judge stored transfers again"
    )
    parser.add_argument(
        "--again", action="store_true", help="measure stored captures again, then judge"
    )
    parser.add_argument(
        "--fit",
        action="store_true",
        help="make nothing: fit the confidence of each score to the development families",
    )
    parser.add_argument(
        "--ablate",
        action="store_true",
        help="make nothing: what each threshold and each rule is worth on development families",
    )
    parser.add_argument(
        "--half",
        choices=tuple(SELECTIONS),
        default=fit.HALF,
        help=(
            "families to score; every look at those that are reported is logged in "
            f"{looks.FILE.name} (default: %(default)s)"
        ),
    )
    parser.add_argument(
        "--rows",
        type=Path,
        nargs="?",
        const=published.DIRECTORY,
        metavar="DIRECTORY",
        help="judge published rows instead of a directory of transfers",
    )
    parser.add_argument(
        "--restore",
        type=Path,
        nargs="?",
        const=published.DIRECTORY,
        metavar="DIRECTORY",
        help="begin with published transfers: what they hold is not made again",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="write the scored rows, without packets, as Parquet into the repository",
    )
    parser.add_argument(
        "--document",
        action="store_true",
        help=(
            "write the result into docs/validation.md, once the plan is complete (or with --half "
            "report, whatever there is)"
        ),
    )
    parser.add_argument(
        "--table",
        action="store_true",
        help="write only the table of accepted answers into docs/validation.md",
    )
    parser.add_argument(
        "--wrong", type=Path, metavar="FILE", help="write every wrong answer with its numbers"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the result (default: result.json in the directory; with --rows, none)",
    )
    options = parser.parse_args(words)
    strange = [name for name in options.only or () if not any(name in kind for kind in KINDS)]
    if strange:
        parser.error(f"no kind contains {strange[0]!r}: {', '.join(KINDS)}")
    return options


def _chosen(plan: Plan, options: argparse.Namespace) -> Iterator[Planned]:
    chosen = [
        one
        for one in plan.transfers
        if options.make in ("all", one.half)
        and (not options.only or any(name in one.kind for name in options.only))
    ]
    return plan.order(chosen)


class _Making:
    """Transfers while they are made.

    Progress, time left, and whether others use the machine.
    """

    def __init__(self, store: Store, progress: Progress, options: argparse.Namespace) -> None:
        self._store = store
        self._progress = progress
        self._minutes: float | None = options.minutes
        self._keep: bool = options.keep
        self._begun = time.monotonic()
        self.calm = Calm(
            options.wait, Senses(report=progress.on_waiting, is_over=lambda: self.is_over)
        )
        self.failed = 0

    @property
    def is_over(self) -> bool:
        """Whether the time limit has passed."""
        return (
            self._minutes is not None and time.monotonic() - self._begun >= self._minutes * MINUTE
        )

    def captures_of(self, planned: Planned) -> Path | None:
        """The directory for the captures of a transfer, if they are stored."""
        return self._store.captures(planned.name) if self._keep else None

    def on_made(self, stored: Stored) -> None:
        """Stores another transfer."""
        self._store.write(stored)
        self.failed += stored["outcome"] == FAILED
        self._progress.on_made(stored, passed=time.monotonic() - self._begun)


def _make(plan: Plan, store: Store, options: argparse.Namespace) -> int:
    """Makes missing transfers; returns the number of failures."""
    store.belong_to(plan.identity)
    planned = list(_chosen(plan, options))
    settled = {
        one.name: outcome
        for one in planned
        if (outcome := _settled(store, one, retry=options.retry)) is not None
    }
    missing = [one for one in planned if one.name not in settled][: options.limit]
    progress = Progress(missing, minutes=options.minutes)
    for one in planned:
        if one.name in settled:
            progress.on_settled(half=one.half, outcome=settled[one.name])
    making = _Making(store, progress, options)
    with ending_in_order():
        for number in range(ROUNDS):
            turn = [one for one in missing if one.round == number]
            light = [one for one in turn if options.jobs > 1 and one.is_light]
            _side_by_side(light, making, options.jobs)
            _alone([one for one in turn if one not in light], making)
    progress.ends()
    return making.failed


def _alone(planned: Sequence[Planned], making: _Making) -> None:
    for one in planned:
        if making.is_over:
            break
        making.on_made(carry_out(one, keep=making.captures_of(one), calm=making.calm))


def _side_by_side(light: Sequence[Planned], making: _Making, jobs: int) -> None:
    """Several at once, as long as there is time, and never more than :data:`BESIDE_MEGABITS`.

    The next begins as soon as there is room and the hypervisor takes no CPU time.
    """
    if not light:
        return
    waiting = list(light)
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        running: dict[Future[Stored], float] = {}
        while True:
            while not making.is_over and len(running) < jobs:
                room = BESIDE_MEGABITS - sum(running.values()) if running else math.inf
                one = next((one for one in waiting if one.network.rate_megabits <= room), None)
                if one is None:
                    break
                waiting.remove(one)
                making.calm.wait(beside=True)
                task = pool.submit(carry_out, one, keep=making.captures_of(one))
                running[task] = one.network.rate_megabits
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for each in ended:
                del running[each]
                making.on_made(each.result())


def _settled(store: Store, planned: Planned, *, retry: bool) -> str | None:
    """The outcome of a transfer; ``None`` if it is to be made.

    With ``retry``, what could not be made before may be possible by now.
    """
    if not store.holds(planned.name):
        return None
    outcome = str(store.read(planned.name)["outcome"])
    return None if retry and outcome != MADE else outcome


def _measure_again(store: Store) -> None:
    for stored in list(store):
        directory = store.captures(stored["name"])
        if stored["outcome"] == "made" and directory.is_dir():
            store.write({**stored, **again(directory)})


def _fit(result: Result) -> int:
    given = fit.samples(result)
    if not given:
        print(
            "error: nothing to fit to: no answer about a transfer of the development families "
            "counts",
            file=sys.stderr,
        )
        print(
            "hint: make some first: python -m validation truth --make development", file=sys.stderr
        )
        return 2
    sys.stdout.write(fit.report(given))
    fit.write(given)
    print(
        f"written: {fit.TABLE}; the stated confidence now follows it",
        file=sys.stderr,
    )
    return 0


def _show(result: Result, options: argparse.Namespace) -> None:
    half, is_documented = options.half, options.document
    if is_documented and half == fit.HALF:
        half = looks.HALF if result.is_complete else half
        is_documented = result.is_complete
    sys.stdout.write(text.render(result, half))
    target = options.json or (None if options.rows else options.directory / "result.json")
    if target is not None:
        target.write_text(
            json.dumps(result.as_json(half), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    if half != fit.HALF:
        _log(result)
    if options.wrong is not None:
        options.wrong.write_text(text.wrong_answers(result, half), encoding="utf-8")
    if options.publish:
        published.write(result)
    if options.document and not is_documented:
        print(
            "the plan is not complete: the families that are reported are not looked at yet",
            file=sys.stderr,
        )
    if is_documented:
        sections.write(_document(), SECTION, COMMAND, page.render(result, looks.read()))
        pictures.write(
            pictures.pictures(result, page.REPORTED), _document().parent / page.DIRECTORY
        )
    not_made = sum(stored["outcome"] == NOT_MADE for stored in result.transfers)
    if not_made:
        print(
            f"{not_made} transfers could not be made here; the result gives the reasons",
            file=sys.stderr,
        )


def _log(result: Result) -> None:
    """A look at the report half, unless the last was the same."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    look = looks.Look.of(result, date=now, commit=looks.commit(captures.project()))
    if looks.record(look):
        print(f"logged in {looks.FILE.name}: a look at the report half", file=sys.stderr)


def _document() -> Path:
    return captures.project() / "docs" / "validation.md"
