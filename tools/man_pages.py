"""Manual pages, made from the parsers of the command line.

`python -m tools.man_pages DIRECTORY` writes trustbed.1, and a page for every verb and action. Their
date is that of the source (`SOURCE_DATE_EPOCH`, or the last commit): the same source gives the same
pages.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import trustbed
from trustbed.cli import VERBS
from trustbed.cli.completion import Command, commands

ROOT = Path(__file__).resolve().parent.parent
ABOUT = "tells whether a network measurement is the network's or the testbed's"


def source_epoch() -> int:
    """When the source was last changed, in seconds since 1970.

    Raises:
        SystemExit: Nothing says when: there is no git here, and no ``SOURCE_DATE_EPOCH``.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None:
        return int(given)
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    said = subprocess.run(asked, check=False, capture_output=True, text=True)
    if said.returncode:
        sys.exit("error: no date of the source\nhint: set SOURCE_DATE_EPOCH, or use a git checkout")
    return int(said.stdout)


def pages(date: datetime) -> dict[str, str]:
    """File name → text of every page."""
    found = list(commands())
    names = {one.name: f"trustbed-{one.name.replace(' ', '-')}" for one in found}
    made = {f"{names[one.name]}.1": "\n".join(_page(one, names, date)) + "\n" for one in found}
    return {"trustbed.1": "\n".join(_overview(found, names, date)) + "\n", **made}


def _head(name: str, about: str, date: datetime) -> Iterator[str]:
    yield f'.TH {name.upper()} 1 "{date:%Y-%m-%d}" "trustbed {trustbed.__version__}" "trustbed"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(about)}"
    yield ".SH SYNOPSIS"


def _overview(found: list[Command], names: dict[str, str], date: datetime) -> Iterator[str]:
    yield from _head("trustbed", ABOUT, date)
    yield ".B trustbed"
    yield "COMMAND [OPTIONS]"
    yield ".SH COMMANDS"
    for one in found:
        if " " not in one.name:
            yield from (".TP", f".B {_text(f'{one.name} {VERBS[one.name][0]}')}", _text(one.about))
    yield ".SH OPTIONS"
    for flags, about in (
        ("-h, --help", "A page of help; trustbed COMMAND --help for a command."),
        ("-V, --version", "Print the version."),
        ("--print-completion SHELL", "Print completions for bash, fish or zsh."),
    ):
        yield from (".TP", f".B {_text(flags)}", _text(about))
    yield from _see_also([*names.values()])


def _page(one: Command, names: dict[str, str], date: datetime) -> Iterator[str]:
    yield from _head(names[one.name], one.about.rstrip("."), date)
    forms = one.parser.format_usage().removeprefix("usage: ").splitlines()
    yield from _verbatim(form.strip() for form in forms)
    yield ".SH DESCRIPTION"
    yield _text(" ".join((one.parser.description or "").split()))
    yield ".SH OPTIONS"
    shown = argparse.HelpFormatter(prog="trustbed")
    for group in one.parser._action_groups:
        told = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        if told and group.title not in ("positional arguments", "options"):
            yield f'.SS "{_text(str(group.title))}"'
        for action in told:
            named = shown._format_action_invocation(action)
            about = " ".join((action.help or "").split()).replace("%%", "%")
            yield from (".TP", f".B {_text(named)}", _text(about))
    if one.parser.epilog:
        yield ".SH NOTES"
        yield from _verbatim(one.parser.epilog.splitlines())
    verb = one.name.partition(" ")[0]
    near = [name for other, name in names.items() if other.startswith(verb) and other != one.name]
    yield from _see_also(["trustbed", *near])


def _verbatim(lines: Iterator[str] | list[str]) -> Iterator[str]:
    yield ".nf"
    yield from (_text(line) if line.strip() else ".sp" for line in lines)
    yield ".fi"


def _see_also(names: list[str]) -> Iterator[str]:
    yield ".SH SEE ALSO"
    for number, name in enumerate(names, 1):
        yield f".BR {_text(name)} (1){',' if number < len(names) else ''}"


def _text(text: str) -> str:
    """Plain text, in which nothing is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def main(arguments: list[str]) -> None:
    """Writes the pages into the directory that is named."""
    if len(arguments) != 1:
        sys.exit("error: no directory given\nhint: python -m tools.man_pages DIRECTORY")
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages(datetime.fromtimestamp(source_epoch(), UTC)).items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
