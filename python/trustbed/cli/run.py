"""``trustbed run``: a scenario in, a run directory with judged repetitions out.

Standard output has the summary, or JSON; everything about how it goes is on standard error. Ctrl-C, a kind kill and a closed terminal end
the run in order: what is complete stays, and the same command continues.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trustbed.cli import FINE, arguments, progress
from trustbed.cli.analyze import describe
from trustbed.cli.interrupt import kills_are_interrupts
from trustbed.cli.report import show
from trustbed.report import link_words, words
from trustbed.run.directory import REPORT, RunDirectory, open_directory
from trustbed.run.listener import Listener
from trustbed.run.matrix import Repetition
from trustbed.run.progress import Forecast
from trustbed.run.rehearsal import rehearse
from trustbed.scenario import Cell, ScenarioFile, load

_MOST_REPETITIONS = 100_000
_WIDEST = 100


def parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed run``."""
    parser = arguments.Parser(prog="trustbed run", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO")
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--repetitions", type=_repetitions)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--no-report", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fail-on", choices=arguments.LEVELS)
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if len(options.scenario) != 1:
        message = (
            "no scenario given"
            if not options.scenario
            else f"one scenario, not {len(options.scenario)}"
        )
        raise arguments.UsageError(message, "for example: trustbed run study.toml")
    study = load(Path(options.scenario[0]))
    if options.dry_run:
        _show_plan(study, options)
        return FINE
    from trustbed.testbed import prepare

    prepare()  # possible only as long as there is one thread: what is imported below starts some
    from trustbed.experiment import default_folder

    path = options.out or default_folder(study)
    directory = open_directory(path, must_exist=options.resume)
    return _carry_out(study, directory, options, words)


def _carry_out(
    study: ScenarioFile, directory: RunDirectory, options: argparse.Namespace, words: Sequence[str]
) -> int:
    from trustbed.experiment import session_of
    from trustbed.run_report import open_run

    about = describe(words, "run")
    session_about = {key: value for key, value in about.items() if key != "schema_version"}
    shown = _shown(study, options)
    session = session_of(
        study, directory, about=session_about, repetitions=options.repetitions, listener=shown
    )
    with kills_are_interrupts():
        try:
            session.carry_out()
        except KeyboardInterrupt:
            shown.close()
            print(
                f"complete repetitions are kept in {directory.path}; the same command continues",
                file=sys.stderr,
            )
            raise
        finally:
            shown.close()
    found = open_run(directory.path)
    if not options.no_report:
        found.report(directory.path / REPORT, about=about)
    wrote = directory.path if options.no_report else directory.path / REPORT
    return show(found, str(directory.path), options, about=about, wrote=wrote)


def _repetitions(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_REPETITIONS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of repetitions (1 to {_MOST_REPETITIONS})"
        )
    return int(text)


# How it goes.


class _Shown(Listener):
    """Nothing but what must not be overlooked. The base of what shows more."""

    def close(self) -> None:
        """Leaves nothing on the screen that is not to stay."""


class _Lines(_Shown):
    """A line for every repetition that is complete, and on a terminal one below them that says what is being done."""

    def __init__(self, *, live: bool, cells: int) -> None:
        self._live = live
        self._cells = cells
        self._forecast: Forecast | None = None
        self._label = ""
        self._told = 0

    def on_begun(self, forecast: Forecast) -> None:
        self._forecast = forecast
        if forecast.finished:
            self._say(
                f"continues: {words.counted(forecast.finished, 'repetition')} of {forecast.total} complete"
            )
        if forecast.finished < forecast.total:
            left = words.counted(forecast.total - forecast.finished, "repetition")
            self._say(f"{left} to do, about {words.duration(forecast.left_seconds)}")

    def on_repetition(self, repetition: Repetition, cell: Cell, forecast: Forecast) -> None:
        self._label = f"{repetition.folder}  {cell.label}" if self._cells > 1 else repetition.folder

    def on_phase(self, name: str) -> None:
        if not self._live or self._forecast is None:
            return
        done, total = self._forecast.finished, self._forecast.total
        left = words.duration(self._forecast.left_seconds)
        text = f"{done}/{total}  {self._label}  {name}  about {left} left"
        columns = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{text[:columns]}\x1b[K")
        sys.stderr.flush()

    def on_judged(
        self,
        repetition: Repetition,
        cell: Cell,
        record: Mapping[str, Any],
        findings: Mapping[str, Any],
    ) -> None:
        why = f": {findings['why']}" if findings["why"] else ""
        self._say(f"{self._label}  {words.duration(record['seconds'])}  {findings['use']}{why}")

    def _say(self, text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K\n" if self._live else f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _shown(study: ScenarioFile, options: argparse.Namespace) -> _Shown:
    if options.quiet:
        return _Shown()
    return _Lines(live=progress.wanted(quiet=False), cells=len(study.cells))


# What would be done.


def _show_plan(study: ScenarioFile, options: argparse.Namespace) -> None:
    described = rehearse(study, options.repetitions)
    if options.json:
        json.dump(described, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return
    print("\n".join(_plan(study, described)))


def _plan(study: ScenarioFile, described: Mapping[str, Any]) -> Iterator[str]:
    first = study.first
    yield f"{first.name}, seed {first.seed}"
    yield from _network(study)
    cells, total = described["cells"], len(described["order"])
    yield ""
    yield f"{words.counted(len(cells), 'cell')}, {words.counted(described['repetitions'], 'repetition')} of each: {total} in all"
    for cell in cells:
        against = (
            ""
            if cell["baseline"] in (None, cell["number"])
            else f"  (against {cells[cell['baseline']]['label']})"
        )
        yield f"  {cell['label']}{against}"
    order = [cells[one["cell"]]["label"] for one in described["order"]]
    if len(cells) > 1:
        more = f" … and {len(order) - 6} more" if len(order) > 6 else ""
        yield f"order: {' | '.join(order[:6])}{more}"
    yield f"expected time: {words.duration(described['expected_seconds'])}"


def _network(study: ScenarioFile) -> Iterator[str]:
    scenario = study.first
    for host in scenario.hosts:
        behind = f", behind {host.router}" if host.router is not None else ""
        shown = (
            host.addresses[0]
            if len(host.addresses) == 1
            else f"{host.addresses[0]} … {host.addresses[-1]} ({len(host.addresses)})"
        )
        inside = f", a guest ({host.guest})" if host.guest is not None else ""
        yield f"  host {host.name:<12} {shown}{behind}{inside}"
    for link in scenario.links:
        arrow = "→" if link.backward is None else "↔"
        asked = link_words.direction(link.forward)
        if link.backward is not None and link.backward != link.forward:
            asked += f"; back {link_words.direction(link.backward)}"
        yield f"  link {link.name:<12} {link.ends[0]} {arrow} {link.ends[1]}: {asked}"
