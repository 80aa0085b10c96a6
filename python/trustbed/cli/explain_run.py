"""``trustbed explain RUN``: the verdicts of a run, or one of them with its numbers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.cli import FINE, arguments, selection, terminal
from trustbed.cli.analyze import describe
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.run.directory import RunDirectory
    from trustbed.run.explanation import Explained

_STATED = ("at", "workload", "capacity", "sender", "receiver", "same_clock")
_READING = ("inner", "dedup", "memory")


def run(options: argparse.Namespace, words: Sequence[str]) -> int:
    """Explains the run directory that the first word names."""
    directory, wanted = _directory(options), options.captures[1:]
    given = [f"--{name.replace('_', '-')}" for name in _STATED if getattr(options, name)]
    if given:
        raise arguments.UsageError(
            f"{given[0]} does not go with a run", "the run's scenario states what it says"
        )
    given = [f"--{name}" for name in _READING if getattr(options, name)]
    if given:
        raise arguments.UsageError(
            f"{given[0]} does not go with a run", "its captures were read when it was judged"
        )
    if len(wanted) not in (0, 2):
        raise arguments.UsageError(
            "a repetition and a transfer are needed, or neither",
            f"for example: trustbed explain {options.captures[0]} 0 1.0",
        )
    if wanted:
        return _one(options, words, directory, *wanted)
    return _all(options, words, directory)


def _directory(options: argparse.Namespace) -> RunDirectory:
    from trustbed.run.directory import MANIFEST, RunDirectory
    from trustbed.run.owned_directory import kind_of

    path = Path(options.captures[0])
    if not (path / MANIFEST).is_file() or kind_of(path) == "campaign":
        raise arguments.Complaint(
            f"not a run, {path}", "name a directory that trustbed run has made, or a capture"
        )
    return RunDirectory(path)


def _all(options: argparse.Namespace, words: Sequence[str], directory: RunDirectory) -> int:
    from trustbed.report.run import explanation as text
    from trustbed.run import explanation

    found = [
        one
        for number in explanation.repetitions(directory)
        for one in explanation.transfers(directory, number)
    ]
    if options.json:
        document = {
            "trustbed": describe(words, "explain"),
            "transfers": [one.json() for one in found],
        }
        printable.write_json(document)
        return FINE
    printable.write(
        text.render(
            options.captures[0],
            found,
            columns=terminal.width(text.WIDEST),
            paint=terminal.paint(no_color=options.no_color),
        )
    )
    return FINE


def _one(
    options: argparse.Namespace,
    words: Sequence[str],
    directory: RunDirectory,
    repetition: str,
    wanted: str,
) -> int:
    from trustbed.report.run import explanation as text
    from trustbed.report.transfer import explanation as of_transfer
    from trustbed.run import explanation

    if not repetition.isdecimal():
        raise arguments.UsageError(f"{repetition!r} is no repetition", "a number, as in rep-000: 0")
    found = explanation.transfers(directory, int(repetition))
    explained = _chosen(found, wanted, f"repetition {repetition} of {options.captures[0]}")
    transfer = explanation.transfer_of(directory, explained)
    if options.json:
        document = {
            "trustbed": describe(words, "explain"),
            **explained.json(),
            "row": transfer.row,
            "explanation": transfer.explain().split("\n"),
        }
        printable.write_json(document)
        return FINE
    width = terminal.width(of_transfer.WIDEST)
    paint = terminal.paint(no_color=options.no_color)
    printable.write(
        of_transfer.render(transfer.row, transfer.explain(), columns=width, paint=paint)
        + text.other_views(explained, transfer.row, columns=width, paint=paint)
    )
    return FINE


def _chosen(found: Sequence[Explained], wanted: str, where: str) -> Explained:
    candidates = [
        selection.Candidate(
            name=row["transfer"],
            src=row["src"],
            src_port=row["src_port"],
            dst=row["dst"],
            dst_port=row["dst_port"],
            too_short=False,
            unique_bytes=row["unique_bytes"] or 0,
        )
        for row in (one.verdict.row for one in found)
    ]
    meant = selection.chosen(candidates, wanted, where)
    return next(one for one, other in zip(found, candidates, strict=True) if other is meant)
