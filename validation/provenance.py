"""`python -m validation provenance`.

Docs/traces.md, which says where the captures of others come from, and docs/traces.sha256.

Made from the catalogue that lies beside them: README.md of the directory, a table with a row per
capture or per pattern of names. Copies what it states about origin, revision, licence and changes,
and vouches for nothing of it. The sums are of the files themselves.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from validation import captures

CATALOGUE = "README.md"
PAGE, SUMS = "traces.md", "traces.sha256"
_HEAD = """# Captures of others

Made by `python -m validation provenance`. Do not edit.

`make validate`, the readers' tests and parts of the benches use captures that others have
published. They are not ours and not shipped: each has the licence of its origin, and some state
none. The variable `TRUSTBED_TRACES` names the directory that holds them; by default it is
`shared/traces` beside the checkout. In [validation.md](validation.md) their names begin with
`traces/`; those that begin with `recordings/` are [shipped](../recordings/README.md). Without the
directory `make validate` compares the recordings alone, and tests that need it are skipped with
that reason (with `TRUSTBED_STRICT=1` they fail).

To get them, fetch each from its origin at that revision, under the name in the first column, and
change it as the last column says. Then run `sha256sum --check --ignore-missing` in the directory
with [traces.sha256](traces.sha256): it reports which are the same, byte for byte. A capture that
is cut holds the same packets whichever editcap cuts it, but not always the same bytes. The scripts
that converted the two ERF captures and that damaged one capture in 23 ways are not shipped: their
output is known by its sums, and cannot be made again from here.
"""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What the catalogue says of a capture, or of all whose names match a pattern."""

    pattern: str
    source: str
    revision: str
    licence: str
    changed: str

    def holds(self, name: str) -> bool:
        """Whether it is about a capture of this name, relative to the directory."""
        return fnmatch.fnmatchcase(name, self.pattern)


class CatalogueError(Exception):
    """The catalogue is not there, or says nothing about a capture."""


def origins(catalogue: str) -> list[Origin]:
    """The rows of a catalogue, in its order."""
    found = []
    for line in catalogue.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if (
            len(cells) < len(("file", "source", "revision", "licence", "notes"))
            or cells[0] == "file"
            or set(cells[0]) <= {"-"}
        ):
            continue
        changed = re.search(r"\*\*\[(.*)\]\*\*", cells[-1])
        commit = re.search(r"commit \w+", cells[-1])
        found.append(
            Origin(
                pattern=re.sub(r" \(.*\)$", "", cells[0]),
                source=cells[1],
                revision=cells[2]
                .strip("-")
                .replace("see note", commit[0] if commit else "see note"),
                licence=cells[3].strip("-"),
                changed=changed[1] if changed else "",
            )
        )
    return found


def names(directory: Path) -> list[str]:
    """Every capture below a directory, by its name there."""
    return sorted(
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file() and path.name.endswith(captures.SUFFIXES)
    )


def render(rows: Sequence[Origin], there: Sequence[str]) -> str:
    """The page.

    Raises:
        CatalogueError: A capture has no row.
    """
    lost = [name for name in there if not any(row.holds(name) for row in rows)]
    if lost:
        raise CatalogueError(f"the catalogue does not say where these come from: {', '.join(lost)}")
    lines = [
        _HEAD,
        "| capture | number | origin | revision | licence | changed |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if number := sum(map(row.holds, there)):
            source = row.source.replace("*", "\\*")
            lines.append(
                f"| `{row.pattern}` | {number} | {source} | {row.revision} | "
                f"{row.licence} | {row.changed} |"
            )
    return "\n".join(lines) + "\n"


def sums(directory: Path, there: Sequence[str]) -> str:
    """SHA-256 of the captures, as sha256sum reads them."""
    return "".join(
        f"{hashlib.sha256((directory / name).read_bytes()).hexdigest()}  {name}\n" for name in there
    )


def main(words: Sequence[str]) -> int:
    """Runs the command.

    0 when both files are written, 2 when there is nothing to make them from.
    """
    parser = argparse.ArgumentParser(
        prog="python -m validation provenance", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=captures.project() / "docs",
        help="the directory of both files (default: docs)",
    )
    options = parser.parse_args(words)
    directory = captures.traces()
    try:
        there = names(directory)
        page = render(origins((directory / CATALOGUE).read_text(encoding="utf-8")), there)
    except (OSError, CatalogueError) as error:
        print(f"error: {error}", file=sys.stderr)
        print(
            (
                "hint: set TRUSTBED_TRACES to the directory of captures, whose README.md has a "
                "row for each"
            ),
            file=sys.stderr,
        )
        return 2
    (options.output / PAGE).write_text(page, encoding="utf-8")
    (options.output / SUMS).write_text(sums(directory, there), encoding="utf-8")
    return 0
