"""``trustbed sensitivity``: which background traffic an application reacts to.

The answers, or JSON, go to standard output, progress to standard error. Ctrl-C ends the study in
order: complete repetitions stay, and the same command continues.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.cli import FINE, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.cli.interrupt import signals_as_interrupts
from trustbed.report import printable, words

if TYPE_CHECKING:
    from trustbed.sensitivity.design import Options, Planned
    from trustbed.sensitivity.model import Sensitivity

REPORT = "report.html"
_DEFAULT_LOADS = "0.3,0.6"
_DEFAULT_BUDGET = "30min"


def parser() -> arguments.Parser:
    """The parser of ``trustbed sensitivity``."""
    parser = arguments.Parser(
        "sensitivity",
        "[OPTIONS] SCENARIO",
        "Runs an application, a workload of a scenario, beside a suite of backgrounds at\n"
        "several loads, and says: does background matter here, the mean load or\n"
        "burstiness, at which time scales, in which direction, by the queue or by\n"
        "losses; and which backgrounds to report it beside.",
        "examples:\n"
        "  trustbed sensitivity pages.toml\n"
        "  trustbed sensitivity stream.toml --backgrounds steady,web,bursty --budget 1h\n\n"
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    parser.add_argument(
        "scenario",
        nargs="*",
        metavar="SCENARIO",
        help="a scenario without factors; background of its own stays beside the suite's",
    )
    tried = parser.add_argument_group("what is tried")
    tried.add_argument(
        "--loads",
        type=_loads,
        default=_loads(_DEFAULT_LOADS),
        metavar="LIST",
        help=f"shares of the link (default: {_DEFAULT_LOADS})",
    )
    tried.add_argument(
        "--backgrounds",
        type=_names,
        metavar="LIST",
        help="members of the suite, see trustbed model list (default: all)",
    )
    tried.add_argument("--workload", metavar="NAME", help="the application (default: the first)")
    tried.add_argument(
        "--link", metavar="NAME", help="where backgrounds compete (default: the slowest link)"
    )
    tried.add_argument("--no-reverse", action="store_true", help="no traffic against the data")
    tried.add_argument(
        "--no-surrogates", action="store_true", help="do not change time scales one by one"
    )
    tried.add_argument(
        "--budget",
        type=arguments.span,
        default=arguments.span(_DEFAULT_BUDGET),
        metavar="TIME",
        help="no further round begins after it; narrow intervals end it earlier (default: 30min)",
    )
    tried.add_argument("--dry-run", action="store_true", help="print the plan, and stop")
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="the runs of the study, with report.html (default: SCENARIO.sensitivity, here)",
    )
    output.add_argument("--no-report", action="store_true", help="no report.html")
    arguments.add_json(output, "the answers as JSON on standard output")
    arguments.add_quiet(output, "no answers and no progress")
    arguments.add_end(parser)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    arguments.check_plan(options)
    if len(options.scenario) != 1:
        message = (
            "no scenario given"
            if not options.scenario
            else f"one scenario, not {len(options.scenario)}"
        )
        raise arguments.UsageError(message, "for example: trustbed sensitivity pages.toml")
    from trustbed.testbed import prepare

    prepare()  # possible only as long as there is one thread: what is imported below starts some
    from trustbed.sensitivity.api import check_budget
    from trustbed.sensitivity.design import Options, planned

    asked = Options(
        loads=options.loads,
        backgrounds=options.backgrounds,
        workload=options.workload,
        link=options.link,
        budget_seconds=options.budget / 1e9,
        reverse=not options.no_reverse,
        surrogates=not options.no_surrogates,
    )
    if options.dry_run:
        plan = planned(options.scenario[0], asked)
        printable.write("\n".join(_plan(plan, asked)) + "\n")
        check_budget(plan, asked)
        return FINE
    return _carry_out(options, asked, words)


def _carry_out(options: argparse.Namespace, asked: Options, words: Sequence[str]) -> int:
    from trustbed.cli.run_progress import Parts
    from trustbed.report.sensitivity import page
    from trustbed.sensitivity.api import sensitivity

    scenario = options.scenario[0]
    out = options.out or Path(f"{Path(scenario).stem}.sensitivity")
    about = describe(words, "sensitivity")
    shown = Parts(quiet=options.quiet)
    with signals_as_interrupts():
        try:
            found = sensitivity(
                scenario,
                out,
                asked,
                listener=shown.part,
                about={key: value for key, value in about.items() if key != "schema_version"},
            )
        except KeyboardInterrupt:
            shown.close()
            print(
                f"complete repetitions stay in {out}; the same command continues", file=sys.stderr
            )
            raise
        finally:
            shown.close()
    if not options.no_report:
        page.write(found, out / REPORT, about)
    _show(found, out if options.no_report else out / REPORT, options)
    return FINE


def _show(found: Sensitivity, wrote: Path, options: argparse.Namespace) -> None:
    import msgspec

    from trustbed.report.sensitivity import text

    if options.json:
        printable.write_json(msgspec.to_builtins(found), indent=2)
    elif not options.quiet:
        paint = terminal.paint(no_color=options.no_color)
        printable.write(text.render(found, columns=terminal.width(text.WIDEST), paint=paint))
        print(f"wrote {wrote}", file=sys.stderr)


def _plan(plan: Planned, asked: Options) -> Iterator[str]:
    from trustbed.sensitivity.judge.effects import LEAST_ROUNDS

    where = plan.where
    yield (
        f"{where.workload.name} ({where.workload.kind}), data from {where.sender} to "
        f"{where.receiver}; background on {where.link}, {words.bits(where.capacity)}"
    )
    for one in plan.treatments:
        yield f"  {one.label}"
    yield from plan.left_out
    if plan.bands:
        from trustbed.sensitivity.words import span

        scales = ", ".join(span(*band.seconds()) for band in plan.bands)
        yield f"surrogates: one unchanged, and flattened and amplified at {scales}"
    yield (
        f"{LEAST_ROUNDS} rounds, the least, take about {words.duration(plan.least_seconds)}, of a "
        f"budget of {words.duration(asked.budget_seconds)}"
    )


def _loads(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no list of shares, for example {_DEFAULT_LOADS}"
        ) from None


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
