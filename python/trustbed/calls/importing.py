"""Traces of other tools as tables of calls: strace, perf, sysdig, bpftrace."""

from __future__ import annotations

import itertools
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO, TypeAlias, get_args

from trustbed.calls import bpftrace, perf_script, strace, sysdig
from trustbed.calls.errors import CallsError, unreadable
from trustbed.calls.numbers import ARCHITECTURES
from trustbed.calls.table import Call, write

Format: TypeAlias = Literal["strace", "perf", "sysdig", "bpftrace"]
FORMATS: tuple[Format, ...] = get_args(Format)
_MATCHES: Mapping[Format, Callable[[str], bool]] = {
    "bpftrace": bpftrace.matches,
    "sysdig": sysdig.matches,
    "strace": strace.matches,
    "perf": perf_script.matches,
}
_LINES_LOOKED_AT = 200
_LONGEST = 1 << 16
"""Characters of a line, from which on it does not tell whose a trace is."""
_LONGEST_LINE = 1 << 22
"""Characters of a line that is read: strace escapes each of a million bytes by four at most."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read of a trace.

    Attributes:
        format: Whose it is.
        calls: The rows of the table.
        lost: Events that the tool lost, as far as it says so.
        skipped: What is no call, by kind.
    """

    format: Format
    calls: int
    lost: int
    skipped: Mapping[str, int]


def import_trace(
    source: Path,
    target: Path,
    *,
    format: Format | None = None,
    architecture: str | None = None,
) -> Imported:
    """Writes the calls of a trace as a table.

    Args:
        source: The text that the tool printed.
        target: The table, Parquet.
        format: Whose it is; told from its lines by default.
        architecture: What numbers of calls belong to; this machine's by default.

    Raises:
        CallsError: It is of no tool that is known, or a line is not as the tool prints it.
    """
    numbered = architecture or platform.machine()
    if numbered not in ARCHITECTURES:
        raise CallsError(
            f"system calls of {numbered} are not known",
            f"name the machine's architecture: {' or '.join(ARCHITECTURES)}",
        )
    found = format or format_of(source)
    if found is None:
        raise CallsError(
            f"{source}: no trace of {', '.join(FORMATS)}",
            "name the tool with --format, or see trustbed trace --help for how to record it",
        )
    skipped: Counter[str] = Counter()
    with source.open(encoding="utf-8", errors="surrogateescape") as lines:
        calls = write(
            _calls(
                found, _whole_lines(lines, str(source), skipped), str(source), skipped, numbered
            ),
            target,
            architecture=numbered,
            complete=lambda: not skipped["lost"],
        )
    lost = skipped.pop("lost", 0)
    return Imported(found, calls, lost, dict(sorted(skipped.items())))


def _whole_lines(lines: TextIO, source: str, skipped: Counter[str]) -> Iterator[str]:
    """Without a last line that was cut: a tracer that was killed, a copy of a trace that runs.

    Raises:
        CallsError: A line is longer than a tracer's can be.
    """
    for number in itertools.count(1):
        line = lines.readline(_LONGEST_LINE)
        if not line:
            return
        if line.endswith("\n"):
            yield line
        elif len(line) >= _LONGEST_LINE:
            raise unreadable(
                source,
                number,
                f"a line of more than {_LONGEST_LINE:,} characters",
                "record again with shorter arguments: for strace, a smaller -s",
            )
        elif line.strip():
            skipped["cut lines"] += 1


def _calls(
    found: Format, lines: Iterable[str], source: str, skipped: Counter[str], architecture: str
) -> Iterator[Call]:
    if found == "strace":
        return strace.read(lines, source, skipped)
    if found == "sysdig":
        return sysdig.read(lines, source, skipped)
    read = perf_script.read if found == "perf" else bpftrace.read
    return read(lines, source, skipped, architecture)


def format_of(source: Path) -> Format | None:
    """Whose trace a file is, by its first lines; ``None`` if it is no known tool's."""
    with source.open(encoding="utf-8", errors="surrogateescape") as lines:
        for _ in range(_LINES_LOOKED_AT):
            line = lines.readline(_LONGEST)
            if not line:
                break
            if len(line) < _LONGEST:
                for name, is_one in _MATCHES.items():
                    if is_one(line.rstrip("\n")):
                        return name
    return None
