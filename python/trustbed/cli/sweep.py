"""``trustbed analyze CAPTURES… --store URL``: many captures into a store."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.cli import DISCARD, ERROR, FINE, REVIEW, arguments, interrupt, progress
from trustbed.report import printable, words
from trustbed.report.records import Json
from trustbed.report.transfer.overview import VERDICTS

if TYPE_CHECKING:
    from trustbed.store.captures import How, Job, Outcome, Reading
    from trustbed.store.store import Store
    from trustbed.store.sweep import Sweep
    from trustbed.store.workers import Reporter

SHOWN = 20
"""So many captures that failed are listed again at the end."""


def run(options: argparse.Namespace, given: Sequence[str]) -> int:
    """Carries it out."""
    from trustbed.store.captures import jobs_of
    from trustbed.store.store import open_store
    from trustbed.store.sweep import Sweep

    how = _how(options)
    jobs = jobs_of(options.captures)
    if not jobs:
        raise arguments.Complaint(
            f"no captures, {options.captures[0]}", "name files, or a directory with some"
        )
    url = open_store(options.store, create=True).url
    if "://" not in url:
        url = str(Path(url).absolute())  # workers have another directory
    sweep = Sweep.of(jobs)
    with (
        interrupt.signals_as_interrupts(),
        progress.shown("", quiet=options.quiet) as bar,
    ):

        def reading(read: int) -> None:
            if bar is not None:
                bar.label = f"{sweep.done} of {sweep.captures} captures"
                bar.skipped = sweep.present_bytes
                bar(sweep.done_bytes + read, sweep.size_bytes)

        def report(line: str) -> None:
            if bar is not None:
                bar.wipe()
            print(line, file=sys.stderr)

        try:
            for one in _outcomes(jobs, url, how, options, report, reading):
                sweep.add(one)
                if one.state == "failed":
                    report(f"not stored: {one.message} ({one.hint})")
        except KeyboardInterrupt:
            print(
                f"{words.counted(sweep.held, 'capture')} of {sweep.captures} are in {url}; the "
                "same command continues",
                file=sys.stderr,
            )
            raise
    there = open_store(url) if sweep.present else None
    if there is not None:
        there.renew(sweep.present)
    others = [] if there is None else _other_labels(sweep, there, options)
    if options.json:
        printable.write_json(_document(sweep, url, given))
    elif not options.quiet:
        told = [*_summary(sweep), *others, f"next: trustbed store hosts {options.store}"]
        printable.write("\n".join(told) + "\n")
    return _code(sweep, options)


def _how(options: argparse.Namespace) -> How:
    from trustbed import __version__
    from trustbed.analysis.options import available_cores
    from trustbed.store.captures import How
    from trustbed.store.entry import label

    threads = 1 if options.cluster else options.workers or available_cores()
    return How(
        version=__version__,
        testbed=label(options.testbed or "unnamed", "--testbed"),
        at=options.at,
        workload=options.workload,
        capacity=options.capacity,
        inner=options.inner,
        dedup=options.dedup,
        memory=options.memory,
        workers=threads,
    )


def _outcomes(
    jobs: Sequence[Job],
    url: str,
    how: How,
    options: argparse.Namespace,
    report: Reporter,
    reading: Reading,
) -> Iterator[Outcome]:
    if options.cluster is None:
        from trustbed.store import sweep

        return sweep.carry_out(jobs, url, how, reading=reading)
    from trustbed.store import cluster

    where = cluster.Cluster(
        where=options.cluster, processes=options.workers, memory=options.worker_memory
    )
    return cluster.carry_out(jobs, url, how, where, report=report, reading=reading)


def _summary(sweep: Sweep) -> Iterator[str]:
    states = sweep.states
    yield (
        f"{words.counted(states['stored'], 'capture')} stored, {words.count(states['present'])} "
        f"there before, {words.count(states['failed'])} failed"
    )
    verdicts = [
        f"{words.count(sweep.verdicts[verdict])} {verdict.replace('_', ' ')}"
        for verdict in VERDICTS
        if sweep.verdicts[verdict]
    ]
    if verdicts:
        yield f"transfers: {', '.join(verdicts)}"
    if sweep.damaged:
        yield f"{words.counted(len(sweep.damaged), 'capture')} could be read only in part"
    for one in sweep.failed[:SHOWN]:
        yield f"  {one.message}"
    if len(sweep.failed) > SHOWN:
        yield f"  and {words.count(len(sweep.failed) - SHOWN)} more"


def _other_labels(sweep: Sweep, store: Store, options: argparse.Namespace) -> list[str]:
    """Which captures that were there before have another label than the one that was given."""
    found = (store.manifests.get(key) for key in sweep.present)
    labels = Counter(entry.testbed for entry in found if entry is not None)
    del labels[options.testbed or "unnamed"]
    if options.testbed is None or not labels:
        return []
    names = ", ".join(sorted(labels))
    return [f"{words.counted(labels.total(), 'capture')} there before under another label: {names}"]


def _document(sweep: Sweep, url: str, given: Sequence[str]) -> Json:
    from trustbed.cli.analyze import describe

    return {
        "trustbed": describe(given, "analyze"),
        "store": url,
        "captures": {
            "all": sweep.captures,
            **{state: sweep.states[state] for state in ("stored", "present", "failed")},
        },
        "transfers": dict(sweep.verdicts),
        "failed": [
            {"capture": one.name, "problem": one.problem, "message": one.message, "hint": one.hint}
            for one in sweep.failed
        ],
    }


def _code(sweep: Sweep, options: argparse.Namespace) -> int:
    if sweep.failed:
        return ERROR
    if options.strict and sweep.damaged:
        one = sweep.damaged[0]
        print(
            f"error: part of a capture could not be read, {one.name}: {one.damage[0]}\n"
            "hint: without --strict trustbed judges what it could read",
            file=sys.stderr,
        )
        return ERROR
    if options.fail_on is not None and sweep.verdicts["discard"]:
        return DISCARD
    return REVIEW if options.fail_on == "review" and sweep.verdicts["review"] else FINE
