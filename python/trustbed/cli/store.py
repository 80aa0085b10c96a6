"""``trustbed store``: what is in a store, what it says, and how it is kept."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trustbed.cli import DISCARD, ERROR, FINE, REVIEW, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.errors import TrustbedError
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.store.directories import Added
    from trustbed.store.entry import Entry
    from trustbed.store.store import Store

ACTIONS = ("ls", "show", "gc", "add", "hosts", "causes", "papers")


def parser() -> arguments.Parser:
    """The parser of ``trustbed store``."""
    parser = arguments.Parser(
        "store",
        "ls|gc|hosts|causes|papers [OPTIONS] URL\nshow [OPTIONS] URL KEY\n"
        "add [OPTIONS] URL RUN|CAMPAIGN|RESULTS…",
        "Many captures, runs and campaigns in one place, a directory or a URL like\n"
        "s3://bucket/path, and what they say together.\n"
        "trustbed analyze CAPTURES… --store URL adds captures.",
        "actions:\n"
        "  ls                      Captures, runs, campaigns and results, one a line\n"
        "  show                    Everything that is known of one; KEY as ls has it\n"
        "  add                     Add run directories, campaigns, and results of iperf3,\n"
        "                          flent, owping, ndt7, k8s-netperf, ab, wrk and httperf\n"
        "  gc                      Remove what killed writers left, and analyses that a\n"
        "                          later one of the same capture replaced\n"
        "  hosts                   Which hosts produce numbers to be discarded, and at\n"
        "                          which hours?\n"
        "  causes                  How did the share of a cause change, and since when?\n"
        "  papers                  Which runs of a paper would not survive review?\n\n"
        "docs/store.md has the layout, and how DuckDB and polars read it.\n" + arguments.EXIT_CODES,
    )
    parser.add_argument("words", nargs="*", metavar="ACTION URL …", help="what to do, and where")
    about = parser.add_argument_group("what it is about")
    about.add_argument("--testbed", metavar="NAME", help="only this one; with add: its label")
    about.add_argument(
        "--paper", metavar="NAME", help="runs of this paper; with add: label of the runs"
    )
    about.add_argument("--cause", metavar="NAME", help="only this one (causes)")
    about.add_argument(
        "--since",
        metavar="DATE",
        help="compare before and since 2026-01-31 or 2026-01-31T12:00 UTC, instead of looking "
        "for changes (causes)",
    )
    about.add_argument(
        "--fewest",
        type=_count,
        metavar="N",
        help="usable repetitions that a cell needs (papers; default: 3)",
    )
    about.add_argument(
        "--older",
        type=arguments.span,
        metavar="TIME",
        help="remove what is older than this (gc; default: 24h), so that writers and readers at "
        "work are left alone",
    )
    about.add_argument(
        "--dry-run", action="store_true", help="only print what would be removed (gc)"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="an HTML page (hosts, causes, papers)"
    )
    arguments.add_json(output)
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser, fail_on="a run (papers)")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of repetitions")
    return int(text)


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    given = options.words
    if not given:
        raise arguments.UsageError("no action given", f"trustbed store {'|'.join(ACTIONS)} URL")
    action = _ACTIONS.get(given[0])
    if action is None:
        raise arguments.unknown_command(given[0], ACTIONS, parent="store")
    _check(options, given)
    if options.out is not None:
        from trustbed.report import placing

        placing.check_file(options.out)
    return action(options, words)


_OWN = {
    "testbed": ("ls", "add", "hosts", "causes", "papers"),
    "paper": ("papers", "add"),
    "cause": ("causes",),
    "since": ("causes",),
    "fewest": ("papers",),
    "older": ("gc",),
    "dry_run": ("gc",),
    "out": ("hosts", "causes", "papers"),
    "fail_on": ("papers",),
}


def _check(options: argparse.Namespace, given: Sequence[str]) -> None:
    """Refuses options of other actions, and too few or too many words."""
    for name, actions in _OWN.items():
        if getattr(options, name) and given[0] not in actions:
            raise arguments.UsageError(
                f"--{name.replace('_', '-')} has no effect on {given[0]}",
                f"it belongs to {' and '.join(actions)}",
            )
    fits = {"show": len(given) == 3, "add": len(given) >= 3}.get(given[0], len(given) == 2)
    if not fits:
        more = {"show": " KEY", "add": " RUN…"}.get(given[0], "")
        raise arguments.UsageError(
            f"trustbed store {given[0]} takes a URL{' and more' if more else ''}",
            f"for example: trustbed store {given[0]} lab.store{more}",
        )


def _open(options: argparse.Namespace, *, create: bool = False) -> Store:
    from trustbed.store.store import open_store

    return open_store(options.words[1], create=create)


def _show(words: Sequence[str], name: str, answer: object) -> None:
    """An answer as JSON."""
    document = {"trustbed": describe(words, "store"), name: msgspec.to_builtins(answer)}
    printable.write_json(document, sys.stdout)


def _labelled(options: argparse.Namespace) -> Store:
    """The store, if something in it has the labels that were given.

    Raises:
        Complaint: Nothing has.
    """
    store = _open(options)
    for name in ("testbed", "paper"):
        label = getattr(options, name)
        known = {getattr(entry, name) for entry in store.entries} - {None}
        if label is not None and label not in known:
            raise arguments.Complaint(
                f"nothing has the {name} {label}, {store.url}",
                f"there {'is' if len(known) == 1 else 'are'}: {', '.join(sorted(known)) or 'none'}",
            )
    return store


def _ls(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.report.store import text
    from trustbed.store.entry import distinct_names

    entries = [
        entry for entry in _labelled(options).entries if options.testbed in (None, entry.testbed)
    ]
    if options.json:
        _show(words, "entries", entries)
    elif not options.quiet:
        paint = terminal.paint(no_color=options.no_color)
        columns = terminal.width(text.WIDEST)
        printable.write(text.entries(entries, distinct_names(entries), paint, columns=columns))
    return FINE


def _show_one(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.report.store import text

    entry = _chosen(_open(options), options.words[2])
    if options.json:
        _show(words, "entry", entry)
    elif not options.quiet:
        printable.write(text.entry(entry))
    return FINE


def _chosen(store: Store, key: str) -> Entry:
    found = [entry for name, entry in store.manifests.items() if name.startswith(key)]
    if len(found) == 1:
        return found[0]
    several = f"{len(found)} entries begin with {key}" if found else f"no entry {key}"
    raise arguments.Complaint(
        f"{several}, {store.url}", f"trustbed store ls {store.url} lists their keys"
    )


def _gc(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.report.store import text
    from trustbed.store.store import GRACE_SECONDS

    older = GRACE_SECONDS if options.older is None else options.older / 1e9
    removed = _open(options).gc(older_seconds=older, dry_run=options.dry_run)
    if options.json:
        _show(words, "removed", removed)
    elif not options.quiet:
        printable.write(text.removed(removed, dry_run=options.dry_run))
    return FINE


def _add(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.store.directories import add

    store = _open(options, create=True)
    added: dict[str, str | None] = {}
    code = FINE
    for path in options.words[2:]:
        try:
            one = add(store, Path(path), testbed=options.testbed or "unnamed", paper=options.paper)
        except TrustbedError as error:  # of this one: the others go on
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
            code = ERROR
            continue
        added[path] = one.key if one.stored else None
        if not options.json and not options.quiet:
            printable.write(f"{path}: {_what_became(one, options)}\n")
    if options.json:
        _show(words, "added", added)
    return code


def _what_became(one: Added, options: argparse.Namespace) -> str:
    if one.stored:
        return f"stored, {one.key[:12]}"
    pairs = (("testbed", options.testbed, one.testbed), ("paper", options.paper, one.paper))
    others = [
        f"of {what} {there}" if there is not None else f"without a {what}"
        for what, given, there in pairs
        if given is not None and given != there
    ]
    return f"there before, {', '.join(others)}" if others else "there before"


def _hosts(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.report.store import page, text
    from trustbed.store.questions import hosts

    answer = hosts.ask(_labelled(options), testbed=options.testbed)
    _answer(options, words, "hosts", answer, page.hosts, text.hosts)
    return FINE


def _causes(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.report.store import page, text
    from trustbed.store.questions import causes

    since = None if options.since is None else _moment(options.since)
    answer = causes.ask(
        _labelled(options), testbed=options.testbed, cause=options.cause, since_ns=since
    )
    _answer(options, words, "causes", answer, page.causes, text.causes)
    return FINE


def _moment(text: str) -> int:
    """A date or a moment (UTC, unless it says otherwise) in nanoseconds since the epoch."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise arguments.UsageError(
            f"{text!r} is no date", "write it like 2026-01-31 or 2026-01-31T12:00"
        ) from None
    return int(found.replace(tzinfo=found.tzinfo or datetime.UTC).timestamp()) * 10**9


