"""``trustbed compare``: is one testbed a stand-in for another, level by level?

The comparison, or JSON, goes to standard output, progress of runs to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustbed.cli import DISCARD, FINE, REVIEW, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.cli.interrupt import signals_as_interrupts
from trustbed.errors import TrustbedError
from trustbed.report import printable
from trustbed.scenario import load

if TYPE_CHECKING:
    from trustbed.compare.api import Options
    from trustbed.compare.model import Comparison
    from trustbed.scenario import ScenarioFile

LEVELS = ("beyond", "different", "open")
_DEFAULT_BUDGET = "30min"
_LARGEST_COUNT = 10_000
_SCENARIO = "scenario.toml"
"""Of a run directory; its own module loads what starts threads."""
_MORE_REPETITIONS = (
    "each testbed needs three repetitions that count, better ten: the report lists what was left "
    "out, and why"
)


def parser() -> arguments.Parser:
    """The parser of ``trustbed compare``."""
    parser = arguments.Parser(
        "compare",
        "[OPTIONS] RUN RUN…\n[OPTIONS] --by FACTOR RUN\n[OPTIONS] SCENARIO",
        "Is one testbed a stand-in for another? Compares what applications got, which\n"
        "system calls they made, which packets left and how delays vary: similar,\n"
        "overlapping, equivalent, different, each per level, with the repetitions that\n"
        "would settle what is open.",
        "examples:\n"
        "  trustbed compare metal.run guest.run --out compare.html\n"
        "  trustbed compare --by hosts.server.guest study.toml\n"
        "  trustbed compare lab=results/lab cloud=results/cloud --fail-on different\n\n"
        "exit codes: 0 fine, 1 error, 2 wrong usage, 3 different, open or not judged,\n"
        "4 beyond the tolerance (the latter two only with --fail-on)",
    )
    parser.add_argument(
        "testbeds",
        nargs="*",
        metavar="RUN",
        help="a run, the first the reference; or results of ab, wrk, httperf, iperf3, flent, "
        "k8s-netperf, owping or ndt7-client in a directory, a file per repetition; or "
        "traces of system calls (trustbed trace, strace, perf, sysdig, bpftrace), likewise; "
        "NAME=PATH names it. A scenario (.toml) is run first",
    )
    what = parser.add_argument_group("what is compared")
    what.add_argument("--by", metavar="FACTOR", help="of one run: its levels are the testbeds")
    what.add_argument("--reference", metavar="NAME", help="testbed or level (default: the first)")
    what.add_argument(
        "--tolerance",
        action="append",
        default=[],
        metavar="[METRIC=]SHARE",
        help="what is similar (default: 10%%); repeat for single metrics: jitter_seconds=20%%",
    )
    what.add_argument(
        "--least", default="1%", metavar="SHARE", help="smallest difference that counts (1%%)"
    )
    what.add_argument(
        "--warm-up", type=_count, default=0, metavar="N", help="rounds to drop at the beginning"
    )
    what.add_argument(
        "--order",
        type=_count,
        default=1,
        metavar="N",
        help="calls of a state of the chains of system calls, 1 to 4 (default: 1)",
    )
    again = parser.add_argument_group("what is run")
    again.add_argument(
        "--repetitions",
        type=_repetitions,
        metavar="N",
        help="of a scenario's cells, instead of its own; with --explain, rounds (default: 5)",
    )
    again.add_argument(
        "--explain",
        action="store_true",
        help="run each different candidate again with one setting changed at a time, and say "
        "which one closes the gap",
    )
    again.add_argument(
        "--budget",
        type=arguments.span,
        default=arguments.span(_DEFAULT_BUDGET),
        metavar="TIME",
        help=f"of --explain, for each candidate (default: {_DEFAULT_BUDGET})",
    )
    again.add_argument(
        "--runs",
        type=Path,
        default=Path("compare.runs"),
        metavar="DIR",
        help="where --explain puts its runs (default: compare.runs, here)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help="an HTML page")
    output.add_argument("--markdown", type=Path, metavar="FILE", help="Markdown for a pull request")
    output.add_argument(
        "--junit", type=Path, metavar="FILE", help="a JUnit report for CI, one case per metric"
    )
    arguments.add_json(output)
    arguments.add_quiet(output, "no summary and no progress")
    end = parser.add_argument_group("exit code")
    end.add_argument(
        "--fail-on",
        choices=LEVELS,
        metavar="LEVEL",
        help="beyond: exit 4 if a metric certainly differs by more than the tolerance; "
        "different: exit 3 also if it certainly differs; open: also if it is not equivalent, or "
        "was not judged, or system calls come in another order. With any of them, exit 3 if no "
        "metric of a candidate was judged",
    )
    arguments.add_help(end)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    _check(options)
    scenario = _scenario(options)
    study = None if scenario is None else load(scenario)
    if (options.explain or study is not None) and not _on_machines(options, study):
        from trustbed.testbed import prepare

        prepare()  # possible only as long as there is one thread: imports below start some
    asked = _asked(options)
    if study is not None:
        from trustbed.compare.api import check_scenario

        check_scenario(study, asked)
    about = describe(words, "compare")
    session = {key: value for key, value in about.items() if key != "schema_version"}
    with signals_as_interrupts():
        if study is not None:
            options.testbeds = [str(_carried_out(study, options, session))]
        found = _compared(options, asked, session)
    _write(found, options, about)
    if options.json:
        import msgspec

        printable.write_json({"trustbed": about, **msgspec.to_builtins(found)})
    elif not options.quiet:
        _show(found, options)
    return _exit_code(found, options.fail_on)


def _on_machines(options: argparse.Namespace, study: ScenarioFile | None) -> bool:
    """Whether what is run, or run again, is on machines, which need no namespaces here."""
    if study is not None:
        return bool(study.first.machines)
    places = [Path(word) for given in options.testbeds for word in (given, given.partition("=")[2])]
    files = [place / _SCENARIO for place in places if place.name]
    files = [file for file in files if file.is_file()]
    try:
        return bool(files) and all(load(file).first.machines for file in files)
    except TrustbedError:
        return False  # it is told where runs are read


def _check(options: argparse.Namespace) -> None:
    example = "for example: trustbed compare metal.run guest.run"
    if not options.testbeds:
        raise arguments.UsageError("no testbed given", example)
    files = [word for word in options.testbeds if word.endswith(".toml")]
    if files and len(options.testbeds) > 1:
        raise arguments.UsageError(
            f"a scenario comes alone, {files[0]}",
            "its testbeds are the levels of a factor; or run it, and compare the run directories",
        )
    if options.repetitions and not files and not options.explain:
        raise arguments.UsageError(
            "--repetitions is of what is run, a scenario's cells or --explain",
            "leave it out, or add --explain",
        )
    from trustbed.report import placing

    for path in (options.out, options.markdown, options.junit):
        if path is not None:
            placing.check_file(path)


def _scenario(options: argparse.Namespace) -> Path | None:
    word = options.testbeds[0]
    return Path(word) if word.endswith(".toml") else None


def _carried_out(
    study: ScenarioFile, options: argparse.Namespace, about: Mapping[str, object]
) -> Path:
    """Runs a scenario, or continues its run; returns the directory."""
    from trustbed.cli.run_progress import Parts
    from trustbed.run.api import default_directory, session_of
    from trustbed.run.directory import RunDirectory

    directory = RunDirectory(default_directory(study))
    shown = Parts(quiet=options.quiet)
    try:
        session_of(
            study,
            directory,
            about=about,
            repetitions=options.repetitions or None,
            listener=shown.part(str(study.file), len(study.cells)),
        ).carry_out()
    finally:
        shown.close()
    return directory.path


def _compared(
    options: argparse.Namespace, asked: Options, about: Mapping[str, object]
) -> Comparison:
    from msgspec.structs import replace

    from trustbed.compare.api import arrange, compared, read_sources

    sources = read_sources(options.testbeds)
    found = compared(arrange(sources, asked), asked)
    if not options.explain:
        return found
    from trustbed.cli.run_progress import Parts
    from trustbed.compare.explain import REPETITIONS, Budget, explain

    shown = Parts(quiet=options.quiet)
    budget = Budget(repetitions=options.repetitions or REPETITIONS, seconds=options.budget / 1e9)
    try:
        answers = explain(
            found,
            sources,
            options.runs,
            budget=budget,
            listening=lambda title: shown.part(title, 1),
            about=about,
        )
    finally:
        shown.close()
    if not answers:
        print("nothing to explain: no level is certainly different", file=sys.stderr)
    return replace(found, explanation=tuple(answers))


def _asked(options: argparse.Namespace) -> Options:
    """What the comparison is asked for, checked as far as that needs no testbed."""
    from trustbed.compare.api import Options, check
    from trustbed.compare.error import CompareError
    from trustbed.compare.statistics import TOLERANCE

    overall, single = TOLERANCE, {}
    for word in options.tolerance:
        metric, equals, share = word.rpartition("=")
        if equals:
            single[metric] = _share(share)
        else:
            overall = _share(word)
    asked = Options(
        by=options.by,
        reference=options.reference,
        tolerance=overall,
        tolerances=single,
        resolution=_share(options.least),
        warm_up=options.warm_up,
        order=options.order,
    )
    try:
        check(asked)
    except CompareError as error:
        raise arguments.UsageError(error.message, error.hint) from None
    return asked


def _write(found: Comparison, options: argparse.Namespace, about: Mapping[str, Any]) -> None:
    from trustbed.report import placing

    if options.out is not None:
        from trustbed.report.compare import page

        page.write(found, options.out, about)
    if options.markdown is not None:
        from trustbed.report.compare import markdown

        with placing.whole_file(options.markdown) as stream:
            stream.write(markdown.render(found))
    if options.junit is not None:
        from trustbed.report.compare import junit

        with placing.whole_file(options.junit) as stream:
            junit.write(stream, found, fail_on=options.fail_on, started=str(about["started"]))


def _show(found: Comparison, options: argparse.Namespace) -> None:
    from trustbed.report.compare import text

    paint = terminal.paint(no_color=options.no_color)
    printable.write(text.render(found, columns=terminal.width(text.WIDEST), paint=paint))
    for path in (options.out, options.markdown, options.junit):
        if path is not None:
            print(f"wrote {path}", file=sys.stderr)


def _exit_code(found: Comparison, fail_on: str | None) -> int:
    """The exit code of a check; says on standard error where there was nothing to check."""
    if fail_on is None:
        return FINE
    from trustbed.report.compare import verdicts

    reasons = [
        f"{verdicts.heading(case, candidate)}: {why}"
        for case in found.cases
        for candidate in case.candidates
        if (why := verdicts.not_judged(candidate)) is not None
    ]
    for reason in reasons:
        print(f"error: no metric could be judged, {reason}", file=sys.stderr)
    if reasons:
        print(f"hint: {_MORE_REPETITIONS}", file=sys.stderr)
    metrics = [one for _, _, one in found.metrics()]
    if any(verdicts.fails(one, "beyond") for one in metrics):
        return DISCARD
    failed = any(verdicts.fails(one, fail_on) for one in metrics)
    if fail_on == "open":
        candidates = [candidate for case in found.cases for candidate in case.candidates]
        failed = failed or any(map(verdicts.disordered, candidates))
    return REVIEW if reasons or failed else FINE


def _repetitions(text: str) -> int:
    count = _count(text)
    if not count:
        raise argparse.ArgumentTypeError("a comparison needs a repetition at least")
    return count


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > _LARGEST_COUNT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of repetitions")
    return int(text)


def _share(text: str) -> float:
    """A share of one from ``10%`` or ``0.1``."""
    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number)
    except ValueError:
        raise arguments.UsageError(
            f"{text!r} is no share", "for example: --tolerance 10% or --tolerance reads=20%"
        ) from None
    return value / 100 if text.strip().endswith("%") else value
