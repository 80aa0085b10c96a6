"""``trustbed run``: a scenario in, a run directory with judged repetitions out.

The summary, or JSON, goes to standard output, progress to standard error. Ctrl-C, SIGTERM and
SIGHUP end the run in order: complete repetitions stay, and the same command continues.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from trustbed.cli import FINE, arguments, progress
from trustbed.cli.analyze import describe
from trustbed.cli.interrupt import signals_as_interrupts
from trustbed.cli.report import show
from trustbed.cli.run_progress import Lines, Shown
from trustbed.report import printable, words
from trustbed.report.run import link_words
from trustbed.run.directory import REPORT, RunDirectory, open_directory
from trustbed.run.execution.rehearsal import Rehearsal, rehearse
from trustbed.scenario import Direction, ScenarioFile, load
from trustbed.scenario.inventory import transport_of

_MOST_REPETITIONS = 100_000
_WIDEST = 100


def parser() -> arguments.Parser:
    """The parser of ``trustbed run``."""
    parser = arguments.Parser(
        "run",
        "[OPTIONS] SCENARIO",
        "Runs an experiment from a file: builds its network, starts its traffic, repeats\n"
        "every cell of its matrix in random order, and judges every repetition. Complete\n"
        "repetitions stay: after an interruption the same command continues.",
        "examples:\n"
        "  trustbed run examples/lossy.toml --dry-run\n"
        "  trustbed run examples/lossy.toml --out lossy\n\n" + arguments.EXIT_CODES,
    )
    parser.add_argument(
        "scenario",
        nargs="*",
        metavar="SCENARIO",
        help="hosts, links, workloads, background traffic, and factors (docs/scenario.md)",
    )
    action = parser.add_argument_group("action")
    action.add_argument(
        "--repetitions",
        type=_repetitions,
        metavar="N",
        help="of every cell, instead of the scenario's; a complete run gets what it lacks",
    )
    action.add_argument(
        "--resume", action="store_true", help="only continue; an error if there is no run yet"
    )
    action.add_argument(
        "--dry-run", action="store_true", help="print the plan and its expected time, and stop"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="the run directory, with report.html (default: SCENARIO.run, here)",
    )
    output.add_argument("--no-report", action="store_true", help="no report.html")
    arguments.add_json(output, "the results, or the plan, as JSON on standard output")
    arguments.add_quiet(output, "no summary and no progress")
    arguments.add_end(parser, fail_on="a repetition")
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
    if not study.first.machines:
        from trustbed.testbed import prepare

        prepare()  # possible only while there is one thread: what is imported below starts some
    from trustbed.run.api import default_directory

    path = options.out or default_directory(study)
    directory = open_directory(path, must_exist=options.resume)
    return _carry_out(study, directory, options, words)


def _carry_out(
    study: ScenarioFile, directory: RunDirectory, options: argparse.Namespace, words: Sequence[str]
) -> int:
    from trustbed.run.api import session_of
    from trustbed.run.results import open_run

    about = describe(words, "run")
    session_about = {key: value for key, value in about.items() if key != "schema_version"}
    shown = _shown(study, options)
    session = session_of(
        study, directory, about=session_about, repetitions=options.repetitions, listener=shown
    )
    with signals_as_interrupts():
        try:
            session.carry_out()
        except KeyboardInterrupt:
            shown.close()
            print(
                f"complete repetitions stay in {directory.path}; the same command continues",
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


def _shown(study: ScenarioFile, options: argparse.Namespace) -> Shown:
    if options.quiet:
        return Shown()
    return Lines(live=progress.visible(quiet=False), cells=len(study.cells))


# The plan of --dry-run.


def _show_plan(study: ScenarioFile, options: argparse.Namespace) -> None:
    described = rehearse(study, options.repetitions)
    if options.json:
        printable.write_json(msgspec.to_builtins(described), indent=2)
        return
    printable.write("\n".join(_plan(study, described)) + "\n")


def _plan(study: ScenarioFile, described: Rehearsal) -> Iterator[str]:
    first = study.first
    yield f"{first.name}, seed {first.seed}"
    yield from _network(study)
    yield from _traffic(described)
    cells, total = described.cells, len(described.order)
    yield ""
    yield (
        f"{words.counted(len(cells), 'cell')}, "
        f"{words.counted(described.repetitions, 'repetition')} of each: {total} in all"
    )
    for cell in cells:
        against = (
            ""
            if cell.baseline in (None, cell.number)
            else f"  (against {cells[cell.baseline].label})"
        )
        yield f"  {cell.label}{against}"
    order = [cells[one.cell].label for one in described.order]
    if len(cells) > 1:
        more = f" … and {len(order) - 6} more" if len(order) > 6 else ""
        yield f"order: {' | '.join(order[:6])}{more}"
    yield f"expected time: {words.duration(described.expected_seconds)}"


def _traffic(described: Rehearsal) -> Iterator[str]:
    """The workloads, and the background of all cells."""
    for one in described.workloads:
        to = "" if one.to is None else f" → {one.to}"
        lasts = words.duration(one.duration_ns / 1e9)
        start = f", from {words.duration(one.start_ns / 1e9)}" if one.start_ns else ""
        yield f"  workload {one.name:<8} {one.kind}, {one.host}{to}, {lasts}{start}"
    for source in described.backgrounds:
        rate = source.rate_bits_per_second
        shown = "" if rate is None else f", {words.rate(rate / 8)}"
        if source.start_ns is not None:
            shown += f", from {words.duration(source.start_ns / 1e9)}"
        if source.duration_ns is not None:
            shown += f", for {words.duration(source.duration_ns / 1e9)}"
        yield (
            f"  background {source.name:<6} {source.model} over {source.transport.upper()}, "
            f"{source.source} → {source.to}{shown}"
        )


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
        if host.container is not None:
            inside = f", a container ({host.container})"
        if host.machine is not None:
            inside = f", a machine ({transport_of(host.machine)})"
        yield f"  host {host.name:<12} {shown}{behind}{inside}"
        if host.egress is not None:
            yield f"  egress {host.name:<10} {link_words.egress(host.egress)}"
        if host.access_up is not None and host.access_down is not None:
            yield f"  access {host.name:<10} {_both_ways(host.access_up, host.access_down)}"
    for link in scenario.links:
        arrow = "→" if link.backward is None else "↔"
        text = _both_ways(link.forward, link.backward)
        yield f"  link {link.name:<12} {link.ends[0]} {arrow} {link.ends[1]}: {text}"


def _both_ways(forward: Direction, backward: Direction | None) -> str:
    text = link_words.direction(forward)
    if backward is not None and backward != forward:
        text += f"; back {link_words.direction(backward)}"
    return text