def _papers(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.report.store import page, text
    from trustbed.store.questions import papers

    fewest = options.fewest or papers.FEWEST
    answer = papers.ask(
        _labelled(options), paper=options.paper, testbed=options.testbed, fewest=fewest
    )
    if options.fail_on is not None and not answer.runs:
        raise arguments.Complaint(
            f"no run to judge, {options.words[1]}", "trustbed store add URL RUN… adds runs"
        )
    _answer(options, words, "papers", answer, page.papers, text.papers)
    standings = {one.standing for one in answer.runs}
    if options.fail_on is not None and "discard" in standings:
        return DISCARD
    return REVIEW if options.fail_on == "review" and "review" in standings else FINE


def _answer(
    options: argparse.Namespace,
    words: Sequence[str],
    name: str,
    answer: object,
    page: Callable[..., str],
    text: Callable[..., str],
) -> None:
    """An answer as a page, and as JSON or text."""
    if options.out is not None:
        from trustbed.report.store.page import write

        write(options.out, page(answer, options.words[1], describe(words, "store")))
    if options.json:
        _show(words, name, answer)
    elif not options.quiet:
        columns, paint = terminal.width(100), terminal.paint(no_color=options.no_color)
        printable.write(text(answer, paint, columns=columns))
        if options.out is not None:
            printable.write(f"wrote {options.out}\n")


_ACTIONS: Mapping[str, Callable[[argparse.Namespace, Sequence[str]], int]] = {
    "ls": _ls,
    "show": _show_one,
    "gc": _gc,
    "add": _add,
    "hosts": _hosts,
    "causes": _causes,
    "papers": _papers,
}
