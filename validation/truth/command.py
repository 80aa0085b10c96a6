"""`python -m validation truth`: makes transfers whose cause is known, has them judged, and says how often the verdict is right.

python -m validation truth                     the whole of it, at most three hours; interrupted, it goes on where it was
python -m validation truth --minutes 10        a random part
python -m validation truth --only loss         kinds whose name contains this
python -m validation truth --score-only        no new transfers: the rules as they are now, asked about those that were made
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from validation import captures, sections
from validation.truth import page, pictures, text
from validation.truth.carry import FAILED, NOT_MADE, Kept, carry_out
from validation.truth.kinds import KINDS
from validation.truth.measured import again
from validation.truth.plan import Plan, Planned
from validation.truth.result import Result
from validation.truth.store import Store, StoreError

SECTION = "truth"
COMMAND = "make truth"
MINUTE = 60.0


def main(words: Sequence[str]) -> int:
    """Runs the command; 0 when something was scored, 1 when transfers failed, 2 when nothing could be scored."""
    options = _parse(words)
    store = Store(options.folder)
    if options.table:
        sections.write(_document(), SECTION, COMMAND, page.table_only())
        return 0
    try:
        failed = 0 if options.score_only or options.again else _make(_chosen(options), store, options)
        if options.again:
            _measure_again(store)
        result = Result.of(store)
    except StoreError as error:
        print(f"error: {error}", file=sys.stderr)
        print(f"hint: {error.hint}", file=sys.stderr)
        return 2
    if not result.made:
        print("error: nothing to score", file=sys.stderr)
        print("hint: make transfers first: python -m validation truth", file=sys.stderr)
        return 2
    _show(result, options)
    return 1 if failed else 0


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m validation truth", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=captures.project() / "truth-data", help="where transfers are kept")
    parser.add_argument("--seed", type=int, default=1, help="decides every transfer (default: 1)")
    parser.add_argument("--seeds", choices=("odd", "even", "all"), default="all", help="which transfers are made")
    parser.add_argument("--only", action="append", metavar="KIND", help="kinds whose name contains this (repeatable)")
    parser.add_argument("--minutes", type=float, help="stop when so many have passed")
    parser.add_argument("--limit", type=int, help="make at most so many transfers")
    parser.add_argument(
        "--jobs", type=int, default=1, help="so many transfers over slow links side by side: quicker, and noisier (default: 1)"
    )
    parser.add_argument("--keep", action="store_true", help="keep the captures too, for changes of what is measured")
    parser.add_argument("--retry", action="store_true", help="try again what could not be made, failed or was spoilt")
    parser.add_argument("--score-only", action="store_true", help="make nothing: judge again what was made")
    parser.add_argument("--again", action="store_true", help="measure the captures that were kept anew, then judge")
    parser.add_argument("--report", choices=("odd", "even", "all"), default="even", help="which transfers are scored (default: even)")
    parser.add_argument("--document", action="store_true", help="write the result into docs/validation.md")
    parser.add_argument("--table", action="store_true", help="write only the table of what is accepted into docs/validation.md")
    parser.add_argument("--wrong", type=Path, metavar="FILE", help="write every wrong answer with its numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result (default: result.json in the folder)")
    options = parser.parse_args(words)
    strange = [name for name in options.only or () if not any(name in kind for kind in KINDS)]
    if strange:
        parser.error(f"no kind contains {strange[0]!r}: {', '.join(KINDS)}")
    return options


def _chosen(options: argparse.Namespace) -> Iterator[Planned]:
    plan = Plan(options.seed)
    chosen = [
        one
        for one in plan.transfers
        if (options.seeds == "all" or one.is_odd == (options.seeds == "odd"))
        and (not options.only or any(name in one.kind for name in options.only))
    ]
    return plan.order(chosen)


class _Making:
    """Transfers while they are made: how far it is, and whether there is time for more."""

    def __init__(self, store: Store, total: int, options: argparse.Namespace) -> None:
        self._store = store
        self._total = total
        self._minutes: float | None = options.minutes
        self._keep: bool = options.keep
        self._begun = time.monotonic()
        self._done = 0
        self.failed = 0

    @property
    def is_over(self) -> bool:
        """Whether the time that was asked for has passed."""
        return self._minutes is not None and time.monotonic() - self._begun >= self._minutes * MINUTE

    def place(self, planned: Planned) -> Path | None:
        """Where the captures of a transfer are kept, if they are."""
        return self._store.captures(planned.name) if self._keep else None

    def on_made(self, kept: Kept) -> None:
        """A transfer more."""
        self._store.write(kept)
        self._done += 1
        self.failed += kept["outcome"] == FAILED
        text.progress(self._done, self._total, kept, passed=time.monotonic() - self._begun, minutes=self._minutes)


def _make(planned: Iterator[Planned], store: Store, options: argparse.Namespace) -> int:
    """Makes what is missing; how many failed."""
    missing = [one for one in planned if not _is_settled(store, one, retry=options.retry)][: options.limit]
    making = _Making(store, len(missing), options)
    light = [one for one in missing if options.jobs > 1 and one.is_light]
    _side_by_side(light, making, options.jobs)
    for one in missing:
        if making.is_over:
            break
        if one not in light:
            making.on_made(carry_out(one, keep=making.place(one)))
    text.progress_ends()
    return making.failed


def _side_by_side(light: Sequence[Planned], making: _Making, jobs: int) -> None:
    """Several at once, as long as there is time. Each takes its turn as soon as another has ended."""
    if not light:
        return
    waiting = iter(light)
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        running: set[Future[Kept]] = set()
        while True:
            for one in itertools.islice(waiting, 0 if making.is_over else jobs - len(running)):
                running.add(pool.submit(carry_out, one, keep=making.place(one)))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for each in ended:
                making.on_made(each.result())


def _is_settled(store: Store, planned: Planned, *, retry: bool) -> bool:
    """Whether nothing is left to do about a transfer. What could not be made may be possible by now."""
    if not store.holds(planned.name):
        return False
    return not retry or store.read(planned.name)["outcome"] == "made"


def _measure_again(store: Store) -> None:
    for kept in list(store):
        folder = store.captures(kept["name"])
        if kept["outcome"] == "made" and folder.is_dir():
            store.write({**kept, "captures": again(folder)})


def _show(result: Result, options: argparse.Namespace) -> None:
    sys.stdout.write(text.render(result, options.report))
    target = options.json or options.folder / "result.json"
    target.write_text(json.dumps(result.as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.wrong is not None:
        options.wrong.write_text(text.wrong_answers(result, options.report), encoding="utf-8")
    if options.document:
        sections.write(_document(), SECTION, COMMAND, page.render(result))
        pictures.write(pictures.pictures(result, page.REPORTED), _document().parent / page.FOLDER)
    not_made = sum(kept["outcome"] == NOT_MADE for kept in result.transfers)
    if not_made:
        print(f"{not_made} transfers could not be made here; the result says why", file=sys.stderr)


def _document() -> Path:
    return captures.project() / "docs" / "validation.md"
